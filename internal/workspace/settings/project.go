package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// Projects contains the files of the open projects. Only their section project is used.
type Projects struct {
	// Unusable lists the reasons why files are not used. Such a file only causes a warning, since
	// an agent without skills would be worse.
	Unusable []error
	// Unread warns of files that look like settings but are not read; see [Finder.Unread].
	Unread []string
	files  []*File
	tops   map[string]string // the folder that must contain each root, by label
}

// Projects reads the files of the projects that contain the folders. The home folder is not a
// project.
func (s *Finder) Projects(folders []string) Projects {
	p := Projects{tops: map[string]string{}}
	for _, folder := range folders {
		for _, text := range s.Unread(folder) {
			if !slices.Contains(p.Unread, text) {
				p.Unread = append(p.Unread, text)
			}
		}
		f, err := s.project(folder)
		if err == nil && f != nil && len(f.Problems) > 0 {
			err = errors.New(refusal(refusedFor(f, f.Problems[:1]), "nothing in the file is used"))
		}
		switch {
		case err != nil:
			p.Unusable = append(p.Unusable, err)
		case f != nil && !slices.Contains(p.files, f):
			p.files = append(p.files, f)
		}
	}
	return p
}

// Roots returns the roots that the files name and that are not in known. These roots come after the
// well-known roots, so that a clone cannot change the URI or the name of another skill.
func (p Projects) Roots(known []skill.Root) (roots []skill.Root) {
	n := 0
	for _, f := range p.files {
		top := filepath.Dir(f.Path)
		for _, d := range f.Config.Project.Dirs {
			n++
			r := skill.Root{Label: labelOf(n), Scope: skill.ScopeProject, Dir: filepath.Join(top, filepath.FromSlash(d.Text))}
			if !slices.ContainsFunc(slices.Concat(known, roots), func(k skill.Root) bool { return k.Dir == r.Dir }) {
				p.tops[r.Label] = top
				roots = append(roots, r)
			}
		}
	}
	return roots
}

// Below returns the folders with skills in the sub-packages of a folder, in the order of
// [dir.Below]. It returns none unless flag is set or the file of a project enables them. Their
// sources must stay within the folder. whole is false if the search was not completed.
func (p Projects) Below(folder string, flag bool, known []skill.Root) (roots []skill.Root, whole bool) {
	if !flag && !slices.ContainsFunc(p.files, func(f *File) bool { return f.Config.Project.Below.Text != "" }) {
		return nil, true
	}
	roots, whole = dir.Below(folder)
	roots = slices.DeleteFunc(roots, func(r skill.Root) bool {
		return slices.ContainsFunc(known, func(k skill.Root) bool { return k.Dir == r.Dir || k.Label == r.Label })
	})
	for _, r := range roots {
		p.tops[r.Label] = folder
	}
	return roots, whole
}

// Source makes the source of a root. A root from these files must stay within its project, even if
// the next pull brings a link.
func (p Projects) Source(o dir.Options) catalog.Source {
	o.Within, o.NoLinks = p.tops[o.Root.Label]
	return dir.New(o)
}

// Missing describes the folders in the files that do not exist. gone reports whether the root with
// a label is missing.
func (p Projects) Missing(gone func(label string) bool) (missing []string) {
	n := 0
	for _, f := range p.files {
		for _, d := range f.Config.Project.Dirs {
			if n++; gone(labelOf(n)) {
				missing = append(missing, fmt.Sprintf("%s:%s: there is no folder %s; make it, or remove it from project.dirs", f.Shown, d.Position, display.Echo(d.Text)))
			}
		}
	}
	return missing
}

// labelOf returns the label of the nth folder in the files, counted from 1.
func labelOf(n int) string { return fmt.Sprintf("project-%d", n) }

// ExcludedBy returns the key and the file that exclude a root from the lists, or "". It does not
// name a folder, since answers over HTTP must not.
func (p Projects) ExcludedBy(label string) string {
	for _, f := range p.files {
		if slices.ContainsFunc(f.Config.Project.Exclude, func(x config.Word) bool { return MatchesLabel([]string{x.Text}, label) }) {
			return "project.exclude in the project's " + filepath.Base(f.Path)
		}
	}
	return ""
}

// Tools returns the tool set of the first file that names one, or "".
func (p Projects) Tools() string {
	for _, f := range p.files {
		if set := f.Config.Project.Tools.Text; set != "" {
			return set
		}
	}
	return ""
}

// Lines describes the settings in the files, with their files.
func (p Projects) Lines() (lines []string) {
	add := func(f *File, key string, words ...config.Word) {
		var texts []string
		for _, w := range words {
			if w.Text != "" {
				texts = append(texts, w.Text)
			}
		}
		if len(texts) > 0 {
			lines = append(lines, fmt.Sprintf("%s:%d: project.%s: %s", f.Shown, words[0].Position.Line, key, strings.Join(texts, ", ")))
		}
	}
	for _, f := range p.files {
		add(f, "below", f.Config.Project.Below)
		add(f, "dirs", f.Config.Project.Dirs...)
		add(f, "exclude", f.Config.Project.Exclude...)
		add(f, "tools", f.Config.Project.Tools)
	}
	return lines
}

// problemsOf returns the problems of a section that its table cannot detect: unknown labels and
// unknown tool sets.
func problemsOf(p config.Project) (problems []skill.Problem) {
	known := slices.DeleteFunc(agents.Labels(), func(label string) bool { return !strings.HasSuffix(label, "-project") })
	for _, x := range p.Exclude {
		if !slices.ContainsFunc(known, func(label string) bool { return MatchesLabel([]string{label}, x.Text) }) {
			problems = append(problems, skill.Problem{Rule: "config-value", Position: x.Position, Field: "project.exclude",
				Message: "no root has the label " + x.Text, Fix: nearest(x.Text, known, "labels")})
		}
	}
	if p.Tools.Text != "" {
		if _, err := tool.ParseSets(p.Tools.Text); err != nil {
			problems = append(problems, skill.Problem{Rule: "config-value", Position: p.Tools.Position, Field: "project.tools",
				Message: err.Error(), Fix: nearest(p.Tools.Text, tool.SetNames(), "sets")})
		}
	}
	return problems
}

// nearest returns a fix that names the nearest word or, if none is near, all words.
func nearest(typed string, words []string, what string) string {
	if best := typo.Nearest(typed, words); best != "" {
		return "did you mean " + best + "?"
	}
	return "the " + what + " are: " + strings.Join(words, ", ")
}
