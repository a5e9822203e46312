package provenance

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"sync"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// lock is the content of a lock file, as read at some time. It does not change.
type lock struct {
	folder  string // its real path
	skills  map[string]lockfile.Skill
	fault   *skill.LockError             // why it cannot be used, or nil
	command func(words ...string) string // see [Options.Command]
	label   string                       // the folder as a user of this machine would write it; "" if clients on other machines send requests too
	nested  *sync.Map                    // lockfile.Skill by key, for skills nested in a locked one
	// The next fields hold the real folders of the skills at the last check.
	reals   map[string]string // the real folder of each skill, by key
	links   map[string]bool   // the keys whose folder is a link
	keys    map[string]string // the inverse of reals
	parents map[string]string // keys of the folders that contain skills, by their real paths
	others  *sync.Map         // results of [lock.parentOf] from the disk
	copies  map[string]string // keys of skills that also have copies in the folders of clients, by the real paths of the copies
	global  bool              // the lock of [Options.Global], the one for all projects
}

// file is the cached state of one lock file.
type file struct {
	mu    sync.Mutex
	stamp skill.Stamp
	read  int64 // time of the last read, in Unix nanoseconds
	now   *lock // nil if there is no lock
	turn  uint64
	had   bool // whether there has ever been a lock
}

// lockIn returns the current lock in a folder, or nil if there is none. It logs once if the lock
// cannot be used.
func (l *Locks) lockIn(folder string, turn uint64) *lock {
	l.mu.Lock()
	f := l.files[folder]
	if f == nil {
		f = &file{}
		l.files[folder] = f
	}
	l.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if turn != 0 && f.turn >= turn {
		return f.now
	}
	before := f.now
	now := l.look(f, folder, turn != 0)
	if now != nil && now.fault == nil && (now != before || turn != 0) {
		now = now.resolved(l.o)
		f.now = now
	}
	f.turn = max(f.turn, turn)
	f.had = f.had || now != nil
	if now != nil && now.fault != nil && (before == nil || before.fault == nil || *before.fault != *now.fault) {
		l.o.Log.Warn("lock not used", "at", filepath.Join(folder, lockfile.Name), "reason", now.fault.Message, "fix", now.fault.Fix)
	}
	return now
}

// look returns the current lock in a folder, or nil if there is none. If locks are enforced, a lock
// that was removed counts as unusable, so that its skills stay held back. The caller holds the
// file's mu.
func (l *Locks) look(f *file, folder string, anew bool) *lock {
	now := l.o.Now().UnixNano()
	if !anew && f.read != 0 && now-f.read < int64(fresh) && now >= f.read {
		return f.now
	}
	known := f.stamp
	if f.now == nil || f.read-max(known.MTime, known.CTime) < int64(skill.StampRacy) {
		known = skill.Stamp{} // a lock that changes now can keep this stamp
	}
	f.read = now
	data, stamp, err := read(folder, known)
	unread, _ := errors.AsType[*lockfile.UnreadableError](err)
	switch {
	case unread != nil:
		f.now, f.stamp = l.unusable(folder, unread.Error(), unread.Fix), skill.Stamp{}
		return f.now
	case err != nil: // the file does not exist
		f.stamp = skill.Stamp{}
		if f.had && l.o.Enforce {
			f.now = l.unusable(folder, lockfile.Name+" is gone", "restore it from version control, or restart the server to serve the skills without it")
		} else {
			f.now = nil
		}
		return f.now
	case known != (skill.Stamp{}) && stamp == known:
		return f.now
	}
	f.stamp = stamp
	content, err := lockfile.Parse(data)
	if fault, ok := errors.AsType[*jsonfile.Error](err); ok {
		f.now = l.unusable(folder, fmt.Sprintf("%s:%d:%d: %s", lockfile.Name, fault.Line, fault.Column, fault.Message), fault.Fix)
		return f.now
	}
	f.now = l.newLock(folder)
	f.now.skills = content.Skills
	return f.now
}

