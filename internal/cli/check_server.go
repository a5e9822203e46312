package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/llm/reach"
	"github.com/knack-dev/knack/internal/workspace/origins"
	"github.com/knack-dev/knack/skillsext"
)

func checkServer(ctx context.Context, env *console.Env, u *url.URL, protocol, format string) (command.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	token, err := origins.Token(env)
	if bad := (*httpfetch.TokenError)(nil); errors.As(err, &bad) {
		return nil, command.RunError(bad.Fix, "%s: %s", clientconfig.TokenVariable, bad.What)
	}
	answers := &reach.Watched{Next: http.DefaultTransport}
	o := skillsext.CheckOptions{Endpoint: u.String(), Protocol: protocol, HTTP: reach.Client(u, token, answers, cancel)}
	var done, all atomic.Int64
	o.Progress = func(n, total int) { done.Store(int64(n)); all.Store(int64(total)) }
	end := console.ShowProgress(env, console.Step{What: "checking the server", Count: func() (int, int) { return int(done.Load()), int(all.Load()) }, Unit: "skills"})
	served, err := skillsext.CheckServer(ctx, o)
	end()
	switch cause := context.Cause(ctx); {
	case err == nil:
	case errors.Is(cause, context.Canceled):
		return nil, command.RunError("", "the check was interrupted")
	case cause != nil: // the cause is more precise than the session's error
		return nil, command.RunError("", "%s", reach.Failed(u, cause))
	default:
		if what, fix := answers.Failure(u, err, token != "", clientconfig.TokenVariable); what != "" {
			return nil, command.RunError(fix, "%s", reach.Failed(u, errors.New(what)))
		}
		return nil, command.RunError("is this the address of an MCP server? A token is taken from "+clientconfig.TokenVariable, "%s", reach.Failed(u, err))
	}
	r := report.Server{Report: served}
	switch {
	case len(served.Findings) == 0:
		return r, nil
	case format == "text":
		return r, command.Fail(command.No, command.ErrPrinted, "")
	}
	return r, command.Fail(command.No, fmt.Errorf("%s in %s", display.Count(len(served.Findings), "finding"), display.Count(served.Skills, "skill")), "")
}
