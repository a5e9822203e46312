package cli

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/cli/distcmd"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/clientconfig/connection"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// clientsHere returns the clients of this machine, in the order of the table of agents.
func clientsHere(env *console.Env, project string) (here []distcmd.Client) {
	f := connectFlags{project: project}
	all, _ := f.all(*env) // without the path of this executable, no client is connected
	root, homes := settings.Root(*env, project), agents.Homes{Home: env.Home, Getenv: env.Variable}
	for _, a := range agents.All() {
		_, connectable := clientconfig.Find(a.ID)
		i := slices.IndexFunc(all, func(c connection.Connection) bool { return c.Client == a.ID })
		switch {
		case i >= 0 && (all[i].Here || all[i].Works()):
			here = append(here, distcmd.Client{Agent: a, Connected: all[i].Works(), Connectable: true})
		case i < 0 && !connectable && a.Name != agents.Any && dir.Detected(a, root, homes):
			here = append(here, distcmd.Client{Agent: a})
		}
	}
	return here
}

// heldBack returns the hold on each of the given skill folders that the lock or the operator's
// policy holds back. It judges a skill as a server would, with the root and the URI that the skill
// has there. A folder outside all roots is judged as if its parent were a root. If anything can be
// held back, so is a folder without a skill that can be judged.
func heldBack(ctx context.Context, env *console.Env, project, config string, folders []string) map[string]install.Hold {
	own, err := judgeHere(ctx, workspace.Options{Env: env, Project: project, Config: config, Partly: true, NoBuiltin: true}, folders)
	why := own.why
	elsewhere := slices.DeleteFunc(own.outside, func(folder string) bool {
		missing := errors.Is(dir.Check(folder), fs.ErrNotExist)
		if missing && own.canHold {
			why[folder] = "it cannot be judged: its folder is missing"
		}
		return missing
	})
	if err == nil && len(elsewhere) > 0 {
		var roots []string
		for _, folder := range elsewhere {
			if root := filepath.Dir(folder); !slices.Contains(roots, root) {
				roots = append(roots, root)
			}
		}
		var alone folderVerdicts
		alone, err = judgeHere(ctx, workspace.Options{Env: env, Dirs: roots, Config: config, NoBuiltin: true}, elsewhere)
		maps.Copy(why, alone.why)
		for _, folder := range alone.outside {
			if own.canHold {
				why[folder] = "it cannot be judged: no skill is found in its folder"
			}
		}
	}
	unusable := own.unusable
	if err != nil { // A skill that cannot be judged is not put into a client's folder.
		for _, folder := range folders {
			why[folder] = "it cannot be judged: " + err.Error()
		}
		unusable = err
	}
	holds := map[string]install.Hold{}
	for folder, text := range why {
		var first []string
		if unusable != nil {
			first = append(first, firstFix(unusable, text))
		}
		if slices.Contains(elsewhere, folder) {
			first = append(first, own.addRoot(filepath.Dir(folder)))
		}
		first = slices.DeleteFunc(first, func(fix string) bool { return fix == "" })
		holds[folder] = install.Hold{Why: text, First: strings.Join(first, ", and ")}
	}
	return holds
}

// firstFix returns the fix for an unusable root of a file, with the place in the file unless a text
// contains it.
func firstFix(unusable error, text string) string {
	bad, ok := errors.AsType[*settings.Error](unusable)
	switch {
	case !ok:
		return ""
	case strings.Contains(text, bad.Error()):
		return bad.Hint
	}
	return bad.Error() + ": " + bad.Hint
}

// folderVerdicts holds the answers of a workspace about skill folders.
type folderVerdicts struct {
	why      map[string]string // the reason for each folder whose skill is held back
	outside  []string          // the folders whose skill the workspace does not have
	canHold  bool              // the workspace can hold skills back
	unusable error             // the fault of a root of the settings file, or nil
	addRoot  func(folder string) string
}

// judgeHere asks a workspace about skill folders.
func judgeHere(ctx context.Context, o workspace.Options, folders []string) (folderVerdicts, error) {
	j := folderVerdicts{why: map[string]string{}}
	w, err := workspace.Open(o)
	if err != nil {
		return j, err
	}
	defer w.Close()
	j.unusable, j.addRoot = w.UnusableRoot(), w.AddRoot
	v, err := w.View(ctx)
	if err != nil {
		return j, err
	}
	place := placing()
	found, at := map[string]bool{}, map[string]string{} // at has the folder of each place
	for _, folder := range folders {
		at[place(folder)] = folder
	}
	for _, e := range v.Entries {
		folder, ok := at[place(e.Dir())]
		if !ok {
			continue
		}
		found[folder] = true
		if skill.Refusal(e.Fault()) != nil {
			p, _ := e.SkipReason()
			j.why[folder] = strings.TrimPrefix(p.Message, "held back: ")
		}
	}
	j.outside = slices.DeleteFunc(slices.Clone(folders), func(folder string) bool { return found[folder] })
	j.canHold = w.Holds() // known after the view
	return j, nil
}

// placing returns a function that returns the place of a folder: its path with the links above it
// resolved. The folder itself may be a link: a client's link to a skill, which comes and goes by the
// verdict on the skill, is another place than the skill.
func placing() func(folder string) string {
	parents := map[string]string{}
	return func(folder string) string {
		parent := filepath.Dir(folder)
		real, ok := parents[parent]
		if !ok {
			real = realpath.Of(parent)
			parents[parent] = real
		}
		return filepath.Join(real, filepath.Base(folder))
	}
}
