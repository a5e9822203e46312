package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// library is a repository at one commit.
type library struct {
	git      *Origin
	ref      origin.Ref
	address  address
	revision origin.Revision
	commit   string
	whole    bool // the server does not send single files
	repo     *bare
	tree     *tree
	found    []origin.Skill
	modules  map[string]string // the addresses of submodules by path
}

// generations is the maximum number of repositories that are tried one after the other, see
// [Origin.bare].
const generations = 4

// Revision returns the commit.
func (l *library) Revision() origin.Revision { return l.revision }

// Close does nothing: fetched objects stay in the store.
func (l *library) Close() error { return nil }

// open fetches the commit and lists its files.
func (l *library) open(ctx context.Context) (err error) {
	for n := range generations {
		if l.repo, err = l.commitIn(ctx, n); err == nil {
			l.tree, err = l.repo.tree(ctx, l.commit, l.ref.Sub)
		}
		if err == nil || ctx.Err() != nil || !mayHelp(err) {
			return err
		}
	}
	return err
}

// mayHelp reports whether an error may be caused by the local repository, so that another
// repository may avoid it.
func mayHelp(err error) bool {
	return errors.Is(err, errOccupied) || errors.Is(err, errDamaged) || errors.Is(err, errTree) || errors.Is(err, errUnknown)
}

// commitIn returns the n-th repository after fetching the commit into it.
func (l *library) commitIn(ctx context.Context, n int) (*bare, error) {
	b, err := l.git.bare(ctx, l.address, l.key(), n, len(l.commit) == 64)
	if err != nil {
		return nil, err
	}
	if b.has(ctx, l.commit) {
		return b, nil
	}
	if err := b.fetchCommit(ctx, l.ref.Source, l.commit, l.whole); err != nil {
		if errors.Is(err, errObject) && !l.whole { // git accepts damaged old objects only in whole commits
			l.whole = true
			return l.commitIn(ctx, n)
		}
		if errors.Is(err, errNoCommit) {
			return nil, fmt.Errorf("commit %s: %w", l.commit, err)
		}
		return nil, err
	}
	if !b.has(ctx, l.commit) {
		return nil, fmt.Errorf("%s is no commit, or %w", l.commit, errDamaged)
	}
	return b, nil
}

func (l *library) key() string {
	if l.whole {
		return l.address.url + " whole"
	}
	return l.address.url
}

// Skills returns the skills with their names and descriptions.
func (l *library) Skills(ctx context.Context) ([]origin.Skill, error) {
	if l.found != nil {
		return slices.Clone(l.found), nil
	}
	found, err := l.find(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.ref.Source, err)
	}
	byPath := make(map[string]int, len(found))
	for i, s := range found {
		byPath[s.At(s.Main)] = i
	}
	var ids []string
	var skills []int
	for i, e := range l.tree.entries {
		if at, ok := byPath[e.Path]; ok && e.Type.IsFile() {
			ids, skills = append(ids, l.tree.ids[i]), append(skills, at)
		}
	}
	err = l.blobs(ctx, ids, func(i int, _ int64, content io.Reader) error {
		data, err := io.ReadAll(io.LimitReader(content, skill.MaxSkillMD+1))
		origin.Describe(&found[skills[i]], data)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.ref.Source, err)
	}
	l.found = found
	return slices.Clone(found), nil
}

// ReadFile implements [origin.Reader].
func (l *library) ReadFile(ctx context.Context, path string, most int64) (data []byte, err error) {
	i := slices.IndexFunc(l.tree.entries, func(e origin.Node) bool { return e.Path == path && e.Type.IsFile() })
	if i < 0 {
		return nil, fs.ErrNotExist
	}
	err = l.blobs(ctx, l.tree.ids[i:i+1], func(_ int, _ int64, content io.Reader) (err error) {
		data, err = io.ReadAll(io.LimitReader(content, most+1))
		return err
	})
	return data, err
}

// find finds the skills. It reads the targets of links, which git stores as files, and the
// addresses of submodules.
func (l *library) find(ctx context.Context) ([]origin.Skill, error) {
	found := origin.Find(l.tree.entries, l.ref.Sub)
	all := origin.Select(found)
	var ids []string
	var links []int
	for i, e := range l.tree.entries {
		if e.Type != origin.Link {
			continue
		}
		if origin.MayLeadToSkills(e) || all.Holds(e.Path) {
			ids, links = append(ids, l.tree.ids[i]), append(links, i)
		}
	}
	if slices.ContainsFunc(l.tree.entries, func(e origin.Node) bool { return e.Type == origin.Submodule }) {
		if i := slices.IndexFunc(l.tree.entries, func(e origin.Node) bool { return e.Path == modulesFile && e.Type.IsFile() }); i >= 0 {
			ids, links = append(ids, l.tree.ids[i]), append(links, i)
		}
	}
	if len(links) == 0 {
		return found, nil
	}
	err := l.blobs(ctx, ids, func(i int, _ int64, content io.Reader) error {
		e := &l.tree.entries[links[i]]
		if e.Type != origin.Link {
			text, err := io.ReadAll(io.LimitReader(content, maxModules))
			l.modules = origin.ParseModules(string(text))
			return err
		}
		target, err := io.ReadAll(io.LimitReader(content, maxTarget))
		e.Target = string(target)
		return err
	})
	return origin.Find(l.tree.entries, l.ref.Sub), err
}

