package cli

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"slices"

	"github.com/knack-dev/knack/internal/base/hosts"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/llm/reach"
)

// address is an address that a server listens on.
type address struct {
	tcp  *net.TCPAddr
	host string // as given; "" means every address of the machine
}

// addressOf resolves the value of --http or http.listen.
func addressOf(listen string) (address, error) {
	host, port, err := hosts.Listen(listen)
	if err != nil {
		return address{}, err
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

// unguarded returns the reason to refuse an address, or "". A server does not listen on an address
// that other machines can reach, unless a setting restricts or opens access.
func (a address) unguarded(tokens, open bool) string {
	if a.tcp.IP.IsLoopback() || tokens || open {
		return ""
	}
	return "other machines can reach this address, and no setting restricts its clients"
}

// unnamed returns the reason why the server would refuse clients of other machines with 403. It
// returns "" if an allowed host names the server for them.
func (a address) unnamed(hosts []string) string {
	switch {
	case slices.ContainsFunc(hosts, func(h string) bool { return !isLoopbackHost(h) }):
		return ""
	case a.host == "":
		return "no name or address of this machine is allowed, so clients of other machines are refused with 403"
	case a.tcp.IP.IsLoopback() || net.ParseIP(a.host) == nil:
		return ""
	}
	return "no name of this machine is allowed, so clients are refused with 403 unless they call it " + a.host
}

// unnamedFix is the fix for the reasons that [address.unnamed] returns.
const unnamedFix = "give each name and address by which clients call it in http.hosts, or with --allow-host"

// flag returns the flag, or the setting of a file, that sets the address.
func (f *httpFlags) flag() string { return cmp.Or(f.setting, "--http") }

// listen listens on the address. It returns an error for an address that [address.unguarded]
// refuses.
func (f *httpFlags) listen(ctx context.Context, log *slog.Logger) (net.Listener, string, error) {
	at, err := addressOf(f.addr)
	if err != nil {
		host, port, _ := hosts.Listen(f.addr)
		what, fix := reach.Resolving(f.flag(), host, port, err)
		return nil, "", command.RunError(fix, "%s %s: %s", f.flag(), f.addr, what)
	}
	if why := at.unguarded(f.tokens, f.noAuth); why != "" {
		return nil, "", command.UsageError("require a token with --token-file FILE ('knack token new' makes one), or, if every client may read every skill, use --no-auth",
			"%s %s: %s", f.flag(), f.addr, why)
	}
	if why := at.unnamed(f.hosts); why != "" {
		log.Warn(why, "listen", f.addr, "fix", unnamedFix)
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", at.tcp.String())
	if err != nil {
		what, fix := reach.Listening(f.flag(), f.addr, at.tcp, err)
		return nil, "", command.RunError(fix, "%s %s: %s", f.flag(), f.addr, what)
	}
	return ln, at.host, nil
}

// isLocal reports whether the server is only for the user of this machine. Such a server listens
// on the loopback, requires no tokens and has no policy. Unlike a server behind a proxy, it allows
// no other hosts or origins.
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
	return host == "" || hosts.IsLoopback(host)
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
