//go:build unix

package contracttest

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool/profile"
)

var clientless = profile.Client{}

const skillName = "---\nname: skill-name\ndescription: Brief description of what this skill does and when to use it\n---\n\n# Skill Content\nMarkdown content with instructions...\n"

func waveWorld(t testing.TB) *world {
	w := newWorld(t, map[string]string{
		"skill-1/SKILL.md":                    md("skill-1", "Description of skill 1"),
		"skill-1/reference.md":                "reference",
		"skill-name/SKILL.md":                 skillName,
		"Upper/SKILL.md":                      md("Upper", "d"),
		"folder/SKILL.md":                     md("another", "d"),
		"colon/SKILL.md":                      "---\nname: colon\ndescription: Use it: always\n---\n",
		"nodesc/SKILL.md":                     "---\nname: nodesc\n---\n",
		"empty-description/SKILL.md":          "---\nname: empty-description\ndescription: ''\n---\n",
		"long/SKILL.md":                       md("long", strings.Repeat("d", 1025)),
		"longest/SKILL.md":                    md("longest", strings.Repeat("d", 1024)),
		"latin/SKILL.md":                      "---\nname: latin\ndescription: \xe9\n---\n",
		"leaves/SKILL.md":                     md("leaves", "d") + "[out](../../etc/passwd)\n",
		"denied/SKILL.md":                     md("denied", "d"),
		strings.Repeat("a", 65) + "/SKILL.md": md(strings.Repeat("a", 65), "d"),
		"linkout/SKILL.md":                    "->../skill-1/SKILL.md",
		"hidden/SKILL.md":                     "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n",
	}, map[string]string{
		"skill-2/SKILL.md": md("skill-2", "Description of skill 2"),
		"skill-1/SKILL.md": md("skill-1", "shadowed"),
	})
	must(t, os.Chmod(filepath.Join(w.dirs[0], "denied/SKILL.md"), 0))
	if os.Getuid() == 0 {
		w.put(0, "denied/SKILL.md", "---\nname: denied\n---\n")
	}
	w.refresh()
	return w
}

var waveList = "- leaves: d\n- longest: " + strings.Repeat("d", 1024) + "\n- skill-1: Description of skill 1\n- skill-name: Brief description of what this skill does and when to use it\n- skill-2: Description of skill 2"

func invoked(content, short string) answer {
	return answer{text: content, object: `{"success":true,"content":` + quote(content) + `,"shortResult":` + quote(short) + `}`}
}

func waveError(name, message, content string) answer {
	e := "Error invoking skill '" + name + "': " + message + "\n\nAvailable skills:\n" + waveList
	content = or(content, e)
	return answer{text: content, isError: true, object: `{"success":false,"content":` + quote(content) + `,"error":` + quote(e) + `}`}
}

func waveMissing(name string) answer {
	content := "Skill '" + display.Echo(name) + "' not found.\n\nAvailable skills:\n" + waveList
	if skill.ValidName(name) {
		content += "\n\nTo create this skill:\n1. Create directory ~/.wave/skills/" + name + "/\n2. Add SKILL.md file with proper YAML frontmatter"
	}
	return waveError(display.Echo(name), "Skill '"+display.Echo(name)+"' not found", content)
}

func waveInvalid(name, message string, fixes ...string) answer {
	return waveError(name, message, "Skill '"+name+"' is invalid: "+message+"\n\nFix by:\n- "+strings.Join(fixes, "\n- ")+"\n\nSkill will be available after fixing these issues.")
}

