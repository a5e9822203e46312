// Package workspace determines the skills of this process. [Open] and
// [OpenUnguarded] are the only entry points.
//
// Flags, knack.yaml and the environment are resolved once, in this order. Each step uses the
// results of the steps before it:
//
//  1. the file in effect: the file of --config or, for a server over HTTP, the user's own file
//  2. the projects: --project, the client's roots, or the working directory, each with its knack.yaml
//  3. the tools: --tools, the project's, or the default
//  4. the roots: --dir, --source, the roots and sources of the file, or else KNACK_DIRS, the
//     well-known folders, the projects' own folders, the plugins of clients and the sources of the
//     user's own file
//  5. the lists: --exclude and the projects' files exclude roots from them
//  6. the guard: the lock and the policy of the file in effect, or of the user's own file
//
// Open does the first five steps, and refuses wrong settings. Skills are read on first use: a
// command calls [Workspace.View] or [Workspace.Host], which wait for every disk that answers, and a
// server calls [Workspace.Serve].
package workspace

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/policy/admission"
	"github.com/knack-dev/knack/internal/policy/provenance"
	"github.com/knack-dev/knack/internal/workspace/replica"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/lookup"
)

// Options are the flags as given. The zero value of each field is its default.
type Options struct {
	Env       *console.Env
	Dirs      []string // --dir
	Source    string   // --source
	Project   string   // --project
	Below     bool     // --below
	Exclude   []string // --exclude
	NoBuiltin bool     // --no-builtin
	Config    string   // --config
	Partly    bool     // a root of Config that does not exist is left out: it may be on the server's machine alone
	HTTP      string   // --http of a server, which has an operator
	Tools     *Tools   // of a command that offers tools

	// Patience limits the wait for a root while a person is typing a command. If it is set, folders
	// are not checked and no progress is shown. Zero waits for every disk that answers.
	Patience time.Duration
	// Warn, if not nil, is called with each warning for people.
	Warn func(text string)
}

// Tools are the flags of a command that offers tools.
type Tools struct {
	Set   string // --tools, or its default
	Given bool   // --tools was given, so it overrides the project's set
	Limit int    // --description-limit
}

// Workspace holds the skills of this process, and the settings that select them.
type Workspace struct {
	o         Options
	unguarded bool
	files     *settings.Finder
	file      *settings.File // in effect, or nil
	own       *settings.File // the user's own file, or nil; its sources come after the well-known folders
	address   string
	set       string
	tools     []*tool.Tool
	layout    layout                 // for the folder of the project
	inUse     atomic.Pointer[layout] // for the projects that the client has open
	changing  sync.Mutex             // held while inUse and the catalogue's sources are replaced
	clients   sync.Map               // the [clientSkills] of each client, by its name

	watches   *dir.Watches // one for the process
	builtin   *builtin.Source
	sources   []catalog.Source
	catalog   *catalog.Catalog // nil until the skills are read
	replica   *replica.Replica // nil without followed sources
	followed  []catalog.Source // guarded sources of the replica; they stay when the projects change
	stored    []doctor.Followed
	locks     *provenance.Locks
	admission *admission.Controller
}

// Open resolves the settings. The workspace has only the skills that pass the operator's policy and
// the locks.
func Open(o Options) (*Workspace, error) { return open(o, false) }

// OpenUnguarded is like [Open], but without the operator's policy. It is for commands that inspect
// held-back skills: approve, check and scan.
func OpenUnguarded(o Options) (*Workspace, error) { return open(o, true) }

func open(o Options, unguarded bool) (w *Workspace, err error) {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	w = &Workspace{o: o, unguarded: unguarded, files: settings.New(o.Env, o.Config), watches: dir.NewWatches()}
	realpath.Answers(o.Env.Home) // if that disk does not answer, nothing below waits for it
	if err = w.readFile(); err != nil {
		return nil, err
	}
	w.layout = w.layoutOf(w.files, nil)
	w.inUse.Store(&w.layout)
	if err := w.chooseTools(); err != nil {
		return nil, err
	}
	if o.Patience == 0 {
		if err := w.check(); err != nil {
			return nil, err
		}
	}
	w.builtin = builtin.New(setsIn(w.set)...)
	if err := w.checkExcluded(w.layout); err != nil {
		return nil, err
	}
	return w, nil
}

