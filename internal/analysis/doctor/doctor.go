// Package doctor explains the state of every skill that knack finds.
//
// A [Report] contains the verdicts of package judgement, the roots and the clients' lists. An
// [Explanation] is about one name. Commands, pages and the API print both.
package doctor

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// Options are the inputs of a report besides the view.
type Options struct {
	// Sources are the sources of the view. They tell how changes are noticed, and which folders
	// have no skill.
	Sources []catalog.Source
	// Dir is the working directory, Project the folder of the project, and Home the user's home
	// folder. They are absolute paths, or "" if unknown.
	Dir, Project, Home string
	// Getenv reads the environment variables that move the homes of clients. It is nil if such
	// variables have no effect.
	Getenv func(string) string
	// Shown formats an absolute path for people.
	Shown func(path string) string
	// Command writes a knack command for people to run, from its words. CommandAt writes one whose
	// last word is a path. Without these functions, a command has no further flags.
	Command, CommandAt func(words ...string) string
	// Serving returns the command that serves one more folder, given its absolute path.
	Serving func(folder string) string
	// AddRoot returns the fix that adds a folder to the file that names the roots, or "" if none does.
	AddRoot func(folder string) string
	// Clients are the clients on this machine.
	Clients []Client
	// Verbose is set if the printed report lists the missing roots.
	Verbose bool
	// Settings are lines that describe the settings in a project's file, with their positions.
	Settings []string
	// Unused are sentences about settings files that have no effect or cannot be read.
	Unused []string
	// Followed are the sources that a server with the same settings follows.
	Followed []Followed
	// Plugins are the plugins of the clients on this machine.
	Plugins []Plugin
	// Judge judges the skills.
	Judge judgement.Judge
}

// Report describes the roots and the skills of a view. Its JSON form consists of its exported
// fields.
type Report struct {
	Count  judgement.Count `json:"count"`
	Roots  []Root          `json:"roots"`
	Skills []Skill         `json:"skills"`
	Lists  []List          `json:"lists"`
	// Settings is a copy of [Options.Settings].
	Settings []string            `json:"projectSettings,omitempty"`
	Unused   []string            `json:"unusedSettings,omitempty"` // a copy of [Options.Unused]
	Followed []Followed          `json:"sources,omitempty"`
	Plugins  []Plugin            `json:"plugins,omitempty"`
	Clients  []Client            `json:"clients,omitempty"`
	Locks    []LockStatus        `json:"locks,omitempty"`
	Scan     judgement.ScanCount `json:"scan"`
	Limits   []string            `json:"limits"` // lines about the limits that were reached, of knack or of the specification

	Options  Options                               `json:"-"`
	View     catalog.View                          `json:"-"`
	Fits     []tool.Fit                            `json:"-"` // the fits from which Lists is made
	Verdicts map[*catalog.Entry]*judgement.Verdict `json:"-"`
	// RunnerLoads is set if the tool set runner loads a skill that is skipped.
	RunnerLoads bool `json:"-"`
}

// Client is a client on this machine.
type Client struct {
	Client    string `json:"client"`
	Name      string `json:"name"`
	Connected bool   `json:"connected"`
	Status    string `json:"status"`           // in words
	Skills    string `json:"skills,omitempty"` // in words: the skills that the client reads itself, and the skills that knack adds
	Fix       string `json:"fix,omitempty"`    // the command that connects the client, if that adds skills
}

// Root is a root. It also tells how changes below the root are noticed.
type Root struct {
	RootStatus
	Clients  []string `json:"clients,omitempty"` // the clients that read the root's folder themselves
	Watching bool     `json:"watching"`
	Polling  string   `json:"pollingBecause,omitempty"`
}

// List describes how much of the list of skills a client sees.
type List struct {
	Client    string    `json:"client,omitempty"` // empty for all clients without a known limit
	Limit     int       `json:"limit,omitempty"`
	Budget    int       `json:"budget"`
	Need      int       `json:"need"`
	Form      tool.Form `json:"form"`
	Cut       int       `json:"cut,omitempty"`
	Shortened []string  `json:"shortened,omitempty"`
	Left      []string  `json:"left,omitempty"`
}

