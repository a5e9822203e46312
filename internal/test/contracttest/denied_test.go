//go:build unix

package contracttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// deny removes all permissions of a file or folder. allow restores them.
func (w *world) deny(name string) (allow func()) {
	w.t.Helper()
	at := filepath.Join(w.dirs[0], filepath.FromSlash(name))
	was, err := os.Stat(at)
	must(w.t, err)
	must(w.t, os.Chmod(at, 0))
	allow = func() { must(w.t, os.Chmod(at, was.Mode().Perm())) }
	w.t.Cleanup(func() { _ = os.Chmod(at, was.Mode().Perm()) }) // so that the test can remove the folder
	return allow
}

// TestDeniedAsNobody runs these tests as the user nobody, since permissions do not restrict root.
func TestDeniedAsNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("the same tests once more, as another user")
	}
	if os.Getuid() != 0 {
		t.Skip("the tests run as such a user already")
	}
	asNobody(t, "^Test(DeniedFolder|DeniedLater|Fallback)$")
}

func notRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() == 0 {
		t.Skip("modes are nothing to root; TestDeniedAsNobody runs this")
	}
}

const (
	folderDenied = "the folder cannot be read: permission denied"
	folderFix    = "give yourself permission to read it, or move it out of the root"
	fileDenied   = "cannot be read: permission denied"
	fileFix      = "let the user who runs knack read the file and its folder"
)

// askDenied calls each contract's tools for a skill "shut" whose folder or SKILL.md is denied,
// beside a skill "open".
func (w *world) askDenied(t *testing.T, place, why, fix string) {
	t.Helper()
	const list = "- open: d"
	w.ask(t, "runner", "get_skill", `{"skill_name":"shut"}`, docError("Permission denied reading SKILL.MD for skill 'shut'"))
	for path, why := range map[string]string{
		"SKILL.md":         "Cannot read file 'SKILL.md': permission denied",
		"../open/SKILL.md": "Path traversal detected: cannot access files outside skill folder", "": "Invalid file path: must not be empty",
	} {
		w.ask(t, "runner", "read_file_in_skill", `{"skill_name":"shut","file_path":`+quote(path)+`}`, fileError("shut", path, why))
		if path != "" { // in the default set, "" is the folder itself
			w.ask(t, "default", "read_file_in_skill", `{"skill_name":"shut","file_path":`+quote(path)+`}`, answer{text: "ERROR: " + why, isError: true})
		}
	}
	for _, name := range []string{"shut", "SHUT"} {
		w.ask(t, "universal", "skill", `{"name":"`+name+`"}`, answer{text: "Skill '" + name + "' not found.\n\nAvailable skills:\n" + list +
			"\n\nUse the exact skill name (case-insensitive) to load a skill.\n'shut' exists but was skipped: " + place + ": " + why + " (" + fix + ")"})
	}
	e := "Error invoking skill 'shut': " + why + "\n\nAvailable skills:\n" + list
	w.ask(t, "wave", "Skill", `{"skill_name":"shut"}`, answer{text: e, isError: true, object: `{"success":false,"content":` + quote(e) + `,"error":` + quote(e) + `}`})
}

