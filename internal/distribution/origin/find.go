package origin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// NodeType is the type of a node.
type NodeType uint8

// The types of nodes.
const (
	Regular   NodeType = iota
	Exec               // a regular file that is executable
	Link               // a symbolic link, or a hard link of an archive
	Submodule          // a folder of another repository
	Other              // a device, a pipe, or anything else that no skill has
)

// IsFile reports whether a node is a regular file, executable or not.
func (t NodeType) IsFile() bool { return t == Regular || t == Exec }

// Node is a file of a source, or anything else in it except a folder.
type Node struct {
	Path string // slash-separated, as the source spells it; it may be hostile
	Size int64  // in bytes, or -1 if it is not known
	Type NodeType
	// Target is the target of a link, relative to its folder.
	Target string
}

// Find returns the skills among the entries of a source, sorted by path. It looks into every folder
// below sub, or everywhere if sub is "", at most [skill.MaxDepth] levels down. Like a scan of
// folders, it skips .git and node_modules. Links have the same meaning as in a folder on the disk:
// see [dir.Links]. If a skill has several faults, the order of the entries decides which one is
// reported.
func Find(entries []Node, sub string) []Skill { return FindAt("", entries, sub) }

// FindAt is [Find] for a source on the disk. at is the absolute path of the source, and the target
// of a link may be an absolute path below it.
func FindAt(at string, entries []Node, sub string) []Skill {
	found := map[string]*finding{}
	for _, e := range entries {
		mainFiles(e, sub, func(folder, name string, isFile bool) {
			f := found[folder]
			if f == nil {
				folder = strings.Clone(folder)
				f = &finding{Skill: Skill{Path: folder}}
				found[folder] = f
			}
			if !slices.Contains(f.spellings, name) {
				f.spellings = append(f.spellings, strings.Clone(name))
			}
			f.folder = f.folder || !isFile
		})
	}
	if len(found) == 0 {
		return nil
	}
	for _, e := range entries {
		for path := range FoldersOf(e.Path) {
			if f := found[path]; f != nil {
				f.take(e)
			}
		}
	}
	linked := false
	for _, f := range found {
		linked = linked || f.linked
	}
	for _, e := range entries {
		if !linked {
			break
		}
		for path := range FoldersOf(e.Path) {
			if f := found[path]; f != nil && f.linked {
				f.note(e)
			}
		}
	}
	skills := make([]Skill, 0, len(found))
	for _, f := range found {
		f.choose()
		f.resolve(at)
		f.Extent = edit.Extent{Entries: f.paths.Entries() + 1, Bytes: f.size}
		skills = append(skills, f.Skill)
	}
	SortSkills(skills)
	return skills
}

// SortSkills sorts skills by path. The sort is stable.
func SortSkills(skills []Skill) {
	slices.SortStableFunc(skills, func(a, b Skill) int { return strings.Compare(a.Path, b.Path) })
}

// finding collects the entries of one skill during [Find].
type finding struct {
	Skill
	spellings []string // the spellings of its main file
	folder    bool     // one of the spellings is a folder
	files     int
	size      int64
	paths     Paths
	hidden    map[string]bool // the outermost dot-entries
	linked    bool            // it has links
	entries   []dir.Member    // all entries, if it has links
	sizes     map[string]int64
	mains     []string // main files that are regular files
}

// mainFiles calls yield for each part of an entry's path that spells SKILL.md in a searched
// folder. isFile is false if that part is a folder itself.
func mainFiles(e Node, sub string, yield func(folder, name string, isFile bool)) {
	if e.Type == Submodule {
		return
	}
	path, start := e.Path, 0
	if sub != "" && sub != "." {
		if !strings.HasPrefix(path, sub) || len(path) == len(sub) || path[len(sub)] != '/' {
			return
		}
		start = len(sub) + 1
	}
	for depth := 0; depth <= skill.MaxDepth && start < min(len(path), maxSearched); depth++ {
		end := strings.IndexByte(path[start:], '/')
		last := end < 0
		if last {
			end = len(path) - start
		}
		name := path[start : start+end]
		switch {
		case name == ".git" || name == "node_modules":
			return
		case skill.IsEntryNameInAnyCase(name):
			yield(cmp.Or(strings.TrimSuffix(path[:start], "/"), "."), name, last)
		}
		if last {
			return
		}
		start += end + 1
	}
}

// maxSearched is the maximum number of bytes of a path that are searched, since a path may be of
// any length.
const maxSearched = 16 << 10

