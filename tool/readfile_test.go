package tool

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/tool/lookup"
)

// These tests check contract 001, mostly in the default set.

const basicPy = "\ndef add(a, b):\n    return a + b\n\ndef subtract(a, b):\n    return a - b\n"

func calculators() *skilltest.Memory {
	return project(map[string]string{
		"calculator/SKILL.md":              md("calculator", "Adds"),
		"calculator/examples/basic.py":     basicPy,
		"calculator/docs/advanced/deep.md": "# Deep\n",
		"calculator/empty.txt":             "",
		"calculator/notes.yaml":            "a: 1\n",
		"calculator/unicode 文.md":          "Grüße, 世界 🌍\n",
		"calculator/bom.md":                "\ufeff# x\r\n",
		"calculator/data.bin":              "\x89PNG\r\n\x1a\n\x00\x00",
		"calculator/latin.txt":             "Gr\xfc\xdfe \x80 \x93q\x94",
		"calculator/le.txt":                "\xff\xfeG\x00r\x00\xfc\x00",
		"calculator/be.txt":                "\xfe\xff\x00G\x00r\x00\xfc\xd8\x3c\xdf\x0d",
		"calculator/odd.txt":               "\xff\xfeG\x00r",
		"calculator/nul.txt":               "a\x00b",
		"calculator/form.txt":              "a\xfc\fb\tc",
		"calculator/vt.txt":                "a\xfc\x0bb",
		"calculator/.env":                  "SECRET=1",
		"calculator/.git/config":           "secret",
		"calculator/sub/.hidden/x":         "secret",
		"weather/SKILL.md":                 md("weather", "Forecasts"),
		"weather/docs/api_reference.md":    "# Weather API Reference\n\n## get_forecast(location)\n...",
		"data_processor/SKILL.md":          md("data_processor", "d"),
		"data_processor/config.json":       `{"api_endpoint": "https://example.com", "timeout": 30}`,
		"ml_model/SKILL.md":                md("ml_model", "d"),
		"ml_model/data/samples/input.txt":  "sample1\nsample2\nsample3",
		"pipeline/SKILL.md":                md("CI/CD Pipeline", "d"),
		"pipeline/run.sh":                  "make\n",
		"spelt/skill.md":                   md("spelt", "d"),
		"hidden/SKILL.md":                  "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n",
		"hidden/more.md":                   "for people",
		"broken/SKILL.md":                  "no frontmatter",
		"broken/more.md":                   "of a skipped skill",
		"deep/er/inner/SKILL.md":           md("renamed", "d"),
		"deep/er/inner/x.md":               "inner x",
		"inner2/SKILL.md":                  md("inner", "the name that is another's folder"),
		"inner2/x.md":                      "inner2 x",
	})
}

func read(name, path string) args { return args{"skill_name": name, "file_path": path} }

// refusedFile returns a refusal in the runner set, and refused a refusal in the default set.
func refusedFile(name, path, why string) Result {
	return Result{Text: "ERROR: " + why, IsError: true, Object: fileResult{SkillName: name, FilePath: path, Error: why}}
}

func refused(why string) Result { return Result{Text: "ERROR: " + why, IsError: true} }

const (
	badName   = "Invalid skill name: must not contain special characters"
	emptyPath = "Invalid file path: must not be empty"
	traversal = "Path traversal detected: cannot access files outside skill folder"
)

