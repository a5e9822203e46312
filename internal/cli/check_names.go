package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// namedSkills are the skills that are given to check by name. They share one scan of the roots,
// which starts with the first name.
type namedSkills struct {
	env    *console.Env
	from   *selection.Flags
	opened *workspace.Workspace // nil until a name is looked up
	skills []*namedSkill
	// unguarded are the views of single roots without the locks, by the labels of the roots.
	unguarded map[string]catalog.View
}

// namedSkill is the location of a skill given by name.
type namedSkill struct {
	root, path string
	base       string // see [target]
	settings   config.Check
}

// Open opens the workspace on the first call: a command with only paths needs no roots.
func (n *namedSkills) Open() (w *workspace.Workspace, err error) {
	if n.opened == nil {
		n.opened, err = n.from.Open()
	}
	return n.opened, err
}

// refresh reads the skills again, after fixes.
func (n *namedSkills) refresh(ctx context.Context) (err error) {
	n.unguarded = nil
	if n.opened != nil {
		_, err = n.opened.Refresh(ctx)
	}
	return err
}

func (n *namedSkills) close() {
	if n.opened != nil {
		n.opened.Close()
	}
}

// scan returns a view of the roots and the built-in skills. The first call scans them.
func (n *namedSkills) scan(ctx context.Context) (catalog.View, error) {
	w, err := n.Open()
	if err != nil {
		return catalog.View{}, err
	}
	return w.View(ctx)
}

// unlocked returns a skill with its files as they are on the disk, also if a lock holds it back.
func (n *namedSkills) unlocked(ctx context.Context, e *catalog.Entry) (*catalog.Entry, error) {
	if _, locked := errors.AsType[*skill.LockError](e.Fault()); !locked {
		return e, nil
	}
	v, have := n.unguarded[e.Root.Label]
	if !have {
		source := n.opened.Folder(*e.Root, dir.NewWatches())
		var err error
		if v, err = workspace.Read(ctx, n.env, catalog.New([]catalog.Source{source}, catalog.Options{})); err != nil {
			return nil, err
		}
		if n.unguarded == nil {
			n.unguarded = map[string]catalog.View{}
		}
		n.unguarded[e.Root.Label] = v
	}
	if i := slices.IndexFunc(v.Entries, func(other *catalog.Entry) bool { return other.Path == e.Path }); i >= 0 {
		return v.Entries[i], nil
	}
	return e, nil // it was removed meanwhile
}

// add finds the skill that a word names, and records its location. If there is none, it returns a
// *command.Failure with status command.No.
func (n *namedSkills) add(ctx context.Context, word string, f *checkFlags) error {
	v, err := n.scan(ctx)
	if err != nil {
		return err
	}
	e, _, err := selection.Find(n.env, v, word, onDisk)
	if levels := []string{"certain", "guess"}; err != nil && f.fix == levels[0] && typo.Nearest(word, levels) != "" {
		return command.UsageError("write --fix="+typo.Nearest(word, levels), "there is no file, folder or skill '%s'; --fix takes its level after an equals sign", display.Echo(word))
	}
	switch {
	case err != nil:
		var missing *command.Failure
		if errors.As(err, &missing) {
			echo := display.Echo(word)
			if strings.Contains(word, "://") { // an unsupported URL, which may contain a token
				echo = display.RedactURI(word)
			}
			missing.Err = fmt.Errorf("there is no file, folder or skill '%s'", echo)
		}
		return err
	case !onDisk(e):
		where := "is built into knack"
		if e.Root.Scope != skill.ScopeBuiltin {
			where = "is of a source, " + e.Root.Label
		}
		return command.Fail(command.No, fmt.Errorf("'%s' %s, so there is no file to check", display.Echo(word), where), n.env.Command("show", v.Called(e))+" prints it")
	case f.fix != "" && !isExactly(e, word):
		return command.UsageError("if you mean that skill: "+n.env.Command("check", "--fix="+f.fix, v.Called(e)), "'%s' is not the exact name of %s, and --fix changes files", display.Echo(word), e.Place())
	}
	base := e.Root.Dir
	if e.Root.Scope == skill.ScopeProject && !n.opened.Named() {
		base = settings.Folder(*n.env, n.from.Project)
	}
	n.skills = append(n.skills, &namedSkill{root: e.Root.Label, path: e.Path, base: base})
	return nil
}

