package doctor

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// Explanation describes all skills, folders and files that have one name. Its JSON form consists of
// its exported fields.
type Explanation struct {
	Name      string `json:"name"`
	Available bool   `json:"available"` // an agent that uses the name gets a skill
	// Skills are the skills that have the name or whose folder has it. Near are skills with a
	// similar name.
	Skills []Skill `json:"skills"`
	Near   []Skill `json:"near"`
	// Folders are the folders that have the name but no SKILL.md. Strays are files and folders with
	// the name in places from which no skill is served. Notices are the notices of the scan about
	// the name.
	Folders    []BareFolder `json:"foldersWithoutSkill"`
	Strays     []Stray      `json:"elsewhere"`
	Notices    []Notice     `json:"passedOver"`
	Unsearched []string     `json:"notLookedAt"`       // places where knack could not look
	Missing    []Missing    `json:"missing,omitempty"` // skills with this name that a lock contains but no root has

	Report  *Report          `json:"-"` // the verdicts on Entries
	Answer  Answer           `json:"-"`
	Other   *catalog.Entry   `json:"-"` // see [LoadsOtherwise]
	Entries []*catalog.Entry `json:"-"` // the entries of Skills
	Similar []*catalog.Entry `json:"-"` // the entries of Near
	Passed  []RootNotice     `json:"-"` // Notices without those about Folders

	isPath  bool           // the name is the path of a skill
	loads   *catalog.Entry // the skill that an agent gets for the name, or nil
	notices []RootNotice   // Notices with their roots
}

// Answer tells whether an agent can load a skill by a name.
type Answer int

// The answers.
const (
	Loads          Answer = iota
	LoadsOtherwise        // the name is the folder's, and the skill there loads by another name
	OnlyForPeople         // only as a prompt
	OnlyForRunner         // only with the tool set runner
	OnlyHeld              // no: the operator's policy holds back every skill with the name
	NotLoadable           // no
	NotFound              // no skill has the name
)

func (s *Explanation) answer() Answer {
	any := func(match func(*catalog.Entry) bool) bool { return slices.ContainsFunc(s.Entries, match) }
	switch s.Other = s.byFolder(); {
	case s.Available:
		return Loads
	case s.Other != nil:
		return LoadsOtherwise
	case any(func(e *catalog.Entry) bool { return e.Status == catalog.Available && e.UserInvocable }):
		return OnlyForPeople
	case any(s.Report.runnerLoads):
		return OnlyForRunner
	case len(s.Entries) == 0:
		return NotFound
	case !any(func(e *catalog.Entry) bool { return !e.HeldBack() }):
		return OnlyHeld
	}
	return NotLoadable
}

// bareFiles limits the listed files of a folder without a skill.
const bareFiles = 20

// BareFolder is a folder without a skill.
type BareFolder struct {
	At    string   `json:"folder"`
	Files []string `json:"files"`
	Link  string   `json:"link,omitempty"` // the target of the folder, if it is a link
	Why   string   `json:"-"`
	Fix   string   `json:"-"`
	Left  []string `json:"-"` // files that an interrupted knack left behind
	dir   string   // absolute path of the folder
}

// explain sets the fields that are not part of the JSON form.
func (b *BareFolder) explain(r *Report) {
	entries, _ := os.ReadDir(b.dir) // nil if the folder cannot be read
	misspelt := slices.IndexFunc(b.Files, typo.IsMainFile)
	switch {
	case b.Link != "" && holdsMain(b.dir):
		b.Why, b.Fix = "is a link to "+display.Echo(b.Link)+", and is not followed: it leads back, or is in a skill", "ask for the skill that it leads to, or put a copy of it into a folder of skills"
		return
	case b.Link != "":
		b.Why, b.Fix = "is a link to "+display.Echo(b.Link)+", which has no SKILL.md", "let the link lead to the folder of a skill, or remove it"
		return
	case misspelt >= 0:
		f := display.Spelt(b.Files[misspelt])
		b.Why, b.Fix = "has no SKILL.md, but "+f, "rename "+f+" to SKILL.md"
		return
	case len(b.Files) > 0:
		b.Why = "has no SKILL.md, only " + FirstOf(b.Files)
	case len(entries) > 0:
		b.Why = "has no SKILL.md, only hidden files, for example " + display.Spelt(entries[0].Name())
	default:
		b.Why = "is empty"
	}
	b.Fix = "put a SKILL.md there"
	if name := filepath.Base(b.dir); skill.ValidName(name) && skill.WindowsFault(name) == "" {
		command := r.Command("new", "--dir", r.Options.Shown(filepath.Dir(b.dir)), name)
		b.Fix += "; " + console.Quoted(command) + " writes one to start from"
	}
	for _, e := range entries {
		if edit.IsTemporary(e.Name()) {
			b.Left = append(b.Left, e.Name())
		}
	}
}

// RootNotice is a notice with its root.
type RootNotice struct {
	Root skill.Root
	skill.Notice
}

// At returns the displayed path of the notice.
func (n RootNotice) At() string { return Below(n.Root, n.Path) }