// Aside implements [origin.Parted].
func (l *library) Aside() origin.Aside {
	return origin.AsideOf(l.tree.entries, l.found, l.modules)
}

// modulesFile is the file with the URLs of submodules. At most maxModules bytes of it are read.
const (
	modulesFile = ".gitmodules"
	maxModules  = 64 << 10
)

// maxTarget bounds the text of a link, in bytes: PATH_MAX of common systems.
const maxTarget = 4096

// wantedFile is one file to fetch.
type wantedFile struct {
	skill string
	file  origin.File
}

// Fetch sends the files of skills to a sink.
func (l *library) Fetch(ctx context.Context, skills []origin.Skill, to origin.Sink) error {
	chosen := origin.SelectSound(skills, to)
	var files []wantedFile
	var ids []string
	there := map[string]bool{}
	for i, e := range l.tree.entries {
		if !e.Type.IsFile() {
			continue
		}
		for in, file := range chosen.Holders(e.Path) {
			there[in] = true
			files = append(files, wantedFile{in, origin.File{Path: file, Exec: e.Type == origin.Exec, Size: -1}})
			ids = append(ids, l.tree.ids[i])
		}
	}
	for _, s := range skills {
		if chosen.Has(s.Path) && !there[s.Path] {
			to.Fail(s.Path, fmt.Errorf("commit %s has no folder %s", short(l.commit), display.Quote(s.Path)))
		}
	}
	refused := map[string]bool{}
	err := l.blobs(ctx, ids, func(i int, size int64, content io.Reader) error {
		f := files[i]
		if refused[f.skill] {
			return nil
		}
		in := bufio.NewReader(content)
		if start, _ := in.Peek(len(pointer)); size < maxPointer && bytes.Equal(start, []byte(pointer)) {
			l.git.opts.Warn(fmt.Sprintf("%s: %s is a pointer to a large file of Git LFS and not the file itself; the skill has the pointer", l.ref.Source, display.Quote(path.Join(f.skill, f.file.Path))))
		}
		f.file.Size = size
		refused[f.skill] = to.File(f.skill, f.file, in) != nil
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", l.ref.Source, err)
	}
	return nil
}

// A Git LFS pointer begins with this line and is shorter than 1,024 bytes (its specification).
const (
	pointer    = "version https://git-lfs.github.com/spec/"
	maxPointer = 1024
)

func short(commit string) string { return commit[:7] }

// blobs calls take with the content of each file, given by its hash, in any order. It fetches
// missing files.
func (l *library) blobs(ctx context.Context, ids []string, take func(i int, size int64, content io.Reader) error) error {
	left := make([]int, len(ids))
	for i := range left {
		left[i] = i
	}
	read := func(b *bare) (err error) {
		batch := make([]string, len(left))
		for i, at := range left {
			batch[i] = ids[at]
		}
		at := left
		missing, err := b.read(ctx, batch, func(i int, size int64, content io.Reader) error { return take(at[i], size, content) })
		left = nil
		for _, i := range missing {
			left = append(left, at[i])
		}
		return err
	}
	b, err := l.repo, error(nil)
	for n := 0; n < generations && len(left) > 0 && ctx.Err() == nil; n++ {
		if n > 0 {
			if b, err = l.git.bare(ctx, l.address, l.key(), n, len(l.commit) == 64); err != nil {
				continue
			}
		}
		if err = read(b); len(left) == 0 {
			return err
		} else if err != nil {
			continue
		}
		if err = l.fetchInto(ctx, &b, n, ids, left); err == nil {
			err = read(b)
		} else if !mayHelp(err) {
			return err
		}
	}
	if err == nil && len(left) > 0 {
		err = errNoFile
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

var errNoFile = errors.New("the server does not send all files of the commit")

// fetchInto fetches the remaining files. If the server does not send single files, it fetches the
// whole commit into a separate repository.
func (l *library) fetchInto(ctx context.Context, b **bare, n int, ids []string, left []int) error {
	var batch []string
	seen := map[string]bool{}
	for _, at := range left {
		if id := ids[at]; !seen[id] {
			seen[id] = true
			batch = append(batch, id)
		}
	}
	err := (*b).fetchBlobs(ctx, l.ref.Source, batch)
	if (errors.Is(err, errNoCommit) || errors.Is(err, origin.ErrOffline)) && !l.whole {
		l.whole = true
		if *b, err = l.commitIn(ctx, n); err == nil {
			l.repo = *b
		}
	}
	return err
}
