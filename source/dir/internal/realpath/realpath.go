// Package realpath resolves links in absolute paths. It only asks where links lead, and
// opens nothing.
package realpath

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds the links that one path may pass through. Linux allows 40
// (path_resolution(7)).
const maxLinks = 40

// Of resolves the links of an absolute path, as far as the path exists.
func Of(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return dir
	}
	return filepath.Join(Of(parent), filepath.Base(dir))
}

// Links lists the links that an absolute path passes through, as far as the path
// exists. Each link is named by the real path of its folder.
func Links(path string) (links []string) {
	if !filepath.IsAbs(path) {
		return nil
	}
	at, rest := top(path)
	for len(rest) > 0 && len(links) < maxLinks {
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
		fi, err := os.Lstat(next)
		if err != nil {
			return links
		}
		if fi.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		links = append(links, next)
		target, err := os.Readlink(next)
		if err != nil {
			return links
		}
		parts := strings.Split(filepath.ToSlash(target), "/")
		if filepath.IsAbs(target) {
			at, parts = top(target)
		}
		rest = append(parts, rest...)
	}
	return links
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
