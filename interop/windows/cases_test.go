package windows

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cases lists the rows of the table. Each case has its own folder, C:\NAME.
var cases = []struct {
	name, shows string
	run         func(t *testing.T, m *machine, at string)
}{
	{"list", "`knack list` finds a project's skills, names their roots with `/`, and nothing but a list is printed; `--json` is JSON", list},
	{"check", "`knack check` of a project, of a folder with a drive and of one below `.`: 0 without errors, 1 with file, line and column of one", check},
	{"CRLF", "a SKILL.md with CRLF has its name and description, `show` and `--fix` keep each line's end", crlf},
	{"new", "`knack new` writes a skill that `check` accepts and `list` finds", newSkill},
	{"reserved", "`knack new` refuses the names of devices, in any case, with extensions, dots and blanks; `check` names a skill so called", reserved},
	{"long", "a skill whose path has over 260 characters is listed, checked, and read file by file", long},
	{"KNACK_DIRS", "`;` separates the folders, and a drive's `:` does not", knackDirs},
	{"settings", "`%APPDATA%\\knack\\knack.yaml` is read, and `config check` names it", settings},
	{"connect", "`knack connect` prints a command that cmd.exe and PowerShell take; `--write` writes the entry once, with a backup, and keeps the rest of the file, below the home folder and `%APPDATA%`", connect},
	{"statuses", "0, 1 for problems, 2 for usage, 3 for what failed, each with a message", statuses},
	{"stdio", "the Go SDK's client starts `knack serve`, in both protocol eras: it lists and loads skills, reads files by `/` and `\\`, hears of a new skill, and the end of the input ends the server with 0", stdio},
	{"escapes", "`..`, drives, UNC paths, devices, streams of NTFS and names that end in a dot are refused by every reading tool", escapes},
	{"HTTP", "`knack serve --http` answers an MCP client and a browser", overHTTP},
	{"folders", "an irregular folder (Go's name for one that, for example, a synchronizing program makes) is searched", folders},
}

// skillOf returns a SKILL.md.
func skillOf(name string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + ". Use it for the tests of " + name + ".\n---\n\n# " + name + "\n\nSee ref/a.md.\n"
}

func list(t *testing.T, m *machine, at string) {
	m.write(t, at, map[string]string{".claude/skills/one/SKILL.md": skillOf("one"), ".claude/skills/group/two/SKILL.md": skillOf("two"), ".agents/skills/three/SKILL.md": skillOf("three")})
	a := m.knack(t, at, "list", "--no-builtin")
	a.says(t, 0, nil, nil)
	want := "claude-project (.claude/skills)\n  two    Does two. Use it for the tests of two.\n  one    Does one. Use it for the tests of one.\n" +
		"agents-project (.agents/skills)\n  three  Does three. Use it for the tests of three.\n3 skills\n"
	if a.out != want {
		t.Errorf("got:\n%s\nwant:\n%s", a.out, want)
	}
	var report struct {
		Skills []struct{ Name, File, URI string }
	}
	a = m.knack(t, at, "list", "--no-builtin", "--json")
	if err := json.Unmarshal([]byte(a.out), &report); err != nil || len(report.Skills) != 3 {
		t.Fatalf("%v: %d skills", err, len(report.Skills))
	}
	if s := report.Skills[0]; s.File != ".claude/skills/group/two/SKILL.md" || s.URI != "skill://claude-project/group/two/SKILL.md" {
		t.Errorf("%+v", s)
	}
}

func check(t *testing.T, m *machine, at string) {
	m.write(t, at, map[string]string{".claude/skills/one/SKILL.md": skillOf("one"), ".claude/skills/one/ref/a.md": "text"})
	for _, args := range [][]string{{"check"}, {"check", at}, {"check", `.claude\skills`}, {"check", `.\.claude\skills\one`}} {
		m.knack(t, at, args...).says(t, 0, []string{"1 skill: 0 errors, 0 warnings"}, nil)
	}
	m.write(t, at, map[string]string{".claude/skills/bad/SKILL.md": "---\nname: other\ndescription: |\n   Does it. Use it for tests.\ntags: [\n---\n"})
	m.knack(t, at, "check").says(t, 1, []string{".claude/skills/bad/SKILL.md:"}, nil)
	m.knack(t, at, "check", `C:\check\.claude\skills\bad`).says(t, 1, []string{"bad/SKILL.md:"}, nil)
}