func TestWave(t *testing.T) {
	w := waveWorld(t)
	call := func(id, name string, want answer) row {
		return row{id: id, tool: "Skill", args: `{"skill_name":` + quote(name) + `}`, want: want}
	}
	one := invoked(w.fill("Skill: skill-1 (Type: project)\nPath: $DIR/skill-1\n\n"+md("skill-1", "Description of skill 1")), "skill-1: Description of skill 1")
	two := invoked(w.fill("Skill: skill-2 (Type: personal)\nPath: $USER/skill-2\n\n"+md("skill-2", "Description of skill 2")), "skill-2: Description of skill 2")
	named := invoked(w.fill("Skill: skill-name (Type: project)\nPath: $DIR/skill-name\n\n"+skillName), "skill-name: Brief description of what this skill does and when to use it")
	const describe = "add a line description: that says what the skill does and when to use it"
	rows := []row{
		call("003-input", "skill-1", one),
		call("003-validation-1", "nope", waveMissing("nope")),
		{id: "003-validation-2", tool: "Skill", args: `{}`, want: waveMissing("")},
		{id: "003-validation-2", tool: "Skill", args: `{"skill_name":5}`, want: waveInvalid("", "'skill_name' must be a string", "Give skill_name alone, as a string: the name of one of the available skills")},
		{id: "003-validation-2", tool: "Skill", args: `[]`, want: waveInvalid("", "they must be one JSON object", "Give skill_name alone, as a string: the name of one of the available skills")},
		{id: "003-validation-2", tool: "Skill", args: `{"skill_name":"skill-1","x":1}`, want: waveInvalid("skill-1", "unrecognized key 'x'; the only one is 'skill_name'", "Give skill_name alone, as a string: the name of one of the available skills")},
		call("003-validation-3", "Skill-1", waveMissing("Skill-1")),
		call("003-validation-3", "../../etc/passwd", waveMissing("../../etc/passwd")),
		call("003-validation-3", strings.Repeat("é", 200), waveMissing(strings.Repeat("é", 200))),
		call("003-output", "skill-1", one),
		call("003-success", "skill-1", one),
		call("003-success", "skill-2", two),
		call("003-error", "hidden", waveError("hidden", "Skill 'hidden' is not available for model invocation.", "")),
		call("003-load", "skill-1", one),
		call("003-personal", "skill-2", two),
		call("003-project", "skill-1", one),
		call("003-format", "skill-name", named),
		call("003-skill-2", "another", waveInvalid("another", "2:7: the folder is called 'folder', not 'another'", "rename the folder to 'another'")),
		call("003-skill-3", "Upper", waveInvalid("Upper", "2:7: 'Upper' is not made of a-z, 0-9 and single inner hyphens", "for example name: upper")),
		call("003-skill-3", strings.Repeat("a", 65), waveInvalid(strings.Repeat("a", 65), "2:7: name has 65 characters, over the limit of 64", "shorten the name")),
		call("003-skill-4", "nodesc", waveInvalid("nodesc", "2:1: description is missing", describe)),
		call("003-skill-4", "long", waveInvalid("long", "3:14: description has 1025 characters, over the limit of 1024", "move detail into the body")),
		call("003-skill-4", "empty-description", waveInvalid("empty-description", "3:14: description is empty", "say in one or two sentences what the skill does and when to use it")),
		call("003-skill-5", "latin", waveInvalid("latin", "3:14: the file is not valid UTF-8", "save the file as UTF-8")),
		call("003-access-2", "leaves", invoked(w.fill("Skill: leaves (Type: project)\nPath: $DIR/leaves\n\n"+md("leaves", "d")+"[out](../../etc/passwd)\n"), "leaves: d")),
		call("003-access-3", "skill-1", one),
		call("003-category-not-found", "nope", waveMissing("nope")),
		call("003-category-invalid", "Upper", waveInvalid("Upper", "2:7: 'Upper' is not made of a-z, 0-9 and single inner hyphens", "for example name: upper")),
		call("003-category-inaccessible", "linkout", waveError("linkout", "cannot be read: leads outside the skill's folder", "")),
		{id: "003-category-inaccessible", tool: "Skill", args: `{"skill_name":"denied"}`, denied: true, want: waveError("denied", "cannot be read: permission denied", "")},
		call("003-not-found", "nope", waveMissing("nope")),
		call("003-invalid", "Upper", waveInvalid("Upper", "2:7: 'Upper' is not made of a-z, 0-9 and single inner hyphens", "for example name: upper")),
	}
	run(t, w, "wave", rows)
}

