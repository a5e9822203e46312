package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// misnamedFile returns the file that the fixes of this level rename to SKILL.md, and the rule
// for it, or "".
func (c *checkedSkill) misnamedFile(f *checkFlags, level check.Level) (file string, rule skill.RuleID) {
	switch {
	case c.Skill.Entry != "" && c.Skill.Entry != skill.MainFile:
		file, rule = c.Skill.Entry, frontmatter.FileSpelling
	case c.Skill.Entry == "" && len(c.Skill.Others()) == 1:
		file, rule = c.Skill.Others()[0], frontmatter.FileName
	}
	if level < check.Guess || file == "" || slices.Contains(c.ignored(f), rule) || !check.Meant(c.Skill, c.Data) {
		return "", ""
	}
	return file, rule
}

// applyFixes writes the result of Fix for each skill's file.
func applyFixes(ctx context.Context, env *console.Env, run *checkRun, f *checkFlags, level check.Level) error {
	failed, said := run.renameMisspelt(ctx, env, f, level), env.Err()
	for _, c := range run.skills {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		old, rule := c.misnamedFile(f, level)
		if !check.Meant(c.Skill, c.Data) {
			continue
		}
		if c.Data == nil && old == "" || c.Skill.Dir() == "" {
			continue
		}
		now, changes := check.Fix(c.Data, c.Skill.Folder(), level, c.ignored(f)...)
		if len(changes) == 0 && old == "" {
			continue
		}
		name := c.Shown(cmp.Or(c.Skill.Entry, old))
		if err := c.write(*env, f.from.Project, now, old); err != nil {
			failed++
			said.Line("%s %s: %s", console.Red.Of("not fixed:"), name, err.Error())
			continue
		}
		for _, m := range changes {
			said.Line("fixed: %s:%d: %s [%s]", name, m.Line, m.What, m.Rule)
		}
		if old != "" {
			said.Line("fixed: %s: renamed to SKILL.md [%s]", name, rule)
		}
	}
	if failed > 0 {
		return command.RunError("fix these by hand, or make them writable", "%s could not be written", display.Count(failed, "file"))
	}
	return nil
}

// write writes the file to disk and, if old is not "", renames old to it. It does not change a
// linked skill: the user did not ask for changes at its target.
func (c *checkedSkill) write(env console.Env, project string, now []byte, old string) error {
	if c.Skill.Link() != "" {
		return errors.New("its folder is a link; give the folder that it leads to")
	}
	if c.byName {
		if link := linkAbove(env, project, c.Verdict.Entry); link != "" {
			return fmt.Errorf("%s is a link; give the folder that it leads to", env.Shown(link))
		}
	}
	folder, err := behindNoLink(env, c.base, c.Skill.Dir())
	if err != nil {
		return err
	}
	if c.Data != nil {
		err = edit.Replace(filepath.Join(folder, c.Skill.Entry), c.Data, now)
	}
	if err == nil && old != "" {
		err = edit.Rename(filepath.Join(folder, old), skill.MainFile)
	}
	if err != nil {
		return command.Cause(err) // the message already names the file
	}
	return nil
}

// behindNoLink returns the real path of a folder. It returns an error if a link leads the folder
// out of the project of base.
func behindNoLink(env console.Env, base, folder string) (string, error) {
	real, target, err := settings.Within(env, base, folder)
	if target != "" {
		err = fmt.Errorf("%w; give that folder itself", err)
	}
	return real, err
}

// misspeltFiles returns the files that the fixes of this level rename to SKILL.md.
func (r *checkRun) misspeltFiles(f *checkFlags, level check.Level) (out []checkedFinding) {
	for _, n := range r.notices {
		if _, reported := n.settings.Severity(n.Rule, n.Severity); reported && n.Fixable != check.None && n.Fixable <= level && !f.ignores(n.Rule) {
			out = append(out, n)
		}
	}
	return out
}

// renameMisspelt renames the misspelt files, and returns the number of files that failed.
func (r *checkRun) renameMisspelt(ctx context.Context, env *console.Env, f *checkFlags, level check.Level) (failed int) {
	for _, n := range r.misspeltFiles(f, level) {
		if ctx.Err() != nil {
			return failed
		}
		folder, err := behindNoLink(*env, n.base, filepath.Dir(n.near))
		if err == nil {
			err = edit.Rename(filepath.Join(folder, filepath.Base(n.near)), skill.MainFile)
		}
		if err != nil {
			failed++
			env.Err().Line("%s %s: %s", console.Red.Of("not fixed:"), n.Shown, command.Cause(err).Error())
			continue
		}
		env.Err().Line("fixed: %s: renamed to SKILL.md [%s]", n.Shown, n.Rule)
	}
	return failed
}
