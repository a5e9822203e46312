package dir

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
)

func TestRepository(t *testing.T) {
	base := tree(t, map[string]string{"r/.git/HEAD": "x", "r/a/b/": "", "w/.git": "gitdir: elsewhere", "w/c/": "", "none/d/": ""})
	cases := map[string][]string{
		"r":      {"r"},
		"r/a/b":  {"r/a/b", "r/a", "r"},
		"r/a/":   {"r/a", "r"},
		"w/c":    {"w/c", "w"},
		"none/d": {"none/d"},
		"r/gone": {"r/gone", "r"},
	}
	for dir, want := range cases {
		var got []string
		for _, d := range Repository(filepath.Join(base, dir)) {
			rel, err := filepath.Rel(base, d)
			must(t, err)
			got = append(got, filepath.ToSlash(rel))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", dir, diff)
		}
	}
}

// listed returns roots as "label scope path", only those whose label begins with one of
// labels.
func listed(base string, roots []skill.Root, labels ...string) []string {
	var out []string
	for _, r := range roots {
		if row, _, _ := strings.Cut(r.Label, "-"); slices.Contains(labels, row) {
			rel, _ := filepath.Rel(base, r.Dir)
			out = append(out, r.Label+" "+string(r.Scope)+" "+filepath.ToSlash(rel))
		}
	}
	return out
}

func TestWellKnown(t *testing.T) {
	base := tree(t, map[string]string{
		"home/.git/HEAD": "x", "home/code/p/.git/HEAD": "x", "home/code/p/sub/": "",
		"home/free/": "", "home/.claude/skills/": "", "home/code/p/.claude/skills": "->../../../.claude/skills",
		"q/.git/HEAD": "x", "q/s/": "", "homelink": "->home",
	})
	at := func(p string) string { return filepath.Join(base, p) }
	cases := []struct {
		name     string
		projects []string
		home     string
		labels   []string
		want     []string
	}{
		{"in a repository", []string{at("q/s")}, at("home"), []string{"agent", "claude"}, []string{
			"agent-project project q/s/.agent/skills",
			"agent-project-2 project q/.agent/skills",
			"agent-user global home/.agent/skills",
			"claude-project project q/s/.claude/skills",
			"claude-project-2 project q/.claude/skills",
			"claude-user global home/.claude/skills",
		}},
		{"the project is home", []string{at("home")}, at("home"), []string{"agent"}, []string{
			"agent-user global home/.agent/skills",
		}},
		{"home by another name", []string{at("homelink")}, at("home"), []string{"agent"}, []string{
			"agent-user global home/.agent/skills",
		}},
		{"the chain reaches home", []string{at("home/free")}, at("home"), []string{"agent"}, []string{
			"agent-project project home/free/.agent/skills",
			"agent-user global home/.agent/skills",
		}},
		{"one real folder by two names", []string{at("home/code/p")}, at("home"), []string{"claude"}, []string{
			"claude-project project home/code/p/.claude/skills",
		}},
		{"several projects", []string{at("q/s"), at("q"), at("home/code/p")}, "", []string{"wave"}, []string{
			"wave-project project q/s/.wave/skills",
			"wave-project-2 project q/.wave/skills",
			"wave-project-3 project home/code/p/.wave/skills",
		}},
		{"no project", nil, at("home"), []string{"copilot", "amp"}, []string{
			"copilot-user global home/.copilot/skills",
			"amp-user global home/.config/agents/skills",
			"amp-config-user global home/.config/amp/skills",
		}},
		{"nothing", []string{""}, "", []string{"agent"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, listed(base, WellKnown(c.projects, c.home, nil), c.labels...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A root with the folder of an earlier one is not added; the earlier root gets its label
// too.
func TestWellKnownAlso(t *testing.T) {
	base := tree(t, map[string]string{"p/.git/HEAD": "x", "p/skills/": "", "p/.claude/skills": "->../skills", "p/.agents/skills": "->../.claude/skills", "p/.codex": "->.agents", "h/": ""})
	got := map[string][]string{}
	for _, r := range WellKnown([]string{filepath.Join(base, "p")}, filepath.Join(base, "h"), nil) {
		if r.Also != "" {
			got[r.Label] = r.Labels()
		}
	}
	if diff := cmp.Diff(map[string][]string{"claude-project": {"claude-project", "agents-project", "codex-project"}}, got); diff != "" {
		t.Error(diff)
	}
}

// A folder has the same real path whether it exists or not.
func TestRealPaths(t *testing.T) {
	base := tree(t, map[string]string{
		"home/.agent/skills/": "", "home/.config/agents/": "", "home/.wave/skills": "->../../elsewhere", "elsewhere/": "",
		"home/.codex": "->.agent", "home/.gemini": "->nowhere", "home/.goose": "a file", "link": "->home",
	})
	for _, folder := range []string{"home", "link", "gone", "link/.agent", "home/.goose"} {
		top := newTop(filepath.Join(base, folder))
		for _, sub := range []string{".agent/skills", ".config/agents/skills", ".config/goose/skills", ".wave/skills", ".codex/skills", ".gemini/skills", ".goose/skills", ".cursor/skills"} {
			if got, want := top.real(sub), realpath.Of(filepath.Join(top.dir, filepath.FromSlash(sub))); got != want {
				t.Errorf("%s of %s is %s, and %s as a whole", sub, folder, got, want)
			}
		}
	}
}

// The order is a promise: contract 002 and the table in the product.
func TestWellKnownOrder(t *testing.T) {
	base := tree(t, map[string]string{"p/": "", "home/": ""})
	roots := WellKnown([]string{filepath.Join(base, "p")}, filepath.Join(base, "home"), nil)
	want := []string{
		"p/.agent/skills", "home/.agent/skills", "p/.claude/skills", "home/.claude/skills",
		"p/.agents/skills", "home/.agents/skills", "p/.wave/skills", "home/.wave/skills",
	}
	labels := map[string]bool{}
	for i, r := range roots {
		if labels[r.Label] {
			t.Errorf("%s twice", r.Label)
		}
		labels[r.Label] = true
		if i < len(want) && r.Dir != filepath.Join(base, want[i]) {
			t.Errorf("root %d is %s, want %s", i, r.Dir, want[i])
		}
	}
}
