package cli

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/edit"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

func doctorCommand(env *Env) *cobra.Command {
	var from sourceFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [SKILL]",
		Short: "Say where skills are looked for, what became of each, and why one is missing",
		Long: `Say where skills are looked for, what became of each one found, and what a
client is shown of them.

With SKILL, the story of that name alone: every skill that has it, or that
nearly does, what is wrong with it and what to write instead. SKILL is a name, a
folder's name, LABEL:NAME, a skill:// URI or a path. The exit status is 1 when
no agent can load it.`,
		Args: between(0, 1, "the name of one skill, or nothing"),
		RunE: func(cmd *cobra.Command, args []string) error {
			x, err := examine(cmd.Context(), env, &from)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if asJSON {
					return printJSON(env.Stdout, x.report())
				}
				x.print(env.Stdout)
				return nil
			}
			name := args[0]
			if bare := strings.TrimRight(name, "/"); bare != "" && !strings.Contains(bare, "/") {
				name = bare // a folder's name, as a shell completes it
			}
			s := x.story(cmd.Context(), name)
			if asJSON {
				err = printJSON(env.Stdout, s.report(x))
			} else {
				s.print(env.Stdout, x)
			}
			if err == nil && !s.available() {
				err = &failure{code: exitNo, err: errNotAvailable(args[0])}
			}
			return err
		},
	}
	from.register(cmd, env)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// examined is everything that doctor knows.
type examined struct {
	env     Env
	view    catalog.View
	watch   map[string]watched
	fits    []tool.Fit
	skills  map[*catalog.Entry]inside
	folders []folders
	project string // the folder that is worked in
}

// watched says how changes below a root are seen.
type watched struct {
	on  bool
	why string
}

// folders is a source that tells what lies beside the skills.
type folders interface {
	Root() skill.Root
	Names(name string, limit int) ([]string, bool)
}

// inside is what a skill's folder holds.
type inside struct {
	Files   int
	More    bool // further files than the limit were not counted
	Bytes   int64
	Hidden  []string // dot-entries, the first few
	NHidden int
	Left    []string // files that an interrupted knack left behind
	Lacks   string   // a file or folder without which a manifest would be incomplete
}

// hider is a file system that can count what it does not show.
type hider interface {
	Hidden(ctx context.Context, limit int) ([]string, int, error)
}

const (
	// hiddenShown is how many dot-entries of a skill are named.
	hiddenShown = 5
	// hiddenSeen is how many are looked at.
	hiddenSeen = 1000
	// watchPatience bounds the wait for the system to say whether it watches.
	watchPatience = 2 * time.Second
)

// examine scans once and looks at all that a scan leaves aside.
func examine(ctx context.Context, env *Env, from *sourceFlags) (*examined, error) {
	if err := from.check(*env); err != nil {
		return nil, err
	}
	sources, err := from.sources(*env, nil)
	if err != nil {
		return nil, err
	}
	c := catalog.New(sources, catalog.Options{Patience: patience})
	if err := c.Refresh(ctx); err != nil {
		return nil, runError("", "the scan was interrupted: %w", err)
	}
	v, err := c.View(ctx)
	if err != nil {
		return nil, err
	}
	x := &examined{env: *env, view: v, fits: tool.Fits(v), skills: map[*catalog.Entry]inside{}, watch: watchAll(ctx, sources), project: env.Dir}
	if from.project != "" {
		x.project = absolute(*env, from.project)
	}
	for _, s := range sources {
		if f, ok := s.(folders); ok {
			x.folders = append(x.folders, f)
		}
	}
	for _, e := range v.Entries {
		if x.skills[e], err = lookInside(ctx, e); err != nil {
			return nil, runError("", "the scan was interrupted: %w", err)
		}
	}
	return x, nil
}

func lookInside(ctx context.Context, e *catalog.Entry) (inside, error) {
	var in inside
	files, more, err := e.List(ctx, skill.MaxFiles)
	if ctx.Err() != nil {
		return in, ctx.Err()
	}
	if lacks := (*fs.PathError)(nil); errors.Is(err, skill.ErrIncomplete) && errors.As(err, &lacks) {
		in.Lacks, err = lacks.Path, nil
	}
	if err == nil {
		in.Files, in.More = len(files), more
		for _, f := range files {
			in.Bytes += f.Size
		}
	}
	if h, ok := e.FS.(hider); ok {
		in.Hidden, in.NHidden, _ = h.Hidden(ctx, hiddenSeen)
		for _, p := range in.Hidden {
			if edit.IsTemporary(path.Base(p)) {
				in.Left = append(in.Left, p)
			}
		}
		in.Hidden = in.Hidden[:min(len(in.Hidden), hiddenShown)]
	}
	return in, ctx.Err()
}

