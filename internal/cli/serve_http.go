package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/hosts"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/observe"
	"github.com/knack-dev/knack/internal/server/metrics"
	"github.com/knack-dev/knack/internal/server/usage"
	"github.com/knack-dev/knack/internal/web"
	"github.com/knack-dev/knack/internal/workspace/certificate"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/mcpserver"
)

// httpFlags are the flags for MCP over HTTP: the address, and the clients that may use it.
type httpFlags struct {
	setting        string // the setting of the file that sets the address, or ""
	addr           string
	hosts, origins []string
	tokenFile      string
	noAuth         bool
	cert, key      string

	admission admission
	gate      *access.Gate // checks tokens and the policy; set by loadAccess
	policy    *access.Policy
	tokens    bool // whether tokens or a sign-in are required

	certificate *certificate.Certificate // nil without TLS
}

func (f *httpFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "http", "", "serve MCP over HTTP at `ADDR`, a port or host:port, instead of on standard input and output; without a host, on this machine alone")
	flags.Var((*command.Repeated)(&f.hosts), "allow-host", "clients reach the server by this `NAME`, or name:port (repeatable)")
	flags.Var((*command.Repeated)(&f.origins), "allow-origin", "web pages of this `ORIGIN`, scheme://host[:port], may call the server (repeatable)")
	flags.StringVar(&f.tokenFile, "token-file", "", "require a token whose hash is in `FILE`; 'knack token new' makes one")
	flags.BoolVar(&f.noAuth, "no-auth", false, "let every client that can reach the address read every skill")
	flags.StringVar(&f.cert, "tls-cert", "", "serve HTTPS with the certificate in `FILE` (PEM)")
	flags.StringVar(&f.key, "tls-key", "", "the certificate's private key is in `FILE` (PEM)")
	for _, name := range []string{"token-file", "tls-cert", "tls-key"} {
		_ = cmd.MarkFlagFilename(name)
	}
}

// check returns an error for conflicting flags.
func (f *httpFlags) check() error {
	const usage = "knack serve --http ADDR [--token-file FILE | --no-auth] [--tls-cert FILE --tls-key FILE]"
	other := len(f.hosts) > 0 || len(f.origins) > 0 || f.tokenFile != "" || f.noAuth || f.cert != "" || f.key != ""
	switch {
	case f.addr == "" && other:
		return command.UsageError(usage, "--allow-host, --allow-origin, --token-file, --no-auth, --tls-cert and --tls-key need --http")
	case f.tokenFile != "" && f.noAuth:
		return command.UsageError(usage, "--token-file and --no-auth contradict each other")
	case (f.cert == "") != (f.key == ""):
		return command.UsageError("give both: --tls-cert FILE --tls-key FILE", "--tls-cert and --tls-key go together")
	}
	return nil
}

// checkAddress returns an error for an invalid address.
func (f *httpFlags) checkAddress() error {
	if _, _, err := hosts.Listen(f.addr); f.addr != "" && err != nil {
		return command.UsageError("give a port from 0 to 65535, for example --http 8080, or host:port, for example --http 0.0.0.0:8080", "--http '%s' %w", display.Echo(f.addr), err)
	}
	return nil
}

// merge sets the settings without a flag from the configuration.
func (f *httpFlags) merge(o *serveConfig) {
	c := o.configuration().HTTP
	if f.addr == "" {
		return
	}
	if len(f.hosts) == 0 {
		f.hosts = c.Hosts
	}
	if len(f.origins) == 0 {
		f.origins = c.Origins
	}
	f.noAuth = f.noAuth || c.NoAuth && f.tokenFile == ""
	if f.tokenFile == "" {
		f.tokenFile = o.file.Resolve(c.TokenFile)
	}
	if f.cert == "" && f.key == "" {
		f.cert, f.key = o.file.Resolve(c.TLSCert), o.file.Resolve(c.TLSKey)
	}
}

// loadAccess reads the tokens and the access rules. They decide which clients may call, and which
// skills they see.
func (f *httpFlags) loadAccess(env *console.Env, o *serveConfig) error {
	f.admission.env, f.admission.tokenFile = env, f.tokenFile
	tokens, data, err := f.admission.read(o.configuration().Access)
	if err != nil {
		return err
	}
	given := o.configuration().SignIn
	if f.admission.signIn, err = settings.SignIn(given, func(p string) string { return env.Absolute(o.file.Resolve(p)) }, o.logger(env)); err != nil {
		return err
	}
	if f.tokens = f.admission.required(tokens); f.tokens && f.noAuth {
		return command.UsageError("leave out --no-auth, or the tokens and the section sign-in", "--no-auth: the configuration has tokens or a sign-in")
	}
	f.admission.set(tokens, data)
	f.policy = o.configuration().Access.Policy
	f.gate = access.NewGate(f.admission.state(tokens, f.policy))
	return nil
}

// options returns the options of the HTTP server and, with a certificate, its TLS configuration.
func (f *httpFlags) options(env console.Env, given config.Config, log *slog.Logger) (mcpserver.HTTPOptions, *tls.Config, error) {
	o := mcpserver.HTTPOptions{Hosts: f.hosts, Origins: f.origins, Proxies: given.HTTP.Proxies, Log: log, Limit: given.Limits.Apply(mcpserver.DefaultLimit)}
	if p := f.admission.signIn; p != nil {
		o.Issuers, o.Scopes, o.Resource = []string{p.Issuer()}, p.Scopes(), p.Resource()
	}
	if f.cert == "" {
		return o, nil, nil
	}
	var err error
	f.certificate, err = certificate.Open(certificate.File{Path: env.Absolute(f.cert), Shown: "--tls-cert " + f.cert}, certificate.File{Path: env.Absolute(f.key), Shown: "--tls-key " + f.key})
	if err != nil {
		return o, nil, err
	}
	return o, f.certificate.Config(), nil
}

