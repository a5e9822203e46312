// Package admission decides by an operator's policy which skills a server serves, from the findings
// of a scan and from approvals.
package admission

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/policy"
	"github.com/knack-dev/knack/skill"
)

// Approvals tells which skills are approved, and with which files.
type Approvals interface {
	// Approved reports whether the files of a skill are approved under one of its possible URIs. If
	// not, why is the reason.
	Approved(uris []string, files []skill.File) (ok bool, why string)
	// Changed calls poke after each change of the approvals, until the context ends.
	Changed(ctx context.Context, poke func())
}

// Options of a [Controller].
type Options struct {
	Config    Config
	Approvals Approvals        // nil approves nothing
	Log       *slog.Logger     // logs each skill with findings, once; nil discards them
	Now       func() time.Time // time.Now
	Cache     *verdictCache    // nil means one in memory
	// Command writes a knack command for people to run, from its words. If nil, it adds no flag.
	Command func(words ...string) string
}

// Controller decides by an operator's policy which skills are served, and scans them.
type Controller struct {
	o    Options
	mu   sync.Mutex
	last map[skillPlace]Verdict
}

// skillPlace locates a skill by its root and its folder below the root. The place includes the
// root's folder, since another root may get the label later.
type skillPlace struct{ label, dir, path string }

func placeOf(r *skill.Root, path string) skillPlace { return skillPlace{r.Label, r.Dir, path} }

// key returns the key of the place in the cache. A place has the same key in every run.
func (p skillPlace) key() string { return p.label + "\x00" + p.dir + "\x00" + p.path }

// Verdict is the result of judging a skill.
type Verdict struct {
	Set    skill.Digest // of its files
	Fault  *skill.HeldError
	report *cachedReport // nil if the skill is not scanned
	// Approval describes the approval: by whom and when the skill was approved, or why it is not
	// approved. It is empty if the skill needs no approval. An approved skill can still have a
	// Fault, because of its findings.
	Approval   string
	IsApproved bool
}

// Report returns the report of the scan, or nil if the skill is not scanned.
func (v Verdict) Report() *scan.Report {
	if v.report == nil {
		return nil
	}
	return v.report.report()
}

// Unaccepted returns the report of the scan without the findings that the policy accepts, and the
// accepted findings. The report is nil if the skill is not scanned.
func (ctl *Controller) Unaccepted(e *catalog.Entry, v Verdict) (r *scan.Report, accepted []scan.Accepted) {
	if r = v.Report(); r != nil {
		accepted, _ = r.Accept(func(rule skill.RuleID) (string, error) { return ctl.whyAccepted(rule, e, v.Set), nil })
	}
	return r, accepted
}

// New returns a controller without verdicts.
func New(o Options) *Controller {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Command == nil {
		o.Command = new(console.Env).Command
	}
	if o.Cache == nil {
		o.Cache = newVerdictCache("", "", o.Now)
	}
	return &Controller{o: o, last: map[skillPlace]Verdict{}}
}

// Holds reports whether the policy can hold a skill back.
func (ctl *Controller) Holds() bool {
	return ctl != nil && (ctl.o.Config.Mode == Enforce || len(ctl.o.Config.Approve) > 0)
}

// Scans reports whether skills are scanned.
func (ctl *Controller) Scans() bool {
	return ctl != nil && (ctl.o.Config.Mode == Enforce || ctl.o.Config.Mode == Review)
}

// Enforces reports whether findings hold skills back.
func (ctl *Controller) Enforces() bool { return ctl != nil && ctl.o.Config.Mode == Enforce }

// Lanes returns the rules that the policy moves to another lane.
func (ctl *Controller) Lanes() map[skill.RuleID]scan.Lane {
	if ctl == nil {
		return nil
	}
	return ctl.o.Config.Rules
}

// Bounds of a skill to judge.
const (
	maxFiles = 10_000
	maxSize  = 256 << 20
)

// budget limits the time that one scan of a server spends on judging unknown skills. The remaining
// skills are held back, and another scan follows immediately. Some 300 real skills are judged in
// that time. So a client that lists skills only when it starts nearly always gets all of them.
const budget = time.Second

