package catalog

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
)

// library has skills in every relation to a hidden one. Every hidden path contains the
// word "secret".
var library = map[string][]string{
	"a": {
		"git/SKILL.md", text("git", "g"),
		"secret-deploy/SKILL.md", text("deploy", "the first of this name"),
		"secret-copied/SKILL.md", text("copied", "c"),
		"secret-broken/SKILL.md", "no frontmatter",
		"secret-kept/SKILL.md", "---\nname: kept\ndescription: k\ndisable-model-invocation: true\n---\n",
		"secret-around/SKILL.md", text("around", "a"),
		"secret-around/inner/SKILL.md", text("inner", "i"),
		"broken/SKILL.md", "no frontmatter",
	},
	"b": {
		"deploy/SKILL.md", text("deploy", "the second of this name"),
		"other/SKILL.md", text("deploy", "the third"),
		"copied/SKILL.md", text("copied", "c"),
		"kept/SKILL.md", text("kept", "for all"),
	},
	"c": {"secret/SKILL.md", text("only", "o")},
}

func without(word string) *Filter {
	return &Filter{Visible: func(e *Entry) bool { return !strings.Contains(e.Path, word) }}
}

func libraryOf(t *testing.T, keep func(path string) bool) *Catalog {
	t.Helper()
	var sources []Source
	for _, label := range slices.Sorted(maps.Keys(library)) {
		var files []string
		for i := 0; i < len(library[label]); i += 2 {
			if keep(library[label][i]) {
				files = append(files, library[label][i:i+2]...)
			}
		}
		if len(files) > 0 {
			sources = append(sources, source(label, files...))
		}
	}
	return catalogOf(t, sources...)
}

// TestFilterIsAsIfTheRestWereNot checks that a filter shows the same as a catalogue without
// the hidden skills.
func TestFilterIsAsIfTheRestWereNot(t *testing.T) {
	all := libraryOf(t, func(string) bool { return true })
	want := view(t, libraryOf(t, func(p string) bool { return !strings.Contains(p, "secret") }))
	got, err := all.View(WithFilter(t.Context(), without("secret")))
	if err != nil {
		t.Fatal(err)
	}
	for what, list := range map[string]func(View) []*Entry{
		"entries":      func(v View) []*Entry { return v.Entries },
		"listed":       func(v View) []*Entry { return v.Listed },
		"skipped":      func(v View) []*Entry { return v.Skipped },
		"served":       View.Served,
		"invocable":    View.Invocable,
		"searched":     func(v View) []*Entry { return searched(t, v, "") },
		"found":        func(v View) []*Entry { return searched(t, v, "deploy copied kept around inner only") },
		"near":         func(v View) []*Entry { return v.Near("deploi", 9) },
		"skipped near": func(v View) []*Entry { return v.SkippedNear("secret-broken", 9) },
	} {
		difftest.Same(t, said(list(got)), said(list(want)), what)
	}
	if said := said(got.Entries); len(said) != 6 || said[3] != "available deploy skill://b/deploy/SKILL.md" {
		t.Errorf("the expectation itself is off: %q", said)
	}
	counts := func(v View) (all []string) {
		for _, r := range v.Roots {
			all = append(all, r.Label+strings.Repeat("+", r.Count))
		}
		return all
	}
	difftest.Same(t, counts(got), counts(want), "roots")

	for _, e := range view(t, all).Entries {
		hidden := strings.Contains(e.Path, "secret")
		ways := map[string]*Entry{"in folder": got.InFolder(e.Folder()), "served in folder": got.ServedInFolder(e.Folder()), "at place": got.samePlace(e)}
		if e.Status != Skipped {
			ways["qualified"], ways["named"] = got.Named(e.qualified()), got.Named(e.Name)
			ways["at URI"], _ = got.At(e.URI())
		}
		for way, found := range ways {
			if found != nil && (hidden && found.Skill == e.Skill || strings.Contains(found.Path, "secret")) {
				t.Errorf("%s is found %s", e.Path, way)
			}
		}
		if !hidden && e.Status != Skipped && ways["at URI"].Skill != e.Skill {
			t.Errorf("%s is not found by the URI that it has for others", e.Path)
		}
	}
	for _, e := range got.Entries {
		if e.By != nil && !slices.Contains(got.Entries, e.By) {
			t.Errorf("%s is shadowed by an entry of another view", e.Path)
		}
	}
}

// TestFilterHidesWhatLiesAroundTheHidden checks that the skills around a hidden skill are hidden
// too, because the hidden skill's files also belong to them.
func TestFilterHidesWhatLiesAroundTheHidden(t *testing.T) {
	c := catalogOf(t, source("a",
		"SKILL.md", text("whole", "the root"), "out/SKILL.md", text("out", "o"), "out/secret/SKILL.md", text("in", "i"), "out/secret/deep/SKILL.md", text("deep", "d"),
		"out/other/SKILL.md", text("other", "x")),
		source("b", "out/SKILL.md", text("beside", "b")))
	v, err := c.View(WithFilter(t.Context(), &Filter{Visible: func(e *Entry) bool { return e.Name != "in" }}))
	if err != nil {
		t.Fatal(err)
	}
	difftest.Same(t, said(v.Entries), []string{
		"available other skill://a/out/other/SKILL.md", "available deep skill://a/out/secret/deep/SKILL.md", "available beside skill://b/beside/SKILL.md"}, "entries")
	uri, err := skill.ParseURI("skill://a/out/secret/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	if e, p := v.At(uri); e != nil {
		t.Errorf("%s of %s", p, e.Name)
	}
}

