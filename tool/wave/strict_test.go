package wave

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

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

const waveList = "- meta: Odd metadata and a link [out](../x) are fine\n- skill-1: Description of skill 1\n- dup: Sound\n- shadowed: Sound\n- skill-2: Description of skill 2"

// finderOf finds the skills of roots.
func finderOf(t testing.TB, roots ...*skilltest.Memory) *lookup.Finder {
	t.Helper()
	return &lookup.Finder{Catalog: skilltest.Catalog(t, roots...)}
}

// waveFinder finds the skills of [waves], one of which may not be read.
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

func success(content, short string) ToolResult {
	return ToolResult{Success: true, Content: content, ShortResult: short}
}

func failed(name, message, content string) ToolResult {
	e := "Error invoking skill '" + name + "': " + message + "\n\nAvailable skills:\n" + waveList
	return ToolResult{Content: cmp.Or(content, e), Error: e}
}

func missing(name, more string) ToolResult {
	return failed(name, "Skill '"+name+"' not found", "Skill '"+name+"' not found.\n\nAvailable skills:\n"+waveList+more)
}

func invalid(name, message string, fixes ...string) ToolResult {
	return failed(name, message, "Skill '"+name+"' is invalid: "+message+"\n\nFix by:\n- "+strings.Join(fixes, "\n- ")+"\n\nSkill will be available after fixing these issues.")
}

func TestAnswers(t *testing.T) {
	create := func(name string) string {
		return "\n\nTo create this skill:\n1. Create directory ~/.wave/skills/" + name + "/\n2. Add SKILL.md file with proper YAML frontmatter"
	}
	tests := []struct {
		what, name string
		want       ToolResult
	}{
		{"project", "skill-1", success("Skill: skill-1 (Type: project)\nPath: /home/ana/shop/.claude/skills/skill-1\n\n"+md("skill-1", "Description of skill 1"), "skill-1: Description of skill 1")},
		{"personal", "skill-2", success("Skill: skill-2 (Type: personal)\nPath: /home/ana/.claude/skills/skill-2\n\n"+md("skill-2", "Description of skill 2"), "skill-2: Description of skill 2")},
		{"a sound one behind a broken one", "shadowed", success("Skill: shadowed (Type: personal)\nPath: /home/ana/.claude/skills/shadowed\n\n"+md("shadowed", "Sound"), "shadowed: Sound")},
		{"a sound one behind a lenient one", "dup", success("Skill: dup (Type: personal)\nPath: /home/ana/.claude/skills/dup\n\n"+md("dup", "Sound"), "dup: Sound")},
		{"behind one kept from models", "twice", failed("twice", "Skill 'twice' is not available for model invocation.", "")},
		{"not found", "nope", missing("nope", create("nope"))},
		{"case matters", "Skill-1", missing("Skill-1", "")},
		{"blanks matter", " skill-1", missing(" skill-1", "")},
		{"a label is none", "claude-user:skill-1", missing("claude-user:skill-1", "")},
		{"traversal", "../../etc/passwd", missing("../../etc/passwd", "")},
		{"an echo is cut", strings.Repeat("é", 200), missing(strings.Repeat("é", 128), "")},
		{"empty", "", missing("", "")},
		{"name breaks the rule", "Upper", invalid("Upper", "2:7: 'Upper' is not made of a-z, 0-9 and single inner hyphens", "for example name: upper")},
		{"name is not the folder's", "another", invalid("another", "2:7: the folder is called 'folder', not 'another'", "rename the folder to 'another'")},
		{"asked for by its folder", "folder", invalid("folder", "2:7: the folder is called 'folder', not 'another'", "rename the folder to 'another'")},
		{"no description", "nodesc", invalid("nodesc", "2:1: description is missing", "add a line description: that says what the skill does and when to use it")},
		{"description too long", "long", invalid("long", "3:14: description has 1025 characters, over the limit of 1024", "move detail into the body")},
		{"no permission", "denied", failed("denied", "cannot be read: permission denied", "")},
		{"kept from models", "hidden", failed("hidden", "Skill 'hidden' is not available for model invocation.", "")},
	}
	f := waveFinder(t)
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			same(t, execute(t, f, tt.name), tt.want)
		})
	}
	v := skilltest.View(t, f.Catalog)
	same(t, InvalidArguments(v, "x", errors.New("why")), invalid("x", "why", "Give skill_name alone, as a string: the name of one of the available skills"))
}