// httpServer serves MCP and the web catalogue over HTTP.
type httpServer struct {
	*serveFlags
	env    *console.Env
	server *mcpserver.Server
	counts *metrics.Counts
	pages  web.Options // run adds further fields
}

// run serves until the context ends.
func (s *httpServer) run(ctx context.Context) error {
	op, c, log := &s.op, s.pages.Catalog, s.pages.Log
	o, conf, err := s.web.options(*s.env, op.configuration(), log)
	if err != nil {
		return err
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // from here on SIGHUP does not end the process
	defer signal.Stop(hangups)
	ln, host, err := s.web.listen(ctx, log)
	if err != nil {
		return err
	}
	file := ""
	if op.file != nil {
		file = op.file.Shown
	}
	if err := settings.Check(ctx, c, file, op.configuration().Access); err != nil && ctx.Err() == nil {
		ln.Close()
		return err
	}
	if host != "" {
		o.Hosts = append(o.Hosts, host)
	}
	var measured atomic.Pointer[mcpserver.HTTP]
	defer op.keep(s.pages.Usage, log).Close()
	results := observe.NewReloads(op.audit, s.web.certificate != nil)
	weight := observe.NewWeight(ctx, s.skills.Replica().Size())
	s.pages.Measures = func() []metrics.Measure {
		return append(observe.Measures(measured.Load(), s.counts, op.audit, results, s.web.certificate.Ends()), weight.Measures()...)
	}
	s.pages.Sources, o.Waits = s.skills.Replica().Status, s.skills.Replica().Waits(c)
	s.pages.Scans, s.pages.Judge = observe.NewScans(s.skills.Admission()), s.skills.Judge()
	o.Pages = s.web.pages(*s.env, s.pages)
	h, err := mcpserver.NewHTTP(s.server, o)
	if err != nil {
		ln.Close()
		return command.UsageError("", "--allow-host or --allow-origin: %w", err)
	}
	measured.Store(h)
	judged := rules{catalog: c, log: log, file: file, given: op.configuration().Access}
	defer judged.watch()()
	go s.follow(ctx, &reloader{
		op: op, admission: &s.web.admission, catalog: c, rules: &judged, enforce: s.server.SetAccess, http: h, log: log,
		access: op.configuration().Access, cert: s.web.certificate, results: results, follows: s.skills.Replica(), config: s.from.Config,
	}, hangups)
	s.announce(ctx, endpoint(ln.Addr(), cmp.Or(host, "127.0.0.1"), conf != nil))
	if err := h.Serve(ctx, ln, conf); err != nil {
		return command.RunError("", "the server ended: %w", err)
	}
	return nil
}

// follow applies changes of the settings, the tokens and the certificate until the context ends.
func (s *httpServer) follow(ctx context.Context, r *reloader, hangups <-chan os.Signal) {
	r.admission.warnUnknownSubjects(s.web.policy, r.log)
	if r.admission.signIn != nil {
		go func() { _ = r.admission.signIn.Ask(ctx) }() // Ask logs it if the provider is down
	}
	if s.op.file != nil {
		r.data = s.op.file.Data
	}
	if r.cert != nil {
		go r.cert.Watch(ctx, r.renewed)
	}
	if len(s.from.Dirs)+len(s.from.Source) == 0 {
		r.roots = s.op.file
	}
	tokens := make(chan struct{}, 1)
	go r.admission.watch(ctx, func() {
		select {
		case tokens <- struct{}{}:
		default: // a change is already pending
		}
	})
	r.run(ctx, hangups, tokens)
}

// announce logs the address. On a terminal it also prints the skills once they are read.
func (s *httpServer) announce(ctx context.Context, at string) {
	if s.op.logFormat == "json" {
		slog.New(s.op.handler(s.env.Stderr, slog.LevelInfo)).Info("knack serves MCP", "url", at)
		return
	}
	fmt.Fprintf(s.env.Stderr, "knack serves MCP at %s\n", at)
	if !s.env.StderrTerminal {
		return
	}
	s.web.greet(s.env, at)
	go func() {
		c := s.pages.Catalog
		if v, err := c.View(ctx); err == nil {
			s.env.Err().Line("%s", served(s.env, s.serveFlags, v))
			s.complete(ctx, s.env, c, v)
		}
	}()
}

// pageOptions returns the options that the web catalogue shares with the MCP server. t counts the
// uses of skills by the server's clients.
func (f *httpFlags) pageOptions(o *mcpserver.Options, t *usage.Tally) web.Options {
	if f.addr == "" {
		return web.Options{}
	}
	return web.Options{Catalog: o.Catalog, Tools: o.Tools, Version: o.Version, Engage: o.Engage, Usage: t, Log: o.Log}
}

// pages returns the web catalogue.
func (f *httpFlags) pages(env console.Env, o web.Options) http.Handler {
	if f.tokens {
		o.Verifier, o.SignIn, o.NoTokens = f.gate, f.admission.signIn, f.admission.tokens == nil
	}
	if f.isLocal() {
		o.Own = ownServer(env)
	}
	return web.New(o)
}
