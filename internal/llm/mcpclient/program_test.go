package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/testwait"
)

const canary = "tok-canary-4f1c9a7e"

// TestProgram checks that the tools of a program are listed and called, in both versions of the
// protocol.
func TestProgram(t *testing.T) {
	for _, protocol := range []string{"", older} {
		t.Run("offers "+protocol, func(t *testing.T) {
			o := options(t)
			o.protocol = protocol
			c := connected(t, as("sdk"), o)
			if want := map[string]string{"": "2026-07-28", older: older}[protocol]; c.Protocol() != want {
				t.Errorf("version %s, want %s", c.Protocol(), want)
			}
			checkTools(t, c)
		})
	}
}

// checkTools checks the list of tools of the SDK's server, and the result of each.
func checkTools(t *testing.T, c *Connection) {
	t.Helper()
	list, err := c.Tools(t.Context())
	must(t, err)
	var names []string
	for _, one := range list {
		names = append(names, one.Name)
		if one.Description != "Does "+one.Own || string(one.Schema) != `{"type":"object"}` || one.Server != "files" {
			t.Errorf("%+v %s", one, one.Schema)
		}
	}
	slices.Sort(names)
	if want := []string{"files__echo", "files__environment", "files__fails", "files__media", "files__secret", "files__structured"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	for tool, want := range map[string]string{
		"echo":       `{"path":"a.txt","n":1}`,
		"fails":      "error: no such file",
		"media":      "one\n[image, 12 kB]\n[audio, 12 B]\n[link to file:///a\\u202e.txt]\nof b\n[resource file:///c.bin, 2 kB]",
		"structured": "[image, 1 B]\n{\"n\":1}",
		"none":       `error: The server refuses the call: unknown tool "none" (-32602)`,
	} {
		text, isError, err := c.Call(t.Context(), tool, []byte(`{"path":"a.txt","n":1}`))
		if isError {
			text = "error: " + text
		}
		if text != want || err != nil {
			t.Errorf("%s: %.300s, %v", tool, text, err)
		}
	}
}

// TestOlder checks connections to servers of the older version, of which some refuse the first
// request of the newest version, and some exit.
func TestOlder(t *testing.T) {
	for _, kind := range []string{"legacy", "ends-at-discover"} {
		t.Run(kind, func(t *testing.T) {
			c := connected(t, as(kind), options(t))
			if text, isError, err := c.Call(t.Context(), "any", nil); text != "done" || isError || err != nil || c.Protocol() != older {
				t.Errorf("%q, %v, %v, %s", text, isError, err, c.Protocol())
			}
		})
	}
}

// TestOlderSilent checks a connection to a server of the older version that does not answer the
// first request.
func TestOlderSilent(t *testing.T) {
	testwait.Slow(t)
	o := options(t)
	o.within = testwait.Patience
	c := connected(t, as("ignores-discover"), o)
	if text, _, err := c.Call(t.Context(), "any", nil); text != "done" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// TestEnvironment checks that a program gets only the stated variables, and runs in the folder of
// the configuration.
func TestEnvironment(t *testing.T) {
	t.Setenv("KNACK_CANARY", canary)
	t.Setenv("ACME_TOKEN", "secret-of-acme")
	s := as("sdk")
	s.Env["ACME_HOME"] = "/srv/acme"
	s.EnvFrom = []string{"ACME_TOKEN"}
	s.Dir = t.TempDir()
	given := map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/home/ana", "LANG": "C", "TMPDIR": t.TempDir(), "ACME_TOKEN": "secret-of-acme", "OTHER": "x"}
	o := options(t)
	o.Getenv = func(name string) string { return given[name] }
	c := connected(t, s, o)
	text, _, err := c.Call(t.Context(), "environment", nil)
	must(t, err)
	if strings.Contains(text, canary) || strings.Contains(text, "secret-of-acme") {
		t.Errorf("a secret is in the result: %s", text)
	}
	if runtime.GOOS == "windows" {
		return
	}
	dir, err := filepath.EvalSymlinks(s.Dir)
	must(t, err)
	got := strings.Split(text, "\n")
	slices.Sort(got)
	want := []string{"ACME_HOME=/srv/acme", "ACME_TOKEN=[redacted]", "HOME=/home/ana", asServer + "=sdk", "LANG=C", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + given["TMPDIR"], "in " + dir}
	if diff := cmp.Diff(want, slices.DeleteFunc(got, func(v string) bool { return strings.HasPrefix(v, "in ") && v == "in "+s.Dir && dir != s.Dir })); diff != "" {
		t.Error(diff)
	}
}

// TestCannotStart checks the error for each program that cannot be started or does not speak
// MCP.
func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"text": 0o755, "locked": 0o600} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!"+filepath.Join(dir, "none")+"\n"), mode))
	}
	t.Setenv("ACME_TOKEN", canary)
	for name, c := range map[string]struct {
		server   Server
		what     string
		fix      string
		unixOnly bool
	}{
		"no program":        {Server{Command: []string{"knack-no-such-program"}}, "there is no program 'knack-no-such-program'", "install it, or write its whole path in servers.files.command", false},
		"no file":           {Server{Command: []string{"./none"}, Dir: dir}, "there is no program './none', or it needs one that is not there", "check servers.files.command", true},
		"no interpreter":    {Server{Command: []string{"./text"}, Dir: dir}, "there is no program './text', or it needs one that is not there", "check servers.files.command", true},
		"not executable":    {Server{Command: []string{"./locked"}, Dir: dir}, "the program './locked' may not be run", "make the file executable for the user who runs knack", true},
		"exits":             {as("exits"), "the program has ended: exit status 3; it said: Error: no module 'acme'", "", false},
		"closes its output": {as("closes"), "the program has closed its standard output", "", true},
		"garbage":           {as("chats"), "no answer came within WITHIN; the program writes something other than MCP to its standard output: 'listening on port 3000'", "check servers.files.command; some programs need an argument to speak MCP over standard input and output", false},
		"floods lines":      {as("floods-lines"), "the program writes something other than MCP to its standard output: listening on port 3000", "", false},
		"floods":            {as("floods"), "the program sends a line without end", "", false},
		"pings":             {as("pings"), "the program asks more than it takes answers", "", false},
		"silent":            {as("silent"), "no answer came within WITHIN", "servers.files.timeout in knack.yaml gives a request more time", false},
		"stubborn":          {as("stubborn " + filepath.Join(dir, "pid")), "", "", false},
		"variable":          {Server{Command: []string{"x"}, EnvFrom: []string{"KNACK_NOT_SET"}}, "the variable KNACK_NOT_SET of env-from is not set", "set it, or leave it out of servers.files.env-from", false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.unixOnly && runtime.GOOS == "windows" || name == "closes its output" && testing.Short() {
				t.Skip("another system, or a wait of a second")
			}
			nothingLeft(t)
			c.server.Name = "files"
			o := options(t)
			o.within = testwait.Patience
			if strings.HasPrefix(c.what, "no answer") {
				o.within = 250 * time.Millisecond
			}
			got, err := Connect(t.Context(), c.server, o)
			for name == "garbage" && o.within < testwait.Patience && !strings.Contains(err.Error(), "writes") { // it has not started yet
				o.within *= 2
				got, err = Connect(t.Context(), c.server, o)
			}
			c.what = strings.Replace(c.what, "WITHIN", o.within.String(), 1)
			if c.what == "" {
				must(t, err)
				got.Close(t.Context())
				return
			}
			var e *Error
			if !errors.As(err, &e) || e.What != c.what || e.Fix != c.fix || e.Error() != "files: "+c.what {
				t.Errorf("%+v\nwant %s\n%s", err, c.what, c.fix)
			}
		})
	}
}