// TestWaveMalformed checks that a colon that the lenient reader repairs is malformed in this
// contract, which requires valid YAML.
func TestWaveMalformed(t *testing.T) {
	w := waveWorld(t)
	w.ask(t, "wave", "Skill", `{"skill_name":"colon"}`, waveInvalid("colon", "3:20: an unquoted value contains a colon and a space", "put the value in quotes: description: '…'"))
}

// TestWaveRoots checks that skills in the contract's folders are found. ~/.wave/skills contains the
// personal skills, and {workdir}/.wave/skills those of the project.
func TestWaveRoots(t *testing.T) {
	w := newWorld(t, map[string]string{".wave/skills/mine/SKILL.md": md("mine", "Of the project"), ".git/HEAD": "x"},
		map[string]string{".wave/skills/own/SKILL.md": md("own", "Of the person")})
	var sources []catalog.Source
	for _, r := range dir.WellKnown(w.dirs[:1], w.dirs[1], nil) {
		sources = append(sources, dir.New(dir.Options{Root: r}))
	}
	w.catalog = catalog.New(sources, catalog.Options{})
	w.refresh()
	w.ask(t, "wave", "Skill", `{"skill_name":"mine"}`, invoked(w.fill("Skill: mine (Type: project)\nPath: $DIR/.wave/skills/mine\n\n"+md("mine", "Of the project")), "mine: Of the project"))
	w.ask(t, "wave", "Skill", `{"skill_name":"own"}`, invoked(w.fill("Skill: own (Type: personal)\nPath: $USER/.wave/skills/own\n\n"+md("own", "Of the person")), "own: Of the person"))
}

// TestWaveBuiltin checks that a skill in the binary belongs to no project.
func TestWaveBuiltin(t *testing.T) {
	w := newWorld(t, nil)
	w.catalog = catalog.New([]catalog.Source{builtin.New()}, catalog.Options{})
	w.refresh()
	v, err := w.catalog.View(t.Context())
	must(t, err)
	e := v.Named("engage")
	data, _, err := e.Read()
	must(t, err)
	w.ask(t, "wave", "Skill", `{"skill_name":"engage"}`, invoked("Skill: engage (Type: personal)\nPath: skill://engage\n\n"+string(data), display.Cut("engage: "+e.Description, 80)))
}

// failing is a source whose disk fails whenever a file is read.
type failing struct{ catalog.Source }

func (f failing) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := f.Source.Scan(ctx)
	scan.Bundles = slices.Clone(scan.Bundles)
	for i := range scan.Bundles {
		b := *scan.Bundles[i]
		b.FS, scan.Bundles[i] = failingFS{}, &b
	}
	return scan, err
}

type failingFS struct{}

func (failingFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
}

// TestSystemError checks that every contract reports an error of the system, in the contract's
// words.
func TestSystemError(t *testing.T) {
	w := newWorld(t, map[string]string{"x/SKILL.md": md("x", "d")})
	w.catalog = catalog.New([]catalog.Source{failing{sourceOf(skill.Root{Label: "claude-project", Scope: skill.ScopeProject, Dir: w.dirs[0], Shown: ".claude/skills"})}}, catalog.Options{})
	w.refresh()
	e := "Error invoking skill 'x': cannot be read: input/output error\n\nAvailable skills:\n(none)"
	w.ask(t, "wave", "Skill", `{"skill_name":"x"}`, answer{text: e, isError: true, object: `{"success":false,"content":` + quote(e) + `,"error":` + quote(e) + `}`})
	w.ask(t, "runner", "get_skill", `{"skill_name":"x"}`, docError("Error reading SKILL.MD for skill 'x': input/output error"))
	w.ask(t, "runner", "read_file_in_skill", `{"skill_name":"x","file_path":"a"}`, fileError("x", "a", "Cannot read file 'a': input/output error"))
	w.ask(t, "universal", "skill", `{"name":"x"}`, answer{text: "Skill 'x' not found.\n\nAvailable skills:\n(none)\n\nUse the exact skill name (case-insensitive) to load a skill.\n" +
		"'x' exists but was skipped: .claude/skills/x/SKILL.md: cannot be read: input/output error (see whether the disk and the file can be read at all)"})
}
