package origin

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// EntryType is what an entry of a source is.
type EntryType uint8

// The types of entries.
const (
	Regular   EntryType = iota
	Exec                // a regular file that is executable
	Link                // a symbolic or a hard link
	Submodule           // a folder of another repository
	Other               // a device, a pipe, or anything else that no skill has
)

// Entry is a file of a source, or anything else in it but a folder.
type Entry struct {
	Path string // slash-separated, as the source spells it; it may be hostile
	Size int64  // in bytes, or -1 if it is not known
	Type EntryType
}

// Find returns the skills among the entries of a source, by path. It looks into every folder
// below sub, or everywhere if sub is "", at most [skill.MaxDepth] levels down; it leaves out
// .git and node_modules, as a scan of folders does. A skill that holds something that is not
// installed has a fault. The order of the entries decides only which fault that is.
func Find(entries []Entry, sub string) []Skill {
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
		for path := range foldersOf(e.Path) {
			if f := found[path]; f != nil {
				f.take(e)
			}
		}
	}
	skills := make([]Skill, 0, len(found))
	for _, f := range found {
		f.choose()
		skills = append(skills, f.Skill)
	}
	SortSkills(skills)
	return skills
}

// SortSkills orders skills by path. Those of one path keep their order.
func SortSkills(skills []Skill) {
	sort.SliceStable(skills, func(i, j int) bool { return skills[i].Path < skills[j].Path })
}

// finding is a skill that is being found.
type finding struct {
	Skill
	spellings []string // of its main file
	folder    bool     // one of them is a folder
	files     int
	size      int64
	paths     Paths
	hidden    map[string]bool // the outermost dot-entries
}

// mainFiles calls yield for each part of an entry's path that spells SKILL.md in a folder that is
// searched. isFile is false if that part is a folder itself.
func mainFiles(e Entry, sub string, yield func(folder, name string, isFile bool)) {
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
		case len(name) == len(skill.MainFile) && strings.EqualFold(name, skill.MainFile):
			yield(cmp.Or(strings.TrimSuffix(path[:start], "/"), "."), name, last)
		}
		if last {
			return
		}
		start += end + 1
	}
}

// maxSearched bounds the bytes of a path that are looked at, since a path may be of any length.
const maxSearched = 16 << 10

// foldersOf yields "." and each folder above a path.
func foldersOf(path string) iter.Seq[string] {
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

// below returns an entry's path below a folder that holds it.
func below(folder, path string) string {
	if folder == "." {
		return path
	}
	return path[len(folder)+1:]
}

// take counts an entry of the skill.
func (f *finding) take(e Entry) {
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
	if f.Fault != nil {
		return
	}
	f.files++
	f.size += max(e.Size, 0)
	f.Fault = f.judge(path, e.Type)
}

func (f *finding) judge(path string, t EntryType) error {
	switch {
	case t == Link:
		return fmt.Errorf("%s is a link, and knack installs no links: ask the author for the file itself", display.Quote(path))
	case t == Other:
		return fmt.Errorf("%s is not a regular file: ask the author to remove it", display.Quote(path))
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
// "." and ".." are no dot-entries: they make the path one that is refused.
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

// choose sets the main file, the first of [skill.EntryNames] that is there. The skill's own folder
// needs a plain path too, since a lock records it.
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
// why it is not offered. It leaves out what cannot be read, as a catalogue does.
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
		s.Unserved = strings.Clone(p.Message)
	}
}

// Selection is a set of skills whose files are fetched.
type Selection map[string]bool

// Select returns the selection of these skills.
func Select(skills []Skill) Selection {
	chosen := make(Selection, len(skills))
	for _, s := range skills {
		chosen[s.Path] = true
	}
	return chosen
}

// Holders yields each selected skill that a file belongs to, outermost first, and the file's path
// below it. A file of a nested skill is a file of the skills around it too. Dot-entries belong to
// none.
func (s Selection) Holders(path string) iter.Seq2[string, string] {
	return func(yield func(skill, file string) bool) {
		for folder := range foldersOf(path) {
			if file := below(folder, path); s[folder] && HiddenPart(file) == "" && !yield(folder, file) {
				return
			}
		}
	}
}
