package distcmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/skill"
)

// registerScan registers --allow, and has the command scan new content.
func (f *flags) registerScan(cmd *cobra.Command) {
	f.scans = true
	cmd.Flags().Var((*command.Repeated)(&f.allow), "allow", "take skills with findings of this `RULE` of the enforce lane (repeatable)")
	_ = cmd.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions(enforced(), cobra.ShellCompDirectiveNoFileComp))
}

// enforced returns the rules of the enforce lane.
func enforced() (rules []string) {
	for _, r := range scan.Rules {
		if r.Lane == scan.Enforce {
			rules = append(rules, string(r.ID))
		}
	}
	return rules
}

// checkAllowed reports an error for a rule of --allow that does not exist.
func (f *flags) checkAllowed() error {
	known := enforced()
	for _, rule := range f.allow {
		if !slices.Contains(known, rule) {
			return command.UsageError("'knack help rules' lists the rules of the enforce lane", "--allow %s: there is no such rule", display.Echo(rule))
		}
	}
	return nil
}

// scanSkill scans a skill as knack scan does.
func scanSkill(ctx context.Context, b *skill.Bundle) (found []install.Finding, err error) {
	r, err := scan.Loaded(ctx, skill.Load(b), scan.Options{})
	for _, f := range r.Findings {
		found = append(found, install.Finding{Rule: f.Rule, Enforce: f.Lane == scan.Enforce, File: f.File, Line: f.Position.Line, Column: f.Position.Column, Message: f.Message})
	}
	return found, err
}

// maxLines bounds the number of printed findings, and of printed warnings. The bound is lower if
// there are many skills, since every skill has a line too.
func (r *report) maxLines() int {
	if len(r.plan.Steps) > 50 {
		return 8
	}
	return 20
}

// findings prints the findings of the scan. The findings of the enforce lane come first.
func (r *report) findings() {
	type finding struct {
		step *install.Step
		install.Finding
	}
	var all []finding
	for _, s := range r.plan.Steps {
		for _, f := range s.Findings {
			all = append(all, finding{s, f})
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(laneOf(a.Finding), laneOf(b.Finding)) })
	for _, f := range all[:min(len(all), r.maxLines())] {
		at := f.File
		if f.Line > 0 {
			at += fmt.Sprintf(":%d:%d", f.Line, f.Column)
		}
		r.env.Err().Text(console.Warning, fmt.Sprintf("%s: %s: %s (%s, %s)", f.step.Name, at, f.Message, f.Rule, laneOf(f.Finding)))
	}
	if n := len(all) - r.maxLines(); n > 0 {
		r.env.Err().Text(console.Warning, fmt.Sprintf("and %s: knack scan SOURCE shows them", display.Count(n, "further finding")))
	}
}

func laneOf(f install.Finding) scan.Lane {
	if f.Enforce {
		return scan.Enforce
	}
	return scan.Review
}

// Fetch fetches all skills of a source into the store, and installs nothing. left has the errors of
// the skills that are not available. The caller calls done after reading the bundles.
func Fetch(ctx context.Context, env *console.Env, config, source string) (bundles []*skill.Bundle, left []error, done func(), err error) {
	f := flags{env: env, config: config, typed: []string{source}}
	in, done, err := f.open(false, false)
	if err != nil {
		return nil, nil, nil, err
	}
	bundles, faulty, err := in.Bundles(ctx, source)
	if err != nil {
		done()
		return nil, nil, nil, failure(err)
	}
	for _, v := range faulty {
		left = append(left, fmt.Errorf("%s (%s): %w", v.Name, v.Path, v.Err))
	}
	return bundles, left, done, nil
}
