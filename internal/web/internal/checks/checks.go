// Package checks checks every skill of a catalogue in the background, and caches the results for
// pages and the API.
package checks

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"runtime"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/web/internal/latest"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Checks caches the judgement of each skill of a catalogue. Each version of a skill is checked
// once, in the background, as soon as a snapshot has it, and requests use the results. The
// catalogue does not notice changes of files other than SKILL.md, so a request also starts a round
// that compares the stamps of all files.
type Checks struct {
	catalog *catalog.Catalog
	judge   judgement.Judge
	tallies latest.Cache[*tally]

	mu       sync.Mutex
	results  map[*skill.Skill]*result
	findings int           // number of findings in results
	most     int           // maximum of findings; see [maxFindings]
	version  uint64        // incremented when results changes
	round    *round        // the current round, or the last one
	took     time.Duration // duration of the last round that compared stamps
	ended    time.Time     // when that round began
}

// result is the result of the check of a skill, without the text of its SKILL.md.
type result struct {
	report check.Report
	// cut counts the findings that the report lacks because of the limit on findings. It is nil if
	// the report has all of them.
	cut   judgement.Tally
	files uint64    // identifies the state of the skill's files; 0 if unknown
	seen  time.Time // when the files were last seen in that state
}

// round is one check of the skills of a snapshot. It checks skills without a result first. Then, if
// again is set, it checks the skills with a result whose files have changed.
type round struct {
	snapshot *catalog.Snapshot
	again    bool
	begun    time.Time
	done     chan struct{}
}

// DiskTime is how long a request may wait for disks.
const DiskTime = 10 * time.Second

const (
	// checkRest is the rest before files are examined again, as a multiple of the last
	// round's duration. This limits rounds to 1 % of a processor, however often pages are
	// requested.
	checkRest = 100
	// checkRestMost limits that time to the refresh interval of the catalogue.
	checkRestMost = catalog.DefaultInterval
	// checkAge is the maximum age of the stamps of an API answer that does not wait for a
	// round.
	checkAge = 2 * checkRestMost
	// checkTime limits the wait for the disk of one skill.
	checkTime = DiskTime
	// maxFindings is the maximum number of cached findings, which take about 20 MB. The findings of
	// further skills are only counted, and a skill without findings in the cache is checked again
	// when a client requests them.
	maxFindings = 50_000
)

// New returns the checks of a catalogue, which the judge makes, and starts the first round as soon
// as a snapshot exists.
func New(c *catalog.Catalog, j judgement.Judge) *Checks {
	k := &Checks{catalog: c, judge: j, results: map[*skill.Skill]*result{}, most: maxFindings}
	c.Subscribe(func(catalog.Diff) { k.begin(false) })
	go func() {
		<-c.Ready()
		k.begin(false)
	}()
	return k
}

// rest returns how long the observed state of a skill's files remains valid. The caller
// holds mu.
func (c *Checks) rest() time.Duration { return min(checkRest*c.took, checkRestMost) }

