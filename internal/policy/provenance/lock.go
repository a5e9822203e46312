package provenance

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// lock is one version of a lock. It is immutable.
type lock struct {
	folder string // without links
	skills map[string]lockfile.Entry
	fault  *skill.LockError // why it cannot be used, or nil
	shown  string           // the folder as people at this machine write it, "" if others ask too
	nested sync.Map         // lockfile.Entry by key, of skills within a locked one
}

// file is a place of a lock.
type file struct {
	mu    sync.Mutex
	stamp skill.Stamp
	read  int64 // when, in Unix nanoseconds
	now   *lock // nil if there is no lock
	had   bool  // there was a lock
}

// lockIn returns the lock in a folder as it is now, or nil, and logs once why it cannot be used.
func (l *Locks) lockIn(folder string, anew bool) *lock {
	l.mu.Lock()
	f := l.files[folder]
	if f == nil {
		f = &file{}
		l.files[folder] = f
	}
	l.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.now
	now := l.look(f, folder, anew)
	f.had = f.had || now != nil
	if now != nil && now.fault != nil && (before == nil || before.fault == nil || *before.fault != *now.fault) {
		l.o.Log.Warn("lock not used", "at", filepath.Join(folder, lockfile.Name), "reason", now.fault.Message, "fix", now.fault.Fix)
	}
	return now
}

// look returns the lock in a folder as it is now, or nil. A lock that was there and is gone
// remains, as one that cannot be used, if locks are enforced: a program that replaces it, or one
// that removes it, does not free the skills. The caller holds the file's mu.
func (l *Locks) look(f *file, folder string, anew bool) *lock {
	now := l.o.Now().UnixNano()
	if !anew && f.read != 0 && now-f.read < int64(fresh) && now >= f.read {
		return f.now
	}
	fsys, err := dir.FS(folder)
	var info fs.FileInfo
	if err == nil {
		info, err = fs.Stat(fsys, lockfile.Name)
	}
	before := f.read
	f.read = now
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, skill.ErrNotFolder):
		f.stamp = skill.Stamp{}
		if f.had && l.o.Enforce {
			f.now = unusable(folder, lockfile.Name+" is gone", "restore it from version control, or restart the server to serve the skills without it")
		} else {
			f.now = nil
		}
		return f.now
	case err != nil:
		f.now, f.stamp = unread(folder, err), skill.Stamp{}
		return f.now
	}
	if stamp := skill.StampOf(info); f.now != nil && stamp == f.stamp && before-max(stamp.MTime, stamp.CTime) >= int64(skill.StampRacy) {
		return f.now
	}
	data, stamp, err := skill.ReadFile(fsys, lockfile.Name, lockfile.MaxSize)
	if err != nil {
		f.now, f.stamp = unread(folder, err), skill.Stamp{}
		return f.now
	}
	f.stamp = stamp
	content, err := lockfile.Parse(data)
	if fault, ok := errors.AsType[*lockfile.Error](err); ok {
		f.now = unusable(folder, fmt.Sprintf("%s:%d:%d: %s", lockfile.Name, fault.Line, fault.Column, fault.Message), fault.Fix)
		return f.now
	}
	f.now = &lock{folder: folder, skills: content.Skills}
	if l.o.Shown != nil {
		f.now.shown = filepath.ToSlash(l.o.Shown(folder))
	}
	return f.now
}

func unusable(folder, message, fix string) *lock {
	return &lock{folder: folder, fault: &skill.LockError{Message: message, Fix: fix}}
}

func unread(folder string, err error) *lock {
	fix := "let the user who runs knack read the file"
	if errors.Is(err, skill.ErrTooLarge) {
		fix = "lock fewer skills in one folder; the limit is 32 MiB"
	}
	return unusable(folder, lockfile.Name+" cannot be read: "+skill.Reason(err), fix)
}
