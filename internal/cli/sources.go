package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/policy"
	vet "github.com/knack-dev/knack/internal/policy/admission"
	"github.com/knack-dev/knack/internal/policy/provenance"
	"github.com/knack-dev/knack/internal/workspace/replica"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// dirsVariable names folders to serve in front of the well-known roots.
const dirsVariable = "KNACK_DIRS"

// sourceFlags choose the roots, for every command that reads skills.
type sourceFlags struct {
	dirs      []string
	source    string            // --source of serve, or ""
	follows   *replica.Replica  // the sources of a server; nil without any
	stored    []doctor.Followed // what the store has of them, for a command that is no server
	project   string
	exclude   []string
	noBuiltin bool
	sets      string // the tool sets that are served, as --tools has them; "" for the default
	overHTTP  bool   // clients other than the user of this machine may ask: no answer names a folder
	given     func(flag string) bool
	watches   *dir.Watches      // one for the process
	projects  settings.Projects // their knack.yaml; empty with --dir or named roots
	config    string            // --config, of a command that reads roots alone from it
	noConfig  func() bool       // --config was given, and is empty
	file      *settings.File    // the trusted file in effect, which may name roots; nil without one
	locks     *provenance.Locks // compare skills with their locks; see [sourceFlags.provenance]
	log       *slog.Logger      // of a server, for locks and verdicts
	vets      vets              // which skills the command has
	judge     *vet.Judge        // judges them; see [sourceFlags.openJudge]
	warns     bool              // of a missing folder: a shell that completes words is not warned, and nothing twice
	// drift is told of skills that are not as locked, for the audit log of a server.
	drift func(skill, reason string, refused bool)
}

func (f *sourceFlags) register(cmd *cobra.Command, env *console.Env) {
	f.watches = dir.NewWatches()
	flags := cmd.Flags()
	f.given = flags.Changed
	cmd.PreRun = func(*cobra.Command, []string) { f.warns = true }
	flags.Var((*command.Repeated)(&f.dirs), "dir", "serve the skills below `DIR` instead of the well-known folders (repeatable)")
	flags.StringVar(&f.project, "project", "", "the project's folder is `DIR`, not the working directory")
	flags.Var((*command.Repeated)(&f.exclude), "exclude", "do not list the skills of the root with this `LABEL`, for example claude-user; by name they still load (repeatable)")
	flags.BoolVar(&f.noBuiltin, "no-builtin", false, "leave out the skills that are built into knack")
	_ = cmd.RegisterFlagCompletionFunc("exclude", f.completeLabel(env))
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.MarkFlagDirname("project")
}

// registerConfig adds --config to a command that reads nothing but roots from it.
func (f *sourceFlags) registerConfig(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.config, "config", "", "read the skills of the roots that `FILE` names, as 'knack serve --config' does, and what the store has of its sources")
	f.noConfig = func() bool { return f.config == "" && cmd.Flags().Changed("config") }
	_ = cmd.MarkFlagFilename("config")
}

// load reads the file of --config.
func (f *sourceFlags) load(env console.Env) (err error) {
	if f.noConfig != nil && f.noConfig() {
		return command.UsageError("give a file, or leave --config out", "--config: the file's name is empty")
	}
	if f.file == nil && f.config != "" {
		if f.file, err = settings.New(&env, f.config).Trusted(); err == nil && len(f.dirs) == 0 {
			f.follows, err = replica.Open(replica.Options{Env: env, Config: f.config, File: f.file, Excluded: f.excludedBy, Log: slog.New(slog.DiscardHandler)})
			f.stored = f.follows.Stored()
		}
	}
	return err
}

// named returns the roots that the file in effect names. --dir takes precedence.
func (f *sourceFlags) named(env console.Env) []skill.Root {
	if len(f.dirs) > 0 || f.source != "" {
		return nil
	}
	return f.file.Roots(&env)
}

// required reports whether the user named every root, so that each must be there.
func (f *sourceFlags) required() bool {
	return len(f.dirs) > 0 || f.follows != nil || f.file != nil && len(f.file.Config.Roots) > 0
}

// fixed reports whether the settings override a client's roots.
func (f *sourceFlags) fixed() bool { return f.required() || f.project != "" }

// roots returns the roots in their order. projects, if given, replace the working
// directory.
func (f *sourceFlags) roots(env console.Env, projects []string) []skill.Root {
	roots := f.allRoots(env, projects)
	for i := range roots {
		if f.overHTTP {
			roots[i].Shown = ""
			if roots[i].Real = roots[i].Dir; f.required() { // the others' disks are waited for by scans alone
				roots[i].Real = settings.RealOf(roots[i].Dir)
			}
		}
	}
	return roots
}

