package follow

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/release"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/skill"
)

// poll polls the source: it requests the present release, and fetches new or missing content.
func (f *Follower) poll(ctx context.Context) {
	f.drop()
	f.update(func(s *Status) { s.Asked = f.o.Now() })
	was := f.Status()
	defer func() { f.byRequest = false }()
	outcome, err := f.ask(ctx)
	for errors.Is(err, errAsked) {
		f.byRequest = true
		outcome, err = f.ask(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	f.keep()
	now := f.o.Now()
	f.wait = 0
	if later, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		f.wait = min(later.RetryAfter(), waitMost)
	}
	refusal := refusalOf(err)
	if outcome == Failed || refusal == pull.Disk {
		f.failures++
	} else {
		f.failures = 0
	}
	f.update(func(s *Status) {
		s.Polls[outcome]++
		if outcome == Failed {
			if s.Failure == "" {
				s.FailingSince = now
			}
			s.Failure = err.Error()
			return
		}
		s.Answered, s.Failure, s.FailingSince = now, "", time.Time{}
		if outcome != Refused {
			s.Refused, s.RefusedRelease, s.RefusedReason = "", "", ""
		}
	})
	if err != nil {
		f.lacks(causeOf(outcome, err), now)
	}
	f.say(outcome, err, was, now)
	f.record(err, now)
}

// cleanError is an error without the source's credentials in its text.
type cleanError struct {
	error
	text string
}

func (e cleanError) Error() string { return e.text }
func (e cleanError) Unwrap() error { return e.error }

// causeOf returns the reason why a poll brought no release.
func causeOf(outcome Outcome, err error) skill.Lack {
	switch {
	case outcome == Refused:
		return skill.LackRelease
	case errors.Is(err, httpfetch.ErrAccess):
		return skill.LackLogin
	}
	return skill.LackAnswer
}

// lacks reports why nothing is served yet, if the reason is new.
func (f *Follower) lacks(cause skill.Lack, now time.Time) {
	if f.served.Digest != "" || f.o.Lack == nil {
		return
	}
	lack := skill.UnreachableError{Since: now, Cause: cause}
	if !f.lack.Since.IsZero() && f.lack.Cause == lack.Cause {
		return
	}
	f.lack = lack
	f.o.Lack(&lack)
}

// record records a new failure of the source in the store, or removes a failure that has ended.
// Another process with the same store may have recorded a failure in the meantime.
func (f *Follower) record(err error, now time.Time) {
	source := f.source.Ref.String()
	was := f.o.Store.Failure(source)
	var failure *store.Failure
	switch {
	case err == nil && was == nil:
		return
	case err != nil && was != nil && was.Reason == err.Error():
		return
	case err != nil:
		failure = &store.Failure{Reason: err.Error(), Since: now}
		if was != nil {
			failure.Since = was.Since
		}
	}
	_ = f.o.Store.SetFailure(source, failure) // the next poll tries it again
}

// hourly is the interval at which a lasting failure is logged.
const hourly = time.Hour

// say logs the result of a poll: a change immediately, and a lasting failure once an hour.
func (f *Follower) say(outcome Outcome, err error, was Status, now time.Time) {
	status := f.Status()
	about := []any{"source", f.source.Name}
	lasts := was.Failure != "" && outcome == Failed || was.Refused != "" && outcome == Refused && was.Refused == status.Refused && was.RefusedRelease == status.RefusedRelease
	switch {
	case outcome != Failed && outcome != Refused:
		if was.Failure != "" {
			f.o.Log.Warn("the source answers again", "source", f.source.Name)
		}
		if f.byRequest {
			f.o.Log.Warn("the source was asked", append(about, "outcome", string(outcome), "release", cmp.Or(status.Pending, status.Release))...)
		}
		return
	case lasts && now.Sub(f.logged).Abs() < hourly && !f.byRequest:
		return
	}
	f.logged = now
	words := "the release of the source is not taken; the last one stays"
	switch {
	case outcome == Failed && status.Release == "":
		words = "the source cannot be asked, and nothing of it is in the store, so nothing of it is served yet"
	case outcome == Failed:
		words = "the source cannot be asked; its last release stays"
	case status.Release == "":
		words = "the release of the source is not taken, and nothing of it is served yet"
	}
	f.o.Log.Warn(words, append(about, "reason", err.Error())...)
}

// ask requests the present release of the source, and fetches it if it is new. The error is not nil
// if the outcome is [Failed] or [Refused].
func (f *Follower) ask(ctx context.Context) (Outcome, error) {
	if !f.started {
		if err := f.start(); err != nil {
			return f.failed(ctx, err, "")
		}
		if f.o.Alone {
			f.lacks(skill.LackTime, f.o.Now())
			if err := f.yield(ctx); err != nil {
				return Failed, err
			}
		}
	}
	var lacking error // why the served release cannot be repaired; the tag may name another, complete release
	mended := false
	if f.harmed && f.served.Revision != "" {
		if lacking = f.repair(ctx); errors.Is(lacking, errAsked) {
			return Failed, lacking
		}
		mended = lacking == nil && !f.harmed
	}
	u, err := release.Update(ctx, polling{f}, release.Request{
		Ref: f.source.Ref, Rules: f.rules(), AllowDowngrade: true,
		Have: func() (release.State, error) { return f.state(lacking), nil },
	})
	switch {
	case err != nil && err == lacking:
		return f.failed(ctx, err, "")
	case err != nil:
		return f.failed(ctx, err, u.At.ID)
	case u.Same && u.Release.Digest == "": // the release is pending already
		return Unchanged, nil
	case u.Same:
		f.forget()
		f.recordSignature(u.Release)
		if f.harmed {
			f.mend(u.Release)
			mended = true
		}
		if mended {
			return Pulled, nil
		}
		return Unchanged, nil
	}
	f.refused, f.reason = "", nil
	f.event(Event{Action: ActionPull, Release: u.Release.Digest, Before: f.served.Digest, Version: u.Release.Version, Signer: u.Release.Signer})
	if f.served.Digest == "" || f.o.Alone { // no client can see two releases
		f.serve(u.Release)
		return Pulled, nil
	}
	moment := moment(f.o.Now(), f.o.Every)
	f.pending = &u.Release
	f.update(func(s *Status) { s.Pending, s.At = u.Release.Digest, moment })
	f.o.Log.Info("a release was fetched", "source", f.source.Name, "release", u.Release.Digest, "version", u.Release.Version, "serves", moment.UTC().Format(time.RFC3339))
	return Pulled, nil
}

// yielding delays the first request of a server that is not a replica. During the delay, the server
// answers its client's first requests. They take a few milliseconds if they need not share the
// processors.
const yielding = 50 * time.Millisecond

// yield waits before the first request. If a person requests a poll, it returns immediately.
func (f *Follower) yield(ctx context.Context) error {
	timer := time.NewTimer(yielding)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.asked:
		f.byRequest = true
	case <-timer.C:
	}
	return nil
}

