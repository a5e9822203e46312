package distcmd

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
)

// TestLockOf checks that publish reads the locks that list compares a skill with: also the one for
// all projects, one above a folder outside of a repository, and one above a lock without the skill.
func TestLockOf(t *testing.T) {
	s := newShell(t)
	text := "---\nname: pdf\ndescription: Reads PDF files. Use it for PDF files.\n---\n"
	files := []lockfile.File{{Path: skill.MainFile, Digest: skill.DigestOf([]byte(text)), Size: int64(len(text))}}
	lock := func(at, key, source string) {
		l := lockfile.Lock{Skills: map[string]lockfile.Skill{}}
		if key != "" {
			l.Skills[key] = lockfile.Skill{Name: "pdf", Source: source, Path: "pdf", Revision: "git:" + strings.Repeat("0", 40), Digest: lockfile.Digest(files), Files: files}
		}
		s.put(at+"/knack.lock", string(l.Bytes()))
	}
	const acme = "github.com/acme/skills"
	lock("home/.agents", "skills/pdf", acme)
	lock("home/plain", ".agents/skills/pdf", acme)
	lock("home/repo", "lib/skills/pdf", acme)
	lock("home/repo/lib", "", "")
	lock("home/mine", "lib/skills/pdf", acme)
	lock("home/mine/lib", "skills/pdf", "./skills/pdf")
	for _, at := range []string{".agents/skills", "plain/.agents/skills", "repo/lib/skills", "mine/lib/skills"} {
		s.put("home/"+at+"/pdf/SKILL.md", text)
	}
	for _, at := range []string{"other/x", "repo/.git/x", "mine/.git/x"} {
		s.put("home/"+at, "")
	}
	home := filepath.Join(s.dir, "home")
	p := publisher{env: &console.Env{Dir: s.dir, Home: home}}
	for folder, want := range map[string]int{
		".agents/skills": 1, ".agents": 1, "other": 0, "plain/.agents/skills": 1, "plain": 1, "repo/lib/skills": 1, "mine/lib/skills": 0,
	} {
		if lock, err := p.lockOf(filepath.Join(home, filepath.FromSlash(folder))); err != nil || len(lock) != want {
			t.Errorf("%s: %v, %v", folder, lock, err)
		}
	}
}
