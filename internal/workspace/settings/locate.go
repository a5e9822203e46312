package settings

import (
	"errors"
	"fmt"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Within returns the path of a file or folder with links resolved, for a write. It refuses a path
// with a link that leads out of the folder's project, because the links of a clone come from its
// author. It accepts a path outside of the project that the user named directly. With an error,
// target is the link's target as displayed, which the user can name instead.
func Within(env console.Env, folder, file string) (real, target string, err error) {
	chain := dir.Project(folder, env.Home)
	if len(chain) == 0 { // the user's own settings
		return realpath.Of(file), "", nil
	}
	real, err = edit.Within(chain[len(chain)-1], file)
	if out := (*edit.OutsideError)(nil); errors.As(err, &out) {
		target = env.Shown(out.Target)
		return "", target, fmt.Errorf("%s is a link to %s, outside of the project", env.Shown(out.Link), target)
	}
	return real, "", err
}

// Folder returns the project's folder: --project, or the working directory, or "" if
// that is unknown.
func Folder(env console.Env, project string) string {
	if project != "" {
		return env.Absolute(project)
	}
	return env.Dir
}

// Root returns the root of the project's repository, or the folder itself outside of a repository.
// It is "" for the home folder, which is not a project.
func Root(env console.Env, project string) string {
	at := Folder(env, project)
	if at == "" {
		return ""
	}
	chain := dir.Project(at, env.Home)
	if len(chain) == 0 {
		return ""
	}
	return chain[len(chain)-1]
}

// CheckFolder returns the error for a named folder that cannot be used, or nil.
func CheckFolder(env *console.Env, flag, folder string) error {
	if folder == "" {
		return UsageError("give a folder, or leave "+flag+" out", "%s: the folder's name is empty", flag)
	}
	if err := dir.Check(env.Absolute(folder)); err != nil {
		words, hint := skill.FolderReason(err)
		return RunError(hint, "%s %s: %s", flag, folder, words)
	}
	return nil
}
