package origin

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/source/dir"
)

// ParseTyped reads a source from a command line, as [Parse] does. It refuses a repository whose
// text is also the path of a file or folder below dir, since the user may mean either. If a text in
// no known form is such a path, the fix names that path. ParseTyped also refuses a missing folder
// PATH@REFERENCE if PATH is in a repository on this machine.
func ParseTyped(text, dir, home string) (Ref, error) {
	r, err := Parse(text, dir, home)
	if bad, ok := errors.AsType[*RefError](err); ok && dir != "" && filepath.IsLocal(text) && exists(filepath.Join(dir, text)) {
		return r, refuse("write ./"+display.Echo(filepath.ToSlash(text))+" for the one in this folder", "%s", bad.Message)
	}
	if err == nil && r.Kind == Folder {
		return r, refuseReference(r)
	}
	if err != nil || r.Kind != Git || dir == "" || strings.Contains(text, ":") {
		return r, err
	}
	local, _, _ := cutGit(text)
	if !exists(filepath.Join(dir, filepath.FromSlash(local))) {
		return r, nil
	}
	full := r
	if full.Source = r.Location; !slices.Contains(forges, hostOnly(strings.TrimPrefix(r.Location, "https://"))) {
		full.Source = "git+" + r.Location
	}
	return Ref{}, refuse("write ./"+display.Echo(strings.TrimSuffix(local, "/"))+" for what is here, or "+full.String()+" for the repository",
		"%s names a repository, and it is here too", display.Quote(text))
}

// refuseReference refuses a missing folder PATH@REFERENCE if PATH is in a git repository. The fix
// is the source in the form git+file. It returns nil for any other folder.
func refuseReference(r Ref) error {
	base, _, want := cutGit(r.Source)
	if want == "" || exists(r.Location) || !exists(filepath.FromSlash(base)) {
		return nil
	}
	for at := base; ; at = path.Dir(at) {
		if isRepository(filepath.FromSlash(at)) {
			sub := ""
			if base != at {
				sub = "/" + strings.TrimPrefix(base, at)
			}
			full, err := parseGitFile("///" + strings.TrimPrefix(at, "/") + sub + "@" + want)
			if err != nil {
				return nil
			}
			return refuse("write "+full.String()+" for the repository", "there is no folder %s: only a repository has a reference behind @", display.Quote(path.Base(r.Source)))
		}
		if at == path.Dir(at) {
			return nil
		}
	}
}

// isRepository reports whether a folder is a git repository, with or without a work tree.
func isRepository(folder string) bool {
	return exists(filepath.Join(folder, ".git")) || exists(filepath.Join(folder, "HEAD")) && exists(filepath.Join(folder, "objects"))
}

// exists reports whether there is anything at a path.
func exists(path string) bool { return !errors.Is(dir.Check(path), fs.ErrNotExist) }
