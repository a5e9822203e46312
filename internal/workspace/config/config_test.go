package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/skill"
)

func TestParse(t *testing.T) {
	yes, no := true, false
	for text, want := range map[string]Config{
		"":                              {},
		"# nothing yet\n":               {},
		"check:\n":                      {},
		"check: {}\n":                   {},
		"check:\n  strict: true\n":      {Check: Check{Strict: &yes}},
		"check:\r\n  strict: False\r\n": {Check: Check{Strict: &no}},
		"\ufeffcheck:\n  rules:\n    description-when: off\n    name-folder: warning\n    \"text-comment\": 'error'\n": {Check: Check{Rules: map[skill.RuleID]skill.Severity{
			"description-when": off, "name-folder": skill.SeverityWarning, "text-comment": skill.SeverityError,
		}}},
		"check:\n  rules:\n": {Check: Check{Rules: map[skill.RuleID]skill.Severity{}}},
		"project:\n  dirs: [skills, ./a/../b/, .]\n  exclude:\n    - wave-project\n    - claude-project-2\n  tools: wave,uri\n": {Project: Project{
			Dirs:    []Word{{"skills", at(2, 10)}, {"b", at(2, 18)}, {".", at(2, 29)}},
			Exclude: []Word{{"wave-project", at(4, 7)}, {"claude-project-2", at(5, 7)}},
			Tools:   Word{"wave,uri", at(6, 10)},
		}},
	} {
		got, problems := Parse([]byte(text))
		if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
			t.Errorf("%q: %+v\n%s", text, problems, diff)
		}
	}
}

