// Package folder reads the skills of a folder on a disk.
package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// MaxEntries is the maximum number of entries of a folder that is a source. For a larger folder,
// the user names a subfolder.
const MaxEntries = 1_000_000

// Origin reads folders. It has no state.
type Origin struct {
	// Progress, if not nil, is called while files are read.
	Progress origin.Progress
	// Shown formats the path of a folder for people. If nil, the path stays unchanged.
	Shown func(path string) string
}

func (o Origin) quoted(ref origin.Ref) string {
	if o.Shown == nil {
		return display.Quote(ref.Location)
	}
	return display.Quote(o.Shown(ref.Location))
}

// Resolve returns no revision, since a folder has none. It fails if the folder does not exist.
func (o Origin) Resolve(_ context.Context, ref origin.Ref) (origin.Revision, error) {
	t, err := o.open(ref)
	if err != nil {
		return origin.Revision{}, err
	}
	return origin.Revision{}, t.Close()
}

// Versions returns nil, since a folder has no versions.
func (o Origin) Versions(context.Context, origin.Ref) ([]string, error) { return nil, nil }

// Open lists the folder. If a file changes before it is read, its skill fails.
func (o Origin) Open(ctx context.Context, ref origin.Ref, _ origin.Revision) (origin.Library, error) {
	t, err := o.open(ref)
	if err != nil {
		return nil, err
	}
	l := &library{tree: t, at: realpath.Of(ref.Location), label: o.quoted(ref), progress: o.Progress}
	if err := l.list(ctx); err != nil {
		t.Close()
		return nil, fmt.Errorf("%s: %w", o.quoted(ref), err)
	}
	return l, nil
}

func (o Origin) open(ref origin.Ref) (*dir.Tree, error) {
	t, err := dir.OpenTree(ref.Location, true)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no folder %s on this machine: check the path, or add its skills from a source that every machine reaches", o.quoted(ref))
	case errors.Is(err, skill.ErrNotFolder):
		return nil, fmt.Errorf("%s is not a folder: name the folder of a skill, or an archive called .zip, .skill, .tar.gz or .tgz", o.quoted(ref))
	case err != nil:
		return nil, fmt.Errorf("the folder %s cannot be read: %s", o.quoted(ref), skill.Reason(err))
	}
	return t, nil
}

// layoutFile marks a folder that is an image, by the OCI image specification.
const layoutFile = "oci-layout"

type library struct {
	tree        *dir.Tree
	at          string // its path, without links
	label       string // its path, for people
	progress    origin.Progress
	entries     []origin.Node
	treeEntries []dir.TreeEntry // has the same indexes as entries
	found       []origin.Skill
}

func (l *library) list(ctx context.Context) error {
	return l.tree.Walk(ctx, func(e dir.TreeEntry) error {
		t, target := origin.Regular, ""
		switch {
		case e.Mode.IsDir() && e.Path[strings.LastIndexByte(e.Path, '/')+1:] == ".git":
			// The folder .git counts only by its name, as a dot-entry.
			l.add(origin.Node{Path: e.Path, Type: t}, e)
			return fs.SkipDir
		case e.Mode.IsDir():
			return nil
		case realpath.IsLink(e.Mode):
			var err error
			if target, err = l.tree.Readlink(e.Path); err != nil {
				t = origin.Other // gone, or a kind of link that nothing follows
				break
			}
			t = origin.Link
		case !e.Mode.IsRegular():
			t = origin.Other
		case e.Mode.Perm()&0o111 != 0:
			t = origin.Exec
		}
		if len(l.entries) == MaxEntries {
			return fmt.Errorf("it has more than %s entries: name a folder further down", display.Thousands(MaxEntries))
		}
		l.add(origin.Node{Path: e.Path, Size: e.Stamp.Size, Type: t, Target: filepath.ToSlash(target)}, e)
		return nil
	})
}

func (l *library) add(e origin.Node, treeEntry dir.TreeEntry) {
	l.entries, l.treeEntries = append(l.entries, e), append(l.treeEntries, treeEntry)
}

// Revision returns the zero revision.
func (l *library) Revision() origin.Revision { return origin.Revision{} }