// Decider returns the decider that holds back skills that may not be served, or nil if the policy
// holds nothing back. If whole is set, the decider judges every skill without a time limit, for a
// command that scans only once.
func (ctl *Controller) Decider(whole bool) *policy.Decider {
	if !ctl.Holds() {
		return nil
	}
	return &policy.Decider{Changed: ctl.changed, Decide: func(ctx context.Context, c *policy.Candidate) policy.Ruling { return ctl.rule(ctx, c, whole) }}
}

// rule decides on a skill. During a server's first scan, it uses the verdict on the files that the
// skill had in an earlier run.
func (ctl *Controller) rule(ctx context.Context, c *policy.Candidate, whole bool) policy.Ruling {
	at := placeOf(&c.Root, c.Path).key()
	if was, ok := ctl.o.Cache.recall(at); ok && c.First && !whole && c.Recall(was.Main, was.Files, was.Set) {
		if reason, ok := ctl.decide(c); ok {
			return ruling(c, reason, true)
		}
	}
	c.Read(ctx, maxFiles, maxSize)
	reason, ok := ctl.decide(c)
	if !ok && (whole || time.Since(c.Begun) < budget) && ctl.scan(ctx, c) == nil && !c.Changed() {
		reason, ok = ctl.decide(c)
	}
	switch {
	case !ok:
		reason = pending(c.Name)
	case c.Err == nil && c.Stable():
		ctl.o.Cache.remember(at, judgedFiles{c.Stamp, c.Files, c.Set})
	}
	return ruling(c, reason, false)
}

func ruling(c *policy.Candidate, reason *skill.HeldError, again bool) policy.Ruling {
	r := policy.Ruling{Files: c.Files, Hides: true, Differs: func(string, bool) error { return pending("") }, Again: again}
	if reason != nil {
		r.Held = reason
	}
	return r
}

// pending returns the reason to hold a skill back until it is judged.
func pending(name string) *skill.HeldError {
	return &skill.HeldError{Pending: true, Name: name, Message: "held back: it is not judged yet", Fix: "wait a moment"}
}

// Start starts a server's background work, until stop is called or the context ends. It scans the
// skills of the catalogue if the policy holds nothing back, saves the verdicts, and drops the
// verdicts on skills that are gone.
func (ctl *Controller) Start(ctx context.Context, c *catalog.Catalog) (stop func()) {
	if !ctl.Holds() && !ctl.Scans() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { ctl.run(ctx) })
	wg.Go(func() { ctl.review(ctx, c) })
	end := c.Subscribe(func(d catalog.Diff) {
		removed := map[skillPlace]bool{}
		for _, e := range d.Removed {
			removed[placeOf(e.Root, e.Path)] = true
		}
		ctl.forget(func(at skillPlace) bool { return removed[at] })
	})
	return func() {
		end()
		cancel()
		wg.Wait()
	}
}

// saveEvery is the interval at which a server saves its verdicts.
const saveEvery = 10 * time.Second

// run saves the cache periodically until the context ends.
func (ctl *Controller) run(ctx context.Context) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		ctl.Save()
	}
}

// Save stores the verdicts for the next run. If that fails, the next run only takes longer.
func (ctl *Controller) Save() {
	if ctl == nil {
		return
	}
	if err := ctl.o.Cache.save(); err != nil {
		ctl.o.Log.Info("verdicts are not kept for the next start", "reason", err.Error())
	}
}

// changed calls poke when verdicts may change: after a change of the approvals, and when an
// acceptance expires.
func (ctl *Controller) changed(ctx context.Context, poke func()) {
	for _, a := range ctl.o.Config.Accept {
		if now, end := ctl.o.Now(), a.End(); end.After(now) {
			timer := time.AfterFunc(end.Sub(now), poke)
			defer timer.Stop()
		}
	}
	if ctl.o.Approvals != nil && len(ctl.o.Config.Approve) > 0 {
		ctl.o.Approvals.Changed(ctx, poke)
	}
	<-ctx.Done()
}

