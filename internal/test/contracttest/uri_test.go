//go:build unix

package contracttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const engage = "skill://claude-project/engage/SKILL.md"

func uriWorld(t testing.TB) *world {
	return newWorld(t, map[string]string{
		"engage/SKILL.md":   md("engage", "How to use <skills> & more"),
		"größe/SKILL.md":    md("größe", "d"),
		"hidden/SKILL.md":   "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n",
		"nodesc/SKILL.md":   "---\nname: nodesc\n---\n",
		"engage/other.md":   "other",
		"postgres/SKILL.md": md("postgres", "d"),
	})
}

func document(uri, text string) answer {
	return answer{text: "URI: " + uri + "\n\n" + text, object: `{"uri":` + quote(uri) + `,"mimeType":"text/markdown","text":` + quote(text) + `}`}
}

func unsupported(quoted string) answer {
	return answer{isError: true, text: "Unsupported skill URI: " + quoted + "\nUse list_skills to discover supported URIs. Currently supported: " +
		engage + ", skill://claude-project/gr%C3%B6%C3%9Fe/SKILL.md, skill://claude-project/postgres/SKILL.md"}
}

var noURI = answer{text: "Invalid URI. Provide a non-empty skill URI like skill://engage/SKILL.md.", isError: true}

func TestURI(t *testing.T) {
	w := uriWorld(t)
	get := func(id, uri string, want answer) row {
		return row{id: id, tool: "get_skill", args: `{"uri":` + quote(uri) + `}`, want: want}
	}
	whole := document(engage, md("engage", "How to use <skills> & more"))
	const noUser = " (a skill's URI has no user: leave out @ and the text before it, or write %40 where it belongs to a name)"
	extra := func(keys string) answer {
		return answer{isError: true, text: "Invalid arguments for tool get_skill: unrecognized " + keys + "; the only one is 'uri'"}
	}
	rows := []row{
		get("004-request-field", engage, whole),
		get("004-request-1", "", noURI),
		get("004-request-1", "   ", noURI),
		{id: "004-request-1", tool: "get_skill", args: "", want: noURI},
		{id: "004-request-1", tool: "get_skill", args: `{"uri":7}`, want: noURI},
		get("004-request-2", "https://example.com/SKILL.md", noURI),
		get("004-request-2", "skill://", noURI),
		get("004-request-2", "engage", noURI),
		get("004-request-3", "skill://nope/SKILL.md", unsupported("skill://nope/SKILL.md")),
		get("004-request-3", "skill://claude-project/nodesc/SKILL.md", unsupported("skill://claude-project/nodesc/SKILL.md")),
		get("004-request-3", "skill://claude-project/engage/other.md", unsupported("skill://claude-project/engage/other.md")),
		get("004-request-3", "skill://claude-project/engage/../engage/SKILL.md", unsupported("skill://claude-project/engage/../engage/SKILL.md")),
		get("004-request-3", "skill://claude-project/engage%2fSKILL.md", unsupported("skill://claude-project/engage%2fSKILL.md")),
		get("004-request-3", "skill://postgres", unsupported("skill://postgres")),
		get("004-request-3", "skill://claude-project/postgres", unsupported("skill://claude-project/postgres")),
		get("004-request-3", "skill://claude-project/engage/%2e%2e/x/SKILL.md", unsupported("skill://claude-project/engage/%2e%2e/x/SKILL.md")),
		get("004-request-3", "skill://a\x1b[2J\n/SKILL.md", unsupported(`skill://a\x1b[2J\n/SKILL.md`)),
		{id: "004-request-1", tool: "get_skill", args: `{"uri":null}`, want: noURI},
		get("004-request-role", " skill://engage/SKILL.md\n", whole),
		get("004-skill-uri", "SKILL://claude-project/engage/SKILL.md", whole),
		get("004-skill-uri", "skill://größe/SKILL.md", document("skill://claude-project/gr%C3%B6%C3%9Fe/SKILL.md", md("größe", "d"))),
		get("004-skill-uri", "skill://claude-project/%65ngage/SKILL.md", whole),
		get("004-skill-uri", "skill://Postgres/SKILL.md", document("skill://claude-project/postgres/SKILL.md", md("postgres", "d"))),
		get("004-skill-type", engage, whole),
		get("004-skill-text", engage, whole),
		get("004-skill-rule-1", "skill://engage/SKILL.md", whole),
		get("004-skill-rule-2", engage, whole),
		get("004-success-error-flag", engage, whole),
		get("004-success-content", engage, whole),
		get("004-success-structured", engage, whole),
		get("004-success-rule-1", engage, whole),
		get("004-success-rule-2", engage, whole),
		get("004-error-flag", "skill://nope/SKILL.md", unsupported("skill://nope/SKILL.md")),
		get("004-error-content", "skill://nope/SKILL.md", unsupported("skill://nope/SKILL.md")),
		get("004-error-rule-1", "x", noURI),
		get("004-error-rule-2", "skill://user:pw@nope/SKILL.md?token=ghp_CANARYcanary0123456789#x", unsupported("skill://nope/SKILL.md")),
		get("004-error-rule-2", "skill://ghp_CANARYcanary0123456789/SKILL.md", unsupported("skill://[redacted]/SKILL.md")),
		get("004-error-rule-2", "skill://user:CANARY@engage/SKILL.md", unsupported("skill://engage/SKILL.md"+noUser)),
		get("004-error-rule-2", "skill://user:p@CANARY@engage/SKILL.md", unsupported("skill://engage/SKILL.md"+noUser)),
		get("004-error-rule-2", engage+"?token=CANARY", unsupported(engage+" (a skill's URI has no query: leave out ? and the text after it, or write %3F where it belongs to a name)")),
		get("004-error-rule-2", engage+"#CANARY", unsupported(engage+" (a skill's URI has no fragment: leave out # and the text after it, or write %23 where it belongs to a name)")),
		get("004-error-rule-2", "skill://x/"+strings.Repeat("ab12", 13)+"/SKILL.md", unsupported("skill://x/[redacted]/SKILL.md")),
		get("004-error-rule-2", "skill://internationalization-of-everything-2/SKILL.md", unsupported("skill://internationalization-of-everything-2/SKILL.md")),
		get("004-relation-1", engage, whole),
		get("004-relation-2", engage, whole),
		get("004-relation-3", "skill://nope/SKILL.md", unsupported("skill://nope/SKILL.md")),
		get("004-state-1", "skill", noURI),
		get("004-state-2", "skill://nope/SKILL.md", unsupported("skill://nope/SKILL.md")),
		get("004-state-3", engage, whole),
		get("004-state-4", "skill://nope/SKILL.md", unsupported("skill://nope/SKILL.md")),
		{id: "004-secret-1", tool: "get_skill", args: `{"uri":"` + engage + `","token":"CANARY"}`, want: extra("key 'token'")},
		{id: "004-secret-1", tool: "get_skill", args: `{"uri":"` + engage + `","pat":"CANARY","credential":"CANARY"}`, want: extra("keys 'credential', 'pat'")},
		get("004-secret-2", engage, whole),
		get("004-secret-2", "skill://hidden/SKILL.md", answer{isError: true, text: "Skill 'skill://hidden/SKILL.md' is not available for model invocation."}),
		get("004-secret-2", "skill://"+strings.Repeat("é", 300), unsupported("skill://"+strings.Repeat("é", 124))),
	}
	run(t, w, "uri", rows)
}

