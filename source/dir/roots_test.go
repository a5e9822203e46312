package dir

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
)

// lines returns roots as "label scope path". It leaves out roots whose label does not begin with
// one of labels.
func lines(base string, roots []skill.Root, labels ...string) []string {
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
			difftest.Same(t, lines(base, WellKnown(c.projects, c.home, nil), c.labels...), c.want)
		})
	}
}

// TestWellKnownAlso checks that a root with the folder of an earlier root is not added, and that
// the earlier root also gets its label.
func TestWellKnownAlso(t *testing.T) {
	base := tree(t, map[string]string{"p/.git/HEAD": "x", "p/skills/": "", "p/.claude/skills": "->../skills", "p/.agents/skills": "->../.claude/skills", "p/.codex": "->.agents", "h/": ""})
	got := map[string][]string{}
	for _, r := range WellKnown([]string{filepath.Join(base, "p")}, filepath.Join(base, "h"), nil) {
		if r.Also != "" {
			got[r.Label] = r.Labels()
		}
	}
	difftest.Same(t, got, map[string][]string{"claude-project": {"claude-project", "agents-project", "codex-project"}})
}
