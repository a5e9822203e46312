package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/client"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/reach"
	"github.com/knack-dev/knack/skillsext"
)

func checkServer(ctx context.Context, env *console.Env, u *url.URL, protocol, format string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	token := env.Getenv(client.TokenVariable)
	answers := &reach.Watched{Next: http.DefaultTransport}
	o := skillsext.CheckOptions{Endpoint: u.String(), Protocol: protocol, HTTP: serverClient(u, token, answers, cancel)}
	var done, all atomic.Int64
	o.Progress = func(n, of int) { done.Store(int64(n)); all.Store(int64(of)) }
	end := console.ShowProgress(env, console.Step{What: "checking the server", Count: func() (int, int) { return int(done.Load()), int(all.Load()) }, Unit: "skills"})
	report, err := skillsext.CheckServer(ctx, o)
	end()
	switch cause := context.Cause(ctx); {
	case err == nil:
	case errors.Is(cause, context.Canceled):
		return runError("", "the check was interrupted")
	case cause != nil: // the resulting error of the session says less
		return runError("", "%s", unqueried(u, cause))
	default:
		if what, fix := answers.Failure(u, err, token != "", client.TokenVariable); what != "" {
			return runError(fix, "%s", unqueried(u, errors.New(what)))
		}
		return runError("is this the address of an MCP server? A token is taken from "+client.TokenVariable, "%s", unqueried(u, err))
	}
	if format == "json" {
		err = console.PrintJSON(env.Stdout, report)
	} else {
		err = printReport(env.Out(), report)
	}
	if err == nil && len(report.Findings) > 0 {
		return &failure{exitNo, fmt.Errorf("%s in %s", display.Count(len(report.Findings), "finding"), display.Count(report.Skills, "skill")), ""}
	}
	return err
}

// serverClient returns the HTTP client for the checked server. It waits if the server says
// so, sends the token to that server alone, and calls exceeded if an answer is over a
// bound.
func serverClient(u *url.URL, token string, next http.RoundTripper, exceeded func(error)) *http.Client {
	return &http.Client{
		Transport: &retryTransport{&skillsext.Bounded{Next: &tokenBearer{token: token, host: u.Host, next: next}, Exceeded: exceeded}},
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

func printReport(p *console.Printer, r *skillsext.Report) error {
	findings := slices.Clone(r.Findings)
	slices.SortStableFunc(findings, func(a, b skillsext.Finding) int { return strings.Compare(a.Skill, b.Skill) })
	last := ""
	for _, f := range findings {
		if f.Skill != last {
			p.Line("%s", console.Bold.Of(f.Skill))
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
		p.Line("%s%s: %s", indent, console.Red.Of(string(f.Rule)), message)
	}
	p.Line("%s, %s verified, protocol %s: %s",
		display.Count(r.Skills, "skill"), display.Count(r.Files, "file"), r.Protocol, display.Count(len(r.Findings), "finding"))
	return p.Failed()
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

// The longest wait after an answer 429, and the largest number of waits. A server with
// limits asks for seconds; one that asks for more refuses the check.
const (
	maxRetryWait = time.Minute
	maxRetries   = 5
)

// retryTransport repeats a request after an answer 429 with Retry-After. It returns the answer if
// the header is missing or asks for a longer time, after maxRetries, and if the body cannot
// be sent again.
type retryTransport struct{ next http.RoundTripper }

func (p *retryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	for waits := 0; ; waits++ {
		resp, err := p.next.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests || waits == maxRetries {
			return resp, err
		}
		wait, ok := retryAfter(resp.Header.Get("Retry-After"), time.Now())
		if !ok || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
			return resp, nil
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		resp.Body.Close()
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		r = r.Clone(r.Context())
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// retryAfter reads the header: seconds, or a date (RFC 9110, 10.2.3).
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	wait := time.Duration(0)
	if n, err := strconv.Atoi(text); err == nil {
		if n < 0 || n > int(maxRetryWait/time.Second) {
			return 0, false
		}
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = max(at.Sub(now), 0)
	} else {
		return 0, false
	}
	return wait, wait <= maxRetryWait
}
