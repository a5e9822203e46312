// Package realpath compares absolute paths by the places on the disk to which they lead, and
// resolves links. It opens no file.
//
// [Same] and [Inside] are the only comparisons of folders. Comparing the text of paths is not
// enough: links, mounts and differences in case give one folder many paths.
package realpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// maxLinks bounds the links that one path may pass through. Linux allows 40
// (path_resolution(7)).
const maxLinks = 40

// Of resolves the links in the existing part of an absolute path. It returns a [Silent] path
// unchanged.
func Of(dir string) string {
	if Silent(dir) {
		return dir
	}
	real, err := Eval(dir)
	if err == nil {
		return real
	}
	if dir = filepath.Clean(dir); isPlain(dir, err) {
		return dir
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return dir
	}
	return filepath.Join(Of(parent), filepath.Base(dir))
}

// isPlain reports whether the existing part of a clean path is already resolved, given the error of
// [Eval]: the first missing part has the same path before and after links are resolved. On Windows,
// the spelling may differ still.
func isPlain(path string, err error) bool {
	missing, ok := errors.AsType[*fs.PathError](err)
	return ok && runtime.GOOS != "windows" && errors.Is(err, fs.ErrNotExist) && Within(missing.Path, path)
}

// Child resolves an entry of a folder whose path is real. If the entry is not a link, it makes only
// one system call.
func Child(real, name string) string {
	at := filepath.Join(real, name)
	if info, err := os.Lstat(at); err == nil && IsLink(info.Mode()) {
		return Of(at)
	}
	return at
}

// Links lists the links in the existing part of an absolute path. The result has each link's path
// with its folder resolved.
func Links(path string) (links []string) {
	if !filepath.IsAbs(path) || Silent(path) {
		return nil
	}
	_, links, _ = walk(path, os.Lstat)
	return links
}

// IsLink reports whether an entry leads elsewhere, given the mode that Lstat returned. Go reports a
// junction of Windows, like every file of an unknown kind, as irregular (go.dev/doc/go1.23, package
// os). A folder that a synchronizing program provides is irregular too, but has the mode of a
// folder.
func IsLink(m fs.FileMode) bool {
	return m&fs.ModeSymlink != 0 || m&fs.ModeIrregular != 0 && !m.IsDir()
}

// Eval is [filepath.EvalSymlinks] that also follows junctions of Windows.
func Eval(path string) (string, error) {
	if runtime.GOOS != "windows" || !filepath.IsAbs(path) {
		return filepath.EvalSymlinks(path)
	}
	return eval(path, os.Lstat)
}

func eval(path string, lstat func(string) (fs.FileInfo, error)) (string, error) {
	real, _, err := walk(path, lstat)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(real) // spells the names as the disk does
}

// walk follows the links in an absolute path, and returns the real path and the links. After an
// error it returns the links up to the faulty part.
func walk(path string, lstat func(string) (fs.FileInfo, error)) (at string, links []string, err error) {
	at, rest := top(path)
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		fi, err := lstat(next)
		if err != nil {
			return "", links, err
		}
		target := ""
		if IsLink(fi.Mode()) {
			target, err = os.Readlink(next)
		}
		switch {
		case err != nil && fi.Mode()&fs.ModeSymlink != 0:
			return "", append(links, next), err
		case err != nil || target == "": // irregular but not a junction, or not a link
			at = next
			continue
		case len(links) == maxLinks:
			return "", links, &fs.PathError{Op: "resolve", Path: path, Err: syscall.ELOOP}
		}
		links = append(links, next)
		parts := strings.Split(filepath.ToSlash(target), "/")
		if filepath.IsAbs(target) {
			at, parts = top(target)
		}
		rest = append(parts, rest...)
	}
	return at, links, nil
}

// top splits an absolute path into the root of its volume and the parts below it.
func top(path string) (root string, parts []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), strings.Split(filepath.ToSlash(path[len(volume):]), "/")
}

// Within reports whether target is dir or below it. Both are real paths.
func Within(dir, target string) bool {
	rel, err := filepath.Rel(dir, target)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Same reports whether two absolute paths lead to the same place, through any links, mounts and
// spellings. If neither path exists, Same reports whether creating both would make one file.
func Same(a, b string) bool {
	if a == b || !filepath.IsAbs(a) || !filepath.IsAbs(b) {
		return a == b
	}
	if Silent(a) || Silent(b) {
		return false
	}
	x, err := os.Stat(a)
	y, otherErr := os.Stat(b)
	if err == nil || otherErr == nil {
		return err == nil && otherErr == nil && os.SameFile(x, y)
	}
	return filepath.Base(a) == filepath.Base(b) && filepath.Dir(a) != a && Same(filepath.Dir(a), filepath.Dir(b))
}

// Inside reports whether target is the folder dir or a place in it, through any links, mounts and
// spellings of both.
func Inside(dir, target string) bool {
	if !filepath.IsAbs(dir) || !filepath.IsAbs(target) {
		return false
	}
	dir, target = Of(dir), Of(target)
	if Within(dir, target) {
		return true
	}
	if Silent(dir) || Silent(target) {
		return false
	}
	outer, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for at := target; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, outer) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}
