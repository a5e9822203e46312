package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/client"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/source/dir"
)

// dirsVariable names folders to serve in front of the well-known roots.
const dirsVariable = "KNACK_DIRS"

// sourceFlags choose the roots, for every command that reads skills.
type sourceFlags struct {
	dirs      []string
	project   string
	exclude   []string
	noBuiltin bool
	sets      string // the tool sets that are served, as --tools has them; "" for the default
	overHTTP  bool   // clients other than the user of this machine may ask: no answer names a folder
	given     func(flag string) bool
	watches   *dir.Watches // one for the process
}

func (f *sourceFlags) register(cmd *cobra.Command, env *Env) {
	f.watches = dir.NewWatches()
	flags := cmd.Flags()
	f.given = flags.Changed
	flags.StringArrayVar(&f.dirs, "dir", nil, "serve the skills below `DIR` instead of the well-known folders (repeatable)")
	flags.StringVar(&f.project, "project", "", "the project's folder is `DIR`, not the working directory")
	flags.StringArrayVar(&f.exclude, "exclude", nil, "do not list the skills of the root with this `LABEL`, for example claude-user; by name they still load (repeatable)")
	flags.BoolVar(&f.noBuiltin, "no-builtin", false, "leave out the skills that are built into knack")
	_ = cmd.RegisterFlagCompletionFunc("exclude", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return labels(f.roots(*env, nil)), cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.MarkFlagDirname("project")
}

// fixed reports whether the flags override a client's roots.
func (f *sourceFlags) fixed() bool { return len(f.dirs) > 0 || f.project != "" }

// roots returns the roots in their order. projects, if given, replace the working
// directory.
func (f *sourceFlags) roots(env Env, projects []string) []skill.Root {
	roots := f.allRoots(env, projects)
	for i := range roots {
		if f.overHTTP {
			roots[i].Shown = ""
		}
	}
	return roots
}

func (f *sourceFlags) allRoots(env Env, projects []string) []skill.Root {
	if len(f.dirs) > 0 {
		return f.named(env)
	}
	switch {
	case f.project != "":
		projects = []string{absolute(env, f.project)}
	case len(projects) == 0 && env.Dir != "":
		projects = []string{env.Dir}
	}
	roots := slices.Concat(variableRoots(env), dir.WellKnown(projects, env.Home))
	for i := range roots {
		roots[i].Prefix = roots[i].Label
		roots[i].Shown = shown(roots[i].Dir, projects, env.Home)
	}
	return roots
}

// named returns the roots of --dir. A single root needs no label in its URIs.
func (f *sourceFlags) named(env Env) []skill.Root {
	roots := make([]skill.Root, len(f.dirs))
	for i, d := range f.dirs {
		label := fmt.Sprintf("dir-%d", i+1)
		roots[i] = skill.Root{Label: label, Scope: skill.ScopeProject, Dir: absolute(env, d), Shown: filepath.ToSlash(d)}
		if len(f.dirs) > 1 {
			roots[i].Prefix = label
		}
	}
	return roots
}

func variableRoots(env Env) []skill.Root {
	var roots []skill.Root
	for _, d := range filepath.SplitList(env.Getenv(dirsVariable)) {
		if d != "" {
			roots = append(roots, skill.Root{Label: fmt.Sprintf("env-%d", len(roots)+1), Scope: skill.ScopeGlobal, Dir: absolute(env, d)})
		}
	}
	return roots
}

func absolute(env Env, d string) string {
	if !filepath.IsAbs(d) {
		d = filepath.Join(env.Dir, d)
	}
	return filepath.Clean(d)
}

// shown writes a folder as people do: relative to the project or with ~, whichever is
// nearer. The root of the file system, in which graphical clients start servers, does not
// count: everything is below it.
func shown(d string, projects []string, home string) string {
	near := ""
	for _, base := range append(slices.Clone(projects), home) {
		if _, ok := below(d, base); ok && len(base) > len(near) && base != filepath.Dir(base) {
			near = base
		}
	}
	rel, ok := below(d, near)
	switch {
	case !ok:
		return filepath.ToSlash(d)
	case near != home:
		return rel
	case rel == ".":
		return "~"
	}
	return "~/" + rel
}

func below(d, base string) (string, bool) {
	if base == "" {
		return "", false
	}
	rel, err := filepath.Rel(base, d)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// sources makes a source for each root. Excluded roots come last, so that no listed skill
// gives way to one that is not listed.
func (f *sourceFlags) sources(env Env, projects []string) ([]catalog.Source, error) {
	roots := f.roots(env, projects)
	if err := f.checkExcluded(roots); err != nil {
		return nil, err
	}
	var listed, unlisted []catalog.Source
	add := func(label string, s catalog.Source) {
		if f.excluded(label) {
			unlisted = append(unlisted, s)
		} else {
			listed = append(listed, s)
		}
	}
	for _, r := range roots {
		r.Unlisted, r.ShownBy = f.excluded(r.Label), shownBy(r.Label)
		add(r.Label, dir.New(dir.Options{Root: r, Required: len(f.dirs) > 0, Watches: f.watches, Load: true}))
	}
	if !f.noBuiltin {
		var s catalog.Source = f.builtin()
		if f.excluded(builtin.Label) {
			s = unlistedSource{s}
		}
		add(builtin.Label, s)
	}
	return append(listed, unlisted...), nil
}

// unlistedSource is a source whose skills are in no list.
type unlistedSource struct{ catalog.Source }

func (s unlistedSource) Root() skill.Root {
	r := s.Source.Root()
	r.Unlisted = true
	return r
}

// builtin returns the source of the built-in skills, which describe the tools that are
// served.
func (f *sourceFlags) builtin() *builtin.Source {
	var sets []string
	for set := range strings.SplitSeq(f.sets, ",") {
		if set = strings.TrimSpace(set); set != "" {
			sets = append(sets, set)
		}
	}
	return builtin.New(sets...)
}

// check refuses named folders that are not folders, before anything is served. It refuses
// an empty name too, which an unset variable leaves behind.
func (f *sourceFlags) check(env Env) error {
	if f.given("project") {
		if err := checkFolder("--project", f.project, absolute(env, f.project)); err != nil {
			return err
		}
	}
	for _, d := range f.dirs {
		if err := checkFolder("--dir", d, absolute(env, d)); err != nil {
			return err
		}
	}
	if f.given("project") && len(f.dirs) > 0 {
		fmt.Fprintln(env.Stderr, "warning: --project has no effect beside --dir")
	}
	return nil
}

// checkFolder reports at once what is wrong with a folder that the user named.
func checkFolder(flag, shown, d string) error {
	if shown == "" {
		return usageError("give a folder, or leave "+flag+" out", "%s: the folder's name is empty", flag)
	}
	return folderError(flag, shown, dir.Check(d))
}

// folderError says in words why a folder that the user named cannot be served.
func folderError(flag, shown string, err error) error {
	if err == nil {
		return nil
	}
	words, hint := skill.FolderReason(err)
	return runError(hint, "%s %s: %s", flag, shown, words)
}

// excluded reports whether a root is left out of all lists.
func (f *sourceFlags) excluded(label string) bool { return labelled(f.exclude, label) }

// labelled reports whether labels name a root: "claude-project" also names the same folder of
// the project's parents, "claude-project-2" and so on.
func labelled(labels []string, label string) bool {
	for _, x := range labels {
		if x == label {
			return true
		}
		if n, ok := strings.CutPrefix(label, x+"-"); ok && strings.HasSuffix(x, "-project") && strings.Trim(n, "0123456789") == "" {
			return true
		}
	}
	return false
}

// shownBy names the clients that show a root's skills themselves, see [skill.Root].
func shownBy(label string) string {
	var out []string
	for _, c := range client.Clients {
		if labelled(c.Reads, label) {
			out = append(out, c.Name)
		}
	}
	return strings.Join(out, ",")
}

// checkExcluded refuses a label that no root has or could have here: a typing
// error would otherwise list what should not be.
func (f *sourceFlags) checkExcluded(roots []skill.Root) error {
	if len(f.exclude) == 0 {
		return nil // what there is to exclude is asked of the disk
	}
	known := labels(roots)
	for _, r := range dir.WellKnown([]string{string(filepath.Separator) + "project"}, string(filepath.Separator)+"home") {
		known = append(known, r.Label)
	}
	known = append(known, builtin.Label)
	for _, x := range f.exclude {
		base := x
		if i := strings.LastIndex(x, "-project-"); i >= 0 {
			base = x[:i+len("-project")]
		}
		if !slices.Contains(known, x) && !slices.Contains(known, base) {
			slices.Sort(known)
			return usageError("the labels are: "+strings.Join(slices.Compact(known), ", "), "--exclude %s: no root has this label", x)
		}
	}
	return nil
}

func labels(roots []skill.Root) []string {
	out := make([]string, len(roots))
	for i, r := range roots {
		out[i] = r.Label
	}
	return out
}

// view scans everything once, for a command that answers and ends.
func (f *sourceFlags) view(ctx context.Context, env Env) (catalog.View, error) {
	_, v, err := f.scan(ctx, env)
	return v, err
}

// scan makes a catalogue and scans everything once.
func (f *sourceFlags) scan(ctx context.Context, env Env) (*catalog.Catalog, catalog.View, error) {
	if err := f.check(env); err != nil {
		return nil, catalog.View{}, err
	}
	sources, err := f.sources(env, nil)
	if err != nil {
		return nil, catalog.View{}, err
	}
	c, v, err := scanned(ctx, &env, sources)
	if err != nil {
		return nil, v, err
	}
	if len(f.dirs) > 0 {
		err = rootError(v)
	}
	return c, v, err
}

// scanned makes a catalogue and waits until it has read all of its sources, however long
// that takes. A command that answers once must not answer with a part.
func scanned(ctx context.Context, env *Env, sources []catalog.Source) (*catalog.Catalog, catalog.View, error) {
	defer waiting(env, "the skills are still being read")()
	c := catalog.New(sources, catalog.Options{})
	if err := c.Refresh(ctx); err != nil {
		return nil, catalog.View{}, interrupted(err)
	}
	v, err := c.View(ctx)
	return c, v, err
}

// interrupted says in words why a command did not finish.
func interrupted(err error) error { return runError("", "the scan was interrupted: %w", err) }

// rootError returns the error of the first root of --dir that could not be read, or nil.
// The root was a folder when the command began.
func rootError(v catalog.View) error {
	for _, r := range v.Roots {
		if r.Err != nil {
			return folderError("--dir", r.Shown, r.Err)
		}
	}
	return nil
}

// longWait is the time after which a person at a terminal is told what a command waits for.
const longWait = 2 * time.Second

// judging says what a command that reports every problem waits for.
const judging = "the skills are being checked"

// waiting tells a person at a terminal what a command waits for, if that takes longer than
// a moment. Calling done ends this.
func waiting(env *Env, what string) (done func()) {
	if !env.StderrTerminal {
		return func() {}
	}
	var mu sync.Mutex
	var said, ended bool
	t := time.AfterFunc(longWait, func() {
		mu.Lock()
		defer mu.Unlock()
		if said = !ended; said {
			fmt.Fprintf(env.Stderr, "%s; Ctrl-C ends it", what)
		}
	})
	return func() {
		t.Stop()
		mu.Lock()
		defer mu.Unlock()
		if ended = true; said {
			fmt.Fprint(env.Stderr, "\r\x1b[K")
		}
	}
}