// TestDeniedFolder checks the answers about a folder that was denied before the first scan.
func TestDeniedFolder(t *testing.T) {
	notRoot(t)
	w := newWorld(t, map[string]string{"open/SKILL.md": md("open", "d"), "shut/SKILL.md": md("shut", "d"), "deep/er/SKILL.md": md("er", "d"),
		"open/within/SKILL.md": md("within", "d")})
	w.remove(0, "deep/er/SKILL.md")
	w.put(0, "deep/er/notes.md", "x")
	w.deny("shut")
	w.deny("deep/er")
	w.remove(0, "open/within/SKILL.md")
	w.deny("open/within")
	// A new catalogue, which has never read the denied folders.
	other := newWorldAt(t, w.dirs...)
	other.askDenied(t, ".claude/skills/shut", folderDenied, folderFix)
	other.ask(t, "runner", "get_skill", `{"skill_name":"er"}`, docError("Permission denied reading SKILL.MD for skill 'er'"))
	other.ask(t, "runner", "get_skill", `{"skill_name":"within"}`, noSkill("within")) // a folder inside a skill
	other.ask(t, "runner", "get_skill", `{"skill_name":"Shut"}`, noSkill("Shut"))
	var log bytes.Buffer
	c := catalog.New([]catalog.Source{sourceOf(skill.Root{Label: "claude-project", Dir: w.dirs[0]})}, catalog.Options{Log: logger(&log)})
	must(t, c.Refresh(t.Context()))
	must(t, c.Refresh(t.Context())) // the second refresh must not log the same again
	logged := ""
	for _, folder := range []string{"deep/er", "open/within", "shut"} {
		logged += "level=WARN msg=\"entry skipped\" at=claude-project:" + folder + " reason=\"" + folderDenied + "\" fix=\"" + folderFix + "\"\n"
	}
	if d := cmp.Diff(logged, log.String()); d != "" {
		t.Errorf("the log -want +got:\n%s", d)
	}
	other.ask(t, "uri", "get_skill", `{"uri":"skill://claude-project/shut/SKILL.md"}`, // the skill was never registered
		answer{isError: true, text: "Unsupported skill URI: skill://claude-project/shut/SKILL.md\nUse list_skills to discover supported URIs. Currently supported: skill://claude-project/open/SKILL.md"})
}

// TestDeniedLater checks the answers about a skill whose folder or file is denied after a scan
// found it, before and after the next refresh.
func TestDeniedLater(t *testing.T) {
	notRoot(t)
	for _, denied := range []string{"shut", "shut/SKILL.md"} {
		t.Run(denied, func(t *testing.T) {
			// The synctest bubble stops the clock, because a second after its last look the
			// catalogue looks again for a missing skill.
			synctest.Test(t, func(t *testing.T) {
				for _, set := range []string{"runner", "universal", "wave"} { // the first tool call refreshes the catalogue, which would change the answers to the others
					w := newWorld(t, map[string]string{"open/SKILL.md": md("open", "d"), "shut/SKILL.md": md("shut", "d"), "shut/notes.md": "notes"})
					allow := w.deny(denied)
					switch set {
					case "runner":
						w.ask(t, set, "get_skill", `{"skill_name":"shut"}`, docError("Permission denied reading SKILL.MD for skill 'shut'"))
						w.ask(t, set, "read_file_in_skill", `{"skill_name":"shut","file_path":"SKILL.md"}`, fileError("shut", "SKILL.md", "Cannot read file 'SKILL.md': permission denied"))
					default:
						w.askDenied(t, ".claude/skills/shut/SKILL.md", fileDenied, fileFix)
					}
					w.refresh()
					notes, cannot := `{"skill_name":"shut","file_path":"notes.md"}`, fileError("shut", "notes.md", "Cannot read file 'notes.md': permission denied")
					if denied == "shut" {
						w.askDenied(t, ".claude/skills/shut", folderDenied, folderFix)
						w.ask(t, "runner", "read_file_in_skill", notes, cannot)
					} else {
						w.askDenied(t, ".claude/skills/shut/SKILL.md", fileDenied, fileFix)
						w.ask(t, "runner", "read_file_in_skill", notes, utf8File("shut", "notes.md", "notes"))
					}
					w.ask(t, "default", "read_file_in_skill", notes, answer{text: cannot.text, isError: true}) // the tool reads no file of a skill that is not served
					allow()
					w.ask(t, "runner", "get_skill", `{"skill_name":"shut"}`, doc("shut", md("shut", "d")))
					w.refresh()
					w.ask(t, "universal", "skill", `{"name":"shut"}`, loading("shut", "$DIR/shut", md("shut", "d")))
				}
			})
		})
	}
}

