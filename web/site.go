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
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// Options of a site.
type Options struct {
	Catalog *catalog.Catalog
	// Tools are those that the server gives to models: a skill's page shows what
	// each answers.
	Tools   []*tool.Tool
	Version string
	// Command is the absolute path of the executable, for the snippets of clients
	// on this machine; empty where clients are elsewhere.
	Command string
	// Verifier, if set, knows the tokens with which people sign in. The pages say that
	// one is needed; who asks for them is the server's to check.
	Verifier access.Verifier
	// Engage is what skill://engage/SKILL.md answers where no skill has it; see
	// [tool.Host].
	Engage func() string
	// Usage counts what agents do; nil where nobody counts.
	Usage *Usage
	// Measures, if set, are the metrics of what is around the site, shown at /metrics
	// after its own. They are the same for everybody, and must tell of no skill.
	Measures func() []Measure
	Log      *slog.Logger
}

// Bounds of one request.
const (
	// requestTime is how long a request may wait for disks.
	requestTime = 10 * time.Second
	// firstTime is how long one waits for the first snapshot.
	firstTime = 2 * time.Second
	// maxQuery bounds the text of a search, in bytes; what is longer is cut.
	maxQuery = 1024
)

// Site serves the pages, the API and the metrics.
type Site struct {
	o         Options
	host      *tool.Host
	manifests *catalog.Manifests
	pages     map[string]*template.Template
	assets    map[string]asset
	routes    *http.ServeMux
	patterns  []string
	methods   map[string]string // by pattern
	markdown  *renderer
	fits      latest[[]tool.Fit]
	reports   latest[*healthPage]
	indexes   latest[tagged] // of discovery
	metrics   *metrics
	checks    *checks
	sessions  *access.Sessions // nil where nobody needs to sign in
	arriving  chan struct{}    // places of forms on their way
}

// New makes a site.
func New(o Options) *Site {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Usage == nil {
		o.Usage = NewUsage()
	}
	s := &Site{
		o: o, manifests: catalog.NewManifests(o.Catalog), markdown: newRenderer(), metrics: newMetrics(), checks: newChecks(o.Catalog),
		host:    &tool.Host{Catalog: o.Catalog, Remote: true, Engage: o.Engage},
		indexes: latest[tagged]{weigh: func(t tagged) int { return cap(t.data) }, most: maxIndexes},
	}
	if o.Verifier != nil {
		s.sessions, s.arriving = access.NewSessions(o.Verifier), make(chan struct{}, maxForms)
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
	}
	return m
}

// Routes are the patterns of [http.ServeMux] for which there are answers, in no
// order.
func (s *Site) Routes() []string { return slices.Clone(s.patterns) }

// Methods are those that are answered at a path, as the header Allow lists them.
func (s *Site) Methods(path string) string {
	_, pattern := s.routes.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}})
	if methods, ok := s.methods[pattern]; ok {
		return methods
	}
	return "GET, HEAD" // of the page that says where to go
}

// ServeHTTP answers one request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/v1" { // the router would send a program a page that says where to go
		again := *r
		at := *r.URL
		at.Path, at.RawPath = "/api/v1/", ""
		again.URL = &at
		r = &again
	}
	s.routes.ServeHTTP(w, r)
}

// request is one request under way.
type request struct {
	*http.Request
	w http.ResponseWriter
	// lacks is what the view lacks that the request reads, nil if that is complete. Then no
	// answer may be kept; see [Site.view].
	lacks *catalog.Incomplete
}

// isAPI: the answer is read by a program.
func (r *request) isAPI() bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/.well-known/") || r.URL.Path == "/metrics"
}

// handle wraps what every route has in common. methods are those that it answers.
func (s *Site) handle(pattern, methods string, page func(*request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		begun := time.Now()
		counted := &counter{ResponseWriter: w}
		defer func() { s.metrics.served(pattern, counted.status(), time.Since(begun)) }()
		setHeaders(w.Header())
		ctx, cancel := context.WithTimeout(hr.Context(), requestTime)
		defer cancel()
		r := &request{Request: hr.WithContext(ctx), w: counted}
		if !slices.Contains(strings.Split(methods, ", "), r.Method) {
			w.Header().Set("Allow", methods)
			s.fail(r, problem(http.StatusMethodNotAllowed, "Here is no answer but to "+methods+"."))
			return
		}
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil { // url.Values would be without what is wrong, and a list without its filters
			s.fail(r, problem(http.StatusBadRequest, "The query of this address cannot be read. A % in it is written %25, and a ; is written %3B."))
			return
		}
		if err := page(r); err != nil {
			s.fail(r, err)
		}
	})
}

// setHeaders are those of every answer. Scripts and styles come from this server
// alone and never from within a page.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with none at all a form's Origin would be null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
}

const (
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	// rawPolicy is for bytes of a skill: even where a browser takes them for a page
	// they can do nothing.
	rawPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
)

// view is what a request may see: its context has the sight of the one who asks.
// Every page and every answer reads through it.
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
	return v, nil
}

// absent is the answer for a skill that a view lacks: there is none, or, as unsure says,
// there may be one.
func absent(unsure error, say string) error {
	if unsure != nil {
		return problem(http.StatusServiceUnavailable, sentence(unsure.Error()))
	}
	return problem(http.StatusNotFound, say)
}

// sentence makes one of a text of knack's own.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// failure is an answer that is none: a status and a sentence for whoever asked.
type failure struct {
	status int
	say    string
}

func (f *failure) Error() string { return f.say }

func problem(status int, say string) error { return &failure{status, say} }

func (s *Site) nowhere(*request) error {
	return problem(http.StatusNotFound, "There is no such page.")
}

// titleOf is the name of a status for readers, of whom none sent anything large.
func titleOf(status int) string {
	if status == http.StatusRequestEntityTooLarge {
		return "Content Too Large"
	}
	return http.StatusText(status)
}

// lineRoom is about what a line of text takes in a page, in all copies that are made of it.
const lineRoom = 256

// lines are those of a text that a page shows with their numbers. They take room.
func lines(r *request, text string) ([]string, error) {
	if err := catalog.Hold(r.Context(), lineRoom*int64(strings.Count(text, "\n"))); err != nil {
		return nil, err
	}
	return linesOf(text), nil
}

// fail answers with an error: as a page, or as a problem object (RFC 9457).
func (s *Site) fail(r *request, err error) {
	var f *failure
	switch {
	case errors.As(err, &f):
	case errors.Is(err, context.Canceled):
		return // nobody listens
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
