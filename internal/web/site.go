package web

import (
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/internal/server/metrics"
	"github.com/knack-dev/knack/internal/server/openid"
	"github.com/knack-dev/knack/internal/server/usage"
	"github.com/knack-dev/knack/internal/web/internal/checks"
	"github.com/knack-dev/knack/internal/web/internal/latest"
	"github.com/knack-dev/knack/internal/web/internal/markdown"
	"github.com/knack-dev/knack/internal/web/internal/parcels"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/lookup"
)

// Options configure a [Site].
type Options struct {
	Catalog *catalog.Catalog
	// Tools are the tools that the server offers to models. A skill's page shows the
	// answer of each.
	Tools   []*tool.Tool
	Version string
	// Own is the command with which a client on this machine starts this knack. A page shows it in
	// the clients' entries, but never to a client behind a proxy. It is zero if clients run
	// elsewhere.
	Own clientconfig.Server
	// Verifier, if set, verifies the tokens with which people sign in. The pages then
	// say that a token is needed; the server checks the requests.
	Verifier access.Verifier
	// SignIn, if set, is a provider at which people can sign in; Verifier accepts its tokens.
	// NoTokens is set if people cannot sign in with any other token.
	SignIn   *openid.Provider
	NoTokens bool
	// Engage returns the text of skill://engage/SKILL.md if no skill has that URI; see
	// [tool.Host].
	Engage func() string
	// Usage counts the skills that agents use. If it is nil, the site makes its own.
	Usage *usage.Tally
	// Sources, if set, returns the states of the sources that the server follows. Clients see the
	// sources whose roots they see.
	Sources func() []follow.Status
	// Scans, if set, returns the findings of scans. Clients see the findings of the skills that
	// they see. It is nil without a policy.
	Scans Scans
	// Judge judges the skills.
	Judge judgement.Judge
	// Measures, if set, returns metrics of other parts of the server, shown at /metrics
	// after the site's own. They are the same for every client and must not reveal
	// skills.
	Measures func() []metrics.Measure
	Log      *slog.Logger
}

// Limits of one request.
const (
	// requestTime is how long a request may take.
	requestTime = checks.DiskTime
	// firstTime is how long a request waits for the first snapshot.
	firstTime = 2 * time.Second
	// maxQuery is the maximum length of a search query, in bytes. Longer queries are
	// cut.
	maxQuery = 1024
)

// Site is an HTTP handler for the pages, the API and the metrics.
type Site struct {
	o        Options
	host     *tool.Host
	pages    map[string]*template.Template
	assets   map[string]asset
	routes   *http.ServeMux
	patterns []string
	methods  map[string]string // by pattern
	markdown *markdown.Renderer
	fits     latest.Cache[[]tool.Fit]
	reports  latest.Cache[*healthPage]
	shelves  latest.Cache[*shelf]
	indexes  parcels.Indexes[tagged] // the discovery index
	parcels  parcels.Parcels
	begun    time.Time
	checks   *checks.Checks
	sessions *access.Sessions // nil if no sign-in is needed
}

// New returns a site.
func New(o Options) *Site {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Usage == nil {
		o.Usage = usage.New()
	}
	s := &Site{
		o: o, markdown: markdown.New(), begun: time.Now(), checks: checks.New(o.Catalog, o.Judge),
		host:    &tool.Host{Finder: lookup.Finder{Catalog: o.Catalog, Remote: true, Engage: o.Engage}},
		indexes: parcels.Indexes[tagged]{Age: catalog.DefaultInterval, Weigh: func(t tagged) int { return cap(t.data) }, Most: maxIndexes},
	}
	if o.Verifier != nil {
		s.sessions = access.NewSessions(o.Verifier)
	}
	o.Catalog.IndexAhead() // people search as they type
	s.assets = loadAssets()
	s.pages = parsePages(s.assets)
	s.routes = s.mux()
	return s
}

func (s *Site) mux() *http.ServeMux {
	m := http.NewServeMux()
	s.methods = map[string]string{}
	add := func(pattern, methods string, page func(*request) error) {
		s.patterns = append(s.patterns, pattern)
		s.methods[pattern] = methods
		m.Handle(pattern, s.handle(pattern, methods, page))
	}
	for pattern, page := range map[string]func(*request) error{
		"/{$}":                                 s.home,
		"/skills/":                             s.skillOrFile,
		"/raw/":                                s.raw,
		"/zip/":                                s.zip,
		"/health":                              s.health,
		"/health/":                             s.skipped,
		"/connect":                             s.connect,
		"/usage":                               s.usage,
		"/assets/":                             s.asset,
		"/api/v1/{$}":                          s.apiDocument,
		"/api/v1/openapi.json":                 s.apiDocument,
		"/api/v1/skills":                       s.apiList,
		"/api/v1/skills/":                      s.apiSkill,
		"/api/v1/files/":                       s.apiFile,
		"/api/v1/problems":                     s.apiProblems,
		"/api/v1/problems/":                    s.apiProblemsOf,
		"/api/v1/usage":                        s.apiUsage,
		"/.well-known/agent-skills/":           s.wellKnownSkill,
		"/.well-known/agent-skills/index.json": s.wellKnownIndex,
		"/metrics":                             s.serveMetrics,
		"/":                                    s.nowhere,
	} {
		add(pattern, "GET, HEAD", page)
	}
	if s.sessions != nil {
		add(signInPath, "GET, HEAD, POST", s.signIn)
		add(signOutPath, "POST", s.signOut)
		if s.o.SignIn != nil {
			add(beginPath, "GET", s.begin)
			add(callbackPath, "GET", s.callback)
		}
	}
	return m
}

