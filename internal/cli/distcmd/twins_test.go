package distcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTwinsByFolder checks that lists and errors about two skills of the same name give their
// folders.
func TestTwinsByFolder(t *testing.T) {
	s := newShell(t)
	s.put("src/more/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files too.\n---\n")
	src := filepath.Join(s.dir, "src")
	if stdout, _, status := s.run("add", src); status != 1 || !strings.Contains(stdout, "  pdf (more/pdf)  Reads PDF files too.") {
		t.Errorf("status %d: %s", status, stdout)
	}
	s.run("add", src, "--skill", "more/pdf")
	s.run("add", filepath.Join(src, "pdf"), "--to", filepath.Join(s.dir, "p", ".claude", "skills"))
	for _, folder := range []string{"src", "p/.agents", "p/.claude", "home/.cache"} {
		if err := os.RemoveAll(filepath.Join(s.dir, folder)); err != nil {
			t.Fatal(err)
		}
	}
	if _, stderr, status := s.run("sync"); status != 3 || !strings.Contains(stderr, "pdf (.agents/skills/pdf): ") || !strings.Contains(stderr, "pdf (.claude/skills/pdf): ") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if stdout, stderr, status := s.run("remove", ".agents/skills/pdf"); status != 0 || !strings.Contains(stdout, "removed pdf from the lock (.agents/skills/pdf)") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
}
