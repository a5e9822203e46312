package install

import (
	"bytes"
	"maps"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// legacy is the lock of a folder around the root that has entries for folders in the root.
type legacy struct {
	real string // its folder without links
	old  []byte
	rest *lockfile.Lock // without those entries
}

// readLegacy merges the entries of the lock of [Options.Legacy]. An entry of the root's own lock
// wins.
func (in *Installer) readLegacy() error {
	in.legacy = nil
	below, err := filepath.Rel(in.o.Legacy, in.o.Root)
	if in.o.Legacy == "" || err != nil || below == "." || !filepath.IsLocal(below) {
		return nil
	}
	real := realpath.Of(in.o.Legacy)
	old, err := in.readLockOf(real, in.o.Legacy)
	if err != nil || old == nil {
		return err
	}
	lock, err := parseLock(in.shown(filepath.Join(in.o.Legacy, lockfile.Name)), old)
	if err != nil {
		return err
	}
	rest := &lockfile.Lock{Skills: maps.Clone(lock.Skills)}
	for key, e := range lock.Skills {
		to, moves := strings.CutPrefix(key, filepath.ToSlash(below)+"/")
		if !moves {
			continue
		}
		delete(rest.Skills, key)
		if _, has := in.lock.Skills[to]; !has {
			in.lock.Skills[to] = in.respelt(e)
		}
	}
	if len(rest.Skills) < len(lock.Skills) {
		in.legacy = &legacy{real, old, rest}
	}
	return nil
}

// respelt returns an entry whose source is spelt for the root's lock.
func (in *Installer) respelt(e lockfile.Entry) lockfile.Entry {
	if ref, err := origin.Parse(e.Source, in.o.Legacy, in.o.Home); err == nil {
		e.Source = ref.Below(in.o.Root, in.o.Home).Source
	}
	return e
}

// dropLegacy removes the moved entries from the old lock. It is called when the root's lock has
// them.
func (in *Installer) dropLegacy() {
	from := in.legacy
	if from == nil {
		return
	}
	in.legacy = nil
	file := filepath.Join(from.real, lockfile.Name)
	now, err := in.readLockOf(from.real, in.o.Legacy)
	switch {
	case err != nil:
	case !bytes.Equal(now, from.old):
		err = edit.ErrChanged
	case len(from.rest.Skills) == 0:
		err = edit.Remove(file)
	default:
		err = edit.Replace(file, from.old, from.rest.Bytes())
	}
	if shown := in.shown(filepath.Join(in.o.Legacy, lockfile.Name)); err != nil {
		in.warn("%s records skills for all projects, which are in %s now, and cannot be changed (%s): remove them there", shown, in.lockShown(), cause(err))
	} else {
		in.warn("%s recorded skills for all projects: they are in %s now", shown, in.lockShown())
	}
}
