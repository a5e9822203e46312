package cli

import (
	"context"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/clientconfig/connection"
	"github.com/knack-dev/knack/internal/workspace"
)

// printHome prints an overview of the skills here, and the next step. Unlike other commands, it
// does not wait for slow disks.
func printHome(ctx context.Context, env *console.Env) error {
	type found struct {
		w *workspace.Workspace
		v catalog.View
	}
	here, inTime := selection.InTime(ctx, func(ctx context.Context) (f found) {
		if w, err := workspace.Open(workspace.Options{Env: env, Patience: selection.RootPatience}); err == nil {
			if f.v, err = w.View(ctx); err == nil { // an error counts as being late
				f.w = w
			}
		}
		return f
	})
	all, _ := selection.InTime(ctx, func(ctx context.Context) []connection.Connection {
		var f connectFlags
		all, _ := f.all(*env)
		if inTime && here.w != nil {
			addGains(ctx, env, here.w, all)
		}
		return all
	})
	return console.PrintText(env, Text(here.v, all))
}
