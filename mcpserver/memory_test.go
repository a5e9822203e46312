package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
)

// large returns the files of a skill: two large ones, whose answers need reserved memory, and small
// ones.
func large() map[string]string {
	files := many(1)
	files["s-0000/text.txt"] = strings.Repeat("text\n", 2<<20/5)
	files["s-0000/control.txt"] = strings.Repeat("\x01", 2<<20)
	files["s-0000/small.txt"] = strings.Repeat("\x01", 1000)
	return files
}

// readBy returns the calls that read a file, by method.
func readBy(file string) map[string]map[string]any {
	return map[string]map[string]any{
		"resources/read": {"uri": "skill://s-0000/" + file},
		"tools/call":     {"name": "read_file_in_skill", "arguments": map[string]any{"skill_name": "s-0000", "file_path": file}},
	}
}

// TestAnswersTakeRoom checks that without room for memory, a large answer is refused, and a small
// one is not. With room, the answer is sent, and the room is freed.
func TestAnswersTakeRoom(t *testing.T) {
	t.Parallel()
	room := limit.NewBudget(16<<20, 0)
	var busy atomic.Int64
	w := start(t, setting{files: large(), room: room, events: sinkFunc(func(e *mcpserver.Event) {
		if e.Refusal == event.TooBusy && e.Result == event.Busy {
			busy.Add(1)
		}
	})})
	for _, era := range eras {
		c := w.dial(era)
		others := room.Open("")
		for method, params := range readBy("text.txt") {
			others.Try(15 << 20)
			body := c.body(method, params)
			resp := c.post(body)
			want := http.StatusTooManyRequests
			m := read(t, resp)
			if m.code() != -32000 || !strings.HasPrefix(m.Error.Message, "server busy: ") || resp.StatusCode != want || resp.Header.Get("Retry-After") == "" || len(m.ID) == 0 {
				t.Errorf("%s %s: %s %v %+v", era, method, resp.Status, resp.Header, m.Error)
			}
			for method, params := range readBy("small.txt") {
				c.result(method, params, nil)
			}
			others.Settle(t.Context(), 0)
			c.result(method, params, nil)
		}
		others.Close()
	}
	if n := busy.Load(); n != 4 {
		t.Errorf("%d refusals are recorded, want 4", n)
	}
	for end := time.Now().Add(20 * time.Second); room.Held() > 0; runtime.Gosched() { // reads release their memory immediately
		if time.Now().After(end) {
			t.Fatalf("%d bytes are held after all answers", room.Held())
		}
	}
}

// TestControlCharactersDoNotSwell checks that a large file of control characters is a blob as a
// resource, and that tools refuse it with the reason. A small file of control characters is text.
func TestControlCharactersDoNotSwell(t *testing.T) {
	t.Parallel()
	w := start(t, setting{files: large()})
	runner := start(t, setting{files: large(), tools: "runner"})
	for file, swells := range map[string]bool{"control.txt": true, "small.txt": false, "text.txt": false} {
		var r struct {
			Contents []struct {
				Text *string
				Blob []byte
			}
		}
		calls := readBy(file)
		w.dial(modern).result("resources/read", calls["resources/read"], &r)
		if text := r.Contents[0].Text; (text == nil) != swells || swells && len(r.Contents[0].Blob) != 2<<20 {
			t.Errorf("%s: blob of %d bytes", file, len(r.Contents[0].Blob))
		}
		for _, w := range []*site{w, runner} {
			var called struct {
				Content           []struct{ Text string }
				IsError           bool
				StructuredContent *struct {
					Success bool
					Error   string
				}
			}
			w.dial(modern).result("tools/call", calls["tools/call"], &called)
			const want = "ERROR: Cannot read file 'control.txt': most of it is control characters, with which an answer would be too long (2097152 bytes)"
			if called.IsError != swells || swells && called.Content[0].Text != want {
				t.Errorf("%s: %v %.200s", file, called.IsError, called.Content[0].Text)
			}
			if o := called.StructuredContent; o != nil && (o.Success == swells || swells && "ERROR: "+o.Error != want) {
				t.Errorf("%s: %+v", file, o)
			}
		}
	}
}