// TestFallback checks that contract 004 answers for a registered skill even if access is denied.
// The answer is the text last served, or else a message. The test calls the tool and the resource,
// before and after the next refresh, by URI and by name.
func TestFallback(t *testing.T) {
	notRoot(t)
	const uri = "skill://claude-project/shut/SKILL.md"
	text, lost := md("shut", "d"), "# shut\n\nSkill content is temporarily unavailable.\nURI: "+uri
	for _, denied := range []string{"shut", "shut/SKILL.md", "group/deep"} {
		for _, served := range []string{"never", "by the tool", "as a resource"} {
			t.Run(denied+" "+served, func(t *testing.T) {
				w := newWorld(t, map[string]string{"open/SKILL.md": md("open", "d"), "shut/SKILL.md": text, "group/deep/shut2/SKILL.md": md("shut2", "d")})
				uri, text, lost, bare := uri, text, lost, "skill://shut/SKILL.md"
				if denied == "group/deep" { // a folder above the skill
					uri, text, bare = "skill://claude-project/group/deep/shut2/SKILL.md", md("shut2", "d"), "skill://shut2/SKILL.md"
					lost = "# shut2\n\nSkill content is temporarily unavailable.\nURI: " + uri
				}
				last := lost
				switch served {
				case "by the tool":
					w.ask(t, "uri", "get_skill", `{"uri":"`+uri+`"}`, document(uri, text))
					last = text
				case "as a resource":
					if got, meta := w.resource(t, uri); got != text || meta != nil {
						t.Errorf("%q, %v", got, meta)
					}
				}
				allow := w.deny(denied)
				for _, look := range []string{"before", "after", "after that"} {
					for _, asked := range []string{uri, bare} {
						got, meta := w.resource(t, uri)
						if served == "as a resource" {
							last = text
						}
						if d := cmp.Diff(map[string]any{"availability": "fallback"}, meta); got != last || d != "" {
							t.Errorf("%s a look: the resource is %q, %s", look, got, d)
						}
						a := document(uri, last)
						a.meta = `{"availability":"fallback"}`
						w.askMCP(t, "uri", "get_skill", `{"uri":"`+asked+`"}`, a)
						if served == "as a resource" {
							continue // only the server has served the skill; the other doors have a host of their own
						}
						w.askTool(t, "uri", "get_skill", `{"uri":"`+asked+`"}`, a)
						w.askFunction(t, "uri", "get_skill", `{"uri":"`+asked+`"}`, a)
					}
					w.refresh()
				}
				allow()
				w.refresh()
				w.ask(t, "uri", "get_skill", `{"uri":"`+uri+`"}`, document(uri, text))
				// A deleted skill is no longer registered, and has no fallback.
				w.deny(denied)
				w.refresh()
				must(t, os.Chmod(filepath.Join(w.dirs[0], denied), 0o755))
				w.remove(0, denied)
				w.refresh()
				line := w.session("uri").request(t, "resources/read", `{"uri":`+quote(uri)+`}`)
				var m struct{ Error json.RawMessage }
				must(t, json.Unmarshal([]byte(line), &m))
				if m.Error == nil {
					t.Errorf("a skill that is gone answers %s", line)
				}
				if _, err := os.Stat(filepath.Join(w.dirs[0], denied)); !os.IsNotExist(err) {
					t.Errorf("%v, want %v", err, fs.ErrNotExist)
				}
			})
		}
	}
}

// TestFixedAtOnce checks that every contract immediately reads a skill that has become readable
// again.
func TestFixedAtOnce(t *testing.T) {
	const uri = "skill://claude-project/a/SKILL.md"
	text := md("a", "d")
	for set, ask := range map[string]struct {
		tool, args string
		want       func(w *world) answer
	}{
		"runner":    {"get_skill", `{"skill_name":"a"}`, func(*world) answer { return doc("a", text) }},
		"universal": {"skill", `{"name":"a"}`, func(*world) answer { return loading("a", "$DIR/a", text) }},
		"wave": {"Skill", `{"skill_name":"a"}`, func(w *world) answer {
			return invoked(w.fill("Skill: a (Type: project)\nPath: $DIR/a\n\n"+text), "a: d")
		}},
		"uri": {"get_skill", `{"uri":"` + uri + `"}`, func(*world) answer { return document(uri, text) }},
	} {
		for _, broken := range []string{"a/SKILL.md/x", "a/SKILL.md"} { // a folder in place of the file, or a file without frontmatter
			t.Run(set+" "+broken, func(t *testing.T) {
				w := newWorld(t, map[string]string{"a/SKILL.md": text})
				w.remove(0, "a/SKILL.md")
				w.put(0, broken, "x")
				w.refresh()
				for _, tl := range toolsOf(t, set) {
					if tl.Name == ask.tool {
						_, err := tl.Call(t.Context(), w.host(), []byte(ask.args))
						must(t, err)
					}
				}
				w.remove(0, "a/SKILL.md")
				w.put(0, "a/SKILL.md", text)
				w.ask(t, set, ask.tool, ask.args, ask.want(w))
			})
		}
	}
}

