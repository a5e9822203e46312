package catalog

import (
	"path/filepath"
	"testing"
)

// TestListedForChanges checks that a client's list changes if the skills change that the client
// shows on its own. Subscribers are notified of that change, and the lists of other clients stay
// the same.
func TestListedForChanges(t *testing.T) {
	theirs := source("theirs", "pdf/SKILL.md", text("pdf", "Reads PDF."), "git/SKILL.md", text("git", "Commits."))
	theirs.root.Dir = filepath.FromSlash("/theirs")
	own := &ClientSkills{Folders: map[string]bool{theirs.root.Dir: true}}
	c := New([]Source{theirs}, Options{ClientSkills: func(client string) *ClientSkills { return own }})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	var diffs []Diff
	c.Subscribe(func(d Diff) { diffs = append(diffs, d) })
	lists := func(client string) (names string) {
		for _, e := range view(t, c).ListedFor(client) {
			names += e.Name + " "
		}
		return names
	}
	if got := lists("Claude Code"); got != "git pdf " {
		t.Errorf("before it is added: %q", got)
	}
	c.AddClient("Claude Code")
	if got := lists("Claude Code"); got != "" || len(diffs) != 1 || !diffs[0].Listing {
		t.Errorf("its own skills are listed: %q, %d differences", got, len(diffs))
	}
	off := *own
	off.Off = func(e *Entry) bool { return e.Name == "git" }
	own = &off
	for range 2 { // the second refresh changes nothing
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := lists("Claude Code"); got != "git " || len(diffs) != 2 || !diffs[1].Listing {
			t.Errorf("after git was turned off: %q, %d differences", got, len(diffs))
		}
	}
	own = nil // its settings cannot be read
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := lists("Claude Code"); got != "git pdf " || len(diffs) != 3 {
		t.Errorf("with unknown settings: %q, %d differences", got, len(diffs))
	}
	if got := lists("Codex"); got != "git pdf " {
		t.Errorf("another client: %q", got)
	}
}

// TestListedForDepth checks at which depth a client finds skills. It also checks that a folder is
// not confused with one whose name begins alike.
func TestListedForDepth(t *testing.T) {
	root := source("all", "theirs/one/SKILL.md", text("one", "One."), "theirs/a/two/SKILL.md", text("two", "Two."), "theirs-2/three/SKILL.md", text("three", "Three."))
	root.root.Dir = filepath.FromSlash("/all")
	for deep, want := range map[bool]string{false: "three two ", true: "three "} {
		c := New([]Source{root}, Options{ClientSkills: func(string) *ClientSkills {
			return &ClientSkills{Folders: map[string]bool{filepath.FromSlash("/real/theirs"): true}, Real: map[string]string{root.root.Dir: filepath.FromSlash("/real")}, Deep: deep}
		}})
		c.AddClient("x")
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range view(t, c).ListedFor("x") {
			got += e.Name + " "
		}
		if got != want {
			t.Errorf("deep %t: %q, want %q", deep, got, want)
		}
	}
}
