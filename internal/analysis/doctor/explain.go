package doctor

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// Explanation collects everything about one name. Its exported fields are its JSON form.
type Explanation struct {
	Name      string `json:"name"`
	Available bool   `json:"available"` // an agent that gives the name gets a skill
	// Skills have the name, or are in a folder of it; Near have nearly the name.
	Skills []Skill `json:"skills"`
	Near   []Skill `json:"near"`
	// Folders have the name but no SKILL.md, and Strays are in places from which no skill is
	// served. Notices are the scan's notices about the name.
	Folders    []BareFolder `json:"foldersWithoutSkill"`
	Strays     []Stray      `json:"elsewhere"`
	Notices    []Notice     `json:"passedOver"`
	Unsearched []string     `json:"notLookedAt"`       // places where knack could not look
	Missing    []Missing    `json:"missing,omitempty"` // that a lock has by this name, and no root

	report  *Report
	isPath  bool             // the name is the path of a skill
	loads   *catalog.Entry   // the skill that an agent gets for the name, or nil
	entries []*catalog.Entry // Skills
	near    []*catalog.Entry // Near
	notices []rootNotice     // Notices
}

// bareFiles bounds the listed files of a folder without a skill.
const bareFiles = 20

// BareFolder is a folder without a skill.
type BareFolder struct {
	At    string   `json:"folder"`
	Files []string `json:"files"`
	Link  string   `json:"link,omitempty"` // its target, if it is a link
	dir   string   // its absolute path
}

// rootNotice is a notice with its root.
type rootNotice struct {
	root skill.Root
	skill.Notice
}

// Explain explains one name: a skill's, a folder's, LABEL:NAME, a skill:// URI or
// a path. It judges the skills of the explanation. The only error is the context's.
func Explain(ctx context.Context, v catalog.View, o Options, name string) (*Explanation, error) {
	r := blank(v, o)
	s := &Explanation{Name: name, report: r, loads: tool.Loads(v, name), Skills: []Skill{}, Near: []Skill{}, Folders: []BareFolder{}, Strays: []Stray{}, Notices: []Notice{}, Unsearched: []string{}}
	key := skill.KeyOf(name)
	s.collect(key)
	s.findFolders(ctx)
	s.collectNotices(key)
	s.Folders = slices.DeleteFunc(s.Folders, s.isExplained)
	for _, e := range s.entries {
		r.verdicts[e] = o.Judge.Of(ctx, e)
		r.verdicts[e].Locked = v.Locked(ctx, e)
		s.Skills = append(s.Skills, SkillOf(r.verdicts[e]))
	}
	for _, e := range s.near {
		s.Near = append(s.Near, SkillOf(o.Judge.Of(ctx, e)))
	}
	for _, l := range Locks(v) {
		for _, m := range l.Missing {
			if skill.KeyOf(m.Name) == key || skill.KeyOf(path.Base(m.Folder)) == key {
				s.Missing = append(s.Missing, m)
			}
		}
	}
	for _, n := range s.notices {
		s.Notices = append(s.Notices, Notice{shownBelow(n.root, n.Path), n.Rule, n.Message, n.Fix})
	}
	s.Available = s.loads != nil && loadable(s.loads)
	if s.isPath { // agents do not know the path, but they know the skill there
		s.Available = slices.ContainsFunc(s.entries, loadable)
	}
	return s, ctx.Err()
}

// collect finds the skills of the name, and those with a similar name.
func (s *Explanation) collect(key skill.Key) {
	v := s.report.view
	label, rest, labelled := strings.Cut(strings.TrimSpace(s.Name), ":")
	var owner *catalog.Entry
	if uri, err := skill.ParseURI(s.Name); err == nil {
		owner, _ = v.At(uri)
	}
	has := func(e *catalog.Entry, key skill.Key) bool {
		return e.Name != "" && e.Key == key || skill.KeyOf(e.Folder()) == key
	}
	for _, e := range v.Entries {
		isPath := s.report.isPath(e, s.Name)
		s.isPath = s.isPath || isPath
		if e == owner || e == s.loads || isPath || has(e, key) || labelled && strings.EqualFold(e.Root.Label, label) && has(e, skill.KeyOf(rest)) {
			s.entries = append(s.entries, e)
		}
	}
	for _, e := range slices.Concat(v.Near(s.Name, 3), v.SkippedNear(s.Name, 3)) {
		if !slices.Contains(s.entries, e) && !slices.Contains(s.near, e) {
			s.near = append(s.near, e)
		}
	}
}

