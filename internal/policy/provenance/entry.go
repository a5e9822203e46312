package provenance

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
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

// without returns the reason for refusing a skill that is not in the lock.
func (f *lock) without(b *skill.Bundle, key string) *skill.LockError {
	if f.fault != nil {
		return f.fault
	}
	fix := f.addFix(key)
	if b.Link() != "" && path.Dir(key) != f.installed() { // knack add puts no folder in the place of a link
		fix = "its folder is a link: remove that by hand, then add the folder that it leads to with knack add" + elsewhere
	}
	return &skill.LockError{Message: "not locked: " + lockfile.Name + " does not have it", Fix: fix}
}

// elsewhere is the second half of a fix for a skill that is not locked.
const elsewhere = ", or move it to a folder without a lock"

// addFix returns the fix that adds a skill to the lock. If possible, it contains a command that
// users can paste into a shell.
func (f *lock) addFix(key string) string {
	if around, _ := f.around(key); around != "" {
		return "move it out of " + around + ", which is an installed skill, then add it with knack add" + elsewhere
	}
	base := "."
	if f.label != "" {
		base = f.label
	}
	if !strings.HasPrefix(base, "~") && !filepath.IsAbs(base) && base != "." {
		base = "./" + base
	}
	at := base + "/" + key
	if strings.Trim(at, plain) != "" || key == "." || strings.HasPrefix(key, "../") {
		return "add it with knack add" + elsewhere
	}
	words := []string{"add", at}
	if path.Dir(key) != f.installed() {
		words = append(words, "--to", strings.TrimSuffix(at, "/"+path.Base(key)))
	}
	return f.line(words...) + " records it as your own" + elsewhere
}

// installed returns the folder of installed skills, relative to the folder of the lock.
func (f *lock) installed() string {
	if f.global {
		return path.Base(agents.SkillsFolder)
	}
	return agents.SkillsFolder
}

// plain lists the characters that need no quotes in a shell. [strings.Trim] with this cutset
// returns "" only if a string contains no other characters.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-~"

// line returns a knack command with a flag that makes it use this lock.
func (f *lock) line(words ...string) string {
	switch {
	case f.global:
		words = append(words, "--global")
	case f.label != "" && f.label != ".":
		words = append(words, "--project", f.label)
	}
	return f.command(words...)
}