// Routes returns the [http.ServeMux] patterns that the site serves, in no particular
// order.
func (s *Site) Routes() []string { return slices.Clone(s.patterns) }

// Methods returns the methods allowed at a path, in the form of the Allow header.
func (s *Site) Methods(path string) string {
	_, pattern := s.routes.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}})
	if methods, ok := s.methods[pattern]; ok {
		return methods
	}
	return "GET, HEAD" // of the redirect
}

// ServeHTTP answers one request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/v1" { // the router would redirect API clients with an HTML page
		again := *r
		at := *r.URL
		at.Path, at.RawPath = "/api/v1/", ""
		again.URL = &at
		r = &again
	}
	s.routes.ServeHTTP(w, r)
}

// request is one request that is being served.
type request struct {
	*http.Request
	w http.ResponseWriter
	// lacks describes the missing part of this request's view, or is nil if the view is complete.
	// If it is set, the answer must not be cached; see [Site.view].
	lacks *catalog.Incomplete
	// missing describes the external sources that cannot be reached, or is empty; see
	// [catalog.View.Unreachable].
	missing string
}

// isAPI reports whether the answer is for a program, judging by the path.
func (r *request) isAPI() bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/.well-known/") || r.URL.Path == "/metrics"
}

// handle wraps page with the work that every route shares. methods lists the allowed
// methods.
func (s *Site) handle(pattern, methods string, page func(*request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		httpguard.EventOf(hr).Route = pattern
		setHeaders(w.Header())
		ctx, cancel := context.WithTimeout(hr.Context(), requestTime)
		defer cancel()
		r := &request{Request: hr.WithContext(ctx), w: w}
		if !slices.Contains(strings.Split(methods, ", "), r.Method) {
			w.Header().Set("Allow", methods)
			s.fail(r, problem(http.StatusMethodNotAllowed, "The allowed methods here are "+methods+"."))
			return
		}
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil { // url.Values drops malformed parts, so a list would lose its filters
			s.fail(r, problem(http.StatusBadRequest, "The query of this address cannot be read. A % in it is written %25, and a ; is written %3B."))
			return
		}
		if err := page(r); err != nil {
			s.fail(r, err)
		}
	})
}

// setHeaders sets the headers of every answer. Scripts and styles come only from this
// server and are never inline.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, a form's Origin would be null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
}

const (
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	// rawPolicy is for raw bytes of a skill. Even if a browser treats them as a page,
	// they can do nothing.
	rawPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
)

// view returns the view of the catalogue that the request's context permits. Every page
// and every API answer reads through it.
func (s *Site) view(r *request) (catalog.View, error) {
	ctx, cancel := context.WithTimeout(r.Context(), firstTime)
	defer cancel()
	v, err := s.o.Catalog.View(ctx)
	if err != nil {
		return v, problem(http.StatusServiceUnavailable, "The skills are still being read. Try again in a moment.")
	}
	if r.lacks = v.Incomplete(); r.lacks != nil {
		r.w.Header().Set("Cache-Control", "no-store")
	}
	r.missing = v.Unreachable()
	return v, nil
}

// absent returns the error for a skill that is not in the view. If unsure is set, the
// skill may exist, and the status is 503 instead of 404.
func absent(unsure error, say string) error {
	if unsure != nil {
		return problem(http.StatusServiceUnavailable, sentence(unsure.Error()))
	}
	return problem(http.StatusNotFound, say)
}

// sentence turns one of knack's own messages into a sentence, with a capital letter and a full
// stop.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// failure is an error with an HTTP status and a sentence for the client.
type failure struct {
	status int
	say    string
}

func (f *failure) Error() string { return f.say }

func problem(status int, say string) error { return &failure{status, say} }

func (s *Site) nowhere(*request) error {
	return problem(http.StatusNotFound, "There is no such page.")
}

// titleOf returns the name of a status. For status 413 it is "Content Too Large" and not "Request
// Entity Too Large", since the reader of the page has sent nothing large.
func titleOf(status int) string {
	if status == http.StatusRequestEntityTooLarge {
		return "Content Too Large"
	}
	return http.StatusText(status)
}

// fail answers with an error, as a page or as a problem object (RFC 9457).
func (s *Site) fail(r *request, err error) {
	var f *failure
	switch {
	case errors.As(err, &f):
	case errors.Is(err, context.Canceled):
		return // the client has gone
	case errors.Is(err, skill.ErrNoRoom):
		f = &failure{http.StatusServiceUnavailable, "The server is busy: too much is being answered at once. Try again."}
	case errors.Is(err, context.DeadlineExceeded):
		f = &failure{http.StatusServiceUnavailable, "A disk does not answer. Try again later."}
	default:
		s.o.Log.Error("cannot answer over HTTP", "path", strings.ToValidUTF8(r.URL.Path, "?"), "error", err.Error())
		f = &failure{http.StatusInternalServerError, "Something went wrong. The server's log says what."}
	}
	if f.status >= http.StatusInternalServerError {
		r.w.Header().Set("Cache-Control", "no-store")
	}
	if f.status == http.StatusServiceUnavailable {
		r.w.Header().Set("Retry-After", "2")
	}
	if r.isAPI() || f.status == http.StatusUnauthorized && !takesPages(r.Request) {
		writeProblem(r, f)
		return
	}
	if f.status == http.StatusUnauthorized {
		s.askIn(r, f.status, false, r.URL.RequestURI())
		return
	}
	if err := s.render(r, f.status, "error", errorPage{s.frame(r, titleOf(f.status), ""), f.status, f.say}); err != nil {
		s.o.Log.Error("cannot render a page", "error", err.Error())
	}
}
