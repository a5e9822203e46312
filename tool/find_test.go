package tool

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
)

// Lines of find_skills. Each has the name that loads the skill, its scope, its URI and its
// description.
const (
	foundGit      = "\n- git (project, skill://claude-project/git/SKILL.md): Git deployment workflow skill"
	foundPostgres = "\n- postgres (project, skill://claude-project/postgres/SKILL.md): PostgreSQL database operations"
	foundUsers    = "\n- claude-user:git (global, skill://claude-user/git/SKILL.md): Git as I use it"
	foundBuilder  = "\n- mcp-builder (global, skill://claude-user/mcp-builder/SKILL.md): MCP server development guide"
)

// answered is the content of an answer of find_skills, read from its text as a model does.
type answered struct {
	skills []findRow
	total  int
	cursor string
}

var (
	countLine = regexp.MustCompile(`(?m)^Skills \d+ to \d+ of (\d+):$`)
	skillLine = regexp.MustCompile(`(?m)^- (.*) \((project|global)(?:, (skill://\S+))?\): (.*)$`)
	moreLine  = regexp.MustCompile(`(?m)^For more, call again with cursor "(.*)"\.$`)
)

func answerOf(t testing.TB, h *Host, a args) (out answered) {
	t.Helper()
	r := call(t, h, "default", "find_skills", a)
	if r.Object != nil || r.IsError {
		t.Fatalf("%+v", r)
	}
	return readAnswer(r.Text)
}

func readAnswer(text string) (out answered) {
	if m := countLine.FindStringSubmatch(text); m != nil {
		out.total, _ = strconv.Atoi(m[1])
	}
	for _, m := range skillLine.FindAllStringSubmatch(text, -1) {
		out.skills = append(out.skills, findRow{name: m[1], scope: m[2], uri: m[3], description: m[4]})
	}
	if m := moreLine.FindStringSubmatch(text); m != nil {
		out.cursor = m[1]
	}
	return out
}

func TestFindAnswers(t *testing.T) {
	whole := Result{Text: "Skills 1 to 4 of 4:" + foundGit + foundPostgres + foundBuilder + foundUsers}
	refused := func(why string) Result {
		return Result{Text: "Invalid arguments for tool find_skills: " + why, IsError: true}
	}
	const badLimit, badCursor = "'limit' must be a whole number from 1 to 100", "'cursor' must be one that an earlier answer gave"
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
		{"another key", args{"topic": "x"}, refused("unrecognized key 'topic'; the keys are 'query', 'limit', 'cursor'")},
		{"two others", args{"q": "git", "keywords": []string{"git"}}, refused("unrecognized keys 'keywords', 'q'; the keys are 'query', 'limit', 'cursor'")},
		{"a word of a description", args{"query": "Database"}, Result{Text: "Skills 1 to 1 of 1:" + foundPostgres}},
		{"a name before a description", args{"query": "git development"}, Result{Text: "Skills 1 to 3 of 3:" + foundGit + foundUsers + foundBuilder}},
		{"no match", args{"query": "kubernetes\x1b"}, Result{
			Text: `No skill matches 'kubernetes\x1b'. Try other words, or leave the query out to list all skills.`}},
		{"limit", args{"limit": 2}, Result{
			Text: "Skills 1 to 2 of 4:" + foundGit + foundPostgres + "\nFor more, call again with cursor \"2-3b6b267c\"."}},
		{"the rest", args{"limit": 2, "cursor": "2"}, Result{Text: "Skills 3 to 4 of 4:" + foundBuilder + foundUsers}},
		{"beyond the end", args{"cursor": "7"}, Result{Text: "Nothing comes after that cursor; there are 4 skills in all."}},
		{"limit as 1e2", `{"limit":1e2}`, whole},
		{"limit 0", args{"limit": 0}, refused(badLimit)},
		{"limit 101", args{"limit": 101}, refused(badLimit)},
		{"limit 1.5", args{"limit": 1.5}, refused(badLimit)},
		{"limit in quotes", args{"limit": "10"}, whole},
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
			difftest.Same(t, call(t, h, "default", "find_skills", tt.args), tt.want)
		})
	}
}

func TestFindNothing(t *testing.T) {
	difftest.Same(t, call(t, hostOf(t, project(nil)), "default", "find_skills", args{}), Result{Text: "There are no skills."})
}

func TestFindProblems(t *testing.T) {
	h := hostOf(t, project(map[string]string{
		"git/SKILL.md":    md("git", "Git"),
		"deploy/SKILL.md": "---\nname: deploy\n---\n",
		"ship/SKILL.md":   "# Ship\n",
		"off/SKILL.md":    "---\nname: off\ndescription: Git, kept from models\ndisable-model-invocation: true\n---\n",
	}))
	const (
		git    = "Skills 1 to 1 of 1:\n- git (project, skill://claude-project/git/SKILL.md): Git"
		deploy = "\n'deploy' was skipped: .claude/skills/deploy/SKILL.md:2:1: description is missing (add a line description: that says what the skill does and when to use it)"
		ship   = "\n'ship' was skipped: .claude/skills/ship/SKILL.md:1:1: the file has no frontmatter (begin the file with ---, name:, description: and --- on lines of their own)"
	)
	difftest.Same(t, call(t, h, "default", "find_skills", args{}), Result{Text: git + deploy + ship})
	difftest.Same(t, call(t, h, "default", "find_skills", args{"query": "git"}), Result{Text: git})
	difftest.Same(t, call(t, h, "default", "find_skills", args{"query": "how to Deploy this"}), Result{
		Text: "No skill matches 'how to Deploy this'. Try other words, or leave the query out to list all skills." + deploy})
}