// resolved returns the lock with the current real folders of its skills. It resolves the links of
// each parent folder only once.
func (f *lock) resolved(o Options) *lock {
	now := *f
	now.reals, now.links, now.keys, now.parents, now.others, now.copies = make(map[string]string, len(f.skills)), map[string]bool{}, make(map[string]string, len(f.skills)), map[string]string{}, &sync.Map{}, map[string]string{}
	known := map[string]string{}
	parent := func(at string) string {
		real, ok := known[at]
		if !ok {
			real = realpath.Of(filepath.Join(f.folder, filepath.FromSlash(at)))
			if known[at] = real; now.parents[real] == "" || at < now.parents[real] {
				now.parents[real] = at
			}
		}
		return real
	}
	if f.global {
		parent(path.Base(agents.SkillsFolder))
	} else {
		parent(agents.SkillsFolder)
		if filepath.Base(f.folder) == agents.Folder { // it may belong to another user
			parent(path.Base(agents.SkillsFolder))
		}
	}
	homes, project := agents.Homes{Home: o.Home, Getenv: o.Getenv}, f.folder
	if f.global {
		project = ""
	}
	for key, e := range f.skills {
		for id := range e.Clients {
			if a := agents.Find(id); a != nil && homes.Own(a, project) != "" {
				now.copies[filepath.Join(realpath.Of(filepath.FromSlash(homes.Own(a, project))), path.Base(key))] = key
			}
		}
		real := realpath.Child(parent(path.Dir(key)), path.Base(key))
		now.links[key] = real != filepath.Join(parent(path.Dir(key)), path.Base(key))
		if now.reals[key] = real; now.keys[real] == "" || key < now.keys[real] {
			now.keys[real] = key
		}
	}
	return &now
}

// isAbout reports whether a lock applies to a folder with skills, given the folder's real path. A
// lock applies to folders that contain a locked skill or are inside of one, and to its default
// folder for installed skills. A lock that cannot be used applies to every folder. If it is the
// lock for all projects, it applies only to its own folders.
func (f *lock) isAbout(folder string) bool {
	if f.fault != nil {
		return !f.global || realpath.Inside(f.folder, folder) || realpath.Same(filepath.Join(f.folder, path.Base(agents.SkillsFolder)), folder)
	}
	for real := range f.parents {
		if realpath.Same(real, folder) {
			return true
		}
	}
	for _, real := range f.reals {
		if realpath.Within(folder, real) || realpath.Within(real, folder) {
			return true
		}
	}
	return false
}

// keyOf returns the key of the skill in a real folder, and whether the skill is in the lock. The
// key of a nested skill is the key of the outer skill followed by the path from it.
func (f *lock) keyOf(real string) (key string, has bool) {
	for at, below := real, ""; filepath.Dir(at) != at; at, below = filepath.Dir(at), path.Join(filepath.Base(at), below) {
		if key, has := f.keys[at]; has {
			key = path.Join(key, below)
			_, has = f.entry(key)
			return key, has
		}
	}
	parent, known := f.parentOf(filepath.Dir(real))
	if known {
		key = path.Join(parent, filepath.Base(real))
	} else if rel, err := filepath.Rel(f.folder, real); err == nil {
		key = filepath.ToSlash(rel)
	}
	_, has = f.entry(key)
	return key, has
}

// parentOf returns the key of a real folder with skills. It also asks the disk, where the folder
// may have a name in a different case or be reached through a mount.
func (f *lock) parentOf(folder string) (parent string, ok bool) {
	if parent, ok = f.parents[folder]; ok {
		return parent, true
	}
	if known, ok := f.others.Load(folder); ok {
		return known.(string), known != ""
	}
	for real, key := range f.parents {
		if realpath.Same(real, folder) {
			parent = key
		}
	}
	f.others.Store(folder, parent)
	return parent, parent != ""
}

// newLock returns an empty lock for a folder.
func (l *Locks) newLock(folder string) *lock {
	f := &lock{folder: folder, command: l.o.Command, nested: &sync.Map{}, global: l.o.Global != "" && realpath.Same(l.o.Global, folder)}
	if l.o.Shown != nil {
		f.label = filepath.ToSlash(l.o.Shown(folder))
	}
	return f
}

// unusable returns a lock that cannot be used, with the reason and a fix.
func (l *Locks) unusable(folder, message, fix string) *lock {
	f := l.newLock(folder)
	f.fault = &skill.LockError{Message: message, Fix: fix}
	return f
}

// read reads the lock file in a folder. It follows links in the folder's path.
func read(folder string, known skill.Stamp) ([]byte, skill.Stamp, error) {
	t, err := dir.OpenTree(folder, true)
	switch {
	case errors.Is(err, skill.ErrNotFolder):
		return nil, skill.Stamp{}, fs.ErrNotExist
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, skill.Stamp{}, lockfile.Unreadable(err)
	case err != nil:
		return nil, skill.Stamp{}, err
	}
	defer t.Close()
	return lockfile.Read(t, known)
}
