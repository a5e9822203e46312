package pull

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Folder is a folder into which releases are unpacked. Its knack.lock records the files that knack
// wrote.
type Folder struct {
	Dir   string // an absolute path
	Store *store.Store
}

// ErrForeign matches the errors about a folder with files that knack did not write, or that were
// changed after knack wrote them.
var ErrForeign = errors.New("the folder has something that knack did not write")

// Check fails if the folder's content prevents unpacking a release of this source. Its error is
// then an [ErrForeign].
func (f Folder) Check(ctx context.Context, ref origin.Ref) error {
	_, err := look(ctx, f.Dir, ref.Source)
	return err
}

// Unpack makes the folder equal to the release: its skills at their paths, and a knack.lock. The
// folder changes atomically. If it is up to date, nothing is written, and Unpack returns false.
func (f Folder) Unpack(ctx context.Context, ref origin.Ref, r store.Release) (changed bool, err error) {
	beside := filepath.Join(filepath.Dir(f.Dir), ".knack")
	if err := edit.Sweep(beside, func(at string) error { // the leftovers of a killed command
		_, err := look(ctx, at, "")
		return err
	}); err != nil {
		return false, err
	}
	was, err := look(ctx, f.Dir, ref.Source)
	if err != nil {
		return false, err
	}
	if err := f.fit(r); err != nil {
		return false, err
	}
	tree, err := edit.NewTree(beside)
	if err != nil {
		return false, err
	}
	stays := false
	defer func() {
		if !stays {
			err = errors.Join(err, tree.Remove())
		}
	}()
	now, err := f.fill(ctx, tree, ref, r)
	if err != nil || was != nil && maps.Equal(was, now) {
		return false, err
	}
	if err := tree.Sync(); err != nil {
		return false, err
	}
	if was == nil {
		err := tree.Place(f.Dir)
		if errors.Is(err, edit.ErrExists) {
			err = fmt.Errorf("%w: another command has just made it, so run this one again", err)
		}
		return err == nil, err
	}
	if err := tree.Exchange(f.Dir); err != nil {
		return false, err
	}
	// If another program saved files in the old folder during the exchange, put that folder back.
	if _, err := look(context.WithoutCancel(ctx), tree.Path(), ref.Source); err != nil {
		if back := tree.Exchange(f.Dir); back != nil {
			stays = true
			return true, fmt.Errorf("the former files of %s are in %s: %w", f.Dir, tree.Path(), back)
		}
		return false, err
	}
	return true, nil
}

// fit fails with a [*edit.NoRoom] if the folder's disk has no room for a release.
func (f Folder) fit(r store.Release) error {
	room, known := edit.RoomOf(f.Dir)
	if !known {
		return nil
	}
	var need edit.Extent
	for _, m := range r.Skills {
		if m.Fault == "" {
			if one, err := f.Store.Extent(m.Skill); err == nil { // fill reports a damaged skill
				need.Add(one)
			}
		}
	}
	return room.Fit(need)
}

// content is the content of a folder: the digest of each file, by path.
type content map[string]skill.Digest

// look returns the content of a folder, or nil if it does not exist. All of its files must match
// its lock, and the lock must name only this source, unless source is "". Missing files are
// allowed.
func look(ctx context.Context, at, source string) (content, error) {
	tree, err := dir.OpenTree(at, false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, skill.ErrOutside):
		return nil, foreign("%s is a link, or is behind one: name the folder that it leads to", at)
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %s", at, skill.Reason(err))
	}
	defer tree.Close()
	found := content{}
	var odd []string
	var lock *lockfile.Lock
	err = tree.Walk(ctx, func(e dir.TreeEntry) error {
		switch {
		case e.Mode.IsDir():
			return nil
		case !e.Mode.IsRegular():
			odd = append(odd, e.Path)
			return nil
		case e.Path == lockfile.Name:
			data, _, err := lockfile.Read(tree, skill.Stamp{})
			if err == nil {
				lock, err = lockfile.Parse(data)
			}
			if err != nil {
				return foreign("%s cannot be read as knack wrote it: %v; move it away, with the skills beside it", filepath.Join(at, lockfile.Name), err)
			}
			found[e.Path] = skill.DigestOf(data)
			return nil
		}
		found[e.Path], err = hashed(tree, e.Path)
		return err
	})
	if err != nil {
		return nil, err
	}
	wrote := content{}
	if lock != nil {
		wrote[lockfile.Name] = found[lockfile.Name]
		for key, e := range lock.Skills {
			if source != "" && e.Source != source {
				return nil, foreign("%s has skills of %s: name another folder", at, display.Quote(e.Source))
			}
			for _, file := range e.Files {
				wrote[path.Join(key, file.Path)] = file.Digest
			}
		}
	}
	for name, d := range found {
		if was, ok := wrote[name]; !ok || was != d {
			odd = append(odd, name)
		}
	}
	if len(odd) > 0 {
		slices.Sort(odd)
		return nil, foreign("%s has %s that knack did not write there, or that %s changed since: %s: move %s away, or name another folder",
			at, display.Count(len(odd), "file"), choose(len(odd), "was", "were"), firstPaths(odd), choose(len(odd), "it", "them"))
	}
	return found, nil
}

