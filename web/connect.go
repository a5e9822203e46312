package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/knack-dev/knack/client"
)

type connectPage struct {
	frame
	URL   string
	Local bool // the command is known
	// What stands for a token in the entries.
	Variable, Placeholder string
	Clients               []snippet
}

// snippet is what one client needs.
type snippet struct {
	ID, Name, File string
	Remote, Stdio  string // the entry in the client's file
	Command        string // what does the same on a command line
	NoRemote       bool
	FromEnv        bool // the token
	Reads          []string
	Twice          string // what to know of this server if it reads these folders too
	Tried          string // with which version the entries were, and how
}

// connect shows a ready entry for each client: for this server, and for one that
// the client starts itself.
func (s *Site) connect(r *request) error {
	p := connectPage{frame: s.frame(r, "Connect", "connect"), URL: s.origin(r) + "/mcp", Local: s.o.Command != ""}
	command := s.o.Command
	if command == "" {
		command = "/path/to/knack"
	}
	remote := client.Server{URL: p.URL, Token: p.Token}
	p.Variable, p.Placeholder = client.TokenVariable, client.TokenPlaceholder
	for _, c := range client.Clients {
		w := snippet{FromEnv: c.TokenFromEnvironment(), ID: c.ID, Name: c.Name, Reads: c.Reads, Twice: c.Twice("this server"), Tried: c.Tried, File: strings.TrimPrefix(c.File(client.Places{OS: "linux", Home: "~", Project: "."}), "./")}
		var err error
		if w.Remote, err = c.Entry(remote); errors.Is(err, client.ErrNoRemote) {
			w.NoRemote = true
		} else if err != nil {
			return err
		}
		local := client.Server{Command: command, Args: []string{"serve"}}
		for _, label := range c.Reads {
			local.Args = append(local.Args, "--exclude", label)
		}
		if w.Stdio, err = c.Entry(local); err != nil {
			return err
		}
		if c.Command != nil {
			w.Command = c.Command(remote)
		}
		p.Clients = append(p.Clients, w)
	}
	return s.render(r, http.StatusOK, "connect", p)
}

// origin is this server as the one who asks reached it. The host is one that the
// guard before this site lets through. That a proxy ended TLS is known by the cookie of
// a session begun over TLS, which browsers send over nothing else, or is the proxy's word.
// Anybody may send either: nothing but the address that this very client is shown hangs on it.
func (s *Site) origin(r *request) string {
	scheme := "http"
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",") // of several proxies, the one that the client reached
	if r.TLS != nil || s.secureSession(r) || strings.EqualFold(strings.TrimSpace(first), "https") {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// secureSession: the request bears the cookie of a session that was begun over TLS.
func (s *Site) secureSession(r *request) bool {
	c, err := r.Cookie(cookieName(r.Request, true))
	if err != nil || s.sessions == nil {
		return false
	}
	_, ok := s.sessions.Subject(r.Context(), c.Value)
	return ok
}
