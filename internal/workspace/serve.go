package workspace

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/policy"
	"github.com/knack-dev/knack/internal/policy/admission"
	"github.com/knack-dev/knack/internal/policy/provenance"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/replica"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/source/dir"
)

// Serving configures how a server watches its skills. The zero value of each field is its default.
type Serving struct {
	Log     *slog.Logger
	Drift   func(skill, reason string, refused bool) // called for a skill that does not match its lock
	Event   func(follow.Event)                       // called for each event of a followed source
	Catalog catalog.Options                          // the workspace sets Provenance and ClientSkills
	ListAll bool                                     // lists also contain the skills that a client shows itself
}

// Serve creates the catalogue of a server, instead of [Workspace.View]. It does not read skills
// yet.
func (w *Workspace) Serve(s Serving) (err error) {
	if w.address == "" && !s.ListAll { // over HTTP, the folders that clients read are on other machines
		s.Catalog.ClientSkills = w.clientSkills
	}
	w.catalog, err = w.guarded(s, false)
	return err
}

// Catalog returns the catalogue, or nil until the skills are read or served.
func (w *Workspace) Catalog() *catalog.Catalog { return w.catalog }

// Admission returns the controller of the operator's policy, or nil.
func (w *Workspace) Admission() *admission.Controller { return w.admission }

// Holds reports whether the locks or the operator's policy can hold a skill back. It is known after
// the skills were read.
func (w *Workspace) Holds() bool { return w.locks.Decider() != nil || w.admission.Holds() }

// Replica returns the followed sources of a server, or nil.
func (w *Workspace) Replica() *replica.Replica { return w.replica }

// Start reads the skills of a server and follows their changes, until the context ends. stop ends
// the controller of the operator's policy, and waits until it has saved its verdicts.
func (w *Workspace) Start(ctx context.Context) (stop func()) {
	go func() { _ = w.catalog.Run(ctx) }()
	stop = w.admission.Start(ctx, w.catalog)
	w.replica.Start()
	go w.followPlugins(ctx)
	return stop
}

// SetProjects serves the skills of the projects that a client has open, instead of the skills of
// the working directory. unusable lists the reasons why files of these projects are not used.
func (w *Workspace) SetProjects(ctx context.Context, folders []string) (unusable []error, err error) {
	l := w.layoutOf(settings.New(w.o.Env, w.o.Config), folders)
	if err := w.checkExcluded(l); err != nil {
		return nil, err
	}
	w.changing.Lock()
	w.inUse.Store(&l)
	w.catalog.SetSources(w.sourcesOf(l, false))
	w.changing.Unlock()
	_ = w.catalog.Refresh(ctx)
	return l.projects.Unusable, nil
}

// guarded creates the guarded sources and their catalogue. single is true for a command that scans
// only once.
func (w *Workspace) guarded(s Serving, single bool) (c *catalog.Catalog, err error) {
	if from := w.following(); from != nil || w.o.Source != "" {
		w.replica, err = replica.Open(replica.Options{
			Env: *w.o.Env, Files: w.files, File: from, Own: w.own != nil, Flag: w.o.Source, Prefix: len(w.o.Dirs) > 0,
			Excluded: func(r skill.Root) string { return w.excludedBy(w.layout, r) },
			Log:      cmp.Or(s.Log, slog.New(slog.DiscardHandler)), Event: s.Event,
		})
		if err != nil && w.own != nil {
			w.o.Warn("the sources of your own file are not followed: " + err.Error())
			w.own, err = nil, nil
		}
		if err != nil {
			return nil, err
		}
		if single && w.replica != nil {
			w.stored = w.replica.Stored()
		}
	}
	others, advice := w.address != "" && !single, w.o.Env
	if others {
		advice = advice.Remote()
	}
	w.locks = w.newLocks(s, others)
	if !w.unguarded {
		cache, _ := w.o.Env.Folders()
		if w.admission, err = w.files.Admission(w.file, cache, s.Log, advice.Command); err != nil {
			return nil, err
		}
	}
	if w.locks != nil {
		s.Catalog.Provenance = w.locks
	}
	w.followed = nil // a command that failed reads again
	for _, s := range w.replica.Sources() {
		w.followed = append(w.followed, policy.Guarded(s, w.admission.Decider(single)))
	}
	w.sources = w.sourcesOf(w.layout, single)
	return catalog.New(w.sources, s.Catalog), nil
}