// TestParseRefuses checks that all problems are reported together, each with its position and its
// fix, and that the configuration is then empty.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string][]string{
		"chek:\n  strict: true\n":                     {"config-key@1:1 chek: there is no key 'chek' | did you mean check?"},
		"web: 1\n":                                    {"config-key@1:1 web: there is no key 'web' | the keys are check, project, roots, sources, store, poll, lock, trust, scan, approvals, chat, servers, access, sign-in, http, log, audit, usage, limits"},
		"check:\n  stric: yes\n  ruls: {}\n":          {"config-key@2:3 check.stric: there is no key 'stric' in check | did you mean strict?", "config-key@3:3 check.ruls: there is no key 'ruls' in check | did you mean rules?"},
		"check:\n  Strict: true\n":                    {"config-key@2:3 check.Strict: there is no key 'Strict' in check | did you mean strict?"},
		"check:\n  level: 1\n":                        {"config-key@2:3 check.level: there is no key 'level' in check | the keys are strict, rules"},
		"check:\n  strict: yes\n":                     {"config-value@2:11 check.strict: check.strict is not true or false | write true or false"},
		"check:\n  strict: 'true'\n":                  {"config-value@2:11 check.strict: check.strict is not true or false | write true or false"},
		"check:\n  strict:\n":                         {"config-value@2:10 check.strict: check.strict is not true or false | write true or false"},
		"check:\n  rules:\n    name-foldr: off\n":     {"config-key@3:5 check.rules.name-foldr: there is no rule 'name-foldr' in check.rules | did you mean name-folder?"},
		"check:\n  rules:\n    everything: off\n":     {"config-key@3:5 check.rules.everything: there is no rule 'everything' in check.rules | see 'knack help rules' for the rules"},
		"check:\n  rules:\n    name-folder: warn\n":   {"config-value@3:18 check.rules.name-folder: 'warn' is not a severity | write one of off, info, warning, error"},
		"check:\n  rules:\n    name-folder: warnin\n": {"config-value@3:18 check.rules.name-folder: 'warnin' is not a severity | did you mean warning?"},
		"check:\n  rules:\n    name-folder: false\n":  {"config-value@3:18 check.rules.name-folder: 'false' is not a severity | write one of off, info, warning, error"},
		"check:\n  rules:\n    name-folder: [off]\n":  {"config-value@3:18 check.rules.name-folder: a list is not a severity | write one of off, info, warning, error"},
		"check:\n  rules: [name-folder]\n":            {"config-value@2:10 check.rules: check.rules does not consist of keys with values | write each key on its own line, indented, followed by a colon and a space"},
		"project:\n  dir: [skills]\n":                 {"config-key@2:3 project.dir: there is no key 'dir' in project | did you mean dirs?"},
		"project:\n  dirs: skills\n":                  {"config-value@2:9 project.dirs: project.dirs is not a list | write a list: each item on its own line after a hyphen and a space, or all in [ ]"},
		"project:\n  exclude: [claude-user, 7]\n": {
			"config-value@2:13 project.exclude: 'claude-user' is not a root of a project; a project does not hide the user's skills | leave it to the user, with --exclude claude-user",
			"config-value@2:26 project.exclude: project.exclude is not text | write the label of a root, for example wave-project",
		},
		"project:\n  exclude: [builtin]\n":                    {"config-value@2:13 project.exclude: 'builtin' is not a root of a project; a project does not hide the user's skills | leave it to the user, with --exclude builtin"},
		"project:\n  tools: [wave]\n":                         {"config-value@2:10 project.tools: project.tools is not text | write the name of a set, for example default"},
		"check: strict\n":                                     {"config-value@1:8 check: check does not consist of keys with values | write each key on its own line, indented, followed by a colon and a space"},
		"check\n":                                             {"config-value@1:1 : the file does not consist of keys with values | write each key on its own line, indented, followed by a colon and a space"},
		"check:\n  strict: true\n  strict: false\n":           {"yaml-duplicate-key@3:3 : the key 'strict' occurs twice; the first is on line 2 | delete one of the two"},
		"check:\n\tstrict: true\n":                            {"yaml-syntax@2:1 : there is a tab where YAML requires spaces | use spaces instead of the tab"},
		"check:\n  rules: {name-folder: off\n":                {"yaml-syntax@2:10 : the { that begins here is never closed | write the closing }"},
		"a: &x 1\nb: *x\n":                                    {"yaml-syntax@1:4 : an anchor (&x) is not supported | see 'knack help settings'"},
		"check:\n  strict: true\n---\ncheck: {}\n":            {"yaml-syntax@3:1 : a second YAML document begins here | see 'knack help settings'"},
		"check: \x00\n":                                       {"yaml-control@1:8 : the file contains a NUL character | delete it"},
		"check: \xff\n":                                       {"file-encoding@1:8 : the file is not valid UTF-8 | save the file as UTF-8"},
		"# " + strings.Repeat("x", MaxSize):                   {"config-value@1:1 : the file is too large; the limit is 1 MiB | make it shorter"},
		"check:\n  strict: true\n\u007f: 1\n":                 {"yaml-syntax@3:1 : the character U+007F is not allowed here | delete the character"},
		"check:\n  strict: 1\nchick: 1\n1: 2\n":               {"config-value@2:11 check.strict: check.strict is not true or false | write true or false", "config-key@3:1 chick: there is no key 'chick' | did you mean check?", "yaml-key-type@4:1 : the key '1' is not a string | quote the key", "config-key@4:1 1: there is no key '1' | the keys are check, project, roots, sources, store, poll, lock, trust, scan, approvals, chat, servers, access, sign-in, http, log, audit, usage, limits"},
		strings.Repeat("x: 1\n", 1) + "check:\n  strict: 1\n": {"config-key@1:1 x: there is no key 'x' | the keys are check, project, roots, sources, store, poll, lock, trust, scan, approvals, chat, servers, access, sign-in, http, log, audit, usage, limits", "config-value@3:11 check.strict: check.strict is not true or false | write true or false"},
	} {
		c, problems := Parse([]byte(text))
		if diff := cmp.Diff(strings.Join(want, "\n"), linesOf(problems)); diff != "" {
			t.Errorf("%.60q (-want +got):\n%s", text, diff)
		}
		if diff := cmp.Diff(Config{}, c); diff != "" {
			t.Errorf("%.60q: something of it holds: %s", text, diff)
		}
	}
}

// linesOf returns a line for each problem.
func linesOf(problems []skill.Problem) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("%s@%s %s: %s | %s", p.Rule, p.Position, p.Field, p.Message, p.Fix))
	}
	return strings.Join(lines, "\n")
}