// state returns the present state for an update. lacking is the error of fetching damaged skills,
// or nil.
func (f *Follower) state(lacking error) release.State {
	s := release.State{
		Head: f.head, Release: f.served, Whole: !f.harmed,
		Unsure: !f.judged && digestOf(f.served.Revision) != "", // only a registry has signatures
		Fails: func(revision string) error {
			switch {
			case revision == f.served.Revision:
				return lacking
			case revision == f.refused && !f.byRequest: // a person may know that the source was at fault
				return f.reason
			}
			return nil
		},
	}
	if f.pending != nil {
		s.Waits = f.pending.Revision
	}
	return s
}

// polling makes a follower the [release.Puller] of its updates.
type polling struct{ f *Follower }

// Resolve implements [release.Puller].
func (p polling) Resolve(ctx context.Context, ref origin.Ref) (at origin.Revision, err error) {
	var silent <-chan time.Time
	if p.f.served.Digest == "" && (p.f.lack.Since.IsZero() || p.f.lack.Cause == skill.LackTime) {
		timer := time.NewTimer(silence)
		defer timer.Stop()
		silent = timer.C
	}
	err = p.f.away(ctx, silent, func(ctx context.Context) (err error) {
		at, err = p.f.o.Puller.Resolve(ctx, ref)
		return err
	})
	return at, err
}

// Pull implements [release.Puller].
func (p polling) Pull(ctx context.Context, _ origin.Ref, at origin.Revision) (store.Release, pull.Report, error) {
	return p.f.pull(ctx, at)
}

// Look implements [release.Puller].
func (p polling) Look(ctx context.Context, ref origin.Ref, at origin.Revision) (r store.Release, report pull.Report, err error) {
	err = p.f.away(ctx, nil, func(ctx context.Context) (err error) {
		r, report, err = p.f.o.Puller.Look(ctx, ref, at)
		return err
	})
	return r, report, err
}

// silence is the time after which a source that has not answered the first request counts as
// unreachable.
const silence = 10 * time.Second

// silent records that the source does not answer the first request.
func (f *Follower) silent() {
	was, now := f.Status(), f.o.Now()
	err := errors.New("it has not answered for 10 s; see whether it can be reached from this machine")
	f.update(func(s *Status) { s.Failure, s.FailingSince = err.Error(), now })
	f.lacks(skill.LackAnswer, now)
	f.say(Failed, err, was, now)
	f.record(err, now)
}

// errAsked ends a poll because a person requested another one: the source may answer by now.
var errAsked = errors.New("the source is asked again")

