package usagefile

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/internal/server/usage"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// server is the part of a server that keeps the counts.
type server struct {
	t      *testing.T
	tally  *usage.Tally
	view   catalog.View
	ledger *Ledger
	log    lines
}

// lines is a log that can be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts a server in a synctest bubble, and waits until it has read the file.
func start(t *testing.T, file string) *server {
	s := &server{t: t, tally: usage.New(), view: skilltest.View(t, skilltest.Catalog(t, skilltest.Project(map[string]string{"git/SKILL.md": skilltest.Document("git", "Branches.")})))}
	s.ledger = Open(file, s.tally, slog.New(slog.NewTextHandler(&s.log, nil)))
	synctest.Wait()
	return s
}

func (s *server) use() {
	s.tally.Record(&event.Event{Surface: event.MCP, Method: "tools/call", Client: "editor", Tool: "skill", Asked: "git", Result: event.OK, View: s.view})
}

// loaded checks how often the skill was loaded according to the tally.
func (s *server) loaded(want uint64) {
	s.t.Helper()
	if got := s.tally.Uses(s.view.Named("git")); got != want {
		s.t.Errorf("%d loads, want %d", got, want)
	}
}

// said checks that each text is in the log once, and that the page says how the counts are kept.
func (s *server) said(keeping usage.Keeping, texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if strings.Count(s.log.String(), text) != 1 {
			s.t.Errorf("the log does not say %q once:\n%s", text, s.log.String())
		}
	}
	if len(texts) == 0 && s.log.String() != "" { // neither a warning nor an error
		s.t.Errorf("the log says %s", s.log.String())
	}
	if got := s.tally.Keeping(); got != keeping {
		s.t.Errorf("the page says %d, want %d", got, keeping)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestKeeps checks that the counts are written at intervals and at the end, and that the next
// process continues them.
func TestKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "state", "usage.json")
		s := start(t, file)
		empty := read(t, file)
		s.use()
		testwait.Advance(interval - 1)
		if read(t, file) != empty {
			t.Error("it is written early")
		}
		testwait.Advance(1)
		written := read(t, file)
		if !strings.Contains(written, `"loaded":1`) {
			t.Error(written)
		}
		before, _ := os.Stat(file)
		testwait.Advance(interval)
		if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
			t.Errorf("it is written although nothing changed: %v", err)
		}
		s.use()
		s.ledger.Close()
		s.said(usage.InFile)
		if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others can read it: %v %v", info.Mode(), err)
		}
		next := start(t, file)
		next.loaded(2)
		next.use()
		next.ledger.Close()
		next.said(usage.InFile)
		if !strings.Contains(read(t, file), `"loaded":3`) {
			t.Error(read(t, file))
		}
	})
}

// TestUnreadable checks that a server starts with any file, reports its fault, and never
// overwrites a file that it could not read.
func TestUnreadable(t *testing.T) {
	whole := string(usage.New().Encode())
	for name, c := range map[string]struct{ text, reason string }{
		"cut short":       {whole[:40], "it is cut short"},
		"not JSON":        {`{"version":1,x`, "it is not JSON at byte 14"},
		"zeros":           {strings.Repeat("\x00", 80), "it is not JSON at byte 1"},
		"another version": {`{"version":2}`, "it is of another version of knack"},
		"another kind":    {`{"version":[1]}`, "it is JSON of another kind"},
		"huge":            {strings.Repeat(" ", maxSize) + "{}", "it has more than 32 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				file := filepath.Join(dir, "usage.json")
				put(t, file, c.text)
				put(t, file+".bak", "an older one")
				s := start(t, file)
				s.said(usage.InFile, `reason="`+c.reason, "now=usage.json.bak1")
				s.use()
				s.ledger.Close()
				if read(t, file+".bak1") != c.text || read(t, file+".bak") != "an older one" {
					t.Error("what could not be read is gone")
				}
				if !strings.Contains(read(t, file), `"loaded":1`) {
					t.Error(read(t, file))
				}
			})
		})
	}
}

