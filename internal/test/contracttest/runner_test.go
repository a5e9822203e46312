//go:build unix

package contracttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf16"

	"github.com/knack-dev/knack/internal/base/display"
)

// row is one line of a contract, tested through every door.
type row struct {
	id         string // the line in doc/contracts.md; several rows may test one line
	tool, args string
	want       answer
	denied     bool // the row depends on file permissions, so root skips it
}

func run(t *testing.T, w *world, set string, rows []row) {
	for _, r := range rows {
		t.Run(r.id, func(t *testing.T) {
			if r.denied && os.Getuid() == 0 {
				t.Skip("modes are nothing to root; TestAsNobody runs this")
			}
			w.ask(t, set, r.tool, r.args, r.want)
		})
	}
}

// TestAsNobody repeats the rows as the user nobody, since permissions do not restrict root.
func TestAsNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("the same tests once more, as another user")
	}
	if os.Getuid() != 0 {
		t.Skip("the tests run as such a user already")
	}
	asNobody(t, "^Test(Runner|Universal|Wave|URI)$")
}

const (
	calculatorDoc = "# Calculator Skill\n\nProvides basic arithmetic operations.\n\n## Usage\n\n```python\nresult = 2 + 2\nprint(result)\n```"
	basicPy       = "\ndef add(a, b):\n    return a + b\n\ndef subtract(a, b):\n    return a - b\n"
)

var (
	oneMB   = strings.Repeat("0123456789abcde\n", 1<<16)
	longest = strings.Repeat("n", 255)
)

func runnerWorld(t testing.TB) *world {
	w := newWorld(t, map[string]string{
		"calculator/SKILL.MD":                  calculatorDoc,
		"small/skill.md":                       md("small", "another spelling"),
		"empty/SKILL.MD":                       "",
		"bom/SKILL.MD":                         "\ufeff# x\r\n",
		"lines/SKILL.md":                       "lower <&> \u2028",
		"x..y/SKILL.MD":                        "x",
		"calculator/examples/basic.py":         basicPy,
		"calculator/docs/advanced/deep.md":     "deep",
		"calculator/empty.txt":                 "",
		"calculator/unicode.md":                "größe 数学 🧮",
		"calculator/conf.yaml":                 "a: <b>&c\n",
		"calculator/notes.txt":                 "notes",
		"calculator/bom.txt":                   "\ufeffbom",
		"calculator/win.txt":                   "caf\xe9 \x80\x81\n",
		"calculator/utf16.txt":                 utf16le("héllo"),
		"calculator/mb.txt":                    oneMB,
		"calculator/binary.bin":                "\x00\x01\xff\xfe\x7f",
		"calculator/huge.bin":                  "",
		"calculator/bad\\name.txt":             "separates",
		"calculator/linkin.txt":                "->notes.txt",
		"calculator/linkout.txt":               "->../weather/docs/api_reference.md",
		"calculator/passwd":                    "->/etc/passwd",
		"calculator/up":                        "->..",
		"calculator/denied.txt":                "secret",
		"calculator/.env":                      "SECRET=1",
		"weather/SKILL.md":                     "no frontmatter",
		"weather/docs/api_reference.md":        "# Weather API Reference\n\n## get_forecast(location)\n...",
		"data_processor/SKILL.MD":              "data",
		"data_processor/config.json":           `{"api_endpoint": "https://example.com", "timeout": 30}`,
		"ml_model/SKILL.MD":                    "ml",
		"ml_model/data/samples/input.txt":      "sample1\nsample2\nsample3",
		"docless/notes.md":                     "a folder without its document",
		"both/SKILL.MD":                        "capitals",
		"both/SKILL.md":                        "small",
		"mb/SKILL.MD":                          oneMB,
		"large/SKILL.MD":                       oneMB + "x",
		"latin/SKILL.MD":                       "caf\xe9",
		"denied/SKILL.MD":                      "denied",
		"dir/SKILL.MD/x":                       "a directory in place of the file",
		"linkout/SKILL.MD":                     "->../calculator/SKILL.MD",
		"linkin/SKILL.MD":                      "->docs/real.md",
		"linkin/docs/real.md":                  "real",
		"pipe/":                                "",
		"größe/SKILL.MD":                       "non-ASCII",
		"a:b/SKILL.MD":                         "colon",
		"plain":                                "a file, no folder",
		"deep/inside/nested/SKILL.md":          "nested",
		longest + "/SKILL.MD":                  "longest",
		"named/SKILL.md":                       "---\nname: other-name\ndescription: d\n---\n",
		"linked":                               "->" + "$USER/target",
		"hidden/SKILL.md":                      "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n",
		"tree/SKILL.md":                        "x",
		"tree/many/a.md":                       "",
		"tree/many/b/c.md":                     "",
		"lots/SKILL.md":                        "x",
		"odd/SKILL.md":                         "x",
		"odd/a b #1 (ü).txt":                   "odd",
		strings.Repeat("p", 200) + "/SKILL.md": "p",
	})
	for i := range 23 {
		w.put(0, fmt.Sprintf("lots/of/%02d.md", i), "")
	}
	for name, to := range map[string]string{
		"calculator/absolute.txt": "$DIR/calculator/notes.txt", "calculator/roundabout.txt": "../calculator/notes.txt", "calculator/absolute-out.txt": "$DIR/weather/SKILL.md",
		"calculator/absolute-env.txt": "$DIR/calculator/.env", "linkabs/SKILL.MD": "$DIR/linkabs/docs/real.md", "linkabsout/SKILL.MD": "$DIR/calculator/SKILL.MD",
	} {
		w.put(0, name, "->"+to)
	}
	w.put(0, "linkabs/docs/real.md", "real")
	must(t, syscall.Mkfifo(filepath.Join(w.dirs[0], "pipe", "SKILL.MD"), 0o644))
	must(t, syscall.Mkfifo(filepath.Join(w.dirs[0], "calculator", "pipe"), 0o644))
	must(t, os.Truncate(filepath.Join(w.dirs[0], "calculator", "huge.bin"), 16<<20+1))
	for _, name := range []string{"denied/SKILL.MD", "calculator/denied.txt"} {
		must(t, os.Chmod(filepath.Join(w.dirs[0], name), 0))
	}
	w.refresh()
	return w
}

