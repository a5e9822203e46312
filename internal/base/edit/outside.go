package edit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/internal/base/realpath"
)

// OutsideError reports a path that leads out of its folder through a link.
type OutsideError struct {
	Link   string // the link's absolute path
	Target string // the absolute path that the link leads to
}

// Error returns a message with the link and its target.
func (e *OutsideError) Error() string {
	return fmt.Sprintf("%s is a link to %s, outside of the project", e.Link, e.Target)
}

// Within resolves the links of path, including its last element, for a write that must stay in the
// folder root. Both paths are absolute. If path is below root as written, but a link on the way
// leads out of root, the error is an [*OutsideError]. If path is not below root as written, the
// user named it, and Within only resolves it.
//
// A cloned repository can contain a link such as .claude -> ~/elsewhere. Call Within before a write
// to a path that the user did not name, and write to the path that it returns. Within compares the
// resolved path with root. The other functions of this package follow no link that appears later.
// Parts of path need not exist yet.
func Within(root, path string) (string, error) {
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == "." || leaves(rel) {
		return realpath.Of(path), nil
	}
	top, err := realpath.Eval(root)
	if err != nil {
		return "", pathError("resolve", root, err)
	}
	if err := leadsOut(top, rel); err != nil {
		return "", err
	}
	real := realpath.Of(filepath.Join(top, rel))
	if !realpath.Within(top, real) { // a link was made meanwhile
		return "", &OutsideError{Link: path, Target: real}
	}
	return real, nil
}

// leadsOut checks the links on the way to rel, including its last element. If one leads out of the
// folder real, it returns the first such link as an [*OutsideError]. real has no links.
func leadsOut(real, rel string) error {
	at := real
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		next := filepath.Join(at, part)
		info, err := os.Lstat(next)
		if err != nil || !realpath.IsLink(info.Mode()) {
			at = next // the rest does not exist, or is not a link
			continue
		}
		target, err := realpath.Eval(next)
		if err != nil || target == next { // a dangling link, or an entry that this system does not follow
			if target, err = os.Readlink(next); err != nil {
				return pathError("resolve", next, err)
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(at, target)
			}
		}
		below, err := filepath.Rel(real, target)
		if err != nil || leaves(below) {
			return &OutsideError{Link: next, Target: target}
		}
		at = target
	}
	return nil
}

// leaves reports whether a relative path leads out of the folder in which it starts.
func leaves(rel string) bool {
	return rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