func (f *sourceFlags) allRoots(env console.Env, projects []string) []skill.Root {
	f.projects = settings.Projects{Unusable: f.projects.Unusable, Unread: f.projects.Unread} // its tools do not count either
	if len(f.dirs) > 0 {
		return f.numbered(env)
	}
	if named := f.named(env); len(named) > 0 || f.follows != nil {
		return named
	}
	switch {
	case f.project != "":
		projects = []string{absolute(env, f.project)}
	case len(projects) == 0 && env.Dir != "":
		projects = []string{env.Dir}
	}
	f.projects = settings.OfProjects(&env, f.file, projects)
	roots := append(variableRoots(env), dir.WellKnown(projects, env.Home, f.getenv(env))...)
	roots = append(roots, f.projects.Roots(roots)...)
	for i := range roots {
		roots[i].Prefix = roots[i].Label
		roots[i].Shown = displayPath(roots[i].Dir, projects, env.Home)
	}
	return roots
}

// numbered returns the roots of --dir. A single root needs no label in its URIs.
func (f *sourceFlags) numbered(env console.Env) []skill.Root {
	roots := make([]skill.Root, len(f.dirs))
	for i, d := range f.dirs {
		label := fmt.Sprintf("dir-%d", i+1)
		roots[i] = skill.Root{Label: label, Scope: skill.ScopeProject, Dir: absolute(env, d), Shown: filepath.ToSlash(d)}
		if len(f.dirs) > 1 || f.follows != nil {
			roots[i].Prefix = label
		}
	}
	return roots
}

func variableRoots(env console.Env) []skill.Root {
	var roots []skill.Root
	for _, d := range filepath.SplitList(env.Getenv(dirsVariable)) {
		if d != "" {
			roots = append(roots, skill.Root{Label: fmt.Sprintf("env-%d", len(roots)+1), Scope: skill.ScopeGlobal, Dir: absolute(env, d)})
		}
	}
	return roots
}

// missingDirs says which of the entries of KNACK_DIRS, and which folders of the projects' files, a
// scan did not find. A relative entry is only for working directories that have it, but ~
// means that no shell replaced it.
func missingDirs(entries string, projects settings.Projects, v catalog.View) (missing []string) {
	gone := func(label string) bool {
		return slices.ContainsFunc(v.Roots, func(r catalog.RootStatus) bool { return r.Label == label && r.Missing && r.Err == nil })
	}
	n := 0
	for _, d := range filepath.SplitList(entries) {
		if d == "" {
			continue
		}
		n++ // as in variableRoots
		if (filepath.IsAbs(d) || strings.HasPrefix(d, "~")) && gone(fmt.Sprintf("env-%d", n)) {
			missing = append(missing, fmt.Sprintf("there is no folder %s; make it, or remove it from %s", display.Echo(d), dirsVariable))
		}
	}
	return append(missing, projects.Missing(gone)...)
}

// missing describes what the environment and the settings name and a scan did not find.
func (f *sourceFlags) missing(env console.Env, projects settings.Projects, v catalog.View) []string {
	if f.required() {
		return nil // they replace the well-known folders
	}
	return append(unusableHomes(env, f.getenv(env)), missingDirs(env.Getenv(dirsVariable), projects, v)...)
}

// warnMissing warns of what the settings name and a scan did not find, once for a command.
func (f *sourceFlags) warnMissing(env console.Env, v catalog.View) {
	if !f.warns {
		return
	}
	f.warns = false
	for _, err := range f.projects.Unusable {
		env.Err().Text(console.Warning, err.Error())
	}
	for _, text := range f.projects.Unread {
		env.Err().Text(console.Warning, text)
	}
	for _, text := range f.missing(env, f.projects, v) {
		env.Err().Text(console.Warning, text)
	}
}

// warnUnfetched warns of sources of which the store has nothing, once for a command. knack doctor
// lists them with the others.
func (f *sourceFlags) warnUnfetched(env console.Env) {
	for _, s := range f.stored {
		if f.warns && s.Error != "" {
			env.Err().Text(console.Warning, fmt.Sprintf("%s (%s): %s (%s)", s.Name, display.OneLine(s.From), s.Error, s.Fix))
		}
	}
}

// toolSet returns the tool set that --tools names, or else the project's, if its descriptions
// keep the user's limit.
func (f *sourceFlags) toolSet(env console.Env, flag string, limit int) string {
	f.projects = settings.OfProjects(&env, f.file, []string{settings.Folder(env, f.project)})
	if f.given("tools") {
		return flag
	}
	set := cmp.Or(f.projects.Tools(), flag)
	if tools, err := tool.ParseSets(set); err == nil && set != flag {
		if _, err = tool.Limit(tools, max(limit, 0)); err != nil {
			env.Err().Text(console.Warning, fmt.Sprintf("the project's tools, %s, are not used with --description-limit %d: %s", set, limit, err))
			return flag
		}
	}
	return set
}

