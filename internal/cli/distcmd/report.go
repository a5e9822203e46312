package distcmd

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// report prints the results of a command, and the plan that it carried out.
type report struct {
	env     *console.Env
	in      *install.Installer
	plan    *install.Plan
	project string // the root of the project
	command string
	pins    bool   // the command has the flag --pin
	again   string // the same command without --check
	dry     bool
	other   string // the knack verify command for the lock of another project, or ""
	sees    *sight // which clients see the skills that add installed, or nil
}

// replaced holds the verbs for a skill that replaces other files: for a completed run, and for a
// dry run.
var replaced = [2]string{"replaced", "would replace"}

// verbs has the verbs for each action: in the past tense, and for a dry run.
var verbs = map[install.Action][2]string{
	install.Write: {"added", "would add"}, install.Replace: replaced, install.Record: {"locked", "would lock"},
	install.Delete: {"removed", "would remove"}, install.Drop: {"removed from the lock", "would remove from the lock"},
	install.Newer: {"update for", "update for"}, install.Pinned: {"pinned", "pinned"}, install.Gone: {"gone", "gone"},
}

func (r *report) verb(s *install.Step) string {
	v := verbs[s.Do]
	switch {
	case r.command == "sync" && s.Do == install.Write, r.command == "update" && s.Was != nil && s.Was.Digest == s.Entry.Digest && (s.Do == install.Replace || s.Do == install.Write):
		v = [2]string{"restored", "would restore"}
	case r.command == "update" && (s.Do == install.Replace || s.Do == install.Write):
		v = [2]string{"updated", "would update"}
	}
	if r.dry {
		return v[1]
	}
	return v[0]
}

func (r *report) print() {
	out, err := r.env.Out(), r.env.Err()
	if p := r.plan; p.Choices != nil {
		has := map[string]int{}
		for _, c := range p.Choices {
			has[c.Source]++
		}
		for i, c := range p.Choices {
			if i == 0 || p.Choices[i-1].Source != c.Source {
				out.Line("%s has %s:", c.Source, display.Count(has[c.Source], "skill"))
			}
			name := c.Name
			if slices.ContainsFunc(p.Choices, func(o install.Choice) bool { return o.Name == c.Name && o.Path != c.Path }) {
				name += " (" + c.Path + ")"
			}
			printChoice(out, name, c)
		}
		err.Text(console.Hint, "choose with --skill NAME, or take them with --all")
	}
	r.findings()
	counts, warned := map[install.Action]int{}, 0
	seen := map[string]bool{}
	hint := func(fix string) {
		if fix != "" && !seen[fix] {
			seen[fix] = true
			err.Text(console.Hint, fix)
		}
	}
	for _, s := range r.plan.Steps {
		if s.Interrupted() {
			continue
		}
		if s.Do == install.Matches && slices.ContainsFunc(s.Spots, func(spot *install.Spot) bool { return spot.Problem != nil }) {
			counts[install.Differs]++
		} else {
			counts[s.Do]++
		}
		switch s.Do {
		case install.Fail:
			err.Text(console.Error, r.named(s, s.Problem.Error()))
			hint(s.Problem.Fix)
		case install.Leave, install.Differs:
			word := "left"
			if s.Do == install.Differs {
				word = "differs:"
			}
			out.Line("%s %s (%s): %s", word, console.Bold.Of(s.Name), r.folder(s), s.Problem.Error())
			r.changes(s.Drift, "")
			hint(s.Problem.Fix)
		case install.Nothing, install.Matches:
		default:
			r.step(s)
			r.byHand(s)
		}
		for _, w := range s.Warned(true) {
			if warned++; warned <= r.maxLines() {
				err.Text(console.Warning, r.named(s, w))
			}
		}
		if s.Kept != "" {
			out.Line("  the previous files are in %s", r.env.Shown(s.Kept))
		}
	}
	r.spots()
	for _, note := range r.plan.Notes {
		err.Text(console.Warning, note)
	}
	if n := warned - r.maxLines(); n > 0 {
		err.Text(console.Warning, "and "+display.Count(n, "further warning")+": --json has all of them")
	}
	r.summary(counts)
}

