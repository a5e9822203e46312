package provenance

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
)

// entry returns what the lock says about the skill in a folder. A skill within a locked one is
// locked with it, since its files are among the files of that one.
func (f *lock) entry(key string) (lockfile.Entry, bool) {
	if e, has := f.skills[key]; has {
		return e, true
	}
	if e, known := f.nested.Load(key); known {
		return e.(lockfile.Entry), true
	}
	around, below := f.around(key)
	if around == "" {
		return lockfile.Entry{}, false
	}
	e := f.skills[around]
	var files []lockfile.File
	for _, file := range e.Files {
		if rest, is := strings.CutPrefix(file.Path, below+"/"); is {
			file.Path = rest
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return lockfile.Entry{}, false
	}
	e.Name, e.Path, e.Files, e.Digest = path.Base(key), path.Join(e.Path, below), files, lockfile.Digest(files)
	f.nested.Store(key, e)
	return e, true
}

// around returns the innermost locked folder around a folder, and the path from there.
func (f *lock) around(key string) (around, below string) {
	for at := path.Dir(key); at != "." && at != "/"; at = path.Dir(at) {
		if _, has := f.skills[at]; has {
			return at, key[len(at)+1:]
		}
	}
	return "", ""
}

// without returns why a skill that the lock does not have is refused.
func (f *lock) without(b *skill.Bundle, key string) *skill.LockError {
	if f.fault != nil {
		return f.fault
	}
	fix := "add it with knack add" + elsewhere
	if b.Link() == "" { // else the folder has its place elsewhere
		fix = f.addFix(key)
	}
	return &skill.LockError{Message: "not locked: " + lockfile.Name + " does not have it", Fix: fix}
}

// located returns an error with the flags of this lock in what to do about it.
func (f *lock) located(err *skill.LockError) *skill.LockError {
	flags := f.flags()
	if err == nil || !err.Changed || flags == "" {
		return err
	}
	with := *err
	with.Fix = restoreFix(flags)
	return &with
}

// elsewhere is what else can be done about a skill that is not locked.
const elsewhere = ", or move it to a folder without a lock"

// addFix says how a skill gets into the lock: with a command that a shell reads as it is shown.
func (f *lock) addFix(key string) string {
	if around, _ := f.around(key); around != "" {
		return "move it out of " + around + ", which is an installed skill, then add it with knack add" + elsewhere
	}
	base := "."
	if f.shown != "" {
		base = f.shown
	}
	if !strings.HasPrefix(base, "~") && !filepath.IsAbs(base) && base != "." {
		base = "./" + base
	}
	at := base + "/" + key
	if strings.Trim(at, plain) != "" || key == "." || strings.HasPrefix(key, "../") {
		return "add it with knack add" + elsewhere
	}
	words := "knack add " + at + f.flags()
	if to := path.Dir(key); to != skillsFolder && !f.isGlobal() {
		words += " --to " + base + "/" + to
	}
	return words + " records it as your own" + elsewhere
}

// plain are the characters that a shell reads as they are. Trim leaves any other one.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-~"

// skillsFolder is the folder that gets skills by default.
const skillsFolder = ".agents/skills"

// isGlobal reports whether a lock is that of the skills for all projects.
func (f *lock) isGlobal() bool { return f.global || filepath.Base(f.folder) == ".agents" }

// flags are what makes a command use this lock.
func (f *lock) flags() string {
	switch {
	case f.isGlobal():
		return " --global"
	case f.shown != "" && f.shown != ".":
		return " --project " + f.shown
	}
	return ""
}
