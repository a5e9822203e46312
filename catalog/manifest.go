package catalog

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/knack-dev/knack/skill"
)

// Manifest lists every file of a skill with the digest of its bytes as they are now. The entry
// returned and the manifest describe one state. If SKILL.md has changed since the snapshot, the
// catalogue updates itself first.
//
// The error is [skill.ErrTooLarge] for a skill over the limits of publication, and
// [skill.ErrIncomplete] if not all of its files can be listed. It is [fs.ErrNotExist] for a skill
// that is gone or no longer available, [skill.ErrUnstable] for a skill that keeps changing, and
// [skill.ErrBusy] if its disk does not answer in time.
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
		files, err := v.digestsOf(ctx, e, func() []skill.File { return v.catalog.mainFile(e) })
		if err == nil && slices.ContainsFunc(files, func(f skill.File) bool { return f.Path == skill.MainFile && f.Digest == e.Digest }) {
			if p := v.catalog.provenance; p != nil {
				if l := p.Locked(e, func() ([]skill.File, error) { return files, nil }); l.Refused != nil {
					return e, nil, l.Refused
				}
			}
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

// digestsOf lists a skill's files with their digests, as they are now. main returns SKILL.md as it
// was read, or nothing if that may be outdated.
func (v View) digestsOf(ctx context.Context, e *Entry, main func() []skill.File) ([]skill.File, error) {
	known := v.catalog.digests.skillAt(*e.Root, e.rootPath(), e.Dir(), main)
	read := func(work func()) error {
		_, err := Await(ctx, v, e, func() any { work(); return nil })
		return err
	}
	return known.manifest(ctx, busyPatience/2, read, func(known []skill.File) ([]skill.File, error) {
		return e.Manifest(context.WithoutCancel(ctx), known)
	})
}

// mainFile returns SKILL.md as it was read. It returns nil if the entry is outdated, or
// if the file could have changed without a new stamp.
func (c *Catalog) mainFile(e *Entry) []skill.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.cached(placeIn{*e.Root, e.Path}); k.Skill == e.Skill {
		return c.settledMain(*e.Root, k)
	}
	return nil
}

// settledMain returns SKILL.md as it was read, or nil if it could have changed without a new stamp.
// The caller holds mu.
func (c *Catalog) settledMain(root skill.Root, k cachedSkill) []skill.File {
	if !c.settled(root, k) {
		return nil
	}
	return []skill.File{{Path: skill.MainFile, Size: int64(k.Size), Digest: k.Digest, Stamp: k.Stamp}}
}
