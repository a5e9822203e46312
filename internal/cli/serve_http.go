package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/audit"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/config"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/web"
)

// httpFlags say where MCP is served over HTTP, and to which clients.
type httpFlags struct {
	addr           string
	hosts, origins []string
	tokenFile      string
	noAuth         bool
	cert, key      string

	admission admission
	gate      *access.Gate // of the tokens and the policy, set by admit
	policy    *access.Policy
	tokens    bool // whether tokens are required

	certificate *certificate // nil without TLS
}

func (f *httpFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "http", "", "serve MCP over HTTP at `ADDR`, a port or host:port, instead of on standard input and output; without a host, on this machine alone")
	flags.StringArrayVar(&f.hosts, "allow-host", nil, "clients reach the server by this `NAME`, or name:port (repeatable)")
	flags.StringArrayVar(&f.origins, "allow-origin", nil, "web pages of this `ORIGIN`, scheme://host[:port], may call the server (repeatable)")
	flags.StringVar(&f.tokenFile, "token-file", "", "require a token whose hash is in `FILE`; 'knack config token' makes one")
	flags.BoolVar(&f.noAuth, "no-auth", false, "let everyone who can reach the address read every skill")
	flags.StringVar(&f.cert, "tls-cert", "", "serve HTTPS with the certificate in `FILE` (PEM)")
	flags.StringVar(&f.key, "tls-key", "", "the certificate's private key is in `FILE` (PEM)")
	for _, name := range []string{"token-file", "tls-cert", "tls-key"} {
		_ = cmd.MarkFlagFilename(name)
	}
}

// check refuses flags that do not go together.
func (f *httpFlags) check() error {
	const usage = "knack serve --http ADDR [--token-file FILE | --no-auth] [--tls-cert FILE --tls-key FILE]"
	other := len(f.hosts) > 0 || len(f.origins) > 0 || f.tokenFile != "" || f.noAuth || f.cert != "" || f.key != ""
	switch {
	case f.addr == "" && other:
		return usageError(usage, "--allow-host, --allow-origin, --token-file, --no-auth, --tls-cert and --tls-key need --http")
	case f.tokenFile != "" && f.noAuth:
		return usageError(usage, "--token-file and --no-auth contradict each other")
	case (f.cert == "") != (f.key == ""):
		return usageError(usage, "--tls-cert and --tls-key go together")
	}
	return nil
}

// merge takes from the configuration what no flag says. It takes an address only from a
// file that was named. An address in the user's own file would take every server that a
// client starts away from the client.
func (f *httpFlags) merge(o *operation) {
	c := o.given().HTTP
	if f.addr == "" && o.config != "" {
		f.addr = c.Listen
	}
	if f.addr == "" {
		return
	}
	if len(f.hosts) == 0 {
		f.hosts = c.Hosts
	}
	if len(f.origins) == 0 {
		f.origins = c.Origins
	}
	if f.tokenFile == "" {
		f.tokenFile = o.beside(c.TokenFile)
	}
	if f.cert == "" && f.key == "" {
		f.cert, f.key = o.beside(c.TLSCert), o.beside(c.TLSKey)
	}
}

// admit reads which clients may ask, and what they see.
func (f *httpFlags) admit(env *Env, o *operation) error {
	f.admission.env, f.admission.tokenFile = env, f.tokenFile
	tokens, data, err := f.admission.read(o.given())
	if err != nil {
		return err
	}
	if tokens != nil && f.noAuth {
		return usageError("leave out --no-auth, or the tokens", "--no-auth: the configuration has tokens")
	}
	f.admission.take(tokens, data)
	f.policy, f.tokens = o.given().Access.Policy, tokens != nil
	f.gate = access.NewGate(stateOf(tokens, f.policy))
	return nil
}

