package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/skill"
)

func TestFindDefinition(t *testing.T) {
	d := toolOf(t, "default", "find_skills").Define(viewOf(t, hostOf(t, shop()...)), Client{})
	same(t, d.Title, "Find Skills")
	if length(d.Description) > 1024 || !strings.Contains(d.Description, "skipped and why") {
		t.Errorf("%d characters: %s", length(d.Description), d.Description)
	}
	var got any
	if err := json.Unmarshal(d.Schema, &got); err != nil {
		t.Fatal(err)
	}
	same(t, got, any(map[string]any{"type": "object", "properties": map[string]any{
		"query":  map[string]any{"type": "string", "description": "Words for the task or topic. Leave it out to list all skills."},
		"limit":  map[string]any{"type": "integer", "minimum": 1.0, "maximum": 100.0, "description": "How many skills at most"},
		"cursor": map[string]any{"type": "string", "description": "Where to go on: nextCursor of the answer before"},
	}}))
}

var (
	foundGit      = Found{"git", "Git deployment workflow skill", "skill://claude-project/git/SKILL.md", "project"}
	foundPostgres = Found{"postgres", "PostgreSQL database operations", "skill://claude-project/postgres/SKILL.md", "project"}
	foundUsers    = Found{"claude-user:git", "Git as I use it", "skill://claude-user/git/SKILL.md", "global"}
	foundBuilder  = Found{"mcp-builder", "MCP server development guide", "skill://claude-user/mcp-builder/SKILL.md", "global"}
	noProblems    = []Problem{}
)

func TestFindAnswers(t *testing.T) {
	whole := Result{
		Text:   "Skills 1 to 4 of 4:\n- git: Git deployment workflow skill\n- postgres: PostgreSQL database operations\n- mcp-builder: MCP server development guide\n- claude-user:git: Git as I use it",
		Object: FindResult{Skills: []Found{foundGit, foundPostgres, foundBuilder, foundUsers}, Total: 4, Problems: noProblems},
	}
	refused := func(why string) Result {
		return Result{Text: "Invalid arguments for tool find_skills: " + why, IsError: true}
	}
	const badLimit, badCursor = "'limit' must be a whole number from 1 to 100", "'cursor' must be the nextCursor of an answer before"
	tests := []struct {
		name string
		args any
		want Result
	}{
		{"no arguments", "", whole},
		{"no query", args{}, whole},
		{"blank query", args{"query": " \n"}, whole},
		{"null query", args{"query": nil, "limit": nil, "cursor": nil}, whole},
		{"empty cursor", args{"cursor": ""}, whole},
		{"unknown keys are ignored", args{"topic": "x"}, whole},
		{"a word of a description", args{"query": "Database"}, Result{
			Text:   "Skills 1 to 1 of 1:\n- postgres: PostgreSQL database operations",
			Object: FindResult{Skills: []Found{foundPostgres}, Total: 1, Problems: noProblems}}},
		{"a name before a description", args{"query": "git development"}, Result{
			Text:   "Skills 1 to 3 of 3:\n- git: Git deployment workflow skill\n- claude-user:git: Git as I use it\n- mcp-builder: MCP server development guide",
			Object: FindResult{Skills: []Found{foundGit, foundUsers, foundBuilder}, Total: 3, Problems: noProblems}}},
		{"no match", args{"query": "kubernetes\x1b"}, Result{
			Text:   `No skill matches 'kubernetes\x1b'. Try other words, or leave the query out to list all skills.`,
			Object: FindResult{Skills: []Found{}, Problems: noProblems}}},
		{"limit", args{"limit": 2}, Result{
			Text:   "Skills 1 to 2 of 4:\n- git: Git deployment workflow skill\n- postgres: PostgreSQL database operations\nFor more, call again with cursor \"2-3b6b267c\".",
			Object: FindResult{Skills: []Found{foundGit, foundPostgres}, Total: 4, NextCursor: "2-3b6b267c", Problems: noProblems}}},
		{"the rest", args{"limit": 2, "cursor": "2"}, Result{
			Text:   "Skills 3 to 4 of 4:\n- mcp-builder: MCP server development guide\n- claude-user:git: Git as I use it",
			Object: FindResult{Skills: []Found{foundBuilder, foundUsers}, Total: 4, Problems: noProblems}}},
		{"beyond the end", args{"cursor": "7"}, Result{
			Text:   "Nothing comes after that cursor; there are 4 skills in all.",
			Object: FindResult{Skills: []Found{}, Total: 4, Problems: noProblems}}},
		{"limit as 1e2", `{"limit":1e2}`, whole},
		{"limit 0", args{"limit": 0}, refused(badLimit)},
		{"limit 101", args{"limit": 101}, refused(badLimit)},
		{"limit -1", args{"limit": -1}, refused(badLimit)},
		{"limit 1.5", args{"limit": 1.5}, refused(badLimit)},
		{"limit 1e300", `{"limit":1e300}`, refused(badLimit)},
		{"limit as text", args{"limit": "10"}, refused(badLimit)},
		{"query of a wrong type", args{"query": 1}, refused("'query' must be a string")},
		{"cursor of a wrong type", args{"cursor": 1}, refused("'cursor' must be a string")},
		{"cursor that is none", args{"cursor": "next"}, refused(badCursor)},
		{"negative cursor", args{"cursor": "-1"}, refused(badCursor)},
		{"huge cursor", args{"cursor": strings.Repeat("9", 40)}, refused(badCursor)},
		{"not an object", "7", refused("they must be one JSON object")},
	}
	h := hostOf(t, shop()...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			same(t, call(t, h, "default", "find_skills", tt.args), tt.want)
		})
	}
}

