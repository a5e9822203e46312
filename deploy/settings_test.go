//go:build unix

package deploy

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/access"
)

// publicKey is the public key of a fictitious signer.
const publicKey = `-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PUBLIC KEY-----
`

// TestSettingsStart starts a server with each of the two files of settings. It checks that config
// check reports nothing but the section project in knack-full.yaml. Flags set the port, and the
// audit log for knack-full.yaml. The files that a settings file names are beside it, and a folder
// replaces its registry.
func TestSettingsStart(t *testing.T) {
	binary := knack(t)
	token, line := access.NewToken()
	for name, flags := range map[string][]string{"knack.yaml": nil, "knack-full.yaml": {"--audit", "stderr"}} {
		says := ": nothing is wrong\n"
		if name == "knack-full.yaml" { // this file has every key
			says = ": warning: project: only a project's own knack.yaml can have this section, so it has no effect here\n"
		}
		dir := t.TempDir()
		text, err := os.ReadFile(name)
		must(t, err)
		file := filepath.Join(dir, name)
		put(t, file, strings.NewReplacer(
			"oci://registry.example.com/acme/skills:prod", "./skills/shared", "forward-only: true ", "forward-only: false", "    min-version", "    # min-version",
			"/var/lib/knack\n", filepath.Join(dir, "store")+"\n").Replace(string(text)))
		cert, key := certified(t, 1)
		put(t, filepath.Join(dir, "cert.pem"), cert)
		put(t, filepath.Join(dir, "key.pem"), key)
		put(t, filepath.Join(dir, "tokens"), line+" carla\n")
		put(t, filepath.Join(dir, "secret"), "x\n")
		put(t, filepath.Join(dir, "acme.pub"), publicKey)
		put(t, filepath.Join(dir, "skills", "common", "one", "SKILL.md"), skillMD("one"))
		put(t, filepath.Join(dir, "skills", "sales", "two", "SKILL.md"), skillMD("two"))
		put(t, filepath.Join(dir, "skills", "billing", "three", "SKILL.md"), skillMD("three"))
		put(t, filepath.Join(dir, "skills", "shared", "four", "SKILL.md"), skillMD("four"))
		if name == "knack.yaml" { // the other file names roots
			flags = []string{"--dir", filepath.Join(dir, "skills")}
		}
		if out, err := exec.CommandContext(t.Context(), binary, "config", "check", file).CombinedOutput(); err != nil || string(out) != file+says {
			t.Errorf("%v\n%s", err, out)
		}
		s := serve(t, append([]string{"--config", file, "--no-builtin", "--http", "127.0.0.1:0"}, flags...)...)
		client := insecure(t)
		if code, _, err := get(t.Context(), client, s.url+"/readyz", ""); err != nil || code != http.StatusOK {
			t.Errorf("%s: %d %v", name, code, err)
		}
		for _, unknown := range []string{"", "test", strings.Repeat("0", 64)} {
			if code, _, err := get(t.Context(), client, s.url+"/api/v1/skills", unknown); err != nil || code != http.StatusUnauthorized {
				t.Errorf("%s, the token %q: %d %v", name, unknown, code, err)
			}
		}
		if name == "knack.yaml" {
			continue
		}
		code, body, err := get(t.Context(), client, s.url+"/api/v1/skills", token)
		if err != nil || code != http.StatusOK || !strings.Contains(body, `"one"`) || strings.Contains(body, `"two"`) {
			t.Errorf("%d %v %s", code, err, body)
		}
	}
}

// TestFleetSettings checks that config check finds no fault in the settings of a fleet if their key
// exists, and reports a missing key.
func TestFleetSettings(t *testing.T) {
	binary := knack(t)
	text, err := os.ReadFile("fleet/knack.yaml")
	must(t, err)
	file := filepath.Join(t.TempDir(), "knack.yaml")
	put(t, file, string(text))
	checked := func() string {
		out, _ := exec.CommandContext(t.Context(), binary, "config", "check", file).CombinedOutput()
		return string(out)
	}
	if out := checked(); !strings.Contains(out, "acme.pub") {
		t.Errorf("without the key: %s", out)
	}
	put(t, filepath.Join(filepath.Dir(file), "acme.pub"), publicKey)
	if out := checked(); !strings.HasSuffix(out, ": nothing is wrong\n") {
		t.Errorf("with the key: %s", out)
	}
}
