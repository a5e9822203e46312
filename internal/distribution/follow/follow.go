// Package follow keeps the sources of a server current. It polls each source at common times,
// fetches a new release, and serves it from a moment that all replicas share.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/base/semver"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/release"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/skill"
)

// Source is a source to follow.
type Source struct {
	Name        string
	Ref         origin.Ref
	ForwardOnly bool   // never serves a lower version than before
	MinVersion  string // or ""
}

// Options are the settings of a [Follower].
type Options struct {
	Puller release.Puller
	Store  *store.Store
	Every  time.Duration // between two polls
	Host   string        // the name of this machine; its hash spreads the requests of replicas over a second
	// Serve makes r the served release, and returns its differences from the previous one.
	Serve func(r store.Release) release.Change
	// Lack, if not nil, is called after a failed attempt, with the reason why nothing is served
	// yet.
	Lack func(*skill.UnreachableError)
	// Alone is set for a process that is not a replica. It polls and swaps at its own times. It
	// also calls Lack before the first attempt, because no list may wait for the first release.
	Alone bool
	// Clean, if not nil, removes the source's credentials from the text of an error.
	Clean func(text string) string
	// Admit, if not nil, returns an error if a stored release must not be served. Its signature may
	// have been checked under an older configuration.
	Admit func(r store.Release) error
	// Trusts reports whether a signer may sign releases of the source. If nil, every signer may.
	Trusts func(signer string) bool
	Event  func(Event)      // may be nil
	Now    func() time.Time // the wall clock, which may jump
	// Random returns a number from 0 to 1, for pauses after failures.
	Random func() float64
	Log    *slog.Logger
}

// Follower follows one source.
type Follower struct {
	source  Source
	o       Options
	asked   chan struct{}
	news    chan struct{} // the source has reported a change
	changed chan struct{} // a skill is damaged

	// Only the goroutine of Run uses these fields.
	served    store.Release // its Skills are nil
	pending   *store.Release
	started   bool   // start has succeeded
	judged    bool   // the signatures of the served release were judged since the start
	harmed    bool   // the store lacks a skill of the served release
	refused   string // the revision that was refused for good
	reason    error  // the reason for refused
	failures  int    // the number of consecutive failed polls
	logged    time.Time
	wait      time.Duration          // the pause that the source requested in its last answer
	byRequest bool                   // a person requested this poll
	hurried   time.Time              // when the source was last polled because it had reported a change
	head      store.Head             // the head to record in the store; its Release is empty while nothing is served
	unsaved   bool                   // the head could not be recorded
	lack      skill.UnreachableError // the last argument of Lack

	mu      sync.Mutex
	status  Status
	damaged map[skill.Digest]string // the paths of damaged skills, to be removed from the store
}

// New returns a follower that does nothing before Run.
func New(s Source, o Options) *Follower {
	return &Follower{
		source: s, o: o, asked: make(chan struct{}, 1), news: make(chan struct{}, 1), changed: make(chan struct{}, 1), damaged: map[skill.Digest]string{},
		status: Status{Name: s.Name, From: s.Ref.String(), Polls: map[Outcome]uint64{}, RefusedEach: map[pull.Reason]uint64{}},
	}
}

// Status returns the present state.
func (f *Follower) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.status
	s.Polls, s.RefusedEach = maps.Clone(s.Polls), maps.Clone(s.RefusedEach)
	return s
}

func (f *Follower) update(change func(s *Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.status)
}

// Ask makes the follower poll its source immediately.
func (f *Follower) Ask() { poke(f.asked) }

