package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/workspace/plugins"
	"github.com/knack-dev/knack/internal/workspace/replica"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// DirsVariable is the variable with the folders to serve before the well-known roots.
const DirsVariable = "KNACK_DIRS"

// layout contains the roots in order, and the projects whose files name some of the roots.
type layout struct {
	open     []string          // the folders of the client's projects
	partly   bool              // some sub-packages were not searched for
	projects settings.Projects // empty if the user named every root
	tools    string            // the set of tools that the projects choose, or ""
	roots    []skill.Root      // without the roots of followed sources and of the built-in skills
	plugins  pluginRoots       // the last of the roots
}

// layoutOf returns the layout for the projects that a client has open. The flag --project replaces
// these projects. Without any, the project is the working directory.
func (w *Workspace) layoutOf(files *settings.Finder, open []string) (l layout) {
	env := w.o.Env
	if folder := settings.Folder(*env, w.o.Project); folder != "" && (w.o.Project != "" || len(open) == 0) {
		open = []string{folder}
	}
	l.open = open
	if !w.Named() || w.o.Tools != nil {
		l.projects = files.Projects(open)
		l.tools = l.projects.Tools()
	}
	switch {
	case len(w.o.Dirs) > 0:
		l.roots = w.numbered()
	case w.Named():
		if w.o.Source == "" {
			l.roots = w.file.Roots(env)
		}
		if w.o.Partly {
			l.roots = slices.DeleteFunc(l.roots, func(r skill.Root) bool { return settings.IsMissing(r.Dir) })
		}
	default:
		l.roots = append(variableRoots(env), dir.WellKnown(open, env.Home, w.Getenv())...)
		l.roots = append(l.roots, l.projects.Roots(l.roots)...)
		for _, folder := range open {
			if len(dir.Project(folder, env.Home)) == 0 {
				continue // the home folder is not a project
			}
			below, whole := l.projects.Below(folder, w.o.Below, l.roots)
			l.roots = append(l.roots, below...)
			l.partly = l.partly || !whole
		}
		for i := range l.roots {
			r := &l.roots[i]
			r.Prefix, r.Shown = r.Label, console.DisplayPath(r.Dir, open, env.Home)
		}
		l = w.withPlugins(l)
	}
	if w.Named() {
		l.projects = settings.Projects{Unusable: l.projects.Unusable, Unread: l.projects.Unread}
	}
	for i := range l.roots {
		if r := &l.roots[i]; w.address != "" {
			r.Shown = ""                   // answers over HTTP name no folders
			if r.Real = r.Dir; w.Named() { // only scans wait for the disks of other roots
				r.Real = settings.RealOf(r.Dir)
			}
		}
	}
	return l
}

// following returns the file whose sources are followed, or nil.
func (w *Workspace) following() *settings.File {
	switch {
	case w.o.Source != "" || len(w.o.Dirs) > 0:
		return nil
	case w.file != nil && len(w.file.Config.Sources) > 0:
		return w.file
	}
	return w.own
}

// sourceLabels returns the labels of the followed sources.
func (w *Workspace) sourceLabels() (labels []string) {
	switch {
	case w.o.Source != "":
		return []string{replica.Label}
	case w.following() == nil:
		return nil
	}
	for _, s := range w.following().Config.Sources {
		labels = append(labels, s.Name.Text)
	}
	return labels
}

// Named reports whether the user named every root, so that each must exist.
func (w *Workspace) Named() bool {
	return len(w.o.Dirs) > 0 || w.o.Source != "" || w.fileNames()
}

// fileNames reports whether the file in effect names roots or sources.
func (w *Workspace) fileNames() bool {
	return w.file != nil && len(w.file.Config.Roots)+len(w.file.Config.Sources) > 0
}

// Fixed reports whether the settings override a client's roots.
func (w *Workspace) Fixed() bool { return w.Named() || w.o.Project != "" }

// Roots returns the roots in order, without the roots of followed sources and of the built-in
// skills.
func (w *Workspace) Roots() []skill.Root { return slices.Clone(w.layout.roots) }

// numbered returns the roots of --dir. Their labels are numbered. The URIs of a single root do not
// contain its label, unless there is also a --source.
func (w *Workspace) numbered() []skill.Root {
	roots := make([]skill.Root, len(w.o.Dirs))
	for i, d := range w.o.Dirs {
		label := fmt.Sprintf("dir-%d", i+1)
		roots[i] = skill.Root{Label: label, Scope: skill.ScopeProject, Dir: w.o.Env.Absolute(d), Shown: filepath.ToSlash(d)}
		if len(w.o.Dirs) > 1 || w.o.Source != "" {
			roots[i].Prefix = label
		}
	}
	return roots
}