func TestFindNothing(t *testing.T) {
	h := hostOf(t, project(nil))
	same(t, call(t, h, "default", "find_skills", args{}), Result{Text: "There are no skills.", Object: FindResult{Skills: []Found{}, Problems: noProblems}})
	got, err := json.Marshal(call(t, h, "default", "find_skills", args{}).Object)
	if err != nil {
		t.Fatal(err)
	}
	same(t, string(got), `{"skills":[],"total":0,"problems":[]}`)
}

func TestFindProblems(t *testing.T) {
	h := hostOf(t, project(map[string]string{
		"git/SKILL.md":    md("git", "Git"),
		"deploy/SKILL.md": "---\nname: deploy\n---\n",
		"ship/SKILL.md":   "# Ship\n",
		"off/SKILL.md":    "---\nname: off\ndescription: Git, kept from models\ndisable-model-invocation: true\n---\n",
	}))
	deploy := Problem{Skill: "deploy", Reason: ".claude/skills/deploy/SKILL.md:2:1: description is missing (add a line description: that says what the skill does and when to use it)"}
	ship := Problem{Skill: "ship", Reason: ".claude/skills/ship/SKILL.md:1:1: the file has no frontmatter (begin the file with ---, name:, description: and --- on lines of their own)"}
	git := Found{"git", "Git", "skill://claude-project/git/SKILL.md", "project"}
	same(t, call(t, h, "default", "find_skills", args{}), Result{
		Text:   "Skills 1 to 1 of 1:\n- git: Git\n'deploy' was skipped: " + deploy.Reason + "\n'ship' was skipped: " + ship.Reason,
		Object: FindResult{Skills: []Found{git}, Total: 1, Problems: []Problem{deploy, ship}}})
	same(t, call(t, h, "default", "find_skills", args{"query": "git"}), Result{
		Text: "Skills 1 to 1 of 1:\n- git: Git", Object: FindResult{Skills: []Found{git}, Total: 1, Problems: noProblems}})
	same(t, call(t, h, "default", "find_skills", args{"query": "how to Deploy this"}), Result{
		Text:   "No skill matches 'how to Deploy this'. Try other words, or leave the query out to list all skills.\n'deploy' was skipped: " + deploy.Reason,
		Object: FindResult{Skills: []Found{}, Problems: []Problem{deploy}}})
}

func TestFindProblemsAreBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("broken-%02d/SKILL.md", i)] = "x"
	}
	r := call(t, hostOf(t, project(files)), "default", "find_skills", args{}).Object.(FindResult)
	same(t, len(r.Problems), problemLimit)
}

