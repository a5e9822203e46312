package catalog

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/knack-dev/knack/skill"
)

// manifestTries is how often a manifest is begun anew because the skill changed
// under it.
const manifestTries = 4

// Manifests makes the manifests of a catalogue's skills. Each file is hashed once
// for each of its versions, as its stamp tells them apart; a file so young that a
// second write could leave the same stamp is hashed again until it is older.
// Nothing is hashed before it is asked for.
type Manifests struct {
	catalog *Catalog
	slots   chan struct{} // bounds what is hashed at once, over all callers

	mu   sync.Mutex
	kept map[place]*digests
}

// digests are what is known of one skill's files.
type digests struct {
	busy  chan struct{} // capacity 1: held by the one who hashes
	dir   string        // the folder they belong to; a root's label may move to another
	files []skill.File  // in path order; of no file so young that its stamp proves nothing
	// slow is when one pass last did not do.
	slow time.Time
}

// NewManifests makes an empty cache that forgets the skills which the catalogue
// loses.
func NewManifests(c *Catalog) *Manifests {
	m := &Manifests{catalog: c, slots: make(chan struct{}, 2*runtime.GOMAXPROCS(0)), kept: map[place]*digests{}}
	c.Subscribe(func(d Diff) {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, e := range d.Removed {
			delete(m.kept, place{e.Root.Label, e.Path})
		}
	})
	return m
}

// Of lists every file of a skill with the digest of its bytes as they are now.
// The entry returned and the manifest describe one state: where SKILL.md is no
// longer what the view knows, the catalogue takes the new one in first. The error
// is [skill.ErrTooLarge] for a skill over the limits of publication,
// [skill.ErrIncomplete] for one whose files cannot all be listed,
// [fs.ErrNotExist] for one that is gone or no longer available, and
// [skill.ErrUnstable] for one that does not stand still.
func (m *Manifests) Of(ctx context.Context, v View, e *Entry) (*Entry, []skill.File, error) {
	for range manifestTries {
		files, err := m.files(ctx, e)
		if err == nil && mainDigest(files) == e.Digest {
			return e, files, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return e, nil, err
		}
		_, now, err := v.Read(ctx, e)
		switch {
		case ctx.Err() != nil:
			return e, nil, ctx.Err()
		case now != nil && !now.Available:
			return now, nil, fs.ErrNotExist
		case err != nil:
			return e, nil, err
		}
		e = now
	}
	return e, nil, skill.ErrUnstable
}

func mainDigest(files []skill.File) skill.Digest {
	for _, f := range files {
		if f.Path == skill.MainFile {
			return f.Digest
		}
	}
	return skill.Digest{}
}

// digests are what is known of a skill's files; at first, what the catalogue has
// read.
func (m *Manifests) digests(e *Entry) *digests {
	at := place{e.Root.Label, e.Path}
	m.mu.Lock()
	d := m.kept[at]
	m.mu.Unlock()
	if d != nil && d.dir == e.Dir() {
		return d
	}
	first := &digests{busy: make(chan struct{}, 1), dir: e.Dir(), files: m.catalog.mainFile(e)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.kept[at]; now != nil && now != d && now.dir == e.Dir() {
		return now // somebody was faster
	}
	m.kept[at] = first
	return first
}

// mainFile is SKILL.md as it was read, where its stamp would tell if it changed.
func (c *Catalog) mainFile(e *Entry) []skill.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.knownAt(place{e.Root.Label, e.Path}); k.skill != e.Skill || !k.settled() {
		return nil
	}
	return []skill.File{{Path: skill.MainFile, Size: int64(e.Size), Digest: e.Digest, Stamp: e.Stamp}}
}

// files lists a skill's files with their digests, as they are now.
func (m *Manifests) files(ctx context.Context, e *Entry) ([]skill.File, error) {
	d := m.digests(e)
	if err := acquire(ctx, d.busy); err != nil {
		return nil, err
	}
	defer func() { <-d.busy }()
	if err := acquire(ctx, m.slots); err != nil {
		return nil, err
	}
	defer func() { <-m.slots }()
	return d.now(ctx, e)
}

// now makes the manifest: in one pass, or where that does not do, the long way.
func (d *digests) now(ctx context.Context, e *Entry) ([]skill.File, error) {
	if d.whole(ctx, e) {
		return d.files, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for range manifestTries {
		files, err := listed(ctx, e)
		if err != nil {
			return nil, err
		}
		read, err := d.hash(ctx, e, files)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went away meanwhile
		}
		if err != nil || !read {
			return files, err
		}
		// What was hashed took its time: the whole must still be one state.
		again, err := listed(ctx, e)
		if err != nil {
			return nil, err
		}
		if sameFiles(files, again) {
			return files, nil
		}
	}
	return nil, &fs.PathError{Op: "manifest", Path: e.Folder(), Err: skill.ErrUnstable}
}

func acquire(ctx context.Context, slot chan struct{}) error {
	select {
	case slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listed lists a skill's files, within the limits of publication.
func listed(ctx context.Context, e *Entry) ([]skill.File, error) {
	files, more, err := e.List(ctx, skill.MaxFiles)
	if err != nil {
		return nil, err
	}
	var total int64
	for _, f := range files {
		total += f.Size
	}
	if more || total > skill.MaxSkillSize {
		return nil, &fs.PathError{Op: "manifest", Path: e.Folder(), Err: skill.ErrTooLarge}
	}
	return files, nil
}

// slowFor is how long one pass is not tried again where it did not do.
const slowFor = 10 * time.Second

// whole makes the manifest in one pass, where that does.
func (d *digests) whole(ctx context.Context, e *Entry) bool {
	if time.Since(d.slow) < slowFor {
		return false
	}
	files, ok := e.Whole(ctx, d.files)
	if ok {
		d.files = files
	} else if ctx.Err() == nil {
		d.slow = time.Now()
	}
	return ok
}

// hash fills in the digests, from what is known where that holds, and keeps them.
// It reports whether a file was read.
func (d *digests) hash(ctx context.Context, e *Entry, files []skill.File) (read bool, err error) {
	keep := make([]skill.File, 0, len(files))
	var buf []byte
	for i, f := range files {
		if k, ok := find(d.files, f.Path); ok && k.Stamp == f.Stamp && k.Size == f.Size {
			files[i] = k
			keep = append(keep, k)
			continue
		}
		if err := ctx.Err(); err != nil {
			return read, err
		}
		if buf == nil {
			buf = make([]byte, skill.HashBuffer)
		}
		read = true
		at := time.Now()
		if files[i], err = e.Hash(f.Path, buf); err != nil {
			return read, err
		}
		if !files[i].Stamp.Racy(at) {
			keep = append(keep, files[i])
		}
	}
	d.files = keep
	return read, nil
}

// find finds a file among files that are in path order.
func find(files []skill.File, path string) (skill.File, bool) {
	i, ok := slices.BinarySearchFunc(files, path, func(f skill.File, path string) int { return cmp.Compare(f.Path, path) })
	if !ok {
		return skill.File{}, false
	}
	return files[i], true
}

func sameFiles(a, b []skill.File) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Path != b[i].Path || a[i].Size != b[i].Size || a[i].Stamp != b[i].Stamp {
			return false
		}
	}
	return true
}
