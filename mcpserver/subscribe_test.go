package mcpserver_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver"
)

// follow opens a stream of notifications in the form of the client's era, and subscribes to some
// files.
func follow(t *testing.T, c *client, uris ...string) <-chan message {
	t.Helper()
	if c.era == legacy {
		resp := do(t, c.request("GET", ""))
		if resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
		t.Cleanup(func() { resp.Body.Close() })
		for _, uri := range uris {
			c.result("resources/subscribe", map[string]any{"uri": uri}, nil)
		}
		return events(resp)
	}
	resp := c.post(c.body("subscriptions/listen", map[string]any{"notifications": map[string]any{
		"resourceSubscriptions": uris, "toolsListChanged": true, "resourcesListChanged": true, "promptsListChanged": true,
	}}))
	t.Cleanup(func() { resp.Body.Close() })
	out := events(resp)
	await(t, out, "notifications/subscriptions/acknowledged")
	return out
}

// TestHiddenFileIsNotWatched checks that a change on disk that hides a file ends the
// subscriptions to it.
func TestHiddenFileIsNotWatched(t *testing.T) {
	t.Parallel()
	p, err := access.ParsePattern("skill://outer/inner")
	must(t, err)
	policy := access.NewPolicy(true, []access.Rule{{Deny: []access.Pattern{p}}})
	w := start(t, setting{files: map[string]string{"outer/SKILL.md": skillText("outer", "A."), "open/SKILL.md": skillText("open", "A.")}, policy: policy})
	for _, era := range []string{legacy, modern} {
		follow(t, w.dial(era), "skill://outer/SKILL.md", "skill://open/SKILL.md")
	}
	if n := w.server.Subscriptions(); n != 2 {
		t.Fatalf("%d files are watched", n)
	}
	put(t, w.dir, map[string]string{"outer/inner/SKILL.md": skillText("inner", "A.")})
	testwait.Until(t, func() bool { return w.server.Subscriptions() == 1 }, "a file is watched that no client sees")
}

func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	w := start(t, setting{files: fixtures()})
	w.server.CheckEvery(100 * time.Millisecond)
	// Most files are old, while a young one would be read again at each check.
	old := time.Now().Add(-time.Hour)
	_ = os.Chtimes(filepath.Join(w.dir, "a-first", "crlf.txt"), old, old)
	eachEra(t, w, func(t *testing.T, c *client) {
		file, main := "skill://a-first/crlf.txt", "skill://%61-first/SKILL.md" // notifications have the client's own spelling
		told := follow(t, c, file, main)
		updated := func(want string) {
			t.Helper()
			var p struct{ URI string }
			m := await(t, told, "notifications/resources/updated")
			if _ = json.Unmarshal(m.Params, &p); p.URI != want {
				t.Errorf("%s, want %s", p.URI, want)
			}
			if c.era == modern && !strings.Contains(string(m.Params), "io.modelcontextprotocol/subscriptionId") {
				t.Errorf("no subscription id: %s", m.Params)
			}
		}
		rewrite(t, w.dir, "a-first/crlf.txt", "changed "+c.era)
		updated(file)
		_ = os.Remove(filepath.Join(w.dir, "a-first", "crlf.txt"))
		updated(file)
		rewrite(t, w.dir, "a-first/crlf.txt", "back")
		updated(file)
		rewrite(t, w.dir, "a-first/SKILL.md", skillText("a-first", "Changed in "+c.era))
		w.catalog.Poke()
		updated(main)
		put(t, w.dir, map[string]string{"new-" + c.era + "/SKILL.md": skillText("new-"+c.era, "New.")})
		w.catalog.Poke()
		await(t, told, "notifications/resources/list_changed")
		if c.era == legacy {
			c.result("resources/unsubscribe", map[string]any{"uri": file}, nil)
			rewrite(t, w.dir, "a-first/crlf.txt", "unheard")
			quiet(t, told, "notifications/resources/updated")
		}
	})
}

// quiet checks that no message with the method arrives within a second, ten times the period of the
// checks.
func quiet(t *testing.T, from <-chan message, method string) {
	t.Helper()
	for deadline := time.After(time.Second); ; {
		select {
		case m, ok := <-from:
			if ok && m.Method == method {
				t.Errorf("%s: %s", m.Method, m.Params)
			}
			if !ok {
				return
			}
		case <-deadline:
			return
		}
	}
}

// TestTouchedIsNotChanged checks that a file that was rewritten unchanged causes no notification.
func TestTouchedIsNotChanged(t *testing.T) {
	t.Parallel()
	w := start(t, setting{files: fixtures()})
	w.server.CheckEvery(100 * time.Millisecond)
	c := w.dial(modern)
	told := follow(t, c, "skill://a-first/crlf.txt")
	rewrite(t, w.dir, "a-first/crlf.txt", fixtures()["a-first/crlf.txt"])
	now := time.Now()
	_ = os.Chtimes(filepath.Join(w.dir, "a-first", "crlf.txt"), now, now)
	quiet(t, told, "notifications/resources/updated")
}

func TestSubscribeRefuses(t *testing.T) {
	w := start(t, setting{})
	c := w.dial(legacy)
	for _, uri := range []string{"", "skill://nothing/SKILL.md", "skill://a-first", "skill://a-first/.env", "skill://a-first/../x", "file:///etc/passwd"} {
		if m := c.call("resources/subscribe", map[string]any{"uri": uri}); m.code() != -32602 {
			t.Errorf("%q: %d %s", uri, m.code(), m.Result)
		}
	}
	// subscriptions/listen drops an unknown URI and accepts the others, as its acknowledgement
	// shows.
	m := w.dial(modern)
	resp := m.post(m.body("subscriptions/listen", map[string]any{"notifications": map[string]any{
		"resourceSubscriptions": []string{"skill://nothing/SKILL.md", published[0], "x"},
	}}))
	defer resp.Body.Close()
	ack := await(t, events(resp), "notifications/subscriptions/acknowledged")
	if got := string(ack.Params); !strings.Contains(got, `["`+published[0]+`"]`) {
		t.Error(got)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	w := start(t, setting{http: mcpserver.HTTPOptions{MaxStreams: 3}})
	m := w.dial(modern)
	listen := func() *http.Response {
		return m.post(m.body("subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}}))
	}
	var open []*http.Response
	for range 3 {
		open = append(open, listen())
	}
	resp := listen()
	if got := read(t, resp); resp.StatusCode != 429 || got.code() != -32000 {
		t.Errorf("%s %+v", resp.Status, got.Error)
	}
	c := w.dial(legacy)
	resp, err := http.DefaultClient.Do(c.request("GET", ""))
	if err != nil || resp.StatusCode != 429 {
		t.Errorf("GET: %v %v", resp.Status, err)
	}
	m.result("skills/list", nil, nil) // calls are not streams
	for _, r := range open {
		r.Body.Close()
	}
	testwait.Until(t, func() bool {
		resp := listen()
		resp.Body.Close()
		return resp.StatusCode == 200
	}, "a stream that was left is still counted")
}

// resume opens the session's stream after the event last, or a new stream if last is "". It tries
// again until the server has noticed that the previous stream is closed.
func (c *client) resume(last string) *http.Response {
	c.t.Helper()
	var resp *http.Response
	testwait.Until(c.t, func() bool {
		r := c.request("GET", "")
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		resp = do(c.t, r)
		if resp.StatusCode == http.StatusConflict {
			resp.Body.Close()
			return false
		}
		return true
	}, "the stream before is still open")
	return resp
}