// sources makes a source for each root. Excluded roots come last, so that no listed skill
// gives way to one that is not listed.
func (f *sourceFlags) sources(env console.Env, projects []string) ([]catalog.Source, error) {
	roots := f.roots(env, projects)
	if err := f.checkExcluded(append(roots, f.follows.Roots()...)); err != nil {
		return nil, err
	}
	var listed, unlisted []catalog.Source
	if err := f.openJudge(env); err != nil {
		return nil, err
	}
	locks, admission := f.provenance(env).Judge(), f.judge.Judge(f.vets == vetsOnce)
	add := func(r skill.Root, s catalog.Source) {
		if f.excludedBy(r) != "" {
			unlisted = append(unlisted, s)
		} else {
			listed = append(listed, s)
		}
	}
	for _, r := range roots {
		r.UnlistedBy, r.ShownBy = f.excludedBy(r), strings.Join(agents.Readers(r.Labels()), ",")
		r.Unlisted = r.UnlistedBy != ""
		add(r, policy.Guarded(f.projects.Source(dir.Options{Root: r, Required: f.required(), Watches: f.watches, Load: true}), locks, admission))
	}
	for _, s := range f.follows.Sources() {
		add(s.Root(), policy.Guarded(s, admission))
	}
	if !f.noBuiltin {
		if s := f.builtin(); f.excludedBy(s.Root()) != "" {
			add(s.Root(), unlistedBuiltin{s})
		} else {
			add(s.Root(), s)
		}
	}
	return append(listed, unlisted...), nil
}

// unlistedBuiltin is the source of the built-in skills, in no list.
type unlistedBuiltin struct{ *builtin.Source }

func (s unlistedBuiltin) Root() skill.Root {
	r := s.Source.Root()
	r.Unlisted, r.UnlistedBy = true, excludeFlag // a project's file excludes roots of the project alone
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
func (f *sourceFlags) check(env console.Env) error {
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
	if err := f.load(env); err != nil {
		return err
	}
	switch named := f.file != nil && len(f.file.Config.Roots)+len(f.file.Config.Sources) > 0; {
	case len(f.dirs) > 0 && named:
		env.Err().Text(console.Warning, "--dir replaces the roots of "+f.file.Shown)
	case f.source != "" && named:
		env.Err().Text(console.Warning, "--source replaces the roots of "+f.file.Shown)
	case f.given("project") && len(f.dirs) > 0:
		env.Err().Text(console.Warning, "--project has no effect with --dir")
	case named:
		if f.given("project") {
			env.Err().Text(console.Warning, "--project has no effect with the roots of "+f.file.Shown)
		}
		return f.file.UnusableRoot()
	}
	return nil
}

// checkFolder reports at once what is wrong with a folder that the user named.
func checkFolder(flag, shown, d string) error {
	if shown == "" {
		return command.UsageError("give a folder, or leave "+flag+" out", "%s: the folder's name is empty", flag)
	}
	return folderError(flag, shown, dir.Check(d))
}

// folderError says in words why a folder that the user named cannot be served.
func folderError(flag, shown string, err error) error {
	if err == nil {
		return nil
	}
	words, hint := skill.FolderReason(err)
	return command.RunError(hint, "%s %s: %s", flag, shown, words)
}

const excludeFlag = "--exclude"

// excludedBy returns what leaves a root out of all lists, or "". A label means a folder, so it is
// enough if one of the root's is excluded; a project's file leaves out roots of the project alone.
func (f *sourceFlags) excludedBy(r skill.Root) string {
	for _, label := range r.Labels() {
		if settings.MatchesLabel(f.exclude, label) {
			return excludeFlag
		}
		if label == r.Label || r.Scope == skill.ScopeProject {
			if by := f.projects.ExcludedBy(label); by != "" {
				return by
			}
		}
	}
	return ""
}

// checkExcluded refuses a label that no root has or could have here: a typing
// error would otherwise list what should not be.
func (f *sourceFlags) checkExcluded(roots []skill.Root) error {
	if len(f.exclude) == 0 {
		return nil // what there is to exclude is asked of the disk
	}
	known := labels(roots)
	known = append(append(known, agents.Labels()...), builtin.Label)
	slices.Sort(known)
	known = slices.Compact(known)
	for _, x := range f.exclude {
		if x == "" {
			return command.UsageError("give a label, for example claude-user, or leave --exclude out", "--exclude: the label is empty")
		}
		if !slices.Contains(known, x) && !slices.Contains(known, agents.WithoutNumber(x)) {
			return command.UsageError(meant(x, known, "knack doctor lists the labels"), "--exclude %s: no root has this label", display.Echo(x))
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
