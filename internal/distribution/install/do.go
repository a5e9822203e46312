package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Do carries out the steps of the plan, and then records them in the lock. If a step fails, it gets
// a problem, and Do continues with the other steps. If the lock cannot be written, or a disk has no
// room, Do returns an error, the plan loses its steps and nothing is done. A dry run only marks the
// steps that a finding or a link blocks, or that the lock cannot record.
func (in *Installer) Do(ctx context.Context, p *Plan) error {
	if err := in.scan(ctx, p); err != nil {
		return err
	}
	if err := in.judge(p.Steps); err != nil || in.o.DryRun {
		return err
	}
	changed := map[string]*lockfile.Skill{}
	var writes, replaces []*Step
	beside := map[string]bool{}
	for _, s := range p.Steps {
		switch s.Do {
		case Record:
			changed[s.Key] = &s.Entry
		case Drop:
			changed[s.Key] = nil
		case Write:
			writes = append(writes, s)
		case Replace, Delete:
			replaces = append(replaces, s)
		default:
			continue
		}
		if s.place != "" {
			beside[in.beside(s.place)] = true
		}
	}
	if len(changed)+len(writes)+len(replaces) > 0 {
		if err := in.canLock(); err != nil {
			p.Steps = nil
			return err
		}
	}
	if err := in.fit(slices.Concat(writes, replaces)); err != nil {
		p.Steps = nil
		return err
	}
	for _, s := range p.Steps {
		in.takeBack(ctx, s)
	}
	in.writeAll(ctx, writes)
	for chunk := range slices.Chunk(replaces, 32) { // each step holds four open descriptors
		in.replaceAll(ctx, chunk)
	}
	for _, s := range append(writes, replaces...) {
		switch s.Do {
		case Write, Replace:
			changed[s.Key] = &s.Entry
		case Delete:
			changed[s.Key] = nil
		}
	}
	for at := range beside {
		_ = edit.Sweep(at, nil) // removes the folder if it is empty
	}
	return in.writeLock(changed)
}

// fit checks that the disk has room for the skills that the steps write.
func (in *Installer) fit(steps []*Step) error {
	need := map[string]edit.Extent{} // by folder
	for _, s := range steps {
		if s.Do == Write || s.Do == Replace {
			dir := filepath.Dir(s.place)
			all := need[dir]
			all.Add(lockfile.Extent(s.Entry.Files))
			need[dir] = all
		}
	}
	room := in.o.Room
	if room == nil {
		room = edit.RoomOf
	}
	for dir, all := range need {
		if s, known := room(dir); known {
			if err := s.Fit(all); err != nil {
				return problem(in.orTo("free some space", "name a folder on another disk"), "nothing was done, since the disk of %s %w", in.formatPath(dir), err)
			}
		}
	}
	return nil
}

// canLock checks that the lock can be written, so that no folder changes without a record.
func (in *Installer) canLock() error {
	spool, err := edit.NewSpool(in.real)
	if err != nil {
		return problem("let the user who runs knack write there", "nothing was done, since %s cannot be written: %w", in.lockShown(), cause(err))
	}
	return spool.Close()
}

func (in *Installer) fail(s *Step, err error) {
	var p *Problem
	switch {
	case errors.Is(err, context.Canceled):
		s.Problem = ProblemOf(err)
	case errors.As(err, &p):
		s.Problem = p
	case errors.Is(err, edit.ErrLink):
		s.Problem = &Problem{Err: fmt.Errorf("a link appeared at %s meanwhile, and knack writes nothing through it", in.formatPath(s.place)), Fix: "remove it, or make it a folder, then run the command again", No: true}
	case errors.Is(err, edit.ErrExists):
		s.Problem = &Problem{Err: errors.New("something was put in its place meanwhile"), Fix: "run the command again", No: true}
	case edit.IsFull(err):
		s.Problem = problem("free some space, then run the command again; the installed files are as before", "the disk of %s is full", in.formatPath(filepath.Dir(s.place)))
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		s.Problem = problem("let the user who runs knack write there", "%s cannot be written: %w", in.formatPath(in.forbidden(s, err)), cause(err))
	case errors.Is(err, syscall.ENOTDIR):
		s.Problem = problem(in.orTo("remove the file", "name another folder"), "a file is in the place of a folder above %s", in.formatPath(s.place))
	case errors.Is(err, syscall.EXDEV):
		s.Problem = problem(in.orTo("move it to the file system of its parent", "name a folder there"), "%s is on another file system than the folder above it", in.formatPath(filepath.Dir(s.place)))
	default:
		s.Problem = ProblemOf(err)
	}
	s.Do = Fail
}

// forbidden returns the folder that lacks write permission. It is the parent of the step's place,
// or of the folder for new trees.
func (in *Installer) forbidden(s *Step, err error) string {
	beside := in.beside(s.place)
	if p := (*fs.PathError)(nil); errors.As(err, &p) && p.Path == beside {
		return filepath.Dir(beside)
	}
	return filepath.Dir(s.place)
}

