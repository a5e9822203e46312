package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
)

// grow waits until the files are old enough for their stamps to prove something,
// and the catalogue has read them so.
func grow(t testing.TB, w *site) {
	t.Helper()
	time.Sleep(skill.StampRacy + 100*time.Millisecond)
	if err := w.catalog.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// told is an answer, whole: its status, its kind, and its message.
func told(t testing.TB, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	kind := resp.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "text/event-stream") {
		var messages [][]byte
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if d, ok := bytes.CutPrefix(line, []byte("data: ")); ok && len(d) > 0 {
				messages = append(messages, d)
			}
		}
		data = bytes.Join(messages, []byte("\n"))
	}
	return fmt.Sprintf("%s %s %q %s", resp.Status, kind, resp.Header["Cache-Control"], data)
}

// requests are calls of every method whose answers are kept, good and bad, and of
// some whose are not.
func requests() []struct {
	method string
	params string
} {
	type r = struct{ method, params string }
	all := []r{
		{"tools/call", `{"name":"skill","arguments":{"name":"a-first"}}`},
		{"tools/call", `{"name":"skill","arguments":{"command":"A-First"}}`},
		{"tools/call", `{"arguments":{"name":"d-types"},"name":"skill"}`},
		{"tools/call", `{"name":"skill","arguments":{"name":"skill://a-first/SKILL.md"}}`},
		{"tools/call", `{"name":"skill","arguments":{"name":"nobody"}}`},
		{"tools/call", `{"name":"skill","arguments":{"name":""}}`},
		{"tools/call", `{"name":"skill","arguments":{"name":1}}`},
		{"tools/call", `{"name":"skill","arguments":{"name":"h-hidden"}}`},
		{"tools/call", `{"name":"skill"}`},
		{"tools/call", `{"name":"nothing","arguments":{}}`},
		{"tools/call", `{"name":"read_file_in_skill","arguments":{"skill_name":"a-first","file_path":"scripts/run.sh"}}`},
		{"tools/call", `{"name":"read_file_in_skill","arguments":{"skill_name":"a-first","file_path":"scripts"}}`},
		{"tools/call", `{"name":"read_file_in_skill","arguments":{"skill_name":"a-first","file_path":"../b-crlf/SKILL.md"}}`},
		{"tools/call", `{"name":"find_skills","arguments":{"query":"types"}}`},
		{"tools/list", `{}`}, {"resources/list", `{}`}, {"skills/list", `{}`}, {"prompts/list", `{}`}, {"ping", `{}`}, {"no/such", `{}`},
	}
	for _, uri := range []string{
		"skill://a-first/SKILL.md", "skill://a-first/scripts/run.sh", "skill://a-first/data.bin", "skill://a-first/empty-file.txt", "skill://a-first/inner/SKILL.md",
		"skill://b-crlf/SKILL.md", "skill://c-bom/SKILL.md", "skill://d-types/SKILL.md", "skill://i-lower/SKILL.md", "skill://p-q/SKILL.md", "skill://f-bad/SKILL.md",
		"skill://a-first/%C3%BCn%C3%AF%20%E2%98%83.md", "skill://nobody/SKILL.md", "skill://a-first", "skill://a-first/.env", "skill://a-first/SKILL.md?x", "file:///etc/passwd", "", "\\ud800",
	} {
		for _, method := range []string{"resources/read", "skills/get", "resources/directory/read"} {
			all = append(all, r{method, `{"uri":"` + uri + `"}`})
		}
	}
	return append(all, r{"resources/read", `{}`}, r{"resources/read", `[]`}, r{"resources/read", `{"uri":1}`}, r{"skills/get", `null`}, r{"tools/call", `"x"`})
}