// TestForeign checks that a server does not change a file without counts that usage.file names by
// mistake.
func TestForeign(t *testing.T) {
	for name, text := range map[string]string{
		"settings": "http: {listen: 8080}\n", "key": "-----BEGIN PRIVATE KEY-----\n", "audit log": `{"time":"2026-11-21T05:20:00.1Z","surface":"mcp"}` + "\n", "list": "[1]",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "usage.json")
				put(t, file, text)
				s := start(t, file)
				s.said(usage.Failing, `reason="it is not a file of counts"`, `fix="name another file in usage.file, or remove this one"`)
				s.use()
				s.ledger.Close()
				if read(t, file) != text {
					t.Error(read(t, file))
				}
			})
		})
	}
}

// TestUnusable checks that a server continues to count if it cannot use its file, logs that once,
// and writes the file as soon as it can.
func TestUnusable(t *testing.T) {
	for name, c := range map[string]struct {
		spoil, mend func(t *testing.T, file string)
		reason      string
	}{
		"a folder": {
			func(t *testing.T, file string) { must(t, os.Mkdir(file, 0o700)) },
			func(t *testing.T, file string) { must(t, os.Remove(file)) },
			"not a regular file",
		},
		"no folder": {
			func(t *testing.T, file string) { put(t, filepath.Dir(file), "") },
			func(t *testing.T, file string) { must(t, os.Remove(filepath.Dir(file))) },
			"not a directory",
		},
		"a link": {
			func(t *testing.T, file string) { put(t, file+".far", ""); must(t, os.Symlink(file+".far", file)) },
			func(t *testing.T, file string) { must(t, os.Remove(file)) },
			"it is a link",
		},
		"a lock that is no file": {
			func(t *testing.T, file string) { must(t, os.Mkdir(file+".lock", 0o700)) },
			func(t *testing.T, file string) { must(t, os.Remove(file+".lock")) },
			"it is not a regular file",
		},
		"another server": {
			func(t *testing.T, file string) {
				unlock, err := edit.Lock(file)
				must(t, err)
				releaseLock = unlock
			},
			func(*testing.T, string) { releaseLock() },
			"another server uses it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "state", "usage.json")
				if name != "no folder" {
					must(t, os.Mkdir(filepath.Dir(file), 0o700))
				}
				c.spoil(t, file)
				s := start(t, file)
				s.use()
				testwait.Advance(3 * interval)
				s.said(usage.Failing, "the counts are in memory alone", c.reason, "fix=")
				c.mend(t, file)
				s.use()
				testwait.Advance(interval)
				s.said(usage.InFile, "the usage file is written again")
				if !strings.Contains(read(t, file), `"loaded":2`) {
					t.Error(read(t, file))
				}
				s.ledger.Close()
			})
		})
	}
}

// releaseLock releases the lock of another server on the file.
var releaseLock func()

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTwoServers checks that the second of two servers does not write the file until the first has
// ended, and then adds its counts.
func TestTwoServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "usage.json")
		first, second := start(t, file), start(t, file)
		first.use()
		second.use()
		testwait.Advance(interval)
		second.said(usage.Failing, "another server uses it")
		first.said(usage.InFile)
		first.ledger.Close()
		testwait.Advance(interval)
		second.loaded(2)
		second.ledger.Close()
		if !strings.Contains(read(t, file), `"loaded":2`) {
			t.Error(read(t, file))
		}
	})
}

// TestChangedByAnother checks that a file that another program has written is not overwritten, and
// that a removed file is created again.
func TestChangedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "usage.json")
		s := start(t, file)
		s.use()
		must(t, os.Remove(file))
		testwait.Advance(interval)
		s.said(usage.InFile)
		if !strings.Contains(read(t, file), `"loaded":1`) {
			t.Error(read(t, file))
		}
		put(t, file, "mine")
		s.use()
		testwait.Advance(2 * interval)
		s.said(usage.Failing, "another program has changed it")
		s.ledger.Close()
		s.said(usage.Failing, "the last counts of usage are lost")
		if read(t, file) != "mine" {
			t.Error("the other program's file is overwritten")
		}
	})
}