// variable returns the folders listed in KNACK_DIRS.
func variable(env *console.Env) []string {
	return slices.DeleteFunc(filepath.SplitList(env.Variable(DirsVariable)), func(d string) bool { return d == "" })
}

func variableRoots(env *console.Env) (roots []skill.Root) {
	for i, d := range variable(env) {
		roots = append(roots, skill.Root{Label: fmt.Sprintf("env-%d", i+1), Scope: skill.ScopeGlobal, Dir: env.Absolute(d)})
	}
	return roots
}

// Getenv returns the function that reads the variables with which the user moves the homes of
// clients. It returns nil over HTTP, because clients do not share the environment of the server's
// account.
func (w *Workspace) Getenv() func(string) string {
	if w.address != "" {
		return nil
	}
	return w.o.Env.Getenv
}

// Missing returns warnings about variables that cannot move a client's home, about damaged plugins,
// and about missing folders that KNACK_DIRS or a project's file names. A relative folder in
// KNACK_DIRS is skipped, since it applies only to some working directories. A folder that begins
// with ~ is reported, since no shell has expanded the ~.
func (w *Workspace) Missing(v catalog.View) (missing []string) {
	if w.Named() {
		return nil // named roots replace the well-known folders
	}
	missing = settings.UnusableHomes(w.o.Env, w.Getenv())
	gone := func(label string) bool {
		return slices.ContainsFunc(v.Roots, func(r catalog.RootStatus) bool { return r.Label == label && r.Missing && r.Err == nil })
	}
	for i, d := range variable(w.o.Env) {
		if (filepath.IsAbs(d) || strings.HasPrefix(d, "~")) && gone(fmt.Sprintf("env-%d", i+1)) {
			missing = append(missing, fmt.Sprintf("there is no folder %s; make it, or remove it from %s", display.Echo(d), DirsVariable))
		}
	}
	if w.layout.partly {
		missing = append(missing, "the project has too many folders, or its disk is too slow, to find the skills of all sub-packages; name the folders of the others in project.dirs of knack.yaml")
	}
	return slices.Concat(missing, w.layout.projects.Missing(gone), w.layout.plugins.damaged())
}

// Unusable returns the reasons why project files are not used.
func (w *Workspace) Unusable() []error { return w.layout.projects.Unusable }

// Unused returns the reason why each refused file of settings is not used, and a warning for each
// file that looks like settings but is not read.
func (w *Workspace) Unused() (out []string) {
	for _, err := range w.Unusable() {
		out = append(out, err.Error())
	}
	if why := w.files.Refusal(); why != "" {
		out = append(out, why)
	}
	return append(out, w.Unread()...)
}

// WarnUnused warns of the settings of the project that are not used.
func (w *Workspace) WarnUnused() {
	for _, err := range w.Unusable() {
		w.o.Warn(err.Error())
	}
	for _, text := range w.Unread() {
		w.o.Warn(text)
	}
}

// Unread returns a warning for each file that looks like settings but is not read.
func (w *Workspace) Unread() []string { return w.layout.projects.Unread }

// Folder returns the unguarded source of a root of [Workspace.Roots], for check and scan, which
// also inspect skills that a lock holds back.
func (w *Workspace) Folder(r skill.Root, watches *dir.Watches) catalog.Source {
	return w.layout.source(dir.Options{Root: r, Watches: watches, Load: true})
}

// check returns an error for a named folder that cannot be used. It runs before anything is served.
// An empty name is an error too, since it usually comes from an unset variable.
func (w *Workspace) check() error {
	o := &w.o
	if o.Project != "" {
		if err := settings.CheckFolder(o.Env, "--project", o.Project); err != nil {
			return err
		}
	}
	for _, d := range o.Dirs {
		if err := settings.CheckFolder(o.Env, "--dir", d); err != nil {
			return err
		}
	}
	flag := "--dir"
	if len(o.Dirs) == 0 {
		flag = "--source"
	}
	named := w.fileNames()
	switch chosen := len(o.Dirs) > 0 || o.Source != ""; {
	case chosen && named && w.address != "" && w.file.Config.Access.Policy != nil:
		return settings.UsageError("leave "+flag+" out, or take the roots and the rules out of the file", "%s: the access rules of %s are about the roots that it names", flag, w.file.Shown)
	case chosen && named:
		o.Warn(flag + " replaces the roots of " + w.file.Shown)
	case chosen && o.Project != "":
		o.Warn(w.projectUnused(flag))
	case named:
		if o.Project != "" {
			o.Warn(w.projectUnused("the roots of " + w.file.Shown))
		}
		return w.file.UnusableRoot(w.o.Partly)
	}
	return nil
}

