package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// checkFlags are the flags of check for files.
type checkFlags struct {
	from   selection.Flags
	format string
	strict bool
	info   bool
	ignore []string
	fix    string
	diff   bool
	// strictGiven reports whether the user gave --strict. The flag then overrides the configuration
	// files.
	strictGiven bool
}

func (f *checkFlags) level() (check.Level, error) {
	switch f.fix {
	case "":
		if f.diff {
			return check.Certain, nil
		}
		return check.None, nil
	case "certain":
		return check.Certain, nil
	case "guess":
		return check.Guess, nil
	}
	return check.None, command.UsageError(typo.Hint(f.fix, []string{"certain", "guess"}, "write --fix, or --fix=guess"), "--fix=%s: there is no such level", f.fix)
}

func (f *checkFlags) validate() error {
	if !slices.Contains(report.Formats, f.format) {
		return command.UsageError(typo.Hint(f.format, report.Formats, "the formats are text, json, sarif and github"), "--format %s: there is no such format", f.format)
	}
	if f.diff && f.format != "text" {
		return command.UsageError("leave out one of the two", "--diff prints a patch, and no %s", f.format)
	}
	for _, id := range f.ignore {
		if _, ok := check.RuleOf(skill.RuleID(id)); !ok {
			return command.UsageError(typo.Hint(id, ruleIDs(), "'knack help rules' lists them; a finding names its rule in brackets"), "--ignore %s: there is no such rule", id)
		}
	}
	return nil
}

func ruleIDs() []string {
	ids := make([]string, len(check.Rules))
	for i, r := range check.Rules {
		ids[i] = string(r.ID)
	}
	return ids
}

// ignores reports whether a flag disables a rule.
func (f *checkFlags) ignores(id skill.RuleID) bool { return slices.Contains(f.ignore, string(id)) }

// isStrict reports whether warnings count as errors. The flag overrides the configuration files.
func (f *checkFlags) isStrict(c config.Check) bool {
	if f.strictGiven || c.Strict == nil {
		return f.strict
	}
	return *c.Strict
}

// ignored returns the rules that are disabled for this skill. Their findings are neither reported
// nor fixed.
func (c *checkedSkill) ignored(f *checkFlags) (out []skill.RuleID) {
	for _, r := range check.Rules {
		if _, reported := c.settings.Severity(r.ID, r.Severity); f.ignores(r.ID) || !reported {
			out = append(out, r.ID)
		}
	}
	return out
}

func checkFiles(ctx context.Context, env *console.Env, f *checkFlags, words []string) (command.Result, error) {
	level, err := f.level()
	if err == nil {
		err = f.validate()
	}
	if err != nil {
		return nil, err
	}
	named := &namedSkills{env: env, from: &f.from}
	defer named.close()
	all, names, unread, err := targets(ctx, env, named, words)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		err := named.add(ctx, name, f)
		if none := (*command.Failure)(nil); errors.As(err, &none) && none.Code == command.No {
			unread = append(unread, none)
		} else if err != nil {
			return nil, err
		}
	}
	files := settings.New(env, f.from.Config)
	for i, t := range all {
		if all[i].settings, err = files.Check(t.base); err != nil {
			return nil, err
		}
	}
	for _, s := range named.skills {
		if s.settings, err = files.Check(s.base); err != nil {
			return nil, err
		}
	}
	run, err := scanTargets(ctx, env, all, named)
	if err != nil {
		return nil, err
	}
	if f.diff {
		run.unread = append(unread, run.unread...)
		return diffFixes(run, f, level)
	}
	var failed error
	if level != check.None {
		failed = applyFixes(ctx, env, run, f, level)
		if err := named.refresh(ctx); err != nil {
			return nil, err
		}
		if run, err = scanTargets(ctx, env, all, named); err != nil {
			return nil, err
		}
	}
	run.unread = append(unread, run.unread...)
	run.collect(f, files)
	if len(run.skills) == 0 && len(words) == 0 {
		run.report.Notes = append(run.report.Notes, "no skill was found in the project's folders; "+otherPath(env, named.opened))
	}
	var result command.Result = &run.report
	if f.format == "text" && len(run.unread) > 0 && len(run.skills)+len(run.report.Findings) == 0 {
		result = nil // nothing was read; the other formats have an empty report
	}
	if failed != nil {
		return result, command.WithOthers(failed, command.Others(run.unread, notChecked))
	}
	if missing := command.Joined(run.unread, notChecked); missing != nil {
		return result, missing
	}
	if n := run.report.Count(skill.SeverityError); n > 0 {
		if f.format == "text" {
			return result, command.Fail(command.No, command.ErrPrinted, "")
		}
		return result, command.Fail(command.No, fmt.Errorf("%s in %s", display.Count(n, "error"), run.report.Subjects()), "")
	}
	return result, nil
}
