package limit

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Bounds on a log.
const (
	// logPause is the minimum time between equal lines.
	logPause = time.Minute
	// logKinds bounds the number of different lines that are counted separately. Beyond that, lines
	// with the same message count as equal.
	logKinds = 256
)

// Log returns a log that writes equal lines at most once a minute, unless hundreds of other lines
// came in between. A line includes how often it was left out before. If log comes from Log already,
// it is returned unchanged.
func Log(log *slog.Logger) *slog.Logger {
	if _, ok := log.Handler().(*boundedLog); ok {
		return log
	}
	return slog.New(&boundedLog{next: log.Handler(), seen: &seenLines{now: time.Now, lines: map[string]*seenLine{}}})
}

type boundedLog struct {
	next   slog.Handler
	seen   *seenLines
	prefix string // the attributes and groups of every line
}

func (b *boundedLog) Enabled(ctx context.Context, level slog.Level) bool {
	return b.next.Enabled(ctx, level)
}

func (b *boundedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &boundedLog{b.next.WithAttrs(attrs), b.seen, fmt.Sprint(b.prefix, attrs, "\x00")}
}

func (b *boundedLog) WithGroup(name string) slog.Handler {
	return &boundedLog{b.next.WithGroup(name), b.seen, fmt.Sprint(b.prefix, name, "\x01")}
}

func (b *boundedLog) Handle(ctx context.Context, r slog.Record) error {
	line := strings.Builder{}
	fmt.Fprint(&line, b.prefix, r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool { fmt.Fprint(&line, "\x00", a); return true })
	repeated, write := b.seen.note(line.String(), r.Level.String()+r.Message)
	if !write {
		return nil
	}
	if repeated > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("repeated", repeated))
	}
	return b.next.Handle(ctx, r)
}

// seenLines stores the recent lines.
type seenLines struct {
	now   func() time.Time
	mu    sync.Mutex
	lines map[string]*seenLine
}

type seenLine struct {
	at   time.Time // of the last write
	left int       // how often the line was left out since then
}

// note reports whether to write a line, and how often it was left out before. If there are too many
// different lines, note counts the line's kind instead.
func (s *seenLines) note(line, kind string) (left int, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	seen := s.lines[line]
	if seen == nil && len(s.lines) >= logKinds {
		for key, old := range s.lines {
			if now.Sub(old.at) >= logPause {
				delete(s.lines, key)
			}
		}
		if len(s.lines) >= logKinds {
			line = kind
			seen = s.lines[line]
		}
	}
	switch {
	case seen == nil && len(s.lines) >= 2*logKinds:
		return 0, false // with so many kinds of messages, none is important
	case seen == nil:
		s.lines[line] = &seenLine{at: now}
		return 0, true
	case now.Sub(seen.at) < logPause:
		seen.left++
		return 0, false
	}
	left = seen.left
	seen.at, seen.left = now, 0
	return left, true
}