// readFile reads the file in effect. By default a server on stdio has none, because an error in an
// unrelated section would leave an agent without skills; it uses only the sources of the user's own
// file. The operator of a server over HTTP may expect the project's file to apply, so a fault in
// that file is an error.
func (w *Workspace) readFile() (err error) {
	w.address = w.o.HTTP
	if w.o.Config == "" && w.o.HTTP == "" {
		if len(w.o.Dirs) == 0 && w.o.Source == "" {
			w.own = w.files.WithSources(w.o.Warn)
		}
		return nil
	}
	if w.file, err = w.files.Trusted(); err != nil {
		return err
	}
	if w.o.Config == "" {
		return w.files.Beside(settings.Folder(*w.o.Env, w.o.Project))
	}
	if w.address == "" {
		// Only a file named by --config sets the address. In the user's own file, an address would
		// turn every server that a client starts on stdio into a server over HTTP.
		w.address = w.file.Config.HTTP.Listen
	}
	return nil
}

// chooseTools selects the set of --tools, or the project's set if its descriptions fit the user's
// limit.
func (w *Workspace) chooseTools() (err error) {
	t := w.o.Tools
	if t == nil {
		return nil
	}
	w.set = t.Set
	if set := w.layout.tools; set != "" && !t.Given {
		all, err := tool.ParseSets(set)
		if err == nil {
			_, err = tool.Limit(all, max(t.Limit, 0))
		}
		if err != nil {
			w.o.Warn(fmt.Sprintf("the project's tools, %s, are not used with --description-limit %d: %s", set, t.Limit, err))
		} else {
			w.set = set
		}
	}
	all, err := tool.ParseSets(w.set)
	if err != nil {
		return unknownSet(w.set, err)
	}
	if w.tools, err = tool.Limit(all, t.Limit); err != nil {
		return settings.UsageError("allow more, give 0 for a list of 16,000 characters, or choose another set with --tools", "--description-limit %d: %w", t.Limit, err)
	}
	return nil
}

// File returns the file in effect, or nil.
func (w *Workspace) File() *settings.File { return w.file }

// Files returns the finder of the process's settings, which reads each file once.
func (w *Workspace) Files() *settings.Finder { return w.files }

// Address returns the address at which a server listens, or "" for standard input and output.
func (w *Workspace) Address() string { return w.address }

// Tools returns the offered tools and the name of their set.
func (w *Workspace) Tools() (tools []*tool.Tool, set string) { return w.tools, w.set }

// Engage returns the text that points a model to the tools.
func (w *Workspace) Engage() string { return w.builtin.Engage() }

// Settings describes the settings in effect that select skills. They come from the projects' files,
// or from the file of --config.
func (w *Workspace) Settings() []string {
	if w.o.Config != "" && w.file != nil && len(w.o.Dirs) == 0 && w.Named() {
		return []string{w.file.Shown + ": its roots and sources are read, and not the folders of this machine"}
	}
	return w.layout.projects.Lines()
}

// Stored describes the followed sources by their stored releases.
func (w *Workspace) Stored() []doctor.Followed { return w.stored }

// Sources returns the sources of the skills that were read.
func (w *Workspace) Sources() []catalog.Source { return w.sources }

// Judge returns a judge that uses the lanes of the operator's policy.
func (w *Workspace) Judge() judgement.Judge { return JudgeOf(w.admission) }

// JudgeOf returns a judge that uses the lanes of a policy. If findings hold skills back, the judge
// uses the reports on exactly the served bytes.
func JudgeOf(ctl *admission.Controller) judgement.Judge {
	out := judgement.Judge{Lanes: ctl.Lanes(), Accepted: ctl.Accepted}
	if ctl.Enforces() {
		out.Known = func(e *catalog.Entry) *scan.Report {
			v, _ := ctl.Of(e)
			return v.Report()
		}
	}
	return out
}

// Accepted returns why the operator accepts a rule's findings in the present files of a skill, or
// "". It works even if the workspace was opened without the policy.
func (w *Workspace) Accepted(ctx context.Context, e *catalog.Entry, rule skill.RuleID) (string, error) {
	ctl, err := w.controller()
	if err != nil {
		return "", err
	}
	return ctl.Accepted(ctx, e, rule), nil
}

// Lanes returns the rules that the operator moves to another lane. It works even if the workspace
// was opened without the policy.
func (w *Workspace) Lanes() (map[skill.RuleID]scan.Lane, error) {
	ctl, err := w.controller()
	return ctl.Lanes(), err
}

// controller returns the controller of the operator's policy, even if the workspace was opened
// without it.
func (w *Workspace) controller() (*admission.Controller, error) {
	if w.admission != nil {
		return w.admission, nil
	}
	return w.files.Admission(w.file, "", slog.New(slog.DiscardHandler), nil)
}

