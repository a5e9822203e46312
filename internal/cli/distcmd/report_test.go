package distcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAdvice checks that the command that update --check suggests installs the update, also for
// skills that were changed by hand. It also checks that a dry run reports where changes by hand
// would go.
func TestAdvice(t *testing.T) {
	s := newShell(t)
	src := filepath.Join(s.dir, "src")
	say := func(want int, args []string, says ...string) {
		t.Helper()
		stdout, stderr, status := s.run(args...)
		for _, text := range says {
			no, isNo := strings.CutPrefix(text, "!")
			if status != want || strings.Contains(stdout+stderr, no) == isNo {
				t.Errorf("%s: status %d, %q: %s%s", args, status, text, stdout, stderr)
			}
		}
	}
	installed := filepath.Join(s.dir, "p", ".agents", "skills")
	say(0, []string{"add", src, "--all", "--pin"}, "added pdf")
	for _, name := range []string{"pdf", "xlsx"} {
		s.put("src/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: Reads more.\n---\n")
	}
	say(1, []string{"update", "--check", "--latest", "--unpin", "pdf"}, "knack update --latest --unpin pdf installs it")
	s.put("p/.agents/skills/xlsx/notes", "mine")
	say(1, []string{"update", "--check", "--unpin"}, "knack update --unpin installs it", "added by hand: notes",
		"knack update --unpin --overwrite replaces files that were changed by hand")
	say(1, []string{"update", "--check", "--unpin", "xlsx"}, "!installs it", "--overwrite")
	say(0, []string{"update", "--dry-run", "--unpin", "--overwrite", "xlsx"}, "would update xlsx", "added by hand: notes", "would be kept")
	say(0, []string{"update", "--unpin", "--overwrite", "xlsx"}, "updated xlsx", "added by hand: notes", "the previous files are in")
	say(0, []string{"update", "--unpin"}, "updated pdf", "changed: SKILL.md")
	s.put("p/.agents/skills/xlsx/notes", "mine")
	say(0, []string{"remove", "xlsx", "--dry-run", "--overwrite"}, "would remove xlsx", "added by hand: notes", "would be kept")

	// Update restores a missing folder, with an update if there is one.
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.RemoveAll(filepath.Join(installed, "pdf")))
	say(1, []string{"update", "--check", "pdf"}, "the folder is missing")
	say(0, []string{"update", "pdf"}, "restored pdf", "!changed:")
	must(os.RemoveAll(filepath.Join(installed, "pdf")))
	s.put("src/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files again.\n---\n")
	say(0, []string{"update", "pdf"}, "updated pdf", "changed: SKILL.md")
}

// TestUnserved checks that add warns about skills that knack does not offer, both when it lists
// them as choices and when it installs them.
func TestUnserved(t *testing.T) {
	s := newShell(t)
	src := filepath.Join(s.dir, "src")
	s.put("src/plain/SKILL.md", "no frontmatter\n")
	s.put("src/empty/SKILL.md", "---\nname: empty\ndescription: \"\"\n---\n")
	s.put("src/latin/SKILL.md", "\xff")
	stdout, _, _ := s.run("add", src)
	if n := strings.Count(stdout, "would not be offered: "); n != 3 {
		t.Errorf("%d of 3 choices have a reason: %s", n, stdout)
	}
	stdout, _, _ = s.run("add", src, "--json")
	if n := strings.Count(stdout, `"warning"`); n != 3 {
		t.Errorf("%d of 3 choices have a reason: %s", n, stdout)
	}
	_, stderr, status := s.run("add", src, "--all")
	for _, name := range []string{"plain", "empty", "latin"} {
		if status != 0 || !strings.Contains(stderr, name+": knack does not offer it: ") {
			t.Errorf("status %d, nothing about %s: %s", status, name, stderr)
		}
	}
	if strings.Contains(stderr, "pdf: knack does not") {
		t.Error(stderr)
	}
}
