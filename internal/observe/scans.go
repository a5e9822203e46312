package observe

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/doctor"
	"github.com/knack-dev/knack/internal/hold"
	"github.com/knack-dev/knack/internal/vet"
	"github.com/knack-dev/knack/skill"
)

// Scanned returns a function that says what a scan found in a skill of a view, for a command that
// looks once. It is nil if the policy scans nothing. The given skills are scanned now, and others
// when the function is asked for them.
func Scanned(ctx context.Context, j *vet.Judge, v catalog.View, now []*catalog.Entry) func(*catalog.Entry) (doctor.Scanned, bool) {
	if !j.Scans() {
		return nil
	}
	of := func(e *catalog.Entry) (doctor.Scanned, bool) {
		if e.Root.Scope == skill.ScopeBuiltin {
			return doctor.Scanned{}, false
		}
		d, known := j.Of(e)
		if !known && e.Status != catalog.Skipped && ctx.Err() == nil {
			scanEntry(ctx, j, v, e)
			d, _ = j.Of(e)
		}
		r := d.Report()
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

// Bounds of a skill that is scanned, as those of one that a source judges.
const (
	scannedFiles = 10_000
	scannedSize  = 256 << 20
)

// scanEntry scans one skill.
func scanEntry(ctx context.Context, j *vet.Judge, v catalog.View, e *catalog.Entry) {
	_, files, err := v.Manifest(ctx, e)
	if errors.Is(err, skill.ErrTooLarge) {
		files, err = e.LargeManifest(ctx, nil, scannedFiles, scannedSize)
	}
	c := &hold.Candidate{Skill: e.Skill, Root: *e.Root, Files: files, Err: err}
	if _, known := j.Known(c); !known && j.Judge(ctx, c) == nil {
		j.Known(c)
	}
}
