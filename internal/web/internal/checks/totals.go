package checks

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/skill"
)

// StateOf returns the state of a skill. It is empty if the state depends on the check and
// the skill is unchecked.
func StateOf(e *catalog.Entry, s *judgement.Summary) judgement.State {
	if s != nil {
		return s.State()
	}
	if state := (judgement.Summary{Status: e.Status, Held: e.HeldBack()}).State(); state != judgement.NotJudged {
		return state
	}
	return ""
}

// tally caches the totals of a snapshot.
type tally struct {
	mu      sync.Mutex
	version uint64 // version of the checks that the totals were made from
	made    time.Time
	totals  *doctor.Totals
}

// countRest is the maximum age of the totals on a page while skills are being checked.
// Each count examines all skills.
const countRest = 500 * time.Millisecond

// checkPatience is how long a page waits for the check of the skills. Few skills are
// checked in this time.
const checkPatience = 20 * time.Millisecond

// Soon returns the totals for a page, without waiting until every skill is checked. now reports
// whether the totals are complete and current.
func (c *Checks) Soon(ctx context.Context, v catalog.View) (t *doctor.Totals, now bool) {
	now = closesWithin(ctx, c.begin(true).done, checkPatience)
	t = c.count(v, now)
	return t, now && t.Complete()
}

// apiPatience is how long an API request waits for the check of all skills. The API
// never returns partial results.
const apiPatience = DiskTime - 2*time.Second

// Whole returns the totals for the API, and waits until every skill is checked. The stamps of the
// files were compared within the last [checkAge]. ok is false if not all skills were checked in
// time.
func (c *Checks) Whole(ctx context.Context, v catalog.View) (t *doctor.Totals, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	r := c.begin(true)
	done := closesWithin(ctx, r.done, checkPatience)
	// Help the round from the other end. It may check another snapshot, so also check the skills
	// that it lacks.
	unknown, _ := c.split(v.Entries)
	slices.Reverse(unknown)
	c.checkAll(ctx, unknown, runtime.GOMAXPROCS(0), c.checkOnce(v))
	if last := c.LastAt(); !done && !last.IsZero() && time.Since(last) >= checkAge {
		closesWithin(ctx, r.done, apiPatience)
	}
	t = c.count(v, true)
	return t, t.Complete()
}

// closesWithin reports whether the channel is closed within the given time.
func closesWithin(ctx context.Context, done <-chan struct{}, patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// LastAt returns when the last completed round that compared stamps began.
func (c *Checks) LastAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// count returns the totals of a view. Unless now is set, they may be a little older than
// the results.
func (c *Checks) count(v catalog.View, now bool) *doctor.Totals {
	sums := c.tallies.Get(v, func() *tally { return &tally{} })
	sums.mu.Lock()
	defer sums.mu.Unlock()
	c.mu.Lock()
	version := c.version
	c.mu.Unlock()
	if sums.totals == nil || sums.version != version && (now || time.Since(sums.made) > countRest) {
		sums.version, sums.totals, sums.made = version, doctor.TotalsOf(v, c.Kept), time.Now()
	}
	return sums.totals
}

// Kept returns the verdict on a skill from its last check, and a count of the findings that the
// verdict lacks. The verdict is nil if the skill was not checked.
func (c *Checks) Kept(e *catalog.Entry) (d *judgement.Verdict, cut judgement.Tally) {
	c.mu.Lock()
	r := c.results[e.Skill]
	var by skill.Position
	if e.By != nil {
		if res := c.results[e.By.Skill]; res != nil {
			by = res.report.NameAt
		} else {
			r = nil
		}
	}
	c.mu.Unlock()
	if r == nil {
		return nil, nil
	}
	return judgement.InPlace(e, r.report, by), r.cut
}

// Verdict returns the verdict on the current files of a skill. The error is the context's, or means
// that the disk does not answer.
func (c *Checks) Verdict(ctx context.Context, v catalog.View, e *catalog.Entry) (*judgement.Verdict, error) {
	var by skill.Position
	if e.By != nil {
		r, err := c.check(ctx, v, e.By, checkAge, false)
		if err != nil {
			return nil, err
		}
		by = r.NameAt
	}
	r, err := c.check(ctx, v, e, 0, true)
	if err != nil {
		return nil, err
	}
	return judgement.InPlace(e, r, by), nil
}

// Verdicts returns the verdicts on the given skills, in their order. It uses the results that
// [Checks.Whole] would use. The error is the context's.
func (c *Checks) Verdicts(ctx context.Context, v catalog.View, entries []*catalog.Entry) ([]*judgement.Verdict, error) {
	out := make([]*judgement.Verdict, len(entries))
	recent := time.Since(c.LastAt()) < checkAge
	var missing []*catalog.Entry
	for i, e := range entries {
		if d, cut := c.Kept(e); d != nil && recent && len(cut) == 0 {
			out[i] = d
			continue
		}
		missing = append(missing, e)
		if e.By != nil {
			missing = append(missing, e.By)
		}
	}
	var mu sync.Mutex
	reports := make(map[*skill.Skill]check.Report, len(missing))
	c.mu.Lock()
	age := c.rest()
	c.mu.Unlock()
	c.checkAll(ctx, missing, runtime.GOMAXPROCS(0), func(ctx context.Context, e *catalog.Entry) error {
		r, err := c.check(ctx, v, e, age, true)
		mu.Lock()
		defer mu.Unlock()
		reports[e.Skill] = r
		return err
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	report := func(s *skill.Skill) check.Report {
		if r, ok := reports[s]; ok {
			return r
		}
		return unanswered(s)
	}
	for i, e := range entries {
		if out[i] == nil {
			var by skill.Position
			if e.By != nil {
				by = report(e.By.Skill).NameAt
			}
			out[i] = judgement.InPlace(e, report(e.Skill), by)
		}
	}
	return out, nil
}
