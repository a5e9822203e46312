package cli

import (
	"path/filepath"
	"testing"
)

// A folder is shown by the nearer of the project and the home folder, wherever
// the server was started.
func TestShown(t *testing.T) {
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
		if got := displayPath(c.folder, c.projects, home); got != c.want {
			t.Errorf("displayPath(%s, %v) = %s, want %s", c.folder, c.projects, got, c.want)
		}
	}
	if got, want := displayPath(at("srv", "skills"), nil, root), filepath.ToSlash(at("srv", "skills")); got != want {
		t.Errorf("at home in the root: %s, want %s", got, want)
	}
}
