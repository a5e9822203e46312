package web

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/doctor"
	"github.com/knack-dev/knack/skill"
)

// checks knows what package check says of each skill of a catalogue. Checking a skill
// reads all of it (0.35 ms of a real one), so it is done in the background once for each
// version of its files, and begun when a page is asked for: a server whose pages no one
// reads never does it.
type checks struct {
	catalog *catalog.Catalog
	tallies latest[*tally]

	mu      sync.Mutex
	kept    map[*skill.Skill]*checked
	version uint64        // counts the changes of kept
	round   *round        // the last one, or the one under way
	took    time.Duration // of the last one that ended
	ended   time.Time     // when that one began
}

// checked is what check says of a skill, without the text of its SKILL.md.
type checked struct {
	report check.Report
	files  uint64    // tells states of the skill's files apart; 0 proves nothing
	looked time.Time // when the files were last in that state
}

// round is one look at every skill of a snapshot.
type round struct {
	of    *catalog.Snapshot
	begun time.Time
	done  chan struct{}
}

const (
	// checkRest is how many times as long as the last round took the files of a skill
	// are not looked at again: rounds take 1 % of a processor, however often pages are
	// asked for.
	checkRest = 100
	// checkRestMost bounds that by the catalogue's own refresh.
	checkRestMost = catalog.DefaultInterval
	// checkTime bounds the wait for the disk that one skill is on.
	checkTime = requestTime
)

func newChecks(c *catalog.Catalog) *checks {
	return &checks{catalog: c, kept: map[*skill.Skill]*checked{}}
}

// rest is how long what was seen of a skill's files is good. The caller holds mu.
func (c *checks) rest() time.Duration { return min(checkRest*c.took, checkRestMost) }

// begin makes sure that what is known is of now: it begins a round if there is something
// to look at, and returns a channel that is closed when that has ended.
func (c *checks) begin() <-chan struct{} {
	v, ok := c.catalog.Now(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.round; r != nil {
		select {
		case <-r.done:
			if ok && r.of == v.Snapshot && time.Since(r.begun) < c.rest() {
				return r.done
			}
		default:
			return r.done
		}
	}
	r := &round{v.Snapshot, time.Now(), make(chan struct{})}
	if !ok {
		close(r.done)
		return r.done // there is nothing yet
	}
	c.round = r
	go c.run(v, r)
	return r.done
}

// run looks at every skill, with half of the processors: agents go first.
func (c *checks) run(v catalog.View, r *round) {
	defer close(r.done)
	c.each(context.Background(), v, v.Entries, max(1, runtime.GOMAXPROCS(0)/2), func(*catalog.Entry, check.Report) {})
	c.mu.Lock()
	defer c.mu.Unlock()
	there := make(map[*skill.Skill]bool, len(v.Entries))
	for _, e := range v.Entries {
		there[e.Skill] = true
	}
	for s := range c.kept {
		if !there[s] {
			delete(c.kept, s)
		}
	}
	c.took, c.ended = time.Since(r.begun), r.begun
}

// each looks at some skills, as many at once as there are workers, and ends early with
// the context. It calls got, from several goroutines, with what check says of each.
func (c *checks) each(ctx context.Context, v catalog.View, entries []*catalog.Entry, workers int, got func(*catalog.Entry, check.Report)) {
	next := make(chan *catalog.Entry)
	var wg sync.WaitGroup
	var silent sync.Map // labels of roots whose disk did not answer: one wait is enough
	for range min(workers, len(entries)) {
		wg.Go(func() {
			for e := range next {
				if _, ok := silent.Load(e.Root.Label); ok {
					c.keep(e.Skill, &checked{report: unanswered(e.Skill)})
					got(e, unanswered(e.Skill))
					continue
				}
				r, err := c.look(ctx, v, e, false)
				if err != nil {
					silent.Store(e.Root.Label, true)
				}
				got(e, r)
				runtime.Gosched()
			}
		})
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			break
		}
		next <- e
	}
	close(next)
	wg.Wait()
}

