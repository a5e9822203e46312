package console

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// shared is a terminal to which two goroutines write.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// screen returns the last line of a terminal to which text was written, as a person sees it.
func screen(text string) string {
	var line []rune
	at := 0
	for _, r := range text[strings.LastIndex(text, "\n")+1:] {
		switch r {
		case '\r':
			at = 0
		case '\b':
			at--
		default:
			line = append(line[:at], append([]rune{r}, line[min(at+1, len(line)):]...)...)
			at++
		}
	}
	return strings.TrimRight(string(line), " ")
}

// TestProgress checks the progress line from the start of a command to its end.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var err shared
		env := &Env{Stdout: io.Discard, Stderr: &err, StderrTerminal: true, Width: 40}
		_, end := Start(env)
		var n atomic.Int64
		sees := func(after time.Duration, want string) {
			t.Helper()
			if testwait.Advance(after); screen(err.String()) != want {
				t.Errorf("after %v, the line is %q, want %q", after, screen(err.String()), want)
			}
		}
		sees(progressDelay-1, "")
		sees(1, "still working")
		reading := ShowProgress(env, Step{What: "reading skills", Count: func() (int, int) { return int(n.Load()), 0 }, Unit: "folders"})
		n.Store(41_200)
		sees(progressTick, "reading skills: 41,200 folders")
		checking := ShowProgress(env, Step{What: "checking", Count: func() (int, int) { return int(n.Load()), 100_000 }})
		n.Store(7)
		sees(progressTick, "checking: 7 of 100,000")
		checking()
		sees(progressTick, "reading skills: 7 folders")
		sees(progressTime, "reading skills: 7 folders, 2 s; Ctrl-C") // and a column of 40 is free
		io.WriteString(env.Stderr, "warning: x\n")
		if !strings.HasSuffix(err.String(), " \rwarning: x\n") {
			t.Errorf("%q is in the way", err.String())
		}
		sees(progressTick, "reading skills: 7 folders, 2 s; Ctrl-C")
		getting := ShowProgress(env, Step{Text: func() string { return "getting skills: 1.2 MB" }})
		sees(progressTick, "getting skills: 1.2 MB, 2 s; Ctrl-C end")
		getting()
		reading()
		sees(time.Minute, "") // the command wrote something, and may be waiting for the user
		ShowProgress(env, Step{What: "reading again"})
		sees(progressTick, "reading again, 62 s; Ctrl-C ends it")
		end()
		sees(0, "")
		ShowProgress(env, Step{What: "reading again"})
		sees(time.Minute, "")
	})
}

// TestProgressEndsWithOutput checks that the progress line is removed before a command's
// output.
func TestProgressEndsWithOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all shared
		env := &Env{Stdout: &all, Stderr: &all, StderrTerminal: true}
		_, end := Start(env)
		defer end()
		defer ShowProgress(env, Step{What: "reading"})()
		testwait.Advance(time.Second)
		io.WriteString(env.Stdout, "data")
		if testwait.Advance(time.Minute); !strings.HasSuffix(all.String(), "\rdata") || screen(all.String()) != "data" {
			t.Errorf("%q", all.String())
		}
	})
}

// onErase is a writer that calls a function when the progress line is erased.
type onErase func()

func (f onErase) Write(b []byte) (int, error) {
	if bytes.HasSuffix(b, []byte("\r")) {
		f()
	}
	return len(b), nil
}

// TestProgressEndsOnce checks that no goroutine writes before the progress line is erased.
func TestProgressEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		erased := 0
		env := &Env{Stdout: io.Discard, StderrTerminal: true}
		env.Stderr = onErase(func() {
			if erased++; env.progress.over.Load() {
				t.Error("others write already")
			}
		})
		_, end := Start(env)
		testwait.Advance(progressDelay)
		if end(); erased != 1 {
			t.Errorf("the line was removed %d times", erased)
		}
	})
}

// TestProgressFirstSign checks that progress appears during many short steps too.
func TestProgressFirstSign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var err shared
		env := &Env{Stdout: io.Discard, Stderr: &err, StderrTerminal: true}
		_, end := Start(env)
		defer end()
		for range 5 {
			done := ShowProgress(env, Step{What: "step"})
			testwait.Advance(progressDelay / 4)
			done()
		}
		if err.String() == "" {
			t.Error("it says nothing")
		}
	})
}

// TestProgressParts checks how a terminal shows a step that has parts.
func TestProgressParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var err shared
		env := &Env{Stdout: io.Discard, Stderr: &err, StderrTerminal: true}
		_, end := Start(env)
		defer end()
		var parts atomic.Pointer[[]string]
		parts.Store(new([]string))
		defer ShowProgress(env, Step{What: "pulling oci://r.example/a/b", Short: "a/b", Parts: func() []string { return *parts.Load() }})()
		if testwait.Advance(progressDelay); screen(err.String()) != "pulling oci://r.example/a/b" {
			t.Errorf("%q", screen(err.String()))
		}
		parts.Store(&[]string{"12 of 64 layers", "3.1 of 9.2 MB"})
		if testwait.Advance(progressTick); screen(err.String()) != "a/b  12 of 64 layers  3.1 of 9.2 MB" {
			t.Errorf("%q", screen(err.String()))
		}
	})
}

// TestProgressPlain checks that a log gets a line about a long step every 10 s, and none about a
// short or finished step.
func TestProgressPlain(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var err shared
			env := &Env{Stdout: io.Discard, Stderr: &err, StderrTerminal: terminal, Getenv: func(string) string { return "dumb" }}
			_, end := Start(env)
			defer end()
			var parts atomic.Pointer[[]string]
			parts.Store(new([]string))
			step := Step{What: "pulling oci://r.example/a/b", Short: "a/b", Parts: func() []string { return *parts.Load() }}
			done := ShowProgress(env, step)
			testwait.Advance(10*time.Second - 1)
			done()
			if testwait.Advance(time.Minute); err.String() != "" {
				t.Errorf("%q", err.String())
			}
			done = ShowProgress(env, step)
			testwait.Advance(10 * time.Second)
			parts.Store(&[]string{"12 of 64 layers", "3.1 of 9.2 MB"})
			testwait.Advance(10 * time.Second)
			parts.Store(&[]string{"13 of 64 layers", "\x1b[2J\n3.3 of 9.2 MB"})
			testwait.Advance(10 * time.Second)
			done()
			done()
			testwait.Advance(time.Minute)
			const want = "pulling oci://r.example/a/b\npulling oci://r.example/a/b: 12 of 64 layers, 3.1 of 9.2 MB\npulling oci://r.example/a/b: 13 of 64 layers, [2J 3.3 of 9.2 MB\n"
			if err.String() != want {
				t.Errorf("%q, want %q", err.String(), want)
			}
		})
	}
}

// TestProgressNowhere checks that no progress is shown if stderr is not a terminal, or if the
// terminal cannot rewrite a line.
func TestProgressNowhere(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var err shared
			env := &Env{Stdout: io.Discard, Stderr: &err, StderrTerminal: terminal, Getenv: func(string) string { return "dumb" }}
			_, end := Start(env)
			defer ShowProgress(env, Step{What: "reading"})()
			if testwait.Advance(time.Minute); err.String() != "" {
				t.Errorf("%q", err.String())
			}
			end()
		})
	}
}
