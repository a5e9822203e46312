package observe

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/policy/admission"
	"github.com/knack-dev/knack/internal/policy/quarantine"
	"github.com/knack-dev/knack/internal/web"
	"github.com/knack-dev/knack/skill"
)

// Scanned returns a function that says what a scan found in a skill of a view, for a command that
// looks once. It is nil if the policy scans nothing. The given skills are scanned now, and others
// when the function is asked for them.
func Scanned(ctx context.Context, j *admission.Judge, v catalog.View, now []*catalog.Entry) func(*catalog.Entry) (doctor.Scanned, bool) {
	if !j.Scans() {
		return nil
	}
	of := func(e *catalog.Entry) (doctor.Scanned, bool) {
		if e.Root.Scope == skill.ScopeBuiltin {
			return doctor.Scanned{}, false
		}
		d, _ := j.Of(e)
		r := d.Report()
		if r == nil && e.Status != catalog.Skipped && ctx.Err() == nil {
			scanEntry(ctx, j, v, e)
			d, _ = j.Of(e)
			r = d.Report()
		}
		return doctor.ScannedOf(r), r != nil
	}
	var wg sync.WaitGroup
	next := make(chan *catalog.Entry)
	for range min(runtime.GOMAXPROCS(0), len(now)) {
		wg.Go(func() {
			for e := range next {
				of(e)
			}
		})
	}
	for _, e := range now {
		next <- e
	}
	close(next)
	wg.Wait()
	return of
}

// scanEntry scans one skill.
func scanEntry(ctx context.Context, j *admission.Judge, v catalog.View, e *catalog.Entry) {
	_, files, err := v.Manifest(ctx, e)
	if errors.Is(err, skill.ErrTooLarge) {
		files, err = e.LargeManifest(ctx, nil, quarantine.MaxFiles, quarantine.MaxSize)
	}
	c := &quarantine.Candidate{Skill: e.Skill, Root: *e.Root, Files: files, Set: skill.SetOf(files), Err: err}
	if j.Judge(ctx, c) == nil {
		j.Known(c)
	}
}

// Scans tells pages and metrics what a judge knows. It implements [web.Scans].
type Scans struct {
	judge *admission.Judge

	mu     sync.Mutex
	counts map[admission.Verdict]doctor.Scanned // a report is long, and its counts do not change
}

// maxCounts bounds the counts that are kept.
const maxCounts = 50_000

// NewScans returns what a judge knows, or nil if its policy asks for nothing.
func NewScans(j *admission.Judge) web.Scans {
	if !j.Scans() && !j.Holds() {
		return nil
	}
	return &Scans{judge: j, counts: map[admission.Verdict]doctor.Scanned{}}
}

// Scans implements [web.Scans].
func (s *Scans) Scans() bool { return s.judge.Scans() }

// Of implements [web.Scans].
func (s *Scans) Of(e *catalog.Entry) (k web.Scanned, ok bool) {
	d, ok := s.judge.Of(e)
	if !ok {
		return k, false
	}
	return web.Scanned{Set: d.Set, Report: d.Report(), Approval: d.Approved, Approved: d.Approved != "" && d.Fault == nil}, true
}

// Count implements [web.Scans].
func (s *Scans) Count(e *catalog.Entry) (n doctor.Scanned, ok bool) {
	d, ok := s.judge.Of(e)
	if !ok {
		return n, false
	}
	s.mu.Lock()
	n, ok = s.counts[d]
	s.mu.Unlock()
	if ok {
		return n, true
	}
	r := d.Report()
	if r == nil {
		return n, false
	}
	n = doctor.ScannedOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.counts) >= maxCounts {
		clear(s.counts)
	}
	s.counts[d] = n
	return n, true
}
