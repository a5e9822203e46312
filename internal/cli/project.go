package cli

import (
	"errors"
	"fmt"

	"github.com/knack-dev/knack/edit"
	"github.com/knack-dev/knack/source/dir"
)

// insideProject refuses a write to file if a link in the project of folder leads out of
// that project, because the links of a clone come from its author. It accepts a file that
// the user named by its own path. With the error it returns the link's target in displayed
// form, which the user can name instead.
func insideProject(env Env, folder, file string) (target string, err error) {
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
