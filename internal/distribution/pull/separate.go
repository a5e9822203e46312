package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/skill"
)

// Bounds of how often one pull opens its source again. Each time, the source lists all skills.
// Beyond these bounds, knack sends the source no request until the next poll.
const (
	maxInVain   = 64   // while no skill arrives
	maxReopened = 1000 // in all
)

// separately fetches a library skill by skill.
type separately struct {
	*work
	ref   origin.Ref
	batch *store.Batch

	mu       sync.Mutex
	lib      origin.Separate  // the library that answered last
	reopened []origin.Library // to be closed
	times    int              // how often the source was opened again
	inVain   int              // how often since a skill arrived last
	outage   error            // the first outage that counts as a fault of a skill
}

// fetch fetches the skills, several of them concurrently. It does not fetch a skill with a digest
// that the store has. Each fetched skill is stored immediately, so that an interrupted pull can be
// continued. A faulty skill becomes a member with its fault.
func (f *separately) fetch(ctx context.Context, skills []origin.Skill) (members []store.Member, whole bool, err error) {
	members = make([]store.Member, len(skills))
	var missing []origin.Skill
	var at []int
	for i, s := range skills {
		members[i] = store.Member{Path: s.Path}
		switch d, err := skill.ParseDigest(s.Digest); {
		case s.Fault != nil:
			members[i].Fault = s.Fault.Error()
			continue
		case err == nil:
			if k, err := f.Store.Find(d); err == nil {
				members[i] = k.Member(s.Path)
				continue
			}
		}
		missing, at = append(missing, s), append(at, i)
	}
	if err := f.batch.Expect(missing); err != nil {
		return nil, false, fmt.Errorf("%s: %w", f.report.Source, err)
	}
	f.update(func(r *Report) { r.Layers, r.Done = len(skills), len(skills)-len(missing) })
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(skillsAtOnce)
	for n, s := range missing {
		group.Go(func() error {
			k, err := f.one(ctx, s)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.As(err, new(*origin.Outage)), errors.As(err, new(*store.Fault)), f.batch.Err() != nil:
				return fmt.Errorf("the skill %s: %w", display.Quote(s.Path), cmp.Or(f.batch.Err(), err))
			case err != nil:
				members[at[n]].Fault = err.Error()
			default:
				members[at[n]] = k.Member(s.Path)
			}
			f.update(func(r *Report) { r.Done, r.Fetched = r.Done+1, r.Fetched+1 })
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, false, err
	}
	whole, sound := true, false
	for i, m := range members {
		sound = sound || m.Fault == ""
		whole = whole && m.Fault == "" && (skills[i].Digest == "" || skills[i].Digest == m.Skill.String())
	}
	if !sound && f.outage != nil {
		return nil, false, f.outage
	}
	return members, whole, nil
}

// one fetches one skill. After an outage, it opens the source again, since an answer may break a
// connection that several skills share. If the source then answers, and the skill still cannot be
// fetched, the skill is at fault, and the other skills are served without it.
func (f *separately) one(ctx context.Context, s origin.Skill) (store.Skill, error) {
	f.mu.Lock()
	lib := f.lib
	f.mu.Unlock()
	k, err := f.from(ctx, lib, s)
	if err == nil {
		f.mu.Lock()
		f.inVain = 0
		f.mu.Unlock()
	}
	if !errors.As(err, new(*origin.Outage)) || f.batch.Err() != nil {
		return k, err
	}
	again, now := f.reopen(ctx, s.Path)
	if again == nil {
		return store.Skill{}, err
	}
	if now.Fault != nil {
		err = now.Fault
	} else {
		k, err = f.from(ctx, again, now)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reopened = append(f.reopened, again)
	if err == nil {
		f.lib, f.inVain = again, 0
	} else if out, ok := errors.AsType[*origin.Outage](err); ok {
		f.outage = cmp.Or(f.outage, err)
		err = out.Err
	}
	return k, err
}

// from fetches one skill from a library.
func (f *separately) from(ctx context.Context, lib origin.Separate, s origin.Skill) (store.Skill, error) {
	if err := lib.Fetch(ctx, []origin.Skill{s}, f.batch); err != nil {
		return store.Skill{}, &origin.Outage{Err: err}
	}
	k, err := f.batch.Finish(s.Path)
	if err == nil && s.Digest != "" && s.Digest != k.Digest.String() {
		err = errors.New("it does not have the digest that its source names")
	}
	return k, err
}

// reopen opens the source again. It returns the library with its present entry of a skill, or nil.
func (f *separately) reopen(ctx context.Context, path string) (origin.Separate, origin.Skill) {
	f.mu.Lock()
	f.times, f.inVain = f.times+1, f.inVain+1
	most := f.times > maxReopened || f.inVain > maxInVain
	f.mu.Unlock()
	o, err := f.Origins(f.ref.Kind)
	if most || err != nil {
		return nil, origin.Skill{}
	}
	opened, err := o.Open(ctx, f.ref, origin.Revision{})
	if err != nil {
		return nil, origin.Skill{}
	}
	if lib, ok := opened.(origin.Separate); ok {
		skills, _ := lib.Skills(ctx)
		for _, s := range skills {
			if s.Path == path {
				return lib, s
			}
		}
	}
	opened.Close()
	return nil, origin.Skill{}
}

// close closes the libraries that were opened again.
func (f *separately) close() {
	for _, lib := range f.reopened {
		lib.Close()
	}
}
