package tool

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/skill"
)

// Contract 000, and contract 001 as the set runner serves it.

const calculatorDoc = "# Calculator Skill\n\nProvides basic arithmetic operations.\n\n## Usage\n\n```python\nresult = 2 + 2\nprint(result)\n```"

// runners returns a library of folders, most without frontmatter.
func runners() []*skilltest.Memory {
	p := project(map[string]string{
		"calculator/SKILL.MD":     calculatorDoc,
		"both/SKILL.MD":           "upper",
		"both/SKILL.md":           md("both", "lower"),
		"lower/SKILL.md":          "lower <&> \u2028",
		"small/skill.md":          md("small", "another spelling"),
		"named/SKILL.md":          md("Shown Name", "d"),
		"empty/SKILL.MD":          "",
		"bom/SKILL.MD":            "\ufeff# x\r\n",
		"a/b/deep/SKILL.MD":       "deep",
		"a/b/calculator/SKILL.MD": "another",
		"hidden/SKILL.md":         "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n",
		"limit/SKILL.MD":          strings.Repeat("a", skill.MaxSkillMD),
		"x..y/SKILL.MD":           "x",
	})
	p.Files["dir/SKILL.MD/x"] = &fstest.MapFile{}
	p.Files["dir/SKILL.md"] = &fstest.MapFile{Data: []byte("not asked for: the folder holds a SKILL.MD")}
	p.Files["pipe/SKILL.MD"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	return []*skilltest.Memory{p, global(map[string]string{"calculator/SKILL.MD": "shadowed", "deep/SKILL.MD": "shallow", "Deep/SKILL.MD": "case"})}
}

func TestGetSkill(t *testing.T) {
	found := map[string]string{ // as asked for → documentation
		"calculator": calculatorDoc,
		"both":       "upper",
		"lower":      "lower <&> \u2028",
		"named":      md("Shown Name", "d"),
		"Shown Name": md("Shown Name", "d"),
		"empty":      "",
		"bom":        "\ufeff# x\r\n",
		"deep":       "shallow",
		"Deep":       "case",
		"limit":      strings.Repeat("a", skill.MaxSkillMD),
	}
	h := hostOf(t, runners()...)
	for name, text := range found {
		t.Run(name, func(t *testing.T) {
			r := call(t, h, "runner", "get_skill", args{"skill_name": name})
			same(t, r.Object, any(getSkillResult{SkillName: name, Documentation: text}))
			same(t, r.IsError, false)
			var got map[string]string
			if err := json.Unmarshal([]byte(r.Text), &got); err != nil {
				t.Fatal(err)
			}
			same(t, got, map[string]string{"skill_name": name, "documentation": text})
		})
	}
	same(t, call(t, h, "runner", "get_skill", args{"skill_name": "lower"}).Text, "{\"skill_name\":\"lower\",\"documentation\":\"lower <&> \u2028\"}")
}

func TestGetSkillErrors(t *testing.T) {
	bad := func(name string) string {
		return "Invalid skill name: '" + name + `'. Skill names must not contain '/', '\', or '..'`
	}
	absent := func(name string) string { return "Skill '" + name + "' not found in skills folder" }
	tests := []struct {
		name string
		args any
		want string
	}{
		{"example 2: no file", args{"skill_name": "small"}, "SKILL.MD not found for skill 'small'"},
		{"dots", args{"skill_name": ".."}, bad("..")},
		{"dots inside", args{"skill_name": "x..y"}, bad("x..y")},
		{"an echo is cut", args{"skill_name": strings.Repeat("a", 300)}, bad(strings.Repeat("a", 256))},
		{"blanks matter", args{"skill_name": " calculator"}, absent(" calculator")},
		{"a label is none", args{"skill_name": "claude-user:calculator"}, absent("claude-user:calculator")},
	}
	h := hostOf(t, runners()...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := call(t, h, "runner", "get_skill", tt.args)
			same(t, r.Object, any(getSkillResult{Error: tt.want}))
			same(t, r.IsError, true)
			var got map[string]string
			if err := json.Unmarshal([]byte(r.Text), &got); err != nil {
				t.Fatal(err)
			}
			same(t, got, map[string]string{"error": tt.want})
		})
	}
}

func TestRunnerList(t *testing.T) {
	want := folderList{Skills: []string{"Deep", "bom", "both", "calculator", "deep", "dir", "empty", "limit", "lower", "named", "pipe"}}
	r := call(t, hostOf(t, runners()...), "runner", "list_skills", `{"ignored":1}`)
	same(t, r, Result{Text: `{"skills":["` + strings.Join(want.Skills, `","`) + `"]}`, Object: want})
	same(t, call(t, hostOf(t, project(nil)), "runner", "list_skills", args{}), Result{Text: `{"skills":[]}`, Object: folderList{Skills: []string{}}})
}

// In runner the folder names the skill, and a skill that is skipped elsewhere is
// read like any other.
func TestRunnerReadFile(t *testing.T) {
	h := hostOf(t, calculators())
	for _, tt := range []struct{ skill, path, want string }{
		{"calculator", "examples/basic.py", basicPy},
		{"inner", "x.md", "inner x"},
		{"renamed", "x.md", "inner x"},
		{"broken", "more.md", "of a skipped skill"},
		{"Calculator", "notes.yaml", "ERROR: Skill 'Calculator' not found in skills folder"},
		{"hidden", "more.md", "ERROR: Skill 'hidden' is not available for model invocation."},
		{"calculator", "../weather/SKILL.md", "ERROR: " + traversal},
	} {
		same(t, call(t, h, "runner", "read_file_in_skill", read(tt.skill, tt.path)).Text, tt.want)
	}
}

// caseless finds names in any case, like the file systems of macOS and Windows.
type caseless struct{ fstest.MapFS }

func (c caseless) Open(name string) (fs.File, error) {
	for n := range c.MapFS {
		if strings.EqualFold(n, name) {
			return c.MapFS.Open(n)
		}
	}
	return c.MapFS.Open(name)
}

func (c caseless) Sub(dir string) (fs.FS, error) { return skilltest.Below(c, dir), nil }

// Every file system gives the same answer: skill.md is never a SKILL.MD.
func TestGetSkillOnACaselessDisk(t *testing.T) {
	root := project(map[string]string{"small/skill.md": "x", "lower/SKILL.md": "lower"})
	root.FS = caseless{root.Files}
	h := hostOf(t, root)
	same(t, call(t, h, "runner", "get_skill", args{"skill_name": "small"}).Text, `{"error":"SKILL.MD not found for skill 'small'"}`)
	same(t, call(t, h, "runner", "get_skill", args{"skill_name": "lower"}).Text, `{"skill_name":"lower","documentation":"lower"}`)
}
