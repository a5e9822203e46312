package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skillsext"
)

// tokenVariable holds the token for a server that requires one. It is not a flag, because
// other users of a machine can see a process's arguments.
const tokenVariable = "KNACK_TOKEN"

func checkCommand(env *Env) *cobra.Command {
	var f checkFlags
	var protocol string
	var timeout time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [PATH | URL]…",
		Short: "Check skills, or how an MCP server serves them",
		Long: `Check skills: a SKILL.md, a skill's folder, or every skill below a folder. Without a
PATH, the skills in the project's folders.

Each finding has a rule, a place and, if there is one, a fix. --fix writes the fixes
that cannot change the meaning of a skill; --fix=guess also corrects the spelling of
SKILL.md and adds a missing name from the folder. --diff shows them and writes nothing.

A knack.yaml in the project, and the user's, can disable rules and change their
severities (doc/configuration.md); flags override both.

For a URL, check how that MCP server serves skills over the Skills extension
(SEP-2640): what it declares, the shape of its answers, each entry, and each file's
size, digest and frontmatter. If it requires a token, set the environment variable
KNACK_TOKEN. If it answers 429 with Retry-After, the check waits, up to a minute each
time and at most five times. An answer over 32 MiB, or one that is not complete after a
minute, ends the check.

The exit status is 1 if there are errors (with --strict, or warnings) or, with --diff,
anything to fix.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				f.format = "json"
			}
			f.strictGiven = cmd.Flags().Changed("strict")
			if f.config == "" && cmd.Flags().Changed("config") {
				return usageError("give a file, or leave --config out", "--config: the file's name is empty")
			}
			if !slices.ContainsFunc(args, isURL) {
				for _, name := range []string{"protocol", "timeout"} {
					if cmd.Flags().Changed(name) {
						return usageError("give a URL", "--%s is for a server", name)
					}
				}
				return checkFiles(cmd.Context(), env, &f, args)
			}
			if len(args) > 1 {
				return usageError("run it once for each", "a URL is checked alone")
			}
			if f.format != "text" && f.format != "json" {
				return usageError("the formats for a server are text and json", "--format %s: there is no such format", f.format)
			}
			for _, name := range []string{"fix", "diff", "ignore", "strict", "config", "info", "dir", "project", "exclude", "no-builtin"} {
				if cmd.Flags().Changed(name) {
					return usageError("leave it out", "--%s is not for a server", name)
				}
			}
			if versions := skillsext.Versions(); protocol != "" && !slices.Contains(versions, protocol) {
				return usageError("use one of "+strings.Join(versions, ", "), "--protocol %s: there is no such protocol version", protocol)
			}
			u, err := url.Parse(args[0])
			if err != nil || u.Host == "" {
				return usageError("for example knack check http://localhost:8080/mcp", "'%s' is no http:// or https:// URL", args[0])
			}
			if timeout <= 0 {
				return usageError("for example --timeout 10m", "--timeout %s: it leaves no time", timeout)
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout, fmt.Errorf("it was not done after %s; --timeout gives it more time", timeout))
			defer cancel()
			return checkServer(ctx, env, u, protocol, f.format)
		},
	}
	f.from.register(cmd, env)
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "text", "print `FORMAT`: text, json, sarif or github")
	flags.BoolVar(&asJSON, "json", false, "print a JSON object; the same as --format json")
	flags.BoolVar(&f.strict, "strict", false, "treat warnings as errors")
	flags.StringVar(&f.config, "config", "", "use the settings in `FILE`, not those of the project and the user")
	flags.BoolVar(&f.info, "info", false, "also show infos")
	flags.StringArrayVar(&f.ignore, "ignore", nil, "drop the findings of this `RULE` (repeatable)")
	flags.StringVar(&f.fix, "fix", "", "write the fixes of this `LEVEL`: certain, the default of a bare --fix, or guess")
	flags.Lookup("fix").NoOptDefVal = "certain"
	flags.BoolVar(&f.diff, "diff", false, "show what --fix would write, and write nothing")
	flags.StringVar(&protocol, "protocol", "", "speak this `VERSION` of the protocol, for example 2025-11-25, not the newest that both sides know")
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

func checkServer(ctx context.Context, env *Env, u *url.URL, protocol, format string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o := skillsext.CheckOptions{Endpoint: u.String(), Protocol: protocol, HTTP: serverClient(u, env.Getenv(tokenVariable), cancel)}
	if env.StderrTerminal {
		o.Progress = func(done, all int) { fmt.Fprintf(env.Stderr, "\r%d of %s checked", done, display.Count(all, "skill")) }
	}
	report, err := skillsext.CheckServer(ctx, o)
	if env.StderrTerminal {
		fmt.Fprint(env.Stderr, "\r\x1b[K")
	}
	switch cause := context.Cause(ctx); {
	case err == nil:
	case errors.Is(cause, context.Canceled):
		return runError("", "the check was interrupted")
	case cause != nil: // the resulting error of the session says less
		return runError("", "%s", unqueried(u, cause))
	default:
		return runError("is this the address of an MCP server? A token is taken from "+tokenVariable, "%s", unqueried(u, err))
	}
	if format == "json" {
		err = printJSON(env.Stdout, report)
	} else {
		err = printReport(env.Stdout, report)
	}
	if err == nil && len(report.Findings) > 0 {
		return &failure{exitNo, fmt.Errorf("%s in %s", display.Count(len(report.Findings), "finding"), display.Count(report.Skills, "skill")), ""}
	}
	return err
}

// serverClient returns the HTTP client for the checked server. It waits if the server says
// so, sends the token to that server alone, and calls exceeded if an answer is over a
// bound.
func serverClient(u *url.URL, token string, exceeded func(error)) *http.Client {
	return &http.Client{
		Transport: &patient{&skillsext.Bounded{Next: &tokenBearer{token: token, host: u.Host, next: http.DefaultTransport}, Exceeded: exceeded}},
		// A redirect leads to another server, which the user did not name.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// unqueried words a failure to reach a server. A URL can have a token in its query or
// userinfo, and the underlying error repeats both.
func unqueried(u *url.URL, err error) string {
	text := u.Redacted() + ": " + err.Error()
	for _, secret := range []string{u.RawQuery, u.EscapedFragment()} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}

func printReport(w io.Writer, r *skillsext.Report) error {
	var b strings.Builder
	findings := slices.Clone(r.Findings)
	slices.SortStableFunc(findings, func(a, b skillsext.Finding) int { return strings.Compare(a.Skill, b.Skill) })
	last := ""
	for _, f := range findings {
		if f.Skill != last {
			fmt.Fprintf(&b, "%s\n", f.Skill)
			last = f.Skill
		}
		indent := ""
		if f.Skill != "" {
			indent = "  "
		}
		message := f.Message
		if f.URI != "" {
			message = f.URI + ": " + message
		}
		fmt.Fprintf(&b, "%s%s: %s\n", indent, f.Rule, message)
	}
	fmt.Fprintf(&b, "%s, %s verified, protocol %s: %s\n",
		display.Count(r.Skills, "skill"), display.Count(r.Files, "file"), r.Protocol, display.Count(len(r.Findings), "finding"))
	_, err := io.WriteString(w, clean(b.String()))
	return err
}

// tokenBearer sends a token to one host.
type tokenBearer struct {
	token, host string
	next        http.RoundTripper
}

func (t *tokenBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.token != "" && r.URL.Host == t.host {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	return t.next.RoundTrip(r)
}
