// Package distcmd implements the commands that bring skills from elsewhere: add, remove, sync,
// update, verify and pull. It also implements publish.
package distcmd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/workspace/origins"
	"github.com/knack-dev/knack/internal/workspace/replica"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Withheld returns the reason and the fix for each of the given skill folders that models are not
// offered by name.
type Withheld func(ctx context.Context, env *console.Env, project, config string, folders []string) map[string]string

// Held returns the hold on each of the given skill folders that the lock or the operator's
// policy holds back. project and config are the values of --project and --config.
type Held func(ctx context.Context, env *console.Env, project, config string, folders []string) map[string]install.Hold

// Surroundings has functions that return facts about the skills and clients of this machine. Each
// may be nil.
type Surroundings struct {
	Withheld Withheld
	Held     Held
	Clients  func(env *console.Env, project string) []Client
	// Unlocked returns the skills that the lock in a folder covers and does not have, by their folders,
	// relative to that folder, and the fix of each.
	Unlocked func(ctx context.Context, env *console.Env, project, config, folder string) (map[string]string, error)
	// Named returns where on this machine the skill with the given name is, or "".
	Named func(ctx context.Context, env *console.Env, project, name string) string
}

// Commands returns the commands of this package.
func Commands(env *console.Env, around Surroundings) []*cobra.Command {
	return []*cobra.Command{addCommand(env, around), removeCommand(env), syncCommand(env, around), updateCommand(env, around), verifyCommand(env, around), publishCommand(env), pullCommand(env)}
}

// flags are the flags and the state that several commands share.
type flags struct {
	env                                *console.Env
	project, to, config                string
	global, overwrite, dryRun, offline bool
	acceptSigner, allowDowngrade       bool
	allow                              []string
	around                             Surroundings
	clients                            install.Clients // in whose folders add puts the skills
	stopProgress                       func()
	scans                              bool
	takesNothing                       bool // no source is read, so no trust rules
	strict                             bool // an unlocked skill makes the exit status 1
	hasFlag                            func(name string) bool
	ownLock                            bool     // the lock in the --project folder wins over its repository's
	typed                              []string // the sources on the command line

	lock  string // the path of the lock, or "" while it is unknown
	other string // the project of the lock, if --to is outside the working directory's project

	mu     sync.Mutex
	warned []string // the warnings that were printed
}

// warn prints and records a warning. It may be called from any goroutine.
func (f *flags) warn(text string) {
	f.mu.Lock()
	f.warned = append(f.warned, text)
	f.mu.Unlock()
	f.env.Err().Text(console.Warning, text)
}

// warnings returns the recorded warnings.
func (f *flags) warnings() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.warned)
}

func (f *flags) register(cmd *cobra.Command, changes bool, run command.Run) {
	command.ReturnsAlways(f.env, cmd, func() command.Result { return f.result(cmd) }, func(cmd *cobra.Command, args []string) (command.Result, error) {
		r, err := run(cmd, args)
		if _, ok := console.InterruptOf(cmd.Context()); ok && r == nil {
			err = interrupted(cmd.Context(), untouched)
		}
		return r, err
	})
	s := cmd.Flags()
	f.hasFlag = func(name string) bool { return s.Lookup(name) != nil }
	s.StringVar(&f.project, "project", "", command.ProjectUsage)
	s.BoolVarP(&f.global, "global", "g", false, "the skills in ~/"+agents.SkillsFolder+", for all projects")
	s.Bool("json", false, "print a JSON object")
	_ = cmd.MarkFlagDirname("project")
	if changes {
		cmd.Annotations = map[string]string{command.Late: lateHint}
		s.BoolVarP(&f.dryRun, "dry-run", "n", false, "print what would be done, and do nothing")
		s.BoolVar(&f.overwrite, "overwrite", false, "replace files that were changed by hand, and keep them elsewhere")
	}
	if f.takesNothing = cmd.Name() == "remove"; !f.takesNothing {
		s.StringVar(&f.config, "config", "", configUsage)
		_ = cmd.MarkFlagFilename("config")
	}
	s.BoolVar(&f.offline, "offline", false, "use only what is on this machine (also KNACK_OFFLINE=1)")
}

// destination has the folders into which a command installs skills.
type destination struct {
	root, to  string
	contained bool
	atHome    bool // the skills are for all projects
}

