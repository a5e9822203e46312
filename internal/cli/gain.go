package cli

import (
	"context"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/clientconfig/connection"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// addGains sets the gain of each connection whose client is here or connected. The gain compares
// the skills that the client reads itself with the skills that knack adds. The workspace must have
// read its skills.
func addGains(ctx context.Context, env *console.Env, w *workspace.Workspace, all []connection.Connection) {
	for i := range all {
		if c := &all[i]; c.Here || c.Works() {
			c.Gain = gainOf(ctx, env, w, c.Client, c.Name)
		}
	}
}

// gainOf returns how many skills a client reads itself, and how many knack adds. It returns nil if
// the skills cannot be read.
func gainOf(ctx context.Context, env *console.Env, w *workspace.Workspace, id, name string) *connection.Gain {
	v, err := w.ForClient(ctx, name)
	if err != nil {
		return nil
	}
	g := &connection.Gain{Adds: countOwn(v.ListedFor(name)), Folder: ownFolder(env, id)}
	for _, e := range v.DoubtfulFor(name) {
		g.Doubtful = append(g.Doubtful, e.Name)
	}
	g.Own = countOwn(v.Listed) - g.Adds
	g.OwnTokens, g.Tokens = tool.ListTokens(v, name)
	return g
}

// countOwn counts the skills that are not built in.
func countOwn(skills []*catalog.Entry) (n int) {
	for _, e := range skills {
		if e.Root.Scope != skill.ScopeBuiltin {
			n++
		}
	}
	return n
}

// ownFolder returns the folder of a client for the user's skills, in the form for people, or "".
func ownFolder(env *console.Env, id string) string {
	homes := agents.Homes{Home: env.Home, Getenv: env.Variable}
	for _, p := range agents.Pairs() {
		if at := homes.Path(p.Home); p.Agent.ID == id && p.Home != "" && at != "" {
			return env.Shown(at)
		}
	}
	return ""
}
