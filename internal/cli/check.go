package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/skillsext"
)

// checkCommand returns the command that checks skills and servers. The token for a server is in the
// environment, in [client.TokenVariable]: other users of a machine can see the arguments of a
// process.
func checkCommand(env *console.Env) *cobra.Command {
	f := checkFlags{from: selection.Flags{Unguarded: true}}
	var protocol string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "check [PATH | SKILL | URL]…",
		Short: "Check skills and plugins, or how an MCP server serves skills",
		Long: `Check skills: a SKILL.md, a skill's folder, or every skill below a folder.
Without a PATH, the skills in the project's folders.

A PATH that is a plugin or has a marketplace is judged as that too: plugin.json
and mcp.json by Agent Plugins 1.0.0, the marketplaces of Claude Code, Codex,
Cursor and Copilot, and the plugins that they have in the folder.

SKILL is a skill's name, LABEL:NAME, a folder's name, or a skill:// URI. A word
that is a path here means that path. --fix takes an exact name, and changes no
file behind a link then.

Each finding has a rule, a place and, if there is one, a fix. --fix writes the
fixes that cannot change the meaning of a skill; --fix=guess also corrects the
spelling of SKILL.md and adds a missing name from the folder. --diff shows them
and writes nothing.

A knack.yaml in the project, and the user's, can disable rules and change their
severities (knack help settings); flags override both.

For a URL, check how that MCP server serves skills over the Skills extension
(SEP-2640): what it declares, the shape of its answers, each entry, and each
file's size, digest and frontmatter. If it requires a token, set the environment
variable KNACK_TOKEN. If it answers 429 with Retry-After, the check waits, up to
a minute each time and at most five times. An answer over 32 MiB, or one that is
not complete after a minute, ends the check.

The exit status is 1 if there are errors (with --strict, or warnings) or, with
--diff, anything to fix.`,
		Example: `  knack check --fix                       # the skills of this project
  knack check --strict --format github .  # in CI, where warnings count too
  knack check ./my-plugin                 # a plugin, or a marketplace
  knack check http://127.0.0.1:8080/mcp   # how a server serves skills`,
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			if command.IsJSON(cmd) {
				f.format = "json"
			}
			f.strictGiven = cmd.Flags().Changed("strict")
			if err := command.NoConfig(cmd); err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(args, isURL) {
				for _, name := range []string{"protocol", "timeout"} {
					if cmd.Flags().Changed(name) {
						return nil, command.UsageError("give a URL", "--%s is for a server", name)
					}
				}
				return checkFiles(cmd.Context(), env, &f, args)
			}
			if len(args) > 1 {
				return nil, command.UsageError("run it once for each", "a URL is checked alone")
			}
			if f.format != "text" && f.format != "json" {
				return nil, command.UsageError(typo.Hint(f.format, []string{"text", "json"}, "the formats for a server are text and json"), "--format %s: there is no such format", f.format)
			}
			for _, name := range []string{"fix", "diff", "ignore", "strict", "config", "info", "dir", "project", "exclude", "no-builtin"} {
				if cmd.Flags().Changed(name) {
					return nil, command.UsageError("leave it out", "--%s is not for a server", name)
				}
			}
			if versions := skillsext.Versions(); protocol != "" && !slices.Contains(versions, protocol) {
				return nil, command.UsageError("use one of "+strings.Join(versions, ", "), "--protocol %s: there is no such protocol version", protocol)
			}
			u, err := url.Parse(args[0])
			if err != nil || u.Host == "" {
				return nil, command.UsageError("for example knack check http://localhost:8080/mcp", "'%s' is not an http:// or https:// URL", display.RedactURI(args[0]))
			}
			if timeout <= 0 {
				return nil, command.UsageError("for example --timeout 10m", "--timeout %s: it must be positive", timeout)
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout, fmt.Errorf("it did not finish within %s; --timeout allows more time", timeout))
			defer cancel()
			return checkServer(ctx, env, u, protocol, f.format)
		}),
		ValidArgsFunction: f.from.CompleteSkill(selection.Skill),
	}
	f.from.Register(cmd, env)
	f.from.RegisterConfig("use the settings in `FILE` instead of the project's and the user's; without a path, check the roots that it names")
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "text", "print `FORMAT`: text, json, sarif or github")
	flags.Bool("json", false, "print a JSON object; the same as --format json")
	flags.BoolVar(&f.strict, "strict", false, "treat warnings as errors")
	flags.BoolVar(&f.info, "info", false, "also show infos")
	flags.Var((*command.Repeated)(&f.ignore), "ignore", "drop the findings of this `RULE` (repeatable)")
	flags.StringVar(&f.fix, "fix", "", "write the fixes of this `LEVEL`: certain, the default of a bare --fix, or guess")
	flags.Lookup("fix").NoOptDefVal = "certain"
	flags.BoolVar(&f.diff, "diff", false, "show what --fix would write, and write nothing")
	flags.StringVar(&protocol, "protocol", "", "use this `VERSION` of the protocol, for example 2025-11-25, instead of the newest that both sides support")
	flags.DurationVar(&timeout, "timeout", time.Hour, "end the check of a server after this `TIME`, for example 10m")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json", "sarif", "github"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("protocol", cobra.FixedCompletions(skillsext.Versions(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("fix", cobra.FixedCompletions([]string{"certain", "guess"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// isURL reports whether an argument is a URL and not a path.
func isURL(arg string) bool {
	scheme, _, ok := strings.Cut(arg, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}
