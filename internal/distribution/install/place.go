package install

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
)

// place returns the path of a skill's folder, with the links above it resolved. It refuses a link
// that leads out of the project, and a folder within a .git folder.
func (in *Installer) place(key string) (string, error) {
	at := in.Folder(key)
	parent, err := in.parent(filepath.Dir(at))
	if err != nil {
		return "", err
	}
	place := filepath.Join(parent, filepath.Base(at))
	if rel, err := filepath.Rel(in.real, place); err == nil && slices.ContainsFunc(strings.Split(rel, string(filepath.Separator)), lockfile.IsGit) {
		fix := "remove the entry from the lock"
		if _, locked := in.lock.Skills[key]; !locked {
			fix = "name another folder with --to"
		}
		return "", problem(fix, "%s is in the repository's own folder, where files can be programs that git starts", key)
	}
	return place, nil
}

// parent returns the resolved path of a folder of skills. It is cached, since most skills share one
// folder. noLinks finds links that appear later.
func (in *Installer) parent(dir string) (string, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p, known := in.parents[dir]
	if !known {
		if p.real, p.err = in.resolve(dir); in.parents == nil {
			in.parents = map[string]parent{}
		}
		in.parents[dir] = p
	}
	return p.real, p.err
}

// parent is the resolved path of a folder of skills, or the reason why knack installs no skill
// there.
type parent struct {
	real string
	err  error
}

func (in *Installer) resolve(dir string) (string, error) {
	real := realpath.Of(dir)
	if in.o.Contained {
		within, err := edit.Within(in.o.Root, dir)
		var out *edit.OutsideError
		if errors.As(err, &out) {
			return "", &Problem{Err: fmt.Errorf("%s is a link to %s, outside of the project", in.formatPath(out.Link), in.formatPath(out.Target)), Fix: in.orTo("make it a folder", "name another folder"), No: true}
		}
		if err != nil {
			return "", problem("", "%w", err)
		}
		real = within
	}
	if links := realpath.Links(real); len(links) > 0 {
		return "", &Problem{Err: fmt.Errorf("%s is a link that leads nowhere", in.formatPath(links[0])), Fix: in.orTo("make it a folder", "name another folder"), No: true}
	}
	return real, nil
}

// beside returns the folder for new trees. It is beside the folder of skills, since agents scan
// that folder. If that would be outside of Root, it is in the folder of skills.
func (in *Installer) beside(place string) string {
	parent := filepath.Dir(filepath.Dir(place))
	if parent != in.real && !strings.HasPrefix(parent, in.real+string(filepath.Separator)) {
		parent = filepath.Dir(place)
		if filepath.Dir(place) == in.real {
			parent = in.real
		}
	}
	return filepath.Join(parent, ".knack")
}