// options reads what the flags name.
func (f *httpFlags) options(env Env, given config.Config, log *slog.Logger) (mcpserver.HTTPOptions, *tls.Config, error) {
	o := mcpserver.HTTPOptions{Hosts: f.hosts, Origins: f.origins, Log: log, Limit: given.Limits.Over(mcpserver.DefaultLimit)}
	if f.cert == "" {
		return o, nil, nil
	}
	f.certificate = &certificate{env: env, certFile: f.cert, keyFile: f.key}
	if _, err := f.certificate.read(); err != nil {
		return o, nil, err
	}
	return o, &tls.Config{GetCertificate: f.certificate.get, MinVersion: tls.VersionTLS12}, nil
}

// certificate is the server's own TLS certificate, which can be read again while it is
// served.
type certificate struct {
	env               Env
	certFile, keyFile string
	pair              atomic.Pointer[tls.Certificate]
}

// read loads the pair that is in the files now, and reports whether it is another one.
// After an error, the pair before stays.
func (c *certificate) read() (renewed bool, err error) {
	cert, err := readOwn(absolute(c.env, c.certFile))
	if err != nil {
		return false, runError("", "--tls-cert %s: %s", c.certFile, reasonOf(err))
	}
	key, err := readOwn(absolute(c.env, c.keyFile))
	if err != nil {
		return false, runError("", "--tls-key %s: %s", c.keyFile, reasonOf(err))
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, runError("let the certificate and its private key be a pair, both in PEM", "--tls-cert %s, --tls-key %s: %w", c.certFile, c.keyFile, err)
	}
	before := c.pair.Swap(&pair)
	return before == nil || !slices.EqualFunc(before.Certificate, pair.Certificate, bytes.Equal), nil
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.pair.Load(), nil }

// until returns when the certificate ends.
func (c *certificate) until() string {
	if leaf := c.pair.Load().Leaf; leaf != nil {
		return leaf.NotAfter.UTC().Format(time.RFC3339)
	}
	return ""
}

// address is an address that a server listens on.
type address struct {
	tcp  *net.TCPAddr
	host string // as given; "" for every address of the machine
}

// addressOf parses --http and http.listen. A port alone means the loopback.
func addressOf(listen string) (address, error) {
	if !strings.Contains(listen, ":") {
		listen = ":" + listen
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return address{}, err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	tcp, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return address{}, err
	}
	if tcp.IP.IsUnspecified() {
		host = ""
	}
	return address{tcp, host}, nil
}

// unguarded returns why a server does not listen there, or "" if it does. It does not if
// other machines can reach the address and no setting says which clients may ask.
func (a address) unguarded(tokens, open bool) string {
	if a.tcp.IP.IsLoopback() || tokens || open {
		return ""
	}
	return "other machines can reach this address, and nothing says who may ask"
}

// unnamed returns why clients of other machines are refused there although they may ask, or
// "" if they are not. They are refused if no allowed name reaches the server.
func (a address) unnamed(hosts []string) string {
	if a.host != "" || slices.ContainsFunc(hosts, func(h string) bool { return !isLoopbackHost(h) }) {
		return ""
	}
	return "no name or address of this machine is allowed, so that clients of other machines are refused with 403"
}

