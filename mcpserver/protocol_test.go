package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const initializeWith = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"$","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// TestUnknownNotifications checks that a notification of an unknown kind is accepted and ignored,
// but not in a session that does not exist.
func TestUnknownNotifications(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	eachEra(t, w, func(t *testing.T, c *client) {
		for _, body := range []string{
			`{"jsonrpc":"2.0","method":"notifications/of/tomorrow","params":{"a":[1]}}`, `{"jsonrpc":"2.0","method":"notifications/"}`,
		} {
			resp := c.post(body)
			said, err := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusAccepted || len(said) > 0 || err != nil {
				t.Errorf("%s: %s %q %v", body, resp.Status, said, err)
			}
		}
		if resp := c.post(`{"jsonrpc":"2.0","method":"of/tomorrow"}`); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("a call without an id: %s", resp.Status)
		}
		if c.era != legacy {
			return
		}
		forged := *c
		for session, status := range map[string]int{"": http.StatusBadRequest, "forged": http.StatusNotFound} {
			forged.session = session
			if resp := forged.post(`{"jsonrpc":"2.0","method":"notifications/of/tomorrow"}`); resp.StatusCode != status {
				t.Errorf("session %q: %s", session, resp.Status)
			}
		}
	})
}

// TestInitializeAfterDiscover checks that over pipes, a client may discover the server's versions
// and then begin a session of any of them.
func TestInitializeAfterDiscover(t *testing.T) {
	w := start(t, setting{})
	to, from, end := session(t, w.server.Run)
	defer end()
	answers := json.NewDecoder(from)
	ask := func(line string) (m message) {
		t.Helper()
		_, err := io.WriteString(to, line+"\n")
		must(t, err)
		for m.ID == nil {
			must(t, answers.Decode(&m))
		}
		if m.Error != nil {
			t.Fatalf("%s: %+v", line, m.Error)
		}
		return m
	}
	c := &client{site: w, era: modern}
	found := ask(c.bodyOf("1", "server/discover", `{}`))
	if !strings.Contains(string(found.Result), `"2025-11-25"`) || !strings.Contains(string(found.Result), `"resultType":"complete"`) {
		t.Errorf("found %s", found.Result)
	}
	ask(c.bodyOf("2", "tools/list", `{}`)) // a call of one era does not commit the client to that era
	begun := ask(strings.Replace(initializeWith, "$", legacy, 1))
	if !strings.Contains(string(begun.Result), `"protocolVersion":"2025-11-25"`) {
		t.Errorf("begun %s", begun.Result)
	}
	ask(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
}

// TestRefusedInitializeHasNoSession checks that the answer to a refused initialize has no session
// id, neither of a new session nor of the session that it was sent to.
func TestRefusedInitializeHasNoSession(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	c := w.dial(legacy)
	stranger := &client{site: w, era: legacy}
	for what, row := range map[string]struct {
		c    *client
		body string
	}{
		"again in a session":      {c, strings.Replace(initializeWith, "$", legacy, 1)},
		"params of another kind":  {stranger, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":5}`},
		"a version of no text":    {stranger, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`},
		"params that are missing": {stranger, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`},
		"null for params":         {stranger, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`},
	} {
		resp := row.c.post(row.body)
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			t.Errorf("%s: session %q", what, id)
		}
		if m := read(t, resp); m.Error == nil {
			t.Errorf("%s: %s", what, m.Result)
		}
	}
	if n, _ := w.http.Open(); n != 1 || !c.lives() {
		t.Errorf("%d sessions", n)
	}
}

// TestStreamBeginsAnew checks that a new stream has no past messages, and that a resumed stream has
// them.
func TestStreamBeginsAnew(t *testing.T) {
	t.Parallel()
	w := start(t, setting{files: fixtures()})
	w.server.CheckEvery(20 * time.Millisecond)
	c := w.dial(legacy)
	files := []string{"a-first/crlf.txt", "a-first/data.bin", "a-first/scripts/run.sh", "a-first/templates/deep/t.md"}
	for _, file := range files {
		c.result("resources/subscribe", map[string]any{"uri": "skill://" + file}, nil)
	}
	type event struct{ id, file string }
	hear := func(last string) (next func() event, end func()) {
		resp := c.resume(last)
		if resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
		heard := make(chan event, 100)
		go func() {
			defer close(heard)
			in := bufio.NewScanner(resp.Body)
			for id := ""; in.Scan(); {
				if was, ok := strings.CutPrefix(in.Text(), "id: "); ok {
					id = was
				}
				if _, uri, ok := strings.Cut(in.Text(), `"uri":"skill://`); ok {
					heard <- event{id, strings.TrimRight(uri, `"}`)}
				}
			}
		}()
		return func() event {
			t.Helper()
			select {
			case e := <-heard:
				return e
			case <-time.After(20 * time.Second):
				t.Fatal("no event")
				return event{}
			}
		}, func() { resp.Body.Close() }
	}
	change := func(file string) { rewrite(t, w.dir, file, "other") }
	next, end := hear("")
	change(files[0])
	if e := next(); e.file != files[0] {
		t.Fatal(e)
	}
	end()
	next, end = hear("") // waits until the stream is free
	change(files[1])
	begun := next()
	if begun.file != files[1] {
		t.Errorf("a new stream begins with %v", begun)
	}
	change(files[2])
	if e := next(); e.file != files[2] {
		t.Error(e)
	}
	end()
	next, end = hear(begun.id)
	defer end()
	if e := next(); e.file != files[2] {
		t.Errorf("behind %v comes %v", begun, e)
	}
	change(files[3])
	if e := next(); e.file != files[3] {
		t.Error(e)
	}
}

// TestVersionWithBatches checks that a client that proposes version 2025-03-26 gets the version
// before it. That version is not served, since its servers must accept batches.
func TestVersionWithBatches(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	const batched = "2025-03-26"
	hello := strings.Replace(initializeWith, "$", batched, 1)
	negotiated := func(how string, m message) {
		t.Helper()
		var r struct{ ProtocolVersion string }
		if m.Error != nil {
			t.Fatalf("%s: %+v", how, m.Error)
		}
		must(t, json.Unmarshal(m.Result, &r))
		if r.ProtocolVersion != "2024-11-05" {
			t.Errorf("%s: %s", how, r.ProtocolVersion)
		}
	}
	to, from, end := session(t, w.server.Run)
	_, err := io.WriteString(to, hello+"\n")
	must(t, err)
	var m message
	must(t, json.NewDecoder(from).Decode(&m))
	negotiated("pipes", m)
	end()
	c := &client{site: w, era: legacy}
	r := c.request("POST", hello)
	r.Header.Del("Mcp-Protocol-Version")
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	c.session = resp.Header.Get("Mcp-Session-Id")
	negotiated("HTTP", read(t, resp))
	for header, status := range map[string]int{batched: http.StatusBadRequest, "": http.StatusOK, "2024-11-05": http.StatusOK} {
		r := c.request("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		r.Header["Mcp-Protocol-Version"] = slices.DeleteFunc([]string{header}, func(v string) bool { return v == "" })
		resp, err := http.DefaultClient.Do(r)
		must(t, err)
		if m := read(t, resp); resp.StatusCode != status || m.Error != nil && strings.Contains(m.Error.Message+string(m.Error.Data), `here: 2026-07-28, 2025-11-25, 2025-06-18, 2025-03`) {
			t.Errorf("%q: %s %+v", header, resp.Status, m.Error)
		}
	}
}
