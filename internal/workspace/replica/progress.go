package replica

import (
	"context"
	"sync/atomic"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/store"
)

// first is a puller that shows the progress of a source's first pull at a terminal.
type first struct {
	*pull.Puller
	env    *console.Env
	label  string
	now    atomic.Pointer[pull.Report]
	pulled atomic.Bool
}

func newFirst(p *pull.Puller, env *console.Env, label string) *first {
	f := &first{Puller: p, env: env, label: label}
	p.Progress = func(r pull.Report) { f.now.Store(&r) }
	return f
}

// Pull pulls a release.
func (f *first) Pull(ctx context.Context, ref origin.Ref, at origin.Revision) (store.Release, pull.Report, error) {
	if !f.pulled.Load() {
		defer console.ShowProgress(f.env, console.Step{What: "fetching " + f.label, Count: f.count, Unit: "skills"})()
	}
	r, report, err := f.Puller.Pull(ctx, ref, at)
	f.pulled.Store(f.pulled.Load() || err == nil)
	return r, report, err
}

func (f *first) count() (done, total int) {
	if r := f.now.Load(); r != nil {
		return r.Done, r.Layers
	}
	return 0, 0
}
