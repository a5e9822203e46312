package mcpserver

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
)

// A page of skills/list ends after skillsPage entries, or earlier once they name
// filesPage files together (about 1 MiB of JSON). An entry is never split.
const (
	skillsPage = 100
	filesPage  = 6000
)

const (
	// pagesAhead is how many pages are kept before they are asked for: of as many lists
	// that are read at once. The next one has its pages made as it asks for them.
	pagesAhead = 4
	// pageHead is room for what stands before a page in an answer.
	pageHead = 1 << 10
)

// page is a page of skills/list, from a place in the order of the URIs on.
type page struct {
	of      catalog.View
	from    int
	taken   bool          // somebody has it, or waits for it
	done    chan struct{} // closed when what follows is there
	members []byte        // as [skillsext.ListSkillsResult.Members], behind pageHead bytes
	next    int           // where the next one begins; 0: there is none
	at      time.Time     // when the oldest manifest in it was true
	err     error
}

// written is the page without the room before it.
func (p *page) written() []byte { return p.members[pageHead:] }

// pages are made before they are asked for: whoever has asked for one page of a list
// will ask for the next. Its zero value is ready.
type pages struct {
	mu    sync.Mutex
	ahead []*page
}

// take hands over the page that was made ahead; nil where there is none.
func (a *pages) take(v catalog.View, from int) *page {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.ahead {
		if p.of == v && p.from == from && !p.taken {
			p.taken = true
			select {
			case <-p.done:
				a.drop(p)
			default: // it keeps its place until it is done
			}
			return p
		}
	}
	return nil
}

// drop needs mu.
func (a *pages) drop(p *page) {
	a.ahead = slices.DeleteFunc(a.ahead, func(o *page) bool { return o == p })
}

// put keeps a page that is being made, unless there is such a one, or no room: where one
// is never done, since a disk hangs, it keeps its place, so that no more of them pile up.
func (a *pages) put(p *page) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.ahead) == pagesAhead || slices.ContainsFunc(a.ahead, func(o *page) bool { return o.of == p.of && o.from == p.from }) {
		return false
	}
	a.ahead = append(a.ahead, p)
	return true
}

// ready says that a page is done. It is kept for as long as it is good for something.
func (a *pages) ready(p *page) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(p.done)
	if p.taken {
		a.drop(p)
		return
	}
	time.AfterFunc(catalog.AheadGood, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.drop(p)
	})
}

// page is the page of a list that begins at a place. It is the caller's own.
func (s *Server) page(ctx context.Context, v catalog.View, from int) (*page, error) {
	p := s.pages.take(v, from)
	if p != nil {
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if p == nil || p.err != nil || time.Since(p.at) >= catalog.AheadGood {
		p = &page{of: v, from: from}
		s.fill(ctx, p)
	}
	if p.err == nil && p.next > 0 {
		if next := (&page{of: v, from: p.next, done: make(chan struct{})}); s.pages.put(next) {
			go func() {
				defer s.pages.ready(next)
				s.fill(context.Background(), next) // nothing that is noted of this call
			}()
		}
	}
	return p, p.err
}

// fill makes a page.
func (s *Server) fill(ctx context.Context, p *page) {
	served, i := p.of.Served(), p.from
	skills, files := make([]*skillsext.Skill, 0, skillsPage), 0
	p.at = time.Now()
	for i < len(served) && len(skills) < skillsPage && files < filesPage {
		end := min(i+skillsPage-len(skills), len(served))
		s.manifests.Ahead(p.of, end)
		got, at, err := s.entries(ctx, p.of, served[i:end])
		if err != nil {
			p.err = err
			return
		}
		if at.Before(p.at) {
			p.at = at
		}
		for _, e := range got {
			if files >= filesPage {
				break
			}
			i++
			if e != nil {
				skills = append(skills, e)
				files += len(e.Resources.List())
			}
		}
	}
	res := skillsext.ListSkillsResult{Skills: skills}
	if i < len(served) {
		p.next, res.NextCursor = i, cursorAfter(toldVersion(p.of), served[i-1].URI().String())
	}
	p.members = res.AppendMembers(make([]byte, pageHead, pageHead+res.Room()))
}

// entries makes the entries of some skills at once; nil where one is not published.
// All manifests in them were true at a time, or later.
func (s *Server) entries(ctx context.Context, v catalog.View, of []*catalog.Entry) ([]*skillsext.Skill, time.Time, error) {
	out := make([]*skillsext.Skill, len(of))
	errs := make([]error, len(of))
	ats := make([]time.Time, len(of))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(2*runtime.GOMAXPROCS(0), len(of)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(of); i = int(next.Add(1)) - 1 {
				out[i], errs[i] = s.entry(ctx, v, of[i], func(ctx context.Context, v catalog.View, e *catalog.Entry) (now *catalog.Entry, files []skill.File, err error) {
					now, files, ats[i], err = s.manifests.OfList(ctx, v, e)
					return now, files, err
				})
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, time.Time{}, ctx.Err()
	}
	oldest := time.Now()
	for i, err := range errs {
		if err != nil {
			// One skill that cannot be read must not take the others with it.
			s.unpublished(of[i], skill.Reason(err))
		}
		if !ats[i].IsZero() && ats[i].Before(oldest) {
			oldest = ats[i]
		}
	}
	return out, oldest, nil
}
