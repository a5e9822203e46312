package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// A log is for the operator, and any client can have the server write lines. So a client's
// fault is not logged as an error of the server's, and a line that was written a moment ago
// is not written again.

// Bounds of the log.
const (
	// logPause is how long an equal line is left out after one was written.
	logPause = time.Minute
	// logKinds is how many different lines are told apart; beyond it, lines count as
	// equal that have the same message.
	logKinds = 256
)

// clientFaults begin the lines that the SDK (v1.8.0) logs as errors or warnings of
// its own where a client has sent what it must not, and is told, or has left while
// it was to be told of a change.
var clientFaults = []string{
	"calling notifications/",
	"method invalid during initialization", "method removed in the new protocol", "initialized before initialize",
	"duplicate initialized notification", "duplicate initialize request", "rejecting request with protocol version",
}

// bounded is a log whose lines are bounded as above. It may be put around itself.
func bounded(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	if _, is := log.Handler().(*boundedLog); is {
		return log
	}
	return slog.New(&boundedLog{next: log.Handler(), seen: &seenLines{pause: logPause, now: time.Now, of: map[string]*seenLine{}}})
}

type boundedLog struct {
	next   slog.Handler
	seen   *seenLines
	prefix string // of the attributes and groups that every line has
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
	if slices.ContainsFunc(clientFaults, func(fault string) bool { return strings.HasPrefix(r.Message, fault) }) {
		if r.Level = slog.LevelDebug; !b.next.Enabled(ctx, r.Level) {
			return nil
		}
	}
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

// seenLines are the lines of the last while.
type seenLines struct {
	pause time.Duration
	now   func() time.Time
	mu    sync.Mutex
	of    map[string]*seenLine
}

type seenLine struct {
	at   time.Time // it was last written
	left int       // how often it was left out since
}

// note reports whether to write a line, and how often it was left out before. kind
// replaces it if there are too many to be told apart.
func (s *seenLines) note(line, kind string) (left int, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	seen := s.of[line]
	if seen == nil && len(s.of) >= logKinds {
		for key, old := range s.of {
			if now.Sub(old.at) >= s.pause {
				delete(s.of, key)
			}
		}
		if len(s.of) >= logKinds {
			line = kind
			seen = s.of[line]
		}
	}
	switch {
	case seen == nil && len(s.of) >= 2*logKinds:
		return 0, false // as many messages as that are no messages
	case seen == nil:
		s.of[line] = &seenLine{at: now}
		return 0, true
	case now.Sub(seen.at) < s.pause:
		seen.left++
		return 0, false
	}
	left = seen.left
	seen.at, seen.left = now, 0
	return left, true
}
