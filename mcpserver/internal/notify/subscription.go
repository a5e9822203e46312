package notify

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
)

// The catalogue reports a change of a SKILL.md immediately. No watcher covers a skill's other
// files, so each file with a subscriber is checked once in a period: first its stamp and, if that
// differs, its bytes. The check does not notice a file that was changed and changed back in
// between, nor a write that keeps the file's size and times. A deletion is a change, and so is the
// return of a file.
const (
	// Period is the time between two checks.
	Period = 2 * time.Second
	// MaxFiles bounds the subscriptions of all sessions; checking that many files takes a fraction
	// of the period. A client with a quarter of them gets no more once three quarters are taken.
	MaxFiles = 4096
	// MaxOwn bounds the subscriptions of one session.
	MaxOwn = 1024
	// patience bounds how long a check waits for one file. After that, the check skips the other
	// files of the same root.
	patience = 2 * time.Second
)

// Errors of [Table.Add].
var (
	ErrNoFile  = errors.New("there is no such file")
	ErrUnread  = errors.New("the file cannot be read at the moment; try again")
	ErrTooMany = errors.New("too many subscriptions; end one first")
)

// Options configures a table. Every field must be set.
type Options[S comparable] struct {
	Period   time.Duration
	MaxFiles int
	MaxOwn   int
	// View returns the view in which the files are looked up.
	View func(context.Context) (catalog.View, error)
	// Changed is called for each session that subscribes to a changed file, with the session's
	// spelling of the file's URI.
	Changed func(s S, uri string)
}

// Table has the subscriptions of sessions, each of type S.
type Table[S comparable] struct {
	o    Options[S]
	room *limit.Budget // for subscriptions
	wake chan struct{} // capacity 1: starts a check now

	mu       sync.Mutex
	files    map[string]*file // by canonical URI, however clients spell it
	sessions map[S]*session
	running  bool
}

// file is a file with a subscriber, and its state as last reported.
type file struct {
	uri   skill.URI
	users int // subscribed sessions
	state state
}

// session has the subscriptions of one session.
type session struct {
	room      *limit.Account
	spellings map[string]string // by canonical URI
}

type state struct {
	exists bool
	stamp  skill.Stamp
	digest skill.Digest
	at     time.Time
}

// New makes a table.
func New[S comparable](o Options[S]) *Table[S] {
	return &Table[S]{
		o: o, room: limit.NewBudget(int64(o.MaxFiles), 0), wake: make(chan struct{}, 1),
		files: map[string]*file{}, sessions: map[S]*session{},
	}
}

// Poke starts a check now.
func (t *Table[S]) Poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Len returns the number of files with a subscriber.
func (t *Table[S]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.files)
}

// Add subscribes a session of a client to a file. The session is notified of the file by the first
// spelling that it used.
func (t *Table[S]) Add(ctx context.Context, s S, client string, v catalog.View, uri skill.URI, spelling string) error {
	key := canonical(v, uri)
	t.mu.Lock()
	known := t.files[key] != nil && t.files[key].state.exists
	t.mu.Unlock()
	var now state
	var err error
	if known && Exists(ctx, v, uri) {
		now.exists = true // a file that has a subscriber need not be read
	} else if now, err = stateNow(ctx, v, uri); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files[key] == nil && now.digest == (skill.Digest{}) { // its last subscriber has just left
		t.mu.Unlock()
		now, err = stateNow(ctx, v, uri)
		t.mu.Lock()
		if err != nil {
			return err
		}
	}
	if t.files[key] == nil {
		t.files[key] = &file{uri: uri, state: now}
	}
	return t.add(s, client, key, spelling)
}

// add subscribes a session to a file in the table. The caller holds mu.
func (t *Table[S]) add(s S, client, key, spelling string) error {
	mine, f := t.sessions[s], t.files[key]
	if mine == nil {
		mine = &session{t.room.Open(client), map[string]string{}}
		t.sessions[s] = mine
	}
	if _, again := mine.spellings[key]; again {
		return nil
	}
	if len(mine.spellings) >= t.o.MaxOwn || !mine.room.Try(1) {
		t.forget(key)
		return ErrTooMany
	}
	mine.spellings[key] = spelling
	f.users++
	if !t.running {
		t.running = true
		go t.run()
	}
	return nil
}

// Remove ends a session's subscription to a file, if it has one.
func (t *Table[S]) Remove(s S, v catalog.View, uri skill.URI) {
	key := canonical(v, uri)
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine := t.sessions[s]; mine != nil && mine.spellings[key] != "" {
		t.drop(mine, key)
	}
}

// End ends the subscriptions of a session.
func (t *Table[S]) End(s S) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine := t.sessions[s]; mine != nil {
		for key := range mine.spellings {
			t.drop(mine, key)
		}
		mine.room.Close()
		delete(t.sessions, s)
	}
}