// Examine judges every skill of a view and examines everything that a scan ignores. The view should
// be complete; otherwise the report says which root is still being read. The only error is the
// context's.
func Examine(ctx context.Context, v catalog.View, o Options) (*Report, error) {
	all, err := o.Judge.All(ctx, v)
	if err != nil {
		return nil, err
	}
	watched := watchAll(ctx, v, o.Sources)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r := blank(v, o)
	r.Skills = make([]Skill, len(all))
	for i, d := range all {
		r.Verdicts[d.Entry] = d
		r.Skills[i] = SkillOf(d)
	}
	t := TotalsOf(v, func(e *catalog.Entry) (*judgement.Verdict, judgement.Tally) { return r.Verdicts[e], nil })
	r.Count, r.Scan = t.Count, t.Scan
	for i, root := range Roots(v) {
		w := watched[root.Label]
		r.Roots = append(r.Roots, Root{root, Readers(v.Roots[i].Root), w.on, w.why})
	}
	for _, f := range r.Fits {
		r.Lists = append(r.Lists, List{f.Client, f.Limit, f.Budget, f.Need, f.Form, f.Cut, Names(f.Shortened), Names(f.Left)})
	}
	r.Limits, r.Locks = append(r.Limits, r.limits()...), Locks(v)
	r.RunnerLoads = slices.ContainsFunc(v.Skipped, r.runnerLoads)
	return r, nil
}

// blank returns a report without verdicts.
func blank(v catalog.View, o Options) *Report {
	return &Report{Roots: []Root{}, Skills: []Skill{}, Lists: []List{}, Limits: []string{}, Settings: o.Settings, Unused: o.Unused, Followed: o.Followed, Plugins: o.Plugins, Clients: o.Clients, Options: o, View: v, Fits: tool.Fits(v), Verdicts: map[*catalog.Entry]*judgement.Verdict{}}
}

// runnerLoads reports whether the tool set runner loads a skill that is skipped. That tool set
// finds skills by their folders and does not judge the frontmatter.
func (r *Report) runnerLoads(e *catalog.Entry) bool {
	data := r.Verdicts[e].Data
	return e.ModelInvocable && len(data) > 0 && utf8.Valid(data) && skill.IsEntryNameInAnyCase(e.Entry) &&
		notFor000(e) == "" && r.View.InFolder(e.Folder()) == e
}

// Readers returns the names of the clients that read a root's folder themselves.
func Readers(r skill.Root) []string {
	if r.ShownBy == "" {
		return nil
	}
	return strings.Split(r.ShownBy, ",")
}

// Names returns the names of entries.
func Names(entries []*catalog.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name)
	}
	return out
}

// watched tells how changes below a root are noticed.
type watched struct {
	on  bool
	why string
}

// watcher is a source that can watch a folder on disk.
type watcher interface {
	catalog.Source
	catalog.Watcher
	Watching() (on bool, reason string)
}

// watchPatience limits the time for registering watches. Each folder takes a system call, and there
// can be a million folders.
const watchPatience = 30 * time.Second

// watchAll watches all roots at the same time, as a server does. For each root whose disk answers,
// it returns whether the system reports changes below the root.
func watchAll(ctx context.Context, v catalog.View, sources []catalog.Source) map[string]watched {
	ctx, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	out := map[string]watched{}
	var waiting []watcher
	late := func(label string) bool {
		return slices.ContainsFunc(v.Roots, func(r catalog.RootStatus) bool { return r.Label == label && r.Late() })
	}
	for _, s := range sources {
		if d, ok := s.(watcher); ok && !late(s.Root().Label) {
			waiting = append(waiting, d)
			go d.Watch(ctx, func() {})
		}
	}
	for _, d := range waiting {
		for {
			on, why := d.Watching()
			if on || why != "" {
				out[d.Root().Label] = watched{on, why}
				break
			}
			if ctx.Err() != nil {
				out[d.Root().Label] = watched{false, "its disk has not answered yet"}
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	return out
}
