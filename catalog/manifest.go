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

// Manifests makes the manifests of a catalogue's skills. It hashes each version of a file
// once; the stamp tells versions apart. A file so young that a second write could leave
// the same stamp is hashed each time. So is one that was seen to change without a new
// stamp. Nothing is hashed before it is requested.
type Manifests struct {
	catalog *Catalog
	slots   chan struct{} // bounds the hashing at one time, over all callers

	mu   sync.Mutex
	kept map[place]*digests
}

// digests holds the known digests of one skill's files.
type digests struct {
	busy  chan struct{} // capacity 1: a goroutine that holds the slot may use the other fields
	dir   string        // the folder they belong to; a root's label may move to another
	files []skill.File  // in path order, without the doubted ones
	// doubted holds, by path, the stamps of files that changed without a new stamp.
	doubted map[string]skill.Stamp
}

// NewManifests returns an empty cache. It forgets skills that the catalogue removes.
func NewManifests(c *Catalog) *Manifests {
	m := &Manifests{catalog: c, slots: make(chan struct{}, 2*runtime.GOMAXPROCS(0)), kept: map[place]*digests{}}
	c.Subscribe(func(d Diff) {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, e := range d.Removed {
			delete(m.kept, place{e.Root.Label, e.Path})
		}
	})
	for {
		all := c.manifests.Load()
		more := []*Manifests{m}
		if all != nil {
			more = append(more, *all...)
		}
		if c.manifests.CompareAndSwap(all, &more) {
			return m
		}
	}
}

// Of lists every file of a skill with the digest of its bytes as they are now.
// The entry returned and the manifest describe one state. If SKILL.md is no longer
// what the view knows, the catalogue takes in the new one first.
//
// The error is [skill.ErrTooLarge] for a skill over the limits of publication,
// and [skill.ErrIncomplete] for one whose files cannot all be listed. It is
// [fs.ErrNotExist] for one that is gone or no longer available, and
// [skill.ErrUnstable] for one that keeps changing.
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

// digests returns the known digests of a skill's files. At first these are what the
// catalogue has read.
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
	if k := c.knownAt(place{e.Root.Label, e.Path}); k.skill != e.Skill || !c.settled(e.Root.Label, k) {
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

// saw compares a file that was read with its cached digest. A write through a mapping
// into a dirty page can leave other bytes under an equal stamp. In that case saw drops
// the skill's cached digests, and the file is hashed anew as long as it has that stamp.
func (m *Manifests) saw(e *Entry, path string, stamp skill.Stamp, digest func() skill.Digest) {
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
	if k, ok := skill.FileIn(d.files, path); ok && k.Stamp == stamp && k.Digest != digest() {
		if d.doubted == nil {
			d.doubted = map[string]skill.Stamp{}
		}
		d.doubted[path], d.files = stamp, nil
	}
}

// saw reports a file that was read to all manifests.
func (c *Catalog) saw(e *Entry, path string, stamp skill.Stamp, digest func() skill.Digest) {
	if all := c.manifests.Load(); all != nil {
		for _, m := range *all {
			m.saw(e, path, stamp, digest)
		}
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
