package admission

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/base/buildinfo"
	"github.com/knack-dev/knack/internal/policy/approvals"
	"github.com/knack-dev/knack/skill"
)

// Open returns a controller. approved is the file of approvals, and cache is the user's cache
// folder, or "". command is [Options.Command].
func Open(config Config, approved, cache string, log *slog.Logger, command func(words ...string) string) *Controller {
	o := Options{Config: config, Log: log, Command: command}
	if len(config.Approve) > 0 {
		o.Approvals = &book{path: approved, now: time.Now}
	}
	if config.Mode == Enforce {
		if cache != "" {
			cache = filepath.Join(cache, "verdicts")
		}
		o.Cache = newVerdictCache(cache, engine(buildinfo.ID(), config), time.Now)
	}
	return New(o)
}

// bookFresh is the time for which the approvals are used without checking their file again, since
// one scan judges many skills. bookEvery is the interval at which a server checks it for changes.
const (
	bookFresh = 100 * time.Millisecond
	bookEvery = 500 * time.Millisecond
)

// book looks up approvals in their file, which may change. An unreadable file approves nothing.
type book struct {
	path string
	now  func() time.Time

	mu    sync.Mutex
	read  time.Time
	stamp skill.Stamp
	book  *approvals.Book
	texts int // number of changes of the file's text
}

// Approved implements [Approvals].
func (b *book) Approved(uris []string, files []skill.File) (ok bool, why string) {
	book, _ := b.current()
	for _, uri := range uris {
		s := book.Compare(uri, files, b.now())
		if s.Is == approvals.Approved {
			return true, s.String()
		}
		if why == "" || s.Is != approvals.Never {
			why = s.String()
		}
	}
	if why == "" {
		why = "not approved: it has no URI"
	}
	return false, why
}

// current returns the present approvals, and the number of changes so far.
func (b *book) current() (now *approvals.Book, texts int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.now()
	if b.book != nil && at.Sub(b.read) < bookFresh && !at.Before(b.read) {
		return b.book, b.texts
	}
	stamp := approvals.StampOf(b.path)
	if b.book == nil || stamp != b.stamp || stamp.Racy(b.read) {
		before := b.book
		b.book, _ = approvals.Load(b.path)
		if before != nil && (before.Err() != nil || b.book.Err() != nil || !bytes.Equal(before.Marshal(), b.book.Marshal())) {
			b.texts++
		}
	}
	b.read, b.stamp = at, stamp
	return b.book, b.texts
}

// Changed implements [Approvals].
func (b *book) Changed(ctx context.Context, poke func()) {
	_, known := b.current()
	tick := time.NewTicker(bookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if _, texts := b.current(); texts != known {
			known = texts
			poke()
		}
	}
}
