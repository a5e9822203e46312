package tool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/knack-dev/knack/skill"
)

// Contract 003: the tool.

func waves() []*memory {
	return []*memory{
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

const waveList = "- meta: Odd metadata and a link [out](../x) are fine\n- skill-1: Description of skill 1\n- dup: Sound\n- shadowed: Sound\n- skill-2: Description of skill 2"

func waveHost(t testing.TB) *Host {
	roots := waves()
	roots[0].fsys = forbidding{roots[0].files, []string{"denied/SKILL.md"}}
	return hostOf(t, roots...)
}

func TestWaveDefinition(t *testing.T) {
	tl := toolOf(t, "wave", "Skill")
	d := tl.Define(viewOf(t, waveHost(t)), Client{})
	same(t, d.Name, "Skill")
	same(t, d.Description, "Invoke skills based on available skill metadata. Skills: "+waveList)
	same(t, tl.Brief, "Invoke a skill to apply specialized expertise and capabilities")
	var got any
	if err := json.Unmarshal(d.Schema, &got); err != nil {
		t.Fatal(err)
	}
	same(t, got, any(map[string]any{"type": "object", "required": []any{"skill_name"}, "additionalProperties": false, "properties": map[string]any{
		"skill_name": map[string]any{"type": "string", "description": "Name of the skill to invoke from available skills"}}}))
	same(t, tl.Define(viewOf(t, hostOf(t, project(nil))), Client{}).Description, "Invoke skills based on available skill metadata. Skills: (none)")
	if n := length(tl.Define(viewOf(t, hostOf(t, many(300, 300))), Client{Name: "claude-code"}).Description); n > 2048 {
		t.Errorf("%d characters for a client that shows 2,048", n)
	}
}

func success(content, short string) Result {
	return Result{Text: content, Object: ToolResult{Success: true, Content: content, ShortResult: short}}
}

func waveError(name, message, content string) Result {
	e := "Error invoking skill '" + name + "': " + message + "\n\nAvailable skills:\n" + waveList
	if content == "" {
		content = e
	}
	return Result{Text: content, IsError: true, Object: ToolResult{Content: content, Error: e}}
}

func waveMissing(name, more string) Result {
	return waveError(name, "Skill '"+name+"' not found", "Skill '"+name+"' not found.\n\nAvailable skills:\n"+waveList+more)
}

func waveInvalid(name, message string, fixes ...string) Result {
	return waveError(name, message, "Skill '"+name+"' is invalid: "+message+"\n\nFix by:\n- "+strings.Join(fixes, "\n- ")+"\n\nSkill will be available after fixing these issues.")
}

func TestWaveAnswers(t *testing.T) {
	create := func(name string) string {
		return "\n\nTo create this skill:\n1. Create directory ~/.wave/skills/" + name + "/\n2. Add SKILL.md file with proper YAML frontmatter"
	}
	tests := []struct {
		name string
		args any
		want Result
	}{
		{"project", args{"skill_name": "skill-1"}, success("Skill: skill-1 (Type: project)\nPath: /home/ana/shop/.claude/skills/skill-1\n\n"+md("skill-1", "Description of skill 1"), "skill-1: Description of skill 1")},
		{"personal", args{"skill_name": "skill-2"}, success("Skill: skill-2 (Type: personal)\nPath: /home/ana/.claude/skills/skill-2\n\n"+md("skill-2", "Description of skill 2"), "skill-2: Description of skill 2")},
		{"a sound one behind a broken one", args{"skill_name": "shadowed"}, success("Skill: shadowed (Type: personal)\nPath: /home/ana/.claude/skills/shadowed\n\n"+md("shadowed", "Sound"), "shadowed: Sound")},
		{"a sound one behind a lenient one", args{"skill_name": "dup"}, success("Skill: dup (Type: personal)\nPath: /home/ana/.claude/skills/dup\n\n"+md("dup", "Sound"), "dup: Sound")},
		{"behind one kept from models", args{"skill_name": "twice"}, waveError("twice", "Skill 'twice' is not available for model invocation.", "")},
		{"not found", args{"skill_name": "nope"}, waveMissing("nope", create("nope"))},
		{"case matters", args{"skill_name": "Skill-1"}, waveMissing("Skill-1", "")},
		{"blanks matter", args{"skill_name": " skill-1"}, waveMissing(" skill-1", "")},
		{"a label is none", args{"skill_name": "claude-user:skill-1"}, waveMissing("claude-user:skill-1", "")},
		{"traversal", args{"skill_name": "../../etc/passwd"}, waveMissing("../../etc/passwd", "")},
		{"an echo is cut", args{"skill_name": strings.Repeat("é", 200)}, waveMissing(strings.Repeat("é", 128), "")},
		{"empty", args{"skill_name": ""}, waveMissing("", "")},
		{"missing", args{}, waveMissing("", "")},
		{"no arguments", "", waveMissing("", "")},
		{"a number", args{"skill_name": 5}, waveInvalid("", "'skill_name' must be a string", "Give skill_name alone, as a string: the name of one of the available skills")},
		{"a further key", args{"skill_name": "skill-1", "x": 1}, waveInvalid("skill-1", "unrecognized key 'x'; the only one is 'skill_name'", "Give skill_name alone, as a string: the name of one of the available skills")},
		{"name breaks the rule", args{"skill_name": "Upper"}, waveInvalid("Upper", "2:7: 'Upper' is not made of a-z, 0-9 and single inner hyphens", "for example name: upper")},
		{"name is not the folder's", args{"skill_name": "another"}, waveInvalid("another", "2:7: the folder is called 'folder', not 'another'", "rename the folder to 'another'")},
		{"asked for by its folder", args{"skill_name": "folder"}, waveInvalid("folder", "2:7: the folder is called 'folder', not 'another'", "rename the folder to 'another'")},
		{"no description", args{"skill_name": "nodesc"}, waveInvalid("nodesc", "2:1: description is missing", "add a line description: that says what the skill does and when to use it")},
		{"description too long", args{"skill_name": "long"}, waveInvalid("long", "3:14: description has 1025 characters, over the limit of 1024", "move detail into the body")},
		{"no permission", args{"skill_name": "denied"}, waveError("denied", "cannot be read: permission denied", "")},
		{"kept from models", args{"skill_name": "hidden"}, waveError("hidden", "Skill 'hidden' is not available for model invocation.", "")},
	}
	h := waveHost(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			same(t, call(t, h, "wave", "Skill", tt.args), tt.want)
		})
	}
}