// findFolders finds folders and files of the name in the roots and, if no skill has the name, in
// all other places.
func (s *Explanation) findFolders(ctx context.Context) {
	for _, source := range s.report.o.Sources {
		f, ok := source.(folders)
		if !ok {
			continue
		}
		names, ok := f.Names(s.Name, bareFiles)
		known := slices.ContainsFunc(s.entries, func(e *catalog.Entry) bool { return e.Root.Label == f.Root().Label && e.Path == s.Name })
		if ok && !known {
			at := filepath.Join(f.Root().Dir, s.Name)
			target, _ := os.Readlink(at) // fails if it is no link
			s.Folders = append(s.Folders, BareFolder{shownBelow(f.Root(), s.Name), append([]string{}, names...), target, at})
		}
	}
	if len(s.entries) == 0 {
		last := filepath.Base(strings.TrimSuffix(filepath.ToSlash(s.Name), "/"+skill.MainFile)) // of a path
		s.searchElsewhere(ctx, skill.KeyOf(last))
	}
}

// collectNotices collects the scan's notices about the name, and the places that it could not
// read.
func (s *Explanation) collectNotices(key skill.Key) {
	for _, r := range s.report.view.Roots {
		if r.Err != nil {
			s.Unsearched = append(s.Unsearched, Heading(r.Root)+": "+UnreadReason(r))
		}
		for _, n := range r.Notices {
			named := false
			for part := range strings.SplitSeq(n.Path, "/") {
				named = named || skill.KeyOf(part) == key
			}
			switch {
			case named:
				s.notices = append(s.notices, rootNotice{r.Root, n})
			case dir.Unsearched(n.Rule):
				s.Unsearched = append(s.Unsearched, noticeLine(r.Root, n))
			}
		}
	}
}

// isExplained reports whether a notice explains a folder without a skill.
func (s *Explanation) isExplained(b BareFolder) bool {
	return slices.ContainsFunc(s.notices, func(n rootNotice) bool {
		switch {
		case shownBelow(n.root, n.Path) != b.At:
			return false
		case n.File != "":
			return !slices.ContainsFunc(b.Files, typo.IsMainFile)
		}
		return b.Link != "" || n.Err != nil && len(b.Files) == 0
	})
}

// loadable reports whether an agent can load the skill by any name.
func loadable(e *catalog.Entry) bool { return e.Status != catalog.Skipped && e.ModelInvocable }

// byFolder returns the skill in a folder of the requested name, if it loads only by another name.
func (s *Explanation) byFolder() *catalog.Entry {
	if i := slices.IndexFunc(s.entries, loadable); i >= 0 && s.loads == nil {
		return s.entries[i]
	}
	return nil
}

// isPath reports whether the typed text is the skill's folder or its file.
func (r *Report) isPath(e *catalog.Entry, name string) bool {
	if e.Dir() == "" || !strings.ContainsAny(name, `/\`) && name != "." {
		return false
	}
	at := name
	if !filepath.IsAbs(at) {
		at = filepath.Join(r.o.Dir, at)
	}
	at = filepath.Clean(at)
	return at == e.Dir() || filepath.Dir(at) == e.Dir() && strings.EqualFold(filepath.Base(at), skill.MainFile)
}

// folders is a source that can list folders without a skill.
type folders interface {
	Root() skill.Root
	Names(name string, limit int) ([]string, bool)
}

// holdsMain reports whether a folder has a file that serves as SKILL.md.
func holdsMain(folder string) bool {
	return slices.ContainsFunc(skill.EntryNames[:], func(name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err == nil
	})
}

// entriesOf lists a folder. It returns nothing if the folder cannot be read.
func entriesOf(folder string) []fs.DirEntry {
	entries, _ := os.ReadDir(folder)
	return entries
}

// newCommand returns the command that writes a new skill in a folder. It returns "" if the folder
// cannot have one or a shell would misread its path.
func newCommand(folder string) string {
	name, parent := path.Base(folder), path.Dir(folder)
	if !skill.ValidName(name) || skill.WindowsFault(name) != "" || strings.ContainsAny(parent, " '\"\\$`;&|<>()*?") {
		return ""
	}
	return "knack new --dir " + parent + " " + name
}
