package distcmd

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
)

// TestLockOfHome checks that publish reads the lock of the skills for all projects.
func TestLockOfHome(t *testing.T) {
	s := newShell(t)
	text := "---\nname: pdf\ndescription: Reads PDF files. Use it for PDF files.\n---\n"
	files := []lockfile.File{{Path: skill.MainFile, Digest: skill.DigestOf([]byte(text)), Size: int64(len(text))}}
	lock := lockfile.Lock{Skills: map[string]lockfile.Skill{"skills/pdf": {
		Name: "pdf", Source: "github.com/acme/skills", Path: "pdf", Revision: "git:" + strings.Repeat("0", 40), Digest: lockfile.Digest(files), Files: files,
	}}}
	s.put("home/.agents/knack.lock", string(lock.Bytes()))
	s.put("home/.agents/skills/pdf/SKILL.md", text)
	s.put("home/other/x", "")
	home := filepath.Join(s.dir, "home")
	p := publisher{env: &console.Env{Dir: s.dir, Home: home}}
	for folder, want := range map[string]int{".agents/skills": 1, ".agents": 1, "other": 0} {
		if lock, err := p.lockOf(filepath.Join(home, filepath.FromSlash(folder))); err != nil || len(lock) != want {
			t.Errorf("%s: %v, %v", folder, lock, err)
		}
	}
}