// TestReadFileErrors checks each row of the contract's table. Where two rows apply, the first
// determines the answer.
func TestReadFileErrors(t *testing.T) {
	notFound := func(name, path string) string { return "File '" + path + "' not found in skill '" + name + "'" }
	tests := []struct{ name, skill, path, want string }{
		{"empty name", "", "x", "Invalid tool arguments: 'skill_name' is missing; give the name of a skill"},
		{"slash in name", "a/b", "x", badName},
		{"dots in name", "a..b", "x", badName},
		{"dots", "..", "x", badName},
		{"a name of 255 bytes", strings.Repeat("a", 255), "x", "Skill '" + strings.Repeat("a", 255) + "' not found in skills folder"},
		{"no such skill before traversal", "nonexistent", "../x", "Skill 'nonexistent' not found in skills folder"},
		{"a skipped skill is served by nothing", "broken", "more.md", "Skill 'broken' not found in skills folder"},
		{"kept from models", "hidden", "more.md", "Skill 'hidden' is not available for model invocation."},
		{"kept from models, before traversal", "Hidden", "../x", "Skill 'Hidden' is not available for model invocation."},
		{"traversal with backslashes", "calculator", `..\..\..\Windows\System32`, traversal},
		{"mixed", "calculator", `docs\../..\x`, traversal},
		{"itself through its parent", "calculator", "../calculator/SKILL.md", traversal},
		{"absolute with backslashes", "calculator", `\\server\share\x`, traversal},
		{"drive with slashes", "calculator", "c:/x", traversal},
		{"drive-relative", "calculator", "C:x", traversal},
		{"percent-encoded", "calculator", "%2e%2e/%2e%2e/etc/passwd", notFound("calculator", "%2e%2e/%2e%2e/etc/passwd")},
		{"a dot-folder", "calculator", ".git/config", notFound("calculator", ".git/config")},
		{"a dot-folder below", "calculator", `sub\.hidden\x`, notFound("calculator", `sub\.hidden\x`)},
		{"a dot-file that is not there", "calculator", ".nothing", notFound("calculator", ".nothing")},
		{"three dots", "calculator", ".../x", notFound("calculator", ".../x")},
		{"binary", "calculator", "data.bin", "Cannot read file 'data.bin': it is binary (10 bytes)"},
		{"half a character of UTF-16", "calculator", "odd.txt", "Cannot read file 'odd.txt': it is binary (5 bytes)"},
		{"a control character", "calculator", "vt.txt", "Cannot read file 'vt.txt': it is binary (4 bytes)"},
	}
	h := hostOf(t, calculators())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			switch {
			case strings.HasPrefix(want, "File "):
				want += ` (the file_path "." lists the files)`
			case strings.Contains(want, "it is binary"):
				want += "; open it with a tool of your own: " + filepath.Join("/home/ana/shop/.claude/skills", tt.skill, tt.path)
			}
			got := call(t, h, "default", "read_file_in_skill", read(tt.skill, tt.path))
			if tt.skill == "broken" || tt.skill == "nonexistent" { // hints follow
				got.Text, _, _ = strings.Cut(got.Text, "\n")
			}
			difftest.Same(t, got, refused(want))
			if tt.skill == "calculator" || tt.skill == "weather" { // the same skill in every set
				difftest.Same(t, call(t, h, "runner", "read_file_in_skill", read(tt.skill, tt.path)), refusedFile(tt.skill, display.Echo(tt.path), tt.want))
			}
		})
	}
}

func TestReadFileArguments(t *testing.T) {
	root := Result{Text: "The skill 'weather' contains:\nSKILL.md\ndocs/\n"}
	notes := Result{Text: "a: 1\n"}
	bad := func(why string) Result { return refused("Invalid tool arguments: " + why) }
	tests := []struct {
		name string
		args any
		want Result
	}{
		{"none", "", bad("'skill_name' is missing; give the name of a skill")},
		{"missing path", args{"skill_name": "weather"}, root},
		{"empty path", read("weather", ""), root},
		{"the keys of other tools", args{"name": "calculator", "path": "notes.yaml"}, notes},
		{"their shorter forms", args{"skill": "calculator", "file": "notes.yaml"}, notes},
		{"the right key before another", args{"skill_name": "calculator", "name": "weather", "file_path": "notes.yaml", "path": "x"}, notes},
		{"numbers in quotes", args{"skill_name": "calculator", "file_path": "notes.yaml", "offset": "0", "limit": " 0 "}, notes},
		{"other keys", args{"skill_name": "calculator", "file_path": "notes.yaml", "start_line": 3, "end_line": 4},
			bad("unrecognized keys 'end_line', 'start_line'; the keys are 'skill_name', 'file_path', 'offset', 'limit', 'column'")},
		{"name of a wrong type", args{"skill_name": 5, "file_path": "x"}, bad("'skill_name' must be a string")},
		{"offset of a wrong type", args{"skill_name": "x", "offset": "three"}, bad("'offset' must be a whole number from 1 to 2147483647")},
		{"limit below 0", args{"skill_name": "x", "limit": -1}, bad("'limit' must be a whole number from 1 to 2147483647")},
		{"half a column", args{"skill_name": "x", "column": 1.5}, bad("'column' must be a whole number from 1 to 2147483647")},
		{"not an object", "[]", bad("they must be one JSON object")},
	}
	h := hostOf(t, calculators())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			difftest.Same(t, call(t, h, "default", "read_file_in_skill", tt.args), tt.want)
		})
	}
}

