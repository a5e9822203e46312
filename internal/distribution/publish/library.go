package publish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// contents is a library with its files in a spool.
type contents struct {
	skills []Skill  // by path
	outer  []string // the paths of the outermost skills
	files  []file   // of the outermost skills, by path in byte order
	left   int
	spool  origin.Spool
}

// file is a file of a library.
type file struct {
	lockfile.File
	path string // in the library
	at   int64  // in the spool
}

// read reads the files of a library. It fails if a skill cannot be published, since a release
// without the skill would remove it from clients that follow the tag.
func (p *Publisher) read(ctx context.Context, lib origin.Library) (_ *contents, err error) {
	skills, err := lib.Skills(ctx)
	if err != nil {
		return nil, err
	}
	c := &contents{}
	folded := map[string]string{}
	var outer []origin.Skill
	chosen := map[string]bool{}
	for _, s := range skills {
		if s.Fault != nil {
			return nil, refuse("correct it, or move the skill elsewhere", "%s cannot be published: %w", displayName(s.Path), s.Fault)
		}
		if len(s.Dropped) > 0 {
			return nil, refuse("correct it, or move the skill elsewhere", "%s cannot be published: %s", displayName(s.Path), s.Dropped[0])
		}
		fold := strings.ToLower(s.Path)
		if other, ok := folded[fold]; ok {
			return nil, refuse("rename one of them", "the folders %s and %s differ only by case, and macOS and Windows have one folder for both", display.Quote(other), display.Quote(s.Path))
		}
		folded[fold] = s.Path
		c.skills = append(c.skills, Skill{Path: s.Path, Name: s.Name, Description: s.Description})
		if !within(chosen, s.Path) {
			chosen[s.Path] = true
			outer = append(outer, s)
			c.outer = append(c.outer, s.Path)
			c.left += s.Left
		}
	}
	if len(skills) == 0 {
		return nil, refuse("a skill is a folder with a SKILL.md", "%s has no skills", cmp.Or(p.From, "the library"))
	}
	if _, err := origin.Bounded(skills); err != nil {
		return nil, refuse("", "%s: %w", cmp.Or(p.From, "the library"), err)
	}
	if c.spool, err = p.Spool(); err != nil {
		return nil, err
	}
	to := &sink{contents: c, files: map[string]int{}, failed: map[string]error{}}
	if err := lib.Fetch(ctx, outer, to); err != nil {
		return nil, errors.Join(err, c.close())
	}
	for _, path := range c.outer {
		if err := to.failed[path]; err != nil {
			return nil, errors.Join(refuse("", "%s cannot be read: %w", displayName(path), err), c.close())
		}
	}
	slices.SortFunc(c.files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	for i := range c.skills {
		s := &c.skills[i]
		s.files = c.below(s.Path)
		s.Digest = lockfile.Digest(s.files)
	}
	return c, nil
}

func (c *contents) close() error { return c.spool.Close() }

// below returns the files of a skill.
func (c *contents) below(folder string) (files []lockfile.File) {
	first := 0
	if folder != "." {
		first, _ = slices.BinarySearchFunc(c.files, folder+"/", func(f file, at string) int { return cmp.Compare(f.path, at) })
	}
	for _, f := range c.files[first:] {
		rest, ok := relativeTo(folder, f.path)
		if !ok {
			break
		}
		if origin.HiddenPart(rest) == "" {
			f.File.Path = rest
			files = append(files, f.File)
		}
	}
	return files
}

// within reports whether a folder is below one of the given folders. Skills are sorted by
// path, so outer skills come first.
func within(folders map[string]bool, folder string) bool {
	for folder != "." {
		if folder = path.Dir(folder); folders[folder] {
			return true
		}
	}
	return false
}

// relativeTo returns the path of a file relative to a folder, and whether the file is in the
// folder.
func relativeTo(folder, path string) (string, bool) {
	if folder == "." {
		return path, true
	}
	return strings.CutPrefix(path, folder+"/")
}

// displayName returns the name of a skill for messages.
func displayName(path string) string {
	if path == "." {
		return "the skill"
	}
	return "the skill " + display.Quote(path)
}

// sink copies the files of a library into the spool.
type sink struct {
	*contents
	files  map[string]int
	failed map[string]error
	size   int64
}

// File implements [origin.Sink].
func (s *sink) File(folder string, f origin.File, content io.Reader) error {
	err := s.take(folder, f, content)
	if err != nil {
		s.Fail(folder, err)
	}
	return err
}

func (s *sink) take(folder string, f origin.File, content io.Reader) error {
	if s.files[folder]++; s.files[folder] > origin.MaxFiles {
		return origin.TooManyFiles()
	}
	if err := origin.CheckPath(f.Path); err != nil {
		return err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(io.NewOffsetWriter(s.spool, s.size), hash), io.LimitReader(content, origin.MaxSize+1))
	if err != nil {
		return err
	}
	if n > origin.MaxSize {
		return origin.TooLarge()
	}
	taken := file{path: path.Join(folder, f.Path), at: s.size}
	taken.File = lockfile.File{Path: f.Path, Digest: skill.Digest(hash.Sum(nil)), Size: n, Exec: f.Exec}
	s.contents.files = append(s.contents.files, taken)
	s.size += n
	return nil
}

// Fail implements [origin.Sink].
func (s *sink) Fail(folder string, err error) {
	if s.failed[folder] == nil {
		s.failed[folder] = err
	}
}

// twice returns a warning about names that several skills have, or "".
func (c *contents) twice() string {
	by := map[string]int{}
	for _, s := range c.skills {
		by[cmp.Or(s.Name, path.Base(s.Path))]++
	}
	maps.DeleteFunc(by, func(_ string, n int) bool { return n == 1 })
	if len(by) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(by))
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%d)", display.Quote(name), by[name])
	}
	const most = 5
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %s more", display.Thousands(n))
	}
	return "several skills have the name " + strings.Join(names, ", ") + more + ": an agent that asks for the name gets one of them"
}
