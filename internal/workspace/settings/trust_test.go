package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/trust"
)

const somePublicKey = `-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PUBLIC KEY-----
`

// TestTrust checks that the rules come from the user's file with keys beside it, or from the file
// of --config.
func TestTrust(t *testing.T) {
	env := environment(t)
	if p, err := New(env, "").Trust(); p != nil || err != nil {
		t.Fatal(p, err)
	}
	write(t, filepath.Join(env.Home, ".config", "knack", "keys", "acme.pub"), somePublicKey)
	write(t, filepath.Join(env.Home, ".config", "knack", "knack.yaml"), "trust:\n  - from: oci://r.example/acme/**\n    keys: [keys/acme.pub]\n    require: true\n")
	// The project's file is not read.
	write(t, filepath.Join(env.Dir, "knack.yaml"), "trust:\n  - {from: \"**\", keys: [none.pub]}\n")
	p, err := New(env, "").Trust()
	if err != nil {
		t.Fatal(err)
	}
	r, ok := p.Rule("oci://r.example/acme/skills")
	if _, other := p.Rule("oci://r.example/b"); !ok || other || len(r.Keys) != 1 || r.Keys[0].Name != "keys/acme.pub" || !r.Require || r.Where != filepath.ToSlash("~/.config/knack/knack.yaml")+":2" {
		t.Errorf("%+v", r)
	}
	// With --config, no other file is read, and the keys are beside that file.
	write(t, filepath.Join(env.Dir, "etc", "mine.yaml"), "trust:\n  - {from: \"**\", keys: [b.pub]}\n")
	write(t, filepath.Join(env.Dir, "etc", "b.pub"), somePublicKey)
	p, err = New(env, "etc/mine.yaml").Trust()
	if r, ok := p.Rule("github.com/acme/skills"); err != nil || !ok || r.Keys[0].Name != "b.pub" || r.Where != "etc/mine.yaml:2" {
		t.Errorf("%+v %v", r, err)
	}
}

// TestBadTrust checks that every unusable key is reported with its place, and that rules in a
// project's file are refused.
func TestBadTrust(t *testing.T) {
	env := environment(t)
	at := filepath.Join(env.Home, ".config", "knack")
	write(t, filepath.Join(at, "private.pem"), "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
	if err := os.Mkdir(filepath.Join(at, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, "large.pub"), strings.Repeat("x", trust.MaxKey+1))
	write(t, filepath.Join(at, "knack.yaml"), "trust:\n  - from: oci://r.example/a\n    keys:\n      - none.pub\n      - private.pem\n      - dir\n      - large.pub\n")
	_, err := New(env, "").Trust()
	var bad *Error
	if !errors.As(err, &bad) || !bad.Usage || bad.Error() != "~/.config/knack/knack.yaml:4:9: the key none.pub cannot be used: there is no such file" || !strings.HasPrefix(bad.Hint, "check the path (3 further problems") {
		t.Errorf("%+v", err)
	}
	f, err := New(env, "").Trusted()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range f.ProblemsOfTrust() {
		lines = append(lines, p.Position.String()+" "+p.Field+" "+p.Message)
		if p.Fix == "" {
			t.Errorf("no fix for %s", p.Message)
		}
	}
	want := `4:9 trust[0].keys the key none.pub cannot be used: there is no such file
5:9 trust[0].keys the key private.pem cannot be used: it holds a private key, which belongs to its publisher alone
6:9 trust[0].keys the key dir cannot be used: not a regular file
7:9 trust[0].keys the key large.pub cannot be used: it has more than 64 KiB, which is no key`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	write(t, filepath.Join(env.Dir, "knack.yaml"), "trust:\n  - {from: \"**\", keys: [a.pub]}\n")
	p, err := New(env, "").project(env.Dir)
	if err != nil || len(p.Problems) != 1 || !strings.HasPrefix(p.Problems[0].Message, "a project's file does not say which keys are trusted") || p.Problems[0].Position.String() != "1:1" {
		t.Errorf("%+v %v", p.Problems, err)
	}
}
