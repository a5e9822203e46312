package cli_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestCorpusAdd checks that add --all installs every skill that list calls available, from each
// repository of the corpus and with links of each kind. Its output must have at most 200 lines.
func TestCorpusAdd(t *testing.T) {
	testwait.Slow(t)
	from := corpus.Dir(t, "skills")
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	repositories, err := os.ReadDir(from)
	if err != nil || len(repositories) != 17 {
		t.Fatalf("%d repositories, %v", len(repositories), err)
	}
	links := 0
	for _, r := range repositories {
		top := t.TempDir()
		repo, project := filepath.Join(top, "repo"), filepath.Join(top, "p")
		if err := os.CopyFS(repo, os.DirFS(filepath.Join(from, r.Name()))); err != nil {
			t.Fatal(err)
		}
		link := func(to string, at ...string) {
			t.Helper()
			if err := os.Symlink(to, filepath.Join(at...)); err != nil {
				t.Skip(err)
			}
			links++
		}
		skills, _ := list(t, "--dir", repo)
		for i, s := range skills {
			if i%10 != 0 {
				continue
			}
			folder := filepath.Join(repo, filepath.FromSlash(s.Path))
			for _, l := range [][2]string{{path.Base(s.File), "same.md"}, {"./same.md", "again.md"}, {".git", "dot"}, {"none", "nowhere"}, {"itself", "itself"}, {"/etc/passwd", "etc"}, {"..", "up"}, {".", "here"}} {
				link(l[0], folder, l[1])
			}
			if i == 0 {
				link(s.Path, repo, "linked-skill")
			}
		}
		if err := os.MkdirAll(filepath.Join(project, ".git"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"init", "-q", "-b", "main", "."}, {"add", "-f", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "x"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = repo
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
		}
		available := map[string]bool{}
		skills, _ = list(t, "--dir", repo)
		for _, s := range skills {
			if s.Available {
				available[s.Name] = true
			}
		}
		out, errs, code := ran(t, project, "add", "git+file://"+filepath.ToSlash(repo), "--all")
		if code != 0 {
			t.Errorf("%s: status %d: %s", r.Name(), code, errs)
		}
		lines := strings.Count(out+errs, "\n")
		if lines > 200 {
			t.Errorf("%s: %d lines", r.Name(), lines)
		}
		installed, _ := list(t, "--dir", filepath.Join(project, ".agents", "skills"))
		for _, s := range installed {
			if !s.Available {
				t.Errorf("%s: %s is installed and not available", r.Name(), s.Path)
			}
			delete(available, s.Name)
		}
		for name := range available {
			t.Errorf("%s: %s is not installed", r.Name(), name)
		}
		t.Logf("%s: %d skills, %d lines", r.Name(), len(installed), lines)
	}
	if links < 500 {
		t.Errorf("%d links", links)
	}
}