// Close closes the folder.
func (l *library) Close() error { return l.tree.Close() }

// Skills finds the skills, and reads the name and description of each.
func (l *library) Skills(ctx context.Context) ([]origin.Skill, error) {
	skills := origin.FindAt(l.at, l.entries, "")
	l.found = skills
	if len(skills) == 0 && slices.ContainsFunc(l.entries, func(e origin.Node) bool { return e.Path == layoutFile }) {
		return nil, fmt.Errorf("%s is an OCI image layout, and knack reads images from registries: send it to one, such as with 'oras cp --from-oci-layout FOLDER:TAG REGISTRY/REPO:TAG', and name oci://REGISTRY/REPO:TAG", l.label)
	}
	for i := range skills {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := &skills[i]
		if s.Main == "" {
			continue
		}
		if data, err := l.read(s.At(s.Main)); err == nil {
			origin.Describe(s, data)
		} else if s.Fault == nil {
			s.Fault = fmt.Errorf("%s cannot be read: %s", s.Main, skill.Reason(err))
		}
	}
	return skills, nil
}

// Aside implements [origin.Parted].
func (l *library) Aside() origin.Aside { return origin.AsideOf(l.entries, l.found, nil) }

func (l *library) read(name string) ([]byte, error) {
	return l.ReadFile(context.Background(), name, skill.MaxSkillMD)
}

// ReadFile implements [origin.Reader].
func (l *library) ReadFile(_ context.Context, name string, most int64) ([]byte, error) {
	f, err := l.tree.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// Fetch sends the files of the skills. A skill fails if one of its files changes before all are
// sent.
func (l *library) Fetch(ctx context.Context, skills []origin.Skill, to origin.Sink) error {
	chosen := origin.Select(skills)
	failed := map[string]bool{}
	fail := func(skill string, err error) {
		if !failed[skill] {
			failed[skill] = true
			to.Fail(skill, err)
		}
	}
	for i, e := range l.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.progress.Report(origin.Files, int64(i), int64(len(l.entries)))
		if !e.Type.IsFile() {
			continue
		}
		for holder, file := range chosen.Holders(e.Path) {
			if failed[holder] {
				continue
			}
			if !l.send(holder, file, i, to, fail) {
				failed[holder] = true
			}
		}
	}
	for i, e := range l.entries {
		for holder, file := range chosen.Holders(e.Path) {
			if !failed[holder] && !l.tree.Unchanged(l.treeEntries[i]) {
				fail(holder, errChanged(file))
			}
		}
	}
	return nil
}

// meanwhile is the end of the error about a file that changed after it was listed.
const meanwhile = "changed while it was read: run the command again"

func errChanged(file string) error { return fmt.Errorf("%s %s", display.Quote(file), meanwhile) }

// send sends one file of one skill, and reports whether the sink took it.
func (l *library) send(holder, file string, i int, to origin.Sink, fail func(string, error)) bool {
	e := l.entries[i]
	f, err := l.tree.Open(e.Path)
	if err != nil {
		fail(holder, fmt.Errorf("%s cannot be read: %s", display.Quote(file), skill.Reason(err)))
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || skill.StampOf(info) != l.treeEntries[i].Stamp {
		fail(holder, errChanged(file))
		return false
	}
	read := &reader{r: f, left: e.Size}
	err = to.File(holder, origin.File{Path: file, Exec: e.Type == origin.Exec, Size: e.Size}, read)
	switch {
	case errors.Is(read.err, errLength):
		fail(holder, errChanged(file))
	case read.err != nil:
		fail(holder, fmt.Errorf("%s cannot be read: %s", display.Quote(file), skill.Reason(read.err)))
	}
	return err == nil // the sink knows its own errors
}

// errLength is the error of a file that became longer or shorter after it was listed.
var errLength = errors.New("it " + meanwhile)

// reader records an error of the file that it reads.
type reader struct {
	r    io.Reader
	left int64 // bytes that the file should still have
	err  error
}

// Read reads from the file.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if r.left -= int64(n); r.left < 0 || r.left > 0 && errors.Is(err, io.EOF) {
		err = errLength
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