// printChoice prints a skill that could be installed, with its description in one line.
func printChoice(out *console.Printer, name string, c install.Choice) {
	about, whole := display.OneLine(c.Description), false
	switch {
	case c.Fault != nil:
		about, whole = "cannot be installed: "+c.Fault.Error(), true
	case c.Unserved != "":
		about, whole = "would not be offered: "+c.Unserved, true
	}
	if room := out.Room(display.Columns(display.OneLine(name)) + 4); room > 0 && !whole {
		about = display.CutColumns(about, room)
	}
	out.Item(4, "  %s  %s", console.Bold.Of(name), about)
}

// named prefixes a text with the step's skill or source, unless the text has it already. If two
// skills have the same name, it adds the folder.
func (r *report) named(s *install.Step, text string) string {
	if strings.HasPrefix(text, s.Name+": ") || s.Key == "" && (strings.HasPrefix(text, s.Name+" ") || strings.Contains(text, "'"+s.Name+"'")) {
		return text
	}
	for _, other := range r.plan.Steps {
		if other != s && other.Name == s.Name && other.Key != s.Key && s.Key != "" {
			return s.Name + " (" + r.folder(s) + "): " + text
		}
	}
	return s.Name + ": " + text
}

// folder returns the folder of a step's skill. In the project this is the key in the lock,
// elsewhere a path.
func (r *report) folder(s *install.Step) string {
	if filepath.Dir(r.in.LockFile()) == r.project {
		return s.Key
	}
	return r.env.Shown(r.in.Folder(s.Key))
}

// step prints the result of a step.
func (r *report) step(s *install.Step) {
	out := r.env.Out()
	switch s.Do {
	case install.Drop:
		verb, rest, _ := strings.Cut(r.verb(s), " from")
		out.Line("%s %s from%s (%s)", verb, console.Bold.Of(s.Name), rest, r.folder(s))
		return
	case install.Delete, install.Pinned, install.Gone:
		out.Line("%s %s (%s)", r.verb(s), console.Bold.Of(s.Name), r.folder(s))
		return
	}
	version := s.Entry.Version
	if s.Was != nil && s.Was.Version != version && s.Was.Version != "" && version != "" {
		to := " to "
		if verb := r.verb(s); slices.Contains(replaced[:], verb) {
			to = " with "
		}
		version = s.Was.Version + to + version
	}
	name := s.Name
	if version != "" {
		name += " " + version
	}
	from := s.Entry.Source
	if at := shortRevision(s.Entry); at != "" {
		from += " (" + at + ")"
	}
	line := fmt.Sprintf("%s from %s, %s", name, from, display.Count(len(s.Entry.Files), "file"))
	if s.Signature.State != "" {
		line += ", " + s.Signature.Short()
	}
	if s.Was != nil && s.Was.Signer != "" && s.Was.Signer != s.Entry.Signer {
		line += ", before by " + trust.ShortID(s.Was.Signer)
	}
	if s.Was != nil && s.Was.Source != s.Entry.Source {
		line += ", before from " + s.Was.Source
	}
	if s.Was != nil && s.Was.Pinned && !s.Entry.Pinned {
		line += ", no longer pinned"
	}
	if n := len(s.With); n > 0 {
		line += ", with " + display.Count(n, "skill") + " within it: " + strings.Join(s.With[:min(n, maxPaths)], ", ")
	}
	if len(s.Same) > 0 {
		line += ", the same as in " + display.First(s.Same, maxSame)
	}
	out.Line("%s %s", r.verb(s), line)
	if s.Was != nil {
		r.changes(s.Changes, "")
	}
}

// byHand prints how a skill was changed by hand, if it is replaced or removed or has an update.
func (r *report) byHand(s *install.Step) {
	if !s.Drift.Any() {
		return
	}
	by := ""
	if s.Was != nil {
		by = " by hand"
	}
	r.changes(s.Drift, by)
	if (r.dry || s.Do == install.Newer) && s.Problem == nil {
		r.env.Out().Line("  the present files would be kept in another folder")
	}
}

// maxPaths bounds the paths in a list, and maxSame the folders with equal copies.
const (
	maxPaths = 20
	maxSame  = 5
)

// changes prints the changed, added and removed paths. by is added to each verb, and may be "".
func (r *report) changes(c install.Changes, by string) {
	for _, l := range []struct {
		word  string
		paths []string
	}{{"changed", c.Changed}, {"added", c.Added}, {"removed", c.Removed}} {
		if len(l.paths) > 0 {
			r.env.Out().Line("  %s%s: %s", l.word, by, display.First(l.paths, maxPaths))
		}
	}
}

