package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/web"
)

// httpFlags say where and to whom MCP is served over HTTP.
type httpFlags struct {
	addr           string
	hosts, origins []string
	tokenFile      string
	config         string
	noAuth         bool
	cert, key      string

	admission admission
	policy    *access.Policy
	tokens    bool // are required
}

func (f *httpFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "http", "", "serve MCP over HTTP at `ADDR`, a port or host:port, instead of on standard input and output; without a host, on this machine alone")
	flags.StringArrayVar(&f.hosts, "allow-host", nil, "clients reach the server by this `NAME`, or name:port (repeatable)")
	flags.StringArrayVar(&f.origins, "allow-origin", nil, "web pages of this `ORIGIN`, scheme://host[:port], may call the server (repeatable)")
	flags.StringVar(&f.tokenFile, "token-file", "", "require a token whose hash is in `FILE`; 'knack config token' makes one")
	flags.StringVar(&f.config, "config", "", "who may ask, and what they see, is in `FILE`, not in your knack.yaml")
	flags.BoolVar(&f.noAuth, "no-auth", false, "let everyone who can reach the address read every skill")
	flags.StringVar(&f.cert, "tls-cert", "", "serve HTTPS with the certificate in `FILE` (PEM)")
	flags.StringVar(&f.key, "tls-key", "", "the certificate's private key is in `FILE` (PEM)")
	for _, name := range []string{"token-file", "config", "tls-cert", "tls-key"} {
		_ = cmd.MarkFlagFilename(name)
	}
}

// check refuses flags that do not go together.
func (f *httpFlags) check() error {
	const usage = "knack serve --http ADDR [--token-file FILE | --no-auth] [--tls-cert FILE --tls-key FILE]"
	other := len(f.hosts) > 0 || len(f.origins) > 0 || f.tokenFile != "" || f.config != "" || f.noAuth || f.cert != "" || f.key != ""
	switch {
	case f.addr == "" && other:
		return usageError(usage, "--allow-host, --allow-origin, --token-file, --config, --no-auth, --tls-cert and --tls-key need --http")
	case f.tokenFile != "" && f.noAuth:
		return usageError(usage, "--token-file and --no-auth contradict each other")
	case (f.cert == "") != (f.key == ""):
		return usageError(usage, "--tls-cert and --tls-key go together")
	}
	return nil
}

// admit reads who may ask, and what they see.
func (f *httpFlags) admit(env *Env) error {
	f.admission.env, f.admission.tokenFile, f.admission.config = env, f.tokenFile, f.config
	tokens, policy, err := f.admission.read()
	if err != nil {
		return err
	}
	if tokens != nil && f.noAuth {
		return usageError("leave out --no-auth, or the tokens", "--no-auth: the configuration has tokens")
	}
	f.admission.tokens.Store(tokens)
	f.policy, f.tokens = policy, tokens != nil
	return nil
}

// options reads what the flags name.
func (f *httpFlags) options(env Env, log *slog.Logger) (mcpserver.HTTPOptions, *tls.Config, error) {
	o := mcpserver.HTTPOptions{Hosts: f.hosts, Origins: f.origins, Log: log}
	if f.tokens {
		o.Verifier = &f.admission
	}
	if f.cert == "" {
		return o, nil, nil
	}
	pair, err := tls.LoadX509KeyPair(absolute(env, f.cert), absolute(env, f.key))
	if err != nil {
		return o, nil, runError("", "--tls-cert %s, --tls-key %s: %w", f.cert, f.key, err)
	}
	return o, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// listen opens the address. One that other machines can reach is opened only
// where it is said who may ask.
func (f *httpFlags) listen(ctx context.Context) (net.Listener, string, error) {
	addr := f.addr
	if !strings.Contains(addr, ":") {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, "", usageError("for example --http 8080, or --http 0.0.0.0:8080", "--http %s: not a port or host:port", f.addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	resolved, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, "", runError("", "--http %s: %w", f.addr, err)
	}
	if !resolved.IP.IsLoopback() && !f.tokens && !f.noAuth {
		return nil, "", usageError("require a token with --token-file FILE ('knack config token' makes one), or, if all of them may read every skill, say --no-auth",
			"--http %s: other machines can reach this address, and nothing says who may ask", f.addr)
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", resolved.String())
	if err != nil {
		return nil, "", runError("", "--http %s: %w", f.addr, err)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = ""
	}
	return ln, host, nil
}

// serveHTTP serves until the context ends.
func (f *httpFlags) serveHTTP(ctx context.Context, env *Env, c *catalog.Catalog, server *mcpserver.Server, pages web.Options, log *slog.Logger) error {
	o, conf, err := f.options(*env, log)
	if err != nil {
		return err
	}
	ln, host, err := f.listen(ctx)
	if err != nil {
		return err
	}
	if host != "" {
		o.Hosts = append(o.Hosts, host)
	}
	o.Pages = f.pages(pages, ln.Addr())
	h, err := mcpserver.NewHTTP(server, o)
	if err != nil {
		ln.Close()
		return usageError("", "--allow-host or --allow-origin: %w", err)
	}
	server.Restrict(f.policy)
	go func() {
		warnOfIdle(ctx, c, f.policy, log)
		f.admission.reload(ctx, c, server, h, log)
	}()
	fmt.Fprintf(env.Stderr, "knack serves MCP at %s\n", endpoint(ln.Addr(), host, conf != nil))
	if err := h.Serve(ctx, ln, conf); err != nil {
		return runError("", "the server ended: %w", err)
	}
	return nil
}

// pagesOf is what the web catalogue shares with the MCP server, whose clients it
// counts.
func (f *httpFlags) pagesOf(o *mcpserver.Options) web.Options {
	if f.addr == "" {
		return web.Options{}
	}
	usage := web.NewUsage()
	o.Observe = func(u mcpserver.Use) {
		v := u.View
		switch {
		case u.Method == "tools/list", u.Name == "list_skills":
			usage.Listed(v, u.Client)
		case u.Method == "tools/call":
			usage.Called(v, u.Client, u.Name, u.Arguments)
		case u.Method == "resources/read":
			usage.Resource(v, u.Client, u.URI)
		case u.Method == "prompts/get":
			usage.Invoked(v, u.Client, u.Name)
		}
	}
	return web.Options{Catalog: o.Catalog, Tools: o.Tools, Version: o.Version, Engage: o.Engage, Usage: usage, Log: o.Log}
}

// pages is the web catalogue.
func (f *httpFlags) pages(o web.Options, at net.Addr) http.Handler {
	if f.tokens {
		o.Verifier = &f.admission
	}
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		o.Command = executable() // who reads the page is on this machine
	}
	return web.New(o)
}

func endpoint(addr net.Addr, host string, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	at := addr.String()
	if _, port, err := net.SplitHostPort(at); err == nil && host != "" {
		at = net.JoinHostPort(host, port)
	}
	return scheme + "://" + at + "/mcp"
}