// discard is a client that reads everything immediately.
type discard struct {
	header http.Header
	n      int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { d.n += len(p); return len(p), nil }

// TestLargeFileIsHeldOnce checks that an answer is written from the bytes of the file, without a
// second copy in memory.
func TestLargeFileIsHeldOnce(t *testing.T) {
	const size = 12 << 20
	files := many(1)
	files["s-0000/text.txt"] = strings.Repeat("a line\n", size/7)
	files["s-0000/data.bin"] = strings.Repeat("\x00\xff", size/2)
	for _, tools := range []string{"default", "runner"} {
		w := start(t, setting{files: files, tools: tools})
		c := w.dial(modern)
		c.result("tools/list", nil, nil)
		for what, call := range map[string]string{
			"a text":          c.body("resources/read", readBy("text.txt")["resources/read"]),
			"a blob":          c.body("resources/read", readBy("data.bin")["resources/read"]),
			"a tool's answer": c.body("tools/call", readBy("text.txt")["tools/call"]),
		} {
			r := c.request("POST", call)
			r.RemoteAddr, r.RequestURI = "127.0.0.1:1", "/mcp"
			d := &discard{header: http.Header{}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w.http.ServeHTTP(d, r)
			runtime.ReadMemStats(&after)
			if took := int(after.TotalAlloc - before.TotalAlloc); d.n < size && (tools == "runner" || what != "a tool's answer") || took > size+size/4 {
				t.Errorf("%s, %s: %d bytes written, %d allocated, of a file of %d", tools, what, d.n, took, size)
			}
		}
	}
}

// TestRoomOverStdio checks that a call without room for its answer is refused over stdio too.
func TestRoomOverStdio(t *testing.T) {
	t.Parallel()
	room := limit.NewBudget(1<<20, 0)
	w := start(t, setting{files: large(), room: room})
	others := room.Open("")
	others.Try(1 << 20)
	var in, out bytes.Buffer
	fmt.Fprintln(&in, initialize("1", legacy))
	params, err := json.Marshal(readBy("text.txt")["resources/read"])
	must(t, err)
	fmt.Fprintf(&in, "%s\n", initialized)
	fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":%s}`+"\n", params)
	must(t, w.server.Run(t.Context(), &mcpserver.StdioTransport{In: &in, Out: &out}))
	if !strings.Contains(out.String(), `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"server busy: too much is being answered at once; try again"}}`) {
		t.Errorf("%.2000s", out.String())
	}
}

// weighed is a client that records how much memory is reserved when an answer begins to arrive.
type weighed struct {
	discard
	room *limit.Budget
	used int64
}

func (w *weighed) Write(p []byte) (int, error) {
	if w.n == 0 {
		w.used = w.room.Held()
	}
	return w.discard.Write(p)
}

// TestAnswersKeepRoom checks that an answer reserves room for its memory until it is written.
func TestAnswersKeepRoom(t *testing.T) {
	t.Parallel()
	const large = 600_000
	files := many(110) // a completion has 100 of these
	files["large/SKILL.md"] = skillMD("large", "Large.", strings.Repeat("a line\n", large/7))
	for i := range 100 {
		files[fmt.Sprintf("large/%d.txt", i)] = ""
	}
	type call struct {
		method string
		params map[string]any
		least  int64
	}
	tool := func(name, argument string, least int64) call {
		return call{"tools/call", map[string]any{"name": name, "arguments": map[string]any{argument: "large"}}, least}
	}
	room := limit.NewBudget(16<<20, 0)
	w := start(t, setting{files: files, room: room, tools: "default,runner"})
	calls := map[string]call{
		"a prompt":   {"prompts/get", map[string]any{"name": "large"}, large},
		"a resource": {"resources/read", map[string]any{"uri": "skill://large/SKILL.md"}, large},
		"an entry":   {"skills/get", map[string]any{"uri": "skill://large/SKILL.md"}, 100 * 200},
		"a folder":   {"resources/directory/read", map[string]any{"uri": "skill://large"}, 100 * 300},
		"a completion": {"completion/complete", map[string]any{
			"ref": map[string]any{"type": "ref/prompt", "name": "large"}, "argument": map[string]any{"name": "arguments", "value": "s"},
		}, 100 * 6},
		"a tool's text":       tool("skill", "name", 15_000), // the tool cuts its text
		"a tool's whole text": tool("get_skill", "skill_name", 2*large),
	}
	for _, era := range eras {
		c := w.dial(era)
		for what, call := range calls {
			r := c.request("POST", c.body(call.method, call.params))
			r.RemoteAddr, r.RequestURI = "127.0.0.1:1", "/mcp"
			d := &weighed{discard: discard{header: http.Header{}}, room: room}
			w.http.ServeHTTP(d, r)
			if d.used < call.least || d.used > 3*call.least {
				t.Errorf("%s, %s: %d bytes are held for an answer of %d, want at least %d", era, what, d.used, d.n, call.least)
			}
		}
	}
}

// TestLargeFileFindsRoom checks that a client can read the largest file as a resource while another
// client holds its whole share of the memory.
func TestLargeFileFindsRoom(t *testing.T) {
	t.Parallel()
	files := many(1)
	files["s-0000/large.txt"] = strings.Repeat("text\n", skill.MaxFile/5)
	room := limit.NewBudget(96<<20, 0)
	w := start(t, setting{files: files, room: room})
	other := room.Open("other")
	defer other.Close()
	if !other.Try(72 << 20) {
		t.Fatal("the other client has no room")
	}
	w.dial(modern).result("resources/read", readBy("large.txt")["resources/read"], nil)
}
