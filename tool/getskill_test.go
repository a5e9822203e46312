package tool

import (
	"encoding/json"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/knack-dev/knack/internal/skilltest"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/profile"
)

// Contract 000, and contract 001 as the set runner serves it.

func TestRunnerDefinitions(t *testing.T) {
	v := viewOf(t, hostOf(t, shop()...))
	want := []Definition{
		{"list_skills", "List Skills", "Lists the available skills.", json.RawMessage(`{"type":"object","properties":{}}`), nil},
		{"get_skill", "Get Skill", "Read the SKILL.MD documentation for a specific skill. Returns the full text content of the documentation file.",
			json.RawMessage(`{"type":"object","properties":{"skill_name":{"type":"string","description":"Name of the skill (folder name)"}},"required":["skill_name"]}`), nil},
		{"read_file_in_skill", "Read File in Skill", "Read any file within a skill's folder. Use this when SKILL.MD references additional documentation, examples, or configuration files. Path must be relative to skill folder.",
			json.RawMessage(`{"type":"object","properties":{"skill_name":{"type":"string","description":"Name of the skill (folder name containing the file)"},"file_path":{"type":"string","description":"Relative path to file within skill folder (e.g., 'examples/usage.py', 'docs/api.md')"}},"required":["skill_name","file_path"]}`), nil},
	}
	tools, err := ParseSets("runner")
	if err != nil {
		t.Fatal(err)
	}
	var got []Definition
	for _, tl := range tools {
		got = append(got, tl.Define(v, profile.Client{Name: "claude-code"}))
	}
	same(t, got, want)
}

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
		"latin/SKILL.MD":          "Gr\xfc\xdfe",
		"a/b/deep/SKILL.MD":       "deep",
		"a/b/calculator/SKILL.MD": "another",
		"hidden/SKILL.md":         "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n",
		"limit/SKILL.MD":          strings.Repeat("a", skill.MaxSkillMD),
		"large/SKILL.MD":          strings.Repeat("a", skill.MaxSkillMD+1),
		"denied/SKILL.MD":         "x",
		"link/SKILL.MD":           "x",
		"broken/SKILL.MD":         "x",
		"x..y/SKILL.MD":           "x",
	})
	p.Files["dir/SKILL.MD/x"] = &fstest.MapFile{}
	p.Files["dir/SKILL.md"] = &fstest.MapFile{Data: []byte("not asked for: the folder holds a SKILL.MD")}
	p.Files["pipe/SKILL.MD"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	p.FS = failing{p.Files, map[string]error{"denied/SKILL.MD": fs.ErrPermission, "link/SKILL.MD": skill.ErrOutside, "broken/SKILL.MD": syscall.EIO}}
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
		{"example 3: traversal", args{"skill_name": "../../../etc/passwd"}, bad("../../../etc/passwd")},
		{"example 4: no folder", args{"skill_name": "nonexistent"}, absent("nonexistent")},
		{"missing", args{}, bad("")},
		{"no arguments", "", bad("")},
		{"empty", args{"skill_name": ""}, bad("")},
		{"dot", args{"skill_name": "."}, bad(".")},
		{"dots", args{"skill_name": ".."}, bad("..")},
		{"dots inside", args{"skill_name": "x..y"}, bad("x..y")},
		{"slash", args{"skill_name": "a/b"}, bad("a/b")},
		{"backslash", args{"skill_name": `a\b`}, bad(`a\b`)},
		{"NUL", args{"skill_name": "a\x00"}, bad(`a\x00`)},
		{"255 bytes", args{"skill_name": strings.Repeat("a", 255)}, absent(strings.Repeat("a", 255))},
		{"256 bytes", args{"skill_name": strings.Repeat("a", 256)}, bad(strings.Repeat("a", 256))},
		{"an echo is cut", args{"skill_name": strings.Repeat("a", 300)}, bad(strings.Repeat("a", 256))},
		{"case matters", args{"skill_name": "Calculator"}, absent("Calculator")},
		{"blanks matter", args{"skill_name": " calculator"}, absent(" calculator")},
		{"a label is none", args{"skill_name": "claude-user:calculator"}, absent("claude-user:calculator")},
		{"permission", args{"skill_name": "denied"}, "Permission denied reading SKILL.MD for skill 'denied'"},
		{"too large", args{"skill_name": "large"}, "SKILL.MD too large (>1MB) for skill 'large'"},
		{"not UTF-8", args{"skill_name": "latin"}, "SKILL.MD contains invalid UTF-8 for skill 'latin'"},
		{"a directory", args{"skill_name": "dir"}, "Error reading SKILL.MD for skill 'dir': not a regular file"},
		{"a pipe", args{"skill_name": "pipe"}, "Error reading SKILL.MD for skill 'pipe': not a regular file"},
		{"a link out", args{"skill_name": "link"}, "Error reading SKILL.MD for skill 'link': leads outside the skill's folder"},
		{"a disk error", args{"skill_name": "broken"}, "Error reading SKILL.MD for skill 'broken': input/output error"},
		{"kept from models", args{"skill_name": "hidden"}, "Skill 'hidden' is not available for model invocation."},
		{"wrong type", args{"skill_name": 5}, "Invalid tool arguments: 'skill_name' must be a string"},
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

func TestGetSkillReadsTheDisk(t *testing.T) {
	roots := runners()
	h := hostOf(t, roots...)
	text := func() string { return call(t, h, "runner", "get_skill", args{"skill_name": "lower"}).Text }
	roots[0].Put("lower/SKILL.md", "changed")
	same(t, text(), `{"skill_name":"lower","documentation":"changed"}`)
	roots[0].Put("lower/SKILL.MD", "preferred")
	same(t, text(), `{"skill_name":"lower","documentation":"preferred"}`)
	delete(roots[0].Files, "lower/SKILL.md")
	delete(roots[0].Files, "lower/SKILL.MD")
	roots[0].Put("lower/other", "")
	same(t, text(), `{"error":"SKILL.MD not found for skill 'lower'"}`)
	delete(roots[0].Files, "lower/other")
	same(t, text(), `{"error":"Skill 'lower' not found in skills folder"}`)
}

func TestRunnerList(t *testing.T) {
	want := folderList{Skills: []string{"Deep", "bom", "both", "broken", "calculator", "deep", "denied", "dir", "empty", "large", "latin", "limit", "link", "lower", "named", "pipe"}}
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