// Explain explains one name: the name of a skill or a folder, LABEL:NAME, a skill:// URI or a path.
// It judges the skills that have the name. The only error is the context's.
func Explain(ctx context.Context, v catalog.View, o Options, name string) (*Explanation, error) {
	r := blank(v, o)
	s := &Explanation{Name: name, Report: r, loads: tool.Loads(v, name), Skills: []Skill{}, Near: []Skill{}, Folders: []BareFolder{}, Strays: []Stray{}, Notices: []Notice{}, Unsearched: []string{}}
	key := skill.KeyOf(name)
	s.collect(key)
	s.findFolders(ctx)
	s.collectNotices(key)
	s.Folders = slices.DeleteFunc(s.Folders, s.isExplained)
	for _, e := range s.Entries {
		r.Verdicts[e] = o.Judge.Of(ctx, e)
		r.Verdicts[e].Locked = v.Locked(ctx, e)
		s.Skills = append(s.Skills, SkillOf(r.Verdicts[e]))
	}
	for _, e := range s.Similar {
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
		s.Notices = append(s.Notices, Notice{n.At(), n.Rule, n.Message, n.Fix})
	}
	s.Available = s.loads != nil && loadable(s.loads)
	if s.isPath { // agents do not know the path, but they know the skill there
		s.Available = slices.ContainsFunc(s.Entries, loadable)
	}
	for i := range s.Folders {
		s.Folders[i].explain(s.Report)
	}
	s.Answer = s.answer()
	s.Passed = slices.DeleteFunc(slices.Clone(s.notices), func(n RootNotice) bool {
		return n.File != "" && slices.ContainsFunc(s.Folders, func(b BareFolder) bool { return b.At == n.At() })
	})
	return s, ctx.Err()
}

// collect finds the skills with the name, and the skills with a similar name.
func (s *Explanation) collect(key skill.Key) {
	v := s.Report.View
	label, rest, labelled := strings.Cut(strings.TrimSpace(s.Name), ":")
	var owner *catalog.Entry
	if uri, err := skill.ParseURI(s.Name); err == nil {
		if owner, _ = v.At(uri); owner == nil {
			owner = v.SkippedAt(uri)
		}
	}
	has := func(e *catalog.Entry, key skill.Key) bool {
		return e.Name != "" && e.Key == key || skill.KeyOf(e.Folder()) == key
	}
	for _, e := range v.Entries {
		isPath := s.Report.isPath(e, s.Name)
		s.isPath = s.isPath || isPath
		if e == owner || e == s.loads || isPath || has(e, key) || labelled && strings.EqualFold(e.Root.Label, label) && has(e, skill.KeyOf(rest)) {
			s.Entries = append(s.Entries, e)
		}
	}
	for _, e := range slices.Concat(v.Near(s.Name, 3), v.SkippedNear(s.Name, 3)) {
		if !slices.Contains(s.Entries, e) && !slices.Contains(s.Similar, e) {
			s.Similar = append(s.Similar, e)
		}
	}
}

// findFolders finds folders and files with the name in the roots. If no skill has the name, it also
// searches all other places.
func (s *Explanation) findFolders(ctx context.Context) {
	for _, source := range s.Report.Options.Sources {
		f, ok := source.(folders)
		if !ok {
			continue
		}
		names, ok := f.Names(s.Name, bareFiles)
		known := slices.ContainsFunc(s.Entries, func(e *catalog.Entry) bool { return e.Root.Label == f.Root().Label && e.Path == s.Name })
		if ok && !known {
			at := filepath.Join(f.Root().Dir, s.Name)
			target, _ := os.Readlink(at) // fails if it is not a link
			s.Folders = append(s.Folders, BareFolder{At: Below(f.Root(), s.Name), Files: append([]string{}, names...), Link: target, dir: at})
		}
	}
	if len(s.Entries) == 0 {
		last := filepath.Base(strings.TrimSuffix(filepath.ToSlash(s.Name), "/"+skill.MainFile)) // the last element of a path
		s.searchElsewhere(ctx, skill.KeyOf(last))
	}
}

// collectNotices collects the notices of the scan about the name, and the places that the scan
// could not read.
func (s *Explanation) collectNotices(key skill.Key) {
	for _, r := range s.Report.View.Roots {
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
				s.notices = append(s.notices, RootNotice{r.Root, n})
			case dir.Unsearched(n.Rule):
				s.Unsearched = append(s.Unsearched, NoticeLine(Below(r.Root, n.Path), n))
			}
		}
	}
}

// isExplained reports whether a notice already explains a folder without a skill.
func (s *Explanation) isExplained(b BareFolder) bool {
	return slices.ContainsFunc(s.notices, func(n RootNotice) bool {
		switch {
		case n.At() != b.At:
			return false
		case n.File != "":
			return !slices.ContainsFunc(b.Files, typo.IsMainFile)
		}
		return b.Link != "" || n.Err != nil && len(b.Files) == 0
	})
}

// loadable reports whether an agent can load the skill by any name.
func loadable(e *catalog.Entry) bool { return e.Status != catalog.Skipped && e.ModelInvocable }

// byFolder returns the skill in a folder with the requested name if the skill loads only by another
// name, or nil.
func (s *Explanation) byFolder() *catalog.Entry {
	if i := slices.IndexFunc(s.Entries, loadable); i >= 0 && s.loads == nil {
		return s.Entries[i]
	}
	return nil
}

// isPath reports whether a name is the path of the skill's folder or main file.
func (r *Report) isPath(e *catalog.Entry, name string) bool {
	if e.Dir() == "" || !strings.ContainsAny(name, `/\`) && name != "." {
		return false
	}
	at := name
	if !filepath.IsAbs(at) {
		at = filepath.Join(r.Options.Dir, at)
	}
	at = filepath.Clean(at)
	return at == e.Dir() || filepath.Dir(at) == e.Dir() && skill.IsEntryNameInAnyCase(filepath.Base(at))
}

// folders is a source that can list the files of a folder without a skill.
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
