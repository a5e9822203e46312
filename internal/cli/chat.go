package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/talk"
	"github.com/knack-dev/knack/tool"
)

func chatCommand(env *console.Env) *cobra.Command {
	from := sourceFlags{vets: vetsOnce}
	cmd := talk.Command(env, talk.Skills{
		Tools: func(flag string) (string, []*tool.Tool, error) {
			set := from.toolSet(*env, flag, 0)
			tools, err := tool.ParseSets(set)
			if err != nil {
				err = noSet(set, err)
			}
			return set, tools, err
		},
		Host: func(ctx context.Context, set string) (*tool.Host, error) {
			from.sets = set
			return from.host(ctx, *env)
		},
		Config: func() string { return from.config },
	})
	from.register(cmd, env)
	from.registerConfig(cmd)
	cmd.Flags().Lookup("config").Usage = "read the models of chat in `FILE`, in place of your own knack.yaml, and the skills of the roots that it names"
	return cmd
}
