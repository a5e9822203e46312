package distcmd_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestFormsOfGit checks that each form of a repository's address installs the same skill. Git
// settings redirect the addresses to a server on this machine.
func TestFormsOfGit(t *testing.T) {
	testwait.Slow(t)
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts programs")
	}
	top := t.TempDir()
	write(t, filepath.Join(top, "library/skills/pdf"), formed)
	work := strings.TrimPrefix(repository(t, filepath.Join(top, "library")), "git+file://")
	git := func(args ...string) string {
		out, err := exec.Command("git", args...).Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	git("-C", work, "tag", "v1.0.0")
	git("clone", "--quiet", "--bare", work, filepath.Join(top, "acme", "skills"))
	git("clone", "--quiet", "--bare", work, filepath.Join(top, "acme", "skills.git"))

	backend := filepath.Join(git("--exec-path"), "git-http-backend")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + top, "GIT_HTTP_EXPORT_ALL=1", "GIT_PROTOCOL=" + r.Header.Get("Git-Protocol")}}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	home := filepath.Join(filepath.Dir(top), "home")
	write(t, home, map[string]string{
		"ca.pem":      string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
		"scripts/ssh": "#!/bin/sh\ncd '" + top + "'\nfor last; do :; done\nexec sh -c \"$(echo \"$last\" | sed \"s|'/|'|\")\"\n",
	})
	settings := fmt.Sprintf("[http]\n\tsslCAInfo = %s\n[core]\n\tsshCommand = %s\n[url %q]\n", filepath.Join(home, "ca.pem"), filepath.Join(home, "scripts/ssh"), server.URL+"/")
	for _, host := range []string{"github.com", "gitlab.com", "git.example"} {
		settings += "\tinsteadOf = https://" + host + "/\n"
	}
	write(t, home, map[string]string{".gitconfig": settings})

	var want []lockfile.File
	for _, c := range []struct{ source, locked, asked string }{
		{filepath.Join(top, "library"), "", ""},
		{"acme/skills", "github.com/acme/skills", ""},
		{"acme/skills/skills/pdf", "github.com/acme/skills", ""},
		{"acme/skills@v1.0.0", "github.com/acme/skills", "v1.0.0"},
		{"acme/skills/skills@main", "github.com/acme/skills", "main"},
		{"https://github.com/acme/skills", "github.com/acme/skills", ""},
		{"https://github.com/acme/skills/tree/main/skills/pdf", "github.com/acme/skills", "main"},
		{"https://gitlab.com/acme/skills/-/tree/main/skills", "gitlab.com/acme/skills", "main"},
		{"gitlab.com/acme/skills//skills/pdf@main", "gitlab.com/acme/skills", "main"},
		{"git.example/acme/skills", "git.example/acme/skills", ""},
		{"https://git.example/acme/skills.git//skills", "git.example/acme/skills.git", ""},
		{"git@git.example:acme/skills", "git@git.example:acme/skills", ""},
		{"git@git.example:acme/skills.git//skills@v1.0.0", "git@git.example:acme/skills.git", "v1.0.0"},
		{"ssh://git@git.example/acme/skills", "ssh://git@git.example/acme/skills", ""},
		{"git+file://" + filepath.ToSlash(top) + "/acme/skills", "git+file://" + filepath.ToSlash(top) + "/acme/skills", ""},
	} {
		t.Run(c.source, func(t *testing.T) {
			project := filepath.Join(filepath.Dir(home), strings.NewReplacer("/", "_", ":", "_").Replace(c.source))
			if err := os.MkdirAll(filepath.Join(project, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			if out, err := knack(t, project, "add", c.source, "--skill", "pdf").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			data, err := os.ReadFile(filepath.Join(project, lockfile.Name))
			if err != nil {
				t.Fatal(err)
			}
			lock, err := lockfile.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			e := lock.Skills[".agents/skills/pdf"]
			if want == nil {
				want = e.Files
			}
			if diff := cmp.Diff(want, e.Files); diff != "" || len(e.Files) != len(formed) || c.locked != "" && e.Source != c.locked || e.Want != c.asked {
				t.Errorf("%s %s: %s", e.Source, e.Want, diff)
			}
			if out, err := knack(t, project, "update").CombinedOutput(); err != nil || !strings.Contains(string(out), "1 skill up to date") {
				t.Errorf("update: %v\n%s", err, out)
			}
		})
	}
}