// View returns the skills, and reads them on the first call. It fails if a root named by the user
// cannot be read.
func (w *Workspace) View(ctx context.Context) (catalog.View, error) {
	first := w.catalog == nil
	v, err := w.Scan(ctx)
	if err != nil || w.o.Patience > 0 {
		return v, err
	}
	if first {
		w.WarnUnused()
	}
	for _, s := range w.stored {
		if first && s.Error != "" {
			w.o.Warn(fmt.Sprintf("%s (%s): %s (%s)", s.Name, display.OneLine(s.From), s.Error, s.Fix))
		}
	}
	return v, w.rootError(v)
}

// Scan is like [Workspace.View], but without the errors and warnings about single roots, sources
// and settings. It is for a report that includes these itself.
func (w *Workspace) Scan(ctx context.Context) (v catalog.View, err error) {
	if w.catalog != nil {
		return w.catalog.View(ctx)
	}
	typing := w.o.Patience > 0
	s := Serving{Catalog: catalog.Options{Patience: cmp.Or(w.o.Patience, diskPatience), Whole: !typing}}
	if w.address == "" {
		s.Catalog.ClientSkills = w.clientSkills
	}
	c, err := w.guarded(s, true)
	if err != nil {
		return v, err
	}
	if typing {
		if err = c.Refresh(ctx); err == nil {
			v, err = c.View(ctx)
		}
	} else {
		v, err = Read(ctx, w.o.Env, c)
	}
	if err != nil {
		return v, err
	}
	w.catalog = c
	w.admission.Save()
	for _, text := range slices.Concat(w.Missing(v), silentRoots(v)) {
		w.o.Warn(text)
	}
	return v, nil
}

// Survey is like [Workspace.Scan], for a report that also lists the refused settings. If the
// operator's policy is refused, Survey reads the skills without a policy.
func (w *Workspace) Survey(ctx context.Context) (catalog.View, error) {
	if _, err := w.files.Admission(w.file, "", slog.New(slog.DiscardHandler), nil); err != nil {
		w.unguarded = true
	}
	return w.Scan(ctx)
}

// diskPatience limits how long a command waits for a disk after the last answer of any disk.
const diskPatience = 5 * time.Second

// mostSilent limits the roots that a warning names.
const mostSilent = 3

// silentRoots returns a warning about the folders that a command has not read because their disks
// do not answer.
func silentRoots(v catalog.View) []string {
	var folders []string
	for _, r := range v.Roots {
		if r.Late() && r.Dir != "" {
			folders = append(folders, doctor.Heading(r.Root))
		}
	}
	if len(folders) == 0 {
		return nil
	}
	return []string{display.First(folders, mostSilent) + ": the disk does not answer, so the skills there are missing; see whether it answers"}
}

// Refresh reads changed skills again.
func (w *Workspace) Refresh(ctx context.Context) (catalog.View, error) {
	if w.catalog != nil {
		if err := w.catalog.Refresh(ctx); err != nil {
			return catalog.View{}, Interrupted(err)
		}
	}
	return w.View(ctx)
}

// Host returns the skills for the tools, and reads them on the first call.
func (w *Workspace) Host(ctx context.Context) (*tool.Host, error) {
	if _, err := w.View(ctx); err != nil {
		return nil, err
	}
	return &tool.Host{Finder: lookup.Finder{Catalog: w.catalog, Engage: w.Engage}}, nil
}

// Close disconnects the followed sources. Their skills cannot be read afterwards.
func (w *Workspace) Close() { w.replica.Close() }

// Read waits until a catalogue has read all of its sources whose disks answer, however long that
// takes, since the answer of a command must be complete. On a terminal it shows progress.
func Read(ctx context.Context, env *console.Env, c *catalog.Catalog) (catalog.View, error) {
	defer ShowReading(env, c)()
	if err := c.Refresh(ctx); err != nil {
		return catalog.View{}, Interrupted(err)
	}
	return c.View(ctx)
}

// ShowReading shows the progress of a scan on a terminal until done is called.
func ShowReading(env *console.Env, c *catalog.Catalog) (done func()) {
	return console.ShowProgress(env, console.Step{What: "reading skills", Count: func() (int, int) { return int(c.Progress()), 0 }, Unit: "folders"})
}

// Interrupted returns the error of a command that was interrupted.
func Interrupted(err error) error {
	return settings.RunError("", "the scan was interrupted: %w", err)
}