// decide returns the reason to hold a skill back, or nil. ok is false if the skill must be scanned
// first.
func (ctl *Controller) decide(c *policy.Candidate) (reason *skill.HeldError, ok bool) {
	v := Verdict{}
	if c.Err == nil {
		v.Set = c.Set
		if v.report = ctl.o.Cache.report(v.Set); v.report == nil && ctl.o.Config.Mode == Enforce {
			return nil, false
		}
	}
	e := entryOf(c)
	switch {
	case c.Err != nil:
		v.Fault = heldFor(c, "its files cannot be judged: "+skill.Reason(c.Err), "let knack read all files of the skill, and leave them alone for a moment")
	case ctl.o.Config.Mode == Enforce:
		v.Fault = ctl.reasonOf(c, e, v)
	}
	if ctl.mustBeApproved(e) {
		v.Approval = "not approved: its files cannot be read"
		if c.Err == nil && ctl.o.Approvals != nil {
			v.IsApproved, v.Approval = ctl.o.Approvals.Approved(uris(c), c.Files)
		}
		if !v.IsApproved && v.Fault == nil {
			v.Fault = heldFor(c, v.Approval, "see what it does with "+console.Quoted(ctl.o.Command("scan"))+" and what has changed with "+console.Quoted(ctl.o.Command("scan", "--against", "approved", "--text"))+", then run "+console.Quoted(ctl.o.Command("approve", "SKILL")))
		}
	}
	ctl.record(c, v)
	return v.Fault, true
}

// scan scans a skill and stores the report. It stores the report only if the scan has read exactly
// the candidate's files, each to its end.
func (ctl *Controller) scan(ctx context.Context, c *policy.Candidate) error {
	if c.Err != nil || !ctl.Scans() {
		return ctx.Err()
	}
	r, err := scan.Skill(ctx, scan.Served(c.Skill), c.Files, scan.Options{Lanes: ctl.o.Config.Rules})
	if err != nil {
		return err
	}
	if r.Failed {
		return skill.ErrUnstable
	}
	return ctl.o.Cache.keep(c.Set, &r)
}

// reasonOf returns the reason why findings hold a skill back, or nil.
func (ctl *Controller) reasonOf(c *policy.Candidate, e *catalog.Entry, v Verdict) *skill.HeldError {
	if v.report.enforce == 0 && !v.report.unread {
		return nil // nearly always
	}
	r := v.Report()
	if r == nil {
		return heldFor(c, "its report cannot be read", "delete knack's cache")
	}
	var first *scan.Finding
	open := r.Enforce // findings that are not accepted; only a listed finding can be accepted
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case f.Lane != scan.Enforce:
		case ctl.accepts(f.Rule, e, v.Set):
			open--
		case first == nil:
			first = f
		}
	}
	fix := func(rule skill.RuleID, how string) string {
		if how != "" {
			how = ": " + how
		}
		return "correct the skill" + how + "; or, if the finding is harmless, accept it: " + ctl.o.Command("approve", "SKILL", "--accept", string(rule), "--reason", "TEXT")
	}
	switch {
	case open > 0 && first == nil:
		return heldFor(c, display.Count(open, "finding")+" to enforce", "correct the skill: it has more findings than can be accepted")
	case open > 0:
		text := words(first)
		if open > 1 {
			text += fmt.Sprintf(", and %d more", open-1)
		}
		return heldFor(c, text, fix(first.Rule, first.Fix))
	case r.TooLarge && !ctl.accepts(scan.RuleTooLarge, e, v.Set):
		how := "make it smaller"
		if canBeApproved(c.Files) {
			how += " or, if all of it is harmless, accept it: " + ctl.o.Command("approve", "SKILL", "--accept", string(scan.RuleTooLarge), "--reason", "TEXT")
		}
		return heldFor(c, firstOf(r, scan.RuleTooLarge), how)
	case r.Unread && !ctl.accepts(scan.RuleNotRead, e, v.Set):
		return heldFor(c, firstOf(r, scan.RuleNotRead), fix(scan.RuleNotRead, ""))
	}
	return nil
}

// canBeApproved reports whether files are within the limits of a skill for knack approve.
func canBeApproved(files []skill.File) bool {
	size := int64(0)
	for _, f := range files {
		size += f.Size
	}
	return len(files) <= skill.MaxFiles && size <= skill.MaxSkillSize
}

// HoldsBack reports whether the findings of a rule hold a skill back in mode enforce, unless they
// are accepted.
func HoldsBack(r *scan.Report, rule skill.RuleID) bool {
	return rule == scan.RuleTooLarge && r.TooLarge || rule == scan.RuleNotRead && r.Unread ||
		slices.ContainsFunc(r.Findings, func(f scan.Finding) bool { return f.Rule == rule && f.Lane == scan.Enforce })
}

