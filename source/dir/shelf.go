package dir

import (
	"context"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/knack-dev/knack/skill"
)

// Shelf is a folder in which another package stores the folders of skills at known paths. It opens
// them as a [Source] does: contained, and without links on the way.
type Shelf struct{ *location }

// OpenShelf resolves the folder dir, an absolute path. It keeps nothing open.
func OpenShelf(dir string) (*Shelf, error) {
	real, err := realRoot(dir)
	if err != nil {
		return nil, bare(err)
	}
	at := &location{opener: pickOpener(), base: real, plain: true}
	top, err := at.opener.folder(real, true)
	if err != nil {
		return nil, bare(err)
	}
	defer top.close()
	if h, ok := top.(stampHandle); ok && h.keepsTimes() {
		if stamp, err := h.stamp("."); err == nil {
			at.dev = stamp.Dev
		}
	}
	return &Shelf{at}, nil
}

// FS returns the folder at a slash-separated path below the shelf as a file system, like
// [skill.Bundle.FS]. It does not touch the disk.
func (s *Shelf) FS(sub string) fs.FS { return &folder{s.location, sub} }

// Load loads skills whose main files are known, in parallel. bundles[i] is in the folder sub(i).
// Load sets the stamps of the bundles. If it cannot read a skill directly, the skill is nil, and
// the caller reads it through its file system. If alone is set, Load uses one worker and leaves the
// other processors to other work.
func (s *Shelf) Load(ctx context.Context, bundles []*skill.Bundle, sub func(i int) string, alone bool) ([]*skill.Skill, error) {
	out := make([]*skill.Skill, len(bundles))
	top, err := s.opener.folder(s.base, true)
	if err != nil {
		return nil, bare(err)
	}
	defer top.close()
	h, ok := top.(fastHandle)
	if !ok {
		return out, nil
	}
	workers := 2 * runtime.GOMAXPROCS(0)
	if alone {
		workers = 1
	}
	progress := skill.Progress(ctx)
	var at atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(bundles)) {
		wg.Go(func() {
			r := readers.Get().(*reader)
			defer readers.Put(r)
			for {
				to := int(at.Add(visitsAtOnce))
				for i := to - visitsAtOnce; i < min(to, len(bundles)); i++ {
					if b := bundles[i]; b.Entry != "" {
						out[i] = loaded(h, b, sub(i), r)
					}
					progress.Add(1)
				}
				runtime.Gosched() // see walk.visitAll
				if to >= len(bundles) || ctx.Err() != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return out, ctx.Err()
}

func loaded(h fastHandle, b *skill.Bundle, sub string, r *reader) *skill.Skill {
	data, stamp, err := h.read(sub+"/"+b.Entry, skill.MaxSkillMD, r.file)
	if err != nil {
		return nil
	}
	r.file, b.Stamp = data[:cap(data)], stamp
	return (&skill.Skill{Bundle: b}).Parsed(data, stamp)
}
