package mcpserver

//lint:file-ignore SA1019 roots are deprecated by the specification and spoken by the clients in use

import (
	"context"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client that offers roots names the folders that its user works in. Graphical
// clients start servers in "/", so this is how their projects are found. The
// feature is deprecated since 2026-07-28 (SEP-2577) and goes on to work for the
// clients that have it; there is no other way to learn the project from them.

// clientRoots takes in the roots of one session; nil takes none.
type clientRoots struct {
	use func(context.Context, []string)
	log *slog.Logger

	grace time.Duration // rootsGrace; tests have slow machines

	session  atomic.Pointer[mcp.ServerSession] // the first that offers roots
	named    chan struct{}                     // closed by settle when the roots are taken in, or will not come
	settle   func()
	answered chan struct{} // closed by answer when the client has named them
	answer   func()
	asking   sync.Mutex // held while the client is asked
	chosen   bool       // the client has named roots; held by asking
}

func newClientRoots(o Options) *clientRoots {
	if o.Roots == nil {
		return nil
	}
	r := &clientRoots{use: o.Roots, log: o.Log, grace: rootsGrace, named: make(chan struct{}), answered: make(chan struct{})}
	r.answer, r.settle = sync.OnceFunc(func() { close(r.answered) }), sync.OnceFunc(func() { close(r.named) })
	return r
}

// offered takes in the roots of a session that was initialized, or whose roots have changed.
func (r *clientRoots) offered(ss *mcp.ServerSession) {
	if r.offeredBy(ss) {
		go r.take(ss)
	}
}

// offeredBy reports whether this is the session whose roots count. Sessions over
// HTTP have an id.
func (r *clientRoots) offeredBy(ss *mcp.ServerSession) bool {
	if r == nil || ss == nil || ss.ID() != "" || !offers(ss.InitializeParams()) {
		return false
	}
	return r.session.CompareAndSwap(nil, ss) || r.session.Load() == ss
}

// offeredWith reports whether an initialize offers roots that count.
func (r *clientRoots) offeredWith(req mcp.Request) bool {
	p, ok := req.GetParams().(*mcp.InitializeParams)
	ss, _ := req.GetSession().(*mcp.ServerSession)
	return ok && offers(p) && r.offeredBy(ss)
}

func offers(p *mcp.InitializeParams) bool {
	return p != nil && p.Capabilities != nil && p.Capabilities.RootsV2 != nil
}

// take asks for the roots outside of the handler's context, which ends with
// the notification. One after the other: of two answers the later must win.
func (r *clientRoots) take(ss *mcp.ServerSession) {
	r.asking.Lock()
	defer r.asking.Unlock()
	defer r.settle()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	res, err := ss.ListRoots(ctx, nil)
	if err != nil {
		r.log.Warn("the client did not name its roots", "error", err.Error())
		return
	}
	r.answer()
	var folders []string
	for _, root := range res.Roots {
		if f := folderOf(root.URI); f != "" {
			folders = append(folders, f)
		}
	}
	if len(folders) > 0 || r.chosen {
		r.chosen = true
		r.use(ctx, folders) // none: the working directory again
	}
}

// folderOf is the local folder that a file URI names, or "".
func folderOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	p := u.Path
	if len(p) > 2 && p[0] == '/' && p[2] == ':' { // file:///C:/work
		p = p[1:]
	}
	p = filepath.FromSlash(p)
	if !filepath.IsAbs(p) || strings.ContainsRune(p, 0) {
		return ""
	}
	return filepath.Clean(p)
}

// await has every call wait a moment for the roots of a session that offers them:
// also one that names a skill, since it may be one of the project's. Once the client
// has named them, the wait is for their skills, as long as for the first ones. After
// that, no call waits again. Since 2026-07-28 a server cannot ask.
func (r *clientRoots) await(ctx context.Context, req *request) {
	switch {
	case r == nil || req.modern || strings.HasPrefix(req.method, "notifications/"),
		req.method == "ping" || req.method == "initialize" || req.method == "server/discover", !r.offeredBy(req.session):
		return
	}
	select {
	case <-r.named:
		return
	case <-ctx.Done():
		return
	case <-time.After(r.grace):
	}
	select {
	case <-r.answered:
		select {
		case <-r.named:
		case <-ctx.Done():
			return
		case <-time.After(completeGrace):
		}
	default:
	}
	r.settle()
}