func (f *flags) destination(adding bool) (destination, error) {
	env := *f.env
	_, forAll := f.toForAll()
	switch {
	case f.global && (f.project != "" || f.to != "" && !forAll):
		return destination{}, command.UsageError("leave one of them out", "--global is not used with --project, nor with --to a folder outside of ~/"+agents.SkillsFolder)
	case f.global && env.Home == "":
		return destination{}, command.RunError("set HOME", "the home folder is not known")
	case f.global:
		return f.homeDestination(), nil
	}
	if err := f.projectIsFolder(); err != nil {
		return destination{}, err
	}
	if f.to != "" {
		return f.destinationOfTo(env)
	}
	at := settings.Folder(env, f.project)
	if at == "" {
		return destination{}, command.RunError("give a folder with --project", "the working directory is not known")
	}
	root := settings.Root(env, f.project)
	if f.ownLock && f.project != "" && root != at && f.hasLock(at) {
		root = at
	}
	if root == "" { // the home folder is not a project: its skills are for all projects
		return f.homeDestination(), nil
	}
	if adding && f.project == "" && !dir.InRepository(at, env.Home) && !f.hasLock(at) {
		for _, text := range f.typed { // a malformed source is the more useful error
			if _, err := parseTyped(f.env, text); err != nil {
				return destination{}, err
			}
		}
		return destination{}, command.Fail(command.No, fmt.Errorf("%s is in no repository, so it is not known for which project this is", f.displayFolder(at)),
			"--global installs for all projects, --to DIR into a folder, and --project DIR says which project is meant")
	}
	return destination{root: root, to: filepath.Join(root, filepath.FromSlash(agents.SkillsFolder)), contained: true}, nil
}

// homeDestination returns the destination of the skills for all projects, and sets the flag
// --global.
func (f *flags) homeDestination() destination {
	f.global, f.project = true, ""
	return f.homeFolders()
}

func (f *flags) homeFolders() destination {
	root := filepath.Join(f.env.Home, agents.Folder)
	below, _ := f.toForAll()
	return destination{root: root, to: filepath.Join(root, "skills", below), atHome: true}
}

// toForAll returns the folder of --to relative to the folder of the skills for all projects. ok is
// false if it is not in there.
func (f *flags) toForAll() (below string, ok bool) {
	if f.to == "" || f.env.Home == "" {
		return "", false
	}
	to, all := f.env.Absolute(f.to), filepath.Join(f.env.Home, filepath.FromSlash(agents.SkillsFolder))
	if realpath.Same(to, all) {
		return "", true
	}
	if below, ok = console.Below(to, all); ok {
		return below, true
	}
	return console.Below(realpath.Of(to), realpath.Of(all))
}

// projectIsFolder returns an error if --project is not a readable folder.
func (f *flags) projectIsFolder() error {
	if f.project == "" {
		return nil
	}
	t, err := dir.OpenTree(f.env.Absolute(f.project), true)
	if err != nil {
		reason, fix := skill.FolderReason(err)
		if errors.Is(err, syscall.ENOTDIR) {
			reason, fix = skill.FolderReason(skill.ErrNotFolder)
		}
		return command.RunError(fix, "--project %s: %s", display.Echo(f.project), reason)
	}
	return t.Close()
}

// destinationOfTo returns the destination for --to. The lock is in the root of the repository of
// that folder, or else in the project if the folder is below it, or else in the folder itself.
func (f *flags) destinationOfTo(env console.Env) (destination, error) {
	to := env.Absolute(f.to)
	root := to
	project := settings.Root(env, f.project)
	_, below := console.Below(to, project)
	_, forAll := f.toForAll()
	switch {
	case f.project != "" && !below:
		return destination{}, command.UsageError("name a folder below it", "--to %s is not below --project", env.Shown(to))
	case f.project == "" && dir.InRepository(to, env.Home):
		chain := dir.Project(to, env.Home)
		root = chain[len(chain)-1]
	case below:
		root = project
	case forAll:
		return f.homeDestination(), nil
	}
	if root != project {
		f.other = root
	}
	return destination{root: root, to: to, contained: true}, nil
}

func (f *flags) hasLock(at string) bool {
	in, err := install.Open(install.Options{Root: at}, false)
	if err != nil {
		return true // a damaged lock
	}
	defer in.Close()
	return len(in.Locked()) > 0
}