// TestFallbackUnreadable checks that contract 004 falls back for every other obstacle to reading
// the file of a registered skill, too. It does not fall back if the file is a link out of the
// skill, is missing, or belongs to no skill.
func TestFallbackUnreadable(t *testing.T) {
	const uri = "skill://claude-project/a/SKILL.md"
	text, lost := md("a", "d"), "# a\n\nSkill content is temporarily unavailable.\nURI: "+uri
	refused := answer{isError: true, text: "Unsupported skill URI: " + uri + "\nUse list_skills to discover supported URIs. Currently supported: skill://claude-project/open/SKILL.md"}
	for what, tt := range map[string]struct {
		put   func(t *testing.T, w *world)
		falls bool
	}{
		"a pipe":        {func(t *testing.T, w *world) { must(t, syscall.Mkfifo(filepath.Join(w.dirs[0], "a/SKILL.md"), 0o644)) }, true},
		"a folder":      {func(t *testing.T, w *world) { w.put(0, "a/SKILL.md/x", "x") }, true},
		"no UTF-8":      {func(t *testing.T, w *world) { w.put(0, "a/SKILL.md", text+"\xff") }, true},
		"too large":     {func(t *testing.T, w *world) { w.put(0, "a/SKILL.md", text+oneMB) }, true},
		"a link out":    {func(t *testing.T, w *world) { w.put(0, "a/SKILL.md", "->../open/SKILL.md") }, false},
		"nothing":       {func(*testing.T, *world) {}, false},
		"no skill":      {func(t *testing.T, w *world) { w.put(0, "a/SKILL.md", "text") }, false},
		"a broken name": {func(t *testing.T, w *world) { w.put(0, "a/SKILL.md", "---\nname: [\n---\n") }, false},
	} {
		for _, served := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, served %v", what, served), func(t *testing.T) {
				w := newWorld(t, map[string]string{"a/SKILL.md": text, "a/notes.md": "n", "open/SKILL.md": md("open", "d")})
				want := document(uri, lost)
				if served {
					want = document(uri, text)
					w.ask(t, "uri", "get_skill", `{"uri":"`+uri+`"}`, want)
				}
				want.meta = `{"availability":"fallback"}`
				if !tt.falls {
					want = refused
				}
				w.remove(0, "a/SKILL.md")
				tt.put(t, w)
				for range 2 {
					w.ask(t, "uri", "get_skill", `{"uri":"`+uri+`"}`, want)
					if tt.falls {
						w.ask(t, "uri", "get_skill", `{"uri":"skill://a/SKILL.md"}`, want)
						last := lost
						if served {
							last = text
						}
						if got, meta := w.resource(t, uri); got != last || meta["availability"] != "fallback" {
							t.Errorf("the resource is %q, %v", got, meta)
						}
					}
					w.refresh()
				}
				w.remove(0, "a/SKILL.md")
				w.put(0, "a/SKILL.md", text)
				w.refresh()
				w.ask(t, "uri", "get_skill", `{"uri":"`+uri+`"}`, document(uri, text))
			})
		}
	}
}

// asNobody runs tests of this package in a process of the user nobody.
func asNobody(t *testing.T, tests string) {
	t.Helper()
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip("cannot run the tests as somebody else: ", err)
	}
	scratch := t.TempDir()
	for at := scratch; strings.Contains(at, t.Name()); at = filepath.Dir(at) {
		must(t, os.Chmod(at, 0o777))
	}
	exe := filepath.Join(scratch, "test")
	must(t, os.WriteFile(exe, binary, 0o755))
	cmd := exec.CommandContext(t.Context(), exe, "-test.run="+tests, "-test.v=true")
	cmd.Dir = scratch
	cmd.Env = []string{"TMPDIR=" + scratch}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	out = regexp.MustCompile(`(?m)^=== RUN .*\n`).ReplaceAll(out, nil)
	if err != nil || !strings.Contains(string(out), "--- PASS") || strings.Contains(string(out), "--- SKIP") {
		t.Errorf("%v\n%s", err, short(string(out)))
	}
}
