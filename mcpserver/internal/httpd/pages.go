package httpd

import (
	"context"
	"net/http"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/limit"
)

// pageRoom is what a page takes that shows no large file, in bytes.
const pageRoom = 512 << 10

// pages serves what else there is at this address behind the same checks as MCP:
// host, origin and token, and the bound on calls at once.
func (h *Handler) pages() http.Handler {
	if h.o.Pages == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusNotFound, "there is nothing here; MCP is at /mcp")
		})
	}
	serve := func(w http.ResponseWriter, r *http.Request, who access.Principal) {
		share := h.sharer(who, hostOf(r))
		room := h.core.Room.Open(share)
		defer room.Close()
		no := h.calls.take(share)
		if no == "" {
			defer h.calls.leave(share)
			if !room.Wait(r.Context(), pageRoom) {
				no = TooManyCalls
			}
		}
		if no != "" {
			w.Header().Set("Retry-After", "1")
			h.refuse(w, r, http.StatusTooManyRequests, no)
			return
		}
		p := newPaced(w, h.o.WriteTimeout)
		h.o.Pages.ServeHTTP(&p, r.WithContext(limit.WithAccount(who.Context(r.Context()), room)))
	}
	door, ok := h.o.Pages.(Door)
	if !ok {
		door = noDoor{}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := tokenOf(r)
		if len(r.Header["Authorization"]) == 0 {
			token, _ = door.Known(r)
		}
		who, known := h.know(r, token)
		switch {
		case door.Opens(r):
			if known && h.admits(w, r, who) || !known && h.admitsUnknown(w, r) {
				h.enter(door, w, r)
			}
		case !known:
			h.challenge(w, r)
			h.refuse(w, r, http.StatusUnauthorized, "A token is needed: send it in the header Authorization: Bearer, or sign in with a browser.")
		case h.admits(w, r, who):
			serve(w, r, who)
		}
	})
}

// noDoor is a Door without sign-in.
type noDoor struct{ Door }

func (noDoor) Opens(*http.Request) bool           { return false }
func (noDoor) Known(*http.Request) (string, bool) { return "", false }

// enter answers requests to sign in. They have places of their own, so that a client
// without a token takes none from calls with one.
func (h *Handler) enter(door Door, w http.ResponseWriter, r *http.Request) {
	if !take(h.entering) {
		w.Header().Set("Retry-After", "1")
		h.refuse(w, r, http.StatusTooManyRequests, TooManyCalls)
		return
	}
	defer func() { <-h.entering }()
	p := newPaced(w, h.o.WriteTimeout)
	subject, known := door.Open(&p, r)
	if x := exchangeOf(r); x != nil && known {
		x.who, x.known = access.Principal{Subject: subject}, true
	}
}

// Door is a handler of pages with sign-in by token. At /mcp it is not asked: what a browser
// sends by itself, such as a cookie, would let any page that it shows call tools.
type Door interface {
	http.Handler
	// Opens reports whether a request is one to sign in or out, which needs no token.
	Opens(r *http.Request) bool
	// Open answers such a request. It returns the subject that signed in or out, if known.
	Open(w http.ResponseWriter, r *http.Request) (who access.Subject, known bool)
	// Known is the token with which the sender of a request signed in that has no
	// Authorization header.
	Known(r *http.Request) (token string, ok bool)
	// Recheck ends the sign-ins of tokens that the verifier no longer knows.
	Recheck(ctx context.Context)
	// Refuse answers a request that is refused, in words for its sender. Headers that
	// belong to the status are set.
	Refuse(w http.ResponseWriter, r *http.Request, status int, say string)
}

// refuse answers outside of any call: in words of the protocol, or of the pages.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, status int, say string) {
	door, ok := h.o.Pages.(Door)
	if !ok || r.URL.Path == "/mcp" || isProbe(r) {
		refuse(w, status, say)
		return
	}
	door.Refuse(w, r, status, say)
}
