//go:build unix

package cli_test

import (
	"context"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// stream is a stream of notifications from a server.
type stream struct {
	mu   sync.Mutex
	said strings.Builder
	code int
	end  context.CancelFunc
}

func (s *stream) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

func (h *house) listen(method, body string, headers ...string) *stream {
	h.t.Helper()
	ctx, end := context.WithCancel(h.t.Context())
	h.t.Cleanup(end)
	req, err := http.NewRequestWithContext(ctx, method, h.base+"/mcp", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	for _, one := range headers {
		key, value, _ := strings.Cut(one, ": ")
		req.Header.Set(key, value)
	}
	resp, err := h.http.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	s := &stream{code: resp.StatusCode, end: end}
	go func() {
		defer resp.Body.Close()
		some := make([]byte, 4096)
		for {
			n, err := resp.Body.Read(some)
			s.mu.Lock()
			s.said.Write(some[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *stream) await(t *testing.T, text string) {
	t.Helper()
	testwait.Until(t, func() bool { return strings.Contains(s.text(), text) }, "it was never told of", text, s.text)
}

// TestMatrixStreams checks that a stream has no message about hidden skills, whether the client
// opens it or resumes it.
func TestMatrixStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for 6 s until changes are told")
	}
	t.Parallel()
	dir := t.TempDir()
	for _, files := range []map[string]string{openSkills, hiddenSkills} {
		for name, text := range files {
			put(t, filepath.Join(dir, name), text)
		}
	}
	tokens, hashes := map[string]string{}, map[string]string{}
	for _, name := range []string{"anna", "guest"} {
		tokens[name], hashes[name] = access.NewToken()
	}
	file := filepath.Join(t.TempDir(), "knack.yaml")
	put(t, file, "access:\n  default: deny\n  tokens:\n    - {hash: "+hashes["anna"]+", subject: anna}\n    - {hash: "+hashes["guest"]+", subject: guest}\n"+
		"  rules:\n    - {subjects: [anna], allow: [\"skill://**\"]}\n    - allow: [\"skill://open\", \"skill://twin\"]\n")
	base, _ := servingLog(t, "--dir", dir, "--config", file)
	h := &house{surfer: newSurfer(t, strings.TrimSuffix(base, "/mcp")), dir: dir, sessions: map[string]string{}}
	const both = `["skill://open/notes.md","skill://zqx/notes.md"]`
	modern := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"prober","version":"1"}},` +
		`"notifications":{"toolsListChanged":true,"resourcesListChanged":true,"promptsListChanged":true,"resourceSubscriptions":` + both + `}}}`
	streams := map[string]*stream{}
	legacy := func(name string, more ...string) []string {
		return append([]string{"Authorization: Bearer " + tokens[name], "Mcp-Protocol-Version: 2025-11-25", "Mcp-Session-Id: " + h.sessions[name]}, more...)
	}
	for _, name := range []string{"anna", "guest"} {
		r := role{name: name, headers: []string{"Authorization: Bearer " + tokens[name]}}
		h.enter(r)
		streams[name+" legacy"] = h.listen("GET", "", legacy(name)...)
		for _, uri := range []string{"skill://open/notes.md", "skill://zqx/notes.md"} {
			h.send(r, probe{path: "/mcp", method: "POST", era: "2025-11-25", body: `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"` + uri + `"}}`})
		}
		h.send(r, probe{path: "/mcp", method: "POST", era: "2025-11-25", body: `{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"debug"}}`})
		if name == "anna" { // the skipped skill is hidden from the guest
			streams["anna legacy"].await(t, "skill skipped: ")
		}
		streams[name+" modern"] = h.listen("POST", modern, "Authorization: Bearer "+tokens[name], "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen")
		streams[name+" modern"].await(t, "acknowledged")
	}
	// Change the lists first. The first event for anna is then about a list, and the others follow.
	// Write whole files, so that each is one change.
	replace(t, filepath.Join(dir, "zqx/SKILL.md"), "---\nname: zqx\ndescription: Other zqxword.\n---\n")
	put(t, filepath.Join(dir, "zqx-new/SKILL.md"), "no frontmatter zqxword\n")
	for _, era := range []string{" legacy", " modern"} {
		for _, list := range []string{"tools", "resources", "prompts"} {
			streams["anna"+era].await(t, list+"/list_changed")
		}
	}
	replace(t, filepath.Join(dir, "zqx/notes.md"), "other zqxword\n")
	for _, era := range []string{" legacy", " modern"} {
		streams["anna"+era].await(t, `skill://zqx/notes.md"`)
	}
	replace(t, filepath.Join(dir, "open/notes.md"), "other notes\n")
	for name, s := range streams {
		s.await(t, `"uri":"skill://open/notes.md"`)
		said := s.text()
		if strings.HasPrefix(name, "guest") {
			if name == "guest modern" { // the confirmation repeats the request
				_, said, _ = strings.Cut(said, "acknowledged")
				_, said, _ = strings.Cut(said, "\n")
			}
			if strings.Contains(said, "zqx") || strings.Contains(said, "list_changed") {
				t.Errorf("%s is told\n%s", name, said)
			}
		}
	}

	replace(t, filepath.Join(dir, "open/notes.md"), "yet other notes\n")
	for _, name := range []string{"anna legacy", "guest legacy"} {
		s := streams[name]
		testwait.Until(t, func() bool { return strings.Count(s.text(), `"uri":"skill://open/notes.md"`) == 2 }, name, "is told once:", s.text)
	}

	// Only the client that missed an event can replay it.
	ids := func(name string) []string {
		var all []string
		for _, found := range regexp.MustCompile(`(?m)^id: (\S+)$`).FindAllStringSubmatch(streams[name+" legacy"].text(), -1) {
			all = append(all, found[1])
		}
		if len(all) == 0 {
			t.Fatalf("%s's stream has no ids:\n%s", name, streams[name+" legacy"].text())
		}
		return all
	}
	annas, guests := ids("anna"), ids("guest")
	if len(guests) != 2 || len(annas) < 5 {
		t.Fatalf("events %q and %q", annas, guests)
	}
	for _, s := range streams {
		s.end()
	}
	// resume requests the events after the given one. It retries until the previous stream has
	// ended.
	resume := func(id string, headers []string) (s *stream) {
		testwait.Until(t, func() bool {
			s = h.listen("GET", "", append(headers, "Last-Event-Id: "+id)...)
			return s.code != http.StatusConflict
		}, "the end of the stream before")
		return s
	}
	again := resume(annas[0], legacy("anna"))
	again.await(t, `"uri":"skill://open/notes.md"`)
	if !strings.Contains(again.text(), "zqx") {
		t.Errorf("anna misses what she had:\n%s", again.text())
	}
	for _, id := range annas {
		s := resume(id, legacy("guest"))
		if id == guests[0] {
			s.await(t, `"uri":"skill://open/notes.md"`)
		} else {
			testwait.Within(20*time.Millisecond, func() bool { return strings.Contains(s.text(), "zqx") })
		}
		if strings.Contains(s.text(), "zqx") {
			t.Errorf("guest is told again from %s: %d\n%s", id, s.code, s.text())
		}
		s.end()
		thief := h.listen("GET", "", "Authorization: Bearer "+tokens["guest"], "Mcp-Protocol-Version: 2025-11-25", "Mcp-Session-Id: "+h.sessions["anna"], "Last-Event-Id: "+id)
		if thief.code == 200 {
			t.Errorf("another's session goes on: %s", thief.text())
		}
		thief.end()
	}
}