// away runs do, which waits for an answer of the source. Until do returns, away serves a pending
// release at its moment. If a person requests a poll, away cancels do and returns [errAsked]. The
// received bytes stay in the store. When silent fires, the source counts as unreachable.
func (f *Follower) away(ctx context.Context, silent <-chan time.Time, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	for {
		swap := time.NewTimer(time.Hour)
		if swap.Stop(); f.pending != nil {
			swap.Reset(f.untilMoment())
		}
		select {
		case err := <-done:
			swap.Stop()
			if context.Cause(ctx) == errAsked {
				err = errAsked
			}
			return err
		case <-swap.C:
			f.swap()
		case <-silent:
			f.silent()
		case <-f.asked:
			swap.Stop()
			cancel(errAsked)
		}
	}
}

// recordSignature records the verdict on the signatures of the served release. The verdict may be
// new, since the rules about signatures may have changed.
func (f *Follower) recordSignature(r store.Release) {
	f.judged = true
	if r.Judged == f.served.Judged {
		return
	}
	f.o.Log.Warn("the release that is served has another signature than before", "source", f.source.Name, "release", r.Digest, "signature", r.Signature, "signer", r.Signer)
	f.served.Judged = r.Judged
	f.update(func(s *Status) { s.Version, s.Signer, s.Signature = r.Version, r.Signer, r.Signature })
	h := f.head // a knack pull may have set another head
	h.Judged, h.Highest = r.Judged, release.Served(h.Highest, r)
	f.remember(h)
}

// forget drops the pending release, since the source no longer has it.
func (f *Follower) forget() {
	f.pending = nil
	f.update(func(s *Status) { s.Pending, s.At = "", time.Time{} })
}

// repair fetches the damaged parts of the served release.
func (f *Follower) repair(ctx context.Context) error {
	at := origin.Revision{ID: f.served.Revision, Version: f.served.Version}
	r, _, err := f.pull(ctx, at)
	if err == nil && r.Digest == f.served.Digest {
		f.mend(r)
	}
	return err
}

// mend serves the same release again after its missing files were fetched. It does not wait for the
// common moment of the replicas, since the content is the same.
func (f *Follower) mend(r store.Release) {
	f.harmed = false
	f.o.Serve(r)
	f.o.Log.Warn("a damaged skill of the store was fetched again", "source", f.source.Name, "release", r.Digest)
}

// pull fetches a release.
func (f *Follower) pull(ctx context.Context, at origin.Revision) (store.Release, pull.Report, error) {
	begun := f.o.Now()
	f.update(func(s *Status) { s.Pulling = true })
	var r store.Release
	var report pull.Report
	err := f.away(ctx, nil, func(ctx context.Context) (err error) {
		r, report, err = f.o.Puller.Pull(ctx, f.source.Ref, at)
		return err
	})
	took := max(f.o.Now().Sub(begun), 0)
	f.update(func(s *Status) {
		s.Pulling = false
		s.Bytes += uint64(max(report.Bytes, 0))
		if err == nil {
			s.Pulls++
			s.PullTime += took
			s.LastPull = took
		}
	})
	return r, report, err
}

// failed returns the outcome of a poll that brought no release, and records a refusal. id is the
// requested revision.
func (f *Follower) failed(ctx context.Context, err error, id string) (Outcome, error) {
	if f.o.Clean != nil && !errors.Is(err, errAsked) {
		err = cleanError{err, f.o.Clean(err.Error())}
	}
	if ctx.Err() != nil {
		return Failed, err
	}
	refusal := refusalOf(err)
	if refusal == "" {
		return Failed, err
	}
	digest := digestOf(id)
	was := f.Status()
	f.update(func(s *Status) { s.Refused, s.RefusedRelease, s.RefusedReason = refusal, digest, err.Error() })
	if (refusal == pull.NoSkills || refusal == pull.Version || refusal == pull.Limit) && !errors.As(err, new(*origin.Outage)) {
		f.refused, f.reason = id, err // a digest names the same bytes for ever
	}
	if was.Refused != refusal || was.RefusedRelease != digest {
		f.update(func(s *Status) { s.RefusedEach[refusal]++ })
		e := Event{Action: ActionRefuse, Release: digest, Before: f.served.Digest, Refusal: refusal, Reason: err.Error()}
		if low, ok := errors.AsType[*release.TooLow](err); ok {
			e.Version, e.Signer = low.Release.Version, low.Release.Signer
		}
		f.event(e)
	}
	return Refused, err
}

func refusalOf(err error) pull.Reason {
	if _, ok := errors.AsType[*release.TooLow](err); ok {
		return pull.Version
	}
	return pull.ReasonOf(err)
}

// digestOf returns the digest in a revision of a registry, or "".
func digestOf(id string) string {
	if digest, ok := strings.CutPrefix(id, "oci:"); ok {
		return digest
	}
	return ""
}
