package workspace

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// maxSettings limits the bytes of a file of a client's settings.
const maxSettings = 16 << 20

// clientSkills describes the skills that a client shows on its own, and the settings with which the
// user disables some of them.
type clientSkills struct {
	*catalog.ClientSkills
	curation clientconfig.Curation
}

// clientSkills describes the skills that a client shows on its own: the enabled skills in the
// folders that the client reads. It returns the same pointer until something changes. If the
// settings cannot be read, it returns nil, since a skill that the client does not show must stay
// listed.
func (w *Workspace) clientSkills(client string) *catalog.ClientSkills {
	agent := agents.Named(client)
	if agent == nil {
		return nil
	}
	l := w.inUse.Load()
	now := clientSkills{ClientSkills: &catalog.ClientSkills{Folders: map[string]bool{}, Roots: map[string]bool{}, Real: map[string]string{}, Deep: agent.Deep, Unlinked: agent.Unlinked, Lenient: agent.Lenient}}
	for _, r := range l.roots {
		if !r.Absent {
			now.Real[r.Dir] = settings.RealOf(r.Dir)
		}
	}
	folders := l.roots
	if w.Named() { // the client reads its own folders in any case
		folders = dir.WellKnown(l.open, w.o.Env.Home, w.Getenv())
	}
	for _, r := range folders {
		switch {
		case !r.IsShownBy(client):
		case r.Plugin != "":
			now.Roots[r.Label] = true
		default:
			now.Folders[r.Dir], now.Folders[settings.RealOf(r.Dir)] = true, true
		}
	}
	curation, err := w.curation(agent, l.open)
	if err != nil {
		return nil
	}
	if now.curation = curation; !curation.IsEmpty() {
		now.Off = func(e *catalog.Entry) bool { return curation.Off(subjectOf(e)) }
	}
	if was, ok := w.clients.Load(client); ok {
		if was := was.(clientSkills); was.curation.Equal(curation) && maps.Equal(was.Folders, now.Folders) && maps.Equal(was.Roots, now.Roots) && maps.Equal(was.Real, now.Real) {
			return was.ClientSkills
		}
	}
	w.clients.Store(client, now)
	return now.ClientSkills
}

// ForClient returns the view with the lists for a client, given its name in the table of agents. It
// must be called after [Workspace.View] or [Workspace.Scan].
func (w *Workspace) ForClient(ctx context.Context, client string) (catalog.View, error) {
	w.catalog.AddClient(client)
	return w.catalog.View(ctx)
}

// curation reads the settings with which an agent disables skills.
func (w *Workspace) curation(agent *agents.Agent, open []string) (out clientconfig.Curation, err error) {
	data := map[string][]byte{} // one file may contain several of the settings
	for _, at := range agent.Off {
		place, key, _ := strings.Cut(at, "#")
		files, err := w.settingsFiles(open, place)
		if err != nil {
			return out, err
		}
		for _, file := range files {
			if _, read := data[file]; !read {
				if data[file], err = readSettings(file); err != nil {
					return out, err
				}
			}
			if data[file] == nil {
				continue
			}
			if err := out.Add(file, key, data[file]); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

func subjectOf(e *catalog.Entry) clientconfig.Subject {
	s := clientconfig.Subject{Name: e.Name, Folder: e.Folder(), InProject: e.Root.Scope == skill.ScopeProject}
	if d := e.Dir(); d != "" {
		at := filepath.Join(d, e.Entry)
		s.Files = []string{at, realpath.Of(at)}
	}
	return s
}

// settingsFiles returns the paths of a settings file that the table of agents names, with links
// resolved. A file in a project has one path for each folder from the repository's root down; the
// last path has precedence. A project may be a clone, so a link that leads out of the project is an
// error.
func (w *Workspace) settingsFiles(open []string, place string) (files []string, err error) {
	name, inProject := strings.CutPrefix(place, "./")
	if !inProject {
		if at := (agents.Homes{Home: w.o.Env.Home, Getenv: w.Getenv()}).Path(place); at != "" {
			files = append(files, settings.RealOf(filepath.FromSlash(at)))
		}
		return files, nil
	}
	for _, project := range open {
		for _, folder := range slices.Backward(dir.Project(project, w.o.Env.Home)) {
			file, err := edit.Within(folder, filepath.Join(folder, filepath.FromSlash(name)))
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
	}
	return files, nil
}

// readSettings returns the contents of a file, or nil if it does not exist.
func readSettings(file string) ([]byte, error) {
	fsys, err := dir.FS(filepath.Dir(file))
	if err == nil {
		var data []byte
		if data, _, err = skill.ReadFile(fsys, filepath.Base(file), maxSettings); err == nil {
			return data, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return nil, err
}
