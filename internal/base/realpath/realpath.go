// Package realpath answers whether two absolute paths are one place on the disk, and resolves
// links. It only asks where links lead, and opens nothing.
//
// [Same] and [Inside] are the only comparison of folders: a path as it is written says nothing
// about a place, since links, mounts and unequal case give one folder many paths.
package realpath

import (
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

// Of resolves the links in the existing part of an absolute path. A [Silent] path is not resolved.
func Of(dir string) string {
	if Silent(dir) {
		return dir
	}
	if real, err := Eval(dir); err == nil {
		return real
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return dir
	}
	return filepath.Join(Of(parent), filepath.Base(dir))
}

// Child resolves an entry of a real folder. It asks the disk once if the entry is not a
// link.
func Child(real, name string) string {
	at := filepath.Join(real, name)
	if info, err := os.Lstat(at); err == nil && IsLink(info.Mode()) {
		return Of(at)
	}
	return at
}

// Links lists the links in the existing part of an absolute path. Each link is named by
// the real path of its folder.
func Links(path string) (links []string) {
	if !filepath.IsAbs(path) || Silent(path) {
		return nil
	}
	_, links, _ = walk(path, os.Lstat)
	return links
}

// IsLink reports whether an entry leads elsewhere, by the mode that Lstat returned. Go calls
// a junction of Windows irregular (go.dev/doc/go1.23, package os), as it calls every file of
// a kind that it does not know. A folder that a synchronizing program provides is irregular
// and a folder.
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
	return filepath.EvalSymlinks(real) // which spells the names as the disk does
}

// walk follows the links in an absolute path to the real path, and returns both. After an
// error the links are those on the way to it.
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
		case err != nil || target == "": // irregular and no junction, or no link
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

// top splits an absolute path into its volume's root and the parts below it.
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
// spellings. Paths that do not exist are one place if they would be made in one.
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

// Inside reports whether target is the folder dir or in it, through any links, mounts and
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
