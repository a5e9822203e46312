package cli

import (
	"context"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/clientconfig/connection"
	"github.com/knack-dev/knack/internal/workspace"
)

// printHome prints five lines about the skills here and the next step. Unlike other commands, it
// does not wait for slow disks.
func printHome(ctx context.Context, env *console.Env) error {
	v, _ := selection.InTime(ctx, func(ctx context.Context) (v catalog.View) {
		if w, err := workspace.Open(workspace.Options{Env: env, Patience: selection.RootPatience}); err == nil {
			v, _ = w.View(ctx) // an error counts as a late view
		}
		return v
	})
	all, _ := selection.InTime(ctx, func(context.Context) []connection.Connection {
		var f connectFlags
		all, _ := f.all(*env)
		return all
	})
	return console.PrintText(env, Text(v, all))
}