// Paging reaches every skill once, in the order of the list, whatever the limit,
// and no page exceeds the budget.
func TestFindPages(t *testing.T) {
	for _, size := range []int{20, 400, 1900, 5000} {
		h := hostOf(t, many(130, size))
		var want []string
		for _, e := range viewOf(t, h).Listed {
			want = append(want, e.Name)
		}
		for _, a := range []args{{}, {"limit": 1}, {"limit": 7}, {"limit": 100}, {"query": "works"}, {"query": "works", "limit": 100}} {
			var got []string
			next := args{}
			for k, v := range a {
				next[k] = v
			}
			for pages := 0; ; pages++ {
				res := call(t, h, "default", "find_skills", next)
				r := res.Object.(FindResult)
				if n := length(res.Text); n > Budget+200 {
					t.Fatalf("a page of %d characters", n)
				}
				if limit, ok := a["limit"].(int); ok && len(r.Skills) > limit || r.Total != 130 || len(r.Skills) == 0 {
					t.Fatalf("%v: %d skills of %d", next, len(r.Skills), r.Total)
				}
				for _, f := range r.Skills {
					got = append(got, f.Name)
				}
				if r.NextCursor == "" {
					break
				}
				if pages > 130 {
					t.Fatalf("%v does not end", a)
				}
				next["cursor"] = r.NextCursor
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%d characters, %v: -want +got:\n%s", size, a, d)
			}
		}
	}
}

func TestFindHostileTextIsInert(t *testing.T) {
	h := hostOf(t, project(map[string]string{"a/SKILL.md": md(`"x\u202Ey - z: fake"`, `"one\n- two: fake\e[2J"`)}))
	same(t, call(t, h, "default", "find_skills", args{}).Text, "Skills 1 to 1 of 1:\n- xy - z: fake: one - two: fake [2J")
}

// A walk shows every skill that is there throughout exactly once, whatever comes
// and goes between two pages.
func TestFindPagesWhileSkillsChange(t *testing.T) {
	root := many(30, 20)
	h := hostOf(t, root)
	at := func(e string) string {
		for name := range root.files {
			if strings.HasPrefix(name, e+"/") {
				return name
			}
		}
		t.Fatalf("no skill %s", e)
		return ""
	}
	var got []string
	for cursor, page := "", 0; page == 0 || cursor != ""; page++ {
		r := call(t, h, "default", "find_skills", args{"cursor": cursor, "limit": 10}).Object.(FindResult)
		for _, f := range r.Skills {
			got = append(got, f.Name)
		}
		switch cursor = r.NextCursor; page {
		case 0:
			delete(root.files, at(got[2]))
			delete(root.files, at(got[3]))
		case 1:
			for c := range 15 { // more than a page
				name := fmt.Sprintf("aaa-%c", 'a'+c)
				root.put(name+"/SKILL.md", md(name, "x"))
			}
		}
		if err := h.Catalog.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	for _, name := range got {
		seen[name]++
	}
	if len(seen) != 30 || len(got) != 30 {
		t.Errorf("%d skills, %d of them different: %v", len(got), len(seen), got)
	}
}

// What another skill shadows is found under the name that loads it, a copy is not,
// nor what is kept from models; the listing has neither.
func TestFindShadowed(t *testing.T) {
	h := hostOf(t,
		project(map[string]string{"a/review/SKILL.md": md("review", "First"), "b/review/SKILL.md": md("review", "Second"), "odd/SKILL.md": md(`"o  d\u00a0d"`, "One")}),
		global(map[string]string{
			"review/SKILL.md": md("Review", "Third"), "same/SKILL.md": md("Review", "Third"), "the-copy/SKILL.md": md("review", "First"),
			"zoff/SKILL.md": "---\nname: review\ndescription: Kept\ndisable-model-invocation: true\n---\n", "odd/SKILL.md": md(`"o  d\u00a0d"`, "Two")}))
	v := viewOf(t, h)
	for _, query := range []string{"", "review third second first one two kept"} {
		r := call(t, h, "default", "find_skills", args{"query": query, "limit": 100}).Object.(FindResult)
		var got []string
		for _, f := range r.Skills {
			got = append(got, f.Description)
			loaded := call(t, h, "default", "skill", args{"name": skill.OneLine(f.Name)})
			if loaded.IsError || !strings.Contains(loaded.Text, "description: "+f.Description+"\n") {
				t.Errorf("%q loads %q", f.Name, loaded.Text)
			}
		}
		slices.Sort(got)
		same(t, got, []string{"First", "One", "Second", "Third", "Two"})
		same(t, r.Total, 5)
	}
	same(t, len(v.Listed), 2)
	names := map[string]string{}
	for _, f := range call(t, h, "default", "find_skills", args{}).Object.(FindResult).Skills {
		names[f.Description] = f.Name
	}
	same(t, names["Second"], "claude-project:b:review")
	same(t, names["Third"], "claude-user:Review")
}
