package catalog

import (
	"fmt"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
)

// TestShallowest checks which of the skills of one root gets a name that they share: the skill in
// the shallowest folder, and of these the first in path order. It checks every way to look up a
// skill.
func TestShallowest(t *testing.T) {
	v := view(t, catalogOf(t,
		source("a", ".claude/worktrees/feat/skills/deploy/SKILL.md", text("deploy", "inner"), "skills/deploy/SKILL.md", text("deploy", "outer"),
			"best/create/SKILL.md", text("create", "inner"), "create/SKILL.md", text("create", "outer"), "b/y/SKILL.md", text("level", "second"), "a/z/SKILL.md", text("level", "first")),
		source("b", "deploy/SKILL.md", text("deploy", "later root"))))
	for name, want := range map[string]string{"deploy": "outer", "create": "outer", "level": "first"} {
		e := v.Named(name)
		if e == nil || e.Description != want || e.Status != Available {
			t.Errorf("%s is %+v", name, e)
			continue
		}
		if first := v.First(func(e *Entry) bool { return e.Name == name }); first != e {
			t.Errorf("the first %s is %s", name, first.Place())
		}
		if in := v.InFolder(e.Folder()); name == "create" && in != e {
			t.Errorf("in the folder %s is %s", e.Folder(), in.Place())
		}
	}
	difftest.Same(t, said(v.Precedence())[:2], []string{"available create skill://a/create/SKILL.md", "available level skill://a/a/level/SKILL.md"}, "precedence")
	difftest.Same(t, said(v.Listed)[:2], []string{"available create skill://a/create/SKILL.md", "available deploy skill://a/skills/deploy/SKILL.md"}, "listed")
}

func TestNamed(t *testing.T) {
	v := view(t, catalogOf(t,
		source("a", "colon/SKILL.md", text("\"b:git\"", "exact"), "s/SKILL.md", text("Straße", "s"), "i/SKILL.md", text("İstanbul", "i"), "e/SKILL.md", text("e\u0301clair", "decomposed"), "ci/SKILL.md", text("CI/CD Pipeline", "p"), "dots/SKILL.md", text("..", "d")),
		source("b", "git/SKILL.md", text("git", "one"), "colon/SKILL.md", text("x:y", "c"), "other/SKILL.md", text("git", "second in the root"))))
	for asked, want := range map[string]string{
		"git": ".b/git/SKILL.md", " GIT\n": ".b/git/SKILL.md", "b:git": ".a/colon/SKILL.md", "B:GIT": ".a/colon/SKILL.md", "b:x:y": ".b/colon/SKILL.md", "x:y": ".b/colon/SKILL.md", "B: git": ".a/colon/SKILL.md",
		"STRASSE": ".a/s/SKILL.md", "strasse": ".a/s/SKILL.md", "i\u0307STANBUL": ".a/i/SKILL.md", "ÉCLAIR": ".a/e/SKILL.md", "éclair": ".a/e/SKILL.md", "ci/cd pipeline": ".a/ci/SKILL.md", "..": ".a/dots/SKILL.md",
		"": "", ":": "", "a:git": "", "c:git": "", "gi": "", "../git": "", "git/SKILL.md": "", "b:": "", ":git": "", "i\u0307": "",
	} {
		got := ""
		if e := v.Named(asked); e != nil {
			got = e.Place()
		}
		if asked == "B: git" { // no skill has this exact name, so it means git in root b
			want = ".b/git/SKILL.md"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", asked, got, want)
		}
	}
}

func TestURIs(t *testing.T) {
	one := source("dir-1",
		"SKILL.md", text("whole", "the root itself"), "plain/SKILL.md", text("plain", "p"), "folder/SKILL.md", text("renamed", "r"), "deep/er/SKILL.md", text("other", "o"), "odd/SKILL.md", text("Not Valid", "n"),
		"c1/SKILL.md", text("same", "1"), "c2/SKILL.md", text("same", "2"), "claims/SKILL.md", text("plain", "claims plain's"), "claims-group/SKILL.md", text("deep", "claims a folder"),
		"nest/SKILL.md", text("nest", "outer"), "nest/in/SKILL.md", text("inner", "i"), "nest/in2/SKILL.md", text("data", "claims a file"), "nest/data", "x", "engage/SKILL.md", text("engage", "ours"), "engage2/SKILL.md", text("skipped", "s"), "skipped/SKILL.md", "no frontmatter")
	one.root.Prefix = ""
	built := source("builtin", "engage/SKILL.md", text("engage", "built in"))
	built.root.Prefix, built.root.Scope = "", skill.ScopeBuiltin
	three := source("user", "plain/SKILL.md", text("plain", "p"))
	v := view(t, catalogOf(t, one, three, built))
	got := map[string]string{}
	for _, e := range v.Entries {
		got[e.Place()] = e.Base()
		if e.Status != Skipped {
			if f, path := v.At(e.URI()); f != e || path != skill.MainFile {
				t.Errorf("%s leads to %v, %q", e.URI(), f, path)
			}
		}
	}
	difftest.Same(t, got, map[string]string{
		".dir-1/SKILL.md": "whole", ".dir-1/plain/SKILL.md": "plain", ".dir-1/folder/SKILL.md": "renamed", ".dir-1/deep/er/SKILL.md": "deep/other", ".dir-1/odd/SKILL.md": "odd",
		".dir-1/c1/SKILL.md": "same", ".dir-1/c2/SKILL.md": "c2", ".dir-1/claims/SKILL.md": "claims", ".dir-1/claims-group/SKILL.md": "claims-group",
		".dir-1/nest/SKILL.md": "nest", ".dir-1/nest/in/SKILL.md": "nest/inner", ".dir-1/nest/in2/SKILL.md": "nest/in2", ".dir-1/engage/SKILL.md": "engage",
		".dir-1/engage2/SKILL.md": "engage2", ".dir-1/skipped/SKILL.md": "", ".user/plain/SKILL.md": "user/plain", ".builtin/engage/SKILL.md": "builtin/engage"}, "bases")
}