// body puts a request together by hand, so that nothing of it is mended.
func (c *client) bodyOf(id, method, params string) string {
	if c.era >= modern && strings.HasPrefix(params, "{") {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + c.era + `","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
		if params = params[1:]; params != "}" {
			meta += ","
		}
		params = "{" + meta + params
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
}

// Whatever is asked a second and third time, with the same id or another, is
// answered as the SDK answered it the first time, byte for byte.
func TestAnswersAgain(t *testing.T) {
	w := start(t, setting{})
	grow(t, w)
	eachEra(t, w, func(t *testing.T, c *client) {
		w.server.Forget()
		before, again := w.server.Recalled(), 0
		for _, r := range requests() {
			first := told(t, c.post(c.bodyOf("7", r.method, r.params)))
			for _, id := range []string{"7", "123456", `"a-b_C9"`, `"ü"`, "7.0", "-3", "0"} {
				n := w.server.Recalled()
				got := told(t, c.post(c.bodyOf(id, r.method, r.params)))
				want := strings.Replace(first, `"id":7`, `"id":`+strings.Replace(id, "7.0", "7", 1), 1)
				if got != want {
					t.Errorf("%s %s, id %s:\n got %s\nwant %s", r.method, r.params, id, got, want)
				}
				again += int(w.server.Recalled() - n)
			}
		}
		if n := w.server.Recalled() - before; n < 60 || int(n) != again {
			t.Errorf("%d answers were given again; want those of at least 15 requests, four times each", n)
		}
	})
}

// Each call is observed once, whether the SDK answered it or memory did, and with
// the same words.
func TestEachUseIsObserved(t *testing.T) {
	var mu sync.Mutex
	var uses []mcpserver.Use
	w := start(t, setting{observe: func(u mcpserver.Use) {
		mu.Lock()
		defer mu.Unlock()
		uses = append(uses, u)
	}})
	grow(t, w)
	eachEra(t, w, func(t *testing.T, c *client) {
		w.server.Forget()
		for _, r := range []struct{ method, params, name, uri string }{
			{"tools/call", `{"name":"skill","arguments":{"name":"a-first"}}`, "skill", ""},
			{"resources/read", `{"uri":"skill://a-first/scripts/run.sh"}`, "", "skill://a-first/scripts/run.sh"},
		} {
			mu.Lock()
			uses = nil
			mu.Unlock()
			before := w.server.Recalled()
			for id := range 3 {
				told(t, c.post(c.bodyOf(strconv.Itoa(id), r.method, r.params)))
			}
			mu.Lock()
			got := uses
			mu.Unlock()
			if n := w.server.Recalled() - before; len(got) != 3 || n != 2 {
				t.Fatalf("%s: %d of 3 calls were observed, and %d answered again; want 3 and 2", r.params, len(got), n)
			}
			for _, u := range got {
				if u.Method != r.method || u.Name != r.name || u.URI != r.uri || u.Client != got[0].Client || u.View.Version != got[0].View.Version || string(u.Arguments) != string(got[0].Arguments) {
					t.Errorf("%s: observed %+v", r.params, u)
				}
			}
		}
	})
}

// What changed on disk is answered as it is now, however often it was asked for.
func TestAnswersAnew(t *testing.T) {
	for name, c := range map[string]struct {
		method, params string
		change         func(root string) error
		want           string // in the answer, afterwards
	}{
		"the text of a skill": {"tools/call", `{"name":"skill","arguments":{"name":"a-first"}}`, func(root string) error {
			return os.WriteFile(filepath.Join(root, "a-first/SKILL.md"), []byte(skillText("a-first", "Has all.")+"newer"), 0o644)
		}, "newer"},
		"a file is rewritten with its size and time": {"resources/read", `{"uri":"skill://a-first/templates/deep/t.md"}`, func(root string) error {
			at := filepath.Join(root, "a-first/templates/deep/t.md")
			fi, err := os.Stat(at)
			if err == nil {
				err = os.WriteFile(at, []byte("Z"), 0o644)
			}
			if err == nil {
				err = os.Chtimes(at, fi.ModTime(), fi.ModTime())
			}
			return err
		}, `"text":"Z"`},
		"a file comes into an empty folder": {"skills/get", `{"uri":"skill://a-first/SKILL.md"}`, func(root string) error {
			return os.WriteFile(filepath.Join(root, "a-first/empty/came.txt"), []byte("x"), 0o644)
		}, "came.txt"},
		"a file goes": {"resources/read", `{"uri":"skill://a-first/crlf.txt"}`, func(root string) error {
			return os.Remove(filepath.Join(root, "a-first/crlf.txt"))
		}, "no such file"},
		"a link out of the skill takes a file's place": {"resources/read", `{"uri":"skill://a-first/crlf.txt"}`, func(root string) error {
			at := filepath.Join(root, "a-first/crlf.txt")
			if err := os.Remove(at); err != nil {
				return err
			}
			return os.Symlink("../b-crlf/SKILL.md", at)
		}, "no such file"},
		"a link takes a folder's place": {"resources/read", `{"uri":"skill://a-first/templates/deep/t.md"}`, func(root string) error {
			if err := os.Rename(filepath.Join(root, "a-first/templates"), filepath.Join(root, "elsewhere")); err != nil {
				return err
			}
			return os.Symlink("../elsewhere", filepath.Join(root, "a-first/templates"))
		}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setting{})
			grow(t, w)
			ask := w.dial(modern)
			var last string
			for range 3 {
				last = told(t, ask.post(ask.bodyOf("1", c.method, c.params)))
			}
			if w.server.Recalled() == 0 || strings.Contains(last, c.want) {
				t.Fatalf("%d answers given again; %s", w.server.Recalled(), last)
			}
			if err := c.change(w.dir); err != nil {
				t.Fatal(err)
			}
			if got := told(t, ask.post(ask.bodyOf("1", c.method, c.params))); !strings.Contains(got, c.want) {
				t.Errorf("after the change: %s", got)
			}
		})
	}
}

// One that asks is never given what another was answered, nor what was answered in
// another session, or to other headers.
func TestAnswersToOthers(t *testing.T) {
	one, line := access.NewToken()
	two, otherLine := access.NewToken()
	tokens, err := access.ParseTokens(strings.NewReader(line + "\n" + otherLine + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, setting{private: true, http: mcpserver.HTTPOptions{Verifier: tokens}})
	grow(t, w)
	ask := func(token, era, session string, change func(*http.Request)) (string, bool) {
		c := &client{site: w, era: era, session: session}
		at := *w
		at.token = token
		c.site = &at
		r := c.request(http.MethodPost, c.bodyOf("1", "resources/read", `{"uri":"skill://a-first/SKILL.md"}`))
		if change != nil {
			change(r)
		}
		n := w.server.Recalled()
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return told(t, resp), w.server.Recalled() > n
	}
	at := *w
	at.token = one
	session := at.dial(legacy).session
	for _, era := range []string{modern, legacy} {
		s := map[string]string{legacy: session}[era]
		ask(one, era, s, nil)
		if _, again := ask(one, era, s, nil); !again {
			t.Fatalf("%s: the answer was not kept", era)
		}
		if got, again := ask(two, era, s, nil); again || era == legacy && strings.HasPrefix(got, "200") {
			t.Errorf("%s: another token was answered from memory (%t): %s", era, again, got)
		}
		if got, again := ask("", era, s, nil); again || !strings.HasPrefix(got, "401") {
			t.Errorf("%s: without a token: %s", era, got)
		}
		for name, change := range map[string]func(*http.Request){
			"Mcp-Name": func(r *http.Request) { r.Header.Set("Mcp-Name", "other") }, "Accept": func(r *http.Request) { r.Header.Set("Accept", "text/html") },
			"twice": func(r *http.Request) { r.Header.Add("Mcp-Protocol-Version", era) }, "another": func(r *http.Request) { r.Header.Set("Mcp-Param-X", "y") },
			"version": func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "2025-06-18") },
		} {
			if got, again := ask(one, era, s, change); again {
				t.Errorf("%s, %s: answered from memory: %s", era, name, got)
			}
		}
	}
	// A session that has ended answers nothing.
	r, err := http.NewRequest(http.MethodDelete, w.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Mcp-Session-Id", session)
	r.Header.Set("Authorization", "Bearer "+one)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got, again := ask(one, legacy, session, nil); again || strings.HasPrefix(got, "200") {
		t.Errorf("an ended session was answered: %s", got)
	}
}

// Over pipes too, one at a time and many at once.
func TestAnswersAgainOverStdio(t *testing.T) {
	w := start(t, setting{})
	grow(t, w)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- w.server.Run(context.Background(), &mcpserver.StdioTransport{In: in, Out: out})
		out.Close()
	}()
	answers := json.NewDecoder(fromServer)
	next := func() message {
		var m message
		for m.ID == nil {
			if err := answers.Decode(&m); err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	say := func(lines ...string) {
		go func() { _, _ = io.WriteString(toServer, strings.Join(lines, "\n")+"\n") }()
	}
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	next()
	c := &client{site: w, era: legacy}
	for _, r := range requests() {
		say(c.bodyOf("7", r.method, r.params))
		first := next()
		say(c.bodyOf("8", r.method, r.params), c.bodyOf(`"x"`, r.method, r.params), c.bodyOf("9", r.method, r.params))
		seen := map[string]bool{}
		for range 3 {
			m := next()
			seen[string(m.ID)] = true
			if string(m.Result) != string(first.Result) || m.code() != first.code() || m.Error != nil && (m.Error.Message != first.Error.Message || string(m.Error.Data) != string(first.Error.Data)) {
				t.Errorf("%s %s: first %s %v, then %s %v", r.method, r.params, first.Result, first.Error, m.Result, m.Error)
			}
		}
		if len(seen) != 3 {
			t.Errorf("%s: ids %v", r.method, seen)
		}
	}
	if n := w.server.Recalled(); n < 30 {
		t.Errorf("%d answers were given again", n)
	}
	toServer.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What one may see is kept for whoever may see the same and for nobody else, and
// for nobody any more once the policy has changed.
func TestAnswersThroughSights(t *testing.T) {
	h := twoHolders(t)
	w := start(t, setting{files: hiddenLibrary(), policy: h.policy, http: mcpserver.HTTPOptions{Verifier: h.verifier}, private: true})
	grow(t, w)
	ask := func(token string) (string, bool) {
		at := *w
		at.token = token
		c := &client{site: &at, era: modern}
		n := w.server.Recalled()
		return told(t, c.post(c.bodyOf("1", "resources/read", `{"uri":"skill://zebra/SKILL.md"}`))), w.server.Recalled() > n
	}
	ask(h.all)
	if got, again := ask(h.all); !again || !strings.Contains(got, "Zebra stripes") {
		t.Fatalf("not kept for whoever may see it: %s", got)
	}
	for range 3 {
		if got, again := ask(h.some); again || strings.Contains(got, "stripes") {
			t.Errorf("shown to whoever may not see it: %s", got)
		}
	}
	if _, again := ask(h.all); !again {
		t.Error("one who may not see it took it from the other")
	}
	nobody, err := access.ParsePattern("skill://zebra")
	must(t, err)
	w.server.Restrict(access.NewPolicy(true, []access.Rule{{Groups: []string{"all"}, Deny: []access.Pattern{nobody}}}))
	if got, again := ask(h.all); again || strings.Contains(got, "stripes") {
		t.Errorf("shown after the policy changed: %s", got)
	}
}

// oneHolder knows every token for that of one who may be renamed.
type oneHolder struct {
	mu   sync.Mutex
	name string
}

func (h *oneHolder) Verify(context.Context, string) (access.Subject, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return access.Subject{Name: h.name}, true
}

// A use is told of with the name that the token's holder has by then.
func TestUsesAreOfTheHolderByThen(t *testing.T) {
	holder := &oneHolder{name: "before"}
	var mu sync.Mutex
	var names []string
	w := start(t, setting{private: true, http: mcpserver.HTTPOptions{Verifier: holder}, observe: func(u mcpserver.Use) {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, u.Subject.Name)
	}})
	grow(t, w)
	w.token = "any"
	c := w.dial(modern)
	ask := func() {
		for id := range 3 {
			told(t, c.post(c.bodyOf(strconv.Itoa(id), "resources/read", `{"uri":"skill://a-first/SKILL.md"}`)))
		}
	}
	ask()
	holder.mu.Lock()
	holder.name = "after"
	holder.mu.Unlock()
	ask()
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(names, " "); got != "before before before after after after" || w.server.Recalled() != 4 {
		t.Errorf("%s; %d answers were given again", got, w.server.Recalled())
	}
}
