package settings

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/skill"
)

// tree lists the folders of the skills of one root.
type tree []string

func (t tree) root(r skill.Root) *skilltest.Memory {
	m := skilltest.New(r.Label, skill.ScopeProject, nil)
	m.In = r
	for _, at := range t {
		m.Put(at+"/SKILL.md", skilltest.Document(at[strings.LastIndexByte(at, '/')+1:], "d"))
	}
	return m
}

func builtins() *skilltest.Memory {
	return skilltest.New("builtin", skill.ScopeBuiltin, map[string]string{"engage/SKILL.md": skilltest.Document("engage", "d")})
}

// rulesOf parses a section access.
func rulesOf(t *testing.T, text string) config.Access {
	t.Helper()
	c, problems := config.Parse([]byte(text))
	if len(problems) > 0 {
		t.Fatal(text, problems)
	}
	return c.Access
}

// seen returns the paths of the skills of the root at dir that a client sees.
func seen(t *testing.T, c *catalog.Catalog, given config.Access, dir string) (paths []string) {
	t.Helper()
	v, ready := c.Now(given.Policy.Filter(access.Subject{Name: "anna", Groups: []string{"g"}}))
	if !ready {
		t.Fatal("no list")
	}
	for _, e := range v.Entries {
		if e.Root.Dir == dir {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

var segments = []string{"a", "b", "dir-1", "dir-2", "acme", "engage", "x"}

func someTree(r *rand.Rand) (t tree) {
	for range 1 + r.IntN(5) {
		var at []string
		for range 1 + r.IntN(3) {
			at = append(at, segments[r.IntN(len(segments))])
		}
		if path := strings.Join(at, "/"); !slices.Contains(t, path) {
			t = append(t, path)
		}
	}
	return t
}

func someRules(r *rand.Rand) string {
	pattern := func() string {
		var at []string
		for range 1 + r.IntN(3) {
			one := slices.Concat(segments, []string{"*", "**", "**", "d*", "*a*", "dir-*"})[r.IntN(len(segments)+6)]
			if one == "**" && len(at) > 0 && at[len(at)-1] == "**" {
				continue
			}
			at = append(at, one)
		}
		return "skill://" + strings.Join(at, "/")
	}
	var rules []string
	for range 1 + r.IntN(3) {
		who := []string{"", "groups: [g], ", "subjects: [bert], "}[r.IntN(3)]
		rules = append(rules, fmt.Sprintf("{%s%s: [%q]}", who, []string{"allow", "deny"}[r.IntN(2)], pattern()))
	}
	return fmt.Sprintf("access: {default: %s, rules: [%s]}", []string{"allow", "deny"}[r.IntN(2)], strings.Join(rules, ", "))
}

// TestSecondRootOpensNothing checks, with random trees and rules, that skills which are hidden with
// a single --dir stay hidden after more roots are added, in any order, by --dir or in knack.yaml.
// The rules may also be refused.
func TestSecondRootOpensNothing(t *testing.T) {
	testwait.Slow(t)
	r := rand.New(rand.NewPCG(1, 20))
	rounds, started, hidden := 5_000, 0, 0
	if testing.Short() {
		rounds = 500
	}
	for range rounds {
		mine, other, text := someTree(r), someTree(r), someRules(r)
		given := rulesOf(t, text)
		alone := skilltest.Catalog(t, mine.root(skill.Root{Label: "dir-1", Dir: "/mine"}), builtins())
		if Check(t.Context(), alone, "knack.yaml", given) != nil {
			continue
		}
		before := seen(t, alone, given, "/mine")
		if len(before) < len(mine) {
			hidden++
		}
		for _, label := range []string{"dir-1", "dir-2", "acme", "a", "m"} {
			first, second := skill.Root{Label: "dir-1", Prefix: "dir-1", Dir: "/mine"}, skill.Root{Label: "dir-2", Prefix: "dir-2", Dir: "/other"}
			switch label {
			case "dir-1":
			case "dir-2":
				first.Label, first.Prefix, second.Label, second.Prefix = "dir-2", "dir-2", "dir-1", "dir-1"
			default:
				if slices.ContainsFunc(given.Rules, func(r access.Rule) bool {
					return slices.ContainsFunc(r.Allow, func(p access.Pattern) bool { return p.IsAbout(label) })
				}) {
					continue // the operator gives the root a label that the rules already allow
				}
				first.Label, first.Prefix, first.Publisher = label, label, &skill.Publisher{}
				second.Label, second.Prefix, second.Publisher = "b", "b", &skill.Publisher{}
			}
			roots := []*skilltest.Memory{mine.root(first), other.root(second), builtins()}
			if label == "dir-2" {
				roots[0], roots[1] = roots[1], roots[0]
			}
			both := skilltest.Catalog(t, roots...)
			if Check(t.Context(), both, "knack.yaml", given) != nil {
				continue
			}
			started++
			for _, path := range seen(t, both, given, "/mine") {
				if !slices.Contains(before, path) {
					t.Fatalf("%s of %v is hidden, and visible as %s beside %v:\n%s", path, mine, label, other, text)
				}
			}
		}
	}
	if started < rounds/10 || hidden < rounds/10 {
		t.Errorf("only %d of %d servers started, and %d hid something", started, rounds, hidden)
	}
}

// TestRefusals checks the messages with which Check refuses rules.
func TestRefusals(t *testing.T) {
	named := func(label string, t tree) *skilltest.Memory {
		return t.root(skill.Root{Label: label, Prefix: label, Publisher: &skill.Publisher{}})
	}
	byNumber := func(label string, t tree) *skilltest.Memory {
		return t.root(skill.Root{Label: label, Prefix: label})
	}
	acme, tools := named("acme", tree{"billing/refunds", "git"}), named("tools", tree{"acme/git", "tools/x"})
	for _, c := range []struct {
		roots      []*skilltest.Memory
		rules, say string
	}{
		{[]*skilltest.Memory{acme}, `deny: ["skill://acme/billing/**"]`, ""},
		{[]*skilltest.Memory{acme}, `deny: ["skill://**/billing/**"]`, ""},
		{[]*skilltest.Memory{acme}, `deny: ["skill://engage"]`, ""},
		{[]*skilltest.Memory{acme}, `allow: ["skill://tools/**"]`, ""},
		{[]*skilltest.Memory{acme}, `deny: ["skill://more/**"]`, ""},
		{[]*skilltest.Memory{acme}, `deny: ["skill://billing/**"]`, "k:1:42: no skill of these roots matches the pattern skill://billing/**, and as skill://acme/billing/** it would match"},
		{[]*skilltest.Memory{acme}, `deny: ["skill://tools/**"]`, "k:1:42: no root has the label tools, so the pattern skill://tools/** denies nothing"},
		{[]*skilltest.Memory{acme}, `deny: ["skill://*/git"]`, "k:1:42: the pattern skill://*/git has a * in its first part, which is the label of a root"},
		{[]*skilltest.Memory{acme}, `allow: ["skill://ac*/**"]`, "k:1:43: the pattern skill://ac*/** has a * in its first part, which is the label of a root"},
		{[]*skilltest.Memory{acme, tools}, `deny: ["skill://acme/**"]`, "k:1:42: the pattern skill://acme/** means a root, and a folder in the root tools has the same name"},
		{[]*skilltest.Memory{tools, acme}, `deny: ["skill://acme/**"], allow: ["skill://tools/acme/**"]`, ""},
		{[]*skilltest.Memory{acme, tools}, `allow: ["skill://acme/**"]`, ""},
		{[]*skilltest.Memory{acme, tools}, `allow: ["skill://tools/**"]`, ""},
		{[]*skilltest.Memory{byNumber("dir-1", tree{"dir-1/a"}), byNumber("dir-2", tree{"b"})}, `allow: ["skill://dir-1/**"]`, "k:1:43: the pattern skill://dir-1/** means a root, and a folder in that root has the same name"},
		{[]*skilltest.Memory{byNumber("dir-1", tree{"dir-1/a"}), byNumber("dir-2", tree{"b"})}, `allow: ["skill://dir-1/**", "skill://dir-1/dir-1/**"]`, ""},
		{[]*skilltest.Memory{byNumber("dir-1", tree{"a"}), byNumber("dir-2", tree{"b"})}, `deny: ["skild://a"]`, ""},
		{[]*skilltest.Memory{byNumber("dir-1", tree{"a"}), byNumber("dir-2", tree{"b"})}, `deny: ["skill://later/**"]`, ""},
		{[]*skilltest.Memory{byNumber("dir-1", tree{"a"}), byNumber("dir-2", tree{"b"})}, `deny: ["skill://*/later/**"]`, "k:1:42: the pattern skill://*/later/** has a * in its first part, which is the label of a root"},
		{[]*skilltest.Memory{byNumber("dir-1", tree{"a"}), byNumber("dir-2", tree{"b"})}, `deny: ["skill://dir-*/later/**"]`, ""},
		{[]*skilltest.Memory{byNumber("dir-1", tree{"a", "dir-7/a"}), byNumber("dir-2", tree{"b"})}, `allow: ["skill://dir-*/a"]`, "k:1:43: the pattern skill://dir-*/a means a root, and a folder in that root has the same name"},
		{[]*skilltest.Memory{acme}, `deny: ["skill://dir-*/git"]`, "k:1:42: the pattern skill://dir-*/git has a * in its first part, which is the label of a root"},
		{[]*skilltest.Memory{skilltest.Project(map[string]string{"a/SKILL.md": skilltest.Document("a", "d")})}, `deny: ["skill://claude-*/later/**", "skill://*/x"]`, ""},
	} {
		text := strings.ReplaceAll("access: {default: allow, rules: [{"+c.rules+"}]}", "skild", "skill")
		if strings.Contains(c.rules, "skild") {
			c.say = "k:1:42: no skill of these roots matches the pattern skill://a, and as skill://dir-1/a it would match"
		}
		err := Check(t.Context(), skilltest.Catalog(t, append(slices.Clone(c.roots), builtins())...), "k", rulesOf(t, text), "more")
		if got := fmt.Sprint(err); err != nil && got != c.say || err == nil && c.say != "" {
			t.Errorf("%s: %s\nwant %s", text, got, c.say)
		}
		if e, ok := err.(*Error); err != nil && (!ok || e.Hint == "" || !e.Usage) {
			t.Errorf("%s: %+v", text, err)
		}
	}
}
