package scan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/skill"
)

// TestFactsAndNoFindings checks that common actions of honest skills are reported only as facts.
func TestFactsAndNoFindings(t *testing.T) {
	t.Parallel()
	r := scanOf(t, map[string]string{
		"SKILL.md":          "---\nname: a\ndescription: A.\nallowed-tools: Read, Bash\n---\n```sh\necho x >> CLAUDE.md\ncp rules.json .claude/settings.json\n```\n",
		"tests/conftest.py": "x = 1\n",
		"logo.png":          quietImage,
	})
	if len(r.Findings) > 0 {
		t.Errorf("findings: %+v", r.Findings)
	}
	f := r.Facts
	if got, want := fmt.Sprint(f.Tools, f.Writes, f.Unasked, f.NotRead), "[Bash Read] [.claude/settings.json CLAUDE.md] [tests/conftest.py] []"; got != want {
		t.Errorf("facts %s, want %s", got, want)
	}
}

func TestSettings(t *testing.T) {
	for _, test := range []struct {
		what, path, content string
		rule                skill.RuleID
		at                  string // the text at which the finding begins
	}{
		{"install script", "package.json", `{"name": "a", "scripts": {"test": "x", "postinstall": "node a.js"}}`, passage.InstallScript, `"node a.js"`},
		{"of a package below", "web/package.json", `{"scripts": {"preinstall": "a"}}`, passage.InstallScript, `"a"`},
		{"with escapes and a mark", "package.json", "\ufeff{\"scripts\": {\"prepare\": \"a \\u0026 b\"}}", passage.InstallScript, `"a \u0026`},
		{"spelt with escapes", "package.json", `{"\u0073cripts": {"install": "a"}}`, passage.InstallScript, `"a"`},
		{"twice", "package.json", `{"scripts": {}, "scripts": {"install": "a"}}`, passage.InstallScript, `"a"`},
		{"deeper", "package.json", `{"config": {"scripts": {"install": "a"}}}`, "", ""},
		{"no script", "package.json", `{"scripts": {"install": {"a": "b"}}}`, "", ""},
		{"in another file", "data.json", `{"scripts": {"install": "a"}}`, "", ""},
		{"not valid", "package.json", `{"scripts": {"install": "a"`, passage.NotRead, ""},
		{"too deep", "package.json", `{"scripts": ` + strings.Repeat("[", 1<<20), passage.TooLarge, ""},
		{"hooks", "hooks/hooks.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}`, passage.Hooks, `"say done"`},
		{"hooks in YAML", "a.yaml", "hooks:\n  Stop:\n    - command: say done\n", passage.Hooks, "say done"},
		{"hooks in quotes", "a.yaml", "\"hooks\":\n  Stop:\n    - command: say done\n", passage.Hooks, "say done"},
		{"webhooks in YAML that is not read", "a.yaml", "webhooks: &a !tag\n  - <<: *a\n", "", ""},
		{"hooks in YAML that is not read", "a.yaml", "hooks: &a !tag\n  - command: *a\n", passage.NotRead, ""},
		{"hooks without a command", "a.yaml", "hooks:\n  - id: black\n", "", ""},
		{"hooks as a text", "a.json", `{"about": "hooks and a command"}`, "", ""},
		{"task", "tasks.json", "{\n  // a comment, with \"quotes\n  \"tasks\": [{\"runOptions\": {\"runOn\": \"folderOpen\",},},], /* and */\n}", passage.RunsUnasked, `"folderOpen"`},
		{"a word", "tasks.json", `{"tasks": [{"label": "folderOpen"}]}`, "", ""},
		{"conftest", "tests/conftest.py", "x = 1\n", "", ""},
		{"sitecustomize", "sitecustomize.py", "x = 1\n", passage.RunsUnasked, "x = 1"},
		{"pth with code", "a.pth", "../lib\nimport os; os.getcwd()\n", passage.RunsUnasked, "import os"},
		{"pth", "a.pth", "../lib\n# import os\n", "", ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			r := scanOf(t, map[string]string{test.path: test.content})
			if test.rule == "" {
				if len(r.Findings) > 0 {
					t.Fatalf("%+v", r.Findings)
				}
				return
			}
			f := in(t, r, test.rule, test.path)
			if test.what == "too deep" && f.Message != errSettingsLarge.Error() {
				t.Errorf("%+v", f)
			}
			if test.at == "" {
				return
			}
			file := fileOf(test.path, test.content)
			if want, _ := file.Position(strings.Index(test.content, test.at), len(test.content)); f.Position != want {
				t.Errorf("at %v, want %v", f.Position, want)
			}
			if unasked := test.rule == passage.RunsUnasked; unasked != slices.Contains(r.Facts.Unasked, test.path) {
				t.Errorf("unasked: %q", r.Facts.Unasked)
			}
		})
	}
}

func TestPlainJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`:         `{"a": 1}`,
		`{"a//": "/*",}`:   `{"a//": "/*" }`,
		"[1, // x\n]":      "[1      \n]",
		`[1, /* ] */ 2,]`:  `[1,         2 ]`,
		`["\"//", 1]`:      `["\"//", 1]`,
		`[1 /* `:           `[1 /* `,
		`["`:               `["`,
		`["\`:              `["\`,
		"{\"a\": 1,\n\t }": "{\"a\": 1 \n\t }",
	} {
		if got := plainJSON(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzSettings(f *testing.F) {
	for _, seed := range []string{`{"scripts": {"install": "a"}, "hooks": [1, {"command": "b"}],}`, "hooks:\n  - command: \"a\"\n", "// x\n[]", `{"a": {"hooks": "folderOpen"}}`} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, isJSON bool) {
		text, ok := textOf([]byte(text))
		if !ok {
			return
		}
		path := "package.json"
		if !isJSON {
			path = "a.yaml"
		}
		s := newScanner(Options{})
		s.settings(fileOf(path, text).Whole())
		if got := plainJSON(text); len(got) != len(text) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