// A colon that the lenient reader repairs is malformed here.
func TestWaveMalformed(t *testing.T) {
	r := call(t, waveHost(t), "wave", "Skill", args{"skill_name": "colon"})
	if !r.IsError || !strings.HasPrefix(r.Text, "Skill 'colon' is invalid: 3:") || !strings.Contains(r.Text, "\n\nFix by:\n- put the value in quotes: description: '…'\n\n") {
		t.Errorf("%q", r.Text)
	}
	_, d := strictNamed(viewOf(t, waveHost(t)), "colon")
	same(t, d.Type, SkillMalformed)
	for name, want := range map[string]SkillErrorType{"nope": SkillNotFound, "Upper": SkillInvalid, "denied": SkillInaccessible} {
		_, d := strictNamed(viewOf(t, waveHost(t)), name)
		same(t, d.Type, want)
	}
}

func TestWaveReadsTheDisk(t *testing.T) {
	roots := waves()
	h := hostOf(t, roots...)
	ask := func() string { return call(t, h, "wave", "Skill", args{"skill_name": "skill-1"}).Text }
	roots[0].put("skill-1/SKILL.md", md("skill-1", "Anew"))
	if r := ask(); !strings.HasSuffix(r, md("skill-1", "Anew")) {
		t.Error(r)
	}
	roots[0].put("skill-1/SKILL.md", md("renamed", "d"))
	if r := ask(); !strings.HasSuffix(r, md("skill-1", "shadowed")) {
		t.Error(r)
	}
	delete(roots[1].files, "skill-1/SKILL.md")
	if r := ask(); !strings.HasPrefix(r, "Skill 'skill-1' is invalid: 2:7: the folder is called 'skill-1', not 'renamed'") {
		t.Error(r)
	}
}

func TestWaveShortResult(t *testing.T) {
	for description, want := range map[string]string{
		"Short":                          "x: Short",
		strings.Repeat("d", 77):          "x: " + strings.Repeat("d", 77),
		strings.Repeat("a ", 100):        "x: " + strings.TrimSpace(strings.Repeat("a ", 38)) + "…",
		strings.Repeat("d", 200):         "x: " + strings.Repeat("d", 76) + "…", // no blank to cut at
		"To " + strings.Repeat("d", 200): "x: To " + strings.Repeat("d", 73) + "…",
	} {
		h := hostOf(t, project(map[string]string{"x/SKILL.md": md("x", description)}))
		same(t, call(t, h, "wave", "Skill", args{"skill_name": "x"}).Object.(ToolResult).ShortResult, want)
	}
}

func TestWaveJSON(t *testing.T) {
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
		same(t, err, nil)
		same(t, string(got), tt.want)
	}
}

// Every rule that skips a skill is one that the strict reader insists on.
func TestStrictRulesCoverSkips(t *testing.T) {
	for _, r := range skill.Rules() {
		if r.Skips && strictRules[r.ID] == "" {
			t.Errorf("%s skips a skill and is no fault to the strict reader", r.ID)
		}
	}
}
