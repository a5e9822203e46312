package settings

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/source/dir"
)

// Roots returns the roots that the file names, in its order. The URI of a skill begins with the
// label of its root, even with a single root.
func (f *File) Roots(env *console.Env) (roots []skill.Root) {
	if f == nil {
		return nil
	}
	for _, r := range f.Config.Roots {
		at, about := r.Folder(f.Dir()), r.Publisher
		roots = append(roots, skill.Root{
			Label: r.Label.Text, Prefix: r.Label.Text, Scope: skill.ScopeProject, Dir: at,
			Shown: console.DisplayPath(at, nil, env.Home), Publisher: &about,
		})
	}
	return roots
}

// IsMissing reports whether a folder does not exist.
func IsMissing(folder string) bool { return errors.Is(dir.Check(folder), fs.ErrNotExist) }

// UnusableRoot returns the first problem with the folders of the roots on disk as an error. If partly
// is set, a missing folder is no problem.
func (f *File) UnusableRoot(partly bool) error {
	problems := f.problemsOfFolders(partly)
	if len(problems) == 0 {
		return nil
	}
	p := problems[0]
	return &Error{fmt.Errorf("%s:%s: %s", f.Shown, p.Position, p.Message), p.Fix, false}
}

// ProblemsOfRoots returns the problems with the folders of the roots on disk, in the order of the
// file.
func (f *File) ProblemsOfRoots() []skill.Problem { return f.problemsOfFolders(false) }

func (f *File) problemsOfFolders(partly bool) (problems []skill.Problem) {
	var seen []string
	for i, r := range f.Config.Roots {
		at := r.Folder(f.Dir())
		add := func(message, fix string) {
			problems = append(problems, skill.Problem{Rule: "config-value", Position: r.Dir.Position, Field: fmt.Sprintf("roots[%d].dir", i), Message: message, Fix: fix})
		}
		err := dir.Check(at)
		if partly && errors.Is(err, fs.ErrNotExist) {
			seen = append(seen, at)
			continue
		}
		if err != nil {
			words, fix := skill.FolderReason(err)
			add("the folder "+display.Echo(r.Dir.Text)+" of the root "+r.Label.Text+" cannot be served: "+words, fix)
		} else if j, how := overlaps(at, seen); j >= 0 {
			add(fmt.Sprintf("the folder %s of the root %s %s that of the root %s on line %d", display.Echo(r.Dir.Text), r.Label.Text, how, f.Config.Roots[j].Label.Text, f.Config.Roots[j].Dir.Position.Line),
				"name folders of which none contains another: a skill in two roots would have two URIs, and a rule for one of them would not hide it")
		}
		seen = append(seen, at)
	}
	return problems
}

// EmptyRoots returns a warning for each root whose folder has only hidden files.
func (f *File) EmptyRoots() (warnings []string) {
	for i, r := range f.Config.Roots {
		at := r.Folder(f.Dir())
		empty := realpath.Ask(at, false, func() bool {
			entries, err := os.ReadDir(at)
			return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.IsDir() || !strings.HasPrefix(e.Name(), ".") })
		})
		if empty {
			warnings = append(warnings, fmt.Sprintf("roots[%d].dir: the folder %s is empty", i, display.Echo(r.Dir.Text)))
		}
	}
	return warnings
}

// RealOf returns the real path of a folder, or the path itself if its disk does not answer.
func RealOf(folder string) string {
	return realpath.Ask(folder, folder, func() string { return realpath.Of(folder) })
}

// overlaps returns the index of the first of the others that equals, contains or is in the folder.
// how is the relation in words. The index is -1 if there is none.
func overlaps(folder string, others []string) (index int, how string) {
	for i, other := range others {
		in, around := realpath.Within(other, folder), realpath.Within(folder, other)
		if realpath.Answers(folder) && realpath.Answers(other) {
			in, around = realpath.Inside(other, folder), realpath.Inside(folder, other)
		}
		switch {
		case in && around:
			return i, "is"
		case in:
			return i, "is inside"
		case around:
			return i, "contains"
		}
	}
	return -1, ""
}

// ownLabel matches the labels that knack gives roots by number.
var ownLabel = lazyregexp.New(`^(dir|env|project)-[0-9]+$`)

// isOwn reports whether a label is reserved: one of knack's own roots has it, or the URI of a
// built-in skill begins with it.
func isOwn(label string) bool {
	return label == builtin.Label || ownLabel().MatchString(label) || slices.Contains(agents.Labels(), agents.WithoutNumber(label)) || slices.Contains(builtinNames(), label)
}

// builtinNames lists the first parts of the URIs of the built-in skills, which have no label.
func builtinNames() (names []string) {
	scan, err := builtin.New().Scan(context.Background())
	if err != nil {
		return nil
	}
	for _, b := range scan.Bundles {
		names = append(names, b.Path)
	}
	return names
}