// Changed tells the follower that the source has reported a change. The follower polls the source
// soon, but at most every 10 s.
func (f *Follower) Changed() { poke(f.news) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Damaged tells the follower that a skill in the store is damaged. The skill is removed there, and
// the next poll fetches it again.
func (f *Follower) Damaged(d skill.Digest, path string) {
	f.mu.Lock()
	f.damaged[d] = path
	f.mu.Unlock()
	poke(f.changed)
}

// Run serves the store's release, and follows the source until the context ends.
func (f *Follower) Run(ctx context.Context) {
	f.poll(ctx)
	for ctx.Err() == nil {
		next := f.next()
		f.update(func(s *Status) { s.Next = next })
		timer := time.NewTimer(next.Sub(f.o.Now()))
		swap := time.NewTimer(time.Hour)
		if swap.Stop(); f.pending != nil {
			swap.Reset(f.untilMoment())
		}
		f.until(ctx, timer.C, swap.C)
		timer.Stop()
		swap.Stop()
	}
}

// until handles events until the next poll is due, and then polls.
func (f *Follower) until(ctx context.Context, next, swap <-chan time.Time) {
	var soon <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-next:
		case <-soon:
			f.hurried = f.o.Now()
		case <-f.news:
			if soon == nil {
				soon = time.After(f.soon())
			}
			continue
		case <-f.asked:
			f.byRequest = true
		case <-swap:
			f.swap()
			continue
		case <-f.changed:
			f.drop()
			continue
		}
		f.poll(ctx)
		return
	}
}

// untilMoment returns the time until the pending release is swapped in. If the clock was set back,
// the time is at most the usual wait.
func (f *Follower) untilMoment() time.Duration {
	now, at := f.o.Now(), f.Status().At
	if at.Sub(now) > f.o.Every+swapAfter {
		at = moment(now, f.o.Every)
		f.update(func(s *Status) { s.At = at })
	}
	return at.Sub(now)
}

// start serves the release of the store that was served last. With forward-only, it returns an
// error if the store cannot tell which release that was.
func (f *Follower) start() error {
	h, err := f.o.Store.Head(f.source.Ref.String())
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
	case f.source.ForwardOnly:
		return fmt.Errorf("forward-only is set, and it is not known which version was served last: %w", err)
	default:
		f.o.Log.Error("the store cannot be read", "source", f.source.Name, "reason", err.Error())
	}
	f.started = true
	if err != nil {
		return nil
	}
	f.head.Highest = release.Highest(h) // even if the release itself is lost
	r, err := f.o.Store.Release(h.Release)
	if err != nil {
		return nil // the first poll fetches it again
	}
	r = h.Of(r)
	words := "the release that was served last is served"
	why := f.admit(r)
	if why != nil { // a knack pull with the same store sets the head, too
		f.o.Log.Warn("the release that was served last is not served any more", "source", f.source.Name, "release", r.Digest, "reason", why.Error())
		last, ok := release.Last(f.o.Store, h, f.admit)
		if !ok {
			return nil
		}
		r, h = last, release.Next(h, last, f.o.Now())
		words = "the last release that is allowed is served in its place"
	}
	was := h
	if h.Highest = release.Served(f.head.Highest, r); why != nil || !maps.Equal(h.Highest, was.Highest) {
		f.remember(h)
	}
	if f.o.Trusts != nil && r.Signer != "" && !f.o.Trusts(r.Signer) {
		r.Signer, r.Signature = "", "" // the first poll judges it
	}
	f.o.Serve(r)
	f.serving(r, h.Since)
	f.head = h
	level := slog.LevelInfo
	if why != nil {
		level = slog.LevelWarn
	}
	f.o.Log.Log(context.Background(), level, words, "source", f.source.Name, "release", r.Digest, "version", r.Version)
	return nil
}

// rules returns the rules of the source.
func (f *Follower) rules() release.Rules {
	return release.Rules{ForwardOnly: f.source.ForwardOnly, MinVersion: f.source.MinVersion, Trusts: f.o.Trusts}
}

// admit returns an error if a release of the store must not be served at the start.
func (f *Follower) admit(r store.Release) error {
	if err := f.rules().Check(r, f.head.Highest, true); err != nil || f.o.Admit == nil {
		return err
	}
	return f.o.Admit(r)
}

// serving records r as the served release.
func (f *Follower) serving(r store.Release, since time.Time) {
	skills := 0
	for _, m := range r.Skills {
		if m.Fault == "" {
			skills++
		}
	}
	f.served, f.pending, f.harmed = r, nil, false
	f.served.Skills = nil
	f.update(func(s *Status) {
		s.Release, s.Version, s.Signer, s.Signature, s.Since, s.Skills = r.Digest, r.Version, r.Signer, r.Signature, since, skills
		s.Pending, s.At = "", time.Time{}
	})
}

