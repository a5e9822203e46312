package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/workspace/plugins"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

const (
	// pluginsDelay is the wait before watching starts; the catalogue also waits. pluginsSettle is
	// the wait after the first event of a change, until the rest of the change has happened.
	pluginsDelay, pluginsSettle = 200 * time.Millisecond, 50 * time.Millisecond
)

// pluginsInterval is the interval at which the clients' plugin files are checked if no event
// arrives. Tests change it.
var pluginsInterval = catalog.DefaultInterval

// pluginRoots contains the plugins of a layout. Their roots are the last roots of the layout.
type pluginRoots struct {
	found *plugins.Found
	from  int // index of the first root
	// byLabel maps the label of a root to its plugin.
	byLabel map[string]plugins.Plugin
}

// findPlugins finds the plugins of the clients. It returns nil for a server over HTTP, since its
// callers do not share the plugins of its account.
func (w *Workspace) findPlugins(open []string, all bool) *plugins.Found {
	env := w.o.Env
	if w.address != "" || env.Home == "" {
		return nil
	}
	return plugins.Find(plugins.Options{
		Homes: agents.Homes{Home: env.Home, Getenv: w.Getenv()}, Projects: open, All: all,
		Patience: cmp.Or(w.o.Patience, realpath.Patience), Shown: env.Shown,
	})
}

// withPlugins returns a layout with the roots of the plugins that are installed now.
func (w *Workspace) withPlugins(l layout) layout {
	p := pluginRoots{from: len(l.roots), byLabel: map[string]plugins.Plugin{}}
	if l.plugins.found != nil {
		p.from = l.plugins.from
	}
	l.roots = l.roots[:p.from:p.from]
	if p.found = w.findPlugins(l.open, false); p.found != nil {
		for _, plugin := range p.found.Plugins {
			if plugin.Label == "" {
				continue
			}
			p.byLabel[plugin.Label] = plugin
			r := skill.Root{
				Label: plugin.Label, Prefix: plugin.Label, Scope: skill.ScopeGlobal, Dir: plugin.Dir, Plugin: plugin.Name, ShownBy: plugin.Client,
				Shown: console.DisplayPath(plugin.Dir, l.open, w.o.Env.Home),
			}
			if plugin.State == plugins.Late {
				r.ShownBy, r.Absent = "", true // nobody waits for its disk
			}
			l.roots = append(l.roots, r)
		}
	}
	l.plugins = p
	return l
}

// source returns the source for the root in o. ok is false if the root does not belong to a plugin.
func (p pluginRoots) source(o dir.Options) (s catalog.Source, ok bool) {
	plugin, ok := p.byLabel[o.Root.Label]
	switch {
	case !ok:
		return nil, false
	case plugin.State == plugins.Late:
		return &lateSource{o.Root, p.found.Answered}, true
	}
	o.Places, o.Within = plugin.Places, plugin.Within
	return dir.New(o), true
}

// lateSource represents the plugins of a client whose files cannot be read in time.
type lateSource struct {
	root     skill.Root
	answered <-chan struct{}
}

func (s *lateSource) Root() skill.Root { return s.root }

// Scan waits until the files are read, and then returns an error that asks the user to run the
// command again. A server replaces the source with the sources of the plugins instead.
func (s *lateSource) Scan(ctx context.Context) (skill.Scan, error) {
	select {
	case <-s.answered:
		return skill.Scan{}, errors.New("the list of plugins came too late: run the command again")
	case <-ctx.Done():
		return skill.Scan{}, ctx.Err()
	}
}

// mostDamaged limits the warnings about damaged plugins.
const mostDamaged = 3

// damaged returns warnings about plugins that are installed but cannot be served.
func (p pluginRoots) damaged() (warnings []string) {
	if p.found == nil {
		return nil
	}
	more := 0
	for _, plugin := range p.found.Plugins {
		switch {
		case plugin.State != plugins.Damaged:
		case len(warnings) == mostDamaged:
			more++
		default:
			warnings = append(warnings, display.OneLine(fmt.Sprintf("%s: %s; %s", doctor.PluginTitle(plugin.Client, plugin.ID), plugin.Reason, plugin.Fix)))
		}
	}
	if more > 0 {
		warnings = append(warnings, fmt.Sprintf("%d more plugins are damaged; knack doctor lists them", more))
	}
	return warnings
}

// Plugins describes the plugins of the clients on this machine, including plugins that are not
// enabled.
func (w *Workspace) Plugins() []doctor.Plugin {
	if w.Named() {
		return nil
	}
	found := w.findPlugins(w.layout.open, true)
	if found == nil {
		return nil
	}
	var out []doctor.Plugin
	for _, p := range found.Plugins {
		out = append(out, doctor.Plugin{Client: p.Client, ID: p.ID, State: string(p.State), Reason: p.Reason, Fix: p.Fix, Root: p.Label, Dir: p.Dir})
	}
	return out
}

// followPlugins updates the roots as plugins are installed, removed, enabled and disabled, until
// the context ends.
func (w *Workspace) followPlugins(ctx context.Context) {
	found := w.inUse.Load().plugins.found
	if found == nil {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(pluginsDelay):
	}
	var changed <-chan struct{}
	watch, err := w.watches.Join(filepath.Clean(w.o.Env.Home))
	if err == nil {
		defer watch.Leave()
		changed = watch.Changed()
	}
	for {
		if err == nil {
			if _, err = watch.Set(found.Folders()); err != nil {
				changed = nil // without a watch, the files are polled
			}
		}
		if !found.Changed() {
			select {
			case <-ctx.Done():
				return
			case <-changed:
				select {
				case <-ctx.Done():
					return
				case <-time.After(pluginsSettle):
				}
			case <-found.Answered:
				found = nil
			case <-time.After(pluginsInterval):
			}
		}
		found = w.refindPlugins(found)
	}
}

// refindPlugins finds the plugins again if they have changed since last, and replaces their
// sources.
func (w *Workspace) refindPlugins(last *plugins.Found) *plugins.Found {
	w.changing.Lock()
	defer w.changing.Unlock()
	was := w.inUse.Load()
	if last == was.plugins.found && !last.Changed() {
		return last
	}
	now := w.withPlugins(*was)
	w.inUse.Store(&now)
	if !reflect.DeepEqual(now.plugins.byLabel, was.plugins.byLabel) {
		w.catalog.SetSources(w.sourcesOf(now, false))
	}
	return now.plugins.found
}
