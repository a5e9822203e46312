package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/config"
	"github.com/knack-dev/knack/edit"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/ruleid"
	"github.com/knack-dev/knack/internal/typo"
	"github.com/knack-dev/knack/skill"
)

// checkFlags are the flags of check for files.
type checkFlags struct {
	from   sourceFlags
	format string
	strict bool
	info   bool
	ignore []string
	fix    string
	diff   bool
	config string
	// strictGiven is set if the flag was given, which overrides files.
	strictGiven bool
}

// checkFormats are the formats of check, for files.
var checkFormats = map[string]func(*Env, *checkRun, *checkFlags) error{
	"text": printCheckText, "json": printCheckJSON, "sarif": printSARIF, "github": printAnnotations,
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
	return check.None, usageError("write --fix, or --fix=guess", "--fix=%s: there is no such level", f.fix)
}

func (f *checkFlags) validate() error {
	if checkFormats[f.format] == nil {
		return usageError("the formats are text, json, sarif and github", "--format %s: there is no such format", f.format)
	}
	for _, id := range f.ignore {
		if _, ok := check.RuleOf(skill.RuleID(id)); !ok {
			hint := "doc/check.md lists the rules; a finding names its rule in brackets"
			if best := typo.Nearest(id, ruleIDs()); best != "" {
				hint = "did you mean " + best + "?"
			}
			return usageError(hint, "--ignore %s: there is no such rule", id)
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

// isStrict reports whether warnings are errors. The flag overrides the files.
func (f *checkFlags) isStrict(c config.Check) bool {
	if f.strictGiven || c.Strict == nil {
		return f.strict
	}
	return *c.Strict
}

// ignored returns the rules that are disabled for this skill; they are neither reported nor
// fixed.
func (c *checkedSkill) ignored(f *checkFlags) (out []skill.RuleID) {
	for _, r := range check.Rules {
		if f.ignores(r.ID) || c.settings.Severity(r.ID, r.Severity) == config.Off {
			out = append(out, r.ID)
		}
	}
	return out
}

// isOff reports whether the settings drop the finding.
func isOff(f checkedFinding) bool {
	return f.settings.Severity(f.Rule, f.Severity) == config.Off
}

func checkFiles(ctx context.Context, env *Env, f *checkFlags, paths []string) error {
	level, err := f.level()
	if err == nil {
		err = f.validate()
	}
	if err != nil {
		return err
	}
	all, lost, err := targets(env, &f.from, paths)
	if err != nil {
		return err
	}
	files := newSettings(env, f.config)
	for i, t := range all {
		if all[i].settings, err = files.checkOf(t.base); err != nil {
			return err
		}
	}
	run, err := lookAt(ctx, env, all)
	if err != nil {
		return err
	}
	if f.diff {
		run.lost = append(lost, run.lost...)
		err := showDiff(env, run, f, level)
		if missing := run.failure(env); missing != nil {
			if err != nil {
				fmt.Fprintf(env.Stderr, "%s\n", clean(err.Error()))
			}
			return missing
		}
		return err
	}
	var failed error
	if level != check.None {
		failed = mend(ctx, env, run, f, level)
		if run, err = lookAt(ctx, env, all); err != nil {
			return err
		}
	}
	run.used = files.used
	run.lost = append(lost, run.lost...)
	run.collect(f)
	if len(run.skills) == 0 && len(paths) == 0 {
		fmt.Fprintln(env.Stderr, "no skill was found in the project's folders; name one, or a folder that holds some")
	}
	// An empty run is printed in the requested format, too.
	if f.format != "text" || len(run.lost) == 0 || len(run.skills)+len(run.findings) > 0 {
		if err := checkFormats[f.format](env, run, f); err != nil {
			return err
		}
	}
	if run.silenced > 0 && f.format != "text" { // whose last line says it
		fmt.Fprintf(env.Stderr, "%s left out by %s\n", display.Count(run.silenced, "finding"), clean(run.files()))
	}
	missing := run.failure(env)
	switch {
	case failed != nil && missing != nil:
		fmt.Fprintf(env.Stderr, "not checked: %s\n", clean(missing.Error()))
		return failed
	case failed != nil:
		return failed
	case missing != nil:
		return missing // the findings are printed already
	}
	if n := run.count(skill.SeverityError); n > 0 {
		return &failure{exitNo, fmt.Errorf("%s in %s", display.Count(n, "error"), display.Count(len(run.skills), "skill")), ""}
	}
	return nil
}

// misspelt returns the file that the fixes of this level rename to SKILL.md, and the rule
// for it, or "".
func (c *checkedSkill) misspelt(f *checkFlags, level check.Level) (file string, rule skill.RuleID) {
	switch {
	case c.Skill.Entry != "" && c.Skill.Entry != skill.MainFile:
		file, rule = c.Skill.Entry, ruleid.FileSpelling
	case c.Skill.Entry == "" && len(c.Skill.Others()) == 1:
		file, rule = c.Skill.Others()[0], ruleid.FileName
	}
	if level < check.Guess || slices.Contains(c.ignored(f), rule) {
		return "", ""
	}
	return file, rule
}

// mend writes the result of Fix for each skill's file.
func mend(ctx context.Context, env *Env, run *checkRun, f *checkFlags, level check.Level) error {
	failed := run.renameNear(ctx, env, f, level)
	for _, c := range run.skills {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		old, rule := c.misspelt(f, level)
		if c.Data == nil && old == "" || c.Skill.Dir() == "" {
			continue
		}
		now, mends := check.Fix(c.Data, c.Skill.Folder(), level, c.ignored(f)...)
		if len(mends) == 0 && old == "" {
			continue
		}
		name := c.shown(cmp.Or(c.Skill.Entry, old))
		if err := c.write(*env, now, old); err != nil {
			failed++
			fmt.Fprintf(env.Stderr, "not mended: %s: %s\n", clean(name), clean(err.Error()))
			continue
		}
		for _, m := range mends {
			fmt.Fprintf(env.Stderr, "mended: %s:%d: %s [%s]\n", clean(name), m.Line, clean(m.What), m.Rule)
		}
		if old != "" {
			fmt.Fprintf(env.Stderr, "mended: %s: renamed to SKILL.md [%s]\n", clean(name), rule)
		}
	}
	if failed > 0 {
		return runError("mend these by hand, or let knack write them", "%s could not be written", display.Count(failed, "file"))
	}
	return nil
}

// write changes the file on disk and, if old is not "", the spelling of that file's name. A
// skill behind a link is left alone: the user did not ask for changes at its target.
func (c *checkedSkill) write(env Env, now []byte, old string) error {
	if c.Skill.Link() != "" {
		return errors.New("its folder is a link; give the folder that it leads to")
	}
	if err := behindNoLink(env, c.base, c.Skill.Dir()); err != nil {
		return err
	}
	var err error
	if c.Data != nil {
		err = edit.Replace(filepath.Join(c.Skill.Dir(), c.Skill.Entry), c.Data, now)
	}
	if err == nil && old != "" {
		err = edit.Rename(filepath.Join(c.Skill.Dir(), old), skill.MainFile)
	}
	if err != nil {
		return bare(err) // the message names the file already
	}
	return nil
}

// behindNoLink refuses a change in a folder that a link leads out of the project of base.
func behindNoLink(env Env, base, folder string) error {
	if target, err := insideProject(env, base, filepath.Join(folder, skill.MainFile)); target != "" {
		return fmt.Errorf("%w; give that folder itself", err)
	} else if err != nil {
		return err
	}
	return nil
}

// showDiff prints the changes that mend would make. A person's terminal gets no control
// characters; patch gets every byte.
func showDiff(env *Env, run *checkRun, f *checkFlags, level check.Level) error {
	n := 0
	show := func(diff string) error {
		n++
		if env.StdoutTerminal {
			diff = clean(diff)
		}
		_, err := io.WriteString(env.Stdout, diff)
		return err
	}
	for _, m := range run.renamed(f, level) {
		if err := show(renamePatch(m.shown, path.Join(path.Dir(m.shown), skill.MainFile))); err != nil {
			return err
		}
	}
	for _, c := range run.skills {
		old, _ := c.misspelt(f, level)
		if c.Data == nil && old == "" {
			continue
		}
		// Programs that apply patches refuse absolute paths; -d / or --directory=/ makes
		// these work.
		name := strings.TrimLeft(c.shown(cmp.Or(c.Skill.Entry, old)), "/")
		now, mends := check.Fix(c.Data, c.Skill.Folder(), level, c.ignored(f)...)
		diff := edit.Diff(name, c.Data, now)
		if old != "" {
			to := strings.TrimLeft(c.shown(skill.MainFile), "/")
			diff = renamePatch(name, to) + strings.Replace(diff, "+++ b/"+name, "+++ b/"+to, 1)
		}
		if len(mends) == 0 && diff == "" {
			continue
		}
		if err := show(diff); err != nil {
			return err
		}
	}
	if n > 0 {
		return &failure{exitNo, fmt.Errorf("%s can be mended", display.Count(n, "file")), "the same without --diff, with --fix, writes this"}
	}
	return nil
}