// drop removes damaged skills from the store; the next poll fetches them again.
func (f *Follower) drop() {
	f.mu.Lock()
	damaged := f.damaged
	f.damaged = map[skill.Digest]string{}
	f.mu.Unlock()
	for d, path := range damaged {
		f.harmed = true
		reason := "the skill " + path + " is not as its digest says"
		if err := f.o.Store.Remove(d); err != nil {
			reason += ", and cannot be removed from the store: " + err.Error()
		}
		f.update(func(s *Status) { s.Damaged++ })
		f.o.Log.Warn("a skill of the store is damaged, and will be fetched again", "source", f.source.Name, "skill", path, "digest", d.String())
		f.event(Event{Action: ActionDamage, Release: f.served.Digest, Version: f.served.Version, Signer: f.served.Signer, Reason: reason})
	}
}

// swap serves the pending release, if any.
func (f *Follower) swap() {
	if f.pending == nil {
		return
	}
	f.serve(*f.pending)
}

// serve serves a release from now on, and records that in the store.
func (f *Follower) serve(r store.Release) {
	before, now := f.served, f.o.Now()
	c := f.o.Serve(r)
	f.serving(r, now)
	f.judged = true
	e := Event{Action: ActionSwap, Release: r.Digest, Before: before.Digest, Version: r.Version, Signer: r.Signer, Added: c.Added, Changed: c.Changed, Removed: c.Removed}
	h := release.Next(f.head, r, now)
	h.Highest = release.Served(h.Highest, r)
	if was, err := f.o.Store.Head(f.source.Ref.String()); semver.Lower(r.Version, before.Version) || before.Digest != "" && err == nil && was.Previous == r.Digest {
		e.Action = ActionRollBack
	}
	f.remember(h)
	f.update(func(s *Status) { s.Swaps++ })
	if err := f.o.Store.Collect(); err != nil {
		f.o.Log.Warn("a release that is no longer served cannot be removed from the store", "source", f.source.Name, "reason", err.Error())
	}
	words, level := "another release is served", slog.LevelInfo
	switch {
	case before.Digest == "":
		words = "the first release is served"
	case semver.Lower(r.Version, before.Version):
		words, level = "a release with a lower version is served", slog.LevelWarn
	case e.Action == ActionRollBack:
		words, level = "the previous release is served again", slog.LevelWarn
	}
	f.o.Log.Log(context.Background(), level, words, "source", f.source.Name, "release", r.Digest, "version", r.Version, "before", before.Digest, "added", c.Added, "changed", c.Changed, "removed", c.Removed)
	f.event(e)
}

// remember records the head of the source in the store.
func (f *Follower) remember(h store.Head) {
	f.head = h
	err := f.o.Store.SetHead(f.source.Ref.String(), h)
	if f.unsaved = err != nil; f.unsaved {
		f.o.Log.Error("the store could not record which release is served; it is tried again at each poll", "source", f.source.Name, "release", h.Release, "reason", err.Error())
	}
}

// keep records the head again if the store could not record it, or has lost it.
func (f *Follower) keep() {
	if f.head.Release == "" {
		return
	}
	if _, err := f.o.Store.Head(f.source.Ref.String()); err == nil && !f.unsaved {
		return
	}
	switch err := f.o.Store.SetHead(f.source.Ref.String(), f.head); {
	case err == nil:
		f.unsaved = false
		f.o.Log.Warn("the store remembers which release is served, again", "source", f.source.Name, "release", f.head.Release)
	case errors.Is(err, fs.ErrNotExist):
		f.harmed = true // the release itself is lost too, and is fetched again
	}
}

func (f *Follower) event(e Event) {
	if f.o.Event != nil {
		e.Time, e.Name, e.From = f.o.Now(), f.source.Name, f.source.Ref.String()
		f.o.Event(e)
	}
}