func utf16le(s string) string {
	out := "\xff\xfe"
	for _, u := range utf16.Encode([]rune(s)) {
		out += string([]byte{byte(u), byte(u >> 8)})
	}
	return out
}

func doc(name, text string) answer {
	object := `{"skill_name":` + quote(name) + `,"documentation":` + quote(text) + `}`
	return answer{text: object, object: object}
}

func docError(message string) answer {
	object := `{"error":` + quote(message) + `}`
	return answer{text: object, object: object, isError: true}
}

func file(name, path, text, encoding string, size int) answer {
	return answer{text: text, object: fmt.Sprintf(`{"success":true,"skill_name":%s,"file_path":%s,"content":%s,"size_bytes":%d,"encoding":%q}`,
		quote(name), quote(path), quote(text), size, encoding)}
}

func utf8File(name, path, text string) answer { return file(name, path, text, "utf-8", len(text)) }

func fileError(name, path, message string) answer {
	return answer{text: "ERROR: " + message, isError: true, object: fmt.Sprintf(`{"success":false,"skill_name":%s,"file_path":%s,"error":%s}`,
		quote(display.Echo(name)), quote(display.Echo(path)), quote(message))}
}

func badName(name string) answer {
	return docError("Invalid skill name: '" + display.Echo(name) + `'. Skill names must not contain '/', '\', or '..'`)
}

func noSkill(name string) answer {
	return docError("Skill '" + display.Echo(name) + "' not found in skills folder")
}