func (w *world) resource(t *testing.T, uri string) (text string, meta map[string]any) {
	t.Helper()
	line := w.session("uri").request(t, "resources/read", `{"uri":`+quote(uri)+`}`)
	var m struct {
		Result struct {
			Meta     map[string]any `json:"_meta"`
			Contents []struct{ URI, MIMEType, Text string }
		}
		Error json.RawMessage
	}
	must(t, json.Unmarshal([]byte(line), &m))
	if m.Error != nil || len(m.Result.Contents) != 1 || m.Result.Contents[0].URI != uri || m.Result.Contents[0].MIMEType != "text/markdown" {
		t.Fatalf("resources/read %s: %s", uri, short(line))
	}
	return m.Result.Contents[0].Text, m.Result.Meta
}

// TestURIFallback checks the answers for a registered skill whose file cannot be read. The tool and
// the resource answer with the text last served, and mark it as a fallback.
func TestURIFallback(t *testing.T) {
	w := uriWorld(t)
	text := md("engage", "How to use <skills> & more")
	fallback := func(text string) answer {
		a := document(engage, text)
		a.meta = `{"availability":"fallback"}`
		return a
	}
	block := func() {
		at := filepath.Join(w.dirs[0], "engage")
		if os.Getuid() != 0 {
			must(t, os.Chmod(filepath.Join(at, "SKILL.md"), 0))
			return
		}
		t.Skip("modes are nothing to root; TestURIFallbackAsNobody runs this")
	}
	args := `{"uri":"` + engage + `"}`
	w.ask(t, "uri", "get_skill", args, document(engage, text))
	if got, meta := w.resource(t, engage); got != text || meta != nil {
		t.Errorf("%q, %v", got, meta)
	}
	block()
	w.ask(t, "uri", "get_skill", args, fallback(text))
	got, meta := w.resource(t, engage)
	if d := cmp.Diff(map[string]any{"availability": "fallback"}, meta); got != text || d != "" {
		t.Errorf("%q, %s", got, d)
	}
	w.refresh()
	w.ask(t, "uri", "get_skill", args, fallback(text))
	must(t, os.Chmod(filepath.Join(w.dirs[0], "engage/SKILL.md"), 0o644))
	w.refresh()
	w.ask(t, "uri", "get_skill", args, document(engage, text))
}

func TestURIFallbackAsNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the tests run as such a user already")
	}
	asNobody(t, "^TestURIFallback$")
}

// TestURIList checks that the listing of this set names every URI.
func TestURIList(t *testing.T) {
	w := uriWorld(t)
	const list = "- " + engage + " engage: How to use <skills> & more\n- skill://claude-project/gr%C3%B6%C3%9Fe/SKILL.md größe: d\n- skill://claude-project/postgres/SKILL.md postgres: d"
	w.ask(t, "uri", "list_skills", `{}`, answer{text: list, object: `{"skills":[{"uri":"` + engage + `","name":"engage","description":"How to use <skills> & more"},` +
		`{"uri":"skill://claude-project/gr%C3%B6%C3%9Fe/SKILL.md","name":"größe","description":"d"},{"uri":"skill://claude-project/postgres/SKILL.md","name":"postgres","description":"d"}]}`})
}

// TestURINamesTwenty checks that an error names twenty URIs and the number of the rest.
func TestURINamesTwenty(t *testing.T) {
	files := map[string]string{}
	var uris []string
	for i := range 23 {
		name := fmt.Sprintf("s%02d", i)
		files[name+"/SKILL.md"] = md(name, "d")
		uris = append(uris, "skill://claude-project/"+name+"/SKILL.md")
	}
	w := newWorld(t, files)
	refused := func(list string) answer {
		return answer{isError: true, text: "Unsupported skill URI: skill://nope/SKILL.md\nUse list_skills to discover supported URIs. Currently supported: " + list}
	}
	const nope = `{"uri":"skill://nope/SKILL.md"}`
	w.ask(t, "uri", "get_skill", nope, refused(strings.Join(uris[:20], ", ")+", and 3 more"))
	w.ask(t, "uri", "get_skill", `{"uri":"`+uris[22]+`"}`, document(uris[22], md("s22", "d")))
	for i := 20; i < 23; i++ {
		w.remove(0, fmt.Sprintf("s%02d", i))
	}
	w.refresh()
	w.ask(t, "uri", "get_skill", nope, refused(strings.Join(uris[:20], ", ")))
	w.remove(0, "")
	must(t, os.Mkdir(w.dirs[0], 0o755))
	w.refresh()
	w.ask(t, "uri", "get_skill", nope, refused("(none)"))
	w.ask(t, "uri", "list_skills", "", answer{text: "There are no skills.", object: `{"skills":[]}`})
}

// TestURILinks checks that the tool and the resource follow a link that leads back into its skill,
// and refuse a link to another skill.
func TestURILinks(t *testing.T) {
	w := newWorld(t, map[string]string{"a/real/SKILL.txt": md("a", "d"), "b/SKILL.md": md("b", "d"), "b/notes.md": "notes"})
	w.put(0, "a/SKILL.md", "->$DIR/a/real/SKILL.txt")
	w.put(0, "b/in.md", "->$DIR/b/notes.md")
	w.put(0, "b/out.md", "->$DIR/a/real/SKILL.txt")
	w.put(0, "c/SKILL.md", "->$DIR/b/SKILL.md")
	w.refresh()
	const uri = "skill://claude-project/a/SKILL.md"
	w.ask(t, "uri", "get_skill", `{"uri":"`+uri+`"}`, document(uri, md("a", "d")))
	w.ask(t, "universal", "skill", `{"name":"a"}`, loading("a", "$DIR/a", md("a", "d")))
	w.ask(t, "wave", "Skill", `{"skill_name":"a"}`, invoked(w.fill("Skill: a (Type: project)\nPath: $DIR/a\n\n"+md("a", "d")), "a: d"))
	if got, _ := w.resource(t, uri); got != md("a", "d") {
		t.Errorf("%q", got)
	}
	if got, _ := w.resource(t, "skill://claude-project/b/in.md"); got != "notes" {
		t.Errorf("%q", got)
	}
	if line := w.session("uri").request(t, "resources/read", `{"uri":"skill://claude-project/b/out.md"}`); !strings.Contains(line, `"error":{`) || strings.Contains(line, "name: a") {
		t.Error(line)
	}
	const list = "- a: d\n- b: d"
	e := "Error invoking skill 'c': cannot be read: leads outside the skill's folder\n\nAvailable skills:\n" + list
	w.ask(t, "wave", "Skill", `{"skill_name":"c"}`, answer{text: e, isError: true, object: `{"success":false,"content":` + quote(e) + `,"error":` + quote(e) + `}`})
}
