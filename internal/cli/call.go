package cli

import (
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/tool"
)

func callCommand(env *console.Env) *cobra.Command {
	var with toolFlags
	cmd := &cobra.Command{
		Use:   "call",
		Short: "Answer a model's tool call, which is read from standard input",
		Long: `Read one tool call of a model, or a list of them, from standard input, and print
the message that answers it, or the list of those, in the same format, which is
recognised without --format:

  openai     {"id","type":"function","function":{"name","arguments"}}
             or message.tool_calls;
             {"type":"function_call","call_id","name","arguments"}
             or response.output
  anthropic  {"type":"tool_use","id","name","input"} or a message's content
  gemini     {"functionCall":{"name","args"}} or a content's parts
  mcp        {"name","arguments"}, the params of tools/call

A vendor's whole answer is taken too, and answered by a list. Of its items, and
of those of a list, such as text, only the calls are answered. Each call and its
result are shown on standard error. The exit status is 0 if a message was
printed, even one that reports an error to the model, and 2 if the input is not
a tool call; then nothing is printed.`,
		Example: `  knack call <call.json
  knack call --format anthropic <content.json
  echo '{"name":"find_skills","arguments":{}}' | knack call`,
		Args: command.ArgCount(0, 0, "no arguments; the call is read from standard input"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			// A client that closes stderr still waits for its answer: a write to stderr must not
			// end this process.
			signal.Ignore(syscall.SIGPIPE)
			format, err := with.parse()
			if err != nil {
				return err
			}
			w, err := with.Open()
			if err != nil {
				return err
			}
			defer w.Close()
			done := func() {}
			if env.StdinTerminal {
				fmt.Fprintln(env.Stderr, "Type or paste a tool call as JSON, then Ctrl-D.")
			} else {
				done = console.ShowProgress(env, console.Step{What: "waiting for a tool call on standard input"})
			}
			input, err := io.ReadAll(io.LimitReader(env.Stdin, function.MaxInput+1))
			done()
			if err != nil {
				return command.RunError("", "cannot read standard input: %w", err)
			}
			if !with.Given("format") {
				format = function.FormatOf(input)
			}
			tools, _ := w.Tools()
			host, err := w.Host(cmd.Context())
			if err != nil {
				return err
			}
			host.Observe = func(e tool.Event) { fmt.Fprintln(env.Stderr, e) }
			answer, err := function.Call(cmd.Context(), host, tools, format, input)
			switch {
			case errors.Is(err, function.ErrInput):
				hint := "name the format with --format; knack call --help shows a call in each"
				if with.Given("format") {
					hint = "knack call --help shows a call in each format; without --format it is recognised"
				}
				return command.UsageError(hint, "%w", err)
			case err != nil:
				return command.RunError("", "the call was interrupted: %w", err)
			}
			return console.PrintText(env, string(answer)+"\n")
		},
	}
	with.register(cmd, env, function.OpenAI)
	cmd.Flags().Lookup("format").DefValue = "" // the default is to detect the format
	return cmd
}
