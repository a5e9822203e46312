package cli

import (
	"errors"
	"fmt"

	"github.com/knack-dev/knack/edit"
	"github.com/knack-dev/knack/source/dir"
)

// insideProject refuses a write to file if a link in the project of folder takes it
// out of that project: the author of a clone decides where its links lead. A file that
// the user named by its own path passes. Beside the error, target is the place that the
// link leads to, as users are shown it; they can name that instead.
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
