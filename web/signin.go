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
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/access"
)

// The addresses of the way in and out.
const (
	signInPath  = "/signin"
	signOutPath = "/signout"
)

// Bounds of a form.
const (
	maxForm  = 16 << 10 // bytes; a token has less than a hundred, an address may be long
	maxForms = 1024     // that arrive at once
)

// signInPage asks for a token. It is the same whatever the address is of that one
// wanted to see: it tells nothing of what there is.
type signInPage struct {
	frame
	Wrong bool
	To    string // where it leads
}

func (s *Site) askIn(r *request, status int, wrong bool, to string) {
	if status == http.StatusUnauthorized && r.w.Header().Get("WWW-Authenticate") == "" {
		r.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	r.w.Header().Set("Cache-Control", "no-store")
	p := signInPage{frame: frame{Title: "Sign in", Nav: "signin", Token: true}, Wrong: wrong, To: within(to)}
	if err := s.render(r, status, "signin", p); err != nil {
		s.o.Log.Error("cannot render a page", "error", err.Error())
	}
}

// signIn takes a token from the form, and gives a cookie for it.
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
	id, subject, ok := s.sessions.Begin(r.Context(), strings.TrimSpace(form.Get("token")))
	if !ok {
		s.askIn(r, http.StatusUnauthorized, true, to)
		return nil
	}
	passes(r, subject)
	if old, ok := cookieOf(r.Request); ok {
		s.sessions.End(old)
	}
	// A proxy may have ended the TLS of a browser's connection. What the browser
	// itself says of that is in the form's Origin, which no page can set.
	secure := r.TLS != nil || strings.HasPrefix(strings.ToLower(r.Header.Get("Origin")), "https://")
	http.SetCookie(r.w, cookie(r.Request, secure, id, int(access.SessionLife.Seconds())))
	return s.seeOther(r, to)
}

// signOut ends the session, and takes the cookie back.
func (s *Site) signOut(r *request) error {
	if _, err := s.form(r); err != nil {
		return err
	}
	if id, ok := cookieOf(r.Request); ok {
		if subject, ok := s.sessions.Subject(r.Context(), id); ok {
			passes(r, subject)
		}
		s.sessions.End(id)
	}
	for _, secure := range []bool{true, false} {
		http.SetCookie(r.w, cookie(r.Request, secure, "", -1))
	}
	return s.seeOther(r, signInPath)
}

func (s *Site) seeOther(r *request, to string) error {
	r.w.Header().Set("Cache-Control", "no-store")
	r.w.Header().Set("Location", to)
	return answer(r, http.StatusSeeOther, nil)
}

// form reads a form of a page of this server: another's page must not sign anybody
// in or out.
func (s *Site) form(r *request) (url.Values, error) {
	if new(http.CrossOriginProtection).Check(r.Request) != nil {
		return nil, problem(http.StatusForbidden, "This form came from a page of another server.")
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, problem(http.StatusUnsupportedMediaType, "This is no form.")
	}
	select {
	case s.arriving <- struct{}{}:
	default:
		r.w.Header().Set("Retry-After", "1")
		return nil, problem(http.StatusTooManyRequests, "Too many sign in at once. Try again in a moment.")
	}
	defer func() { <-s.arriving }()
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
		return nil, problem(http.StatusBadRequest, "This is no form.")
	}
	return values, nil
}

// within is an address of this server's, whatever is written: a path that a
// browser can take for nothing else, and a query.
func within(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, "/") {
		return "/"
	}
	here := "/" + strings.TrimLeft(u.EscapedPath(), "/")
	if here == signInPath || here == signOutPath {
		return "/"
	}
	if u.RawQuery != "" {
		here += "?" + strings.NewReplacer("#", "%23", `\`, "%5C").Replace(u.RawQuery)
	}
	return here
}

// Opens: the way in, and the files that every page is made of, are for everybody.
func (s *Site) Opens(r *http.Request) bool {
	return r.URL.Path == signInPath || r.URL.Path == signOutPath || strings.HasPrefix(r.URL.Path, "/assets/")
}

// Open answers there, and says who signed in or out.
func (s *Site) Open(w http.ResponseWriter, r *http.Request) (access.Subject, bool) {
	var p passenger
	s.routes.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passengerKey{}, &p)))
	return p.subject, p.known
}

// passenger is who goes in or out by a request.
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

// Known is the token that a request's cookie stands for. A cookie is good for looking
// alone, and counts if the browser says that a page of this server asks, or the person:
// other servers of the same site, such as those on other ports, have it sent along.
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

// byCookie: whoever asks has signed in, and can sign out.
func (s *Site) byCookie(r *request) bool {
	_, ok := cookieOf(r.Request)
	return s.sessions != nil && ok && len(r.Header["Authorization"]) == 0
}

// Recheck ends the sessions of tokens that are not known any more.
func (s *Site) Recheck(ctx context.Context) {
	if s.sessions != nil {
		s.sessions.Recheck(ctx)
	}
}

// Refuse answers a request that the server did not let through.
func (s *Site) Refuse(w http.ResponseWriter, hr *http.Request, status int, say string) {
	setHeaders(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	first, size := utf8.DecodeRuneInString(say)
	s.fail(&request{Request: hr, w: w}, problem(status, string(unicode.ToUpper(first))+strings.TrimSuffix(say[size:], ".")+"."))
}

// takesPages: whoever asks reads pages.
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

// cookie is the one of a session. Cookies are a host's, whatever its ports: servers
// on two of them each have a name of their own.
func cookie(r *http.Request, secure bool, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(r, secure), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: secure,
		// Lax and not Strict: with Strict, whoever follows a link in a message would have
		// to sign in again. Nothing here is changed by following one.
		SameSite: http.SameSiteLaxMode,
	}
}

// cookieName: what begins with __Host- is set by this host alone, over TLS alone.
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

// cookieOf is a session's id.
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
