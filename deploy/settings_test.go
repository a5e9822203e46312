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

// TestSettingsStart starts a server with each of the two files as it stands, and requires that
// config check has nothing to say of it. The port, and the audit log of the second, are those of
// flags; the files that it names are beside it.
func TestSettingsStart(t *testing.T) {
	binary := knack(t)
	token, line := access.NewToken()
	for name, flags := range map[string][]string{"knack.yaml": nil, "knack-full.yaml": {"--audit", "stderr"}} {
		dir := t.TempDir()
		text, err := os.ReadFile(name)
		must(t, err)
		file := filepath.Join(dir, name)
		put(t, file, string(text))
		cert, key := certified(t, 1)
		put(t, filepath.Join(dir, "cert.pem"), cert)
		put(t, filepath.Join(dir, "key.pem"), key)
		put(t, filepath.Join(dir, "tokens"), line+" carla\n")
		put(t, filepath.Join(dir, "secret"), "x\n")
		put(t, filepath.Join(dir, "skills", "common", "one", "SKILL.md"), skillMD("one"))
		put(t, filepath.Join(dir, "skills", "sales", "two", "SKILL.md"), skillMD("two"))
		put(t, filepath.Join(dir, "skills", "billing", "three", "SKILL.md"), skillMD("three"))
		if name == "knack.yaml" { // the other file names roots
			flags = []string{"--dir", filepath.Join(dir, "skills")}
		}
		if out, err := exec.CommandContext(t.Context(), binary, "config", "check", file).CombinedOutput(); err != nil || !strings.HasSuffix(string(out), ": nothing is wrong\n") {
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