// open opens the lock and the store for a command. The caller calls done at the end.
func (f *flags) open(changes, adding bool) (_ *install.Installer, done func(), err error) {
	env := f.env
	at, err := f.destination(adding)
	if err != nil {
		return nil, nil, err
	}
	f.lock = filepath.Join(at.root, lockfile.Name)
	var rules trust.Rules
	if !f.takesNothing {
		if rules, err = settings.New(env, f.config).Trust(); err != nil {
			return nil, nil, err
		}
	}
	shelf, err := origins.OpenCache(env)
	if err != nil {
		return nil, nil, err
	}
	offline, err := origins.Offline(env)
	if err != nil {
		return nil, nil, err
	}
	offline = offline || f.offline
	_, state := env.Folders()
	var p progress
	web := httpfetch.Options{Proxy: env.Proxy, Agent: "knack"}
	for _, text := range f.typed {
		if ref, err := origin.ParseTyped(text, env.Dir, env.Home); err == nil {
			web.Login = cmp.Or(web.Login, loginOf(ref))
		}
	}
	servers := httpfetch.New(web)
	stop := sync.OnceFunc(console.ShowProgress(env, console.Step{Text: p.text}))
	f.stopProgress = stop
	o := install.Options{
		Root: at.root, To: at.to, Dir: env.Dir, Home: env.Home, Getenv: env.Variable, AtHome: at.atHome, Contained: at.contained,
		Kept:  filepath.Join(state, "kept"),
		Guard: filepath.Join(state, "locks", fmt.Sprintf("%x", sha256.Sum256([]byte(realpath.Of(at.root))))[:32]),
		Store: shelf, Origins: origins.New(origins.Options{
			Env: env, Store: shelf, Progress: p.set, Offline: offline, Warn: f.warn,
			Fetch: servers, Typed: f.typedServers(),
		}),
		Warn:        f.warn,
		CheckTarget: servers.CheckTarget,
		Allow:       f.allow,
		Trust:       rules, AcceptSigner: f.acceptSigner, AllowDowngrade: f.allowDowngrade,
		Overwrite: f.overwrite, DryRun: f.dryRun, Now: time.Now, Progress: p.set,
		Offline: offline,
		Shown:   env.Shown, Command: f.command, HasFlag: f.hasFlag,
	}
	if f.scans {
		o.Scan = scanSkill
	}
	in, err := install.Open(o, changes)
	if err != nil {
		stop()
		shelf.Close()
		return nil, nil, failure(err)
	}
	return in, func() { stop(); in.Close(); shelf.Close(); servers.Close() }, nil
}

// loginOf returns the end of the error message for a site or archive that refuses access. ref is
// the source as a person typed it. For other sources, which have their own credentials, it returns
// "".
func loginOf(ref origin.Ref) string {
	switch ref.Kind {
	case origin.WellKnown:
		return replica.NoLogin + "; an MCP server is written mcp:URL"
	case origin.Archive:
		return replica.NoLogin
	}
	return ""
}

// typedServers returns the addresses of the MCP servers on the command line.
func (f *flags) typedServers() (all []string) {
	for _, text := range f.typed {
		if ref, err := origin.ParseTyped(text, f.env.Dir, f.env.Home); err == nil && ref.Kind == origin.MCP {
			all = append(all, ref.Location)
		}
	}
	return all
}

// progress stores the latest progress of a source or an installation.
type progress struct{ now atomic.Pointer[amount] }

type amount struct {
	unit        origin.Unit
	done, total int64
}

func (p *progress) set(unit origin.Unit, done, total int64) { p.now.Store(&amount{unit, done, total}) }

// text returns the progress as a line for a terminal.
func (p *progress) text() string {
	const what = "getting skills"
	a := p.now.Load()
	switch {
	case a == nil:
		return what
	case a.unit == origin.Bytes && a.total > 0:
		return what + ": " + megabytes(a.done, a.total)
	case a.unit == origin.Bytes:
		return fmt.Sprintf("%s: %.1f MB", what, float64(a.done)/1e6)
	case a.total > 0:
		return fmt.Sprintf("%s: %s of %s %s", what, display.Thousands(int(a.done)), display.Thousands(int(a.total)), a.unit)
	}
	return fmt.Sprintf("%s: %s %s", what, display.Thousands(int(a.done)), a.unit)
}

// failure converts an error of package install into a failure of the command.
func failure(err error) error {
	var p *install.Problem
	if !errors.As(err, &p) {
		return command.RunError("", "%w", err)
	}
	code := command.Error
	switch {
	case p.Usage:
		code = command.Usage
	case p.No:
		code = command.No
	}
	return command.Fail(code, p.Err, p.Fix)
}

// planner makes the plan of a command.
type planner func(context.Context, *install.Installer) (*install.Plan, error)