// TestWithDefaults checks that a project's file overrides the user's file, rule by rule.
func TestWithDefaults(t *testing.T) {
	yes, no := true, false
	user := Check{Strict: &yes, Rules: map[skill.RuleID]skill.Severity{"name-folder": off, "text-bom": skill.SeverityError}}
	project := Check{Strict: &no, Rules: map[skill.RuleID]skill.Severity{"name-folder": skill.SeverityInfo}}
	want := Check{Strict: &no, Rules: map[skill.RuleID]skill.Severity{"name-folder": skill.SeverityInfo, "text-bom": skill.SeverityError}}
	if diff := cmp.Diff(want, project.WithDefaults(user)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(user, Check{}.WithDefaults(user)); diff != "" {
		t.Error(diff)
	}
	if len(user.Rules) != 2 || user.Rules["name-folder"] != off {
		t.Errorf("the user's section changed: %+v", user)
	}
	if got, reported := want.Severity("text-bidi", skill.SeverityWarning); got != skill.SeverityWarning || !reported {
		t.Errorf("a rule without a setting is %s, reported: %v", got, reported)
	}
	if _, reported := user.Severity("name-folder", skill.SeverityWarning); reported {
		t.Error("a rule that is off is reported")
	}
}

// TestDocument checks that doc/configuration.md lists every key, and that its examples are valid.
func TestDocument(t *testing.T) {
	data, err := os.ReadFile("../../../doc/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	for _, k := range Keys() {
		if row := fmt.Sprintf("| `%s` | %s | %s | %s |\n", k.Path, k.Type, k.Default, k.Title); !strings.Contains(doc, row) {
			t.Errorf("doc/configuration.md lacks the row\n%s", row)
		}
	}
	examples := 0
	for _, block := range strings.Split(doc, "```yaml\n")[1:] {
		examples++
		text, _, _ := strings.Cut(block, "```")
		if c, problems := Parse([]byte(text)); len(problems) > 0 || reflect.DeepEqual(c, Config{}) {
			t.Errorf("the example is wrong: %+v\n%s", problems, text)
		}
	}
	if examples == 0 {
		t.Error("there is no example")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("check:\n  strict: true\n  rules:\n    name-folder: off\n"))
	f.Add([]byte("check: {rules: [a], strict: 1}\nx: y\n"))
	f.Add([]byte("\ufeffcheck:\r\n\trules: &a\n"))
	f.Add([]byte("? [a]\n: b\n...\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, problems := Parse(data)
		if len(problems) > 0 && (c.Check.Strict != nil || c.Check.Rules != nil) {
			t.Error("something of a faulty file holds")
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 2
		for _, p := range problems {
			if p.Position.Line < 1 || p.Position.Line > lines || p.Position.Column < 1 || p.Message == "" || p.Fix == "" || strings.ContainsAny(p.Message+p.Fix, "\n\r\x1b") {
				t.Errorf("%+v", p)
			}
		}
	})
}

// at returns a position.
func at(line, column int) skill.Position { return skill.Position{Line: line, Column: column} }

// TestProjectStaysInside checks that a folder outside the project is refused, however it is
// written.
func TestProjectStaysInside(t *testing.T) {
	for _, dir := range []string{"/etc", "//host/share", "..", "../x", "a/../../x", "./..", "~", "~/.ssh", "~root", `a\b`, `..\x`, `\\host\x`, "C:/x", "c:x", `C:\x`, "skills:ads"} {
		c, problems := Parse([]byte("project:\n  dirs:\n    - '" + dir + "'\n"))
		want := "config-value 3:7 project.dirs: '" + dir + "' is not a path below the project"
		if got := fmt.Sprintf("%s %s %s: %s", problems[0].Rule, problems[0].Position, problems[0].Field, problems[0].Message); len(problems) != 1 || got != want || len(c.Project.Dirs) > 0 {
			t.Errorf("%s: %+v, want %s", dir, problems, want)
		}
	}
	many := strings.Repeat("    - a\n", maxDirs)
	if _, problems := Parse([]byte("project:\n  dirs:\n" + many)); len(problems) > 0 {
		t.Errorf("%d folders: %+v", maxDirs, problems)
	}
	if _, problems := Parse([]byte("project:\n  dirs:\n" + many + many)); len(problems) != 1 || problems[0].Position.Line != 3+maxDirs {
		t.Errorf("too many folders: %+v", problems)
	}
}

// TestLockIn checks that LockIn finds the key lock even if the rest of the file is invalid.
func TestLockIn(t *testing.T) {
	for text, want := range map[string]string{
		"": LockWarn, "lock: enforce\n": LockEnforce, "\ufefflock: off\n": LockOff, "lock: enforce\nlok: 1\nlog: [\n": LockEnforce,
		"lock: strict\n": LockEnforce, "http:\n  lock: off\n": LockWarn, "lock: {enforce: 1}\n": LockEnforce,
	} {
		if got := LockIn([]byte(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