// listen opens the address. It refuses one that other machines can reach unless the
// settings say which clients may ask.
func (f *httpFlags) listen(ctx context.Context, log *slog.Logger) (net.Listener, string, error) {
	at, err := addressOf(f.addr)
	if wrong := (*net.AddrError)(nil); errors.As(err, &wrong) {
		return nil, "", usageError("for example --http 8080, or --http 0.0.0.0:8080", "--http %s: not a port or host:port", f.addr)
	} else if err != nil {
		return nil, "", runError("", "--http %s: %w", f.addr, err)
	}
	if why := at.unguarded(f.tokens, f.noAuth); why != "" {
		return nil, "", usageError("require a token with --token-file FILE ('knack config token' makes one), or, if all of them may read every skill, say --no-auth",
			"--http %s: %s", f.addr, why)
	}
	if why := at.unnamed(f.hosts); why != "" {
		log.Warn(why, "listen", f.addr, "mend", "give each of them with --allow-host, or in http.hosts")
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", at.tcp.String())
	if err != nil {
		return nil, "", runError("", "--http %s: %w", f.addr, err)
	}
	return ln, at.host, nil
}

// isLocal reports whether the server is for the user of this machine alone. Such a server
// listens on the loopback, asks for no tokens and has no policy. Nor does it answer under
// another name or to other sites' pages, as it would behind a proxy.
func (f *httpFlags) isLocal() bool {
	host, _, err := net.SplitHostPort(f.addr)
	if err != nil { // a port alone
		host = ""
	}
	for _, h := range append([]string{host}, f.hosts...) {
		if !isLoopbackHost(h) {
			return false
		}
	}
	return !f.tokens && f.policy == nil && len(f.origins) == 0
}

func isLoopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "" || strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// serveHTTP serves until the context ends.
func (f *httpFlags) serveHTTP(ctx context.Context, env *Env, op *operation, c *catalog.Catalog, server *mcpserver.Server, pages web.Options, log *slog.Logger) error {
	o, conf, err := f.options(*env, op.given(), log)
	if err != nil {
		return err
	}
	ln, host, err := f.listen(ctx, log)
	if err != nil {
		return err
	}
	file := ""
	if op.file != nil {
		file = op.file.shown
	}
	if err := misspelt(ctx, c, file, op.given().Access); err != nil && ctx.Err() == nil {
		ln.Close()
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if host != "" {
		o.Hosts = append(o.Hosts, host)
	}
	var measured atomic.Pointer[mcpserver.HTTP]
	pages.Measures = func() []web.Measure { return measures(measured.Load(), op.audit) }
	o.Pages = f.pages(pages, ln.Addr())
	h, err := mcpserver.NewHTTP(server, o)
	if err != nil {
		ln.Close()
		return usageError("", "--allow-host or --allow-origin: %w", err)
	}
	measured.Store(h)
	go watchLate(c, file, op.given().Access, end)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // from here on SIGHUP does not end the process
	defer signal.Stop(hangups)
	go func() {
		warnOfStrangers(f.policy, f.admission.tokens, log)
		warnOfIdle(ctx, c, f.policy, log)
		r := reloader{op: op, admission: &f.admission, catalog: c, server: server, http: h, log: log, access: op.given().Access, cert: f.certificate}
		if op.file != nil {
			r.data = op.file.data
		}
		r.run(ctx, hangups)
	}()
	if at := endpoint(ln.Addr(), cmp.Or(host, "127.0.0.1"), conf != nil); op.logForm == "json" {
		slog.New(op.handler(env.Stderr, slog.LevelInfo)).Info("knack serves MCP", "url", at)
	} else {
		fmt.Fprintf(env.Stderr, "knack serves MCP at %s\n", at)
	}
	if err := h.Serve(ctx, ln, conf); err != nil {
		return runError("", "the server ended: %w", err)
	}
	if late := (*failure)(nil); errors.As(context.Cause(ctx), &late) {
		return late
	}
	return nil
}

// pagesOf returns what the web catalogue shares with the MCP server, whose clients it
// counts.
func (f *httpFlags) pagesOf(o *mcpserver.Options) web.Options {
	if f.addr == "" {
		return web.Options{}
	}
	return web.Options{Catalog: o.Catalog, Tools: o.Tools, Version: o.Version, Engage: o.Engage, Usage: web.NewUsage(), Log: o.Log}
}

// observing returns the observer of each use, for the usage counts and the audit log.
func observing(usage *web.Usage, log *audit.Log) func(mcpserver.Use) {
	if usage == nil && log == nil {
		return nil
	}
	return func(u mcpserver.Use) {
		log.Record(u.Event)
		if usage != nil && u.Answered() {
			count(usage, u)
		}
	}
}

func count(usage *web.Usage, u mcpserver.Use) {
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

// pages returns the web catalogue.
func (f *httpFlags) pages(o web.Options, at net.Addr) http.Handler {
	if f.tokens {
		o.Verifier = f.gate
	}
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		o.Command = executable() // the reader of the page is on this machine
	}
	return web.New(o)
}

func endpoint(addr net.Addr, host string, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	at := addr.String()
	if _, port, err := net.SplitHostPort(at); err == nil {
		at = net.JoinHostPort(host, port)
	}
	return scheme + "://" + at + "/mcp"
}
