package dir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
)

// WellKnown lists the folders in which clients keep skills, in the order of precedence, whether
// they exist or not. It takes them from the table of package agents. projects are absolute project
// folders, and home is the user's home folder. Either may be empty. getenv returns the variables
// with which the user moves the homes of clients. It is nil if no variable may move them.
//
// Each project contributes its own folder and the parents up to the repository's root, see
// [Project]. A root's label is the row's label with "-user", or with "-project" for the first of
// those folders and "-project-2", "-project-3" for the next. A label depends only on the folder's
// distance, not on the existence of other folders. The home folder is never a project, so its roots
// count once, as global. Roots with the same real folder are listed once, as the first of them,
// with the other labels in [skill.Root.Also].
//
// A folder with a name that is common for other things is listed only if its agent is detected. A
// variable can move a home into a project. That home then has the project's scope, because it is
// only as trustworthy as the project.
func WellKnown(projects []string, home string, getenv func(string) string) []skill.Root {
	homes := agents.Homes{Home: home, Getenv: getenv}
	folders := projectFolders(projects, home)
	var out []skill.Root
	seen := map[string]int{} // 1 + the index of the root
	tops := tops{}
	var owners []*agents.Agent
	add := func(owner *agents.Agent, label string, scope skill.Scope, folder, sub string) {
		at := filepath.Join(folder, filepath.FromSlash(sub))
		real := tops.top(folder).real(sub)
		if i := seen[real] - 1; i >= 0 {
			if out[i].Dir != at || owners[i] != owner { // otherwise both are the folder of one agent, and no variable has moved it
				out[i].Also = strings.TrimPrefix(out[i].Also+","+label, ",")
			}
			return
		}
		out = append(out, skill.Root{Label: label, Scope: scope, Dir: at, Absent: tops.top(folder).lacks(sub)})
		owners = append(owners, owner)
		seen[real] = len(out)
	}
	inProject := func(at string) bool {
		return at != home && slices.ContainsFunc(folders, func(p string) bool { return realpath.Inside(p, at) })
	}
	for _, pair := range agents.Pairs() {
		for i, folder := range folders {
			label := pair.InProject
			if i > 0 {
				label = fmt.Sprintf("%s-%d", label, i+1)
			}
			if pair.Project != "" && (!pair.Common || tops.detected(pair.Agent, folder, homes)) {
				add(pair.Agent, label, skill.ScopeProject, folder, pair.Project)
			}
		}
		if at, rest := homes.Split(pair.Home); at != "" {
			at, scope := filepath.FromSlash(at), skill.ScopeGlobal
			tops.top(at) // reads the folder from the disk
			if inProject(at) {
				scope = skill.ScopeProject
			}
			add(pair.Agent, pair.AtHome, scope, at, rest)
		}
	}
	for i := range out {
		out[i].ShownBy = strings.Join(agents.Readers(out[i].Labels()), ",")
	}
	return out
}

// projectFolders returns the projects and their parents. It returns each real folder once, and
// leaves out the home folder.
func projectFolders(projects []string, home string) []string {
	seen := map[string]bool{}
	if home != "" && realpath.Answers(home) {
		seen[realpath.Of(home)] = true
	}
	var out []string
	for _, project := range projects {
		if project == "" {
			continue
		}
		for _, dir := range Project(project, home) {
			if real := realpath.Of(dir); !seen[real] {
				seen[real] = true
				out = append(out, dir)
			}
		}
	}
	return out
}

// Repository lists dir and its parents up to the folder that contains ".git". In a linked worktree,
// ".git" is a file. Outside a repository, or if the disk does not answer, Repository lists only
// dir.
func Repository(dir string) (chain []string) {
	dir = filepath.Clean(dir)
	return realpath.Ask(dir, []string{dir}, func() []string { return repository(dir) })
}

func repository(dir string) (chain []string) {
	for at := dir; ; at = filepath.Dir(at) {
		chain = append(chain, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return chain
		}
		if at == filepath.Dir(at) {
			return []string{dir}
		}
	}
}

