package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/edit"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// nearMiss is the file of a near-miss notice: where it lies, and as it is shown.
type nearMiss struct {
	file, shown string
	meant       bool // its text begins as a SKILL.md does
}

// nearMissOf finds the file that a notice speaks of; ok is false where no author
// means it as SKILL.md: a skills.md without frontmatter is a text about skills.
func nearMissOf(root skill.Root, n skill.Notice) (near nearMiss, ok bool) {
	folder := filepath.Join(root.Dir, filepath.FromSlash(n.Path))
	entries, err := os.ReadDir(folder)
	if err != nil {
		return near, false
	}
	for _, e := range entries {
		if e.IsDir() || !skill.NearMain(e.Name()) {
			continue
		}
		file := filepath.Join(folder, e.Name())
		one := nearMiss{file, path.Join(root.Shown, n.Path, e.Name()), e.Type().IsRegular() && hasFrontmatter(file)}
		if one.meant || !ok && isShouted(e.Name()) {
			near, ok = one, true
		}
		if near.meant {
			break
		}
	}
	return near, ok
}

// isShouted: SKILL in capitals is about no other thing.
func isShouted(name string) bool { return strings.Contains(name, "SKIL") }

// hasFrontmatter reports whether a file begins with a line ---.
func hasFrontmatter(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	line, _, _ := bytes.Cut(bytes.TrimPrefix(head[:n], []byte("\ufeff")), []byte("\n"))
	return string(bytes.TrimRight(line, " \t\r")) == "---"
}

// noticed is a notice of a scan as a finding; ok is false where it is none.
func noticed(t target, n skill.Notice) (checkedFinding, bool) {
	rule, _ := check.RuleOf(n.Rule)
	f := checkedFinding{shown: path.Join(t.root.Shown, n.Path), settings: t.settings, Finding: check.Finding{
		Rule: n.Rule, Severity: rule.Severity, File: n.Path, Message: n.Message, Mend: n.Mend,
	}}
	if n.Rule != dir.RuleNearMiss {
		return f, true
	}
	near, ok := nearMissOf(t.root, n)
	if !ok {
		return f, false
	}
	f.near, f.shown, f.base = near.file, near.shown, t.base
	if name := filepath.Base(near.file); skill.HeldBack(name) {
		f.Mend += ", once it is to be served" // renaming it would publish what is kept back
	} else if near.meant {
		f.Fix = check.Guess
	}
	return f, true
}

// renamed are the files that the mends of this level call SKILL.md.
func (r *checkRun) renamed(f *checkFlags, level check.Level) (out []checkedFinding) {
	for _, n := range r.notices {
		if n.Fix != check.None && n.Fix <= level && !f.ignores(n.Rule) && !isOff(n) {
			out = append(out, n)
		}
	}
	return out
}

// renameNear writes these mends, and says how many files would not have it.
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

// renamePatch is a patch that renames a file and nothing else.
func renamePatch(from, to string) string {
	from, to = strings.TrimLeft(from, "/"), strings.TrimLeft(to, "/")
	return fmt.Sprintf("diff --git a/%s b/%s\nrename from %s\nrename to %s\n", from, to, from, to)
}
