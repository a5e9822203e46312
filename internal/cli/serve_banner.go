package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/listing"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/tool"
)

// banner prints at the terminal which skills are served, from which roots, and which were skipped.
// It also prints how a client starts the same server.
func banner(env *console.Env, f *serveFlags, v catalog.View) {
	p := env.Err()
	p.Line("knack serves %s over MCP on standard input and output.", skillCount(f, v))
	for _, r := range v.Roots {
		switch {
		case r.Err != nil:
			p.Line("  %s%s: %s", console.Bold.Of(r.Label), listing.Folder(r.Root), console.Red.Of(doctor.UnreadReason(r)))
		case !r.Missing:
			p.Line("  %s%s: %d found", console.Bold.Of(r.Label), listing.Folder(r.Root), r.Count)
		}
	}
	listing.PrintUnserved(p, v)
	same := new(connectFlags).entryArguments(*env, f.flags)
	c := exampleClient(*env, clientconfig.Server{})
	p.Line("A client starts this command itself. For %s, this adds it:", c.Name)
	p.Row("  %s connect %s --write%s", thisProgram(*env), c.ID, afterDash(same))
	p.Line("To end it: Ctrl-C.")
}

// greet prints at the terminal where the pages are, and how a client connects.
func (f *httpFlags) greet(env *console.Env, endpoint string) {
	p := env.Err()
	p.Line("Pages for people: %s", strings.TrimSuffix(endpoint, "mcp"))
	program, at, flag := "knack", f.reached(endpoint), ""
	if f.isLocal() {
		program = thisProgram(*env)
	}
	if f.tokens {
		flag = " --token"
	}
	c := exampleClient(*env, clientconfig.Server{URL: at})
	p.Line("To connect a client, for example %s:", c.Name)
	p.Row("  %s connect %s --write --url %s%s", program, c.ID, console.ShellWord(at), flag)
	if f.tokens {
		p.Line("Each client needs a token ('knack token new' makes one), most in the variable %s.", clientconfig.TokenVariable)
	}
	p.Line("To end it: Ctrl-C.")
}

// complete prints the served skills once the first scan ends. It prints nothing if that scan had
// ended when v was taken.
func (f *serveFlags) complete(ctx context.Context, env *console.Env, c *catalog.Catalog, v catalog.View) {
	if v.Incomplete() == nil {
		return
	}
	if v, err := c.CompleteView(ctx, time.Hour); err == nil {
		env.Err().Line("%s", served(env, f, v))
	}
}

// quietScan is a log handler that drops the warnings of the first scan at a terminal: one line for
// each skipped skill would hide the banner. The banner has one line with their number.
type quietScan struct {
	slog.Handler
	scanned *atomic.Bool
}

func (q quietScan) Enabled(ctx context.Context, level slog.Level) bool {
	return (level > slog.LevelWarn || q.scanned.Load()) && q.Handler.Enabled(ctx, level)
}

// reached returns the endpoint at the first allowed host if other machines can use that name.
// Otherwise it returns the endpoint unchanged.
func (f *httpFlags) reached(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || len(f.hosts) == 0 || isLoopbackHost(f.hosts[0]) {
		return endpoint
	}
	host := f.hosts[0]
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), u.Port())
	}
	u.Host = host
	return u.String()
}

// served describes how many skills from how many roots an HTTP server serves.
func served(env *console.Env, f *serveFlags, v catalog.View) string {
	roots, failed := 0, 0
	for _, r := range v.Roots {
		switch {
		case r.Err != nil:
			failed++
		case !r.Missing:
			roots++
		}
	}
	out := fmt.Sprintf("%s of %s", skillCount(f, v), display.Count(roots, "root"))
	lacks := listing.Unserved(v)
	if failed > 0 && v.Incomplete() == nil {
		lacks = append(lacks, display.Count(failed, "root")+" not readable")
	}
	if len(lacks) > 0 {
		out += "; " + strings.Join(lacks, ", ") + ", and " + env.Command("list", "--all") + " says why"
	}
	return out
}

// skillCount counts the skills that the tools offer.
func skillCount(f *serveFlags, v catalog.View) string {
	count := display.Count(len(tool.Offered(v, f.tools)), "skill")
	if lacks := v.Incomplete(); lacks != nil {
		count += " so far"
	}
	return count
}

// thisProgram returns the command that starts this knack, quoted for a shell.
func thisProgram(env console.Env) string {
	words := slices.Clone(ownServer(env).Program())
	for i, w := range words {
		if runtime.GOOS != "windows" { // its shells quote differently
			words[i] = console.ShellWord(w)
		}
	}
	return strings.Join(words, " ")
}

// exampleClient returns an installed client that accepts an entry for s, or else the first client
// that accepts it.
func exampleClient(env console.Env, s clientconfig.Server) clientconfig.Client {
	p := new(connectFlags).clientEnv(env)
	first := -1
	for i, c := range clientconfig.Clients() {
		if _, err := c.Entry(s); err != nil {
			continue
		}
		if c.Installed(p) {
			return c
		}
		if first < 0 {
			first = i
		}
	}
	return clientconfig.Clients()[max(first, 0)]
}
