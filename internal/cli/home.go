package cli

import (
	"context"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/clientconfig/connection"
)

// printHome says in five lines what there is here and what to do next. It says what can be read
// in a moment: other commands wait for every disk.
func printHome(ctx context.Context, env *console.Env) error {
	v, _ := InTime(ctx, func(ctx context.Context) catalog.View {
		var from sourceFlags
		v, _ := from.viewSoon(ctx, *env) // without one, as if it were late
		return v
	})
	all, _ := InTime(ctx, func(context.Context) []connection.Connection {
		var f connectFlags
		all, _ := f.all(*env)
		return all
	})
	return console.PrintText(env, Text(v, all))
}