func shortRevision(e lockfile.Skill) string {
	kind, id, _ := strings.Cut(e.Revision, ":")
	id = strings.TrimPrefix(id, "sha256:")
	if kind == "" || id == "" {
		return ""
	}
	return id[:min(len(id), 7)]
}

// summary prints the number of skills without a line of their own, and hints about the next step.
func (r *report) summary(counts map[install.Action]int) {
	out, err := r.env.Out(), r.env.Err()
	same := counts[install.Nothing]
	switch {
	case len(r.plan.Steps) == 0 && r.plan.Choices == nil:
		out.Line("%s names no skills", r.env.Shown(r.in.LockFile()))
	case r.command == "verify":
		out.Line("%s as locked", display.Count(counts[install.Matches], "skill"))
	case same > 0 && r.command == "update":
		out.Line("%s up to date", display.Count(same, "skill"))
	case same > 0:
		out.Line("%s unchanged", display.Count(same, "skill"))
	}
	if r.command == "add" && !r.dry && counts[install.Write]+counts[install.Replace] > 0 {
		if text := r.readers(); text != "" {
			err.Text(console.Hint, text)
		}
	}
	if r.pins && !r.dry {
		for _, text := range r.followed() {
			err.Text(console.Hint, text)
		}
	}
	for _, text := range r.in.Later(r.plan) {
		err.Text(console.Hint, text)
	}
	if r.other != "" && counts[install.Write]+counts[install.Replace]+counts[install.Record] > 0 {
		err.Text(console.Hint, "the folder is not in this project, so "+r.env.Shown(r.in.LockFile())+" records it: "+r.other+", and update, sync and remove with the same flag, read that lock")
	}
	installs, leaves := 0, 0
	for _, s := range r.plan.Steps {
		switch {
		case s.Do == install.Newer && s.Problem != nil:
			leaves++
		case s.Do == install.Newer:
			installs++
		}
	}
	them := func(n int) string { return map[bool]string{true: "it", false: "them"}[n == 1] }
	if installs > 0 {
		err.Text(console.Hint, r.again+" installs "+them(installs))
	}
	if leaves > 0 {
		err.Text(console.Hint, r.again+" --overwrite replaces files that were changed by hand, and moves the present ones aside")
	}
}

// followed returns hints about the range of versions within which update moves the added skills.
func (r *report) followed() (out []string) {
	names := map[string][]string{}
	for _, s := range r.plan.Steps {
		if within := install.FollowedRange(s.Entry); within != "" && s.Problem == nil && (s.New() || s.Do == install.Record) {
			names[within] = append(names[within], s.Name)
		}
	}
	for _, within := range slices.Sorted(maps.Keys(names)) {
		them := map[bool]string{true: "it", false: "them"}[len(names[within]) == 1]
		what := them
		if len(names) > 1 {
			what = display.First(names[within], maxSame)
		}
		out = append(out, fmt.Sprintf("%s moves %s within %s; --pin keeps %s", r.env.Command("update"), what, within, them))
	}
	return out
}

// wellKnown lists the well-known roots for the folder of the lock and for the working directory.
func wellKnown(env *console.Env, in *install.Installer) []skill.Root {
	return dir.WellKnown([]string{env.Dir, filepath.Dir(in.LockFile())}, env.Home, env.Getenv)
}

// readers returns a hint about the clients that see the new skills. It returns "" if no new skill
// is offered to models; warnings then explain why.
func (r *report) readers() string {
	offered, withheld := 0, 0
	var folder string
	for _, s := range r.plan.Steps {
		switch {
		case !s.New():
		case s.Withheld:
			withheld++
		default:
			offered++
			folder = filepath.Dir(r.in.Folder(s.Key))
		}
	}
	if offered == 0 {
		return ""
	}
	it, see := "it", "it"
	switch {
	case withheld > 0 && offered == 1:
		it, see = "the other one", "it"
	case withheld > 0:
		it, see = "the others", "them"
	case offered > 1:
		it, see = "them", "them"
	}
	if offeredAt(r.env, r.in, folder) {
		if r.sees != nil && len(r.sees.read)+len(r.sees.placed)+len(r.sees.knack)+len(r.sees.not) > 0 {
			return r.sees.text(r.env, it)
		}
		return "clients that read " + r.env.Shown(folder) + " see " + it + "; knack connect CLIENT --write brings " + see + " to another"
	}
	return r.env.Command("serve", "--dir", r.env.Shown(folder)) + " offers " + it + "; without --dir, knack serve does not read that folder"
}