func TestRunner(t *testing.T) {
	w := runnerWorld(t)
	get := func(id, name string, want answer) row {
		return row{id: id, tool: "get_skill", args: `{"skill_name":` + quote(name) + `}`, want: want}
	}
	read := func(id, name, path string, want answer) row {
		return row{id: id, tool: "read_file_in_skill", args: `{"skill_name":` + quote(name) + `,"file_path":` + quote(path) + `}`, want: want}
	}
	denied := func(r row) row { r.denied = true; return r }
	outside := func(name, path string) answer {
		return fileError(name, path, "Path traversal detected: cannot access files outside skill folder")
	}
	missing := func(name, path string) answer {
		return fileError(name, path, "File '"+display.Echo(path)+"' not found in skill '"+name+"'")
	}
	cannot := func(name, path, why string) answer {
		return fileError(name, path, "Cannot read file '"+path+"': "+why)
	}
	special := func(name, path string) answer {
		return fileError(name, path, "Invalid skill name: must not contain special characters")
	}
	absent := func(name, path string) answer {
		return fileError(name, path, "Skill '"+display.Echo(name)+"' not found in skills folder")
	}
	noDoc := func(name string) answer { return docError("SKILL.MD not found for skill '" + name + "'") }
	reading := func(name, why string) answer {
		return docError("Error reading SKILL.MD for skill '" + name + "': " + why)
	}
	rows := []row{
		get("000-call", "calculator", doc("calculator", calculatorDoc)),
		get("000-success", "calculator", doc("calculator", calculatorDoc)),
		get("000-error", "nonexistent", noSkill("nonexistent")),
		get("000-example-1", "calculator", doc("calculator", calculatorDoc)),
		get("000-example-2", "docless", noDoc("docless")),
		get("000-example-3", "../../../etc/passwd", badName("../../../etc/passwd")),
		get("000-example-4", "nonexistent", noSkill("nonexistent")),
		get("000-behavior-1", "calculator/../calculator", badName("calculator/../calculator")),
		get("000-behavior-2", "both", doc("both", "capitals")),
		get("000-behavior-2", "weather", doc("weather", "no frontmatter")),
		get("000-behavior-2", "nested", doc("nested", "nested")),
		get("000-behavior-2", "other-name", doc("other-name", "---\nname: other-name\ndescription: d\n---\n")),
		get("000-behavior-2", "deep", noDoc("deep")),
		get("000-behavior-2", "small", noDoc("small")), // even on a disk that ignores case
		get("000-behavior-2", "empty", doc("empty", "")),
		get("000-behavior-2", "bom", doc("bom", "\ufeff# x\r\n")),
		get("000-behavior-2", "lines", doc("lines", "lower <&> \u2028")),
		get("000-behavior-2", " calculator", noSkill(" calculator")),
		get("000-behavior-2", "claude-project:calculator", noSkill("claude-project:calculator")),
		get("000-behavior-2", "Calculator", noSkill("Calculator")),
		get("000-behavior-3", "größe", doc("größe", "non-ASCII")),
		get("000-behavior-4", "mb", doc("mb", oneMB)),
		get("000-error-1", "a/b", badName("a/b")),
		get("000-error-1", `a\b`, badName(`a\b`)),
		get("000-error-1", "..", badName("..")),
		get("000-error-1", "x..y", badName("x..y")),
		get("000-error-1", ".", badName(".")),
		get("000-error-1", "", badName("")),
		get("000-error-1", "a\x00b", badName("a\x00b")),
		get("000-error-1", longest+"n", badName(longest+"n")),
		get("000-error-1", strings.Repeat("n", 300), badName(strings.Repeat("n", 300))),
		{id: "000-error-1", tool: "get_skill", args: "", want: badName("")},
		{id: "000-error-1", tool: "get_skill", args: `{"skill_name":null,"more":1}`, want: badName("")},
		{id: "000-error-1", tool: "get_skill", args: `{"skill_name":5}`, want: docError("Invalid tool arguments: 'skill_name' must be a string")},
		get("000-error-2", "plain", noSkill("plain")),
		get("000-error-2", longest[1:], noSkill(longest[1:])),
		get("000-error-3", "docless", noDoc("docless")),
		denied(get("000-error-4", "denied", docError("Permission denied reading SKILL.MD for skill 'denied'"))),
		get("000-error-5", "large", docError("SKILL.MD too large (>1MB) for skill 'large'")),
		get("000-error-6", "latin", docError("SKILL.MD contains invalid UTF-8 for skill 'latin'")),
		get("000-error-other", "dir", reading("dir", "not a regular file")),
		get("000-error-other", "pipe", reading("pipe", "not a regular file")),
		get("000-error-other", "hidden", docError("Skill 'hidden' is not available for model invocation.")),
		get("000-security-1", "..%2f..", badName("..%2f..")),
		get("000-security-2", "../calculator", badName("../calculator")),
		get("000-security-3", "/etc", badName("/etc")),
		get("000-security-4", "linkout", reading("linkout", "leads outside the skill's folder")),
		get("000-security-4", "linkin", doc("linkin", "real")),
		get("000-security-4", "linkabs", doc("linkabs", "real")),
		get("000-security-4", "linkabsout", reading("linkabsout", "leads outside the skill's folder")),
		get("000-names", "a:b", doc("a:b", "colon")),
		get("000-names", longest, doc(longest, "longest")),

		read("001-success", "calculator", "notes.txt", utf8File("calculator", "notes.txt", "notes")),
		read("001-error", "calculator", "none", missing("calculator", "none")),
		read("001-message-1", "skill_name", "x", absent("skill_name", "x")),
		read("001-message-2", "calculator", "file_path", missing("calculator", "file_path")),
		read("001-message-3", "calculator", "../weather/SKILL.md", outside("calculator", "../weather/SKILL.md")),
		read("001-message-4", "calculator", "examples", cannot("calculator", "examples", "it is a directory; it holds: basic.py")),
		read("001-message-5", "a/b", "x", special("a/b", "x")),
		read("001-validation-1", "", "x", special("", "x")),
		read("001-validation-2", "..", "x", special("..", "x")),
		read("001-validation-2", `a\b`, "x", special(`a\b`, "x")),
		read("001-validation-2", "a\x00", "x", special("a\x00", "x")),
		read("001-validation-2", strings.Repeat("é", 150), "x", special(strings.Repeat("é", 150), "x")),
		read("001-validation-3", "calculator", "", fileError("calculator", "", "Invalid file path: must not be empty")),
		read("001-validation-3", "nonexistent", "", fileError("nonexistent", "", "Invalid file path: must not be empty")), // the path is checked before the skill is looked up
		{id: "001-validation-3", tool: "read_file_in_skill", args: `{"skill_name":"calculator"}`, want: fileError("calculator", "", "Invalid file path: must not be empty")},
		{id: "001-validation-1", tool: "read_file_in_skill", args: "", want: special("", "")},
		{id: "001-validation-3", tool: "read_file_in_skill", args: `{"skill_name":"calculator","file_path":["x"]}`, want: fileError("calculator", "", "Invalid tool arguments: 'file_path' must be a string")},
		read("001-validation-4", "calculator", "docs/../../weather/SKILL.md", outside("calculator", "docs/../../weather/SKILL.md")),
		read("001-reading-1", "größe", "SKILL.MD", utf8File("größe", "SKILL.MD", "non-ASCII")),
		read("001-reading-1", "other-name", "SKILL.md", utf8File("other-name", "SKILL.md", "---\nname: other-name\ndescription: d\n---\n")),
		read("001-reading-1", "weather", "docs/api_reference.md", utf8File("weather", "docs/api_reference.md", "# Weather API Reference\n\n## get_forecast(location)\n...")),
		read("001-reading-1", "Calculator", "notes.txt", absent("Calculator", "notes.txt")),
		read("001-reading-1", "hidden", "SKILL.md", fileError("hidden", "SKILL.md", "Skill 'hidden' is not available for model invocation.")),
		read("001-reading-2", "calculator", "docs/./advanced//../advanced/deep.md", utf8File("calculator", "docs/./advanced//../advanced/deep.md", "deep")),
		read("001-reading-3", "calculator", "../../../etc/passwd", outside("calculator", "../../../etc/passwd")),
		read("001-reading-4", "calculator", "bom.txt", utf8File("calculator", "bom.txt", "\ufeffbom")),
		read("001-reading-4", "calculator", "utf16.txt", file("calculator", "utf16.txt", "héllo", "utf-16le", 12)),
		read("001-reading-4", "calculator", "win.txt", file("calculator", "win.txt", "café €\u0081\n", "windows-1252", 8)),
		read("001-reading-5", "calculator", "conf.yaml", utf8File("calculator", "conf.yaml", "a: <b>&c\n")),
		read("001-boundary-1", "calculator", "up/weather/SKILL.md", outside("calculator", "up/weather/SKILL.md")),
		read("001-boundary-2", "calculator", "passwd", outside("calculator", "passwd")),
		read("001-boundary-2", "calculator", "/etc/passwd", outside("calculator", "/etc/passwd")),
		read("001-boundary-2", "calculator", `C:\Windows\win.ini`, outside("calculator", `C:\Windows\win.ini`)),
		read("001-boundary-2", "calculator", "notes.txt\x00", outside("calculator", "notes.txt\x00")),
		read("001-boundary-2", "calculator", ".env", missing("calculator", ".env")),
		read("001-boundary-3", "calculator", "linkout.txt", outside("calculator", "linkout.txt")),
		read("001-boundary-2", "calculator", "absolute.txt", utf8File("calculator", "absolute.txt", "notes")),
		read("001-boundary-2", "calculator", "roundabout.txt", utf8File("calculator", "roundabout.txt", "notes")),
		read("001-boundary-2", "calculator", "absolute-env.txt", missing("calculator", "absolute-env.txt")),
		read("001-boundary-3", "calculator", "absolute-out.txt", outside("calculator", "absolute-out.txt")),
		read("001-boundary-3", "calculator", "..", outside("calculator", "..")),
		read("001-condition-1", "nonexistent", "x", absent("nonexistent", "x")),
		read("001-condition-1", "docless", "notes.md", absent("docless", "notes.md")),
		read("001-condition-2", "calculator", "x/y/z", missing("calculator", "x/y/z")),
		read("001-condition-2", "calculator", "notes.txt/x", missing("calculator", "notes.txt/x")),
		read("001-condition-2", "calculator", strings.Repeat("x", 300), missing("calculator", strings.Repeat("x", 300))),
		read("001-condition-3", "calculator", "../..", outside("calculator", "../..")),
		read("001-condition-4", ".", "x", special(".", "x")),
		read("001-condition-5", "calculator", "binary.bin", cannot("calculator", "binary.bin", "it is binary (5 bytes)")),
		denied(read("001-condition-6", "calculator", "denied.txt", cannot("calculator", "denied.txt", "permission denied"))),
		read("001-condition-other", "calculator", "pipe", cannot("calculator", "pipe", "not a regular file")),
		read("001-condition-other", "calculator", "huge.bin", cannot("calculator", "huge.bin", "too large")),
		read("001-condition-other", "tree", "many", cannot("tree", "many", "it is a directory; it holds: a.md, b/")),
		read("001-condition-other", "lots", "of", cannot("lots", "of", "it is a directory; it holds: 00.md, 01.md, 02.md, 03.md, 04.md, 05.md, 06.md, 07.md, 08.md, 09.md, 10.md, 11.md, 12.md, 13.md, 14.md, 15.md, 16.md, 17.md, 18.md, 19.md, …")),
		read("001-example-1", "calculator", "examples/basic.py", utf8File("calculator", "examples/basic.py", basicPy)),
		read("001-example-2", "weather", "docs/api_reference.md", utf8File("weather", "docs/api_reference.md", "# Weather API Reference\n\n## get_forecast(location)\n...")),
		read("001-example-3", "calculator", "examples/missing.py", missing("calculator", "examples/missing.py")),
		read("001-example-4", "calculator", "../../../etc/passwd", outside("calculator", "../../../etc/passwd")),
		read("001-example-5", "nonexistent", "README.md", absent("nonexistent", "README.md")),
		read("001-example-6", "data_processor", "config.json", utf8File("data_processor", "config.json", `{"api_endpoint": "https://example.com", "timeout": 30}`)),
		read("001-example-7", "ml_model", "data/samples/input.txt", utf8File("ml_model", "data/samples/input.txt", "sample1\nsample2\nsample3")),
		read("001-checklist-1", "calculator", "notes.txt", utf8File("calculator", "notes.txt", "notes")),
		read("001-checklist-2", "calculator", "examples/basic.py", utf8File("calculator", "examples/basic.py", basicPy)),
		read("001-checklist-3", "calculator", "docs/advanced/deep.md", utf8File("calculator", "docs/advanced/deep.md", "deep")),
		read("001-checklist-4", "calculator", "examples/basic.py", utf8File("calculator", "examples/basic.py", basicPy)),
		read("001-checklist-4", "calculator", "docs/advanced/deep.md", utf8File("calculator", "docs/advanced/deep.md", "deep")),
		read("001-checklist-4", "data_processor", "config.json", utf8File("data_processor", "config.json", `{"api_endpoint": "https://example.com", "timeout": 30}`)),
		read("001-checklist-4", "calculator", "notes.txt", utf8File("calculator", "notes.txt", "notes")),
		read("001-checklist-4", "calculator", "conf.yaml", utf8File("calculator", "conf.yaml", "a: <b>&c\n")),
		read("001-checklist-4", "odd", "a b #1 (ü).txt", utf8File("odd", "a b #1 (ü).txt", "odd")),
		read("001-checklist-5", "calculator", "examples/missing.py", missing("calculator", "examples/missing.py")),
		read("001-checklist-6", "nonexistent", "README.md", absent("nonexistent", "README.md")),
		read("001-checklist-7", "calculator", "../../../etc/passwd", outside("calculator", "../../../etc/passwd")),
		read("001-checklist-8", "calculator", `..\..\..\Windows\System32`, outside("calculator", `..\..\..\Windows\System32`)),
		read("001-checklist-9", "../calculator", "notes.txt", special("../calculator", "notes.txt")),
		read("001-checklist-10", "calculator", "mb.txt", utf8File("calculator", "mb.txt", oneMB)),
		read("001-checklist-11", "calculator", "binary.bin", cannot("calculator", "binary.bin", "it is binary (5 bytes)")),
		read("001-checklist-12", "calculator", "empty.txt", utf8File("calculator", "empty.txt", "")),
		read("001-checklist-13", "calculator", "unicode.md", utf8File("calculator", "unicode.md", "größe 数学 🧮")),
		read("001-note-1", "calculator", "SKILL.MD", utf8File("calculator", "SKILL.MD", calculatorDoc)),
		read("001-note-4", "calculator", "binary.bin", cannot("calculator", "binary.bin", "it is binary (5 bytes)")),
		read("001-note-5", "calculator", `docs\advanced\deep.md`, utf8File("calculator", `docs\advanced\deep.md`, "deep")),
		read("001-note-5", "calculator", "linkin.txt", utf8File("calculator", "linkin.txt", "notes")),
	}
	run(t, w, "runner", rows)
}

