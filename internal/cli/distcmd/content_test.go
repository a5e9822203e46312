package distcmd

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusedContent checks that add reports refused content of an archive with a fix, and installs
// the other skills.
func TestRefusedContent(t *testing.T) {
	s := newShell(t)
	for name, c := range map[string]struct{ file, reason, fix string }{
		"leads out":     {"../x", "it has a path that leads out of the folder, '../x'", "get it again in case it was damaged; else ask its author to pack it anew"},
		"control":       {"bad/a\rb", "contains a control character", "ask the author to rename or remove it"},
		"two spellings": {"bad/skill.MD", "differs from 'SKILL.md' only in case or in Unicode's normal form", "ask the author to rename or remove it"},
		"many":          {"bad/x", "the skill has more than 4,096 files", "ask the author to make it smaller"},
	} {
		at := filepath.Join(s.dir, "bad.zip")
		f, err := os.Create(at)
		if err != nil {
			t.Fatal(err)
		}
		w := zip.NewWriter(f)
		files := []string{"bad/SKILL.md", "good/SKILL.md", c.file}
		if name == "many" {
			for i := range 4096 {
				files = append(files, fmt.Sprint("bad/", i))
			}
		}
		for _, file := range files {
			if _, err := w.Create(file); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f.Close()
		_, stderr, status := s.run("add", at, "--all")
		if status != 3 || !strings.Contains(stderr, c.reason+"\nhint: "+c.fix+"\n") {
			t.Errorf("%s: status %d: %s", name, status, stderr)
		}
		_, err = os.Stat(filepath.Join(s.dir, "p/.agents/skills/good/SKILL.md"))
		if installed := err == nil; installed != (name != "leads out") {
			t.Errorf("%s: the other skill is installed: %v", name, installed)
		}
		_ = os.RemoveAll(filepath.Join(s.dir, "p/.agents"))
		_ = os.Remove(filepath.Join(s.dir, "p/knack.lock"))
	}
}
