// Package origintest provides sinks and temporary files for the tests of several origins.
package origintest

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/store"
)

// Sink keeps the files that a library sends.
type Sink struct {
	// Files has the contents by "SKILL: PATH", with a + at the end if the file is executable.
	Files  map[string]string
	Failed map[string]error
	// Refuse is the path of a file that the sink refuses, or "".
	Refuse string
}

// NewSink returns an empty sink.
func NewSink() *Sink { return &Sink{Files: map[string]string{}, Failed: map[string]error{}} }

// File implements [origin.Sink].
func (s *Sink) File(skill string, f origin.File, content io.Reader) error {
	if f.Path == s.Refuse {
		return fmt.Errorf("%s is refused", f.Path)
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if f.Size >= 0 && int64(len(data)) != f.Size {
		return fmt.Errorf("%d bytes instead of %d", len(data), f.Size)
	}
	key := skill + ": " + f.Path
	if f.Exec {
		key += "+"
	}
	if _, twice := s.Files[key]; twice {
		s.Failed[skill] = fmt.Errorf("%s was sent twice", key)
	}
	s.Files[key] = string(data)
	return nil
}

// Fail implements [origin.Sink].
func (s *Sink) Fail(skill string, err error) { s.Failed[skill] = err }

// Take fetches the skills of a library that have no fault. It returns all skills, and the files.
func Take(ctx context.Context, l origin.Library) ([]origin.Skill, *Sink, error) {
	to := NewSink()
	skills, err := l.Skills(ctx)
	if err != nil {
		return nil, to, err
	}
	return skills, to, l.Fetch(ctx, origin.Sound(skills), to)
}

// Store fetches all skills of a library into a store. It returns each skill as "NAME DESCRIPTION:
// PATH SIZE EXEC…", or the error of its fetch.
func Store(ctx context.Context, s *store.Store, l origin.Library) (map[string]string, error) {
	skills, err := l.Skills(ctx)
	if err != nil {
		return nil, err
	}
	b, err := s.Batch(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if err := l.Fetch(ctx, skills, b); err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, k := range skills {
		got, err := b.Finish(k.Path)
		if err != nil {
			all[k.Path] = err.Error()
			continue
		}
		text := k.Name + " " + k.Description + ":"
		for _, f := range got.Files {
			text += fmt.Sprintf(" %s %d %t", f.Path, f.Size, f.Exec)
		}
		if got.Digest != lockfile.Digest(got.Files) {
			text += " (another digest)"
		}
		all[k.Path] = text
	}
	return all, nil
}

// Spools returns a function that makes temporary files. The test fails if one of them is not closed.
func Spools(t testing.TB) func() (origin.Spool, error) {
	dir, open := t.TempDir(), new(atomic.Int64)
	t.Cleanup(func() {
		if n := open.Load(); n != 0 {
			t.Errorf("%d spools are left", n)
		}
	})
	return func() (origin.Spool, error) {
		s, err := edit.NewSpool(dir)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return spool{s, open}, nil
	}
}

// spool counts the open spools of a test.
type spool struct {
	*edit.Spool
	open *atomic.Int64
}

func (s spool) Close() error {
	s.open.Add(-1)
	return s.Spool.Close()
}