// problemsOfRoots returns the problems of roots that their table cannot detect: reserved labels,
// and rules that match no root.
func problemsOfRoots(c config.Config) (problems []skill.Problem) {
	if len(c.Roots)+len(c.Sources) == 0 {
		return nil
	}
	refuseOwn := func(label config.Word, field, fix string) {
		if isOwn(label.Text) {
			problems = append(problems, skill.Problem{Rule: "config-value", Position: label.Position, Field: field, Message: label.Text + " is one of knack's own labels", Fix: fix})
		}
	}
	for i, s := range c.Sources {
		refuseOwn(s.Name, fmt.Sprintf("sources[%d].name", i), "give the source another name, for example that of its publisher")
	}
	for i, r := range c.Roots {
		refuseOwn(r.Label, fmt.Sprintf("roots[%d].label", i), "give the root another label, for example that of its publisher")
	}
	if c.Access.Policy == nil {
		return problems
	}
	for _, a := range c.Access.Policy.Astray(append(LabelsOf(c), builtinNames()...)) {
		if !a.Denies && a.Label != "" {
			continue // this rule only shows nothing; see [File.UnknownLabels]
		}
		message, fix := astrayWords(a, LabelsOf(c))
		problems = append(problems, skill.Problem{Rule: "config-value", Position: c.Access.Positions[a.Pattern.String()], Field: "access.rules", Message: message, Fix: fix})
	}
	return problems
}

// UnknownLabels returns a warning for each rule that shows nothing, since no root has its
// label.
func (f *File) UnknownLabels() (warnings []string) {
	c := f.Config
	if len(c.Roots)+len(c.Sources) == 0 || c.Access.Policy == nil {
		return nil
	}
	for _, a := range c.Access.Policy.Astray(append(LabelsOf(c), builtinNames()...)) {
		if a.Denies || a.Label == "" {
			continue // problemsOfRoots reports it
		}
		message, fix := astrayWords(a, LabelsOf(c))
		warnings = append(warnings, "line "+fmt.Sprint(c.Access.Positions[a.Pattern.String()].Line)+": "+message+": "+fix)
	}
	return warnings
}

// astrayWords returns the message and the fix for a pattern that fits no root.
func astrayWords(a access.Astray, labels []string) (message, fix string) {
	if a.Label == "" {
		return "the pattern " + a.Pattern.String() + " has a * in its first part, which is the label of a root", "begin it with a label (" + strings.Join(labels, ", ") + "), or with ** for every root"
	}
	effect := "allows"
	if a.Denies {
		effect = "denies"
	}
	fix = "begin it with the label of a root: " + strings.Join(labels, ", ")
	if near := typo.Nearest(a.Label, labels); near != "" {
		fix = "did you mean " + near + "?"
	}
	return "no root has the label " + display.Echo(a.Label) + ", so the pattern " + a.Pattern.String() + " " + effect + " nothing", fix
}

// LabelsOf returns the labels of the roots and sources that a file names, in their order.
func LabelsOf(c config.Config) (labels []string) {
	for _, r := range c.Roots {
		labels = append(labels, r.Label.Text)
	}
	for _, s := range c.Sources {
		labels = append(labels, s.Name.Text)
	}
	return labels
}

// Moves returns an error if a running server must not apply a new version of a file. The server
// continues to serve the roots of served, or other roots if served is nil or names no roots.
// sameRules reports whether both have the same access rules.
func Moves(served, now *File, sameRules bool) error {
	const hint = "; restart the server to take over both"
	before, next := rootsOf(served), rootsOf(now)
	if len(before) == 0 && len(next) > 0 && !sameRules {
		return errors.New("the access rules have changed, and roots were added, which the server does not serve yet" + hint)
	}
	var moved []string
	for _, r := range before {
		if slices.ContainsFunc(next, func(n labelledFolder) bool { return n.label == r.label && n.isAt(r) }) {
			continue
		}
		moved = append(moved, r.label)
		for _, n := range next {
			if n.isAt(r) {
				moved = append(moved, n.label)
			}
		}
	}
	if len(moved) == 0 {
		return nil
	}
	if now != nil {
		for _, pattern := range now.Config.Access.Patterns() {
			if i := slices.IndexFunc(moved, pattern.IsAbout); i >= 0 {
				return fmt.Errorf("%s:%s: the pattern %s is about the root %s, and the label or the folder of that root has changed"+hint, now.Shown, now.Config.Access.Positions[pattern.String()], pattern, moved[i])
			}
		}
	}
	if !sameRules {
		return errors.New("the access rules have changed, and so has the root " + moved[0] + ", which the server serves until it is restarted" + hint)
	}
	return nil
}

// labelledFolder identifies a root by its label and its folder, or a source by its reference.
type labelledFolder struct{ label, folder string }

// isAt reports whether two roots are the same folder. It reads the disk only if their paths differ.
func (p labelledFolder) isAt(o labelledFolder) bool {
	return p.folder == o.folder || realpath.Answers(p.folder) && realpath.Answers(o.folder) && realpath.Same(p.folder, o.folder)
}

func rootsOf(f *File) (all []labelledFolder) {
	if f == nil {
		return nil
	}
	for _, r := range f.Config.Roots {
		all = append(all, labelledFolder{r.Label.Text, r.Folder(f.Dir())})
	}
	for _, s := range f.Config.Sources {
		all = append(all, labelledFolder{s.Name.Text, "source " + s.From.Text})
	}
	return all
}
