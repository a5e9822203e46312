package cli

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/diff"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
)

// showDiff prints the changes that applyFixes would make. A person's terminal gets no control
// characters; patch gets every byte.
func showDiff(env *console.Env, run *checkRun, f *checkFlags, level check.Level) error {
	n, out := 0, env.Out()
	show := func(patch string) error {
		n++
		return out.Patch(patch)
	}
	for _, m := range run.misspeltFiles(f, level) {
		if err := show(renamePatch(m.Shown, path.Join(path.Dir(m.Shown), skill.MainFile))); err != nil {
			return err
		}
	}
	for _, c := range run.skills {
		old, _ := c.misnamedFile(f, level)
		if c.Data == nil && old == "" {
			continue
		}
		// Programs that apply patches refuse absolute paths; -d / or --directory=/ makes
		// these work.
		name := strings.TrimLeft(c.Shown(cmp.Or(c.Skill.Entry, old)), "/")
		now, changes := check.Fix(c.Data, c.Skill.Folder(), level, c.ignored(f)...)
		patch := diff.Unified("a/"+name, "b/"+name, c.Data, now)
		if old != "" {
			to := strings.TrimLeft(c.Shown(skill.MainFile), "/")
			patch = renamePatch(name, to) + strings.Replace(patch, "+++ b/"+name, "+++ b/"+to, 1)
		}
		if len(changes) == 0 && patch == "" {
			continue
		}
		if err := show(patch); err != nil {
			return err
		}
	}
	if n > 0 {
		return &failure{exitNo, fmt.Errorf("%s can be fixed", display.Count(n, "file")), "the same without --diff, with --fix, writes this"}
	}
	return nil
}

// renamePatch returns a patch that only renames a file.
func renamePatch(from, to string) string {
	from, to = strings.TrimLeft(from, "/"), strings.TrimLeft(to, "/")
	return fmt.Sprintf("diff --git a/%s b/%s\nrename from %s\nrename to %s\n", from, to, from, to)
}
