package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/trial"
	"github.com/knack-dev/knack/tool"
)

// evaluated has the skills for the command eval.
type evaluated struct{ approvals }

func evalCommand(env *console.Env) *cobra.Command {
	return trial.Command(env, evaluated{approvals{&sourceFlags{vets: vetsOnce}, env}})
}

// Tools implements [trial.Skills].
func (e evaluated) Tools(flag string) (string, []*tool.Tool, error) {
	e.sets = e.toolSet(*e.env, flag, 0)
	tools, err := tool.ParseSets(e.sets)
	if err != nil {
		err = noSet(e.sets, err)
	}
	return e.sets, tools, err
}

// Host implements [trial.Skills].
func (e evaluated) Host(ctx context.Context, _ string) (*tool.Host, error) {
	return e.host(ctx, *e.env)
}
