package cli

import (
	"cmp"
	"errors"
	"path"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/diff"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/skill"
)

// patches are the changes that check --fix would make, one patch for each file.
type patches []string

// Print implements [command.Result]. A terminal gets no control characters; a pipe to patch gets
// every byte.
func (p patches) Print(env *console.Env) {
	for _, patch := range p {
		if env.Out().Patch(patch) != nil {
			return // the output records the failure
		}
	}
}

// diffFixes returns the changes that applyFixes would make.
func diffFixes(run *checkRun, f *checkFlags, level check.Level) (command.Result, error) {
	var all patches
	for _, m := range run.misspeltFiles(f, level) {
		name := relative(m.Shown)
		all = append(all, diff.Rename(name, path.Join(path.Dir(name), skill.MainFile)))
	}
	for _, c := range run.skills {
		old, _ := c.misnamedFile(f, level)
		if c.Data == nil && old == "" || !check.Meant(c.Skill, c.Data) {
			continue
		}
		name := relative(c.Shown(cmp.Or(c.Skill.Entry, old)))
		now, changes := check.Fix(c.Data, c.Skill.Folder(), level, c.ignored(f)...)
		to, patch := name, ""
		if old != "" {
			to = relative(c.Shown(skill.MainFile))
			patch = diff.Rename(name, to)
		}
		patch += diff.Unified("a/"+name, "b/"+to, c.Data, now)
		if len(changes) > 0 || patch != "" {
			all = append(all, patch)
		}
	}
	missing := command.Joined(run.unread, notChecked)
	if len(all) == 0 {
		return all, missing
	}
	fixable := display.Count(len(all), "file") + " can be fixed"
	if missing != nil {
		return all, command.WithOthers(missing, []command.Other{{Text: fixable}})
	}
	return all, command.Fail(command.No, errors.New(fixable), "the same without --diff, with --fix, writes this")
}

// relative returns a path for a patch. Programs that apply patches refuse absolute paths; with -d /
// or --directory=/, they find the file at the relative path.
func relative(path string) string { return strings.TrimLeft(path, "/") }
