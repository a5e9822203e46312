package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var at = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// troubles collects the errors that a log reports.
type troubles struct {
	mu  sync.Mutex
	all []string
}

func (r *troubles) hear(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, fmt.Sprint(err))
}

func (r *troubles) said() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// sums counts the events in a log, and the lost events that the log reports.
func sums(t *testing.T, text string) (written, lost uint64) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		var e event.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		if e.Result == event.Lost {
			lost += e.Times
		} else {
			written++
		}
	}
	return written, lost
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		event event.Event
		want  string
	}{
		{event.Event{Time: at, Result: event.OK}, `{"time":"2026-01-02T03:04:05.678Z","result":"ok"}`},
		{event.Event{
			Time: at, Surface: event.MCP, Subject: "anna", Client: "cursor", Address: "192.0.2.1", Method: "tools/call", Tool: "skill", Asked: "git", File: "a/b",
			Loaded: []catalog.Load{{URI: "skill://git/SKILL.md", Digest: skill.Digest{1}, Size: 12}}, Result: event.OK, Status: 200, Times: 2,
		}, `{"time":"2026-01-02T03:04:05.678Z","surface":"mcp","subject":"anna","client":"cursor","address":"192.0.2.1","method":"tools/call","tool":"skill","asked":"git","file":"a/b",` +
			`"loaded":[{"uri":"skill://git/SKILL.md","digest":"sha256:01` + strings.Repeat("0", 62) + `","size":12}],"result":"ok","status":200,"times":2}`},
		{event.Event{Time: at, Asked: "a\n{\"result\":\"ok\"}\x00\x1b[2J\u0085\u202e\u200b\U000e0041\xff", Result: event.NotFound},
			`{"time":"2026-01-02T03:04:05.678Z","asked":"a\n{\"result\":\"ok\"}\u0000\u001b[2J\u0085\u202e\u200b\udb40\udc41\ufffd","result":"not found"}`},
		{event.Event{Time: at, Client: strings.Repeat("ä", 10_000), Result: event.OK}, `{"time":"2026-01-02T03:04:05.678Z","client":"` + strings.Repeat("ä", 256) + `…","result":"ok"}`},
	} {
		got := string(appendLine(nil, c.event))
		if got != c.want+"\n" {
			t.Errorf("%q\nwant %q", got, c.want)
		}
		var back event.Event
		if err := json.Unmarshal([]byte(got), &back); err != nil {
			t.Error(err)
		}
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l, err := Open(path, Options{})
	must(t, err)
	l.Record(&event.Event{Time: at, Asked: "one", Result: event.OK})
	must(t, l.Close())
	l.Record(&event.Event{Time: at, Asked: "after the end", Result: event.OK})
	if err := l.Close(); err != nil {
		t.Error("closed twice:", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	// If the last writer was killed within a line, the next one begins a new line.
	torn := read(t, path) + `{"time":"2026-`
	must(t, os.WriteFile(path, []byte(torn), 0o600))
	if l, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	l.Record(&event.Event{Time: at, Asked: "two", Result: event.OK})
	must(t, l.Close())
	if got, want := read(t, path), torn+"\n"+string(appendLine(nil, event.Event{Time: at, Asked: "two", Result: event.OK})); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	var none *Log
	none.Record(&event.Event{})
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}

// TestRotation checks that every line is in one of the kept files, in order, and that no file is
// larger than the bound.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.log")
	const size, keep = 1000, 3
	var heard troubles
	l, err := Open(path, Options{MaxSize: size, Keep: keep, Trouble: heard.hear})
	must(t, err)
	const n = 100
	for i := range n {
		l.Record(&event.Event{Time: at, Asked: fmt.Sprintf("%03d", i), Result: event.OK})
		decided(t, l, uint64(i+1)) // each is a batch of its own
		must(t, l.Reopen())
	}
	must(t, l.Close())
	var all string
	for _, name := range []string{".3", ".2", ".1", ""} {
		text := read(t, path+name)
		if len(text) > size || len(text) < size/2 && name != "" {
			t.Errorf("audit.log%s has %d bytes", name, len(text))
		}
		if info, err := os.Stat(path + name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("audit.log%s: %v %v", name, info.Mode(), err)
		}
		all += text
	}
	line := len(appendLine(nil, event.Event{Time: at, Asked: "000", Result: event.OK}))
	first := n - len(all)/line
	var want strings.Builder
	for i := first; i < n; i++ {
		want.Write(appendLine(nil, event.Event{Time: at, Asked: fmt.Sprintf("%03d", i), Result: event.OK}))
	}
	if all != want.String() {
		t.Errorf("the files hold\n%swant\n%s", all, want.String())
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != keep+1 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	if said := heard.said(); len(said) > 0 {
		t.Error(said)
	}
}

// TestRotationFails checks that the current file grows if the next file cannot be created, and that
// this is reported once.
func TestRotationFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	must(t, os.MkdirAll(path+".1/in the way", 0o700))
	var heard troubles
	l, err := Open(path, Options{MaxSize: 200, Keep: 1, Trouble: heard.hear})
	must(t, err)
	for i := range 20 {
		l.Record(&event.Event{Time: at, Result: event.OK})
		decided(t, l, uint64(i+1))
		_ = l.Reopen()
	}
	must(t, l.Close())
	if written, lost := sums(t, read(t, path)); written != 20 || lost != 0 {
		t.Errorf("%d lines, %d lost", written, lost)
	}
	if said := heard.said(); len(said) != 1 || !strings.Contains(said[0], "another file cannot be begun, so this one grows: ") {
		t.Errorf("%q", said)
	}
}

// TestReopen checks that a log continues in a new file after another program has moved its file.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l, err := Open(path, Options{})
	must(t, err)
	l.Record(&event.Event{Time: at, Asked: "one", Result: event.OK})
	decided(t, l, 1)
	must(t, os.Rename(path, path+".moved"))
	must(t, l.Reopen())
	l.Record(&event.Event{Time: at, Asked: "two", Result: event.OK})
	decided(t, l, 2)
	must(t, os.Rename(path, path+".2"))
	must(t, os.Mkdir(path, 0o700))
	if err := l.Reopen(); err == nil {
		t.Error("reopened a folder")
	}
	l.Record(&event.Event{Time: at, Asked: "three", Result: event.OK})
	must(t, l.Close())
	for name, want := range map[string][]string{".moved": {"one"}, ".2": {"two", "three"}} {
		var lines string
		for _, asked := range want {
			lines += string(appendLine(nil, event.Event{Time: at, Asked: asked, Result: event.OK}))
		}
		if got := read(t, path+name); got != lines {
			t.Errorf("%s: %s", name, got)
		}
	}
	if err := l.Reopen(); err != nil {
		t.Error("after its end:", err)
	}
}