// FoldersOf yields "." and each folder above a path.
func FoldersOf(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(".") {
			return
		}
		for i := 1; i < min(len(path), maxSearched); i++ {
			if path[i] == '/' && !yield(path[:i]) {
				return
			}
		}
	}
}

// below returns an entry's path relative to a folder that contains it.
func below(folder, path string) string {
	if folder == "." {
		return path
	}
	return path[len(folder)+1:]
}

// take counts an entry of the skill.
func (f *finding) take(e Node) {
	path := below(f.Path, e.Path)
	if at := HiddenPart(path); at != "" {
		if !f.hidden[at] {
			if f.hidden == nil {
				f.hidden = map[string]bool{}
			}
			f.hidden[at] = true
			f.Left++
		}
		return
	}
	if e.Type == Submodule {
		f.Left++
		return
	}
	switch {
	case f.Fault != nil:
	case e.Type == Link:
		f.linked = true
		f.Fault = CheckPath(path)
	case e.Type == Other:
		f.drop(path, "it is not a regular file")
	default:
		f.files++
		f.size += max(e.Size, 0)
		f.Fault = f.checkPath(path)
		if skill.IsEntryNameInAnyCase(path) {
			f.mains = append(f.mains, path)
		}
	}
}

// drop records that an entry is not installed, and why.
func (f *finding) drop(path, why string) {
	f.Dropped = append(f.Dropped, display.Quote(path)+": "+why)
}

// note records an entry of a skill that has links, for resolveLinks.
func (f *finding) note(e Node) {
	path := below(f.Path, e.Path)
	if HiddenPart(path) != "" || e.Type == Submodule || e.Type == Other {
		return
	}
	entry := dir.Member{Path: strings.Clone(path), Target: e.Target}
	if e.Type == Link {
		entry.Mode = fs.ModeSymlink
	}
	f.entries = append(f.entries, entry)
	if f.sizes == nil {
		f.sizes = map[string]int64{}
	}
	f.sizes[entry.Path] = max(e.Size, 0)
}

// resolve replaces each link to a file of the skill by a copy of that file, if the limits allow it.
// It leaves the other links out. at is the path of the source, or "".
func (f *finding) resolve(at string) {
	if f.Fault == nil && f.linked {
		f.Fault = f.resolveLinks(at)
	}
	if f.Fault == nil && !f.hasMain() {
		f.Fault = fmt.Errorf("%s is not a regular file of the skill: ask the author for the file itself", f.Main)
		if i := slices.IndexFunc(f.Dropped, func(d string) bool { return strings.HasPrefix(d, display.Quote(f.Main)+": ") }); i >= 0 {
			f.Fault = errors.New(f.Dropped[i] + "; ask the author for the file itself")
		}
	}
	f.entries = nil
}

func (f *finding) resolveLinks(at string) error {
	below := dir.SkillPath(f.Path)
	if at != "" {
		below = path.Join(filepath.ToSlash(at), f.Path)
	}
	seen := map[string]bool{} // whether the path is a link
	for _, e := range f.entries {
		link := e.Mode != 0
		if was, twice := seen[e.Path]; twice && (was || link) {
			return badName(e.Path, "is there twice, once as a link")
		}
		seen[e.Path] = link
	}
	for _, e := range f.entries {
		for up := path.Dir(e.Path); up != "."; up = path.Dir(up) {
			if seen[up] {
				return badName(up, "is both a link and a folder")
			}
		}
	}
	l, err := dir.Links(context.Background(), below, f.Main, MaxFiles, f.entries)
	if err != nil {
		return fmt.Errorf("its links cannot be judged: %w", err)
	}
	for _, n := range l.Left {
		f.drop(n.Path, n.Message)
	}
	for _, copied := range slices.Sorted(maps.Keys(l.Files)) {
		from := l.Files[copied]
		size := f.sizes[from]
		switch {
		case f.files == MaxFiles, size > MaxSize-f.size:
			f.drop(copied, "with a copy of the link's target, the skill is too large")
			continue
		}
		if err := f.paths.Add(copied); err != nil {
			f.drop(copied, strings.TrimPrefix(err.Error(), display.Quote(copied)+" "))
			continue
		}
		f.files++
		f.size += size
		if f.Copies == nil {
			f.Copies = Copies{}
		}
		f.Copies[from] = append(f.Copies[from], copied)
	}
	return nil
}

// hasMain reports whether the main file can be installed: it is a regular file, or a link that is
// copied.
func (f *finding) hasMain() bool {
	return slices.Contains(f.mains, f.Main) || f.At(f.Main) != path.Join(f.Path, f.Main)
}

