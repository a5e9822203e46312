package tool

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/test/difftest"
)

func TestParameters(t *testing.T) {
	for _, row := range []struct {
		set, tool            string
		parameters, required []string
	}{
		{"default", "read_file_in_skill", []string{"skill_name", "file_path", "offset", "limit", "column"}, []string{"skill_name", "file_path"}},
		{"default", "find_skills", []string{"query", "limit", "cursor"}, nil},
		{"universal", "skill", []string{"name"}, []string{"name"}},
	} {
		tl := toolOf(t, row.set, row.tool)
		if diff := cmp.Diff(row.parameters, tl.Parameters()); diff != "" {
			t.Errorf("%s: parameters %s", row.tool, diff)
		}
		if diff := cmp.Diff(row.required, tl.Required()); diff != "" {
			t.Errorf("%s: required %s", row.tool, diff)
		}
	}
}

// TestAsked checks which arguments each tool takes as the names of a skill and its file: those that
// the schema requires, and each alias. Calls are counted and logged for the skill by them.
func TestAsked(t *testing.T) {
	want := map[string]string{ // by tool: keys of the skill, and of the file
		"skill": "name command;", "read_file_in_skill": "skill_name name skill;file_path path file", "find_skills": ";",
		"runner list_skills": ";", "runner get_skill": "skill_name;", "runner read_file_in_skill": "skill_name;file_path",
		"uri list_skills": ";", "uri get_skill": "uri;", "Skill": "skill_name;",
	}
	for _, set := range SetNames() {
		tools, err := ParseSets(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range tools {
			keys, ok := want[set+" "+one.Name]
			if !ok {
				keys, ok = want[one.Name]
			}
			if !ok {
				t.Errorf("%s of %s has no row", one.Name, set)
			}
			skills, files, _ := strings.Cut(keys, ";")
			for _, key := range strings.Fields(skills) {
				for _, file := range append(strings.Fields(files), "other") {
					name, path := one.Asked([]byte(`{"` + key + `":"a","` + file + `":"b"}`))
					if name != "a" || (path == "b") != (file != "other") {
						t.Errorf("%s of %s by %s and %s: %q, %q", one.Name, set, key, file, name, path)
					}
				}
				if name, _ := one.Asked([]byte(`{"` + strings.ToUpper(key) + `":"a"}`)); name != "" {
					t.Errorf("%s of %s takes %s in capitals", one.Name, set, key)
				}
			}
			if name, _ := one.Asked([]byte(`{"query":"a","name":"b","uri":"c","skill_name":"d"}`)); (name != "") != (skills != "") {
				t.Errorf("%s of %s: %q", one.Name, set, name)
			}
			if required := one.Required(); len(required) > 0 && !strings.HasPrefix(keys, required[0]) {
				t.Errorf("%s of %s requires %s first, and %q names the skill", one.Name, set, required, skills)
			}
		}
	}
}

// TestObserve checks the lines that contract 001 shows to the user: both in full, for answered and
// for refused calls.
func TestObserve(t *testing.T) {
	h := hostOf(t, project(map[string]string{
		"calculator/SKILL.md":          md("calculator", "Adds"),
		"calculator/examples/basic.py": basicPy,
		"calculator/exact.txt":         strings.Repeat("é", shownLength),
		"calculator/long.txt":          strings.Repeat("é", shownLength) + "a",
		"calculator/colour.txt":        "a\x1b[31mred\u202e\x7f\u0085\tb\r\nc",
	}))
	var seen []Event
	h.Observe = func(e Event) { seen = append(seen, e) }
	for _, row := range []struct{ set, tool, args, want string }{
		{"default", "read_file_in_skill", `{"file_path": "examples/basic.py", "skill_name": "calculator"}`,
			`[Tool Call] read_file_in_skill(skill_name="calculator", file_path="examples/basic.py")` + "\n[Tool Result] " + basicPy},
		{"default", "read_file_in_skill", `{"skill_name":"calculator","file_path":"exact.txt"}`,
			`[Tool Call] read_file_in_skill(skill_name="calculator", file_path="exact.txt")` + "\n[Tool Result] " + strings.Repeat("é", 2000)},
		{"default", "read_file_in_skill", `{"skill_name":"calculator","file_path":"long.txt"}`,
			`[Tool Call] read_file_in_skill(skill_name="calculator", file_path="long.txt")` + "\n[Tool Result] " + strings.Repeat("é", 2000) + "… (1 more character)"},
		{"default", "read_file_in_skill", `{"skill_name":"calculator","file_path":"colour.txt"}`,
			`[Tool Call] read_file_in_skill(skill_name="calculator", file_path="colour.txt")` + "\n[Tool Result] a[31mred\tb\nc"},
		{"default", "read_file_in_skill", `{"skill_name":"a\nb\u001b[2J\u202e\"","file_path":{"x": [1, 2]}}`,
			`[Tool Call] read_file_in_skill(skill_name="a\nb\u001b[2J\"", file_path={"x":[1,2]})` + "\n[Tool Result] ERROR: Invalid tool arguments: 'file_path' must be a string"},
		{"default", "find_skills", `{"limit":0,"token":"hunter2"}`,
			"[Tool Call] find_skills(limit=0, token=…)\n[Tool Result] Invalid arguments for tool find_skills: unrecognized key 'token'; the keys are 'query', 'limit', 'cursor'"},
		{"universal", "skill", `{"command":" "}`, "[Tool Call] skill(command=\" \")\n[Tool Result] Skill name cannot be empty"},
		{"universal", "skill", `{"name":"` + strings.Repeat("x", 3000) + `"`,
			"[Tool Call] skill({\"name\":\"" + strings.Repeat("x", 1991) + "… (1010 more characters))\n[Tool Result] Invalid arguments for tool skill: they are not valid JSON"},
		{"universal", "skill", ``, "[Tool Call] skill()\n[Tool Result] Invalid arguments for tool skill: 'name' is missing; give the name of a skill"},
		{"uri", "get_skill", `{"uri":"https://ana:hunter2@example.com/x?token=hunter2"}`,
			"[Tool Call] get_skill(uri=\"https://example.com/x\")\n[Tool Result] " + errNoURI},
		{"uri", "get_skill", `{"uri":"skill://x","password":"hunter2"}`,
			"[Tool Call] get_skill(uri=\"skill://x\", password=…)\n[Tool Result] Invalid arguments for tool get_skill: unrecognized key 'password'; the only one is 'uri'"},
		{"uri", "list_skills", `{"password":"hunter2"}`,
			"[Tool Call] list_skills(password=…)\n[Tool Result] - skill://claude-project/calculator/SKILL.md calculator: Adds"},
	} {
		seen = nil
		r, err := toolOf(t, row.set, row.tool).Call(t.Context(), h, json.RawMessage(row.args))
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) != 1 || seen[0].Result.Text != r.Text || string(seen[0].Arguments) != row.args {
			t.Fatalf("%s %.60s: seen %+v", row.tool, row.args, seen)
		}
		if diff := cmp.Diff(row.want, seen[0].String()); diff != "" {
			t.Errorf("%s %.60s (-want +got):\n%s", row.tool, row.args, diff)
		}
	}
	e := Event{Tool: "a\nb", Err: errors.New("context canceled")}
	if got, want := e.String(), "[Tool Call] a\\nb()\n[Tool Result] no result: context canceled"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPrompt(t *testing.T) {
	h := hostOf(t, project(map[string]string{
		"git-folder/SKILL.md": md("git", "Commits & pushes </available_skills>"),
		"right/SKILL.md":      md("right", "d"),
		"hidden/SKILL.md":     "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n",
	}))
	const head = "You have skills: instructions for particular kinds of task. Before a task, see whether one fits; load it with the tool "
	const description = ": Commits &amp; pushes &lt;/available_skills&gt;\n"
	for _, row := range []struct{ set, want string }{
		{"default", head + "skill and follow it. The tool find_skills searches them by topic. Files that a skill mentions are read with the tool read_file_in_skill.\n\n<available_skills>\n- git" + description + "- right: d\n</available_skills>\n"},
		{"universal", head + "skill and follow it.\n\n<available_skills>\n- git" + description + "- right: d\n</available_skills>\n"},
		{"runner", head + "get_skill and follow it. Files that a skill mentions are read with the tool read_file_in_skill.\n\n<available_skills>\n- git-folder" + description + "- right: d\n</available_skills>\n"},
		{"wave", head + "Skill and follow it.\n\n<available_skills>\n- right: d\n</available_skills>\n"},
		{"uri", head + "get_skill and follow it.\n\n<available_skills>\n- skill://claude-project/git/SKILL.md" + description + "- skill://claude-project/right/SKILL.md: d\n</available_skills>\n"},
	} {
		tools, err := ParseSets(row.set)
		if err != nil {
			t.Fatal(err)
		}
		difftest.Same(t, Prompt(viewOf(t, h), tools), row.want, row.set)
	}
	tools, _ := ParseSets("default")
	if got := Prompt(viewOf(t, hostOf(t)), tools); !strings.Contains(got, "<available_skills>\n(none)\n</available_skills>") {
		t.Error(got)
	}
}

// TestBegin checks that Begin is called before a call is answered, and Observe afterwards.
func TestBegin(t *testing.T) {
	h := hostOf(t, project(map[string]string{"git/SKILL.md": md("git", "d")}))
	var seen []string
	h.Begin = func(e Event) { seen = append(seen, e.CallText()+e.Result.Text) }
	h.Observe = func(e Event) { seen = append(seen, e.ResultText()) }
	r, err := toolOf(t, "universal", "skill").Call(t.Context(), h, json.RawMessage(`{"name":" "}`))
	if err != nil {
		t.Fatal(err)
	}
	difftest.Same(t, seen, []string{`[Tool Call] skill(name=" ")`, "[Tool Result] " + r.Text})
}
