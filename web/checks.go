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
	"github.com/knack-dev/knack/internal/ruleid"
	"github.com/knack-dev/knack/skill"
)

// checks caches the results of package check for the skills of a catalogue. Checking a
// skill reads all of it (0.35 ms for a real one). So it runs in the background, once
// for each version of the files, and starts only when a client requests a page.
type checks struct {
	catalog *catalog.Catalog
	tallies latest[*tally]

	mu      sync.Mutex
	kept    map[*skill.Skill]*checked
	version uint64        // incremented when kept changes
	round   *round        // the current round, or the last one
	took    time.Duration // duration of the last completed round
	ended   time.Time     // when the last completed round began
}

// checked is the result of the check of a skill, without the text of its SKILL.md.
type checked struct {
	report check.Report
	files  uint64    // identifies the state of the skill's files; 0 if unknown
	looked time.Time // when the files were last in that state
}

// round is one check of every skill of a snapshot.
type round struct {
	of    *catalog.Snapshot
	begun time.Time
	done  chan struct{}
}

const (
	// checkRest is how many times the duration of the last round must pass before files
	// are examined again. This limits rounds to 1 % of a processor, however often pages
	// are requested.
	checkRest = 100
	// checkRestMost limits that time to the refresh interval of the catalogue.
	checkRestMost = catalog.DefaultInterval
	// checkTime limits the wait for the disk of one skill.
	checkTime = requestTime
)

func newChecks(c *catalog.Catalog) *checks {
	return &checks{catalog: c, kept: map[*skill.Skill]*checked{}}
}

// rest returns how long the observed state of a skill's files remains valid. The caller
// holds mu.
func (c *checks) rest() time.Duration { return min(checkRest*c.took, checkRestMost) }

// begin starts a round unless one is running or the last one is still valid. It returns
// a channel that is closed when the round ends.
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
		return r.done // there is no snapshot yet
	}
	c.round = r
	go c.run(v, r)
	return r.done
}

// run checks every skill. It uses half of the processors, since agents have priority.
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

// each checks the given skills with a number of workers and stops early if the context
// ends. It calls got from several goroutines, with the report on each skill.
func (c *checks) each(ctx context.Context, v catalog.View, entries []*catalog.Entry, workers int, got func(*catalog.Entry, check.Report)) {
	next := make(chan *catalog.Entry)
	var wg sync.WaitGroup
	var silent sync.Map // labels of roots whose disk did not answer; waiting once is enough
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

// look returns the report on a skill and caches it. Unless inAnyCase is set, it trusts
// a recently observed state of the files. The error says that the disk does not answer,
// or that the context has ended. A disk that does not answer is also cached as a
// finding.
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
	now, err := catalog.Await(patient, v, e, func() *checked {
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

// unanswered returns the report on a skill whose disk does not answer.
func unanswered(s *skill.Skill) check.Report {
	return check.Report{Skill: s, Findings: []check.Finding{{
		Rule: ruleid.FileUnreadable, Severity: skill.SeverityError, File: s.Entry,
		Message: "the skill could not be checked: its disk does not answer", Mend: "see what the disk does, and look again",
	}}}
}

var filesSeed = maphash.MakeSeed()

// filesState returns a hash of the stamps of a skill's files. It returns 0 if a file is
// so recent that a second write could leave the same stamp.
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

// maxFiles is the maximum number of a skill's files that are examined, the same as in
// package check.
const maxFiles = 10_000

// verdict returns the verdict on a skill as it is on disk now. The error is the
// context's, or says that the disk does not answer.
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

// fare summarizes the verdict on one skill of a view. The zero fare is that of an
// unchecked skill.
type fare struct {
	state        doctor.State
	grave, infos int // number of errors and warnings, and of other findings
	published    bool
}

func fareOf(d *doctor.Verdict) fare {
	errors, warnings := d.Severe()
	return fare{d.State(), errors + warnings, len(d.Findings) - errors - warnings, d.Published()}
}

// totals summarize the known verdicts on all skills of a view.
type totals struct {
	count doctor.Count
	// The number of checked skills, and of all skills.
	known, all int
	fares      map[*catalog.Entry]fare
	// flawed are the skills with an error or a warning, and the skipped skills.
	// unpublished are listed skills that the Skills extension does not publish. Both
	// are in the order of the view.
	flawed, unpublished []*catalog.Entry
}

// fare returns the fare of one skill.
func (t *totals) fare(e *catalog.Entry) fare {
	if f, ok := t.fares[e]; ok {
		return f
	}
	return unchecked(e)
}

// unchecked returns the fare of an unchecked skill, derived from its status.
func unchecked(e *catalog.Entry) (f fare) {
	if state := (&doctor.Verdict{Entry: e}).State(); state != doctor.Fine {
		f.state = state
	}
	return f
}

// complete reports whether every skill has been checked.
func (t *totals) complete() bool { return t.known == t.all }

// lastAt returns when the last completed round began.
func (c *checks) lastAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// tally caches the totals of a snapshot.
type tally struct {
	mu      sync.Mutex
	version uint64 // version of the checks that the totals were made from
	made    time.Time
	totals  *totals
}

// countRest is the maximum age of the totals on a page while skills are being checked.
// Each count examines all skills.
const countRest = 500 * time.Millisecond

// totals waits up to patience for the current round and returns the totals known by
// then. now reports whether they are complete and current.
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

// known returns the verdict on a skill from its last check, or nil if it was not
// checked.
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

// some returns the verdicts on the given skills, in their order. The error is the
// context's.
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