// writeAll writes the skills whose places are empty. It first writes all of them beside their
// places, then syncs them together, and then moves each into its place.
func (in *Installer) writeAll(ctx context.Context, steps []*Step) {
	trees := map[string]*edit.Tree{}
	defer func() {
		for _, t := range trees {
			t.Remove()
		}
	}()
	part := make(map[*Step]string)
	for i, s := range steps {
		at := in.beside(s.place)
		if trees[at] == nil {
			t, err := edit.NewTree(at)
			if err != nil {
				in.fail(s, err)
				continue
			}
			trees[at] = t
		}
		part[s] = fmt.Sprint(i)
	}
	var done atomic.Int64
	limit.Parallel(runtime.GOMAXPROCS(0), len(steps), func(i int) {
		s := steps[i]
		if in.o.Progress != nil {
			in.o.Progress(origin.Skills, done.Add(1)-1, int64(len(steps)))
		}
		if s.Do == Write {
			if err := in.fill(ctx, trees[in.beside(s.place)], part[s]+"/", s); err != nil {
				in.fail(s, err)
			}
		}
	})
	for at, t := range trees {
		if err := t.Sync(); err != nil {
			for _, s := range steps {
				if s.Do == Write && in.beside(s.place) == at {
					in.fail(s, err)
				}
			}
		}
	}
	for _, s := range steps {
		if s.Do != Write {
			continue
		}
		err := ctx.Err()
		if err == nil {
			err = trees[in.beside(s.place)].MovePart(part[s], s.place)
		}
		if errors.Is(err, edit.ErrExists) { // the place is an empty folder, or something new is there
			err = in.replaceEmpty(ctx, s)
		}
		if err != nil {
			in.fail(s, err)
		}
	}
}

// replaceEmpty puts a skill in the place of a folder that has no files.
func (in *Installer) replaceEmpty(ctx context.Context, s *Step) error {
	now, err := in.look(ctx, s.place)
	if err != nil {
		return err
	}
	if !now.missing {
		return edit.ErrExists
	}
	s.found = now
	t, err := edit.NewTree(in.beside(s.place))
	if err != nil {
		return err
	}
	defer func() {
		if !s.stays {
			t.Remove()
		}
	}()
	if err := in.fill(ctx, t, "", s); err != nil {
		return err
	}
	if err := t.Sync(); err != nil {
		return err
	}
	return in.swap(ctx, t, s)
}

// fill copies a skill from the store, or from the folder that the step names, and checks its bytes.
func (in *Installer) fill(ctx context.Context, t *edit.Tree, below string, s *Step) error {
	open := func(path string) (io.ReadCloser, error) { return in.o.Store.Open(s.Entry.Digest, path) }
	if s.from != "" {
		folder, err := dir.OpenTree(s.from, false)
		if err != nil {
			return err
		}
		defer folder.Close()
		open = func(path string) (io.ReadCloser, error) { return folder.Open(path) }
	}
	for _, f := range s.Entry.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := open(f.Path)
		if err != nil {
			return err
		}
		n, sum, err := t.File(below+f.Path, f.Exec, r, f.Size)
		r.Close()
		if err != nil {
			return err
		}
		if n != f.Size || skill.Digest(sum) != f.Digest {
			return problem("run the command again, which fetches it anew", "%s does not have the bytes that were verified", display.Quote(f.Path))
		}
	}
	return nil
}

// replaceAll replaces and removes skills.
func (in *Installer) replaceAll(ctx context.Context, steps []*Step) {
	trees := make([]*edit.Tree, len(steps))
	defer func() {
		for i, t := range trees {
			if t != nil && !steps[i].stays {
				t.Remove()
			}
		}
	}()
	for i, s := range steps {
		t, err := edit.NewTree(in.beside(s.place))
		trees[i] = t
		if err == nil && s.Do == Replace {
			err = in.fill(ctx, t, "", s)
		}
		if err != nil {
			in.fail(s, err)
		}
	}
	for i, s := range steps {
		if s.Do == Replace {
			if err := trees[i].Sync(); err != nil {
				in.fail(s, err)
			}
		}
	}
	for i, s := range steps {
		if s.Do == Fail {
			continue
		}
		err := ctx.Err()
		if err == nil {
			err = in.swap(ctx, trees[i], s)
		}
		if err != nil {
			in.fail(s, err)
		}
	}
}

// swap exchanges the tree with the folder at the step's place, or moves that folder away. Then it
// compares the old folder with the planned state. If files were saved in it meanwhile, swap keeps
// the old folder.
func (in *Installer) swap(ctx context.Context, t *edit.Tree, s *Step) error {
	var err error
	if s.Do == Delete {
		err = t.Take(s.place)
	} else {
		err = t.Exchange(s.place)
	}
	if err != nil {
		return err
	}
	now, err := in.look(context.WithoutCancel(ctx), t.Path())
	if err == nil && !s.keep && now.missing == s.found.missing && now.odd == "" && now.digest == s.found.digest && slices.Equal(now.extra, s.found.extra) {
		return t.Remove()
	}
	backup := in.keptPath(filepath.Base(s.place))
	if err := t.Back(edit.Named(backup)); err != nil {
		undo := func() error {
			if s.Do == Delete {
				return t.Place(s.place)
			}
			return t.Exchange(s.place)
		}()
		if undo != nil {
			s.stays = true
			return problem("move it to where you want it", "the former files of %s could not be kept (%w) and are in %s", in.formatPath(s.place), cause(err), in.formatPath(t.Path()))
		}
		if odd := (*fs.PathError)(nil); errors.Is(err, edit.ErrIrregular) && errors.As(err, &odd) {
			return problem("move that away, then run the command again", "%s is not a file, folder or link, so it cannot be kept on the disk of %s", in.formatPath(filepath.Join(s.place, odd.Path)), in.formatPath(filepath.Dir(backup)))
		}
		return problem("let the user who runs knack write there", "%s, which keeps the files that are taken away, cannot be written: %w", in.formatPath(filepath.Dir(backup)), cause(err))
	}
	s.Kept = backup
	return nil
}