// look returns what check says of a skill, and keeps it. Unless its files are to be
// looked at in any case, what was seen of them a moment ago is good. The error says that
// the disk does not answer, which is kept as a finding, or that the context has ended.
func (c *checks) look(ctx context.Context, v catalog.View, e *catalog.Entry, inAnyCase bool) (check.Report, error) {
	c.mu.Lock()
	was := c.kept[e.Skill]
	fresh := was != nil && was.files != 0 && time.Since(was.looked) < c.rest()
	c.mu.Unlock()
	if fresh && !inAnyCase {
		return was.report, nil
	}
	patient, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	now, err := catalog.Within(patient, v, e, func() *checked {
		at := time.Now()
		files := filesState(patient, e.Skill, at)
		if was != nil && files != 0 && files == was.files {
			return &checked{was.report, files, at}
		}
		r := check.Loaded(patient, e.Skill)
		r.Data = nil
		return &checked{r, files, at}
	})
	switch {
	case ctx.Err() != nil:
		return check.Report{}, ctx.Err()
	case err != nil:
		now = &checked{report: unanswered(e.Skill)}
	}
	c.keep(e.Skill, now)
	return now.report, err
}

func (c *checks) keep(s *skill.Skill, now *checked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was := c.kept[s]; was == nil || was.files != now.files || now.files == 0 {
		c.version++
	}
	c.kept[s] = now
}

// unanswered is what there is to say of a skill on a disk that does not answer.
func unanswered(s *skill.Skill) check.Report {
	return check.Report{Skill: s, Findings: []check.Finding{{
		Rule: skill.RuleFileUnreadable, Severity: skill.SeverityError, File: s.Entry,
		Message: "the skill could not be checked: its disk does not answer", Mend: "see what the disk does, and look again",
	}}}
}

var filesSeed = maphash.MakeSeed()

// filesState tells states of a skill's files apart, by their stamps. It is 0 if these prove
// nothing, since a file is so young that a second write could leave the same one.
func filesState(ctx context.Context, s *skill.Skill, now time.Time) uint64 {
	if s.FS == nil {
		return 1
	}
	files, more, err := s.List(ctx, maxFiles)
	var h maphash.Hash
	h.SetSeed(filesSeed)
	for _, f := range files {
		if f.Stamp.Racy(now) {
			return 0
		}
		h.WriteString(f.Path)
		for _, n := range []int64{f.Stamp.Size, f.Stamp.MTime, f.Stamp.CTime, int64(f.Stamp.Inode)} {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
		}
	}
	if more {
		h.WriteByte(1)
	}
	if err != nil {
		h.WriteString(err.Error())
	}
	return max(h.Sum64(), 1)
}

// maxFiles bounds the files of a skill that are looked at, as package check bounds them.
const maxFiles = 10_000

// verdict is what there is to say of a skill as it is now. The error is the context's.
func (c *checks) verdict(ctx context.Context, v catalog.View, e *catalog.Entry) (*doctor.Verdict, error) {
	var by skill.Position
	if e.By != nil {
		r, err := c.look(ctx, v, e.By, false)
		if err != nil {
			return nil, err
		}
		by = r.Name.Position
	}
	r, err := c.look(ctx, v, e, true)
	if err != nil {
		return nil, err
	}
	return doctor.InPlace(e, r, by), nil
}

// fare is how one skill of a view fares. The zero fare is of one that was not checked.
type fare struct {
	state        doctor.State
	grave, infos int // findings that are errors or warnings, and the others
	published    bool
}

func fareOf(d *doctor.Verdict) fare {
	errors, warnings := d.Severe()
	return fare{d.State(), errors + warnings, len(d.Findings) - errors - warnings, d.Published()}
}

// totals are what is known of all skills of a view.
type totals struct {
	count doctor.Count
	// Of all skills so many were checked.
	known, all int
	fares      map[*catalog.Entry]fare
	// flawed are the skills with an error or a warning, and those that are skipped;
	// unpublished are listed, but not by the Skills extension. Both are
	// in the order of the view.
	flawed, unpublished []*catalog.Entry
}