func crlf(t *testing.T, m *machine, at string) {
	text := strings.ReplaceAll(skillOf("one"), "\n", "\r\n")
	fixed := strings.Replace(text, "Does one. Use it for the tests of one.", "'Colons: use it for the tests of two.'", 1)
	fixed = strings.ReplaceAll(fixed, "one", "two")
	wrong := strings.ReplaceAll(fixed, "'", "")
	m.write(t, at, map[string]string{".claude/skills/one/SKILL.md": text, ".claude/skills/one/ref/a.md": "a\r\nb\r\n", ".claude/skills/two/SKILL.md": wrong, ".claude/skills/two/ref/a.md": "a"})
	m.knack(t, at, "list", "--no-builtin").says(t, 0, []string{"  one  Does one. Use it for the tests of one.\n"}, nil)
	if a := m.knack(t, at, "show", "one"); a.out != text || a.status != 0 {
		t.Errorf("%q", a.out)
	}
	if a := m.knack(t, at, "show", "one", "ref/a.md"); a.out != "a\r\nb\r\n" {
		t.Errorf("%q", a.out)
	}
	m.knack(t, at, "check").says(t, 1, []string{".claude/skills/two/SKILL.md:3:"}, nil)
	m.knack(t, at, "check", "--fix").says(t, 0, nil, []string{"fixed: .claude/skills/two/SKILL.md:3: "})
	if got := m.read(t, at+`\.claude\skills\two\SKILL.md`); got != fixed {
		t.Errorf("--fix wrote %q, want %q", got, fixed)
	}
}

func newSkill(t *testing.T, m *machine, at string) {
	m.write(t, at, map[string]string{"readme": ""})
	m.knack(t, at, "new", "three").says(t, 0, []string{".agents/skills/three/SKILL.md\n"}, []string{"knack doctor three"})
	m.knack(t, at, "new", "four", "--dir", `C:\new\mine`, "--description", "Counts to four. Use it to count.").says(t, 0, []string{"mine/four/SKILL.md\n"}, []string{"hint"})
	m.knack(t, at, "list", "--no-builtin").says(t, 0, []string{"agents-project (.agents/skills)\n  three  "}, nil)
	m.knack(t, at, "check", "mine").says(t, 0, []string{"1 skill: 0 errors"}, nil)
	m.knack(t, at, "new", "three").says(t, 1, nil, []string{".agents/skills/three"})
}

func reserved(t *testing.T, m *machine, at string) {
	m.write(t, at, map[string]string{"readme": ""})
	for _, name := range []string{"con", "prn", "aux", "nul", "com1", "lpt9"} {
		m.knack(t, at, "new", name).says(t, 2, nil, []string{"Windows allows no such folder (the name of a device)", "knack new " + name + "-skill"})
	}
	for _, name := range []string{"CON", "Aux", "nul.md", "con.", "con ", "con:", "skill.", "com¹", `a\b`} {
		m.knack(t, at, "new", name).says(t, 2, nil, []string{"cannot be the name of a skill"})
	}
	m.knack(t, at, "new", "con-1").says(t, 0, []string{"con-1/SKILL.md"}, []string{"hint"})
	m.write(t, at, map[string]string{"shared/one/SKILL.md": skillOf("aux"), "shared/one/ref/a.md": ""})
	m.knack(t, at, "check", "shared").says(t, 1, []string{"shared/one/SKILL.md:2:7: warning: on Windows no folder can be called 'aux', for the name of a device [file-windows]"}, nil)
	made, err := os.ReadDir(m.path(at + `\.agents\skills`))
	if err != nil || len(made) != 1 {
		t.Errorf("%v, %v", made, err)
	}
}