// TestRunnerReadsTheDisk checks that contracts 000 and 001 read the disk at each call, and not
// earlier.
func TestRunnerReadsTheDisk(t *testing.T) {
	w := newWorld(t, map[string]string{"calculator/SKILL.MD": "one", "calculator/x.txt": "one"})
	get := func(want answer) { t.Helper(); w.ask(t, "runner", "get_skill", `{"skill_name":"calculator"}`, want) }
	read := func(want answer) {
		t.Helper()
		w.ask(t, "runner", "read_file_in_skill", `{"skill_name":"calculator","file_path":"x.txt"}`, want)
	}
	get(doc("calculator", "one"))
	read(utf8File("calculator", "x.txt", "one"))
	w.put(0, "calculator/SKILL.MD", "two")
	w.put(0, "calculator/x.txt", "two")
	get(doc("calculator", "two"))
	read(utf8File("calculator", "x.txt", "two"))
	w.remove(0, "calculator/SKILL.MD")
	w.remove(0, "calculator/x.txt")
	get(docError("SKILL.MD not found for skill 'calculator'"))
	read(fileError("calculator", "x.txt", "File 'x.txt' not found in skill 'calculator'"))
	w.put(0, "calculator/SKILL.md", "three")
	get(doc("calculator", "three"))
	w.remove(0, "calculator")
	get(noSkill("calculator"))
	w.put(0, "calculator/notes.md", "back, without its document")
	w.refresh()
	get(docError("SKILL.MD not found for skill 'calculator'"))
}

// TestRunnerList checks that list_skills lists the folders that get_skill can read, whatever their
// frontmatter.
func TestRunnerList(t *testing.T) {
	w := newWorld(t, map[string]string{
		"weather/SKILL.md": "no frontmatter", "calculator/SKILL.MD": calculatorDoc, "docless/notes.md": "", "größe/SKILL.MD": "<b>",
		"hidden/SKILL.md": "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n",
	})
	const list = `{"skills":["calculator","größe","weather"]}`
	w.ask(t, "runner", "list_skills", `{"ignored":1}`, answer{text: list, object: list})
	w.remove(0, "weather")
	w.refresh()
	w.ask(t, "runner", "list_skills", "", answer{text: `{"skills":["calculator","größe"]}`, object: `{"skills":["calculator","größe"]}`})
	newWorld(t, nil).ask(t, "runner", "list_skills", "", answer{text: `{"skills":[]}`, object: `{"skills":[]}`})
}
