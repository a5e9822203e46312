package web

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/server/openid"
)

// Paths of sign-in and sign-out.
const (
	signInPath   = "/signin"
	signOutPath  = "/signout"
	beginPath    = "/signin/begin" // redirects to the provider
	callbackPath = openid.CallbackPath
)

// maxForm is the maximum size of a form, in bytes. A token has fewer than 100 bytes, but an address
// may be long.
const maxForm = 16 << 10

// signInPage is the page with the form for a token. It is the same for every requested address, so
// that it does not reveal which pages exist.
type signInPage struct {
	frame
	Wrong bool
	To    string // where sign-in redirects to
	// Provider is the host at which people sign in, Problem the reason why that failed, and Out the
	// address for signing out at the provider. Each may be empty. Life is how long people stay
	// signed in with the provider.
	Provider, Problem, Out string
	Life                   string
	Tokens                 bool // people sign in with a token
}

func (s *Site) askIn(r *request, status int, wrong bool, to string) {
	if status == http.StatusUnauthorized && r.w.Header().Get("WWW-Authenticate") == "" {
		r.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	r.w.Header().Set("Cache-Control", "no-store")
	s.showSignIn(r, status, signInPage{Wrong: wrong, To: within(to)})
}

func (s *Site) showSignIn(r *request, status int, p signInPage) {
	p.frame, p.Tokens = frame{Title: "Sign in", Nav: "signin", Token: true}, !s.o.NoTokens
	if at := s.o.SignIn; at != nil {
		p.Provider, p.Life = at.Name(), hoursOf(at.Session())
		if r.URL.Query().Has("out") {
			p.Out = at.SignOutURL()
		}
	}
	if err := s.render(r, status, "signin", p); err != nil {
		s.o.Log.Error("cannot render a page", "error", err.Error())
	}
}

// signIn verifies the token from the form and sets a session cookie.
func (s *Site) signIn(r *request) error {
	if r.Method != http.MethodPost {
		if token, ok := s.Known(r.Request); ok {
			if _, ok = s.o.Verifier.Verify(r.Context(), token); ok {
				return s.seeOther(r, "/")
			}
		}
		s.askIn(r, http.StatusOK, false, "/")
		return nil
	}
	form, err := s.form(r)
	if err != nil {
		return err
	}
	to := within(form.Get("to"))
	id, subject, ok := s.sessions.Begin(r.Context(), strings.TrimSpace(form.Get("token")), access.SessionLife)
	if !ok {
		s.askIn(r, http.StatusUnauthorized, true, to)
		return nil
	}
	// A proxy may have terminated the browser's TLS connection. The browser reports its
	// scheme in the form's Origin header, which no page can set.
	secure := r.TLS != nil || strings.HasPrefix(strings.ToLower(r.Header.Get("Origin")), "https://")
	return s.letIn(r, id, subject, secure, access.SessionLife, to)
}

// letIn gives the browser the cookie of a new session, and ends the previous one.
func (s *Site) letIn(r *request, id string, subject access.Subject, secure bool, life time.Duration, to string) error {
	passes(r, subject)
	if old, ok := cookieOf(r.Request); ok {
		s.sessions.End(old)
	}
	http.SetCookie(r.w, cookie(r.Request, secure, id, int(life.Seconds())))
	return s.seeOther(r, to)
}

// begin redirects to the provider.
func (s *Site) begin(r *request) error {
	at, err := s.o.SignIn.Begin(r.w, r.Request, within(r.URL.Query().Get("to")))
	if err != nil {
		return s.refuseIn(r, err)
	}
	return s.seeOther(r, at)
}

// callback signs in a person whom the provider sends back.
func (s *Site) callback(r *request) error {
	token, to, err := s.o.SignIn.Finish(r.w, r.Request)
	if err != nil {
		return s.refuseIn(r, err)
	}
	id, subject, ok := s.sessions.Begin(r.Context(), token, s.o.SignIn.Session())
	if !ok {
		return s.refuseIn(r, &openid.Refusal{Status: http.StatusServiceUnavailable, Say: "Too many people sign in at once. Begin again."})
	}
	return s.letIn(r, id, subject, strings.HasPrefix(s.o.SignIn.Resource(), "https:"), s.o.SignIn.Session(), within(to))
}

// refuseIn shows why a person cannot sign in at the provider.
func (s *Site) refuseIn(r *request, err error) error {
	var no *openid.Refusal
	if !errors.As(err, &no) {
		return err
	}
	r.w.Header().Set("Cache-Control", "no-store")
	s.showSignIn(r, no.Status, signInPage{To: "/", Problem: no.Say})
	return nil
}

// signOut ends the session and deletes the cookie.
func (s *Site) signOut(r *request) error {
	if _, err := s.form(r); err != nil {
		return err
	}
	to := signInPath
	if id, ok := cookieOf(r.Request); ok {
		if subject, ok := s.sessions.Subject(r.Context(), id); ok {
			passes(r, subject)
		}
		if token, ok := s.sessions.Token(id); ok && s.o.SignIn != nil && s.o.SignIn.End(token) && s.o.SignIn.SignOutURL() != "" {
			to += "?out"
		}
		s.sessions.End(id)
	}
	for _, secure := range []bool{true, false} {
		http.SetCookie(r.w, cookie(r.Request, secure, "", -1))
	}
	return s.seeOther(r, to)
}

func (s *Site) seeOther(r *request, to string) error {
	r.w.Header().Set("Cache-Control", "no-store")
	r.w.Header().Set("Location", to)
	return answer(r, http.StatusSeeOther, nil)
}

// form reads a form sent from a page of this server. It rejects forms of other sites,
// which must not sign a user in or out.
func (s *Site) form(r *request) (url.Values, error) {
	if new(http.CrossOriginProtection).Check(r.Request) != nil {
		return nil, problem(http.StatusForbidden, "This form came from a page of another server.")
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, problem(http.StatusUnsupportedMediaType, "This is not a form.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(r.w, r.Body, maxForm))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, problem(http.StatusRequestEntityTooLarge, "This form is too large.")
	case err != nil:
		return nil, problem(http.StatusRequestTimeout, "The form did not arrive whole.")
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, problem(http.StatusBadRequest, "This is not a form.")
	}
	return values, nil
}

// within returns an address on this server that a browser cannot misread: the path and
// query of to, or "/" if to is not usable.
func within(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, "/") {
		return "/"
	}
	here := "/" + strings.TrimLeft(u.EscapedPath(), "/")
	if here == signInPath || here == signOutPath || strings.HasPrefix(here, signInPath+"/") {
		return "/"
	}
	if u.RawQuery != "" {
		here += "?" + strings.NewReplacer("#", "%23", `\`, "%5C").Replace(u.RawQuery)
	}
	return here
}

// Opens reports whether a request needs no token. Sign-in, sign-out and the static
// files of the pages are open to every client.
func (s *Site) Opens(r *http.Request) bool {
	switch r.URL.Path {
	case signInPath, signOutPath:
		return true
	case beginPath, callbackPath:
		return s.o.SignIn != nil
	}
	return strings.HasPrefix(r.URL.Path, "/assets/")
}

// Open answers a request for which [Site.Opens] is true. It returns the subject that signed in or
// out, if any.
func (s *Site) Open(w http.ResponseWriter, r *http.Request) (access.Subject, bool) {
	var p passenger
	s.routes.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passengerKey{}, &p)))
	return p.subject, p.known
}

// passenger is the subject that a request signs in or out.
type passenger struct {
	subject access.Subject
	known   bool
}

type passengerKey struct{}

func passes(r *request, subject access.Subject) {
	if p, ok := r.Context().Value(passengerKey{}).(*passenger); ok {
		*p = passenger{subject, true}
	}
}

// Known returns the token of the session in a request's cookie. A cookie is valid only for GET and
// HEAD. The browser must also report that a page of this server or the user made the request, or
// that the request opens a page. Otherwise a page of another server of the same site could use the
// cookie, for example a server on another port.
func (s *Site) Known(r *http.Request) (token string, ok bool) {
	if s.sessions == nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return "", false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" {
			return "", false
		}
	}
	id, ok := cookieOf(r)
	if !ok {
		return "", false
	}
	return s.sessions.Token(id)
}

// byCookie reports whether the client has signed in with a cookie and can sign out.
func (s *Site) byCookie(r *request) bool {
	_, ok := cookieOf(r.Request)
	return s.sessions != nil && ok && len(r.Header["Authorization"]) == 0
}

// Recheck ends the sessions whose tokens are no longer valid.
func (s *Site) Recheck(ctx context.Context) {
	if s.sessions != nil {
		s.sessions.Recheck(ctx)
	}
}

// Refuse answers a request that the server rejected.
func (s *Site) Refuse(w http.ResponseWriter, hr *http.Request, status int, say string) {
	setHeaders(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	first, size := utf8.DecodeRuneInString(say)
	s.fail(&request{Request: hr, w: w}, problem(status, string(unicode.ToUpper(first))+strings.TrimSuffix(say[size:], ".")+"."))
}

// takesPages reports whether the client accepts HTML.
func takesPages(r *http.Request) bool {
	for _, list := range r.Header.Values("Accept") {
		for kind := range strings.SplitSeq(list, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "text/html") {
				return true
			}
		}
	}
	return false
}

// cookie returns a session cookie. Browsers share cookies between all ports of a host,
// so the name contains the port.
func cookie(r *http.Request, secure bool, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(r, secure), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: secure,
		// SameSite is Lax: with Strict, a user who follows a link in a message would
		// have to sign in again. Following a link changes nothing here.
		SameSite: http.SameSiteLaxMode,
	}
}

// cookieName returns the name of the session cookie. Browsers accept a name with the
// prefix __Host- only from this host and only over TLS.
func cookieName(r *http.Request, secure bool) string {
	name := "knack"
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name += "-" + port
	}
	if secure {
		name = "__Host-" + name
	}
	return name
}

// cookieOf returns the session id from the request's cookie.
func cookieOf(r *http.Request) (string, bool) {
	for _, secure := range []bool{true, false} {
		if c, err := r.Cookie(cookieName(r, secure)); err == nil && c.Value != "" {
			return c.Value, true
		}
		if r.TLS != nil {
			break
		}
	}
	return "", false
}
