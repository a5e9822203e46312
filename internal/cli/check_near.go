package cli

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/edit"
	"github.com/knack-dev/knack/internal/typo"
	"github.com/knack-dev/knack/skill"
)

// noticed returns a notice of a scan as a finding.
func noticed(t target, n skill.Notice) checkedFinding {
	rule, _ := check.RuleOf(n.Rule)
	f := checkedFinding{shown: path.Join(t.root.Shown, n.Path), settings: t.settings, Finding: check.Finding{
		Rule: n.Rule, Severity: rule.Severity, File: n.Path, Message: n.Message, Mend: n.Mend,
	}}
	if n.File == "" {
		return f
	}
	f.shown, f.base = path.Join(f.shown, n.File), t.base
	f.near = filepath.Join(t.root.Dir, filepath.FromSlash(n.Path), n.File)
	if typo.IsDraft(n.File) {
		f.Mend += ", once it is to be served" // renaming it would publish an inactive file
	} else if n.Meant {
		f.Fix = check.Guess
	}
	return f
}

// renamed returns the files that the fixes of this level rename to SKILL.md.
func (r *checkRun) renamed(f *checkFlags, level check.Level) (out []checkedFinding) {
	for _, n := range r.notices {
		if n.Fix != check.None && n.Fix <= level && !f.ignores(n.Rule) && !isOff(n) {
			out = append(out, n)
		}
	}
	return out
}

// renameNear applies these fixes, and returns the number of files that failed.
func (r *checkRun) renameNear(ctx context.Context, env *Env, f *checkFlags, level check.Level) (failed int) {
	for _, n := range r.renamed(f, level) {
		if ctx.Err() != nil {
			return failed
		}
		err := behindNoLink(*env, n.base, filepath.Dir(n.near))
		if err == nil {
			err = edit.Rename(n.near, skill.MainFile)
		}
		if err != nil {
			failed++
			fmt.Fprintf(env.Stderr, "not mended: %s: %s\n", clean(n.shown), clean(bare(err).Error()))
			continue
		}
		fmt.Fprintf(env.Stderr, "mended: %s: renamed to SKILL.md [%s]\n", clean(n.shown), n.Rule)
	}
	return failed
}

// renamePatch returns a patch that only renames a file.
func renamePatch(from, to string) string {
	from, to = strings.TrimLeft(from, "/"), strings.TrimLeft(to, "/")
	return fmt.Sprintf("diff --git a/%s b/%s\nrename from %s\nrename to %s\n", from, to, from, to)
}