// projectUnused returns the warning about --project beside named roots.
func (w *Workspace) projectUnused(by string) string {
	if w.o.Tools != nil {
		return "--project has no effect with " + by + ", except that the knack.yaml of the project may choose the tools"
	}
	return "--project has no effect with " + by
}

// UnusableRoot returns the first problem with the roots of the file in effect, or nil. With
// [Options.Partly], a missing root is left out and is a problem here.
func (w *Workspace) UnusableRoot() error {
	if len(w.o.Dirs) > 0 || !w.fileNames() {
		return nil
	}
	return w.file.UnusableRoot(false)
}

// AddRoot returns the fix for a folder of skills that the roots of the file in effect do not
// contain. It returns "" if no file names the roots.
func (w *Workspace) AddRoot(folder string) string {
	if len(w.o.Dirs) > 0 || !w.fileNames() {
		return ""
	}
	return "add " + display.Echo(w.o.Env.Absolute(folder)) + " to the roots of " + w.file.Shown
}

// rootError returns the error of the first named root that could not be read, or nil. When the
// command began, the root still was a folder.
func (w *Workspace) rootError(v catalog.View) error {
	if !w.Named() {
		return nil
	}
	flag := "--dir"
	if len(w.o.Dirs) == 0 {
		flag = w.file.Shown + ": the folder"
	}
	for _, r := range v.Roots {
		if reason, fix := r.Reason(); reason != "" {
			return settings.RunError(fix, "%s %s: %s", flag, r.Shown, reason)
		}
	}
	return nil
}

const excludeFlag = "--exclude"

// Excluded reports whether a root is excluded from all lists.
func (w *Workspace) Excluded(r skill.Root) bool { return w.excludedBy(w.layout, r) != "" }

// excludedBy returns the setting that excludes a root from all lists, or "". A root may have
// several labels, and excluding one of them is enough. A project's file can exclude only roots of
// the project.
func (w *Workspace) excludedBy(l layout, r skill.Root) string {
	if group := plugins.Group(r.Label); r.Plugin != "" && slices.Contains(w.o.Exclude, group) {
		return excludeFlag
	}
	for _, label := range r.Labels() {
		if settings.MatchesLabel(w.o.Exclude, label) {
			return excludeFlag
		}
		if label == r.Label || r.Scope == skill.ScopeProject {
			if by := l.projects.ExcludedBy(label); by != "" {
				return by
			}
		}
	}
	return ""
}

// Labels returns the labels of all roots.
func (w *Workspace) Labels() []string { return w.labelsOf(w.layout) }

func (w *Workspace) labelsOf(l layout) (labels []string) {
	for _, r := range l.roots {
		labels = append(labels, r.Label)
	}
	return append(append(labels, w.sourceLabels()...), builtin.Label)
}

// checkExcluded refuses a label that no root has or could have here. Such a label is probably
// misspelt, and the skills that it should exclude would be listed.
func (w *Workspace) checkExcluded(l layout) error {
	if len(w.o.Exclude) == 0 {
		return nil
	}
	known := append(w.labelsOf(l), agents.Labels()...)
	slices.Sort(known)
	known = slices.Compact(known)
	for _, x := range w.o.Exclude {
		if x == "" {
			return settings.UsageError("give a label, for example claude-user, or leave --exclude out", "--exclude: the label is empty")
		}
		if plugins.IsLabel(x) {
			continue // the plugin may be installed later
		}
		if !slices.Contains(known, x) && !slices.Contains(known, agents.WithoutNumber(x)) {
			env := *w.o.Env
			env.Exclude = nil
			return settings.UsageError(typo.Hint(x, known, env.Command("doctor")+" lists the labels"), "--exclude %s: no root has this label", display.Echo(x))
		}
	}
	return nil
}

// setsIn returns the sets in a value of --tools.
func setsIn(list string) (sets []string) {
	for set := range strings.SplitSeq(list, ",") {
		if set = strings.TrimSpace(set); set != "" {
			sets = append(sets, set)
		}
	}
	return sets
}

// unknownSet returns the error for an invalid value of --tools.
func unknownSet(list string, err error) error {
	hint := ""
	for _, name := range setsIn(list) {
		if !slices.Contains(tool.SetNames(), name) {
			hint = typo.Hint(name, tool.SetNames(), "")
			break
		}
	}
	return settings.UsageError(hint, "--tools %s: %w", display.Echo(list), err)
}
