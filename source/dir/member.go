package dir

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
)

// Member is a file or link of a skill's folder that need not be on disk, such as one in a
// repository or an archive.
type Member struct {
	Path   string      // slash-separated below the skill
	Mode   fs.FileMode // its type
	Target string      // of a link
}

// Linked describes the links of a skill.
type Linked struct {
	// Files maps the path of each file that a link leads to. The value is the path at which the
	// bytes are.
	Files map[string]string
	// Left lists the links that are not followed, and why.
	Left []skill.Notice
}

// Links judges the links among the entries of a skill by the same rules as links in a folder on
// disk. at is the absolute path by which a link may name the skill, or any other path if the skill
// has none. main is the skill's main file, and limit bounds the number of its files.
func Links(ctx context.Context, at, main string, limit int, entries []Member) (Linked, error) {
	m := &memory{infos: map[string]*info{}, targets: map[string]string{}, names: map[string][]fs.DirEntry{}}
	m.add(".", fs.ModeDir)
	for _, e := range entries {
		m.link(e)
	}
	f := &folder{location: &location{opener: m, base: at, plain: true}, sub: "."}
	files, _, err := (&skill.Skill{Bundle: &skill.Bundle{FS: f, Entry: main}}).List(ctx, limit)
	if err != nil && !errors.Is(err, skill.ErrIncomplete) {
		return Linked{}, err
	}
	out := Linked{Files: map[string]string{}}
	gives := map[string]bool{} // links that lead to a file of the skill
	for _, file := range files {
		name := file.Path
		if name == skill.MainFile {
			name = main
		}
		if _, plain := m.infos[name]; plain && !realpath.IsLink(m.infos[name].mode) {
			continue
		}
		real, _, err := locate(m, name, f)
		if err != nil {
			continue
		}
		out.Files[name] = real
		for _, p := range pathsOf(name) {
			gives[p] = true
		}
	}
	for _, e := range entries {
		if e.Mode&fs.ModeSymlink == 0 || gives[e.Path] || checkName(e.Path) != nil {
			continue
		}
		n := skill.Notice{Path: e.Path, Rule: ruleLinkIgnored, Message: "the link leads to an entry that is in no list of the skill's files", Fix: "put a copy of its target into the skill"}
		if _, _, err := locate(m, e.Path, f); err != nil {
			n.Rule, n.Message, n.Fix = unfollowed(err)
		}
		out.Left = append(out.Left, n)
	}
	return out, nil
}

// memory is a folder whose entries are in memory. Its files cannot be read.
type memory struct {
	infos   map[string]*info
	targets map[string]string
	names   map[string][]fs.DirEntry // by the folder
	at      string                   // the folder of this handle; "" for the top
}

func (m *memory) link(e Member) {
	if !fs.ValidPath(e.Path) {
		return
	}
	if m.add(e.Path, e.Mode.Type()) && e.Mode&fs.ModeSymlink != 0 {
		m.targets[e.Path] = e.Target
	}
}

// add adds an entry and the folders above it, and reports whether it is new.
func (m *memory) add(name string, mode fs.FileMode) bool {
	if _, known := m.infos[name]; known {
		return false
	}
	in := &info{name: path.Base(name), mode: mode, stamp: skill.Stamp{Inode: uint64(len(m.infos) + 1)}}
	m.infos[name] = in
	if name != "." {
		above := path.Dir(name)
		m.add(above, fs.ModeDir)
		m.names[above] = append(m.names[above], fs.FileInfoToDirEntry(in))
	}
	return true
}

func (m *memory) path(name string) string { return path.Join(m.at, name) }

func (m *memory) folder(string, bool) (handle, error) { return m, nil }

func (m *memory) enter(name string) (handle, error) {
	in, err := m.lstat(name)
	switch {
	case err != nil:
		return nil, err
	case realpath.IsLink(in.mode):
		return nil, errThroughLink
	case !in.IsDir():
		return nil, errNotDirectory
	}
	below := *m
	below.at = m.path(name)
	return &below, nil
}

func (m *memory) lstat(name string) (*info, error) {
	name = m.path(name)
	if in, ok := m.infos[name]; ok {
		return in, nil
	}
	for up := path.Dir(name); up != "." && up != "/"; up = path.Dir(up) {
		if in, ok := m.infos[up]; ok && realpath.IsLink(in.mode) {
			return nil, errThroughLink
		}
	}
	return nil, fs.ErrNotExist
}

func (m *memory) readlink(name string) (string, error) { return m.targets[m.path(name)], nil }

// open always fails: the entries have no contents.
func (m *memory) open(name string) (*file, error) {
	in, err := m.lstat(name)
	switch {
	case err != nil:
		return nil, err
	case realpath.IsLink(in.mode):
		return nil, errThroughLink
	case in.IsDir():
		return nil, skill.ErrNotRegular
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.ErrUnsupported}
}

func (m *memory) list(name string, most int) (handle, []fs.DirEntry, error) {
	below, err := m.enter(name)
	if err != nil {
		return nil, nil, err
	}
	entries := m.names[m.path(name)]
	if most >= 0 && len(entries) > most {
		return below, nil, skill.ErrTooLarge
	}
	return below, entries, nil
}

func (m *memory) close() {}

// SkillPath returns an absolute path that stands for a skill in a source when [Links] judges its
// links. The path is made up, and no link can contain it.
func SkillPath(below string) string { return "/\x00/" + strings.TrimPrefix(below, "./") }