// fare is that of one skill.
func (t *totals) fare(e *catalog.Entry) fare {
	if f, ok := t.fares[e]; ok {
		return f
	}
	return unchecked(e)
}

// unchecked is what the status of a skill says of how it fares.
func unchecked(e *catalog.Entry) (f fare) {
	if state := (&doctor.Verdict{Entry: e}).State(); state != doctor.Fine {
		f.state = state
	}
	return f
}

// complete reports whether every skill was checked.
func (t *totals) complete() bool { return t.known == t.all }

// lastAt is when the last round began that has ended.
func (c *checks) lastAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// tally keeps the totals of a snapshot.
type tally struct {
	mu      sync.Mutex
	version uint64 // of the checks of which they were made
	made    time.Time
	totals  *totals
}

// countRest is how old the numbers of a page may be while skills are being checked: each
// count looks at all of them.
const countRest = 500 * time.Millisecond

// totals waits a while for what is being looked at, and says what is known by then, and
// whether that is what there is now.
func (c *checks) totals(ctx context.Context, v catalog.View, patience time.Duration) (t *totals, now bool) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.begin():
		now = true
	case <-timer.C:
	case <-ctx.Done():
	}
	kept := c.tallies.get(v, func() *tally { return &tally{} })
	kept.mu.Lock()
	defer kept.mu.Unlock()
	c.mu.Lock()
	version := c.version
	c.mu.Unlock()
	if kept.totals == nil || kept.version != version && (now || time.Since(kept.made) > countRest) {
		kept.version, kept.totals, kept.made = version, c.count(v), time.Now()
	}
	return kept.totals, now && kept.totals.complete()
}

func (c *checks) count(v catalog.View) *totals {
	t := &totals{all: len(v.Entries), fares: make(map[*catalog.Entry]fare, len(v.Entries))}
	for i, e := range v.Entries {
		if i%128 == 0 {
			runtime.Gosched()
		}
		d := c.known(e)
		if d == nil {
			continue
		}
		t.known++
		t.count.Add(d)
		f := fareOf(d)
		t.fares[e] = f
		if f.grave > 0 || f.state == doctor.Skipped {
			t.flawed = append(t.flawed, e)
		}
		if !f.published && f.state != doctor.Skipped && f.state != doctor.Unlisted {
			t.unpublished = append(t.unpublished, e)
		}
	}
	for _, r := range v.Roots {
		for _, n := range r.Notices {
			t.count.AddNotice(n)
		}
	}
	return t
}

// known is the verdict on a skill as it was looked at last; nil if it was not.
func (c *checks) known(e *catalog.Entry) *doctor.Verdict {
	c.mu.Lock()
	k := c.kept[e.Skill]
	var by skill.Position
	if e.By != nil {
		if of := c.kept[e.By.Skill]; of != nil {
			by = of.report.Name.Position
		} else {
			k = nil
		}
	}
	c.mu.Unlock()
	if k == nil {
		return nil
	}
	return doctor.InPlace(e, k.report, by)
}

// some are the verdicts on some skills, in their order. The error is the context's.
func (c *checks) some(ctx context.Context, v catalog.View, entries []*catalog.Entry) ([]*doctor.Verdict, error) {
	all := slices.Clone(entries)
	for _, e := range entries {
		if e.By != nil {
			all = append(all, e.By)
		}
	}
	var mu sync.Mutex
	reports := make(map[*skill.Skill]check.Report, len(all))
	c.each(ctx, v, all, runtime.GOMAXPROCS(0), func(e *catalog.Entry, r check.Report) {
		mu.Lock()
		defer mu.Unlock()
		reports[e.Skill] = r
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out := make([]*doctor.Verdict, len(entries))
	for i, e := range entries {
		var by skill.Position
		if e.By != nil {
			by = reports[e.By.Skill].Name.Position
		}
		out[i] = doctor.InPlace(e, reports[e.Skill], by)
	}
	return out, nil
}
