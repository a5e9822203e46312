package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver"
)

var modified = regexp.MustCompile(`"lastModified":"[^"]*"`)

var update = flag.Bool("update", false, "rewrite golden files")

// TestWire replays sessions over the stdio transport, one for each file, and compares every byte
// that the server writes. A file has skills and, as its last part, the session:
//
//	> a message of the client's
//	< an answer, or a notification that came before it
//	write PATH and remove PATH change the skills; the file is in NEW/
//	refresh scans; wait N waits for so many notifications
//
// $DIR stands for the folder of the skills, $TIME for when a file was changed.
func TestWire(t *testing.T) {
	transcripts(t, "testdata/wire", func(t *testing.T, _ string, now, later map[string]string, session string) string {
		return newWire(t, now, later).replay(session)
	})
}

// transcripts replays every file of a folder, at least one for each era, and compares the session
// with the file. It passes replay the skills in now, and the files below NEW/ in later.
func transcripts(t *testing.T, dir string, replay func(t *testing.T, name string, now, later map[string]string, session string) string) {
	t.Helper()
	t.Parallel()
	files, err := filepath.Glob(dir + "/*.txtar")
	must(t, err)
	if len(files) < len(eras) {
		t.Fatalf("%d transcripts", len(files))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			must(t, err)
			now, later := map[string]string{}, map[string]string{}
			for _, f := range archive.Files[:len(archive.Files)-1] {
				if name, ok := strings.CutPrefix(f.Name, "NEW/"); ok {
					later[name] = string(f.Data)
					continue
				}
				now[f.Name] = string(f.Data)
			}
			session := &archive.Files[len(archive.Files)-1]
			got := replay(t, name, now, later, string(session.Data))
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

type wire struct {
	t       *testing.T
	root    string
	changes map[string]string // the content for write, by path
	catalog *catalog.Catalog
	in      *io.PipeWriter
	lines   chan string
	ended   chan error
}

func newWire(t *testing.T, now, later map[string]string) *wire {
	root := tree(t, now)
	w := &wire{t: t, root: root, changes: later, catalog: scanned(t, folder(root)), lines: make(chan string, 100), ended: make(chan error, 1)}
	in, client := io.Pipe()
	out, server := io.Pipe()
	w.in = client
	go func() {
		w.ended <- serve(t, w.catalog).Run(context.Background(), &mcpserver.StdioTransport{In: in, Out: server})
		server.Close()
	}()
	go func() {
		defer close(w.lines)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			w.lines <- modified.ReplaceAllString(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), root, "$DIR"), `"lastModified":"$$TIME"`)
		}
	}()
	return w
}

// replay sends the client's lines of the session, and returns the session with the answers that the
// server gives now.
func (w *wire) replay(session string) string {
	var out bytes.Buffer
	for line := range strings.Lines(session) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "< ") {
			continue
		}
		fmt.Fprintln(&out, line)
		for _, said := range w.do(line) {
			fmt.Fprintln(&out, "< "+said)
		}
	}
	w.in.Close()
	for said := range w.lines {
		fmt.Fprintln(&out, "< "+said)
	}
	if err := <-w.ended; err != nil {
		w.t.Error(err)
	}
	return out.String()
}

func (w *wire) do(line string) (said []string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case ">":
		_, err := io.WriteString(w.in, rest+"\n")
		must(w.t, err)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal([]byte(rest), &m)
		switch {
		case m.Method == "subscriptions/listen":
			return w.receive(1) // its acknowledgement
		case m.ID != nil || !json.Valid([]byte(rest)):
			return w.until(m.ID)
		}
	case "write":
		put(w.t, w.root, map[string]string{rest: w.changes[rest]})
	case "remove":
		must(w.t, os.RemoveAll(filepath.Join(w.root, rest)))
	case "refresh":
		must(w.t, w.catalog.Refresh(w.t.Context()))
	case "wait":
		var n int
		_, err := fmt.Sscan(rest, &n)
		must(w.t, err)
		said = w.receive(n)
		slices.Sort(said)                                                             // notifications may come in any order
		testwait.Within(50*time.Millisecond, func() bool { return len(w.lines) > 0 }) // for a message too many
		return append(said, w.receive(len(w.lines))...)
	case "", "#":
	default:
		w.t.Fatalf("what is %q?", line)
	}
	return nil
}

// until receives up to the answer with an id.
func (w *wire) until(id json.RawMessage) (said []string) {
	for {
		next := w.receive(1)
		said = append(said, next...)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		must(w.t, json.Unmarshal([]byte(next[0]), &m))
		if m.Method == "" && (id == nil || bytes.Equal(m.ID, id)) {
			return said
		}
	}
}

func (w *wire) receive(n int) (said []string) {
	w.t.Helper()
	for range n {
		select {
		case line, ok := <-w.lines:
			if !ok {
				w.t.Fatalf("the session ended after %q", said)
			}
			said = append(said, line)
		case <-time.After(30 * time.Second):
			w.t.Fatalf("nothing came after %q", said)
		}
	}
	return said
}
