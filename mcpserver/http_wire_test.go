package mcpserver_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestHTTPWire replays requests, one file a protocol era, and compares statuses, headers and bodies
// with the file. A file has skills and, as its last part, the session:
//
//	> a body to POST; with a method before it, that method: > DELETE
//	header NAME: VALUE for the next request alone; without a value the header is left out
//	stream is like > for a request that stays open: its status and headers; header comes before it
//	hear METHOD…: the next events of the stream, until each of the notifications has come
//	write PATH changes the skills; the file is in NEW/
//	< status, headers by name, and the lines of the body
//
// A request also has the headers that a client of its era sends. $SESSION, $EVENT and $TIME stand
// for values that differ from run to run. $LAST stands for the id of the last event that was
// received.
func TestHTTPWire(t *testing.T) {
	transcripts(t, "testdata/http", func(t *testing.T, era string, now, later map[string]string, session string) string {
		w := start(t, setting{files: now})
		must(t, w.catalog.Refresh(t.Context())) // so that the first answer has all skills
		return replayHTTP(&client{site: w, era: era}, later, session)
	})
}

func replayHTTP(c *client, later map[string]string, session string) string {
	var out bytes.Buffer
	headers := http.Header{}
	request := func(rest string) *http.Request {
		method, body := http.MethodPost, rest
		if first, after, _ := strings.Cut(rest, " "); first != "" && strings.ToUpper(first) == first && !strings.ContainsAny(first, `{[",`) {
			method, body = first, after
		}
		r := c.request(method, body)
		for name, values := range headers {
			r.Header[name] = values
			if values[0] == "" {
				r.Header.Del(name)
			}
		}
		headers = http.Header{}
		return r
	}
	said := func(lines ...string) {
		for _, line := range lines {
			fmt.Fprintln(&out, strings.TrimRight("< "+line, " "))
		}
	}
	var open *heard
	defer func() { open.close() }()
	for line := range strings.Lines(session) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "< ") || line == "<" {
			continue
		}
		fmt.Fprintln(&out, line)
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "header":
			name, value, _ := strings.Cut(rest, ":")
			headers.Set(name, strings.TrimSpace(strings.ReplaceAll(value, "$LAST", open.last())))
		case ">":
			said(c.answered(request(rest))...)
		case "stream":
			open.close()
			again := headers.Clone()
			var resp *http.Response
			testwait.Until(c.t, func() bool { // the server may not know yet that the previous stream is closed
				headers = again.Clone()
				resp = do(c.t, request(rest))
				if resp.StatusCode == http.StatusConflict {
					resp.Body.Close()
					return false
				}
				return true
			}, "the stream before is still open")
			open = &heard{t: c.t, body: resp.Body, lines: bufio.NewReader(resp.Body)}
			said(c.headed(resp)...)
		case "hear":
			said(open.until(strings.Fields(rest))...)
		case "write":
			put(c.t, c.dir, map[string]string{rest: later[rest]})
		case "", "#":
		default:
			c.t.Fatalf("what is %q?", line)
		}
	}
	return out.String()
}

// heard is an open stream.
type heard struct {
	t     testing.TB
	body  io.Closer
	lines *bufio.Reader
	id    string // of the last event
}

func (h *heard) close() {
	if h != nil {
		h.body.Close()
	}
}

func (h *heard) last() string {
	if h == nil {
		return ""
	}
	return h.id
}

// until reads events until each of the notifications has arrived. Notifications of lists arrive in
// any order, so they are sorted by name.
func (h *heard) until(methods []string) []string {
	h.t.Helper()
	timeout := time.AfterFunc(30*time.Second, func() { h.body.Close() })
	defer timeout.Stop()
	var events []string
	missing := slices.Clone(methods)
	event := ""
	for len(missing) > 0 {
		line, err := h.lines.ReadString('\n')
		if err != nil {
			h.t.Fatalf("the stream ended before %q: %v; it said %q", missing, err, events)
		}
		line = strings.TrimRight(line, "\r\n")
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			h.id = id
			continue // the order of a list's events is not certain
		}
		if line != "" {
			event += line + "\n"
			continue
		}
		for i, method := range missing {
			if strings.Contains(event, `"method":"`+method+`"`) {
				missing = slices.Delete(missing, i, i+1)
				break
			}
		}
		if strings.Contains(event, `"method"`) {
			events = append(events, strings.TrimSuffix(event, "\n"))
		}
		event = ""
	}
	slices.Sort(events)
	var said []string
	for _, e := range events {
		said = append(said, strings.Split(e, "\n")...)
	}
	return said
}

var eventID = regexp.MustCompile(`(?m)^id: [A-Z2-7]+_`)

// answered sends a request and returns the lines of the answer, with its status and headers.
func (c *client) answered(r *http.Request) (said []string) {
	resp := do(c.t, r)
	defer resp.Body.Close()
	said = c.headed(resp)
	body, err := io.ReadAll(resp.Body)
	must(c.t, err)
	text := modified.ReplaceAllString(string(body), `"lastModified":"$$TIME"`)
	text = eventID.ReplaceAllString(strings.ReplaceAll(text, c.addr, "$ADDR"), "id: $$EVENT_")
	if text = strings.TrimRight(text, "\n"); text != "" {
		said = append(said, "")
		said = append(said, strings.Split(text, "\n")...)
	}
	return said
}

// headed returns the status and the headers of an answer as lines.
func (c *client) headed(resp *http.Response) (said []string) {
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
		resp.Header.Set("Mcp-Session-Id", "$SESSION")
	}
	said = append(said, resp.Status)
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		if name != "Date" && name != "Content-Length" {
			said = append(said, name+": "+strings.Join(resp.Header[name], ", "))
		}
	}
	return said
}
