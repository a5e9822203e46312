package provenance

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// entry returns the lock's entry for the skill with a key. If the skill is nested in a locked
// skill, entry makes its entry from the files of the outer skill.
func (f *lock) entry(key string) (lockfile.Skill, bool) {
	if e, has := f.skills[key]; has {
		return e, true
	}
	if e, known := f.nested.Load(key); known {
		return e.(lockfile.Skill), true
	}
	around, below := f.around(key)
	if around == "" {
		return lockfile.Skill{}, false
	}
	e := f.skills[around]
	var files []lockfile.File
	for _, file := range e.Files {
		if rest, ok := strings.CutPrefix(file.Path, below+"/"); ok {
			file.Path = rest
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return lockfile.Skill{}, false
	}
	e.Name, e.Path, e.Files, e.Digest = path.Base(key), path.Join(e.Path, below), files, lockfile.Digest(files)
	f.nested.Store(key, e)
	return e, true
}

// around returns the key of the innermost locked skill whose folder contains the folder with the
// given key, and the path from the outer folder to the inner one.
func (f *lock) around(key string) (around, below string) {
	for at := path.Dir(key); at != "." && at != "/"; at = path.Dir(at) {
		if _, has := f.skills[at]; has {
			return at, key[len(at)+1:]
		}
	}
	return "", ""
}

// entryKey returns the key of the entry that lists the files of a skill. For a nested skill, this
// is the entry of the outer skill.
func (f *lock) entryKey(key string) string {
	if _, has := f.skills[key]; !has {
		key, _ = f.around(key)
	}
	return key
}

// without returns the reason for refusing a skill that is not in a lock.
func (l *Locks) without(f *lock, b *skill.Bundle, key string) *skill.LockError {
	if f.fault != nil {
		return f.fault
	}
	return &skill.LockError{Message: "not locked: " + lockfile.Name + " does not have it", Fix: l.addFix(f, b, key) + ", or move it to a folder without a lock"}
}

// addFix returns the fix that adds a skill to a lock, given the key that find returned. If possible,
// it has a command that users can paste into a shell.
func (l *Locks) addFix(f *lock, b *skill.Bundle, key string) string {
	folder := path.Dir(key)
	outside := key == "" || key == ".." || strings.HasPrefix(key, "../")
	around, _ := f.around(key)
	switch {
	case around != "":
		return "move it out of " + around + ", which is an installed skill, then add it with knack add"
	case slices.ContainsFunc(strings.Split(key, "/"), lockfile.IsGit):
		return "move it out of the repository's own folder, then add it with knack add"
	case b.Link() != "" && (outside || folder == "." || f.global && !strings.HasPrefix(key, f.installed()+"/")):
		return l.addTarget(f, b)
	case outside || key == ".":
		return "add it with knack add"
	case !f.global && !realpath.Within(f.folder, filepath.Dir(l.real(b, 0))):
		return folder + ", or a folder above it, is a link out of the project: make it a folder, then add the skill with knack add"
	}
	return f.addLine(f.typed(key), folder) + " records it as your own"
}

// addTarget returns the fix for a link to a skill that cannot be recorded in its own folder.
func (l *Locks) addTarget(f *lock, b *skill.Bundle) string {
	place := filepath.Join(l.area(b.In.Dir, 0).real, filepath.FromSlash(b.Path))
	key, _ := f.keyOf(place)
	switch {
	case realpath.Of(filepath.Dir(place)) != filepath.Dir(place):
		return "a folder above it is a link: make that a folder, then add the skill with knack add"
	case l.o.Shown == nil:
		return "remove the link by hand, then add the folder that it leads to with knack add"
	}
	return "remove the link by hand, then run " + f.addLine(origin.Typed(l.o.Shown(b.Link())), path.Dir(key))
}

// addLine returns the command that adds a skill into a folder, which is relative to the folder of
// the lock.
func (f *lock) addLine(skill, folder string) string {
	words := []string{"add", skill}
	if folder != f.installed() {
		words = append(words, "--to", f.typed(folder))
	}
	return f.line(words...)
}

// typed returns a path in the folder of the lock as a person types it in a command.
func (f *lock) typed(key string) string {
	base := origin.Typed(f.label)
	switch {
	case f.label == "" && f.global:
		base = "~/" + agents.Folder
	case f.label == "":
		base = console.Placeholder
	}
	if key == "." {
		return base
	}
	return strings.TrimSuffix(base, "/") + "/" + key
}

// installed returns the folder of installed skills, relative to the folder of the lock.
func (f *lock) installed() string {
	if f.global {
		return path.Base(agents.SkillsFolder)
	}
	return agents.SkillsFolder
}

// line returns a knack command with a flag that makes it use this lock.
func (f *lock) line(words ...string) string {
	switch {
	case f.global:
		words = append(words, "--global")
	case f.label != ".":
		words = append(words, "--project", cmp.Or(f.label, console.Placeholder))
	}
	return f.command(words...)
}