// leftOver says what files are that an interrupted knack left behind.
func leftOver(names []string) string {
	return some(names) + ": knack was interrupted while it wrote here (delete what it left)"
}

// watchAll asks each root whether the system tells of changes below it, by
// beginning to watch them all at once, as a server would.
func watchAll(ctx context.Context, sources []catalog.Source) map[string]watched {
	ctx, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	out := map[string]watched{}
	var waiting []*dir.Source
	for _, s := range sources {
		if d, ok := s.(*dir.Source); ok {
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

// unpublished lists why an available skill is not in the Skills extension's
// lists; nothing where it is.
func (x *examined) unpublished(e *catalog.Entry) []finding { return unpublished(e, x.skills[e]) }

func unpublished(e *catalog.Entry, in inside) []finding {
	if !e.Available {
		return nil
	}
	var out []finding
	for _, p := range e.Problems {
		if skill.RuleOf(p.Rule).Unpublishes {
			out = append(out, findingOf(p))
		}
	}
	if len(out) == 0 && skill.Base(e.Base()) != e.Name {
		out = append(out, finding{Rule: "uri-name", Severity: skill.SeverityWarning,
			Message: "its URI " + e.URI().String() + " does not end with its name: another skill, folder or file has that place",
			Mend:    "give it a name of its own, or rename what has its place"})
	}
	if in.Lacks != "" {
		message, mend := check.Unlisted(in.Lacks)
		out = append(out, finding{Rule: check.RuleFilesIncomplete, Severity: skill.SeverityWarning, Message: message, Mend: mend})
	}
	if in.More {
		out = append(out, finding{Rule: "too-many-files", Severity: skill.SeverityWarning,
			Message: "it has more than 512 files, the limit of the Skills extension", Mend: "move what no agent reads out of the skill's folder"})
	}
	if in.Bytes > skill.MaxSkillSize {
		out = append(out, finding{Rule: "too-many-bytes", Severity: skill.SeverityWarning,
			Message: "its files are larger than 16 MiB together, the limit of the Skills extension", Mend: "move large files out of the skill's folder"})
	}
	return out
}

// finding is a problem as doctor shows it.
type finding struct {
	Rule     skill.RuleID   `json:"rule"`
	Severity skill.Severity `json:"severity"`
	Line     int            `json:"line,omitempty"`
	Column   int            `json:"column,omitempty"`
	Message  string         `json:"message"`
	Mend     string         `json:"mend,omitempty"`
}

func findingOf(p skill.Problem) finding {
	return finding{p.Rule, skill.RuleOf(p.Rule).Severity, p.Position.Line, p.Position.Column, p.Message, p.Mend}
}

// notFor000 says where contract 000, which wants SKILL.MD or else SKILL.md, reads
// another file than everything else, or none; "" where it reads the same.
func notFor000(e *catalog.Entry) string {
	all := append([]string{e.Entry}, e.Others()...)
	for _, want := range []string{"SKILL.MD", "SKILL.md"} {
		for _, have := range all {
			switch {
			case have != want:
			case have == e.Entry:
				return ""
			case e.Entry == "":
				return "the tool set runner reads " + want + "; nothing else does"
			default:
				return "the tool set runner reads " + want + ", everything else " + e.Entry
			}
		}
	}
	if e.Entry == "" {
		return ""
	}
	return "the tool set runner reads SKILL.MD or SKILL.md only, so it finds nothing here; everything else reads " + e.Entry
}

// place is the path of a file or folder below a root, as people write it.
func shownBelow(r skill.Root, path string) string {
	at := r.Shown
	if at == "" {
		at = r.Label
	}
	if path == "." {
		return at
	}
	return strings.TrimSuffix(at, "/") + "/" + path
}

// isPath reports whether what a person typed is the skill's folder or its file.
func (x *examined) isPath(e *catalog.Entry, name string) bool {
	if e.Dir() == "" || !strings.ContainsAny(name, `/\`) && name != "." {
		return false
	}
	at := absolute(x.env, name)
	return at == e.Dir() || filepath.Dir(at) == e.Dir() && strings.EqualFold(filepath.Base(at), skill.MainFile)
}
