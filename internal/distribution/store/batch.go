package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"sync"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// Batch receives skills during a fetch. It is an [origin.Sink] and safe for concurrent use.
type Batch struct {
	s    *Store
	ctx  context.Context
	tree *edit.Tree

	mu       sync.Mutex
	skills   map[string]*received
	parts    int
	count    int         // skills that were announced
	expected edit.Extent // of the skills that were announced
	coming   edit.Extent // the part of expected that is not written yet
	entries  int         // files and folders received so far
	failed   error       // why the store cannot accept more, or nil
	closed   bool
}

// received is the received part of a skill.
type received struct {
	part  string // its folder in the tree
	files []lockfile.File
	paths origin.Paths
	count int
	size  int64
	err   error
}

// Batch begins a batch. The caller closes it.
func (s *Store) Batch(ctx context.Context) (*Batch, error) {
	if err := s.write(); err != nil {
		return nil, err
	}
	tree, err := edit.NewTree(s.path(tmpFolder))
	if err != nil {
		return nil, s.fault(err)
	}
	tree.ReadOnly = true
	s.mu.Lock()
	s.batches++
	s.mu.Unlock()
	return &Batch{s: s, ctx: ctx, tree: tree, skills: map[string]*received{}}, nil
}

// received returns the received part of a skill. The caller holds b.mu.
func (b *Batch) received(path string) *received {
	t := b.skills[path]
	if t == nil {
		t = &received{part: strconv.Itoa(b.parts)}
		b.parts++
		b.skills[path] = t
	}
	return t
}

// Expect announces skills before their files arrive. It fails if all announced skills together
// exceed the limits of a source or the free space of the disk. See [origin.Counter].
func (b *Batch) Expect(skills []origin.Skill) error {
	next, err := origin.Bounded(skills)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count += len(skills)
	b.expected.Add(next)
	b.coming.Add(next)
	if b.count > origin.MaxSkills {
		return origin.TooManySkills(b.count)
	}
	if err := origin.BoundEntries(b.expected.Entries); err != nil {
		return err
	}
	return b.s.Fit(b.coming)
}

// Err returns the error that ended the batch, or nil.
func (b *Batch) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// File receives a file of the skill with this path. See [origin.Sink].
func (b *Batch) File(path string, f origin.File, content io.Reader) error {
	t, limit, err := b.admit(path, f)
	if err != nil {
		return err
	}
	n, sum, err := b.tree.File(t.part+"/"+f.Path, f.Exec, content, limit)
	b.mu.Lock()
	defer b.mu.Unlock()
	t.size += n
	b.coming.Bytes = max(b.coming.Bytes-n, 0)
	switch {
	case errors.Is(err, edit.ErrTooLarge), err == nil && t.size > origin.MaxSize:
		err = origin.TooLarge()
	case isOfStore(err):
		err = b.s.fault(err)
		b.failed = cmp.Or(b.failed, err)
	case err != nil:
		err = fmt.Errorf("read %s: %w", display.Quote(f.Path), err)
	case f.Size >= 0 && n != f.Size:
		err = fmt.Errorf("%s has %s bytes, and the source said %s", display.Quote(f.Path), display.Thousands(int(n)), display.Thousands(int(f.Size)))
	}
	t.err = cmp.Or(t.err, err)
	t.files = append(t.files, lockfile.File{Path: f.Path, Size: n, Digest: skill.Digest(sum), Exec: f.Exec})
	return err
}

// isOfStore reports whether an error of [edit.Tree.File] comes from the disk.
func isOfStore(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p)
}

// admit counts a new file, and returns its maximum size.
func (b *Batch) admit(path string, f origin.File) (t *received, limit int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t = b.received(path)
	if err := cmp.Or(t.err, b.failed, b.ctx.Err()); err != nil {
		return nil, 0, err
	}
	t.count++
	switch limit = origin.MaxSize - t.size; {
	case t.count > origin.MaxFiles:
		err = origin.TooManyFiles()
	case f.Size > limit:
		err = origin.TooLarge()
	default:
		before := t.paths.Entries()
		err = t.paths.Add(f.Path)
		came := t.paths.Entries() - before
		if t.count == 1 {
			came++ // the skill's folder
		}
		b.entries += came
		b.coming.Entries = max(b.coming.Entries-came, 0)
		if over := origin.BoundEntries(b.entries); over != nil {
			b.failed = cmp.Or(b.failed, over)
			err = cmp.Or(err, over)
		}
	}
	t.err = err
	return t, limit, err
}

// Fail records that a skill cannot be fetched. See [origin.Sink].
func (b *Batch) Fail(path string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.received(path)
	t.err = cmp.Or(t.err, err)
}

// Finish moves a complete skill to its folder in the store. It returns the first error of File
// and Fail about this skill, if any. Later files with its path belong to another skill.
func (b *Batch) Finish(path string) (Skill, error) {
	b.mu.Lock()
	t := b.received(path)
	delete(b.skills, path)
	err := cmp.Or(t.err, b.failed, b.ctx.Err())
	b.mu.Unlock()
	if err == nil && len(t.files) == 0 {
		err = errors.New("the source sent no file of it")
	}
	if err != nil {
		return Skill{}, err
	}
	lockfile.Sort(t.files)
	k := Skill{lockfile.Digest(t.files), t.files}
	for range 3 { // another process may remove or create the same skill
		if _, err = b.s.Find(k.Digest); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err = b.s.fault(b.tree.MovePart(t.part, edit.Named(b.s.Folder(k.Digest)))); !errors.Is(err, edit.ErrExists) {
			break
		}
	}
	if err != nil {
		return Skill{}, err
	}
	return k, nil
}

// Close removes the unfinished parts of the batch. A second call does nothing.
func (b *Batch) Close() error {
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.mu.Unlock()
	if closed {
		return nil
	}
	b.s.mu.Lock()
	b.s.batches--
	b.s.mu.Unlock()
	return b.s.fault(b.tree.Remove())
}
