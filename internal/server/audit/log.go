package audit

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/server/event"
)

// Options configure a log.
type Options struct {
	// MaxSize is the size in bytes at which the log begins another file, and Keep the number of
	// older files. A MaxSize of 0 leaves rotation to another program, which must be followed by
	// [Log.Reopen].
	MaxSize int64
	Keep    int
	// Trouble, if set, is called with the error that prevents writing, and with nil when writing
	// works again. It is also called with any other error. It must not block.
	Trouble func(error)
}

// The bounds of the queue. Lines beyond them are lost and counted.
const (
	maxWaiting = 8192
	maxBatch   = 64 << 10
	// closeGrace is the time for which Close waits for a disk.
	closeGrace = 5 * time.Second
)

// Log writes events in its own goroutine, so that callers never wait for a disk. A line is lost if
// the queue is full or the write fails. The next line that is written reports how many were lost.
type Log struct {
	to    sink
	o     Options
	queue chan event.Event

	mu      sync.Mutex // protects the fields below
	lost    uint64     // lost lines that no line has reported yet
	written uint64     // lines written since the start
	missing uint64     // lines lost since the start
	closed  bool
	failing bool

	reopen chan chan error
	ending chan struct{}
	ended  chan struct{}
}

// sink writes whole lines. write returns the number of bytes of the lines that it wrote completely.
// After a partial line, the next write begins with a line break.
type sink interface {
	write(lines []byte) (int, error)
	reopen() error
	close() error
}

// OnWriter returns a log that writes to a stream. The stream is never closed.
func OnWriter(w io.Writer, o Options) *Log { return start(&stream{w: w}, o) }

// Open returns a log that writes to a file. It creates a missing file that only its owner can
// read.
func Open(path string, o Options) (*Log, error) {
	f := &file{path: path, maxSize: o.MaxSize, keep: o.Keep, trouble: o.Trouble}
	if err := f.open(); err != nil {
		return nil, err
	}
	return start(f, o), nil
}

func start(to sink, o Options) *Log {
	if o.Trouble == nil {
		o.Trouble = func(error) {}
	}
	l := &Log{to: to, o: o, queue: make(chan event.Event, maxWaiting), reopen: make(chan chan error), ending: make(chan struct{}), ended: make(chan struct{})}
	go l.run()
	return l
}

// Record queues an event and returns immediately. It redacts the strings that the client chose. A
// nil log records nothing.
func (l *Log) Record(ev *event.Event) {
	if l == nil || ev.Unlogged {
		return
	}
	e := *ev
	e.View = catalog.View{} // so that the queue retains no snapshot
	if e.Time.IsZero() {
		e.Time = time.Now().UTC()
	}
	if e.Surface != event.Server && e.Surface != event.Source {
		for _, text := range []*string{&e.Client, &e.Tool, &e.Asked, &e.File} {
			if *text != "" {
				*text = display.RedactURI(*text)
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.queue <- e:
	default:
		l.lost++
		l.missing++
		l.fails(errors.New("lines come faster than they can be written"))
	}
}

// Lost returns the number of lost lines that no line has reported yet.
func (l *Log) Lost() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Totals returns the numbers of written and lost events since the log began, including losses
// that no line has reported. A nil log returns zeros.
func (l *Log) Totals() (written, lost uint64) {
	if l == nil {
		return 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written, l.missing
}

// fails reports an error unless the previous write failed too. The caller holds mu.
func (l *Log) fails(err error) {
	if !l.failing {
		l.failing = true
		l.o.Trouble(err)
	}
}

// Reopen continues the log in the file that is now at its path.
func (l *Log) Reopen() error {
	done := make(chan error, 1)
	select {
	case l.reopen <- done:
		return <-done
	case <-l.ended:
		return nil
	}
}

// Close writes the queued lines and closes the log. It gives up if the disk hangs.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.ending)
	}
	l.mu.Unlock()
	select {
	case <-l.ended:
	case <-time.After(closeGrace):
		return errors.New("the disk does not answer")
	}
	if n := l.Lost(); n > 0 {
		return errLost(n)
	}
	return nil
}

func (l *Log) run() {
	defer close(l.ended)
	for {
		select {
		case e := <-l.queue:
			l.batch(e)
		case done := <-l.reopen:
			done <- l.to.reopen()
		case <-l.ending:
			for {
				select {
				case e := <-l.queue:
					l.batch(e)
					continue
				default:
				}
				l.put(nil, 0) // only a line with the number of lost lines
				if err := l.to.close(); err != nil {
					l.o.Trouble(err)
				}
				return
			}
		}
	}
}

// batch writes an event and the events queued after it.
func (l *Log) batch(e event.Event) {
	lines, n := appendLine(nil, e), 1
	for len(lines) < maxBatch {
		select {
		case e = <-l.queue:
			lines = appendLine(lines, e)
			n++
			continue
		default:
		}
		break
	}
	l.put(lines, n)
}

// put writes n lines. Before them, it writes a line with the number of lost lines, if any.
func (l *Log) put(lines []byte, n int) {
	l.mu.Lock()
	lost := l.lost
	l.mu.Unlock()
	if lost > 0 {
		missing := appendLine(nil, event.Event{Time: time.Now().UTC(), Result: event.Lost, Times: lost})
		if _, err := l.to.write(missing); err != nil {
			l.fail(0, n, err)
			return
		}
		l.mu.Lock()
		l.lost -= lost
		l.mu.Unlock()
	}
	took, err := l.to.write(lines)
	if err != nil {
		whole := bytes.Count(lines[:took], []byte("\n"))
		l.fail(whole, n-whole, err)
		return
	}
	l.mu.Lock()
	l.written += uint64(n)
	recovered := l.failing && l.lost == 0
	if recovered {
		l.failing = false
	}
	l.mu.Unlock()
	if recovered {
		l.o.Trouble(nil)
	}
}

// fail counts the lines written before an error, and the n lines lost to it.
func (l *Log) fail(written, n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written += uint64(written)
	l.lost += uint64(n)
	l.missing += uint64(n)
	l.fails(err)
}