func long(t *testing.T, m *machine, at string) {
	deep := strings.Repeat("folder-of-the-company/", 12) // 264 characters
	m.write(t, at, map[string]string{deep + ".claude/skills/one/SKILL.md": skillOf("one"), deep + ".claude/skills/one/ref/a.md": "text of a"})
	m.write(t, at, map[string]string{"shallow/" + strings.Repeat("group-of-the-company/", 5) + strings.Repeat("long", 40) + "/two/SKILL.md": skillOf("two")})
	folder := at + `\` + strings.TrimSuffix(strings.ReplaceAll(deep, "/", `\`), `\`)
	m.knack(t, at, "list", "--no-builtin", "--project", folder).says(t, 0, []string{"one  Does one."}, nil)
	m.knack(t, at, "list", "--no-builtin", "--dir", folder+`\.claude\skills`).says(t, 0, []string{"one  Does one."}, nil)
	m.knack(t, at, "list", "--no-builtin", "--dir", "shallow").says(t, 0, []string{"two  Does two."}, nil)
	m.knack(t, at, "check", folder).says(t, 0, []string{"1 skill: 0 errors, 0 warnings"}, nil)
	if a := m.knack(t, at, "show", "one", "ref/a.md", "--project", folder); a.out != "text of a" {
		t.Errorf("%q", a.out)
	}
	m.knack(t, at, "new", "three", "--dir", folder+`\mine`).says(t, 0, []string{"three/SKILL.md"}, []string{"hint"})
}

func knackDirs(t *testing.T, m *machine, at string) {
	m.write(t, at, map[string]string{"a/one/SKILL.md": skillOf("one"), "b b/two/SKILL.md": skillOf("two")})
	a := m.run(t, at, []string{`KNACK_DIRS=C:\KNACK_DIRS\a;C:\KNACK_DIRS\b b`}, m.binary, "list", "--no-builtin")
	a.says(t, 0, []string{"  one  Does one.", "  two  Does two."}, nil)
}

func settings(t *testing.T, m *machine, at string) {
	m.write(t, at, map[string]string{".claude/skills/uno/SKILL.md": skillOf("one"), ".claude/skills/uno/ref/a.md": ""})
	m.knack(t, at, "check").says(t, 1, []string{"[name-folder]", "1 skill: 1 error, 0 warnings"}, nil)
	file := filepath.Join(m.home, "AppData", "Roaming", "knack", "knack.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(file))
	if err := os.WriteFile(file, []byte("check:\r\n  rules:\r\n    name-folder: warning\r\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m.knack(t, at, "check").says(t, 0, []string{"1 skill: 0 errors, 1 warning"}, nil)
	m.knack(t, at, "config", "check").says(t, 0, []string{"~/AppData/Roaming/knack/knack.yaml"}, nil)
	if err := os.WriteFile(file, []byte("check:\r\n  rules:\r\n    name-folder: never\r\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m.knack(t, at, "check").says(t, 2, nil, []string{"~/AppData/Roaming/knack/knack.yaml:3:"})
}

func connect(t *testing.T, m *machine, at string) {
	m.write(t, at, map[string]string{"readme": ""})
	a := m.knack(t, at, "connect", "claude-code")
	a.says(t, 0, []string{`"command": "C:\\knack\\knack.exe"`}, []string{`claude mcp add -s user knack -- "C:\knack\knack.exe" serve`})
	for _, c := range []struct{ client, file, before, keeps string }{
		{"claude-code", ".claude.json", "{\r\n  \"theme\": \"dark\",\r\n  \"mcpServers\": {}\r\n}\r\n", "\"theme\": \"dark\",\r\n"},
		{"vscode", "AppData/Roaming/Code/User/mcp.json", "{\r\n  // mine\r\n  \"inputs\": []\r\n}\r\n", "// mine\r\n"},
		{"codex", ".codex/config.toml", "model = \"m\" # mine\r\n", "model = \"m\" # mine\r\n"},
		{"goose", "AppData/Roaming/Block/goose/config/config.yaml", "GOOSE_MODE: auto # mine\r\n", "GOOSE_MODE: auto # mine\r\n"},
	} {
		file := filepath.Join(m.home, filepath.FromSlash(c.file))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(c.before), 0o644); err != nil {
			t.Fatal(err)
		}
		m.knack(t, at, "connect", c.client, "--write").says(t, 0, []string{"~/" + c.file + " has the entry now"}, []string{"hint: restart"})
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(data); !strings.Contains(text, c.keeps) || !strings.Contains(text, `knack.exe`) || strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\n") {
			t.Errorf("%s: %q", c.file, text)
		}
		if c.client == "claude-code" {
			var all struct {
				Theme      string
				MCPServers map[string]struct {
					Command string
					Args    []string
				}
			}
			if err := json.Unmarshal(data, &all); err != nil || all.MCPServers["knack"].Command != `C:\knack\knack.exe` || all.MCPServers["knack"].Args[0] != "serve" {
				t.Errorf("%v: %+v", err, all)
			}
			entry := all.MCPServers["knack"]
			s, _, _ := connected(t, m, at, "2025-11-25", append([]string{entry.Command}, entry.Args...))
			if name := s.InitializeResult().ServerInfo.Name; name != "knack" {
				t.Errorf("the entry starts %s", name)
			}
			_ = s.Close()
		}
		backups, err := filepath.Glob(file + "*")
		if err != nil || len(backups) != 2 {
			t.Errorf("%s: the file and its backup are %v (%v)", c.file, backups, err)
		}
		m.knack(t, at, "connect", c.client, "--write").says(t, 0, []string{"has the entry already"}, []string{""})
	}
}

func statuses(t *testing.T, m *machine, at string) {
	m.write(t, at, map[string]string{"bad/SKILL.md": "no frontmatter", "file": ""})
	for _, c := range []struct {
		status    int
		args      string
		out, errs string
	}{
		{0, "--version", "windows/amd64", ""},
		{0, "--help", "Usage:", ""},
		{1, "check bad", "bad/SKILL.md:1:1: ", ""},
		{2, "lst", "", "did you mean 'knack list'?"},
		{2, "list --bogus", "", "unknown flag: --bogus"},
		{2, "serve --http 99999", "", "neither a port from 0 to 65535 nor host:port"},
		{2, "call", "", "it is empty"},
		{3, `list --dir C:\nowhere`, "", `C:\nowhere: there is no such folder`},
		{3, `list --dir file`, "", `not a folder`},
		{3, `check Q:\nowhere`, "", `Q:\nowhere`},
		{1, "show nothing", "", "nothing"},
	} {
		m.knack(t, at, strings.Fields(c.args)...).says(t, c.status, []string{c.out}, []string{c.errs})
	}
}

func folders(t *testing.T, m *machine, at string) {
	m.write(t, at, map[string]string{"elsewhere/one/SKILL.md": skillOf("one"), "elsewhere/one/ref/a.md": "text of a", ".claude/skills/two/SKILL.md": skillOf("two")})
	// Wine shows a symbolic link of the host system as an irregular file without a target.
	if err := os.Symlink(m.path(at+`\elsewhere\one`), m.path(at+`\.claude\skills\one`)); err != nil {
		t.Fatal(err)
	}
	m.knack(t, at, "list", "--no-builtin").says(t, 0, []string{"  one  Does one.", "  two  Does two."}, nil)
	if a := m.knack(t, at, "show", "one", "ref/a.md"); a.out != "text of a" {
		t.Errorf("%q", a.out)
	}
}

// excerpt returns the beginning of a value, for messages.
func excerpt(v any) string { return fmt.Sprintf("%.300v", v) }