// TestNameClaimsFolder checks that a skill's URI keeps the folder's name if the path with the
// skill's name already belongs to another skill or contains one.
func TestNameClaimsFolder(t *testing.T) {
	v := view(t, catalogOf(t, source("r", "a/SKILL.md", text("z", "claims z"), "b/SKILL.md", text("group", "claims a group"), "z/SKILL.md", text("zz", "renamed itself"), "group/in/SKILL.md", text("in", "i"), "broken/SKILL.md", "nothing", "c/SKILL.md", text("broken", "claims a skipped one"))))
	difftest.Same(t, said(v.Listed), []string{
		"available broken skill://r/c/SKILL.md", "available group skill://r/b/SKILL.md", "available in skill://r/group/in/SKILL.md", "available z skill://r/a/SKILL.md", "available zz skill://r/zz/SKILL.md"}, "entries")
}

// TestUnspeakableFolder checks that a skill is served under a valid URI even if the path of its
// folder is not valid in one.
func TestUnspeakableFolder(t *testing.T) {
	c := catalogOf(t, source("r", "a\\b/in/SKILL.md", text("in", "d"), "a~b/in/SKILL.md", text("other", "d"), "w%2fx/SKILL.md", text("W", "d"),
		"C:/SKILL.md", text("c", "d"), "ok/SKILL.md", text("ok", "d"), "q\\r/s/SKILL.md", text("t", "d"), "%2e%2e/SKILL.md", text("Up", "d")))
	v := view(t, c)
	difftest.Same(t, said(v.Skipped), []string(nil), "skipped")
	got := map[string]string{}
	for _, e := range v.Entries {
		got[e.Path] = e.URI().String()
		if at, file := v.At(e.URI()); at != e || file != skill.MainFile {
			t.Errorf("%s leads to %v, %s", e.URI(), at, file)
		}
	}
	difftest.Same(t, got, map[string]string{
		"a\\b/in": "skill://r/a~b/in/SKILL.md", "a~b/in": "skill://r/a~b/other/SKILL.md", "w%2fx": "skill://r/w~2fx/SKILL.md", "C:": "skill://r/c/SKILL.md",
		"ok": "skill://r/ok/SKILL.md", "q\\r/s": "skill://r/q~r/t/SKILL.md", "%2e%2e": "skill://r/~2e~2e/SKILL.md",
	}, "URIs")
	news := told(c)
	refresh(t, c)
	difftest.Same(t, *news, []string(nil), "news of an unchanged catalogue")
}

func names(entries []*Entry) (out []string) {
	for _, e := range entries {
		out = append(out, e.Folder())
	}
	return out
}

func TestNear(t *testing.T) {
	v := view(t, catalogOf(t, source("a", "git/SKILL.md", text("git", "d"), "gist/SKILL.md", text("gist", "d"), "deploy/SKILL.md", text("deploy", "d"), "deploy-to-prod/SKILL.md", text("deploy-to-prod", "d"), "技/SKILL.md", text("技", "d"), "broken-one/SKILL.md", "---\nname: other-name\n---\n")))
	for asked, want := range map[string][]string{
		"got": {"git"}, "igt": {"git"}, "git": {"git", "gist"}, "deplyo": {"deploy"}, "DEPLOI": {"deploy"}, "dep": {"deploy", "deploy-to-prod"}, "deploy-to-prd": {"deploy-to-prod"}, "x": nil, "": nil, "术": nil, "something-else": nil, "gi": nil,
	} {
		difftest.Same(t, names(v.Near(asked, 5)), want, asked)
	}
	difftest.Same(t, names(v.Near("git", 1)), []string{"git"}, "at most one")
	for asked, want := range map[string][]string{"broken-one": {"broken-one"}, "Broken-On": {"broken-one"}, "other-name": {"broken-one"}, "git": nil} {
		difftest.Same(t, names(v.SkippedNear(asked, 5)), want, asked)
	}
}

// TestManyCopies checks that preferNearest finds the copy with the shortest path among as many
// copies as a source may have, in one pass.
func TestManyCopies(t *testing.T) {
	const n = 50_000
	s := &Snapshot{files: map[*skill.Skill]skill.Digest{}}
	root := &skill.Root{Remote: true}
	var all []*Entry
	for i := range n {
		e := &Entry{Skill: &skill.Skill{Bundle: &skill.Bundle{Path: fmt.Sprintf("a/b/c/%d/SKILL.md", i)}}, Root: root}
		s.files[e.Skill] = skill.Digest{1}
		all = append(all, e)
	}
	near := all[n/2]
	near.Path = "a/b/SKILL.md"
	began := time.Now()
	s.preferNearest(all)
	if took := time.Since(began); all[0] != near || took > 5*time.Second {
		t.Errorf("%s is first, after %s", all[0].Path, took)
	}
}
