package cli

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
)

func toolsCommand(env *console.Env) *cobra.Command {
	from := sourceFlags{vets: vetsOnce}
	var with toolFlags
	var prompt bool
	var limit int
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "Print the tools' definitions, for an agent that you write",
		Long: `Print the tools' definitions as JSON, for a program that talks to a model
itself: an array, or for gemini one object with functionDeclarations. knack call
answers the model's calls.

With --prompt: the list of skills as text, for the system prompt of an agent.`,
		Example: `  knack tools --format openai >tools.json
  knack tools --prompt`,
		Args: command.ArgCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			tools, format, err := with.parse(*env, &from)
			if err != nil {
				return err
			}
			if format == function.OpenAI && !cmd.Flags().Changed("description-limit") {
				limit = function.OpenAILimit
			}
			if tools, err = limitTools(tools, limit); err != nil {
				return err
			}
			from.sets = with.set
			host, err := from.host(cmd.Context(), *env)
			if err != nil {
				return err
			}
			if prompt {
				v, err := host.Catalog.View(cmd.Context())
				if err != nil {
					return command.RunError("", "%w", err)
				}
				return console.PrintText(env, tool.Prompt(v, tools))
			}
			var b bytes.Buffer
			data, err := function.Definitions(cmd.Context(), host, tools, format, profile.Client{Limit: profile.Unlimited})
			if err == nil {
				err = json.Indent(&b, data, "", "  ")
			}
			if err != nil {
				return command.RunError("", "%w", err)
			}
			return console.PrintText(env, b.String()+"\n")
		},
	}
	from.register(cmd, env)
	from.registerConfig(cmd)
	with.register(cmd, function.MCP)
	cmd.Flags().BoolVar(&prompt, "prompt", false, "print the list of skills as text for a system prompt, in place of definitions")
	cmd.Flags().IntVar(&limit, "description-limit", 0, "the most characters of a description with its list of skills: `N`; 0 limits the list alone, to 16,000 (default 1024 for openai, which refuses longer ones, else 0)")
	return cmd
}

// limitTools applies --description-limit.
func limitTools(tools []*tool.Tool, limit int) ([]*tool.Tool, error) {
	limited, err := tool.Limit(tools, limit)
	if err != nil {
		err = command.UsageError("allow more, give 0 for a list of 16,000 characters, or choose another set with --tools", "--description-limit %d: %w", limit, err)
	}
	return limited, err
}

// toolFlags choose the tools and the vendor's format.
type toolFlags struct{ set, format string }

func (f *toolFlags) register(cmd *cobra.Command, format function.Format) {
	formats, flags := function.FormatNames(), cmd.Flags()
	flags.StringVar(&f.set, "tools", tool.DefaultSet, "the tools of `SET`: "+strings.Join(tool.SetNames(), ", ")+"; several separated by commas")
	flags.StringVar(&f.format, "format", string(format), "write in the form of `FORMAT`: "+strings.Join(formats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions(tool.SetNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

func (f *toolFlags) parse(env console.Env, from *sourceFlags) ([]*tool.Tool, function.Format, error) {
	f.set = from.toolSet(env, f.set, 0)
	tools, err := tool.ParseSets(f.set)
	if err != nil {
		return nil, "", noSet(f.set, err)
	}
	format, err := function.ParseFormat(f.format)
	if err != nil {
		return nil, "", command.UsageError(meant(f.format, function.FormatNames(), ""), "--format %s: %w", display.Echo(f.format), err)
	}
	return tools, format, nil
}
