package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// threePages are enough skills for three pages, with all that JSON may be written in more than
// one way.
func threePages() map[string]string {
	files := fixtures()
	for i := range 220 {
		name := fmt.Sprintf("many-%03d", i)
		files[name+"/SKILL.md"] = "---\nname: " + name + "\ndescription: \"<b> & 'é' \\u2028 \\u0007 \\\" \\\\ 😀 /\"\nmore: {x: [1.0, null, \"</script>\"]}\n---\n"
		files[name+"/in/<x> & ü.txt"] = "before"
	}
	return files
}

// speak speaks with a server over pipes: it writes a line, and reads one. end ends the
// session.
func speak(t *testing.T, run func(context.Context, mcp.Transport) error) (say func(line string) string, end func()) {
	t.Helper()
	to, from, end := session(t, run)
	answers := bufio.NewReader(from)
	return func(line string) string {
		t.Helper()
		_, err := io.WriteString(to, line+"\n")
		must(t, err)
		must(t, from.SetReadDeadline(time.Now().Add(20*time.Second)))
		answer, err := answers.ReadString('\n')
		must(t, err)
		return answer
	}, end
}

// TestPagesAreWhatTheSDKWrites: what is put together past the SDK is byte for byte what
// it would have written.
func TestPagesAreWhatTheSDKWrites(t *testing.T) {
	t.Parallel()
	w := start(t, setting{files: threePages()})
	for _, era := range []string{legacy, modern} {
		plain, endPlain := speak(t, w.server.MCP().Run)
		quick, endQuick := speak(t, w.server.Run)
		c := &client{era: era}
		hello, _, _ := strings.Cut(pipeHello, "\n")
		if era == modern {
			hello = c.bodyOf("1", "server/discover", "{}")
		}
		if a, b := plain(hello), quick(hello); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
		before, _ := w.server.Splices()
		asked := 0
		same := func(id, params string) string {
			t.Helper()
			line := c.bodyOf(id, "skills/list", params)
			want, got := plain(line), quick(line)
			if asked++; got != want {
				t.Errorf("%s:\n got %s\nwant %s", line, got, want)
			}
			return got
		}
		for _, params := range []string{`{"cursor":"x"}`, `{"cursor":1}`, `{"cursor":null}`, `null`, `[]`, `{"cursor":"","more":"\"splice\":1}}"}`} {
			same("7", params)
		}
		pages, cursor := 0, ""
		for id := range 10 {
			params := "{}"
			if cursor != "" {
				params = `{"cursor":"` + cursor + `"}`
			}
			var m struct {
				Result struct {
					Skills     []json.RawMessage
					NextCursor string
				}
			}
			must(t, json.Unmarshal([]byte(same([]string{fmt.Sprint(id), `"` + strings.Repeat("i", 2000*id) + `"`}[id%2], params)), &m))
			pages++
			if cursor = m.Result.NextCursor; cursor == "" {
				break
			}
		}
		if begun, left := w.server.Splices(); pages != 3 || begun-before != uint64(asked) || left != 0 {
			t.Errorf("%s: %d pages; of %d answers %d were put together, and %d still are", era, pages, asked, begun-before, left)
		}
		endPlain()
		endQuick()
	}
}

