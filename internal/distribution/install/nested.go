package install

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// A skill's folder can contain further skills. Their files are files of the skill around them, so
// they are installed, locked and removed with it.

// within reports whether all files of a fetched skill are also files of a fetched skill around it.
func within(fetched map[string]got, at string) bool {
	inner := fetched[at]
	if inner.err != nil || at == "." {
		return false
	}
	for up := path.Dir(at); ; up = path.Dir(up) {
		if outer, ok := fetched[up]; ok && outer.err == nil && holds(outer.skill.Files, below(up, at), inner.skill.Files) {
			return true
		}
		if up == "." {
			return false
		}
	}
}

// below returns a path relative to a folder that contains it.
func below(folder, at string) string {
	if folder == "." {
		return at
	}
	return strings.TrimPrefix(at, folder+"/")
}

// holds reports whether outer has all the files in one of its folders, with the same bytes. outer
// is sorted by path.
func holds(outer []lockfile.File, folder string, files []lockfile.File) bool {
	for _, f := range files {
		at, ok := find(outer, folder+"/"+f.Path)
		if !ok || outer[at].Digest != f.Digest {
			return false
		}
	}
	return true
}

// find returns the index of a file in a list that is sorted by path.
func find(files []lockfile.File, name string) (at int, ok bool) {
	return slices.BinarySearchFunc(files, name, func(f lockfile.File, name string) int { return strings.Compare(f.Path, name) })
}

// nested returns the names of the skills inside a fetched skill.
func nested(skills []origin.Skill, ref origin.Ref, outer got) (names []string) {
	for _, s := range skills {
		if s.Path == outer.source.Path || outer.source.Path != "." && !strings.HasPrefix(s.Path, outer.source.Path+"/") {
			continue
		}
		if _, ok := find(outer.skill.Files, below(outer.source.Path, s.Path)+"/"+s.Main); ok {
			names = append(names, nameOf(s, ref))
		}
	}
	return names
}

// apart returns an error for a folder inside or around an installed skill's folder, since a lock
// assigns each file to one skill.
func (in *Installer) apart(key string) error {
	for other, e := range in.lock.Skills {
		switch {
		case strings.HasPrefix(key, other+"/"):
			return &Problem{Err: fmt.Errorf("its folder would be within that of the installed skill %s", e.Name), Fix: "name another folder with --to", No: true}
		case strings.HasPrefix(other, key+"/"):
			return &Problem{Err: fmt.Errorf("its folder would be around that of the installed skill %s", e.Name), Fix: in.command("remove", in.word(other)) + " makes way for it; or name another folder with --to", No: true}
		}
	}
	return nil
}

// holder returns the folder of the locked skill that contains a skill of this name, or "".
func (in *Installer) holder(name string) string {
	for key, e := range in.lock.Skills {
		for _, f := range e.Files {
			dir, base := path.Split(f.Path)
			if dir != "" && skill.IsEntryName(base) && (path.Base(dir) == name || path.Join(key, dir) == name) {
				return key
			}
		}
	}
	return ""
}
