package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/server/httpguard"
)

type connectPage struct {
	frame
	URL   string
	Local bool // the client is on this machine
	// The environment variable of the token, and the placeholder for it in the entries.
	Variable, Placeholder string
	Issuer                string // of tokens; empty without a sign-in
	NoTokens              bool   // only tokens of the issuer are accepted
	Clients               []snippet
}

// snippet is the configuration that one client needs.
type snippet struct {
	ID, Name, File string
	Remote, Stdio  string // the entry in the client's file
	Command        string // the command line with the same effect
	NoRemote       bool
	FromEnv        bool // the client reads the token from the environment
	Reads          []string
	Twice          string // the advice for a client that also reads these folders itself
	Tried          string // the client version that the entries were tried with, and how
}

// connect shows ready-made entries for each client: one for this server, and one that
// starts knack locally.
func (s *Site) connect(r *request) error {
	p := connectPage{frame: s.frame(r, "Connect", "connect"), URL: s.origin(r) + "/mcp", Local: s.o.Own.Command != "" && !httpguard.Forwarded(r.Header)}
	own := s.o.Own
	if !p.Local {
		own = clientconfig.Server{Command: "/path/to/knack", Args: []string{"serve"}}
	}
	if s.o.SignIn != nil {
		p.Issuer, p.NoTokens = s.o.SignIn.Issuer(), s.o.NoTokens
	}
	remote := clientconfig.Server{URL: p.URL, Token: p.Token}
	p.Variable, p.Placeholder = clientconfig.TokenVariable, clientconfig.TokenPlaceholder
	at := clientconfig.Env{OS: systemOf(r.UserAgent()), Home: "~", Project: ".", AppData: "%APPDATA%"}
	r.w.Header().Add("Vary", "User-Agent")
	for _, c := range clientconfig.Clients() {
		w := snippet{FromEnv: c.TokenFromEnvironment(), ID: c.ID, Name: c.Name, Reads: c.Reads, Twice: c.DuplicateHint("this server"), Tried: c.Tested, File: strings.TrimPrefix(c.File(at), "./")}
		var err error
		if w.Remote, err = c.Entry(remote); errors.Is(err, clientconfig.ErrNoRemote) {
			w.NoRemote = true
		} else if err != nil {
			return err
		}
		if w.Stdio, err = c.Entry(own); err != nil {
			return err
		}
		if c.Command != nil {
			w.Command = c.Command(remote)
		}
		p.Clients = append(p.Clients, w)
	}
	return s.render(r, http.StatusOK, "connect", p)
}

// systemOf returns the operating system of a browser from its User-Agent header, as a value of
// runtime.GOOS.
func systemOf(browser string) string {
	switch {
	case strings.Contains(browser, "Windows"):
		return "windows"
	case strings.Contains(browser, "Macintosh"):
		return "darwin"
	}
	return "linux"
}

// origin returns the URL of this server as the client reached it. The guard in front of
// the site has already checked the host.
//
// A proxy may have terminated TLS. In that case, the proxy's header has the scheme, or the client
// sends a session cookie that browsers send only over TLS. A client can forge either, but they
// affect only the address that this client sees.
func (s *Site) origin(r *request) string {
	scheme := "http"
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",") // the client reached the first of several proxies
	if r.TLS != nil || s.secureSession(r) || strings.EqualFold(strings.TrimSpace(first), "https") {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// secureSession reports whether the request has the cookie of a session that began over
// TLS.
func (s *Site) secureSession(r *request) bool {
	c, err := r.Cookie(cookieName(r.Request, true))
	if err != nil || s.sessions == nil {
		return false
	}
	_, ok := s.sessions.Subject(r.Context(), c.Value)
	return ok
}
