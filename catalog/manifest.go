package catalog

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/skill"
)

// manifests caches the digests of the files of a catalogue's skills. It hashes each version
// of a file once; the stamp tells versions apart. A file so young that a second write could
// leave the same stamp is hashed each time. So is one that was seen to change without a new
// stamp. Nothing is hashed before it is requested.
type manifests struct {
	late sync.Map // root to *atomic.Int32: its manifests that take long

	mu   sync.Mutex
	kept map[place]*digests
}

// lateManifests is how many manifests of a root may take long before no more begin. It
// bounds how long a list of skills on a silent disk takes.
const lateManifests = 4

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
	turn  chan struct{} // capacity 1: a caller that holds the slot may use the next three
	asked time.Time     // when the latest manifest began
	all   []skill.File  // in it
	fault error
	busy  chan struct{} // capacity 1: a goroutine that holds the slot may use the fields below
	dir   string        // the folder they belong to; a root's label may move to another
	files []skill.File  // in path order, without the doubted ones
	// doubted holds, by path, the stamps of files that changed without a new stamp.
	doubted map[string]skill.Stamp
}

// Manifest lists every file of a skill with the digest of its bytes as they are now.
// The entry returned and the manifest describe one state. If SKILL.md is no longer
// what the view knows, the catalogue takes in the new one first. The error is
// [skill.ErrTooLarge] for a skill over the limits of publication, and [skill.ErrIncomplete] for one whose files cannot all be listed. It is
// [fs.ErrNotExist] for one that is gone or no longer available,
// [skill.ErrUnstable] for one that keeps changing, and [skill.ErrBusy] if its disk does
// not answer in time.
func (v View) Manifest(ctx context.Context, e *Entry) (*Entry, []skill.File, error) {
	patient, cancel := context.WithTimeout(context.WithValue(ctx, inPlace{}, nil), busyPatience)
	defer cancel()
	e, files, err := v.manifest(patient, e)
	if err != nil && patient.Err() != nil && ctx.Err() == nil {
		err = skill.ErrBusy
	}
	if errors.Is(err, skill.ErrBusy) {
		e.RecordRead(ctx, skill.MainFile, nil, err)
	}
	return e, files, err
}

func (v View) manifest(ctx context.Context, e *Entry) (*Entry, []skill.File, error) {
	for range 4 { // the skill may change meanwhile
		files, err := v.digestsOf(ctx, e)
		if err == nil && slices.ContainsFunc(files, func(f skill.File) bool { return f.Path == skill.MainFile && f.Digest == e.Digest }) {
			return e, files, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return e, nil, err
		}
		_, now, err := v.Read(ctx, e)
		switch {
		case now != nil && !now.Available:
			return now, nil, fs.ErrNotExist
		case err != nil:
			return e, nil, err
		}
		e = now
	}
	return e, nil, skill.ErrUnstable
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
	first := &digests{turn: make(chan struct{}, 1), busy: make(chan struct{}, 1), dir: e.Dir(), files: c.mainFile(e)}
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

// digestsOf lists a skill's files with their digests, as they are now. It keeps the digests
// even if they come too late for the caller, so that a slow disk gets further at each call.
// Callers wait for their turn without a slot, and share a manifest that began after they came.
func (v View) digestsOf(ctx context.Context, e *Entry) ([]skill.File, error) {
	came := time.Now()
	n, _ := v.catalog.manifests.late.LoadOrStore(*e.Root, new(atomic.Int32))
	late, d := n.(*atomic.Int32), v.catalog.digests(e)
	if late.Load() >= lateManifests {
		return nil, skill.ErrBusy
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if d.asked.After(came) {
		return d.all, d.fault
	}
	failed, asked := error(nil), time.Now()
	files, err := Await(ctx, v, e, func() (files []skill.File) {
		select {
		case d.busy <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		begun := time.Now()
		slow := time.AfterFunc(busyPatience/2, func() { late.Add(1) })
		defer func() {
			if !slow.Stop() {
				late.Add(-1)
			}
			<-d.busy
		}()
		if files, failed = e.Manifest(context.WithoutCancel(ctx), d.files); failed != nil {
			return nil
		}
		d.files = files
		if doubt := func(f skill.File) bool { return f.Stamp.Racy(begun) || d.doubts(f) }; slices.ContainsFunc(files, doubt) {
			d.files = slices.DeleteFunc(slices.Clone(files), doubt)
		}
		return files
	})
	if err != nil { // failed may not be set yet
		return nil, err
	}
	d.asked, d.all, d.fault = asked, files, failed
	return files, failed
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
