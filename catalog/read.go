package catalog

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
)

// smallRead is the largest size of a file that is read in one step. For a larger file, the reader
// first finds out the size. Then it waits for memory, without occupying a read slot.
const smallRead = 64 << 10

// copiesRead is the number of copies of a SKILL.md in memory while an answer is made. They are its
// bytes, its text, and the answer, which may contain it twice. They are reserved in one step,
// because calls that reserve in two steps could wait for each other.
const copiesRead = 4

// Read reads an entry's SKILL.md as it is on disk now. If it differs from the snapshot, the
// catalogue updates itself first. The entry returned describes the bytes returned; if they are no
// longer a skill, it is not Available. An entry that is gone yields [fs.ErrNotExist]. If the disk
// blocks, Read returns when the context ends; see [Await].
func (v View) Read(ctx context.Context, e *Entry) ([]byte, *Entry, error) {
	data, now, err := v.readMain(ctx, e)
	now.RecordRead(ctx, skill.MainFile, data, err)
	return data, now, err
}

func (v View) readMain(ctx context.Context, e *Entry) ([]byte, *Entry, error) {
	if size := int64(e.Size); size > smallRead {
		if err := limit.Reserve(ctx, copiesRead*size); err != nil {
			return nil, e, err
		}
	}
	for range 4 {
		r, err := Await(ctx, v, e, func() reading { return readNow(e) })
		switch {
		case err != nil:
			return nil, e, err
		case r.err == nil:
			v.catalog.digests.verify(e.rootPath(), e.Dir(), skill.MainFile, r.fresh.Stamp, func() skill.Digest { return r.fresh.Digest })
		}
		if r.fresh == e.Skill {
			return r.data, e, nil
		}
		now := v.catalog.update(e, r.fresh, r.begun).through(v.filter).samePlace(e)
		switch {
		case now == nil:
			return nil, e, fs.ErrNotExist
		case r.err == nil && now.Digest == r.fresh.Digest:
			return r.data, now, nil
		case r.err == nil && now.Name == r.fresh.Name && now.Entry == r.fresh.Entry && now.Available && r.fresh.Available:
			// Another call read a later version first. This one was valid too.
			then := *now
			then.Skill = r.fresh
			return r.data, &then, nil
		case r.err != nil && !now.Available:
			return nil, now, r.err
		}
		e = now
	}
	return nil, e, skill.ErrUnstable
}

// reading is the result of one read of a SKILL.md: the bytes and the skill parsed from them. If the
// bytes have not changed, fresh is the entry's own skill.
type reading struct {
	data  []byte
	fresh *skill.Skill
	begun time.Time
	err   error // from reading the file
}

func readNow(e *Entry) reading {
	r := reading{begun: time.Now()}
	data, stamp, err := e.Skill.Read()
	r.data, r.err = data, err
	switch {
	case r.err != nil:
		b := e.Bundle
		if why := skill.Refusal(r.err); why != nil { // no scan has seen the fault yet
			b = b.WithFault(why)
		}
		r.fresh = skill.Load(b)
	case skill.DigestOf(r.data) == e.Digest: // the stamp alone could miss a write within the clock's resolution
		r.fresh = e.Skill
	default:
		r.fresh = e.Skill.Parsed(r.data, stamp)
	}
	return r
}

// ReadFile reads a file of the skill by its served path, as it is on disk now. It reads at most
// [skill.MaxFile] bytes, and returns when the context ends. It reserves memory for the given number
// of copies of a large file. It returns errors of the file, of [Await] and of [limit.Reserve].
func (v View) ReadFile(ctx context.Context, e *Entry, path string, copies int64) ([]byte, error) {
	data, stamp, err := v.ReadReserved(ctx, e, skill.MaxFile, copies, func(most int64) ([]byte, skill.Stamp, error) { return e.ReadServed(path, most) })
	e.RecordRead(ctx, path, data, err)
	if err == nil {
		v.catalog.digests.verify(e.rootPath(), e.Dir(), path, stamp, func() skill.Digest { return skill.DigestOf(data) })
	}
	return data, err
}

// ReadReserved reads a file of the skill with read, as [View.ReadFile] does, and reserves memory
// for copies of a large file. It passes read a limit that is never above most. For a file over that
// limit, read returns [skill.ErrTooLarge] and the stamp.
func (v View) ReadReserved(ctx context.Context, e *Entry, most, copies int64, read func(most int64) ([]byte, skill.Stamp, error)) ([]byte, skill.Stamp, error) {
	type file struct {
		data  []byte
		stamp skill.Stamp
		err   error
	}
	bound, had := int64(smallRead), int64(0)
	for range 4 {
		f, err := Await(ctx, v, e, func() file {
			data, stamp, err := read(bound)
			return file{data, stamp, err}
		})
		if err = cmp.Or(err, f.err); !errors.Is(err, skill.ErrTooLarge) || f.stamp.Size > most || bound >= most {
			return f.data, f.stamp, err
		}
		if err := limit.Reserve(ctx, copies*(f.stamp.Size-had)); err != nil {
			return nil, f.stamp, err
		}
		bound, had = f.stamp.Size, f.stamp.Size
	}
	return nil, skill.Stamp{}, skill.ErrUnstable
}

// RecordRead records in the request's trace that a file of the skill was read, or the error of the
// read; see [Trace]. [View.Read] and [View.ReadFile] call it themselves.
func (e *Entry) RecordRead(ctx context.Context, path string, data []byte, err error) {
	trace := TraceOf(ctx)
	switch {
	case trace == nil:
		return
	case err != nil:
		trace.Failed(err)
		return
	}
	at := e.Place() // a skipped skill has no URI, but contract 000 still reads it
	if uri, err := e.FileURI(path); err == nil && e.Status != Skipped {
		at = uri.String()
	}
	trace.Got(at, data)
}