// decided waits until each of n events is written or lost. A reader can see half of a line that is
// being written.
func decided(t *testing.T, l *Log, n uint64) {
	t.Helper()
	testwait.Until(t, func() bool { written, lost := l.Totals(); return written+lost == n }, n, "events, now:", func() string { return fmt.Sprint(l.Totals()) })
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrIrregular) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none", "audit.log"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// gate is a writer that blocks until it is opened.
type gate struct {
	bytes.Buffer
	opened chan struct{}
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.opened
	return g.Buffer.Write(p)
}

// TestFullQueue checks that Record never waits for a writer that blocks. Lines that do not fit are
// lost, counted, and reported with the next line.
func TestFullQueue(t *testing.T) {
	w := &gate{opened: make(chan struct{})}
	var heard troubles
	l := OnWriter(w, Options{Trouble: heard.hear})
	const n = 3 * maxWaiting
	for range n { // a call that waits would wait forever
		l.Record(&event.Event{Time: at, Asked: "x", Result: event.OK})
	}
	if l.Lost() == 0 {
		t.Fatal("nothing is lost, so that nothing is shown")
	}
	if said := heard.said(); len(said) != 1 || said[0] != "lines come faster than they can be written" {
		t.Errorf("%q", said)
	}
	close(w.opened)
	decided(t, l, n)
	must(t, l.Close())
	if written, lost := sums(t, w.String()); written+lost != n || lost == 0 {
		t.Errorf("%d written and %d said to be lost, of %d", written, lost, n)
	}
	if said := heard.said(); len(said) != 2 || said[1] != "<nil>" {
		t.Errorf("%q", said)
	}
}