// TestCalls checks the error for each call without a result, and that a program that was not ended
// answers the next call.
func TestCalls(t *testing.T) {
	t.Parallel()
	for tool, c := range map[string]struct {
		what string
		ends bool
	}{
		"dies":     {"the program has ended: exit status 7; it said: fatal error: out of cheese", true},
		"never":    {"no answer came within 200ms", false},
		"huge":     {"the answer is larger than 4 MiB", false},
		"gigabyte": {"the program sends a line without end", true},
		"odd":      {`the server's answer cannot be understood: calling "tools/call": unrecognized content type "hologram"`, false},
		"wrong":    {`the server's answer cannot be understood`, false},
	} {
		t.Run(tool, func(t *testing.T) {
			s := as("legacy")
			s.Timeout = testwait.Patience
			conn := connected(t, s, options(t))
			if tool == "never" {
				conn.server.Timeout = 200 * time.Millisecond
			}
			for range 2 {
				text, isError, err := conn.Call(t.Context(), tool, []byte("{}"))
				if err == nil || err.Error() != "files: "+c.what || text != "" || isError {
					t.Errorf("%q, %v, %v\nwant %s", text, isError, err, c.what)
				}
			}
			conn.server.Timeout = testwait.Patience
			if text, _, err := conn.Call(t.Context(), "any", nil); (err == nil && text == "done") == c.ends {
				t.Errorf("afterwards: %q, %v", text, err)
			}
		})
	}
}

