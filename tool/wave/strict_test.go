package wave

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/tool/lookup"

	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/skill"
)

// The skills of these tests are in memory.
var project, global, md = skilltest.Project, skilltest.Global, skilltest.Document

func waves() []*skilltest.Memory {
	return []*skilltest.Memory{
		project(map[string]string{
			"skill-1/SKILL.md":  md("skill-1", "Description of skill 1"),
			"Upper/SKILL.md":    md("Upper", "d"),
			"folder/SKILL.md":   md("another", "d"),
			"colon/SKILL.md":    "---\nname: colon\ndescription: Use it: always\n---\n",
			"nodesc/SKILL.md":   "---\nname: nodesc\n---\n",
			"hidden/SKILL.md":   "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n",
			"denied/SKILL.md":   md("denied", "d"),
			"long/SKILL.md":     md("long", strings.Repeat("d", 1025)),
			"meta/SKILL.md":     "---\nname: meta\ndescription: Odd metadata and a link [out](../x) are fine\nmetadata: 5\n---\n",
			"shadowed/SKILL.md": "broken here, sound below",
			"loose/SKILL.md":    md("dup", "available elsewhere, not sound"),
			"twice/SKILL.md":    "---\nname: twice\ndescription: d\ndisable-model-invocation: true\n---\n",
		}),
		global(map[string]string{
			"skill-2/SKILL.md":  md("skill-2", "Description of skill 2"),
			"skill-1/SKILL.md":  md("skill-1", "shadowed"),
			"shadowed/SKILL.md": md("shadowed", "Sound"),
			"dup/SKILL.md":      md("dup", "Sound"),
			"twice/SKILL.md":    md("twice", "behind one that is kept from models"),
		}),
	}
}

// finderOf finds the skills of roots.
func finderOf(t testing.TB, roots ...*skilltest.Memory) *lookup.Finder {
	t.Helper()
	return &lookup.Finder{Catalog: skilltest.Catalog(t, roots...)}
}

// waveFinder finds the skills of [waves], one of which cannot be read for lack of permission.
func waveFinder(t testing.TB) *lookup.Finder {
	roots := waves()
	roots[0].FS = skilltest.Deny(roots[0].Files, "denied/SKILL.md")
	return finderOf(t, roots...)
}

// execute calls the tool with a name.
func execute(t testing.TB, f *lookup.Finder, name string) ToolResult {
	t.Helper()
	r, err := (&SkillManager{Finder: f}).Execute(t.Context(), SkillToolArgs{name}, ToolContext{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestShortResult(t *testing.T) {
	for description, want := range map[string]string{
		"Short":                          "x: Short",
		strings.Repeat("d", 77):          "x: " + strings.Repeat("d", 77),
		strings.Repeat("a ", 100):        "x: " + strings.TrimSpace(strings.Repeat("a ", 38)) + "…",
		strings.Repeat("d", 200):         "x: " + strings.Repeat("d", 76) + "…", // no space to cut at
		"To " + strings.Repeat("d", 200): "x: To " + strings.Repeat("d", 73) + "…",
	} {
		f := finderOf(t, project(map[string]string{"x/SKILL.md": md("x", description)}))
		difftest.Same(t, execute(t, f, "x").ShortResult, want)
	}
}

func TestJSON(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want string
	}{
		{ToolResult{Success: true, Content: "c", ShortResult: "s"}, `{"success":true,"content":"c","shortResult":"s"}`},
		{ToolResult{Content: "c", Error: "e"}, `{"success":false,"content":"c","error":"e"}`},
		{SkillToolArgs{"x"}, `{"skill_name":"x"}`},
		{SkillErrorDetails{SkillNotFound, "n", "m", []string{"s"}, []string{"a"}}, `{"type":"skill_not_found","skillName":"n","message":"m","suggestions":["s"],"availableSkills":["a"]}`},
		{SkillErrorDetails{Type: SkillSystemError}, `{"type":"system_error","message":""}`},
	} {
		got, err := json.Marshal(tt.v)
		difftest.Same(t, err, nil)
		difftest.Same(t, string(got), tt.want)
	}
}

// TestStrictRulesCoverSkips checks that every rule that skips a skill also makes it invalid.
func TestStrictRulesCoverSkips(t *testing.T) {
	for _, r := range skill.Rules() {
		if r.Skips && strictRules[r.ID] == "" {
			t.Errorf("%s skips a skill and does not make it invalid", r.ID)
		}
	}
}