// newLocks returns the locks with which skills are compared, or nil if the settings disable locks.
func (w *Workspace) newLocks(s Serving, others bool) *provenance.Locks {
	mode := w.files.LockMode(w.file)
	if mode == config.LockOff {
		return nil
	}
	o := w.lockOptions(others)
	o.Enforce, o.Log, o.Drift = mode == config.LockEnforce, s.Log, s.Drift
	return provenance.New(o)
}

// lockOptions returns the options for comparing skills with locks. If others is set, clients on other
// machines may read the fixes.
func (w *Workspace) lockOptions(others bool) (o provenance.Options) {
	env := w.o.Env
	advice := *env
	if advice.Project != "" {
		advice.Project = "." // a lock elsewhere adds its own
	}
	if others {
		o.Command = advice.Remote().Command
	} else {
		o.Command = advice.Command
		o.Shown = func(path string) string { return shownReal(env, path) }
	}
	o.Projects = func() []string {
		projects := w.inUse.Load().open
		if w.o.Config != "" {
			projects = append(slices.Clip(projects), filepath.Dir(env.Absolute(w.o.Config)))
		}
		return projects
	}
	if o.Home, o.Getenv = env.Home, w.Getenv(); env.Home != "" {
		o.Global = filepath.Join(env.Home, agents.Folder)
	}
	return o
}

// Unlocked returns the skills that the lock in a folder should contain but does not, by their
// folders, relative to the folder of the lock, and the fix of each. The settings need not enable
// locks. With an error, the list may be incomplete, because some folders are unknown or cannot be
// searched.
func (w *Workspace) Unlocked(ctx context.Context, folder string) (map[string]string, error) {
	var sources []catalog.Source
	for _, r := range w.layout.roots {
		if r.Dir != "" && !r.Absent {
			sources = append(sources, w.layout.source(dir.Options{Root: r, Watches: w.watches}))
		}
	}
	fixes, err := provenance.New(w.lockOptions(false)).Unlocked(ctx, folder, sources)
	switch {
	case err != nil:
	case len(w.Unusable()) > 0:
		err = w.Unusable()[0]
	case w.layout.partly:
		err = errors.New("the project has more folders than are searched for skills")
	}
	return fixes, err
}

// shownReal formats a path without links as the user knows it. If a link leads to the working
// folder or to the home folder, the result begins with the path of that link.
func shownReal(env *console.Env, path string) string {
	for _, base := range []string{env.Dir, env.Home} {
		if below, ok := console.Below(path, realpath.Of(base)); base != "" && ok {
			return env.Shown(filepath.Join(base, below))
		}
	}
	return env.Shown(path)
}

// sourcesOf returns a source for each root. Excluded roots come last, so that an unlisted skill
// never shadows a listed one.
func (w *Workspace) sourcesOf(l layout, single bool) []catalog.Source {
	var visible, unlisted []catalog.Source
	add := func(r skill.Root, s catalog.Source) {
		if w.excludedBy(l, r) != "" {
			unlisted = append(unlisted, s)
		} else {
			visible = append(visible, s)
		}
	}
	locks, scans := w.locks.Decider(), w.admission.Decider(single)
	for _, r := range l.roots {
		r.UnlistedBy = w.excludedBy(l, r)
		r.Unlisted = r.UnlistedBy != ""
		o := dir.Options{Root: r, Required: w.Named(), Watches: w.watches, Load: true}
		add(r, policy.Guarded(l.source(o), locks, scans))
	}
	for _, s := range w.followed {
		add(s.Root(), s)
	}
	if !w.o.NoBuiltin {
		if r := w.builtin.Root(); w.excludedBy(l, r) != "" {
			add(r, unlistedBuiltin{w.builtin})
		} else {
			add(r, w.builtin)
		}
	}
	return append(visible, unlisted...)
}

// source returns the unguarded source of a root.
func (l layout) source(o dir.Options) catalog.Source {
	if s, ok := l.plugins.source(o); ok {
		return s
	}
	return l.projects.Source(o)
}

// unlistedBuiltin is the source of the built-in skills, excluded from all lists.
type unlistedBuiltin struct{ *builtin.Source }

func (s unlistedBuiltin) Root() skill.Root {
	r := s.Source.Root()
	r.Unlisted, r.UnlistedBy = true, excludeFlag // a project's file can exclude only the project's roots
	return r
}