// TestPageAhead is for who asks next, of the same list, and soon.
func TestPageAhead(t *testing.T) {
	t.Parallel()
	w := start(t, setting{files: threePages()})
	grow(t, w)
	c := w.dial(modern)
	page := func(cursor string) (got listed) {
		t.Helper()
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		c.result("skills/list", params, &got)
		return got
	}
	write := func(name, text string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(w.dir, name, "in", "<x> & ü.txt"), []byte(text), 0o644))
	}
	// digest is that of a skill's file.
	digest := func(p listed, name string) string {
		t.Helper()
		for _, e := range p.Skills {
			if e.URI == "skill://"+name+"/SKILL.md" && len(e.Resources) == 2 {
				return e.Resources[1].Digest
			}
		}
		t.Fatalf("%s is not on the page", name)
		return ""
	}
	first := page("")
	if n := w.server.PagesAhead(); n != 1 {
		t.Fatalf("%d pages are made ahead", n)
	}
	made := time.Now()
	second := page(first.NextCursor)
	name := strings.Split(second.Skills[len(second.Skills)-1].URI, "/")[2]
	for _, c := range []struct {
		wait bool
		want string
	}{{false, "before"}, {true, "after"}} {
		write(name, "before")
		time.Sleep(time.Until(made.Add(catalog.AheadGood + 100*time.Millisecond))) // nothing is left
		if n := w.server.PagesAhead(); n != 0 {
			t.Errorf("%d pages are left", n)
		}
		first, made = page(""), time.Now()
		if n := w.server.PagesAhead(); n != 1 {
			t.Fatalf("%d pages are made ahead", n)
		}
		write(name, "after")
		if c.wait {
			time.Sleep(catalog.AheadGood + 100*time.Millisecond)
		}
		got := digest(page(first.NextCursor), name)
		if !c.wait && time.Since(made) > catalog.AheadGood {
			t.Skip("this machine is too busy to tell")
		}
		if got != skill.DigestOf([]byte(c.want)).String() {
			t.Errorf("waited %t: not the digest of %q", c.wait, c.want)
		}
		made = time.Now()
	}

	// A page made just now of what was hashed long ago is as old as that.
	time.Sleep(time.Until(made.Add(catalog.AheadGood + 100*time.Millisecond)))
	const last = "many-219" // of the third page
	write(last, "before")
	first, made = page(""), time.Now() // hashes ahead, for the third page too
	w.server.PagesAhead()
	time.Sleep(catalog.AheadGood / 2)
	second = page(first.NextCursor)
	w.server.PagesAhead()
	if time.Since(made) > catalog.AheadGood {
		t.Skip("this machine is too busy to tell")
	}
	write(last, "after")
	time.Sleep(time.Until(made.Add(catalog.AheadGood + 100*time.Millisecond)))
	if n := w.server.PagesAhead(); n != 1 {
		t.Fatalf("%d pages are ready", n)
	}
	if got := digest(page(second.NextCursor), last); got != skill.DigestOf([]byte("after")).String() {
		t.Error("a page made of manifests that are too old is given")
	}

	// Of another snapshot it is another list.
	time.Sleep(catalog.AheadGood + 100*time.Millisecond)
	first = page("")
	w.server.PagesAhead()
	gone := strings.Split(second.Skills[0].URI, "/")[2]
	must(t, os.RemoveAll(filepath.Join(w.dir, gone)))
	must(t, w.catalog.Refresh(t.Context()))
	for _, s := range page(first.NextCursor).Skills {
		if strings.Contains(s.URI, gone) {
			t.Errorf("%s is listed, and is gone", s.URI)
		}
	}

	// It is bounded.
	time.Sleep(catalog.AheadGood + 100*time.Millisecond)
	for range 3 {
		page("")
	}
	if n := w.server.PagesAhead(); n != 1 {
		t.Errorf("%d pages are made ahead of one list", n)
	}
}

// TestNobodyElseGetsAPart: a header of a request says nothing about a call over pipes.
func TestNobodyElseGetsAPart(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	header, mark, part := w.server.Splice()
	eachEra(t, w, func(t *testing.T, c *client) {
		want := told(t, c.post(c.bodyOf("7", "skills/list", `{}`)))
		req := c.request(http.MethodPost, c.bodyOf("7", "skills/list", `{}`))
		req.Header.Set(header, mark)
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		if got := told(t, resp); got != want || part() != nil {
			t.Errorf("%q is put elsewhere: %s", part(), got)
		}
	})
}

// grow waits until the files are old enough for their stamps to prove something,
// and the catalogue has read them so.
func grow(t testing.TB, w *site) {
	t.Helper()
	time.Sleep(skill.StampRacy + 100*time.Millisecond)
	must(t, w.catalog.Refresh(context.Background()))
}