// run makes the plan, carries it out and reports the results.
func (f *flags) run(cmd *cobra.Command, changes, adding bool, plan planner) (command.Result, error) {
	ctx := cmd.Context()
	in, done, err := f.open(changes, adding)
	if err != nil {
		return nil, err
	}
	defer done()
	p, err := plan(ctx, in)
	if err != nil {
		return nil, failure(err)
	}
	if changes {
		err = in.Do(ctx, p)
	}
	if err == nil && changes && f.around.Held != nil && ctx.Err() == nil {
		err = f.settle(ctx, in, p, f.clients)
	}
	if err == nil && !f.dryRun {
		f.noteWithheld(ctx, in, p)
	}
	if err == nil && adding && ctx.Err() == nil {
		in.NoteOnlyHere(p)
	}
	r := report{env: f.env, in: in, plan: p, project: settings.Root(*f.env, f.project), command: cmd.Name(), pins: cmd.Name() == "add" && !cmd.Flags().Changed("from"), again: again(cmd), dry: f.dryRun}
	if err == nil && adding && !f.dryRun && f.around.Clients != nil {
		r.sees = f.whoSees(in, p)
		if !command.IsJSON(cmd) {
			err = f.offer(ctx, in, p, &r)
		}
	}
	out := f.result(cmd)
	if f.other != "" {
		r.other = f.command("verify")
	}
	out.report(&r)
	if err != nil {
		return out, failure(err)
	}
	if err := r.interrupted(ctx); err != nil {
		return out, err
	}
	code := int(p.Outcome())
	if code == command.Done && f.strict && len(p.Unlocked) > 0 {
		code = command.No
	}
	if code != command.Done {
		return out, command.Fail(code, command.ErrPrinted, "")
	}
	return out, nil
}

// noteWithheld adds a warning to each new skill that models are not offered by name.
func (f *flags) noteWithheld(ctx context.Context, in *install.Installer, p *install.Plan) {
	var folders []string
	for _, s := range p.Steps {
		if s.New() {
			folders = append(folders, in.Folder(s.Key))
		}
	}
	if f.around.Withheld == nil || len(folders) == 0 || ctx.Err() != nil {
		return
	}
	why := f.around.Withheld(ctx, f.env, f.project, f.config, folders)
	for _, s := range p.Steps {
		if text := why[in.Folder(s.Key)]; text != "" && s.New() && !s.Withheld {
			s.Warnings, s.Withheld = append(s.Warnings, text), true
		}
	}
}

// displayFolder returns a folder in the form for people.
func (f *flags) displayFolder(folder string) string {
	if folder == f.env.Dir {
		return "the working directory"
	}
	return f.env.Shown(folder)
}

// command returns the command line of another command for the same lock.
func (f *flags) command(words ...string) string {
	takes := func(flag string) bool { return f.env.Takes == nil || f.env.Takes(words[0], flag) }
	if project := cmp.Or(f.project, f.env.Shown(f.other)); project != "" && takes("project") {
		words = append(words, "--project", project)
	}
	if f.global && takes("global") {
		words = append(words, "--global")
	}
	return f.env.Command(words...)
}

// again returns the command line that carries out the changes that this command has checked.
func again(cmd *cobra.Command) string {
	words := []string{"knack", cmd.Name()}
	for _, name := range []string{"global", "project", "latest", "unpin", "overwrite", "accept-signer", "allow-downgrade", "config", "offline"} {
		switch g := cmd.Flags().Lookup(name); {
		case g == nil || !g.Changed:
		case name == "project", name == "config":
			words = append(words, "--"+name, console.ShellWord(g.Value.String()))
		default:
			words = append(words, "--"+name)
		}
	}
	if allow := cmd.Flags().Lookup("allow"); allow != nil {
		for _, rule := range *allow.Value.(*command.Repeated) {
			words = append(words, "--allow", rule)
		}
	}
	for _, name := range cmd.Flags().Args() {
		words = append(words, console.ShellWord(name))
	}
	return strings.Join(words, " ")
}

// noLock returns the error for a folder without knack.lock. A lock that names no skills counts as
// a lock.
func (f *flags) noLock(in *install.Installer) error {
	if in.HasLock() {
		return nil
	}
	return &install.Problem{Err: fmt.Errorf("there is no %s in %s", lockfile.Name, f.displayFolder(filepath.Dir(in.LockFile()))), Fix: in.HowToAdd(), No: true}
}
