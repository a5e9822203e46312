package cli

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/diff"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/skill"
)

// showDiff prints the changes that applyFixes would make. A terminal gets no control characters; a
// pipe to patch gets every byte.
func showDiff(env *console.Env, run *checkRun, f *checkFlags, level check.Level) error {
	n, out := 0, env.Out()
	show := func(patch string) error {
		n++
		return out.Patch(patch)
	}
	for _, m := range run.misspeltFiles(f, level) {
		name := relative(m.Shown)
		if err := show(diff.Rename(name, path.Join(path.Dir(name), skill.MainFile))); err != nil {
			return err
		}
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
		if len(changes) == 0 && patch == "" {
			continue
		}
		if err := show(patch); err != nil {
			return err
		}
	}
	if n > 0 {
		return command.Fail(command.No, fmt.Errorf("%s can be fixed", display.Count(n, "file")), "the same without --diff, with --fix, writes this")
	}
	return nil
}

// relative returns a path for a patch. Programs that apply patches refuse absolute paths; -d / or
// --directory=/ makes these work.
func relative(path string) string { return strings.TrimLeft(path, "/") }