// TestFilterOfAChangedSkill checks that a call that finds another skill in the file applies
// the filter to that skill.
func TestFilterOfAChangedSkill(t *testing.T) {
	m := source("a", "x/SKILL.md", text("open", "o"))
	c := catalogOf(t, m)
	filter := &Filter{Visible: func(e *Entry) bool { return e.Name != "secret" }}
	v, err := c.View(WithFilter(t.Context(), filter))
	if err != nil {
		t.Fatal(err)
	}
	m.write("x/SKILL.md", text("secret", "s"))
	data, e, err := v.Read(t.Context(), v.Named("open"))
	if !errors.Is(err, fs.ErrNotExist) || data != nil {
		t.Errorf("%q, %v, %v", data, e, err)
	}
}

func TestDiffSeen(t *testing.T) {
	m := source("a", "x/SKILL.md", text("x", "1"), "secret/SKILL.md", text("secret", "1"), "y/SKILL.md", text("y", "1"))
	c := catalogOf(t, m)
	filter := without("secret")
	var all, seen []Diff
	c.Subscribe(func(d Diff) { all, seen = append(all, d), append(seen, d.Through(filter)) })
	m.write("secret/SKILL.md", text("secret", "2"))
	refresh(t, c)
	m.remove("secret/SKILL.md")
	refresh(t, c)
	m.write("x/SKILL.md", text("x", "2"))
	refresh(t, c)
	if len(all) != 3 || all[0].Empty() || all[1].Empty() || !all[1].Listing {
		t.Fatalf("the differences themselves are off: %+v", all)
	}
	if !seen[0].Empty() || !seen[1].Empty() {
		t.Errorf("a hidden skill is told of: %+v", seen[:2])
	}
	if len(seen[2].Changed) != 1 || seen[2].Changed[0].Name != "x" || !seen[2].Listing {
		t.Errorf("a change in sight: %+v", seen[2])
	}
	if d := all[2].Through(nil); len(d.Changed) != 1 {
		t.Errorf("without a filter: %+v", d)
	}
}

// TestFingerprints checks that fingerprints change with their lists, and not with hidden skills.
func TestFingerprints(t *testing.T) {
	m := source("a", "x/SKILL.md", text("x", "1"), "secret/SKILL.md", text("secret", "1"))
	c := catalogOf(t, m)
	filter := without("secret")
	was := [2]Fingerprints{}
	moved := func() (all string) {
		for i, ctx := range []context.Context{t.Context(), WithFilter(t.Context(), filter)} {
			v, err := c.View(ctx)
			if err != nil {
				t.Fatal(err)
			}
			now := v.Fingerprints()
			for _, part := range []struct {
				letter   string
				was, now skill.Digest
			}{{"l", was[i].Listing, now.Listing}, {"s", was[i].Served, now.Served}, {"i", was[i].Invocable, now.Invocable}} {
				if part.was != part.now {
					all += part.letter
				}
			}
			all += " "
			was[i] = now
		}
		return all
	}
	moved()
	for _, step := range []struct{ path, text, want string }{
		{"x/SKILL.md", text("x", "1"), "  "}, // touched
		{"x/SKILL.md", text("x", "1") + "more", "s s "},
		{"x/SKILL.md", text("x", "2"), "lsi lsi "},
		{"x/SKILL.md", strings.Replace(text("x", "2"), "---\nBody", "user-invocable: false\n---\nBody", 1), "si si "},
		{"x/SKILL.md", strings.Replace(text("x", "2"), "---\nBody", "disable-model-invocation: true\n---\nBody", 1), "lsi lsi "},
		{"secret/SKILL.md", text("secret", "2"), "lsi  "},
		{"secret/n/SKILL.md", text("n", "2"), "lsi  "},
		{"broken/SKILL.md", "no frontmatter", "  "},
	} {
		m.write(step.path, step.text)
		refresh(t, c)
		if got := moved(); got != step.want {
			t.Errorf("%s %q: %q, want %q", step.path, step.text, got, step.want)
		}
	}
}

// TestFilterShowsBlocked checks that a filter shows the blocked skills that it would show if
// they could be read.
func TestFilterShowsBlocked(t *testing.T) {
	m := source("a", "x/SKILL.md", text("x", "1"), "secret/SKILL.md", text("secret", "1"), "out/SKILL.md", text("out", "1"), "out/secret/SKILL.md", text("in", "1"))
	c := catalogOf(t, m)
	for _, path := range []string{"x", "secret", "out", "out/secret"} {
		m.write(path+"/SKILL.md", text("x", strings.Repeat("x", skill.MaxSkillMD)))
	}
	refresh(t, c)
	for filter, want := range map[*Filter][]string{
		nil: {"x/SKILL.md", "secret/SKILL.md", "out/SKILL.md", "out/in/SKILL.md"}, without("nothing"): {"x/SKILL.md", "secret/SKILL.md", "out/SKILL.md", "out/in/SKILL.md"},
		without("secret"): {"x/SKILL.md"},
		{Visible: func(e *Entry) bool { return e.Name != "in" }}: {"x/SKILL.md", "secret/SKILL.md"}, // the file no longer has the name "in"
	} {
		v, err := c.View(WithFilter(t.Context(), filter))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, path := range []string{"x/SKILL.md", "secret/SKILL.md", "out/SKILL.md", "out/in/SKILL.md"} {
			if uri, err := skill.ParseURI("skill://a/" + path); err != nil {
				t.Fatal(err)
			} else if v.Blocked(uri) != nil {
				got = append(got, path)
			}
		}
		difftest.Same(t, got, want, "blocked")
		if named := v.BlockedNamed("secret"); (named != nil) != slices.Contains(want, "secret/SKILL.md") {
			t.Errorf("by name: %v", named)
		}
	}
}