func foreign(format string, args ...any) error {
	return origin.Mark(ErrForeign, fmt.Errorf(format, args...))
}

func choose(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// firstPaths joins the first few paths.
func firstPaths(paths []string) string {
	const most = 3
	more := ""
	if n := len(paths) - most; n > 0 {
		paths, more = paths[:most], fmt.Sprintf(" and %s more", display.Thousands(n))
	}
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = display.Quote(p)
	}
	return strings.Join(quoted, ", ") + more
}

func hashed(tree *dir.Tree, at string) (d skill.Digest, err error) {
	f, err := tree.Open(at)
	if err != nil {
		return d, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return skill.Digest(h.Sum(nil)), err
}

// fill writes the skills of a release and their lock into a tree. It checks each skill's digest
// while copying it.
func (f Folder) fill(ctx context.Context, tree *edit.Tree, ref origin.Ref, r store.Release) (content, error) {
	lock := lockfile.Lock{Skills: map[string]lockfile.Skill{}}
	wrote := map[string]lockfile.File{}
	for _, m := range r.Skills {
		if m.Fault != "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e, err := f.copy(tree, m, folderOf(m.Path, ref), wrote)
		if err != nil {
			return nil, err
		}
		e.Source, e.Want, e.Path, e.Revision, e.Version, e.Signer = ref.Source, ref.Asked(), m.Path, r.Revision, r.Version, r.Signer
		lock.Skills[folderOf(m.Path, ref)] = e
	}
	text := lock.Bytes()
	if _, err := lockfile.Parse(text); err != nil {
		return nil, fmt.Errorf("%s cannot be unpacked, since its lock could not be read again: %w", ref, err)
	}
	if _, _, err := tree.File(lockfile.Name, false, bytes.NewReader(text), lockfile.MaxSize); err != nil {
		return nil, err
	}
	all := content{lockfile.Name: skill.DigestOf(text)}
	for at, file := range wrote {
		all[at] = file.Digest
	}
	return all, nil
}

// folderOf returns the folder of a skill. A skill that is the whole source gets a folder with the
// name of the source.
func folderOf(skillPath string, ref origin.Ref) string {
	if skillPath == "." {
		return path.Base(filepath.ToSlash(ref.Source))
	}
	return skillPath
}

// copy copies a skill. It does not write a file again that a surrounding skill has already
// written.
func (f Folder) copy(tree *edit.Tree, m store.Member, to string, wrote map[string]lockfile.File) (e lockfile.Skill, err error) {
	read := origin.Skill{Path: m.Path}
	err = f.Store.Files(m.Skill, func(name string, exec bool, size int64, content io.Reader) error {
		file, there := wrote[path.Join(to, name)]
		if !there {
			var main bytes.Buffer
			isMain := skill.IsEntryName(name)
			if isMain {
				content = io.TeeReader(content, &limited{&main, skill.MaxSkillMD + 1})
			}
			n, sum, err := tree.File(path.Join(to, name), exec, content, origin.MaxSize)
			if err != nil {
				return err
			}
			file = lockfile.File{Size: n, Digest: sum, Exec: exec}
			wrote[path.Join(to, name)] = file
			if isMain && read.Main == "" {
				read.Main = name
				origin.Describe(&read, main.Bytes())
			}
		}
		file.Path = name
		e.Files = append(e.Files, file)
		return nil
	})
	if err != nil {
		return e, err
	}
	if e.Digest = lockfile.Digest(e.Files); e.Digest != m.Skill {
		return e, errors.Join(fmt.Errorf("the skill %s of the store is damaged: pull it again", display.Quote(m.Path)), f.Store.Remove(m.Skill))
	}
	if e.Name = read.Name; e.Name == "" || display.OneLine(e.Name) != e.Name {
		e.Name = path.Base(to)
	}
	return e, nil
}

// limited keeps the first bytes that are written to it.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.to.Write(p[:n])
	return len(p), nil
}
