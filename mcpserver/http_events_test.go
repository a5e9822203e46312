package mcpserver_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A stream that names no last event tells what is new, and not again what the
// stream before it told; what came before the first stream, and between two, is
// told once.
func TestStreamsTellOnce(t *testing.T) {
	w := start(t, setting{files: many(1)})
	c := w.dial(legacy)
	uris := []string{"skill://s-0000/a", "skill://s-0000/b", "skill://s-0000/c", "skill://s-0000/d"}
	for i, uri := range uris {
		put(t, w.dir, map[string]string{fmt.Sprintf("s-0000/%c", 'a'+i): "0"})
		if m := c.call("resources/subscribe", map[string]any{"uri": uri}); m.Error != nil {
			t.Fatal(m.Error.Message)
		}
	}
	change := func(file string) { put(t, w.dir, map[string]string{"s-0000/" + file: "1 " + file}) }
	// listen gathers the files told of until one of them is last.
	listen := func(lastEvent, last string) (told, id string) {
		t.Helper()
		var resp *http.Response
		for {
			r := c.request(http.MethodGet, "")
			if lastEvent != "" {
				r.Header.Set("Last-Event-ID", lastEvent)
			}
			var err error
			resp, err = http.DefaultClient.Do(r)
			must(t, err)
			if resp.StatusCode != http.StatusConflict {
				break
			}
			resp.Body.Close() // the server has not heard yet that the stream before is closed
			time.Sleep(10 * time.Millisecond)
		}
		defer resp.Body.Close()
		timeout := time.AfterFunc(30*time.Second, func() { resp.Body.Close() })
		defer timeout.Stop()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if now, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				id = now
			}
			if _, uri, ok := strings.Cut(lines.Text(), `"uri":"skill://s-0000/`); ok {
				told += uri[:1]
				if uri[:1] == last {
					return told, id
				}
			}
		}
		t.Fatalf("nothing of %s; told of %q", last, told)
		return
	}
	change("a")
	time.Sleep(3 * time.Second) // told to nobody yet
	change("b")
	told, first := listen("", "b")
	if told != "ab" {
		t.Errorf("the first stream: %q", told)
	}
	time.Sleep(200 * time.Millisecond) // until the server knows that it is closed
	change("c")
	time.Sleep(3 * time.Second) // between two streams
	change("d")
	if told, _ := listen("", "d"); told != "cd" {
		t.Errorf("the second stream: %q", told)
	}
	if told, _ := listen(first, "d"); told != "cd" {
		t.Errorf("behind the first stream's last event: %q", told)
	}
}
