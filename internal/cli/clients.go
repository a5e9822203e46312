package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/cli/distcmd"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// clientsHere returns the clients of this machine, in the order of the table of agents.
func clientsHere(env *console.Env, project string) (here []distcmd.Client) {
	f := connectFlags{project: project}
	homes := agents.Homes{Home: env.Home, Getenv: env.Variable}
	for _, a := range agents.All() {
		c, connectable := clientconfig.Find(a.ID)
		if !connectable {
			if a.Name != agents.Any && dir.Detected(a, settings.Root(*env, project), homes) {
				here = append(here, distcmd.Client{Agent: a})
			}
			continue
		}
		s, err := f.server(*env, c)
		if err != nil {
			continue
		}
		s.ReplaceURL = false // an entry with a URL counts as connected
		if state, _, _ := f.state(*env, c, s); state.Here || state.Works() {
			here = append(here, distcmd.Client{Agent: a, Connected: state.Works(), Connectable: true})
		}
	}
	return here
}

// heldBack returns the reason for each of the given skill folders that the lock or the
// operator's policy holds back.
func heldBack(ctx context.Context, env *console.Env, config string, folders []string) map[string]string {
	var roots []string
	for _, folder := range folders {
		if root := filepath.Dir(folder); !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	why := map[string]string{}
	w, err := workspace.Open(workspace.Options{Env: env, Dirs: roots, Config: config, NoBuiltin: true})
	if err == nil {
		v, failed := w.View(ctx)
		err = failed
		for _, e := range v.Entries {
			at := realpath.Of(filepath.Join(e.Root.Dir, filepath.FromSlash(e.Path)))
			for _, folder := range folders {
				if realpath.Of(folder) == at && skill.Refusal(e.Fault()) != nil {
					p, _ := e.SkipReason()
					why[folder] = strings.TrimPrefix(p.Message, "held back: ")
				}
			}
		}
	}
	if err != nil { // An unknown list is not put before a client.
		for _, folder := range folders {
			why[folder] = "it cannot be judged: " + err.Error()
		}
	}
	return why
}