// A colon that the lenient reader repairs is malformed here.
func TestMalformed(t *testing.T) {
	f := waveFinder(t)
	r := execute(t, f, "colon")
	if r.Success || !strings.HasPrefix(r.Content, "Skill 'colon' is invalid: 3:") || !strings.Contains(r.Content, "\n\nFix by:\n- put the value in quotes: description: '…'\n\n") {
		t.Errorf("%q", r.Content)
	}
	v := skilltest.View(t, f.Catalog)
	_, d := findNamed(v, "colon")
	same(t, d.Type, SkillMalformed)
	for name, want := range map[string]SkillErrorType{"nope": SkillNotFound, "Upper": SkillInvalid, "denied": SkillInaccessible} {
		_, d := findNamed(v, name)
		same(t, d.Type, want)
	}
}

func TestReadsTheDisk(t *testing.T) {
	roots := waves()
	f := finderOf(t, roots...)
	ask := func() string { return execute(t, f, "skill-1").Content }
	roots[0].Put("skill-1/SKILL.md", md("skill-1", "Anew"))
	if r := ask(); !strings.HasSuffix(r, md("skill-1", "Anew")) {
		t.Error(r)
	}
	roots[0].Put("skill-1/SKILL.md", md("renamed", "d"))
	if r := ask(); !strings.HasSuffix(r, md("skill-1", "shadowed")) {
		t.Error(r)
	}
	delete(roots[1].Files, "skill-1/SKILL.md")
	if r := ask(); !strings.HasPrefix(r, "Skill 'skill-1' is invalid: 2:7: the folder is called 'skill-1', not 'renamed'") {
		t.Error(r)
	}
}

func TestShortResult(t *testing.T) {
	for description, want := range map[string]string{
		"Short":                          "x: Short",
		strings.Repeat("d", 77):          "x: " + strings.Repeat("d", 77),
		strings.Repeat("a ", 100):        "x: " + strings.TrimSpace(strings.Repeat("a ", 38)) + "…",
		strings.Repeat("d", 200):         "x: " + strings.Repeat("d", 76) + "…", // no blank to cut at
		"To " + strings.Repeat("d", 200): "x: To " + strings.Repeat("d", 73) + "…",
	} {
		f := finderOf(t, project(map[string]string{"x/SKILL.md": md("x", description)}))
		same(t, execute(t, f, "x").ShortResult, want)
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
		same(t, err, nil)
		same(t, string(got), tt.want)
	}
}

// Every rule that skips a skill is one that a valid skill keeps.
func TestStrictRulesCoverSkips(t *testing.T) {
	for _, r := range skill.Rules() {
		if r.Skips && strictRules[r.ID] == "" {
			t.Errorf("%s skips a skill and does not make it invalid", r.ID)
		}
	}
}

// same compares whole values.
func same(t testing.TB, got, want any) {
	t.Helper()
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// failing is a file system in which files fail to open.
type failing struct{ fs.FS }

func (f failing) Open(name string) (fs.File, error) {
	if path.Base(name) == skill.MainFile {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
	}
	return f.FS.Open(name)
}

func (f failing) Sub(dir string) (fs.FS, error) { return skilltest.Below(f, dir), nil }

// An error of the system is reported neither as the skill's fault nor as its absence.
func TestSystemError(t *testing.T) {
	root := project(map[string]string{"x/SKILL.md": md("x", "d")})
	root.FS = failing{root.Files}
	f := finderOf(t, root)
	_, err := (&SkillManager{Finder: f}).LoadSkill(t.Context(), "x")
	same(t, err, error(&SkillErrorDetails{Type: SkillSystemError, SkillName: "x", Message: "cannot be read: input/output error",
		Suggestions: []string{"see whether the disk and the file can be read at all"}}))
	e := "Error invoking skill 'x': cannot be read: input/output error\n\nAvailable skills:\n(none)"
	same(t, execute(t, f, "x"), ToolResult{Content: e, Error: e})
}