func onDisk(e *catalog.Entry) bool { return e.Dir() != "" }

// isExactly reports whether a word names the skill in the same case. Other lookups ignore the case.
func isExactly(e *catalog.Entry, word string) bool {
	if strings.HasPrefix(word, "skill://") {
		return true
	}
	return slices.Contains([]string{e.Name, e.Folder(), e.Root.Label + ":" + e.Name, e.Root.Label + ":" + e.Folder(), e.Root.Label + ":" + e.Path}, word)
}

// addVerdicts adds the skills' verdicts and the notices about their folders to a run.
func (n *namedSkills) addVerdicts(ctx context.Context, run *checkRun) error {
	if len(n.skills) == 0 {
		return nil
	}
	v, err := n.scan(ctx)
	if err != nil {
		return err
	}
	for _, s := range n.skills {
		i := slices.IndexFunc(v.Entries, func(e *catalog.Entry) bool { return e.Root.Label == s.root && e.Path == s.path })
		if i < 0 {
			run.unread = append(run.unread, command.Fail(command.No, fmt.Errorf("%s:%s: the skill is not there any more", s.root, s.path), ""))
			continue
		}
		e, err := n.unlocked(ctx, v.Entries[i])
		if err != nil {
			return err
		}
		if slices.ContainsFunc(run.skills, func(c *checkedSkill) bool { return c.Skill.Dir() == e.Dir() }) {
			continue // the skill was given twice
		}
		d := judgement.Judge{}.Of(ctx, e)
		if ctx.Err() != nil {
			return workspace.Interrupted(ctx.Err())
		}
		c := &checkedSkill{report.Judged{Verdict: d, Folder: path.Join(e.Root.Shown, e.Path)}, s.base, s.settings, true}
		run.skills = append(run.skills, c)
		t := target{root: *e.Root, base: s.base, settings: s.settings}
		for _, r := range v.Roots {
			for _, notice := range r.Notices {
				if r.Label == s.root && (e.Path == "." || notice.Path == e.Path || strings.HasPrefix(notice.Path, e.Path+"/")) {
					run.notices = append(run.notices, findingOf(t, notice))
				}
			}
		}
	}
	return nil
}

// hidden returns a hint if a folder without a skill has the same name as a skill elsewhere.
func (n *namedSkills) hidden(ctx context.Context, word string) string {
	if strings.ContainsAny(word, `/\.`) {
		return ""
	}
	v, err := n.scan(ctx)
	if err != nil {
		return ""
	}
	e := v.Named(word)
	if e == nil || !onDisk(e) {
		return ""
	}
	return "a skill has that name too; to check it: " + n.env.Command("check", e.Root.Label+":"+e.Name)
}

// linkAbove returns the first link among a skill's folder, its root and the folders above the root.
// The search ends at the project or the home folder, and returns "" if there is no link. A name
// does not tell the user where the skill is, so --fix by name changes no linked skill.
func linkAbove(env console.Env, project string, e *catalog.Entry) string {
	top, nearest := filepath.Dir(e.Root.Dir), ""
	for _, at := range []string{settings.Root(env, project), env.Home} {
		if _, ok := console.Below(e.Root.Dir, at); ok && len(at) > len(nearest) {
			top, nearest = at, at
		}
	}
	for at := e.Dir(); at != top && at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && realpath.IsLink(info.Mode()) {
			return at
		}
	}
	return ""
}
