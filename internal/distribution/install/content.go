package install

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Changes lists the paths in which two states of a skill differ.
type Changes struct {
	Added, Changed, Removed []string
}

// Any reports whether there are any changes.
func (c Changes) Any() bool { return len(c.Added)+len(c.Changed)+len(c.Removed) > 0 }

// content is the content of a skill's folder.
type content struct {
	missing bool
	odd     string // describes something other than a folder in the place, such as "a link"
	files   []lockfile.File
	digest  skill.Digest
	extra   []string // dot-entries, links and special files, which are no part of a skill
}

const aLink = "a link"

// maxOwn is the maximum number of entries that look reads in a folder.
const maxOwn = 100_000

// look reads the content of a skill's folder. It fails if the folder has more than maxOwn entries.
func (in *Installer) look(ctx context.Context, place string) (*content, error) {
	t, err := dir.OpenTree(place, false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// place may be missing, a dangling link or a file. Only the folder above it can tell.
		return in.absent(ctx, place)
	case err != nil:
		if c, err := in.absent(ctx, place); err == nil && !c.missing {
			return c, nil
		}
		return nil, problem("let the user who runs knack read it", "%s cannot be read: %s", in.formatPath(place), skill.Reason(err))
	}
	defer t.Close()
	c := &content{}
	n := 0
	err = t.Walk(ctx, func(e dir.TreeEntry) error {
		if n++; n > maxOwn {
			return errors.New("it has too many files for a skill")
		}
		hidden := slices.ContainsFunc(strings.Split(e.Path, "/"), func(part string) bool { return part[0] == '.' })
		switch {
		case e.Mode.IsDir() && !hidden:
			return nil
		case path.Base(e.Path) == ".DS_Store": // a file of the Finder, which may be lost
			return nil
		case e.Mode.IsDir():
			c.extra = append(c.extra, e.Path+"/")
			return fs.SkipDir
		case hidden || realpath.IsLink(e.Mode) || !e.Mode.IsRegular():
			c.extra = append(c.extra, e.Path)
			return nil
		}
		f, err := hashed(t, e)
		c.files = append(c.files, f)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, problem("let the user who runs knack read it", "%s cannot be read: %w", in.formatPath(place), cause(err))
	}
	if len(c.files)+len(c.extra) == 0 {
		c.missing = true
	}
	lockfile.Sort(c.files)
	c.digest = lockfile.Digest(c.files)
	return c, nil
}

// absent returns the content of a place without a folder: nothing, or something other than a
// folder.
func (in *Installer) absent(ctx context.Context, place string) (*content, error) {
	t, err := dir.OpenTree(filepath.Dir(place), false)
	if errors.Is(err, fs.ErrNotExist) {
		return &content{missing: true}, nil
	}
	if err != nil {
		return nil, problem("let the user who runs knack read it", "%s cannot be read: %s", in.formatPath(filepath.Dir(place)), skill.Reason(err))
	}
	defer t.Close()
	c := &content{missing: true}
	err = t.Walk(ctx, func(e dir.TreeEntry) error {
		if e.Path == filepath.Base(place) {
			c.missing = false
			switch c.odd = "no folder"; {
			case realpath.IsLink(e.Mode):
				c.odd = aLink
			case e.Mode.IsRegular():
				c.odd = "a file"
			case e.Mode.IsDir():
				c.odd = ""
			}
			return io.EOF
		}
		if e.Mode.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return c, nil
}

// buffers has the buffers for hashing. Most files are smaller than a buffer.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func hashed(t *dir.Tree, e dir.TreeEntry) (lockfile.File, error) {
	f, err := t.Open(e.Path)
	if err != nil {
		return lockfile.File{}, err
	}
	defer f.Close()
	h := sha256.New()
	buffer := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buffer)
	n, err := io.CopyBuffer(h, f, buffer[:])
	return lockfile.File{Path: e.Path, Size: n, Digest: skill.Digest(h.Sum(nil)), Exec: e.Mode.Perm()&0o111 != 0}, err
}

// matches reports whether the files of the folder have this digest.
func (c *content) matches(d skill.Digest) bool {
	return !c.missing && c.odd == "" && len(c.extra) == 0 && c.digest == d
}

// moveOut returns the part of a fix about the entries that no lock has, or "".
func (c *content) moveOut() string {
	if len(c.extra) == 0 {
		return ""
	}
	return fmt.Sprintf("; or move %s out of the folder, since a lock has no links and no names that begin with a dot", shortList(c.extra))
}

// drift returns the changes from the locked files to the folder.
func (c *content) drift(locked []lockfile.File) Changes {
	d := compare(locked, c.files)
	d.Added = append(d.Added, c.extra...)
	return d
}

// compare returns the changes from one list of files to another. Scripts come first.
func compare(from, to []lockfile.File) (c Changes) {
	was := make(map[string]lockfile.File, len(from))
	for _, f := range from {
		was[f.Path] = f
	}
	for _, f := range to {
		old, had := was[f.Path]
		delete(was, f.Path)
		switch {
		case !had:
			c.Added = append(c.Added, f.Path)
		case old.Digest != f.Digest || old.Size != f.Size:
			c.Changed = append(c.Changed, f.Path)
		}
	}
	for name := range was {
		c.Removed = append(c.Removed, name)
	}
	for _, list := range [][]string{c.Added, c.Changed, c.Removed} {
		slices.SortFunc(list, scriptsFirst)
	}
	return c
}

// lostExec returns the files that are executable in the lock and not in the folder. Windows has no
// executable files.
func lostExec(locked []lockfile.File, c *content) (lost []string) {
	if runtime.GOOS == "windows" || c == nil {
		return nil
	}
	for _, f := range c.files {
		if !f.Exec && slices.ContainsFunc(locked, func(l lockfile.File) bool { return l.Exec && l.Path == f.Path }) {
			lost = append(lost, f.Path)
		}
	}
	return lost
}

// Warned returns the warnings of the step. The first lists the entries that are not installed; if
// short is set, it has only their number and the first of them.
func (s *Step) Warned(short bool) []string {
	n := len(s.dropped)
	if n == 0 {
		return s.Warnings
	}
	text := "not installed: " + strings.Join(s.dropped, "; ")
	if short && n > 1 {
		text = fmt.Sprintf("not installed: %s entries, the first: %s; --json lists all", display.Thousands(n), s.dropped[0])
	}
	return append([]string{text}, s.Warnings...)
}

// shortList lists at most a few paths.
func shortList(paths []string) string {
	return strings.Join(paths[:min(len(paths), shownPaths)], ", ") + more(len(paths))
}

// shownPaths is the number of paths that shortList lists.
const shownPaths = 5

// more returns the text that counts the paths that shortList leaves out, or "". n is the number of
// all paths.
func more(n int) string {
	if n <= shownPaths {
		return ""
	}
	return " and " + display.Thousands(n-shownPaths) + " more"
}

func scriptsFirst(a, b string) int {
	x, y := strings.HasPrefix(a, "scripts/"), strings.HasPrefix(b, "scripts/")
	switch {
	case x && !y:
		return -1
	case y && !x:
		return 1
	}
	return strings.Compare(a, b)
}

// A skill beyond these limits of SEP-2640 is installed, and the tools offer it, but the Skills
// extension does not offer it.
const (
	publishedFiles = 512
	publishedSize  = 16 << 20
)

// warn sets the step's warnings about new content that is not offered, or not installed.
func (s *Step) warn(files []lockfile.File, original origin.Skill) {
	var out []string
	var size int64
	for _, f := range files {
		size += f.Size
	}
	if len(files) > publishedFiles || size > publishedSize {
		out = append(out, "it has more than 512 files or 16 MiB, so the Skills extension of MCP does not offer it; the tools do")
	}
	if s.Withheld = original.Unserved != ""; s.Withheld {
		out = append(out, "knack does not offer it: "+original.Unserved)
	}
	if original.Left > 0 {
		out = append(out, leftOut(original.Left))
	}
	s.Warnings, s.dropped = out, original.Dropped
}
