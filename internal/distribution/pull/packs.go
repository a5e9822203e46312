package pull

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/store"
)

const (
	atOnce = 8 // packs that are fetched concurrently
	// skillsAtOnce is the number of skills of a server or a site that are fetched concurrently.
	// With 500 skills of two files each and 50 ms for an answer, 8 take 4.5 s and 12 take 3.2 s.
	skillsAtOnce = 12
	// unpacked is the assumed number of bytes on disk for one packed byte, when free space is
	// checked before a download. Real skills need 4, and small files a block each. The real need
	// is checked after the download.
	unpacked = 8
)

// work is one pull.
type work struct {
	*Puller
	mu     sync.Mutex
	report Report
}

func (w *work) current() Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.report
}

// update changes the report, and passes it on.
func (w *work) update(change func(*Report)) {
	w.mu.Lock()
	change(&w.report)
	r := w.report
	w.mu.Unlock()
	if w.Progress != nil {
		w.Progress(r)
	}
}

// missing returns the layers that the store has, and the indexes of the missing ones.
func (w *work) missing(packs []origin.Pack) (layers []store.Layer, missing []int, err error) {
	layers = make([]store.Layer, len(packs))
	var total int64
	for i, p := range packs {
		if slices.ContainsFunc(packs[:i], func(o origin.Pack) bool { return o.Digest == p.Digest }) {
			return nil, nil, noLibrary{fmt.Errorf("%s has the layer %s twice: ask the publisher to publish it again", w.report.Source, p.Digest)}
		}
		if layers[i], err = w.Store.Layer(p.Digest); err != nil {
			missing = append(missing, i)
			total += p.Size
		}
	}
	if err := w.Store.Fit(edit.Extent{Bytes: min(total, math.MaxInt64/unpacked) * unpacked}); err != nil {
		return nil, nil, err
	}
	w.update(func(r *Report) {
		r.Layers, r.Done, r.Fetched, r.Total = len(packs), len(packs)-len(missing), len(missing), total
	})
	return layers, missing, nil
}

// packs fetches the missing packs, several of them concurrently, and returns the skills of all
// packs.
func (w *work) packs(ctx context.Context, lib origin.Packed, packs []origin.Pack, batch *store.Batch) ([]store.Member, error) {
	layers, missing, err := w.missing(packs)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, i := range missing {
		group.Go(func() (err error) {
			layers[i], err = w.pack(ctx, lib, packs[i], batch)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return merge(layers, w.report.Source)
}

// pack fetches one pack into the store, and records its content.
func (w *work) pack(ctx context.Context, lib origin.Packed, p origin.Pack, batch *store.Batch) (store.Layer, error) {
	part := part{batch, p.Digest + "/"} // a hostile release may have one skill in two packs
	skills, err := lib.Unpack(ctx, p, func(n int64) { w.update(func(r *Report) { r.Bytes += n }) }, part)
	if err != nil {
		return store.Layer{}, err
	}
	members, err := finish(part, skills)
	if err != nil {
		return store.Layer{}, fmt.Errorf("the layer %s of %s: %w", p.Digest, w.report.Source, err)
	}
	l := store.Layer{Digest: p.Digest, Skills: members}
	if err := batch.Layer(l); err != nil {
		return store.Layer{}, err
	}
	w.update(func(r *Report) { r.Done++ })
	return l, nil
}

// part is a sink for the skills of one pack. In the batch, their paths begin with the digest of the
// pack.
type part struct {
	batch  *store.Batch
	prefix string
}

func (p part) File(path string, f origin.File, content io.Reader) error {
	return p.batch.File(p.prefix+path, f, content)
}

func (p part) Expect(skills []origin.Skill) error { return p.batch.Expect(skills) }

func (p part) Fail(path string, err error) { p.batch.Fail(p.prefix+path, err) }

func (p part) Finish(path string) (store.Skill, error) { return p.batch.Finish(p.prefix + path) }

// merge returns the skills of all layers. It refuses layers that share files of one skill, because
// the served bytes would depend on the order of the layers.
func merge(layers []store.Layer, source string) ([]store.Member, error) {
	var all []store.Member
	from := map[string]int{}
	for i, l := range layers {
		for _, m := range l.Skills {
			if _, twice := from[m.Path]; twice {
				return nil, noLibrary{fmt.Errorf("two layers of %s have the skill %s: ask the publisher to publish it again", source, display.Quote(m.Path))}
			}
			from[m.Path] = i
			all = append(all, m)
		}
	}
	for _, m := range all {
		for path := range origin.FoldersOf(m.Path) {
			if i, ok := from[path]; ok && i != from[m.Path] {
				return nil, noLibrary{fmt.Errorf("the skill %s of %s lies within %s, in another layer: ask the publisher to publish it again", display.Quote(m.Path), source, display.Quote(path))}
			}
		}
	}
	slices.SortFunc(all, func(a, b store.Member) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}