// TestReadFileListsFolders checks that a folder is listed under any of its names, without entries
// that no path can name.
func TestReadFileListsFolders(t *testing.T) {
	root := calculators()
	for i := range 25 {
		root.Put(fmt.Sprintf("calculator/many/%02d.txt", i), "")
	}
	root.Put("calculator/strange/a\nb", "")
	root.Put("calculator/strange/"+strings.Repeat("n", 300), "")
	h := hostOf(t, root)
	var many string
	for i := range 25 {
		many += fmt.Sprintf("%02d.txt\n", i)
	}
	for path, want := range map[string]string{
		"docs":                                  "The folder 'docs' of the skill 'calculator' contains:\nadvanced/\n",
		"examples/":                             "The folder 'examples' of the skill 'calculator' contains:\nbasic.py\n",
		`docs\advanced`:                         "The folder 'docs/advanced' of the skill 'calculator' contains:\ndeep.md\n",
		"sub":                                   "The folder 'sub' of the skill 'calculator' contains no files.",
		"many":                                  "The folder 'many' of the skill 'calculator' contains:\n" + many,
		"strange":                               "The folder 'strange' of the skill 'calculator' contains:\na\\nb\n" + strings.Repeat("n", 256) + "\n",
		"skill://claude-project/calculator/sub": "The folder 'sub' of the skill 'calculator' contains no files.",
	} {
		difftest.Same(t, call(t, h, "default", "read_file_in_skill", read("calculator", path)), Result{Text: want})
	}
	for _, path := range []string{".", "./", "docs/..", "skill://claude-project/weather", "/home/ana/shop/.claude/skills/weather", "/home/ana/shop/.claude/skills/weather/"} {
		difftest.Same(t, call(t, h, "default", "read_file_in_skill", read("weather", path)), Result{Text: "The skill 'weather' contains:\nSKILL.md\ndocs/\n"})
	}
	difftest.Same(t, call(t, h, "runner", "read_file_in_skill", read("weather", ".")), refusedFile("weather", ".", "Cannot read file '.': it is a directory; it holds: SKILL.md, docs/"))
	difftest.Same(t, call(t, h, "runner", "read_file_in_skill", read("calculator", "sub")), refusedFile("calculator", "sub", "Cannot read file 'sub': it is an empty directory"))
}