// TestFindProblemsAreBounded checks that the number of reasons is bounded, that the skills keep
// their room, and that the answer gives the number of further reasons.
func TestFindProblemsAreBounded(t *testing.T) {
	for _, n := range []int{19, 20, 21, 300} {
		files := map[string]string{"git/SKILL.md": md("git", "Git")}
		for i := range n {
			files[fmt.Sprintf("broken-%03d/SKILL.md", i)] = "x"
		}
		text := call(t, hostOf(t, project(files)), "default", "find_skills", args{}).Text
		difftest.Same(t, strings.Count(text, "' was skipped: "), min(n, problemLimit))
		more := fmt.Sprintf("\nAnd %d more ", n-problemLimit)
		if strings.Contains(text, more) != (n > problemLimit) || !strings.Contains(text, "- git (") {
			t.Errorf("%d skipped skills: %s", n, text)
		}
	}
}

// TestFindPages checks that the pages have every skill once, in the order of the list, with any
// limit, and that no page exceeds the budget.
func TestFindPages(t *testing.T) {
	for _, size := range []int{20, 1900} {
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
				text := call(t, h, "default", "find_skills", next).Text
				if n := display.Length(text); n > listing.Budget+200 {
					t.Fatalf("a page of %d characters", n)
				}
				r := readAnswer(text)
				if limit, ok := a["limit"].(int); ok && len(r.skills) > limit || r.total != 130 || len(r.skills) == 0 {
					t.Fatalf("%v: %d skills of %d", next, len(r.skills), r.total)
				}
				for _, f := range r.skills {
					got = append(got, f.name)
				}
				if r.cursor == "" {
					break
				}
				if pages > 130 {
					t.Fatalf("%v does not end", a)
				}
				next["cursor"] = r.cursor
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%d characters, %v: -want +got:\n%s", size, a, d)
			}
		}
	}
}

func TestFindHostileTextIsInert(t *testing.T) {
	h := hostOf(t, project(map[string]string{"a/SKILL.md": md(`"x\u202Ey - z: fake"`, `"one\n- two: fake\e[2J"`)}))
	difftest.Same(t, call(t, h, "default", "find_skills", args{}).Text, "Skills 1 to 1 of 1:\n- xy - z: fake (project, skill://claude-project/a/SKILL.md): one - two: fake [2J")
}

// TestFindPagesWhileSkillsChange checks that the pages have every skill that exists all the time
// exactly once, despite changes between two pages.
func TestFindPagesWhileSkillsChange(t *testing.T) {
	root := many(30, 20)
	h := hostOf(t, root)
	at := func(e string) string {
		for name := range root.Files {
			if strings.HasPrefix(name, e+"/") {
				return name
			}
		}
		t.Fatalf("no skill %s", e)
		return ""
	}
	var got []string
	for cursor, page := "", 0; page == 0 || cursor != ""; page++ {
		r := answerOf(t, h, args{"cursor": cursor, "limit": 10})
		for _, f := range r.skills {
			got = append(got, f.name)
		}
		switch cursor = r.cursor; page {
		case 0:
			delete(root.Files, at(got[2]))
			delete(root.Files, at(got[3]))
		case 2: // the last skill of a page, so that the cursor refers to a missing skill
			delete(root.Files, at(got[len(got)-1]))
		case 1:
			for c := range 15 { // more than a page
				name := fmt.Sprintf("aaa-%c", 'a'+c)
				root.Put(name+"/SKILL.md", md(name, "x"))
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

// TestFindFits reads all pages for clients with small limits, with descriptions in characters of up
// to four bytes. It checks that each answer fits, and that each skill is in one of them.
func TestFindFits(t *testing.T) {
	library := func(n int, description string) *Host {
		files := map[string]string{}
		for i := range n {
			name := fmt.Sprintf("guide-%03d", i)
			files[name+"/SKILL.md"] = md(name, description)
		}
		return hostOf(t, project(files))
	}
	for _, lib := range []struct {
		skills      int
		description string
		args        args
	}{
		{40, "文档 报告" + strings.Repeat("文", 1017), args{"query": "文档 报告", "limit": 100}},
		{40, "文档 报告" + strings.Repeat("文", 1017), args{"query": "文档 报告"}},
		{200, strings.Repeat("文", 600), args{}},
		{3, strings.Repeat("\U0001f600", 2048), args{}},
	} {
		h := library(lib.skills, lib.description)
		for _, c := range []profile.Client{{}, {Name: "copilot-cli"}, {Name: "pi"}, {Name: "qwen-cli-mcp-client-x"}, {Name: "@cline/core"},
			{Name: "codex-mcp-client"}, {Name: "codex-mcp-client", Scripted: true}, {Name: "claude-code"}} {
			p, all, a := c.Profile(), map[string]bool{}, maps.Clone(lib.args)
			for a["cursor"] != "" {
				text := callBy(t, h, c, "default", "find_skills", a).Text
				if n := p.ResultUnit.Length(text); n > p.Result || display.Length(text) > listing.Budget+findReserve {
					t.Errorf("%s, %d skills, %v: an answer of %d units, and %d are shown", c.Name, lib.skills, a, n, p.Result)
				}
				answer := readAnswer(text)
				for _, f := range answer.skills {
					all[f.name] = true
				}
				a["cursor"] = answer.cursor
			}
			if len(all) != lib.skills {
				t.Errorf("%s, %d skills, %v: the answers have %d", c.Name, lib.skills, lib.args, len(all))
			}
		}
	}
}
