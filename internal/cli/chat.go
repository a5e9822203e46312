package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/chatcmd"
	"github.com/knack-dev/knack/tool"
)

// offered has the skills and the tools for commands that talk to models.
type offered struct{ approvals }

func offeredOf(env *console.Env) offered {
	return offered{approvals{&sourceFlags{vets: vetsOnce}, env}}
}

func chatCommand(env *console.Env) *cobra.Command {
	from := offeredOf(env)
	cmd := chatcmd.Command(env, chatcmd.Skills{Tools: from.Tools, Host: from.Host, Config: from.Config})
	from.register(cmd, env)
	from.registerConfig(cmd)
	cmd.Flags().Lookup("config").Usage = modelsConfig
	return cmd
}

const modelsConfig = "read the models of chat in `FILE`, in place of your own knack.yaml, and the skills of the roots that it names"

// Tools returns the tools of --tools or the project, and their name.
func (o offered) Tools(flag string) (string, []*tool.Tool, error) {
	o.sets = o.toolSet(*o.env, flag, 0)
	tools, err := tool.ParseSets(o.sets)
	if err != nil {
		err = noSet(o.sets, err)
	}
	return o.sets, tools, err
}

// Host reads the skills, for the tools that Tools returned.
func (o offered) Host(ctx context.Context, _ string) (*tool.Host, error) { return o.host(ctx, *o.env) }