// TestReadFileBelowBaseDirectory checks that a path below the base directory, which the tool skill
// prints, works like a path below the skill's folder. A path that leaves the directory is refused.
func TestReadFileBelowBaseDirectory(t *testing.T) {
	h := hostOf(t, calculators())
	_, dir, _ := strings.Cut(call(t, h, "default", "skill", args{"name": "calculator"}).Text, "Base directory: ")
	dir, _, _ = strings.Cut(dir, "\n")
	difftest.Same(t, call(t, h, "default", "read_file_in_skill", read("calculator", dir+"/notes.yaml")), Result{Text: "a: 1\n"})
	difftest.Same(t, call(t, h, "default", "read_file_in_skill", read("calculator", dir+"/docs/../notes.yaml")), Result{Text: "a: 1\n"})
	difftest.Same(t, call(t, h, "default", "read_file_in_skill", read("calculator", strings.ReplaceAll(dir, "/", `\`)+`\notes.yaml`)), refused(traversal))
	for _, path := range []string{dir + "/../weather/SKILL.md", dir + "x/notes.yaml", dir + "x/../notes.yaml", dir + "/../../../../../../etc/passwd", dir[1:] + "/notes.yaml", filepath.Dir(dir) + "/weather/SKILL.md"} {
		if r := call(t, h, "default", "read_file_in_skill", read("calculator", path)); !r.IsError {
			t.Errorf("%s: %+v", path, r)
		}
	}
	difftest.Same(t, call(t, h, "runner", "read_file_in_skill", read("calculator", dir+"/notes.yaml")), refusedFile("calculator", dir+"/notes.yaml", traversal))
	remote := &Host{Finder: lookup.Finder{Catalog: h.Catalog, Remote: true}}
	difftest.Same(t, call(t, remote, "default", "read_file_in_skill", read("calculator", dir+"/notes.yaml")), refused(traversal))
	difftest.Same(t, call(t, remote, "default", "read_file_in_skill", read("calculator", "skill://claude-project/calculator/unicode%20%E6%96%87.md")), Result{Text: "Grüße, 世界 🌍\n"})
}

func TestReadFileIsRefusedBeforeTheDisk(t *testing.T) {
	root := calculators()
	var opened atomic.Int64
	root.FS = counting{root.Files, &opened}
	h := hostOf(t, root)
	before := opened.Load()
	for _, path := range []string{"../../../etc/passwd", `..\x`, "/etc/passwd", "C:/x", ".env", ".git/config", "a\x00"} {
		if r := call(t, h, "default", "read_file_in_skill", read("calculator", path)); !r.IsError {
			t.Errorf("%q is read", path)
		}
	}
	if n := opened.Load() - before; n != 0 {
		t.Errorf("%d files were opened", n)
	}
}

// TestReadFileByFolder checks which skill is read if different roots have a folder of the same
// name: the first root's, unless it is skipped.
func TestReadFileByFolder(t *testing.T) {
	h := hostOf(t,
		project(map[string]string{"a/SKILL.md": "skipped", "a/x": "project", "deep/b/SKILL.md": md("bee", "d"), "deep/b/x": "deep"}),
		global(map[string]string{"a/SKILL.md": md("aye", "d"), "a/x": "global", "b/SKILL.md": md("bee2", "d"), "b/x": "shallow"}))
	difftest.Same(t, call(t, h, "default", "read_file_in_skill", read("a", "x")).Text, "global")
	difftest.Same(t, call(t, h, "default", "read_file_in_skill", read("b", "x")).Text, "shallow")
	difftest.Same(t, call(t, h, "default", "read_file_in_skill", read("B", "x")).Text, "ERROR: Skill 'B' not found in skills folder\nDid you mean 'bee'? (its folder is called b)")
}

func TestFileResultJSON(t *testing.T) {
	tests := []struct {
		r    fileResult
		want string
	}{
		{fileResult{Success: true, SkillName: "a", FilePath: "b", Content: "<&>\u2028\n\"", SizeBytes: 9, Encoding: "utf-8"},
			"{\"success\":true,\"skill_name\":\"a\",\"file_path\":\"b\",\"content\":\"<&>\u2028\\n\\\"\",\"size_bytes\":9,\"encoding\":\"utf-8\"}"},
		{fileResult{SkillName: "a", FilePath: "b", Error: "File 'b' not found in skill 'a'"},
			`{"success":false,"skill_name":"a","file_path":"b","error":"File 'b' not found in skill 'a'"}`},
	}
	for _, tt := range tests {
		got, err := tt.r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		difftest.Same(t, string(got), tt.want)
	}
}

// TestReadFileOfReservedNested checks that the files of a nested skill that its author keeps from
// models cannot be read through the outer skill, by any spelling of the path. The files of an open
// skill nested deeper can.
func TestReadFileOfReservedNested(t *testing.T) {
	reserved := "---\nname: private\ndescription: d\ndisable-model-invocation: true\n---\nCANARY\n"
	h := hostOf(t, project(map[string]string{
		"suite/SKILL.md":                 md("suite", "d"),
		"suite/private/SKILL.md":         reserved,
		"suite/private/more.md":          "CANARY",
		"suite/private/sub/more.md":      "CANARY",
		"suite/private/open/SKILL.md":    md("open", "d"),
		"suite/private/open/x.md":        "open",
		"suite/shut/SKILL.md":            "---\nname: shut\ndisable-model-invocation: true\n---\nCANARY\n", // skipped too
		"suite/privately/x.md":           "of the suite",
		"suite/nested/SKILL.md":          md("nested", "d"),
		"suite/nested/private/SKILL.md":  reserved,
		"suite/nested/private/deeper.md": "CANARY",
	}))
	for _, set := range []string{"default", "runner"} {
		for _, path := range []string{
			"private", "private/SKILL.md", "private/more.md", `private\more.md`, "./x/../private/more.md", "private/sub", "private/sub/more.md",
			"PRIVATE/more.md", "private/none", "shut/SKILL.md", "nested/private/deeper.md",
		} {
			difftest.Same(t, call(t, h, set, "read_file_in_skill", args{"skill_name": "suite", "file_path": path}),
				map[string]Result{
					"runner":  refusedFile("suite", path, "File '"+path+"' not found in skill 'suite'"),
					"default": refused("File '" + path + "' not found in skill 'suite'" + ` (the file_path "." lists the files)`),
				}[set])
		}
		for path, want := range map[string]string{"private/open/x.md": "open", "privately/x.md": "of the suite", "nested/SKILL.md": md("nested", "d")} {
			difftest.Same(t, call(t, h, set, "read_file_in_skill", args{"skill_name": "suite", "file_path": path}).Text, want)
		}
		difftest.Same(t, call(t, h, set, "read_file_in_skill", args{"skill_name": "nested", "file_path": "private/deeper.md"}).IsError, true)
	}
}
