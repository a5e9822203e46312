package store

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/base/semver"
)

// clean removes leftovers of killed processes. Once a day, if no other process uses the store, it
// also removes data that was not used for long. Failures are ignored. The caller holds s.mu.
func (s *Store) clean() {
	_ = edit.Sweep(s.path(tmpFolder), func(string) error { return nil }) // it has no user data
	for _, folder := range []string{releasesFolder, headsFolder, failuresFolder} {
		_ = edit.SweepFiles(realpath.Of(s.path(folder)))
	}
	now, stamp := s.o.Now(), s.path(sweptName)
	info, err := os.Stat(stamp)
	if err == nil && now.Sub(info.ModTime()).Abs() < 24*time.Hour {
		return
	}
	unlock, err := edit.Lock(s.path(lockName))
	if err != nil {
		return
	}
	defer unlock()
	if err := edit.Create(stamp, nil, 0o600); err != nil && !errors.Is(err, edit.ErrExists) {
		return
	}
	_ = edit.Touch(stamp, now)
	s.collect(now)
}

// Collect removes data that no source serves and that was not used for [Options.Keep]. A server
// calls it after it has begun to serve another release. Collect removes nothing while another
// process uses the store, or while this process adds skills.
func (s *Store) Collect() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stat(s.dir); err != nil || s.batches > 0 {
		return nil
	}
	if s.unlock != nil {
		s.unlock()
		s.unlock = nil
	}
	if unlock, err := edit.Lock(s.path(lockName)); err == nil {
		s.collect(s.o.Now())
		unlock()
	}
	return s.share()
}

// collect removes heads, releases, layers, skills and repositories, in this order. Of each kind, it
// removes items that were not used for long and that no remaining record of an earlier kind needs.
// The caller holds s.mu and the lock of all processes.
func (s *Store) collect(now time.Time) {
	s.known = nil
	old := func(path string, keep time.Duration) bool {
		info, err := os.Stat(path)
		return err == nil && now.Sub(info.ModTime()) > keep
	}
	served := map[string]bool{}
	for name := range s.records(headsFolder) {
		var h Head
		at := s.path(headsFolder, name)
		switch {
		case s.heads[name] || !old(at, max(s.o.Keep, unservedHead)):
			if s.load(at, &h) == nil {
				served[h.Release], served[h.Previous] = true, true
				for _, p := range h.Past {
					if semver.Lower(h.Version, p.Version) { // the head was rolled back
						served[p.Release] = true
						break
					}
				}
			}
		default:
			_ = edit.Remove(edit.Named(at))
		}
	}
	for name := range s.records(failuresFolder) {
		if at := s.path(failuresFolder, name); old(at, max(s.o.Keep, unservedHead)) {
			_ = edit.Remove(edit.Named(at))
		}
	}
	layers, skills := map[string]bool{}, map[string]bool{}
	for name := range s.records(releasesFolder) {
		at := s.path(releasesFolder, name)
		var r Release
		if s.load(at, &r) != nil || !served[r.Digest] && old(at, s.o.Keep) {
			_ = edit.Remove(edit.Named(at))
			continue
		}
		for _, l := range r.Layers {
			layers[strings.TrimPrefix(l, "sha256:")+".json"] = true
		}
		for _, m := range r.Skills {
			skills[s.Folder(m.Skill)] = true
		}
	}
	for name := range s.records(layersFolder) {
		if at := s.path(layersFolder, name); !layers[name] && old(at, s.o.Keep) {
			_ = edit.Remove(edit.Named(at))
		}
	}
	tmp := s.path(tmpFolder)
	for at := range s.folders() {
		if !skills[at] && old(at, s.o.Keep) {
			_ = edit.Discard(edit.Named(at), tmp)
		}
	}
}

// unservedHead is the minimum time for which a source's head stays after the last request for it.
const unservedHead = 30 * 24 * time.Hour

// records yields the names of the records in a folder. It skips names that the store does not
// use, which may be the user's files.
func (s *Store) records(folder string) iter.Seq[string] {
	return func(yield func(string) bool) {
		entries, _ := os.ReadDir(s.path(folder))
		for _, e := range entries {
			if digits, ok := strings.CutSuffix(e.Name(), ".json"); ok && isHex(digits, 64) && !yield(e.Name()) {
				return
			}
		}
	}
}

// folders yields the folders of skills and repositories.
func (s *Store) folders() iter.Seq[string] {
	return func(yield func(string) bool) {
		entries, _ := os.ReadDir(s.path(gitFolder))
		for _, e := range entries {
			if isHex(e.Name(), 64) && !yield(s.path(gitFolder, e.Name())) {
				return
			}
		}
		shards, _ := os.ReadDir(s.path(skillsFolder))
		for _, shard := range shards {
			if !isHex(shard.Name(), 2) {
				continue
			}
			entries, _ := os.ReadDir(s.path(skillsFolder, shard.Name()))
			for _, e := range entries {
				if isHex(e.Name(), 62) && !yield(s.path(skillsFolder, shard.Name(), e.Name())) {
					return
				}
			}
		}
	}
}

// isHex reports whether a name consists of exactly this many hexadecimal digits.
func isHex(name string, digits int) bool {
	return len(name) == digits && strings.Trim(name, "0123456789abcdef") == ""
}

// fault converts an error of the store's folder to a [*Fault].
func (s *Store) fault(err error) error {
	if err == nil || errors.Is(err, edit.ErrExists) {
		return err
	}
	if _, ok := errors.AsType[*Fault](err); ok {
		return err
	}
	dir := s.named
	if s.o.Shown != nil {
		dir = s.o.Shown(dir)
	}
	return &Fault{dir, s.o.Setting, err}
}

// Fault is an error of the store's folder, with advice.
type Fault struct {
	Dir     string // the store's folder
	Setting string // the name of the setting for it, or ""
	Err     error
}

// Unwrap returns the system's error.
func (f *Fault) Unwrap() error { return f.Err }

// Error describes the fault and a fix.
func (f *Fault) Error() string {
	elsewhere := ""
	if f.Setting != "" {
		elsewhere = fmt.Sprintf(", or set %s to another folder", f.Setting)
	}
	reason := f.Err // without its path, since the text names Dir
	if p, ok := errors.AsType[*fs.PathError](f.Err); ok {
		reason = p.Err
	}
	switch {
	case errors.As(f.Err, new(*edit.NoRoom)):
		return fmt.Sprintf("the store %s %v: free some space (the store itself can be deleted)%s", f.Dir, f.Err, elsewhere)
	case edit.IsFull(f.Err):
		return fmt.Sprintf("the disk of the store %s is full: free some space (the store itself can be deleted)%s", f.Dir, elsewhere)
	case errors.Is(f.Err, syscall.EROFS):
		return fmt.Sprintf("the store %s is on a read-only file system: make it writable%s", f.Dir, elsewhere)
	case errors.Is(f.Err, fs.ErrPermission):
		return fmt.Sprintf("knack may not write to the store %s: give yourself the permission%s (%v)", f.Dir, elsewhere, reason)
	case errors.Is(f.Err, fs.ErrNotExist):
		return fmt.Sprintf("something in the store %s was removed while it was used: try again (%v)", f.Dir, reason)
	}
	return fmt.Sprintf("the store %s: %v", f.Dir, reason)
}
