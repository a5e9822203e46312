package catalog

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/knack-dev/knack/skill"
)

// manifestTries bounds how often a manifest is restarted because the skill changed
// meanwhile.
const manifestTries = 4

// manifests caches the digests of the files of a catalogue's skills. It hashes each version
// of a file once; the stamp tells versions apart. A file so young that a second write could
// leave the same stamp is hashed each time. So is one that was seen to change without a new
// stamp. Nothing is hashed before it is requested.
type manifests struct {
	slots chan struct{} // bounds the hashing at one time, over all callers

	mu   sync.Mutex
	kept map[place]*digests
}

func newManifests() *manifests {
	return &manifests{slots: make(chan struct{}, 2*runtime.GOMAXPROCS(0)), kept: map[place]*digests{}}
}

// forget drops the digests of removed skills.
func (m *manifests) forget(removed []*Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range removed {
		delete(m.kept, place{e.Root.Label, e.Path})
	}
}

// digests holds the known digests of one skill's files.
type digests struct {
	busy  chan struct{} // capacity 1: a goroutine that holds the slot may use the other fields
	dir   string        // the folder they belong to; a root's label may move to another
	files []skill.File  // in path order, without the doubted ones
	// doubted holds, by path, the stamps of files that changed without a new stamp.
	doubted map[string]skill.Stamp
}

// Manifest lists every file of a skill with the digest of its bytes as they are now.
// The entry returned and the manifest describe one state. If SKILL.md is no longer
// what the view knows, the catalogue takes in the new one first.
//
// The error is [skill.ErrTooLarge] for a skill over the limits of publication,
// and [skill.ErrIncomplete] for one whose files cannot all be listed. It is
// [fs.ErrNotExist] for one that is gone or no longer available, and
// [skill.ErrUnstable] for one that keeps changing.
func (v View) Manifest(ctx context.Context, e *Entry) (*Entry, []skill.File, error) {
	for range manifestTries {
		files, err := v.catalog.digestsOf(ctx, e)
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

// digests returns the known digests of a skill's files. At first these are what the
// catalogue has read.
func (c *Catalog) digests(e *Entry) *digests {
	m, at := c.manifests, place{e.Root.Label, e.Path}
	m.mu.Lock()
	d := m.kept[at]
	m.mu.Unlock()
	if d != nil && d.dir == e.Dir() {
		return d
	}
	first := &digests{busy: make(chan struct{}, 1), dir: e.Dir(), files: c.mainFile(e)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.kept[at]; now != nil && now != d && now.dir == e.Dir() {
		return now // another caller was faster
	}
	m.kept[at] = first
	return first
}

// mainFile returns SKILL.md as it was read. It returns nil if the entry is outdated, or
// if the file could have changed without a new stamp.
func (c *Catalog) mainFile(e *Entry) []skill.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.cached(placeIn{*e.Root, e.Path}); k.Skill != e.Skill || !c.settled(*e.Root, k) {
		return nil
	}
	return []skill.File{{Path: skill.MainFile, Size: int64(e.Size), Digest: e.Digest, Stamp: e.Stamp}}
}

// digestsOf lists a skill's files with their digests, as they are now.
func (c *Catalog) digestsOf(ctx context.Context, e *Entry) ([]skill.File, error) {
	d := c.digests(e)
	if err := acquire(ctx, d.busy); err != nil {
		return nil, err
	}
	defer func() { <-d.busy }()
	if err := acquire(ctx, c.manifests.slots); err != nil {
		return nil, err
	}
	defer func() { <-c.manifests.slots }()
	begun := time.Now()
	files, err := e.Manifest(ctx, d.files)
	if err != nil {
		return nil, err
	}
	d.files = files
	if doubt := func(f skill.File) bool { return f.Stamp.Racy(begun) || d.doubts(f) }; slices.ContainsFunc(files, doubt) {
		d.files = slices.DeleteFunc(slices.Clone(files), doubt)
	}
	return files, nil
}

// doubts reports whether a file was seen to change without a new stamp.
func (d *digests) doubts(f skill.File) bool {
	stamp, ok := d.doubted[f.Path]
	return ok && stamp == f.Stamp
}

// verify compares a file that was read with its cached digest. A write through a mapping
// into a dirty page can leave other bytes under an equal stamp. In that case verify drops
// the skill's cached digests, and the file is hashed anew as long as it has that stamp.
func (m *manifests) verify(e *Entry, path string, stamp skill.Stamp, digest func() skill.Digest) {
	m.mu.Lock()
	d := m.kept[place{e.Root.Label, e.Path}]
	m.mu.Unlock()
	if d == nil || d.dir != e.Dir() {
		return
	}
	select {
	case d.busy <- struct{}{}:
		defer func() { <-d.busy }()
	default:
		return // a manifest is being made
	}
	if i := slices.IndexFunc(d.files, func(f skill.File) bool { return f.Path == path }); i >= 0 && d.files[i].Stamp == stamp && d.files[i].Digest != digest() {
		if d.doubted == nil {
			d.doubted = map[string]skill.Stamp{}
		}
		d.doubted[path], d.files = stamp, nil
	}
}

func acquire(ctx context.Context, slot chan struct{}) error {
	select {
	case slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