// begin starts a round unless one is running or the last one is still valid. If again is
// set, a round that compared stamps is valid for the time of rest only.
func (c *Checks) begin(again bool) *round {
	v, ok := c.catalog.Now(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	again = c.ended.IsZero() || again && time.Since(c.ended) >= c.rest()
	if r := c.round; r != nil && (!r.ended() || r.snapshot == v.Snapshot && !again) {
		return r
	}
	r := &round{v.Snapshot, again, time.Now(), make(chan struct{})}
	if !ok { // there is no snapshot yet
		close(r.done)
		return r
	}
	c.round = r
	go c.run(v, r)
	return r
}

func (r *round) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// run checks the skills of a snapshot. It uses half of the processors, since agents have
// priority.
func (c *Checks) run(v catalog.View, r *round) {
	workers := max(1, runtime.GOMAXPROCS(0)/2)
	unknown, known := c.split(v.Entries)
	c.checkAll(context.Background(), unknown, workers, c.checkOnce(v))
	if r.again {
		c.mu.Lock()
		age := c.rest()
		c.mu.Unlock()
		c.checkAll(context.Background(), known, workers, func(ctx context.Context, e *catalog.Entry) error {
			_, err := c.check(ctx, v, e, age, false)
			return err
		})
	}
	c.forgetAllBut(v.Entries)
	c.mu.Lock()
	if r.again {
		c.took, c.ended = time.Since(r.begun), r.begun
	}
	c.mu.Unlock()
	close(r.done)
	if now, _ := c.catalog.Now(nil); now.Snapshot != r.snapshot {
		c.begin(false) // check the skills of newer snapshots
	}
}

// checkOnce returns a function that checks a skill unless it has a result.
func (c *Checks) checkOnce(v catalog.View) func(context.Context, *catalog.Entry) error {
	return func(ctx context.Context, e *catalog.Entry) error {
		c.mu.Lock()
		known := c.results[e.Skill] != nil
		c.mu.Unlock()
		if known {
			return nil // another goroutine has just checked it
		}
		_, err := c.check(ctx, v, e, 0, false)
		return err
	}
}

// split separates the skills without a result from the others.
func (c *Checks) split(entries []*catalog.Entry) (unknown, known []*catalog.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range entries {
		if c.results[e.Skill] == nil {
			unknown = append(unknown, e)
		} else {
			known = append(known, e)
		}
	}
	return unknown, known
}

func (c *Checks) forgetAllBut(entries []*catalog.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	there := make(map[*skill.Skill]bool, len(entries))
	for _, e := range entries {
		there[e.Skill] = true
	}
	for s, r := range c.results {
		if !there[s] {
			c.findings -= len(r.report.Findings)
			delete(c.results, s)
		}
	}
}

// checkAll calls do for the given skills with a number of workers, and stops early if the context
// ends. An error of do means that the disk of the skill's root does not answer. The remaining
// skills of that root get this as their result, without another wait.
func (c *Checks) checkAll(ctx context.Context, entries []*catalog.Entry, workers int, do func(context.Context, *catalog.Entry) error) {
	var silent sync.Map // labels of the roots
	limit.Parallel(workers, len(entries), func(i int) {
		e := entries[i]
		if ctx.Err() != nil {
			return
		}
		if _, ok := silent.Load(e.Root.Label); ok {
			c.keep(e.Skill, &result{report: unanswered(e.Skill)})
		} else if do(ctx, e) != nil && ctx.Err() == nil {
			silent.Store(e.Root.Label, true)
		}
	})
}

// check returns the report on a skill and caches it. It does not examine the files if their state
// was seen within the given age. If whole is set, the report has all findings. An error means that
// the disk does not answer, or that the context has ended. A silent disk is also cached as a
// finding of the skill.
func (c *Checks) check(ctx context.Context, v catalog.View, e *catalog.Entry, age time.Duration, whole bool) (check.Report, error) {
	c.mu.Lock()
	was := c.results[e.Skill]
	c.mu.Unlock()
	if was != nil && whole && was.cut != nil {
		was = nil
	}
	if was != nil && was.files != 0 && time.Since(was.seen) < age {
		return was.report, nil
	}
	patient, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	now, err := catalog.Await(patient, v, e, func() *result {
		at := time.Now()
		files := filesState(patient, e.Skill, at)
		if was != nil && files != 0 && files == was.files {
			return &result{was.report, was.cut, files, at}
		}
		r := c.judge.Own(patient, e)
		r.Data = nil
		return &result{r, nil, files, at}
	})
	switch {
	case ctx.Err() != nil:
		return check.Report{}, ctx.Err()
	case err != nil:
		now = &result{report: unanswered(e.Skill)}
	}
	c.keep(e.Skill, now)
	return now.report, err
}

// keep caches a result. If there are too many findings, it caches a copy that has only the findings
// that exclude the skill from the lists of the Skills extension.
func (c *Checks) keep(s *skill.Skill, now *result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.results[s]
	if was == nil || was.files != now.files || now.files == 0 {
		c.version++
	}
	if was != nil {
		c.findings -= len(was.report.Findings)
	}
	if now.cut == nil && c.findings+len(now.report.Findings) > c.most {
		now = now.shortened()
	}
	c.results[s] = now
	c.findings += len(now.report.Findings)
}

// shortened returns a copy of the result without most of its findings.
func (r *result) shortened() *result {
	short := *r
	short.cut, short.report.Findings = judgement.Tally{}, nil
	for _, f := range r.report.Findings {
		if check.Unpublishes(f.Rule) {
			short.report.Findings = append(short.report.Findings, f)
		} else {
			short.cut[judgement.KeyOf(f)]++
		}
	}
	return &short
}

// unanswered returns the report on a skill whose disk does not answer.
func unanswered(s *skill.Skill) check.Report {
	return check.Report{Skill: s, Findings: []check.Finding{{
		Rule: frontmatter.FileUnreadable, Severity: skill.SeverityError, File: s.Entry,
		Message: "the skill could not be checked: its disk does not answer", Fix: "find out why the disk does not answer, and check again",
	}}}
}

var filesSeed = maphash.MakeSeed()

// filesState returns a hash of the stamps of a skill's files. It returns 0 if a file is
// so recent that a second write could leave the same stamp.
func filesState(ctx context.Context, s *skill.Skill, now time.Time) uint64 {
	if s.FS == nil {
		return 1
	}
	files, more, err := s.List(ctx, MaxFiles)
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

// MaxFiles is the maximum number of a skill's files that are examined, the same as in package
// check.
const MaxFiles = 10_000