// Prune ends the subscriptions for which keep returns false, by session and canonical URI.
func (t *Table[S]) Prune(keep func(s S, uri string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s, mine := range t.sessions {
		for key := range mine.spellings {
			if !keep(s, key) {
				t.drop(mine, key)
			}
		}
	}
}

// drop ends one subscription. The caller holds mu.
func (t *Table[S]) drop(mine *session, key string) {
	delete(mine.spellings, key)
	mine.room.Settle(context.Background(), int64(len(mine.spellings))) // a smaller amount, so it does not wait
	t.files[key].users--
	t.forget(key)
}

// forget deletes a file without subscribers. The caller holds mu.
func (t *Table[S]) forget(key string) {
	if t.files[key].users == 0 {
		delete(t.files, key)
	}
}

// run checks the files until no subscription is left.
func (t *Table[S]) run() {
	tick := time.NewTicker(t.o.Period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-t.wake:
		}
		t.mu.Lock()
		if len(t.files) == 0 {
			t.running = false
			t.mu.Unlock()
			return
		}
		todo := make(map[string]file, len(t.files))
		for key, f := range t.files {
			todo[key] = *f
		}
		t.mu.Unlock()
		t.check(todo)
	}
}

// check reports the changed files.
func (t *Table[S]) check(files map[string]file) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	v, err := t.o.View(ctx)
	if err != nil {
		return
	}
	silent := map[string]bool{} // labels of roots whose disks do not answer
	for key, f := range files {
		e, _ := v.At(f.uri)
		if e != nil && silent[e.Root.Label] {
			continue
		}
		now, err := stateOf(ctx, v, f.uri, f.state)
		if e != nil && errors.Is(err, context.DeadlineExceeded) {
			silent[e.Root.Label] = true
		}
		spellings := map[S]string{}
		t.mu.Lock()
		if present := t.files[key]; present != nil {
			present.state = now
			if now.exists != f.state.exists || now.digest != f.state.digest {
				for s, mine := range t.sessions {
					if spelling, has := mine.spellings[key]; has {
						spellings[s] = spelling
					}
				}
			}
		}
		t.mu.Unlock()
		for s, spelling := range spellings {
			t.o.Changed(s, spelling)
		}
	}
}

// canonical returns the same text for all URIs of a file.
func canonical(v catalog.View, uri skill.URI) string {
	if v.Snapshot == nil {
		return uri.String()
	}
	if e, path := v.At(uri); e != nil {
		if one, err := e.FileURI(e.ServedPath(path)); err == nil {
			return one.String()
		}
	}
	return uri.String()
}

// Exists reports whether a URI leads to a file that can be served.
func Exists(ctx context.Context, v catalog.View, uri skill.URI) bool {
	e, path := v.At(uri)
	if e == nil || skill.Hidden(path) {
		return false
	}
	info, err := await(ctx, v, e, func() (fs.FileInfo, error) { return fs.Stat(e.FS, e.OnDisk(path)) })
	return err == nil && info.Mode().IsRegular() && info.Size() <= skill.MaxFile
}

// stateNow returns the state of a file that exists. The error is [ErrNoFile] or [ErrUnread].
func stateNow(ctx context.Context, v catalog.View, uri skill.URI) (state, error) {
	switch now, err := stateOf(ctx, v, uri, state{}); {
	case err != nil:
		return state{}, ErrUnread
	case !now.exists:
		return state{}, ErrNoFile
	default:
		return now, nil
	}
}

// stateOf returns the present state of a file. It does not read a file whose stamp is unchanged. A
// file that cannot be read at the moment keeps its state, and the error says why.
func stateOf(ctx context.Context, v catalog.View, uri skill.URI, before state) (state, error) {
	e, path := v.At(uri)
	if e == nil || skill.Hidden(path) || path == "." {
		return state{}, nil
	}
	now, err := await(ctx, v, e, func() (state, error) { return stateIn(e, path, before) })
	if err != nil {
		return before, err
	}
	return now, nil
}

// await is like [catalog.Await], but gives up after patience.
func await[T any](ctx context.Context, v catalog.View, e *catalog.Entry, work func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	type result struct {
		value T
		err   error
	}
	r, err := catalog.Await(ctx, v, e, func() (r result) { r.value, r.err = work(); return r })
	return r.value, cmp.Or(err, r.err)
}

// stateIn is like stateOf, for a file of a given skill.
func stateIn(e *catalog.Entry, path string, before state) (state, error) {
	at := time.Now()
	info, err := fs.Stat(e.FS, e.OnDisk(path))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, skill.ErrOutside):
		return state{}, nil
	case err != nil:
		return before, err
	case !info.Mode().IsRegular() || info.Size() > skill.MaxFile:
		return state{}, nil
	}
	if before.exists && skill.StampOf(info) == before.stamp && !before.stamp.Racy(before.at) {
		return before, nil
	}
	f, err := e.Hash(path)
	if err != nil {
		return before, err
	}
	return state{exists: true, stamp: f.Stamp, digest: f.Digest, at: at}, nil
}
