package install

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Finding is a finding of a scan of a skill.
type Finding struct {
	Rule         skill.RuleID
	Enforce      bool // stops the command, since no honest skill does this
	File         string
	Line, Column int
	Message      string
}

// scan scans the new content of the steps. A finding to enforce stops the plan unless the user
// allows its rule. scan then fails the steps with such findings, and drops the other steps that
// write.
func (in *Installer) scan(ctx context.Context, p *Plan) error {
	if in.o.Scan == nil {
		return nil
	}
	var brought []*Step
	for _, s := range p.Steps {
		// Content that was locked before was scanned when it arrived.
		if s.records() && (s.Was == nil || s.Was.Digest != s.Entry.Digest) {
			brought = append(brought, s)
		}
	}
	limit.Parallel(runtime.GOMAXPROCS(0), len(brought), func(i int) {
		s := brought[i]
		if err := in.scanStep(ctx, s); err != nil {
			in.fail(s, err)
		}
	})
	stopped := false
	for _, s := range brought {
		if rules := in.forbiddenRules(s); len(rules) > 0 {
			stopped = true
			s.Do, s.Problem = Fail, &Problem{Err: fmt.Errorf("it has a finding to enforce (%s); nothing was written", strings.Join(rules, ", ")),
				Fix: "read it first; --allow " + strings.Join(rules, " --allow ") + " takes it nevertheless", No: true}
		}
	}
	if !stopped {
		return nil
	}
	left := 0
	p.Steps = slices.DeleteFunc(p.Steps, func(s *Step) bool {
		writes := s.records() || s.Do == Delete || s.Do == Drop
		if writes {
			left++
		}
		return writes
	})
	if left > 0 {
		p.Notes = append(p.Notes, display.Count(left, "skill")+" without such a finding: nothing was written either; name the skills that you want")
	}
	return nil
}

func (in *Installer) scanStep(ctx context.Context, s *Step) error {
	b, err := in.bundle(s.Entry.Path, s.Entry.Digest, s.Entry.Files)
	if err != nil {
		return err
	}
	s.Findings, err = in.o.Scan(ctx, b)
	return err
}

// forbiddenRules returns the rules of a step's findings to enforce, except the rules that the user
// allows.
func (in *Installer) forbiddenRules(s *Step) (rules []string) {
	for _, f := range s.Findings {
		if rule := string(f.Rule); f.Enforce && !slices.Contains(in.o.Allow, rule) && !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// bundle returns a skill of the store as a bundle, the form in which sources yield skills.
func (in *Installer) bundle(at string, d skill.Digest, files []lockfile.File) (*skill.Bundle, error) {
	fsys, err := dir.FS(in.o.Store.Folder(d))
	if err != nil {
		return nil, err
	}
	b := &skill.Bundle{Path: at, FS: fsys}
	for _, name := range slices.Backward(skill.EntryNames[:]) {
		if _, has := find(files, name); has {
			b.Entry = name
		}
	}
	return b, nil
}

// Bundles fetches all skills of a source into the store, and returns their bundles. It installs
// nothing. left lists the skills that cannot be fetched, with the reasons.
func (in *Installer) Bundles(ctx context.Context, text string) (bundles []*skill.Bundle, left []Verified, err error) {
	r, err := in.VerifySource(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range r.Skills {
		if v.Err != nil {
			left = append(left, v)
			continue
		}
		b, err := in.bundle(v.Path, v.Digest, v.files)
		if err != nil {
			return nil, nil, ProblemOf(err)
		}
		bundles = append(bundles, b)
	}
	return bundles, left, nil
}
