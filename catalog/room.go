package catalog

import (
	"context"
	"errors"

	"github.com/knack-dev/knack/skill"
)

// Room bounds the memory of what is read for a request.
type Room interface {
	// Wait reserves room for that many bytes. It returns false if it gets no room in time.
	Wait(ctx context.Context, bytes int64) bool
}

type roomKey struct{}

// WithRoom returns a context in which each read reserves room first. Files below
// [smallRead] need no room.
func WithRoom(ctx context.Context, r Room) context.Context {
	return context.WithValue(ctx, roomKey{}, r)
}

// Hold reserves room for bytes that a request is about to hold. The error is
// [skill.ErrNoRoom], or the context's.
func Hold(ctx context.Context, bytes int64) error {
	r, _ := ctx.Value(roomKey{}).(Room)
	switch {
	case r == nil || bytes <= 0 || r.Wait(ctx, bytes):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return skill.ErrNoRoom
}

// smallRead is the largest size of a file that is read at once. For a larger file, the
// reader takes its size first and waits for room without a slot among the disk's readers.
const smallRead = 64 << 10

// copiesOfMain is how many copies of a SKILL.md are in memory while an answer is made:
// its bytes, its text, and the answer.
const copiesOfMain = 3

// readRoomy reads as e.ReadServed does, and reserves room for large files.
func readRoomy(ctx context.Context, v View, e *Entry, path string) (data []byte, stamp skill.Stamp, err error) {
	type file struct {
		data  []byte
		stamp skill.Stamp
		err   error
	}
	most, had := int64(skill.MaxFile), int64(0)
	if ctx.Value(roomKey{}) != nil {
		most = smallRead
	}
	for range 4 {
		f, err := Await(ctx, v, e, func() file {
			data, stamp, err := e.ReadServed(path, most)
			return file{data, stamp, err}
		})
		if err != nil || !errors.Is(f.err, skill.ErrTooLarge) || f.stamp.Size > skill.MaxFile || most >= skill.MaxFile {
			if err == nil {
				err = f.err
			}
			return f.data, f.stamp, err
		}
		if err := Hold(ctx, f.stamp.Size-had); err != nil {
			return nil, f.stamp, err
		}
		most, had = f.stamp.Size, f.stamp.Size
	}
	return nil, skill.Stamp{}, skill.ErrUnstable
}
