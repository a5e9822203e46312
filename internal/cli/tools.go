package cli

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
)

func toolsCommand(env *console.Env) *cobra.Command {
	var with toolFlags
	var prompt bool
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
			format, err := with.parse()
			if err != nil {
				return err
			}
			if prompt && with.Given("description-limit") {
				return command.UsageError("leave one of the two out", "--description-limit is for definitions: the list of --prompt always has at most 16,000 characters")
			}
			if format == function.OpenAI && !with.Given("description-limit") {
				with.Tools.Limit = function.OpenAILimit
			}
			w, err := with.Open()
			if err != nil {
				return err
			}
			defer w.Close()
			tools, _ := w.Tools()
			host, err := w.Host(cmd.Context())
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
	with.register(cmd, env, function.MCP)
	cmd.Flags().BoolVar(&prompt, "prompt", false, "print the list of skills as text for a system prompt, in place of definitions")
	cmd.Flags().IntVar(&with.Tools.Limit, "description-limit", 0, "the most characters of a description with its list of skills: `N`; 0 limits the list alone, to 16,000 (default 1024 for openai, which refuses longer ones, else 0)")
	return cmd
}

// toolFlags choose the skills, their tools and the vendor's format.
type toolFlags struct {
	selection.Flags
	format string
}

func (f *toolFlags) register(cmd *cobra.Command, env *console.Env, format function.Format) {
	f.Register(cmd, env)
	f.RegisterConfig(selection.RootsUsage)
	f.RegisterTools("")
	formats := function.FormatNames()
	cmd.Flags().StringVar(&f.format, "format", string(format), "write in the form of `FORMAT`: "+strings.Join(formats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

func (f *toolFlags) parse() (function.Format, error) {
	format, err := function.ParseFormat(f.format)
	if err != nil {
		return "", command.UsageError(typo.Hint(f.format, function.FormatNames(), ""), "--format %s: %w", display.Echo(f.format), err)
	}
	return format, nil
}
