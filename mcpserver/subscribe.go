package mcpserver

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skill"
)

// Resource subscriptions. A change of a SKILL.md is known from the catalogue, as
// soon as it is there. No watcher looks at a skill's other files, so that each
// file with a subscriber is looked at every subscriptionPeriod: its stamp, and if
// that differs, its bytes. What is not seen: a file that was changed
// and changed back in between, and a write that leaves size and times as they
// were. Being deleted, and coming back, is a change.
const (
	subscriptionPeriod = 2 * time.Second
	// maxSubscriptions bounds the distinct files that all sessions watch together;
	// looking at that many takes a fraction of the period.
	maxSubscriptions = 4096
	// maxOwn bounds those of one session, so that none takes all.
	maxOwn = 1024
)

// subscriptions are the files that clients wait for.
type subscriptions struct {
	server *Server
	wake   chan struct{} // capacity 1: look now

	// The constants above; tests wait for less.
	period   time.Duration
	max, own int

	mu      sync.Mutex
	watched map[string]*watched                        // by the URI's text as the client wrote it
	by      map[*mcp.ServerSession]map[string]struct{} // legacy sessions end without unsubscribing
	running bool
}

// watched is one file and the state that its subscribers know.
type watched struct {
	uri      skill.URI
	sessions int
	seen     seen
}

type seen struct {
	there  bool
	stamp  skill.Stamp
	digest skill.Digest
	at     time.Time
}

func newSubscriptions(s *Server) *subscriptions {
	return &subscriptions{
		server: s, wake: make(chan struct{}, 1),
		period: subscriptionPeriod, max: maxSubscriptions, own: maxOwn,
		watched: map[string]*watched{}, by: map[*mcp.ServerSession]map[string]struct{}{},
	}
}

// poke makes the watcher look now.
func (w *subscriptions) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *subscriptions) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	text := req.Params.URI
	uri, err := skill.ParseURI(text)
	if err != nil {
		return notFound(text, malformedURI(text, "/SKILL.md"))
	}
	v, err := w.server.view(ctx)
	if err != nil {
		return err
	}
	v, e, _, notSure := w.server.host.At(ctx, v, uri)
	if e == nil && notSure != nil {
		return unsure(notSure)
	}
	now := look(v, uri, seen{})
	if !now.there {
		return notFound(text, "there is no such file")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	mine := w.by[req.Session]
	if _, again := mine[text]; again {
		return nil
	}
	if len(mine) >= w.own || w.watched[text] == nil && len(w.watched) >= w.max {
		return &jsonrpc.Error{Code: wire.CodeBusy, Message: "too many subscriptions; end one first"}
	}
	if w.watched[text] == nil {
		w.watched[text] = &watched{uri: uri, seen: now}
	}
	w.watched[text].sessions++
	if mine == nil {
		mine = map[string]struct{}{}
		w.by[req.Session] = mine
	}
	mine[text] = struct{}{}
	if !w.running {
		w.running = true
		go w.run()
	}
	return nil
}

// keepKnown takes the URIs that no file has out of what a listen asks for: one of
// them must not keep it from the others. The acknowledgement says what is left.
func (w *subscriptions) keepKnown(ctx context.Context, p *mcp.SubscriptionsListenParams) {
	if p == nil || p.Notifications == nil || len(p.Notifications.ResourceSubscriptions) == 0 {
		return
	}
	v, err := w.server.view(ctx)
	if err != nil {
		return // the listen fails on it too
	}
	p.Notifications.ResourceSubscriptions = slices.DeleteFunc(p.Notifications.ResourceSubscriptions, func(text string) bool {
		uri, err := skill.ParseURI(text)
		return err != nil || !present(v, uri)
	})
}

// present reports whether a URI leads to a file that can be served.
func present(v catalog.View, uri skill.URI) bool {
	e, path := v.At(uri)
	if e == nil || skill.Hidden(path) {
		return false
	}
	info, err := fs.Stat(e.FS, e.OnDisk(path))
	return err == nil && info.Mode().IsRegular() && info.Size() <= skill.MaxFile
}

func (w *subscriptions) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(req.Session, req.Params.URI)
	return nil
}

// end forgets a session.
func (w *subscriptions) end(ss *mcp.ServerSession) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for text := range w.by[ss] {
		w.drop(ss, text)
	}
	delete(w.by, ss)
}

// has reports whether a session is subscribed to a URI.
func (w *subscriptions) has(ss *mcp.ServerSession, text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.by[ss][text]
	return ok
}

// forgetHidden ends the subscriptions to what their sessions do not see any more: what
// becomes of it is no news for them.
func (w *subscriptions) forgetHidden(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ss, texts := range w.by {
		who, known := w.server.principal(ctx, ss)
		v, ready := w.server.catalog.Now(who.Sight)
		for text := range texts {
			if !known || ready && !addresses(v, text) {
				w.drop(ss, text)
			}
		}
	}
}

// drop ends one subscription. The caller holds mu.
func (w *subscriptions) drop(ss *mcp.ServerSession, text string) {
	if _, ok := w.by[ss][text]; !ok {
		return
	}
	delete(w.by[ss], text)
	if f := w.watched[text]; f != nil {
		if f.sessions--; f.sessions == 0 {
			delete(w.watched, text)
		}
	}
}

// run looks at the files until there is no subscription.
func (w *subscriptions) run() {
	tick := time.NewTicker(w.period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.wake:
		}
		w.mu.Lock()
		if len(w.watched) == 0 {
			w.running = false
			w.mu.Unlock()
			return
		}
		todo := make(map[string]watched, len(w.watched))
		for text, f := range w.watched {
			todo[text] = *f
		}
		w.mu.Unlock()
		w.lookAt(todo)
	}
}

func (w *subscriptions) lookAt(files map[string]watched) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	v, err := w.server.view(ctx)
	if err != nil {
		return
	}
	for text, f := range files {
		now := look(v, f.uri, f.seen)
		w.mu.Lock()
		if g := w.watched[text]; g != nil {
			g.seen = now
		}
		w.mu.Unlock()
		if now.there != f.seen.there || now.digest != f.seen.digest {
			_ = w.server.mcp.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: text})
		}
	}
}

// look says what a URI leads to now. A file whose stamp is as before is not read.
// One that cannot be read at the moment is as it was before.
func look(v catalog.View, uri skill.URI, before seen) seen {
	e, path := v.At(uri)
	if e == nil || skill.Hidden(path) || path == "." {
		return seen{}
	}
	at := time.Now()
	info, err := fs.Stat(e.FS, e.OnDisk(path))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, skill.ErrOutside):
		return seen{}
	case err != nil:
		return before
	case !info.Mode().IsRegular() || info.Size() > skill.MaxFile:
		return seen{}
	}
	if before.there && skill.StampOf(info) == before.stamp && !before.stamp.Racy(before.at) {
		return before
	}
	f, err := e.Hash(path, make([]byte, skill.HashBuffer))
	if err != nil {
		return before
	}
	return seen{there: true, stamp: f.Stamp, digest: f.Digest, at: at}
}
