// Package mcpclient connects to the MCP servers that a user names, behind an address or as a program,
// and calls their tools. It is a client; package internal/distribution/origin/mcp installs skills from such servers.
//
// What a server sends is text of a stranger: it is bounded in size and time, and in no message
// that it could forge. Secrets of the user go to their server alone.
package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server says how a server is reached, and what it is told.
type Server struct {
	// Name is the user's name for it, of a-z, 0-9 and "-".
	Name string
	// URL is its address, if it is behind one.
	URL string
	// TokenEnv is the variable with the token for that address, or TokenFile the file.
	TokenEnv, TokenFile string
	Headers             map[string]string
	// Command is its program with the arguments, if it is one. A relative path with a slash starts
	// at Dir, in which the program runs.
	Command []string
	Dir     string
	Env     map[string]string
	EnvFrom []string
	// Timeout is how long a request may take; zero is 30 seconds.
	Timeout time.Duration
}

// Options are what a connection takes from its caller.
type Options struct {
	// Getenv reads a variable of the environment.
	Getenv func(string) string
	// ReadFile reads a file with a token. A relative path starts at the folder of the server.
	ReadFile func(path string) ([]byte, error)
	// HTTP returns the client for an address. Its answers are bounded here.
	HTTP func(address string) (*http.Client, error)
	// Said gets each line that a program writes to its standard error, cut, and without secrets.
	// It may be nil.
	Said func(line string)
	// Version is the version of the program that connects.
	Version string

	within   time.Duration // for the connection; zero is connectTime
	grace    time.Duration // for a program after SIGTERM; zero is graceTime
	protocol string        // the version that is offered; "" is the newest
}

const (
	// connectTime is how long a connection may take, with the start of the program.
	connectTime = 10 * time.Second
	// probeTime is how long a server may not answer the first request of 2026-07-28, before it
	// gets that of 2025-11-25. Servers of the older version should refuse it, and some say nothing.
	probeTime = 5 * time.Second
	// requestTime is how long a request may take, unless the server has another bound.
	requestTime = 30 * time.Second
	// maxMessage bounds a message of a server in bytes: a page of tools, or the result of a call.
	maxMessage = 4 << 20
	// older is the version for servers that end at the first request of the newest.
	older = "2025-11-25"
)

// Error says why a server cannot be used, or did not answer, and what to do. It has no secret of
// the user, and is fit to be shown.
type Error struct {
	Server    string
	What, Fix string // Fix may be empty
	cause     error  // the context's, or nil
}

// Error returns what is wrong, without the fix.
func (e *Error) Error() string { return e.Server + ": " + e.What }

// Unwrap returns the error of the context, if that ended the request.
func (e *Error) Unwrap() error { return e.cause }

// Connection is a session with a server. Its methods may be called from several goroutines.
type Connection struct {
	server  Server
	options Options
	secrets secrets
	line    line // how the server is reached
	closed  sync.Once

	mu      sync.Mutex
	session *mcp.ClientSession
	over    chan struct{} // closed when session has ended
	ended   bool          // by Close
}

// line is the way to a server: a program or an address.
type line interface {
	mcp.Transport
	// failure says why a request has failed, or "" if err says it best.
	failure(err error) (what, fix string)
	// end ends what Connect began, at once if the context has ended, and returns then.
	end(context.Context)
}

// Connect connects to a server, within 10 seconds, or within a longer Timeout that the user has set:
// some programs are downloaded when they start. The error is an [*Error].
func Connect(ctx context.Context, s Server, o Options) (*Connection, error) {
	s.Timeout = cmp.Or(s.Timeout, requestTime)
	within := cmp.Or(o.within, s.startTime())
	c := &Connection{server: s}
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := c.connect(limited, o)
	if err == nil {
		c.options = o
		c.watch()
		return c, nil
	}
	if limited.Err() != nil && ctx.Err() == nil {
		err = late{within}
	}
	err = c.failed(ctx, err)
	if c.line != nil {
		c.line.end(ctx)
	}
	return nil, err
}

// startTime returns how long a connection may take.
func (s Server) startTime() time.Duration {
	if s.Timeout == requestTime { // nothing was set
		return connectTime
	}
	return max(connectTime, s.Timeout)
}

