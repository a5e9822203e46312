package mcpserver_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestHTTPWire replays requests, one file a protocol era, and compares statuses,
// headers and bodies with those that stand in the file. A file holds skills, and
// last the session:
//
//	> a body to POST; with a method before it, that method: > DELETE
//	header NAME: VALUE for the next request alone; without a value the header is left out
//	< status, headers by name, and the lines of the body
//
// Every other header is the era's. $SESSION, $EVENT and $TIME stand for what differs
// from run to run.
func TestHTTPWire(t *testing.T) {
	files, err := filepath.Glob("testdata/http/*.txtar")
	must(t, err)
	if len(files) != len(eras) {
		t.Fatalf("%d transcripts", len(files))
	}
	for _, file := range files {
		era := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(era, func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			must(t, err)
			skills := map[string]string{}
			for _, f := range archive.Files[:len(archive.Files)-1] {
				skills[f.Name] = string(f.Data)
			}
			w := start(t, setting{files: skills})
			must(t, w.catalog.Refresh(t.Context())) // the first answer has its numbers
			session := &archive.Files[len(archive.Files)-1]
			got := replayHTTP(&client{site: w, era: era}, string(session.Data))
			if *update {
				session.Data = []byte(got)
				must(t, os.WriteFile(file, txtar.Format(archive), 0o644))
				return
			}
			if diff := cmp.Diff(string(session.Data), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func replayHTTP(c *client, session string) string {
	var out bytes.Buffer
	headers := http.Header{}
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
			headers.Set(name, strings.TrimSpace(value))
		case ">":
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
			for _, said := range c.answered(r) {
				fmt.Fprintln(&out, strings.TrimRight("< "+said, " "))
			}
		case "", "#":
		default:
			c.t.Fatalf("what is %q?", line)
		}
	}
	return out.String()
}

var eventID = regexp.MustCompile(`(?m)^id: [A-Z2-7]+_`)

// answered sends a request and writes down the answer.
func (c *client) answered(r *http.Request) (said []string) {
	resp, err := http.DefaultClient.Do(r)
	must(c.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(c.t, err)
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
	text := modified.ReplaceAllString(string(body), `"lastModified":"$$TIME"`)
	text = eventID.ReplaceAllString(strings.ReplaceAll(text, c.addr, "$ADDR"), "id: $$EVENT_")
	if text = strings.TrimRight(text, "\n"); text != "" {
		said = append(said, "")
		said = append(said, strings.Split(text, "\n")...)
	}
	return said
}
