package provenance

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
)

// differencesShown is the largest number of files named in a reason.
const differencesShown = 3

// compare compares the files of a skill with its entry in the lock. err is the error of listing the
// files, or nil. The result is nil, nil if the files are the locked ones. The second result is an
// error if the files cannot be compared.
func (f *lock) compare(s *skill.Skill, key string, entry lockfile.Skill, files []skill.File, err error) (*skill.LockError, error) {
	if errors.Is(err, skill.ErrTooLarge) {
		return f.changed(key, "it has more than the locked files"), nil
	}
	if locked, ok := errors.AsType[*skill.LockError](err); ok {
		return locked, nil
	}
	if err != nil {
		return nil, err
	}
	return f.differs(s, key, entry, files), nil
}

// differs compares the files of a skill with its entry in the lock. It returns nil if they are the
// same.
func (f *lock) differs(s *skill.Skill, key string, entry lockfile.Skill, files []skill.File) *skill.LockError {
	now := make([]lockfile.File, len(files))
	for i, f := range files {
		now[i] = lockfile.File{Path: s.OnDisk(f.Path), Size: f.Size, Digest: f.Digest}
	}
	if lockfile.Digest(now) == entry.Digest {
		return nil
	}
	if lockfile.OnlyLineEnds(entry.Files, now, func(name string) (io.ReadCloser, error) { return s.FS.Open(name) }) {
		err := f.changed(key, "only line ends, as git changes them with core.autocrlf")
		err.Fix = lockfile.LineEndsFix(f.entryKey(key)) + "; then " + f.restoreFix("")
		return err
	}
	locked := make(map[string]lockfile.File, len(entry.Files))
	for _, f := range entry.Files {
		locked[f.Path] = f
	}
	var what []string
	for _, f := range now {
		was, has := locked[f.Path]
		switch {
		case !has:
			what = append(what, display.Quote(f.Path)+" was added")
		case was.Digest != f.Digest || was.Size != f.Size:
			what = append(what, display.Quote(f.Path)+" differs")
		}
		delete(locked, f.Path)
	}
	for _, f := range entry.Files {
		if _, gone := locked[f.Path]; gone {
			what = append(what, display.Quote(f.Path)+" is missing")
		}
	}
	if n := len(what); n > differencesShown {
		what = append(what[:differencesShown], fmt.Sprintf("and %d more", n-differencesShown))
	}
	return f.changed(key, strings.Join(what, ", "))
}

// changed returns the error for a skill whose files differ from its entry in the lock. what names
// the differences.
func (f *lock) changed(key, what string) *skill.LockError {
	return &skill.LockError{Changed: true, Message: "changed since it was locked: " + what, Fix: f.restoreFix(f.entryKey(key))}
}

// restoreFix returns the fix for a changed skill, given the key of its entry. The fix is for all
// changed skills if the key is "", or if a shell or a command would misread it because it begins
// with - or ~.
func (f *lock) restoreFix(key string) string {
	sync, verify := []string{"sync"}, []string{"verify"}
	if key != "" && key[0] != '-' && key[0] != '~' {
		sync, verify = append(sync, key), append(verify, key)
	}
	switch {
	case f.links[key]:
		return "its folder is a link: remove that by hand, then run " + console.Quoted(f.line(sync...))
	case key != "" && f.isOwn(key):
		return console.Quoted(f.line("update", key)) + " keeps the change; " + console.Quoted(f.line(verify...)) + " says whether it can be restored"
	}
	return "restore it with " + console.Quoted(f.line(append(sync, "--overwrite")...)) + "; " + console.Quoted(f.line(verify...)) + " lists the files, and says how to keep them"
}

// isOwn reports whether the source of an entry is the folder of the skill itself, in the form that
// add records. It compares text, unlike package install: the lock of a clone may name any path, and
// a scan looks at none of them.
func (f *lock) isOwn(key string) bool {
	e := f.skills[key]
	return e.Path == "." && e.Source == "./"+key
}

// isLarge reports whether a locked skill is larger than a skill that can be published.
func isLarge(entry lockfile.Skill) bool {
	total := int64(0)
	for _, f := range entry.Files {
		total += f.Size
	}
	return len(entry.Files) > skill.MaxFiles || total > skill.MaxSkillSize
}
