package console

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestShellWord checks that each shell on this machine reads a quoted path as the original path.
func TestShellWord(t *testing.T) {
	for _, path := range []string{"", "plain", "/a/b-c_d.e", "=ls", "a b", "it's", "~root", "$(id)", "`id`", "a^b", "!1", "a\nb", "\x1b[0m", "größe", "\xff", "a\u200bb", `a\b`} {
		for _, shell := range []string{"bash", "zsh"} {
			if _, err := exec.LookPath(shell); err != nil {
				continue
			}
			if got, err := exec.CommandContext(t.Context(), shell, "-c", "printf '<%s>' "+ShellWord(path)+" end").Output(); err != nil || string(got) != "<"+path+"><end>" {
				t.Errorf("%s reads %q as %q: %v", shell, ShellWord(path), got, err)
			}
		}
	}
	for path, want := range map[string]string{"~/a b": "~/'a b'", "~/skills": "~/skills", "=ls": "'=ls'", "": "''"} {
		if got := ShellWord(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

// TestDisplayPath checks that a folder is shown relative to the project or the home folder,
// whichever is nearer.
func TestDisplayPath(t *testing.T) {
	root, err := filepath.Abs(string(filepath.Separator))
	if err != nil {
		t.Fatal(err)
	}
	at := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	home := at("home", "u")
	for _, c := range []struct {
		folder   string
		projects []string
		want     string
	}{
		{at("home", "u", ".claude", "skills"), nil, "~/.claude/skills"},
		{at("home", "u", ".claude", "skills"), []string{root}, "~/.claude/skills"},
		{at("home", "u", ".claude", "skills"), []string{at("home")}, "~/.claude/skills"},
		{at("home", "u", ".claude", "skills"), []string{at("home", "u", "work")}, "~/.claude/skills"},
		{at("home", "u", "work", ".claude", "skills"), []string{at("home", "u", "work")}, ".claude/skills"},
		{at("home", "u", "a", "b", ".claude"), []string{at("home", "u", "a"), at("home", "u", "a", "b")}, ".claude"},
		{at("srv", ".claude", "skills"), []string{at("srv")}, ".claude/skills"},
		{at("srv", "skills"), []string{root}, filepath.ToSlash(at("srv", "skills"))},
		{at("srv", "skills"), nil, filepath.ToSlash(at("srv", "skills"))},
		{home, []string{root}, "~"},
	} {
		if got := DisplayPath(c.folder, c.projects, home); got != c.want {
			t.Errorf("DisplayPath(%s, %v) = %s, want %s", c.folder, c.projects, got, c.want)
		}
	}
	if got, want := DisplayPath(at("srv", "skills"), nil, root), filepath.ToSlash(at("srv", "skills")); got != want {
		t.Errorf("at home in the root: %s, want %s", got, want)
	}
}

// TestSystemIsAlone checks that System sets Alone, since a server tunes the garbage collector only
// in a process of its own.
func TestSystemIsAlone(t *testing.T) {
	if !System().Alone {
		t.Error("no server would keep its memory near its live heap")
	}
}
