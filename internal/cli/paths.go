package cli

import (
	"errors"
	"fmt"

	"github.com/knack-dev/knack/edit"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/source/dir"
)

// insideProject refuses a write to file if a link in the project of folder leads out of
// that project, because the links of a clone come from its author. It accepts a file that
// the user named by its own path. With the error it returns the link's target in displayed
// form, which the user can name instead.
func insideProject(env console.Env, folder, file string) (target string, err error) {
	chain := dir.Repository(folder)
	top := chain[len(chain)-1]
	if top == env.Home { // a repository of the user's own settings
		top = folder
	}
	if top == env.Home {
		return "", nil
	}
	err = edit.Inside(top, file)
	if out := (*edit.OutsideError)(nil); errors.As(err, &out) {
		target = atHome(env, out.Target)
		return target, fmt.Errorf("%s is a link to %s, outside of the project", atHome(env, out.Link), target)
	}
	return "", err
}

// projectFolder returns the project's folder: --project, or the working directory, or "" if
// that is unknown.
func projectFolder(env console.Env, project string) string {
	if project != "" {
		return absolute(env, project)
	}
	return env.Dir
}

// projectRoot returns the root of the project's repository, or the folder itself outside of
// a repository.
func projectRoot(env console.Env, project string) string {
	at := projectFolder(env, project)
	if at == "" {
		return ""
	}
	chain := dir.Repository(at)
	return chain[len(chain)-1]
}

// The forms of paths are those of package console.
func atHome(env console.Env, path string) string   { return env.Shown(path) }
func absolute(env console.Env, path string) string { return env.Absolute(path) }
func displayPath(path string, projects []string, home string) string {
	return console.DisplayPath(path, projects, home)
}
func shellWord(path string) string { return console.ShellWord(path) }
