package replica

import (
	"context"
	"errors"

	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/distribution/release"
)

// Stored serves the stored release of each source without a request, and describes it. A command
// beside a server calls it instead of Start. It removes a source without a stored release from
// Sources, since a scan of that source would wait.
func (r *Replica) Stored() (all []doctor.Followed) {
	var has []*release.Source
	for i, status := range r.Status() {
		state, rel := Of(r.store, status.From)
		switch state.Name = status.Name; {
		case state.Error == "":
			r.sources[i].Set(rel)
			has = append(has, r.sources[i])
		case state.Error == lacking && state.Failure == "":
			if missing := (*tokenError)(nil); errors.As(r.lacks[i](), &missing) {
				state.Fix += "; " + missing.what
			}
		}
		all = append(all, state)
	}
	if r != nil {
		r.sources = has
	}
	return all
}

// Size returns the function that computes the size of the store, or nil without sources.
func (r *Replica) Size() func(context.Context) (int64, error) {
	if r == nil {
		return nil
	}
	return r.store.Size
}