// firstOf returns the text of the first finding of a rule, or a general text if the rule has no
// finding.
func firstOf(r *scan.Report, rule skill.RuleID) string {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Rule == rule {
			return words(f)
		}
	}
	return "not all of it could be judged"
}

// words returns the location and the text of a finding: "run.sh:3:1: a program is decoded and run
// [run-decoded]".
func words(f *scan.Finding) string {
	at := display.Echo(f.File)
	if at == "" {
		return fmt.Sprintf("%s [%s]", f.Message, f.Rule)
	}
	if pos := f.Position.String(); pos != "" {
		at += ":" + pos
	}
	return fmt.Sprintf("%s: %s [%s]", at, f.Message, f.Rule)
}

func heldFor(c *policy.Candidate, message, fix string) *skill.HeldError {
	return &skill.HeldError{Name: c.Name, Message: "held back: " + message, Fix: fix}
}

// accepts reports whether the policy accepts a rule's findings in a skill.
func (ctl *Controller) accepts(rule skill.RuleID, e *catalog.Entry, set skill.Digest) bool {
	return ctl.acceptance(rule, e, set) != nil
}

// acceptance returns the item of the policy that accepts a rule's findings in a skill, or nil.
func (ctl *Controller) acceptance(rule skill.RuleID, e *catalog.Entry, set skill.Digest) *Accept {
	i := slices.IndexFunc(ctl.o.Config.Accept, func(a Accept) bool {
		return a.Rule == rule && (a.Set == skill.Digest{} || a.Set == set) && (a.Until.IsZero() || ctl.o.Now().Before(a.End())) && a.Skill.FitsAll(e)
	})
	if i < 0 {
		return nil
	}
	return &ctl.o.Config.Accept[i]
}

// Accepted returns the reason why the policy accepts a rule's findings in the present files of a
// skill, with its place in the configuration: "'our own host' (knack.yaml:5)". It returns "" if the
// policy does not accept them.
func (ctl *Controller) Accepted(ctx context.Context, e *catalog.Entry, rule skill.RuleID) string {
	if ctl == nil || len(ctl.o.Config.Accept) == 0 || e.FS == nil {
		return ""
	}
	if why := ctl.whyAccepted(rule, e, skill.Digest{}); why != "" { // for all files
		return why
	}
	if !slices.ContainsFunc(ctl.o.Config.Accept, func(a Accept) bool { return a.Rule == rule }) {
		return ""
	}
	files, err := e.LargeManifest(ctx, nil, maxFiles, maxSize)
	if err != nil {
		return ""
	}
	return ctl.whyAccepted(rule, e, skill.SetOf(files))
}

// whyAccepted returns the reason and the place of the acceptance of a rule's findings in a skill,
// or "".
func (ctl *Controller) whyAccepted(rule skill.RuleID, e *catalog.Entry, set skill.Digest) string {
	a := ctl.acceptance(rule, &catalog.Entry{Skill: e.Skill, Root: e.Root, Status: catalog.Skipped}, set)
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s:%d)", display.Quote(a.Reason), ctl.o.Config.File, a.Line)
}

// mustBeApproved reports whether a skill needs an approval to be served.
func (ctl *Controller) mustBeApproved(e *catalog.Entry) bool {
	return slices.ContainsFunc(ctl.o.Config.Approve, func(p pattern) bool { return p.FitsAny(e) })
}

// record records the verdict on a skill, and logs its findings once.
func (ctl *Controller) record(c *policy.Candidate, v Verdict) {
	at := placeOf(&c.Root, c.Path)
	ctl.mu.Lock()
	before := ctl.last[at]
	ctl.last[at] = v
	ctl.mu.Unlock()
	if before.Set == v.Set && before.report != nil || v.report == nil || v.report.enforce+v.report.review == 0 {
		return
	}
	level := slog.LevelInfo
	if v.report.enforce > 0 {
		level = slog.LevelWarn
	}
	ctl.o.Log.Log(context.Background(), level, "skill scanned", "at", c.Root.LocalName()+"/"+c.Path, "enforce", v.report.enforce, "review", v.report.review, "rules", v.report.rules)
}

// Of returns the verdict on a skill.
func (ctl *Controller) Of(e *catalog.Entry) (Verdict, bool) {
	if ctl == nil {
		return Verdict{}, false
	}
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	v, ok := ctl.last[placeOf(e.Root, e.Path)]
	return v, ok
}