func (c *Connection) connect(ctx context.Context, o Options) (err error) {
	if c.secrets, err = readSecrets(c.server, o); err != nil {
		return err
	}
	if len(c.server.Command) == 0 {
		if c.line, err = newAddress(c.server, o, c.secrets); err != nil {
			return err
		}
		c.session, err = open(ctx, c.line, o)
		return err
	}
	for _, protocol := range []string{o.protocol, older} {
		p := newProgram(c.server, o, c.secrets)
		c.line = p
		o.protocol = protocol
		c.session, err = open(ctx, p, o)
		if err == nil || ctx.Err() != nil || protocol != "" || !p.hasEnded() || p.fault() != "" {
			break
		}
		p.end(ctx) // some servers of the older version end at a request that they do not know
	}
	return err
}

// open begins a session. The client offers nothing that a server could ask for.
func open(ctx context.Context, over mcp.Transport, o Options) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "knack", Version: cmp.Or(o.Version, "1")}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	client.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "server/discover" {
				short, cancel := context.WithTimeout(ctx, probeTime)
				defer cancel()
				ctx = short
			}
			return next(ctx, method, req)
		}
	})
	return client.Connect(ctx, over, &mcp.ClientSessionOptions{ProtocolVersion: o.protocol})
}

// watch notes when the session ends.
func (c *Connection) watch() {
	session, over := c.session, make(chan struct{})
	c.over = over
	go func() {
		_ = session.Wait() // the failed request has said why
		close(over)
	}()
}

// live returns the session. One with an address begins again if it has ended, for example because
// an answer was too large, or the server has restarted. A program is not started again.
func (c *Connection) live(ctx context.Context) (*mcp.ClientSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.server.Command) > 0 || c.ended {
		return c.session, nil
	}
	select {
	case <-c.over:
	default:
		return c.session, nil
	}
	session, err := open(ctx, c.line, c.options)
	if err == nil {
		c.session = session
		c.watch()
	}
	return session, err
}

// current returns the session, whether it has ended or not.
func (c *Connection) current() *mcp.ClientSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Protocol returns the version of MCP that the session has.
func (c *Connection) Protocol() string { return c.current().InitializeResult().ProtocolVersion }

// Close ends the session. A program gets SIGTERM. It is killed, with all that it has started, after
// 5 seconds, or soon if the context has ended.
func (c *Connection) Close(ctx context.Context) {
	c.closed.Do(func() {
		done := make(chan struct{})
		go func() {
			c.mu.Lock()
			c.ended = true
			session := c.session
			c.mu.Unlock()
			_ = session.Close() // what it would say is of no use any more
			close(done)
		}()
		c.line.end(ctx)
		select {
		case <-done:
		case <-ctx.Done():
		case <-time.After(graceTime):
		}
	})
}

// late is the error of a request that took too long.
type late struct{ after time.Duration }

func (l late) Error() string { return "no answer within " + l.after.String() }

// request runs a request within the server's time.
func (c *Connection) request(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, c.server.Timeout)
	defer cancel()
	err := do(limited)
	if err == nil {
		return nil
	}
	if limited.Err() != nil && ctx.Err() == nil {
		err = late{c.server.Timeout}
	}
	return c.failed(ctx, err)
}

// failed says in plain words why a request has failed.
func (c *Connection) failed(ctx context.Context, err error) error {
	e := &Error{Server: c.server.Name}
	if ctx.Err() != nil {
		e.What, e.cause = "the answer was not waited for", context.Cause(ctx)
		return e
	}
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	said := refusal(err)
	if c.line != nil && said == "" {
		e.What, e.Fix = c.line.failure(err)
	}
	var slow late
	switch {
	case e.What != "":
	case errors.As(err, &slow):
		e.What, e.Fix = "no answer came within "+slow.after.String(), "servers."+c.server.Name+".timeout in knack.yaml gives a request more time"
	case said != "":
		e.What = "the server refuses the request: " + said
	default:
		e.What = "the server's answer cannot be understood"
		if text := err.Error(); !strings.Contains(text, "json: ") { // of the library, about its types
			e.What += ": " + text
		}
	}
	e.What = shown(c.secrets.hide(e.What))
	return e
}
