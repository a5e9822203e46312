package httpguard

import (
	"context"
	"net/http"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/event"
)

// pageMemory is the memory for a page without a large file, in bytes.
const pageMemory = 512 << 10

// maxForms bounds the sign-in forms that arrive concurrently, of at most 16 KiB each. At the rate
// for unknown clients, one network can have about 300 in transit.
const maxForms = 1024

// SignIn is a handler of pages with a sign-in by token. Other handlers do not accept its cookie:
// browsers send cookies unasked, so any web page could make calls with it.
type SignIn interface {
	http.Handler
	// Opens reports whether a request signs in or out. Such a request needs no token.
	Opens(r *http.Request) bool
	// Open answers a request for which Opens is true. It returns the subject that signed in or out,
	// if known.
	Open(w http.ResponseWriter, r *http.Request) (who access.Subject, known bool)
	// Known returns the token with which the sender of a request without an Authorization header
	// has signed in.
	Known(r *http.Request) (token string, ok bool)
	// Recheck ends the sign-ins whose tokens the verifier no longer knows.
	Recheck(ctx context.Context)
	// Refuse answers a refused request with a message for its sender. The headers for the status
	// are already set.
	Refuse(w http.ResponseWriter, r *http.Request, status int, say string)
}

// pages returns the handler of the pages, which makes the same checks as every other handler.
func (g *Guard) pages() http.HandlerFunc {
	if g.o.Pages == nil {
		return func(w http.ResponseWriter, _ *http.Request) {
			g.o.Refuse(w, http.StatusNotFound, "there is nothing here; MCP is at /mcp")
		}
	}
	signIn, ok := g.o.Pages.(SignIn)
	if !ok {
		signIn = noSignIn{}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		token := tokenOf(r)
		if len(r.Header["Authorization"]) == 0 {
			token, _ = signIn.Known(r)
		}
		who, known := g.know(r, token)
		switch {
		case signIn.Opens(r):
			if known && g.admit(w, r, who) || !known && g.admitUnknown(w, r) {
				g.serveSignIn(signIn, w, r, who)
			}
		case !known:
			g.challenge(w, r)
			g.refuse(w, r, http.StatusUnauthorized, "A token is needed: send it in the header Authorization: Bearer, or sign in with a browser.")
		case g.admit(w, r, who):
			g.servePage(w, r, who)
		}
	}
}

// noSignIn implements [SignIn] for pages without a sign-in.
type noSignIn struct{ SignIn }

func (noSignIn) Opens(*http.Request) bool           { return false }
func (noSignIn) Known(*http.Request) (string, bool) { return "", false }

func (g *Guard) servePage(w http.ResponseWriter, r *http.Request, who access.Principal) {
	work, no := g.Begin(shareOf(g.o.Access.Now(), who, addressOf(r)))
	if no == "" {
		defer work.Close()
		if !work.Memory.Wait(r.Context(), pageMemory) {
			no = TooManyCalls
		}
	}
	if no != "" {
		w.Header().Set("Retry-After", "1")
		g.refuse(w, r, http.StatusTooManyRequests, no)
		return
	}
	p := NewPacedWriter(w, g.o.WriteTimeout)
	g.o.Pages.ServeHTTP(&p, r.WithContext(limit.WithAccount(who.Context(r.Context()), work.Memory)))
}

// serveSignIn answers a sign-in. A form takes a place in its sender's share while it arrives and is
// answered. A GET has no body to wait for, and needs no place.
func (g *Guard) serveSignIn(signIn SignIn, w http.ResponseWriter, r *http.Request, who access.Principal) {
	place := g.signingIn.Open(shareOf(g.o.Access.Now(), who, addressOf(r)))
	defer place.Close()
	if !isRead(r) && !place.Try(1) {
		w.Header().Set("Retry-After", "1")
		g.refuse(w, r, http.StatusTooManyRequests, TooManyCalls)
		return
	}
	p := NewPacedWriter(w, g.o.WriteTimeout)
	if subject, known := signIn.Open(&p, r); known {
		x := recordOf(r)
		x.who, x.known = access.Principal{Subject: subject}, true
	}
}

// refuse answers a refused request as the pages do, or as the other handlers do.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	pages, ok := g.o.Pages.(SignIn)
	if !ok || surfaceOf(r) == event.MCP || isProbe(r) {
		g.o.Refuse(w, status, message)
		return
	}
	pages.Refuse(w, r, status, message)
}
