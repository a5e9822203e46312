package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
)

// tokenVariable holds the token for a server that wants one. It is no flag: other
// users of a machine can see a process's arguments.
const tokenVariable = "KNACK_TOKEN"

func checkCommand(env *Env) *cobra.Command {
	var format, protocol string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check URL",
		Short: "Check how an MCP server serves skills",
		Long: `Check how an MCP server serves skills over the Skills extension (SEP-2640).

Everything that a host relies on is checked: what the server declares, the shape of
its answers, each entry, and each file's size, digest and frontmatter against its
entry. URL is the server's address for MCP over HTTP. A token, if it wants one, is
taken from the environment variable KNACK_TOKEN.

The exit status is 0 if all is well, and 1 if something was found.`,
		Args: between(1, 1, "the URL of one MCP server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				format = "json"
			}
			if format != "text" && format != "json" {
				return usageError("the formats are text and json", "--format %s: there is no such format", format)
			}
			u, err := url.Parse(args[0])
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return usageError("for example knack check http://localhost:8080/mcp", "'%s' is no http:// or https:// URL", args[0])
			}
			return checkServer(cmd.Context(), env, u, protocol, format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "print `FORMAT`: text or json")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object; the same as --format json")
	cmd.Flags().StringVar(&protocol, "protocol", "", "speak this `VERSION` of the protocol, for example 2025-11-25, not the newest that both sides know")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func checkServer(ctx context.Context, env *Env, u *url.URL, protocol, format string) error {
	o := skillsext.CheckOptions{Endpoint: u.String(), Protocol: protocol, HTTP: &http.Client{
		Transport: &tokenBearer{token: env.Getenv(tokenVariable), host: u.Host, next: http.DefaultTransport},
		// Elsewhere is another server, and not for this token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if env.StderrTerminal {
		o.Progress = func(done, all int) { fmt.Fprintf(env.Stderr, "\r%d of %s checked", done, skill.Count(all, "skill")) }
	}
	report, err := skillsext.CheckServer(ctx, o)
	if env.StderrTerminal {
		fmt.Fprint(env.Stderr, "\r\x1b[K")
	}
	if err != nil {
		return runError("is this the address of an MCP server? A token is taken from "+tokenVariable, "%s: %w", u.Redacted(), err)
	}
	if format == "json" {
		err = printJSON(env.Stdout, report)
	} else {
		err = printReport(env.Stdout, report)
	}
	if err == nil && len(report.Findings) > 0 {
		return &failure{exitNo, fmt.Errorf("%s in %s", skill.Count(len(report.Findings), "finding"), skill.Count(report.Skills, "skill")), ""}
	}
	return err
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
		skill.Count(r.Skills, "skill"), skill.Count(r.Files, "file"), r.Protocol, skill.Count(len(r.Findings), "finding"))
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