// Project lists the folder of a project and its parents up to the root of its repository, as
// [Repository] does. The home folder is never a project, by any path: its list is empty. A
// repository that contains the home folder is the user's own, and a folder in it is a project by
// itself.
func Project(folder, home string) (chain []string) {
	chain = Repository(folder)
	if home == "" || !realpath.Answers(home) {
		return chain
	}
	for i, at := range chain {
		if realpath.Same(at, home) {
			return chain[:min(i, 1)]
		}
	}
	return chain
}

// InRepository reports whether a folder is in a repository that does not contain the home folder.
func InRepository(folder, home string) bool {
	chain := Project(folder, home)
	return len(chain) > 0 && exists(filepath.Join(chain[len(chain)-1], ".git"))
}

// maxNames bounds the number of names to read from a folder that may contain agents' folders. In a
// larger folder, each name is looked up separately.
const maxNames = 4096

// top is a folder that contains folders of agents: a project's folder, the home folder, or one that
// a variable names. It is listed once, because nearly all of the agents' folders do not exist.
type top struct {
	dir, path string
	names     map[string]bool // in lower case; nil if they are not known
}

func newTop(dir string) *top {
	return realpath.Ask(dir, &top{dir: dir}, func() *top { return listTop(dir) })
}

func listTop(dir string) *top {
	t := &top{dir: dir}
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		t.names = map[string]bool{} // a pipe must not be opened
		return t
	}
	f, err := os.Open(dir)
	if err != nil {
		return t
	}
	defer f.Close()
	if names, err := f.Readdirnames(maxNames); len(names) < maxNames && (err == nil || errors.Is(err, io.EOF)) {
		t.names = make(map[string]bool, len(names))
		for _, n := range names {
			t.names[strings.ToLower(n)] = true
		}
	}
	return t
}

// lacks reports whether the folder has no entry with the name of sub's first part.
func (t *top) lacks(sub string) bool {
	first, _, _ := strings.Cut(sub, "/")
	return t.names != nil && !t.names[strings.ToLower(first)]
}

// tops contains the folders that may contain folders of agents, by path.
type tops map[string]*top

func (t tops) top(folder string) *top {
	if t[folder] == nil {
		t[folder] = newTop(folder)
	}
	return t[folder]
}

// Detected reports whether an agent is used, on this machine or in a project's folder.
func Detected(a *agents.Agent, project string, homes agents.Homes) bool {
	return tops{}.detected(a, project, homes)
}

// detected reports whether an agent is used, on this machine or in a project's folder.
func (t tops) detected(a *agents.Agent, project string, homes agents.Homes) bool {
	return slices.ContainsFunc(a.Detect, func(place string) bool {
		place, key, _ := strings.Cut(place, "#")
		folder, sub := project, ""
		if rest, ok := strings.CutPrefix(place, "./"); ok {
			sub = rest
		} else if folder, sub = homes.Split(place); folder == "" {
			return false
		}
		folder = filepath.FromSlash(folder)
		switch {
		case t.top(folder).lacks(sub):
			return false
		case key != "":
			return dependsOn(folder, sub, key)
		}
		at := filepath.Join(folder, filepath.FromSlash(sub))
		return realpath.Ask(at, false, func() bool { return exists(at) })
	})
}

// maxPackage bounds the size of a package.json that is read to detect an agent.
const maxPackage = 1 << 20

// dependsOn reports whether a package.json in a folder has a dependency of this name.
func dependsOn(folder, file, name string) bool {
	fsys, err := FS(folder)
	if err != nil {
		return false
	}
	data, _, err := skill.ReadFile(fsys, file, maxPackage)
	var p struct{ Dependencies, DevDependencies map[string]any }
	if err != nil || json.Unmarshal(data, &p) != nil {
		return false
	}
	return p.Dependencies[name] != nil || p.DevDependencies[name] != nil
}

// real returns [realpath.Of] for a path below the folder. It resolves the folder once for all paths
// that do not exist. It does not resolve a path on a disk that does not answer.
func (t *top) real(sub string) string {
	if !t.lacks(sub) {
		at := filepath.Join(t.dir, filepath.FromSlash(sub))
		return realpath.Ask(at, at, func() string { return realpath.Of(at) })
	}
	if t.path == "" {
		t.path = realpath.Of(t.dir)
	}
	return filepath.Join(t.path, filepath.FromSlash(sub))
}
