//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
)

// TestIrregularFiles checks that commands immediately report a pipe without a writer, a device or a
// folder in place of a file.
func TestIrregularFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, file, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "ok.yaml"), filepath.Join(dir, "link.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, file, "\ufefflog: {level: info}\n")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	const irregular = "not a regular file"
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"config check " + pipe, 3, irregular},
		{"config check /dev/zero", 3, irregular},
		{"config check " + dir, 3, irregular},
		{"config check /dev/null", 0, "nothing is wrong"},
		{"config check " + link, 0, "nothing is wrong"},
		{"serve --http 0 --token-file " + pipe, 3, irregular},
		{"serve --http 0 --token-file /dev/zero", 3, irregular},
		{"serve --http 0 --config " + pipe, 3, irregular},
		{"serve --http 0 --tls-key " + pipe + " --tls-cert " + file, 3, irregular},
	} {
		var out bytes.Buffer
		code := make(chan int, 1)
		env := console.Env{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Dir: dir}
		go func() {
			ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
			defer stop()
			code <- cli.Main(ctx, env, strings.Fields(c.args))
		}()
		select {
		case got := <-code:
			if got != c.code || !strings.Contains(out.String(), c.want) {
				t.Errorf("%s: %d, want %d: %s", c.args, got, c.code, out.String())
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s hangs", c.args)
		}
	}
}

// TestTokenFileBecomesPipe checks that a server reports that its token file became a pipe, and that
// it accepts the next file.
func TestTokenFileBecomesPipe(t *testing.T) {
	token, line := access.NewToken()
	tokens := filepath.Join(t.TempDir(), "tokens")
	put(t, tokens, "\ufeff"+line+" anna\n")
	url, log := servingLog(t, "--dir", t.TempDir(), "--token-file", tokens)
	if err := os.Remove(tokens); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(tokens, 0o600); err != nil {
		t.Fatal(err)
	}
	hangUp(t, log, "not a regular file")
	if code, _, errs := check(t, token, url); code != 0 {
		t.Errorf("what held does not hold: %s", errs)
	}
	if err := os.Remove(tokens); err != nil {
		t.Fatal(err)
	}
	_, other := access.NewToken()
	put(t, tokens, other+" bert\n")
	hangUp(t, log, "the settings and tokens were read again")
	if code, _, _ := check(t, token, url); code == 0 {
		t.Error("a token that was taken away lets in")
	}
}

// TestTokenInsteadOfHash checks that a token that was written in place of its hash is not printed.
func TestTokenInsteadOfHash(t *testing.T) {
	token, line := access.NewToken()
	dir := t.TempDir()
	for _, text := range []string{
		"access:\n  tokens:\n    - {hash: " + token + ", subject: anna}\n",
		"access:\n  tokens:\n    - hash: " + strings.TrimPrefix(token, "knack_") + "\n      subject: anna\n",
		"access:\n  tokens:\n    - {hsah: " + token + ", subject: anna}\n",
		"access:\n  tokens:\n    - {hash: \"" + token + ", subject: anna}\n",
		"access: {tokens: [{hash: " + line + ", subject: anna, token: " + token + "}]}\n",
	} {
		put(t, filepath.Join(dir, "knack.yaml"), text)
		for _, args := range [][]string{{"config", "check", "knack.yaml"}, {"config", "check", "--json", "knack.yaml"}, {"serve", "--http", "0", "--config", "knack.yaml"}} {
			out, errs, code := ran(t, dir, args...)
			if out += errs; code == 0 || !strings.Contains(out, "knack.yaml") || strings.Contains(out, token[6:]) {
				t.Errorf("%v: %d\n%s", args, code, out)
			}
		}
	}
}

// TestGroupsNobodyIsIn checks that config check reports groups without members, and suggests a
// similar group.
func TestGroupsNobodyIsIn(t *testing.T) {
	_, line := access.NewToken()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "knack.yaml"), "access:\n  default: allow\n  tokens: [{hash: "+line+", subject: a, groups: [admin]}]\n  rules:\n    - {groups: [admn, admin], subjects: [b], deny: [\"skill://x\"]}\n")
	const want = "knack.yaml: warning: a rule applies to the group 'admn', but no token is in it: did you mean admin?\n"
	if out, errs, code := ran(t, dir, "config", "check", "knack.yaml"); code != 0 || !strings.HasSuffix(out+errs, want) {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
}