func (f *finding) checkPath(path string) error {
	switch {
	case f.files > MaxFiles:
		return TooManyFiles()
	case f.size > MaxSize:
		return TooLarge()
	}
	return f.paths.Add(path)
}

// TooManyFiles returns the error about a skill of more than [MaxFiles] files.
func TooManyFiles() error {
	return Mark(ErrLimit, fmt.Errorf("the skill has more than %s files", display.Thousands(MaxFiles)))
}

// TooLarge returns the error about a skill of more than [MaxSize] bytes.
func TooLarge() error {
	return Mark(ErrLimit, fmt.Errorf("the skill has more than %d MiB", MaxSize>>20))
}

// HiddenPart returns the path up to its first dot-entry, which is not installed, or "". The names
// "." and ".." are not dot-entries: they make the path invalid.
func HiddenPart(path string) string {
	for start := 0; start < min(len(path), maxSearched); {
		end := strings.IndexByte(path[start:], '/')
		if end < 0 {
			end = len(path) - start
		}
		if name := path[start : start+end]; name != "." && name != ".." && strings.HasPrefix(name, ".") {
			return path[:start+end]
		}
		start += end + 1
	}
	return ""
}

// choose sets the main file: the first of [skill.EntryNames] that exists. It also checks the path
// of the skill's folder, since a lock records it.
func (f *finding) choose() {
	for _, name := range slices.Backward(skill.EntryNames[:]) {
		if slices.Contains(f.spellings, name) {
			f.Main = name
		}
	}
	if f.Fault == nil && f.Path != "." {
		f.Fault = CheckPath(f.Path)
	}
	switch {
	case f.Fault != nil:
	case f.folder:
		f.Fault = fmt.Errorf("%s is a folder", skill.MainFile)
	case f.Main == "":
		f.Fault = fmt.Errorf("its main file is called %s: ask the author to rename it to %s", display.Quote(f.spellings[0]), skill.MainFile)
	}
}

// Describe fills in the name and the description of a skill from the bytes of its main file, and
// the reason why it is not offered. It leaves out unreadable fields, as a catalogue does.
func Describe(s *Skill, data []byte) {
	switch {
	case len(data) > skill.MaxSkillMD:
		s.Unserved = skill.MainFile + " has more than 1 MiB"
		return
	case !utf8.Valid(data):
		s.Unserved = skill.MainFile + " is not UTF-8"
		return
	}
	read := (&skill.Skill{Bundle: &skill.Bundle{Path: s.Path, Entry: cmp.Or(s.Main, skill.MainFile)}}).Parsed(data, skill.Stamp{})
	s.Name, s.Description, s.Unserved = strings.Clone(read.Name), strings.Clone(read.Description), ""
	if p, skips := read.SkipReason(); skips {
		if s.Unserved = strings.Clone(p.Message); p.Fix != "" {
			s.Unserved += " (" + p.Fix + ")"
		}
	}
}

// Selection is a set of skills to fetch, by path, with their copies.
type Selection map[string]Copies

// Select returns the selection of these skills.
func Select(skills []Skill) Selection {
	chosen := make(Selection, len(skills))
	for _, s := range skills {
		chosen[s.Path] = s.Copies
	}
	return chosen
}

// SelectSound returns the selection of the skills without a fault. It reports the faults of the
// other skills to the sink.
func SelectSound(skills []Skill, to Sink) Selection {
	for _, s := range skills {
		if s.Fault != nil {
			to.Fail(s.Path, s.Fault)
		}
	}
	return Select(Sound(skills))
}

// Has reports whether a skill is selected.
func (s Selection) Has(skill string) bool {
	_, has := s[skill]
	return has
}

// Holds reports whether a file belongs to a selected skill.
func (s Selection) Holds(path string) bool {
	for range s.Holders(path) {
		return true
	}
	return false
}

// Holders yields each selected skill that contains a file, outermost first, with the file's path in
// that skill. It yields the skill again for each copy of the file. A file of a nested skill is also
// a file of the skills around it. Dot-entries belong to no skill.
func (s Selection) Holders(path string) iter.Seq2[string, string] {
	return func(yield func(skill, file string) bool) {
		for folder := range FoldersOf(path) {
			copies, has := s[folder]
			if !has {
				continue
			}
			file := below(folder, path)
			if HiddenPart(file) != "" {
				continue
			}
			if !yield(folder, file) {
				return
			}
			for _, copied := range copies[file] {
				if !yield(folder, copied) {
					return
				}
			}
		}
	}
}
