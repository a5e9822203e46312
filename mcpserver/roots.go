package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A client that offers roots names the folders of its user's work. Graphical clients start servers
// in "/", so roots are the only way to find their projects. The feature is deprecated since
// 2026-07-28 (SEP-2577) and keeps working for the clients that have it.

// clientRoots requests and uses the roots of one session. A nil clientRoots ignores roots.
type clientRoots struct {
	use func(context.Context, []string)
	log *slog.Logger

	grace time.Duration // rootsGrace; longer in tests

	session  atomic.Pointer[session] // the first session that offers roots
	named    chan struct{}           // closed by settle when the roots are in use, or will not arrive
	settle   func()
	answered chan struct{} // closed by answer when the client has named its roots
	answer   func()
	asking   sync.Mutex // held while the client is asked
	chosen   bool       // the client has named roots; guarded by asking
}

func newClientRoots(o Options) *clientRoots {
	if o.Roots == nil {
		return nil
	}
	r := &clientRoots{use: o.Roots, log: o.Log, grace: rootsGrace, named: make(chan struct{}), answered: make(chan struct{})}
	r.answer, r.settle = sync.OnceFunc(func() { close(r.answered) }), sync.OnceFunc(func() { close(r.named) })
	return r
}

// offered requests the roots of a session, in the background. The session was initialized, or its
// roots have changed.
func (r *clientRoots) offered(in *session) {
	if r.offeredBy(in) {
		go r.take(in)
	}
}

// offeredBy reports whether the roots of this session are used. Sessions over HTTP have none.
func (r *clientRoots) offeredBy(in *session) bool {
	if r == nil || !in.isPipe() || !in.offersRoots() {
		return false
	}
	return r.session.CompareAndSwap(nil, in) || r.session.Load() == in
}

// take requests the client's roots and uses them. It makes its own context, because the handler's
// context ends with the notification. Only one call of take runs at a time, so that the later of
// two answers wins.
func (r *clientRoots) take(in *session) {
	r.asking.Lock()
	defer r.asking.Unlock()
	defer r.settle()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var res struct{ Roots []struct{ URI string } }
	answer, err := in.ask(ctx, "roots/list")
	if err == nil {
		err = json.Unmarshal(answer, &res)
	}
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
		r.use(ctx, folders) // without folders, the working directory is used again
	}
}

// folderOf returns the local folder of a file URI, or "".
func folderOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
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

// await makes each call wait a moment for the roots of a session that offers them. A call that
// names a skill waits too, since the skill may be one of the project's. Once the client has named
// its roots, calls also wait for the skills of these roots, for at most completeGrace. After that,
// no call waits again. Since 2026-07-28 a server cannot ask for roots.
func (r *clientRoots) await(ctx context.Context, x *exchange) {
	switch {
	case r == nil || x.modern || x.method == "ping" || x.method == "initialize", !r.offeredBy(x.session):
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