// TestInterrupted checks that a call ends with its context, and that the program answers
// the next one.
func TestInterrupted(t *testing.T) {
	c := connected(t, as("legacy"), options(t))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, _, err := c.Call(ctx, "never", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if text, _, err := c.Call(t.Context(), "any", nil); text != "done" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// TestDeaf checks that a program that does not read its input is ended.
func TestDeaf(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a second")
	}
	s := as("legacy")
	s.Timeout = testwait.Patience
	c := connected(t, s, options(t))
	if _, _, err := c.Call(t.Context(), "deaf", nil); err != nil {
		t.Fatal(err)
	}
	c.server.Timeout = 200 * time.Millisecond
	large := fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 1<<20))
	if _, _, err := c.Call(t.Context(), "any", large); err == nil || err.Error() != "files: the program does not read its input" && err.Error() != "files: no answer came within 200ms" {
		t.Errorf("%v", err)
	}
	testwait.Until(t, func() bool {
		_, _, err := c.Call(t.Context(), "any", nil)
		return err != nil && err.Error() == "files: the program does not read its input"
	}, "the program is still used")
}

// TestStandardError checks that a program's stderr is reported in cut lines, without secrets, and
// bounded.
func TestStandardError(t *testing.T) {
	t.Setenv("ACME_TOKEN", canary)
	var lines, size atomic.Int64
	o := options(t)
	o.Said = func(line string) {
		lines.Add(1)
		size.Add(int64(len(line)))
		if strings.Contains(line, canary) || !strings.HasPrefix(line, "[redacted]eee") {
			t.Errorf("%q", line)
		}
	}
	s := as("floods-stderr")
	s.EnvFrom = []string{"ACME_TOKEN"}
	c := connected(t, s, o)
	if text, _, err := c.Call(t.Context(), "any", nil); text != "done" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	testwait.Until(t, func() bool { return lines.Load() == maxSaid }, "the last line")
	c.Close(t.Context())
	if lines.Load() != maxSaid || size.Load() > maxSaid*display.EchoLimit {
		t.Errorf("%d lines with %d bytes", lines.Load(), size.Load())
	}
}

// TestTwice checks that a connection can be closed twice, and during a call.
func TestTwice(t *testing.T) {
	c := connected(t, as("legacy"), options(t))
	called := make(chan error)
	go func() {
		_, _, err := c.Call(context.Background(), "never", nil)
		called <- err
	}()
	time.AfterFunc(10*time.Millisecond, func() { c.Close(context.Background()) })
	if err := <-called; err == nil {
		t.Error("a call has a result")
	}
	c.Close(t.Context())
	if _, _, err := c.Call(t.Context(), "any", nil); err == nil {
		t.Error("a call has a result")
	}
}

// TestAsks checks the replies to a server's own requests: a pong, no roots, and errors.
func TestAsks(t *testing.T) {
	c := connected(t, as("legacy"), options(t))
	text, _, err := c.Call(t.Context(), "asks", nil)
	must(t, err)
	replies := strings.Split(strings.ReplaceAll(text, "\n\n", "\n"), "\n")
	want := []string{`{}`, `{"jsonrpc":"2.0","id":"q","result":{}}`, `{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}`}
	if diff := cmp.Diff(want, replies[:3]); diff != "" {
		t.Error(diff)
	}
	for _, reply := range replies[3:5] {
		if !strings.Contains(reply, `"error":{"code":`) {
			t.Error(reply)
		}
	}
	if text, isError, err := c.Call(t.Context(), "wants", nil); !isError || err != nil || text != "The server asks for something before it answers, which knack does not give." {
		t.Errorf("%q, %v, %v", text, isError, err)
	}
}
