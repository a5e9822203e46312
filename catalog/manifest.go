package catalog

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
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
	slots chan struct{} // bounds what is hashed at once, over all callers

	mu   sync.Mutex
	kept map[place]*digests
}

// digests are what is known of one skill's files.
type digests struct {
	busy  chan struct{} // capacity 1: held by the one who hashes
	dir   string        // the folder they belong to; a root's label may move to another
	files map[string]hashed
}

type hashed struct {
	file skill.File
	at   time.Time // before it was read
}

// NewManifests makes an empty cache that forgets the skills which the catalogue
// loses.
func NewManifests(c *Catalog) *Manifests {
	m := &Manifests{slots: make(chan struct{}, 2*runtime.GOMAXPROCS(0)), kept: map[place]*digests{}}
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
		noteFolders(ctx, e)
		files, err := m.files(ctx, e)
		if err == nil && mainDigest(files) == e.Digest {
			for _, f := range files {
				note(ctx, e, e.OnDisk(f.Path), f.Stamp)
			}
			return e, files, nil
		}
		Doubt(ctx)
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

func (m *Manifests) of(e *Entry) *digests {
	at := place{e.Root.Label, e.Path}
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.kept[at]
	if d == nil || d.dir != e.Dir {
		d = &digests{busy: make(chan struct{}, 1), dir: e.Dir}
		m.kept[at] = d
	}
	return d
}

func (m *Manifests) files(ctx context.Context, e *Entry) ([]skill.File, error) {
	d := m.of(e)
	if err := acquire(ctx, d.busy); err != nil {
		return nil, err
	}
	defer func() { <-d.busy }()
	if err := acquire(ctx, m.slots); err != nil {
		return nil, err
	}
	defer func() { <-m.slots }()
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
	return nil, &fs.PathError{Op: "manifest", Path: e.Folder, Err: skill.ErrUnstable}
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
		return nil, &fs.PathError{Op: "manifest", Path: e.Folder, Err: skill.ErrTooLarge}
	}
	return files, nil
}

// hash fills in the digests, from what is known where that holds, and keeps them.
// It reports whether a file was read.
func (d *digests) hash(ctx context.Context, e *Entry, files []skill.File) (read bool, err error) {
	next := make(map[string]hashed, len(files))
	var buf []byte
	for i, f := range files {
		if h, ok := d.files[f.Path]; ok && h.file.Stamp == f.Stamp && h.file.Size == f.Size && !f.Stamp.Racy(h.at) {
			files[i] = h.file
			next[f.Path] = h
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
		next[f.Path] = hashed{files[i], at}
	}
	d.files = next
	return read, nil
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
