package catalog

import (
	"slices"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
)

// TestUnlistedRoot checks that the skills of an unlisted root are in no list and no search.
// They yield to every other skill of their name, and can still be found by name and URI.
func TestUnlistedRoot(t *testing.T) {
	off := source("theirs",
		"pdf/SKILL.md", text("pdf", "Their PDF."), "git/SKILL.md", text("git", "Their git."), "same/SKILL.md", text("same", "One and the same."),
		"kept/SKILL.md", "---\nname: kept\ndescription: Not for models.\ndisable-model-invocation: true\n---\n", "lost/SKILL.md", "none",
		"hidden/SKILL.md", text("secret", "Out of sight."))
	off.root.Unlisted = true
	on := source("ours", "git/SKILL.md", text("git", "Our git."), "same/SKILL.md", text("same", "One and the same."))
	c := catalogOf(t, on, off)
	whole := view(t, c)
	filter := &Filter{Visible: func(e *Entry) bool { return e.Path != "hidden" }}
	part, err := c.View(WithFilter(t.Context(), filter))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]View{"the whole": whole, "a part": part} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range v.Entries {
				by := ""
				if e.By != nil {
					by = " by " + e.By.Root.Label
				}
				got = append(got, string(e.Status)+" "+e.Root.Label+"/"+e.Path+by)
			}
			want := []string{"available ours/git", "unlisted ours/same by theirs", "unlisted theirs/git by ours", "unlisted theirs/hidden", "unlisted theirs/kept", "skipped theirs/lost", "unlisted theirs/pdf", "unlisted theirs/same"}
			if name == "a part" {
				want = append(want[:3], want[4:]...)
			}
			difftest.Same(t, got, want, "entries")
			for what, list := range map[string][]*Entry{"listed": v.Listed, "served": v.Served(), "invocable": v.Invocable()} {
				for _, e := range list {
					if e.Root.Label != "ours" {
						t.Errorf("%s: %s", what, e.URI())
					}
				}
			}
			for _, q := range []Query{{}, {Text: "their pdf git same"}, {Text: "pdf", People: true}, {People: true}} {
				for _, h := range answerTo(t, v, q).Hits {
					if h.Root.Label != "ours" {
						t.Errorf("%+v finds %s", q, h.URI())
					}
				}
			}
			var found []string
			for _, h := range answerTo(t, v, Query{Text: "pdf", Unlisted: true}).Hits {
				found = append(found, v.Called(h.Entry))
			}
			difftest.Same(t, found, []string{"pdf"}, "the unlisted that are found")
			all := answerTo(t, v, Query{Unlisted: true})
			difftest.Same(t, all.Total, map[string]int{"the whole": 4, "a part": 3}[name], "all unlisted")
			for asked, want := range map[string]string{
				"pdf": "Their PDF.", "PDF": "Their PDF.", "git": "Our git.", "theirs:git": "Their git.", "same": "One and the same.", "kept": "Not for models.",
			} {
				if e := v.Named(asked); e == nil || e.Description != want {
					t.Errorf("%s: %+v", asked, e)
				}
			}
			uri, _ := skill.ParseURI("skill://theirs/git/SKILL.md")
			if e, at := v.At(uri); e == nil || e.Description != "Their git." || at != skill.MainFile {
				t.Errorf("by URI: %+v, %s", e, at)
			}
			if _, e, err := v.Read(t.Context(), v.Named("pdf")); err != nil || e.Status != Unlisted {
				t.Errorf("read: %+v, %v", e, err)
			}
			if e := v.Named("secret"); (e != nil) != (name == "the whole") {
				t.Errorf("out of sight: %+v", e)
			}
		})
	}
}

func answerTo(t *testing.T, v View, q Query) Found {
	t.Helper()
	found, err := v.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestCopies checks that only skills with the same files are copies, also after a change of a file
// other than SKILL.md.
func TestCopies(t *testing.T) {
	for i := range 4 {
		unlisted, versioned := i%2 == 1, i > 1
		a := source("a", "x/SKILL.md", text("x", "one"), "x/ref.txt", "A")
		b := source("b", "x/SKILL.md", text("x", "one"), "x/ref.txt", "B")
		b.root.Unlisted = unlisted
		if versioned { // so that an unchanged root is not looked at again
			a.version, b.version = 1, 1
		}
		c := catalogOf(t, a, b)
		check := func(what string, same bool) {
			t.Helper()
			v := view(t, c)
			var want []Status
			switch {
			case unlisted && same:
				want = []Status{Unlisted, Unlisted}
			case unlisted:
				want = []Status{Available, Unlisted}
			case same:
				want = []Status{Available, Copy}
			default:
				want = []Status{Available, Shadowed}
			}
			if got := []Status{v.Entries[0].Status, v.Entries[1].Status}; !slices.Equal(got, want) {
				t.Errorf("unlisted %v, versioned %v, %s: %v, want %v", unlisted, versioned, what, got, want)
			}
		}
		check("other files", false)
		b.write("x/ref.txt", "A")
		refresh(t, c)
		check("the same files", true)
		refresh(t, c)
		check("again", true)
		b.write("x/more.txt", "A")
		refresh(t, c)
		check("a file more", false)
		b.remove("x/more.txt")
		a.write("x/SKILL.md", text("x", "two"))
		a.version *= 2
		refresh(t, c)
		check("another SKILL.md", false)
		b.write("x/SKILL.md", text("x", "two"))
		b.version *= 2
		refresh(t, c)
		check("the same SKILL.md", true)
	}
}
