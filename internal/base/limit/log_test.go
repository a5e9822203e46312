package limit

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// lines returns a log, and a function that returns the lines written to it, without times.
func lines() (*slog.Logger, func() []string) {
	var b bytes.Buffer
	h := slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return slog.New(h), func() []string { return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") }
}

func TestLogIsBounded(t *testing.T) {
	plain, got := lines()
	log := Log(plain)
	if Log(log) != log {
		t.Error("it is bounded twice")
	}
	now := time.Unix(1, 0)
	log.Handler().(*boundedLog).seen.now = func() time.Time { return now }
	for range 1000 {
		log.Error("the disk is full", "at", "/a")
	}
	log.Error("the disk is full", "at", "/b")
	log.Warn("the disk is full", "at", "/a")
	log.With("who", "x").Error("the disk is full", "at", "/a")
	log.WithGroup("who").Error("the disk is full", "at", "/a")
	now = now.Add(logPause)
	log.Error("the disk is full", "at", "/a")
	now = now.Add(logPause)
	log.Error("the disk is full", "at", "/a")
	want := []string{
		`level=ERROR msg="the disk is full" at=/a`, `level=ERROR msg="the disk is full" at=/b`, `level=WARN msg="the disk is full" at=/a`,
		`level=ERROR msg="the disk is full" who=x at=/a`, `level=ERROR msg="the disk is full" who.at=/a`,
		`level=ERROR msg="the disk is full" at=/a repeated=999`, `level=ERROR msg="the disk is full" at=/a`,
	}
	difftest.Same(t, got(), want)
}

// TestLogIsBoundedWhereEveryLineDiffers checks that lines that all differ are also bounded, and
// that lines of another kind are still written.
func TestLogIsBoundedWhereEveryLineDiffers(t *testing.T) {
	plain, got := lines()
	log := Log(plain)
	now := time.Unix(1, 0)
	log.Handler().(*boundedLog).seen.now = func() time.Time { return now }
	for i := range 40 * logKinds {
		log.Warn("a file cannot be read", "at", i)
		log.Warn(fmt.Sprintf("message %d", i))
	}
	if n := len(got()); n > 2*logKinds+1 {
		t.Errorf("%d lines", n)
	}
	if n := len(log.Handler().(*boundedLog).seen.lines); n > 2*logKinds {
		t.Errorf("%d are remembered", n)
	}
	now = now.Add(logPause)
	log.Warn("something else")
	if all := got(); all[len(all)-1] != `level=WARN msg="something else"` {
		t.Error(all[len(all)-1])
	}
}
