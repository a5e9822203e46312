package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// liar is a skills server with arbitrary answers.
type liar struct {
	list  func(n int, cursor string) (entries []any, next string) // returns a page of the n-th list
	text  func(n int, uri string) string                          // returns a file at the n-th read; nil: as listed
	lists atomic.Int32
	reads atomic.Int32
}

// good is a skill that every liar has.
const good = "---\nname: good\ndescription: Use good.\n---\nGood.\n"

// entryOf returns the list entry of a skill with the given files.
func entryOf(path string, files map[string]string) map[string]any {
	name := path[strings.LastIndexByte(path, '/')+1:]
	resources := []any{}
	for at, text := range files {
		resources = append(resources, map[string]any{"uri": "skill://" + path + "/" + at, "digest": skill.DigestOf([]byte(text)).String(), "size": len(text)})
	}
	return map[string]any{"uri": "skill://" + path + "/SKILL.md", "frontmatter": map[string]any{"name": name, "description": "Use " + name + "."}, "resources": resources}
}

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		ID     json.RawMessage
		Method string
		Params struct{ Cursor, URI string }
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&call) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if call.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var result any
	switch call.Method {
	case "initialize":
		result = map[string]any{"protocolVersion": "2025-11-25", "serverInfo": map[string]any{"name": "liar", "version": "1"}, "capabilities": map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/skills": map[string]any{}}}}
	case "skills/list":
		n := int(l.lists.Load())
		if call.Params.Cursor == "" {
			n = int(l.lists.Add(1))
		}
		entries, next := l.list(n, call.Params.Cursor)
		page := map[string]any{"skills": entries}
		if next != "" {
			page["nextCursor"] = next
		}
		result = page
	case "resources/read":
		text := good
		if !strings.HasSuffix(call.Params.URI, "good/SKILL.md") {
			text = l.text(int(l.reads.Add(1)), call.Params.URI)
		}
		result = map[string]any{"contents": []any{map[string]any{"uri": call.Params.URI, "text": text}}}
	}
	w.Header().Set("Content-Type", "application/json")
	if result == nil {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, call.ID)
		return
	}
	data, _ := json.Marshal(result)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, data)
}

// TestHostileUpstreams checks a server that follows servers with false answers, all at the same
// time. It must serve the person's own skill and the good skill of each server. Doctor must report
// the reason for each other skill.
func TestHostileUpstreams(t *testing.T) {
	if testing.Short() {
		t.Skip("follows ten servers")
	}
	t.Parallel()
	sound := func() map[string]any { return entryOf("good", map[string]string{"SKILL.md": good}) }
	main := func(name string) string { return "---\nname: " + name + "\ndescription: Use " + name + ".\n---\n" }
	with := func(entries ...any) func(int, string) ([]any, string) {
		return func(int, string) ([]any, string) { return append([]any{sound()}, entries...), "" }
	}
	big := "---\nname: big\ndescription: Use big.\nx: " + strings.Repeat("a", 12<<20) + "\n---\n"
	bigEntry := entryOf("big", map[string]string{"SKILL.md": big})
	bigEntry["frontmatter"].(map[string]any)["x"] = "a"
	wrong := sound()
	wrong["uri"], wrong["resources"] = "skill://wrong/SKILL.md", "none"
	cases := map[string]*struct {
		liar
		lacks bool   // no skill of it is served
		says  string // the text in doctor --all
	}{
		"million": {liar{list: func(_ int, cursor string) (entries []any, next string) {
			n, _ := strconv.Atoi(cursor)
			for i := range 5000 {
				entries = append(entries, map[string]any{"uri": fmt.Sprintf("skill://s-%d/SKILL.md", n+i), "resources": []any{}})
			}
			return entries, strconv.Itoa(n + 5000)
		}}, true, "the server lists more than 100,000 skills"},
		"circle":  {liar{list: func(int, string) ([]any, string) { return []any{sound()}, "x" }}, true, "repeats a cursor"},
		"empty":   {liar{list: func(int, string) ([]any, string) { return []any{}, "" }}, true, "has no skills"},
		"types":   {liar{list: with(7, nil, []any{}, wrong)}, false, "an entry is not of its type"},
		"above":   {liar{list: with(entryOf("../up", map[string]string{"SKILL.md": "x"}), entryOf("a/%2e%2e/b", map[string]string{"SKILL.md": "x"}), entryOf("above", map[string]string{"SKILL.md": main("above"), "../out": "x"}))}, false, "which is not a file of the skill"},
		"encoded": {liar{list: with(entryOf("encoded", map[string]string{"SKILL.md": main("encoded"), "a/%2e%2e/%2e%2e/out": "x"}))}, false, "which is not a file of the skill"},
		"twins":   {liar{list: with(entryOf("twins", map[string]string{"SKILL.md": main("twins"), "caf\u00e9": "x", "cafe\u0301": "x"}))}, false, "in Unicode's normal form"},
		"large":   {liar{list: with(bigEntry), text: func(int, string) string { return big }}, false, "acme/big/SKILL.md"},
		"changes": {liar{list: with(entryOf("changes", map[string]string{"SKILL.md": main("changes")})), text: func(n int, _ string) string { return main("changes") + strconv.Itoa(n) }}, false, "not the one of its own list"},
		"other": {liar{list: func(n int, _ string) ([]any, string) {
			name := "other-" + strconv.Itoa(n)
			return []any{sound(), entryOf(name, map[string]string{"SKILL.md": main(name)})}, ""
		}, text: func(_ int, uri string) string { return main(strings.Split(uri, "/")[2]) }}, false, "other-"},
		"flaps": {liar{list: func(n int, _ string) ([]any, string) {
			if n%2 == 0 {
				return []any{}, ""
			}
			return []any{sound()}, ""
		}}, false, ""},
	}
	if !testwait.SecondLane() { // the lists that take seconds to read
		delete(cases, "million")
		delete(cases, "large")
	}
	settings := "poll: 1s\nsources:\n"
	for name, c := range cases {
		server := httptest.NewServer(&c.liar)
		t.Cleanup(server.Close)
		settings += "  - {name: " + name + ", from: 'mcp:" + server.URL + "/mcp'}\n"
	}
	p := newPerson(t, settings)
	p.serve()
	if answer := p.load("own"); !strings.Contains(answer, "Own.") {
		t.Error(answer)
	}
	for name, c := range cases {
		if !c.lacks {
			p.loads(name+":good", "Good.")
		}
		p.reports("doctor --all", strings.ReplaceAll(c.says, "acme", name))
	}
	for name, c := range cases { // all of them were polled by now
		if answer := p.load(name + ":good"); strings.Contains(answer, "Good.") == c.lacks {
			t.Errorf("%s: %s", name, answer)
		}
	}
}
