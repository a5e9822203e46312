// Package mcpclient connects to MCP servers that a user configures, at a URL or as a program, and
// calls their tools. Package internal/distribution/origin/mcp installs skills from such servers.
//
// A server's output is untrusted. Its size and time are bounded. Messages of knack quote the output
// with escapes, so that it cannot imitate a message. A secret of the user is sent only to the
// server for which it is configured.
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

// Server configures the connection to one server.
type Server struct {
	// Name is the user's name for it, of a-z, 0-9 and "-".
	Name string
	// URL is the address of a server over HTTP.
	URL string
	// TokenEnv or TokenFile is the variable or the file that has the token for URL.
	TokenEnv, TokenFile string
	Headers             map[string]string
	// Command is the program of a server on standard input and output, with its arguments. It
	// runs in Dir, and a relative path with a slash starts there.
	Command []string
	Dir     string
	Env     map[string]string
	EnvFrom []string
	// Timeout bounds a request; zero means 30 seconds.
	Timeout time.Duration
}

// Options provide a connection's access to its surroundings.
type Options struct {
	// Getenv reads an environment variable.
	Getenv func(string) string
	// ReadFile reads a token file. A relative path starts at the folder of the server.
	ReadFile func(path string) ([]byte, error)
	// HTTP returns the client for an address. The connection bounds its answers.
	HTTP func(address string) (*http.Client, error)
	// Said, if not nil, gets each line of a program's standard error, cut and without secrets.
	Said func(line string)
	// Version is the version of knack.
	Version string

	within   time.Duration // for the connection; zero means connectTime
	grace    time.Duration // for a program after SIGTERM; zero means graceTime
	protocol string        // the version to offer; "" means the newest
}

const (
	// connectTime bounds a connection, including the start of the program.
	connectTime = 10 * time.Second
	// probeTime is how long a server may leave the first request of 2026-07-28 unanswered before
	// it gets the first request of 2025-11-25. Servers of the older version should refuse the
	// newer request, but some stay silent.
	probeTime = 5 * time.Second
	// requestTime bounds a request unless the server has its own bound.
	requestTime = 30 * time.Second
	// maxMessage bounds a message from a server, in bytes: a page of tools, or the result of a
	// call.
	maxMessage = 4 << 20
	// older is the version for servers that exit at the first request of the newest version.
	older = "2025-11-25"
)

// Error is the reason why a server cannot be used or did not answer, and a fix. It has no secret
// of the user and is safe to show.
type Error struct {
	Server    string
	What, Fix string // Fix may be empty
	cause     error  // the context's error, or nil
}

// Error returns the message without the fix.
func (e *Error) Error() string { return e.Server + ": " + e.What }

// Unwrap returns the context's error if the context ended the request.
func (e *Error) Unwrap() error { return e.cause }

// Connection is a session with a server. Its methods are safe for concurrent use.
type Connection struct {
	server  Server
	options Options
	secrets secrets
	line    line // the way to the server
	closed  sync.Once

	mu      sync.Mutex
	session *mcp.ClientSession
	over    chan struct{} // closed when session has ended
	ended   bool          // by Close
}

// line is the transport to a server: a program or an address.
type line interface {
	mcp.Transport
	// failure returns why a request failed, or "" if err explains it best.
	failure(err error) (what, fix string)
	// end releases the resources of Connect and waits for that. If the context has ended, it does
	// not wait for a graceful end.
	end(context.Context)
}

// Connect connects to a server within 10 seconds, or within a longer Timeout: some programs are
// downloaded when they start. The error is an [*Error].
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

// startTime returns the time limit for connecting.
func (s Server) startTime() time.Duration {
	if s.Timeout == requestTime { // the user has set no timeout
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
		p.end(ctx) // some servers of the older version exit at an unknown request
	}
	return err
}

// open begins a session. The client offers no capability, so a server has no request to make.
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

// watch records the end of the session.
func (c *Connection) watch() {
	session, over := c.session, make(chan struct{})
	c.over = over
	go func() {
		_ = session.Wait() // the failed request has reported the reason
		close(over)
	}()
}

// live returns the session. It reopens a session over HTTP that has ended, for example after an
// answer that was too large or a restart of the server. It does not start a program again.
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

// current returns the session, even if it has ended.
func (c *Connection) current() *mcp.ClientSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Protocol returns the session's version of MCP.
func (c *Connection) Protocol() string { return c.current().InitializeResult().ProtocolVersion }

// Close ends the session. A program gets SIGTERM. After 5 seconds, or soon if the context has
// ended, it is killed with all programs that it started.
func (c *Connection) Close(ctx context.Context) {
	c.closed.Do(func() {
		done := make(chan struct{})
		go func() {
			c.mu.Lock()
			c.ended = true
			session := c.session
			c.mu.Unlock()
			_ = session.Close() // its error is of no use any more
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

// request runs a request within the server's Timeout.
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

// failed returns the error of a failed request in plain words.
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
		if text := err.Error(); !strings.Contains(text, "json: ") { // an error of the library about its own types
			e.What += ": " + text
		}
	}
	e.What = safeLine(c.secrets.hide(e.What))
	return e
}
