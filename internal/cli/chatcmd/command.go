package chatcmd

import (
	"fmt"
	"io"

	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/llm/chat"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// ConfigUsage describes the flag --config of commands that talk to models.
const ConfigUsage = "read the models of chat in `FILE`, in place of your own knack.yaml, and the skills of the roots that it names"

// Command returns the command chat.
func Command(env *console.Env) *cobra.Command {
	o := Options{Env: env}
	var from selection.Flags
	var prompt, system string
	var allow, mcp command.Repeated
	cmd := &cobra.Command{
		Use:   "chat [PROMPT | -]",
		Short: "Talk to a language model that has the skills",
		Long: `Talk to a language model, which finds and loads skills by the tools of knack.

With a PROMPT, the answer is printed, and nothing else, on standard output; each
call of the model, and its result, on standard error. "-" reads the prompt from
standard input. Without one it is a conversation: /help lists its commands. If
standard input is no terminal, each line of it is a message.

The model is the first of these that there is: --url and --model; chat in your
knack.yaml; LLM_API_BASE_URL with LLM_MODEL_NAME and LLM_API_KEY;
OPENAI_API_KEY, also with OPENAI_BASE_URL; ANTHROPIC_API_KEY; GEMINI_API_KEY; a
server on this machine (Ollama, LM Studio, llama.cpp, Docker Model Runner). Keys
are read from variables and files alone.

No script of a skill is run. --mcp NAME also offers the tools of an MCP server
that your own knack.yaml names; you are asked before each call. The exit status
is 0 if the model has answered, 1 if a limit ended that, and 3 if there is no
model or it did not answer.`,
		Example: `  knack chat "fill in the form in form.pdf"
  knack chat - --transcript log.jsonl <question.txt
  knack chat --tools runner --dry-run   # the first request, not sent`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Prompt, o.Once, err = question(env, args, prompt, cmd.Flags().Changed("prompt"), o.DryRun); err != nil {
				return err
			}
			if err := o.check(allow, mcp); err != nil {
				return err
			}
			if o.System, err = systemIn(env, system); err != nil {
				return err
			}
			w, err := from.Open()
			if err != nil {
				return err
			}
			defer w.Close()
			o.Tools, o.Set = w.Tools()
			if o.File, err = w.Files().Trusted(); err != nil {
				return err
			}
			o.Host = w.Host
			if !o.Once && env.StdinTerminal {
				signals, release := console.TakeSignals(cmd.Context())
				defer release()
				o.Signals = signals
			}
			return Run(cmd.Context(), o)
		},
	}
	from.Register(cmd, env)
	from.RegisterConfig(ConfigUsage)
	from.RegisterTools("")
	flags := cmd.Flags()
	flags.StringVarP(&prompt, "prompt", "p", "", "ask `PROMPT` alone; the same as the argument")
	flags.StringVar(&o.Wanted.Model, "model", "", "talk to `NAME`: one of chat.models in knack.yaml, or a model of the endpoint")
	o.Wanted.Register(cmd)
	flags.Var(&mcp, "mcp", "also offer the tools of the server `NAME` of servers in knack.yaml, as NAME__tool; each call asks you first (repeatable)")
	flags.Var(&allow, "allow", "call without a question the tools of --mcp whose names match `PATTERN`, such as files__read_* (repeatable)")
	flags.StringVar(&system, "system", "", "the system message is the text of `FILE`, in place of knack's own")
	flags.IntVar(&o.Rounds, "max-rounds", chat.DefaultRounds, "ask the model at most `N` times for one answer")
	flags.IntVar(&o.Tokens, "max-tokens", 0, "send no further request once `N` tokens are used, by all requests together; 0 for no limit")
	flags.DurationVar(&o.Time, "timeout", defaultTime, "end an answer, with its calls, after this `TIME`; 0 for no limit")
	flags.StringVar(&o.Transcript, "transcript", "", "append each event to `FILE`, one JSON object a line")
	flags.BoolVar(&o.JSON, "json", false, "print the lines of a transcript in place of text")
	flags.BoolVarP(&o.Quiet, "quiet", "q", false, "do not show the calls")
	flags.BoolVarP(&o.DryRun, "dry-run", "n", false, "print the first request as JSON, and send nothing")
	_ = cmd.MarkFlagFilename("system")
	_ = cmd.MarkFlagFilename("transcript")
	return cmd
}

// check returns an error for flags whose values cannot be used.
func (o *Options) check(allow, servers []string) error {
	switch {
	case o.Rounds < 1:
		return command.UsageError("give a whole number of at least 1", "--max-rounds %d: it must be at least 1", o.Rounds)
	case o.Tokens < 0:
		return command.UsageError("give a number of tokens, or 0 for no limit", "--max-tokens %d: it must not be less than 0", o.Tokens)
	case o.Time < 0:
		return command.UsageError("give a time, for example 10m, or 0 for no limit", "--timeout %v: it must not be less than 0", o.Time)
	}
	for _, pattern := range allow {
		if wrong := chat.CheckPattern(pattern); wrong != "" {
			return command.UsageError("write the name of a tool, with * for any characters, for example files__read_*", "--allow '%s': %s", display.Echo(pattern), wrong)
		}
	}
	if len(allow) > 0 && len(servers) == 0 {
		return command.UsageError("name a server with --mcp, or leave --allow out", "--allow is about the tools of --mcp, and no server is named")
	}
	o.Allow, o.Servers = allow, servers
	return o.Wanted.check()
}

// question returns the prompt of a single question. single is false if the user wants a
// conversation.
func question(env *console.Env, args []string, prompt string, given, dryRun bool) (words string, single bool, err error) {
	words = strings.Join(args, " ")
	switch {
	case given && len(args) > 0:
		return "", false, command.UsageError("leave one of them out", "the prompt is given twice: as an argument, and with --prompt")
	case given:
		words = prompt
	case len(args) == 0:
		return "", dryRun, nil
	}
	if words == "-" {
		if env.StdinTerminal {
			fmt.Fprintln(env.Stderr, "Type or paste the prompt, then Ctrl-D.")
		}
		input, err := io.ReadAll(io.LimitReader(env.Stdin, function.MaxInput+1))
		switch {
		case err != nil:
			return "", false, command.RunError("", "cannot read standard input: %w", err)
		case len(input) > function.MaxInput:
			return "", false, command.UsageError("shorten the prompt", "the prompt is larger than %d MiB", function.MaxInput>>20)
		}
		words = string(input)
	}
	words = strings.ToValidUTF8(strings.TrimSpace(words), "\ufffd")
	if words == "" {
		return "", false, command.UsageError(`for example: knack chat "fill in a pdf form"`, "the prompt is empty")
	}
	return words, true, nil
}

// maxSystem is the maximum size of the --system file, in bytes.
const maxSystem = 1 << 20

func systemIn(env *console.Env, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	data, err := settings.ReadNamed(env.Absolute(file), maxSystem)
	text := strings.TrimSpace(string(data))
	switch {
	case err != nil:
		return "", command.RunError(settings.HintOf(err, "give a text file"), "--system %s: %s", display.Echo(file), settings.ReasonOf(err))
	case len(data) > maxSystem, !utf8.ValidString(text):
		return "", command.RunError("give a text file of at most 1 MiB in UTF-8", "--system %s: it is too large, or not text", display.Echo(file))
	case text == "":
		return "", command.RunError("write the instructions for the model into it, or leave --system out", "--system %s: it is empty", display.Echo(file))
	}
	return text, nil
}
