package mcpserver

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/limit"
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
	// maxSubscriptions bounds the subscriptions of all sessions; looking at that many files
	// takes a fraction of the period. A client that has a quarter gets none of the last
	// quarter.
	maxSubscriptions = 4096
	// maxOwn bounds those of one session.
	maxOwn = 1024
)

// subscriptions are the files that clients wait for.
type subscriptions struct {
	server *Server
	wake   chan struct{} // capacity 1: look now

	// The constants above; tests wait for less.
	period time.Duration
	own    int
	all    *limit.Budget // of subscriptions

	mu      sync.Mutex
	watched map[string]*watched // by canonical URI, however clients write it
	by      map[*mcp.ServerSession]*follower
	running bool
}

// watched is one file and the state that its subscribers know.
type watched struct {
	uri   skill.URI
	texts map[string]int // the spellings that sessions have for it, and how many of them
	seen  seen
}

// follower is a session with subscriptions. Legacy sessions end without unsubscribing.
type follower struct {
	room  *limit.Account
	texts map[string]string // its spelling of each canonical URI
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
		period: subscriptionPeriod, all: limit.NewBudget(maxSubscriptions, 0), own: maxOwn,
		watched: map[string]*watched{}, by: map[*mcp.ServerSession]*follower{},
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
	key := canonical(v, uri)
	if present(v, uri) {
		if known, err := w.join(req, key); known {
			return err
		}
	}
	now := look(v, uri, seen{})
	if !now.there {
		return notFound(text, "there is no such file")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched[key] == nil {
		w.watched[key] = &watched{uri: uri, texts: map[string]int{}, seen: now}
	}
	return w.add(req, key)
}

// join subscribes a session to a file that is watched already, which need not be looked at.
// It reports false if the file is not.
func (w *subscriptions) join(req *mcp.SubscribeRequest, key string) (known bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.watched[key]; f == nil || !f.seen.there {
		return false, nil
	}
	return true, w.add(req, key)
}

// add notes a subscription to a watched file. A session has one for each file: to ask again
// in another spelling is to ask again. The caller holds mu.
func (w *subscriptions) add(req *mcp.SubscribeRequest, key string) error {
	mine := w.by[req.Session]
	if mine == nil {
		mine = &follower{w.all.Open(w.server.subscribers.share(req.Session)), map[string]string{}}
		w.by[req.Session] = mine
	}
	f := w.watched[key]
	if text, again := mine.texts[key]; again {
		req.Params.URI = text // the SDK tells by spelling
		return nil
	}
	if len(mine.texts) >= w.own || !mine.room.Try(1) {
		w.clear(key)
		return &jsonrpc.Error{Code: wire.CodeBusy, Message: "too many subscriptions; end one first"}
	}
	mine.texts[key] = req.Params.URI
	f.texts[req.Params.URI]++
	if !w.running {
		w.running = true
		go w.run()
	}
	return nil
}

// canonical is one text for all URIs of a file.
func canonical(v catalog.View, uri skill.URI) string {
	if e, path := v.At(uri); e != nil {
		if one, err := e.FileURI(e.ServedPath(path)); err == nil {
			return one.String()
		}
	}
	return uri.String()
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
	uri, err := skill.ParseURI(req.Params.URI)
	if err != nil {
		return nil // nothing is subscribed to
	}
	key := uri.String()
	if v, ready := w.server.catalog.Now(nil); ready {
		key = canonical(v, uri)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if mine := w.by[req.Session]; mine != nil && mine.texts[key] != "" {
		req.Params.URI = mine.texts[key]
		w.drop(req.Session, key)
	}
	return nil
}

// end forgets a session.
func (w *subscriptions) end(ss *mcp.ServerSession) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if mine := w.by[ss]; mine != nil {
		for key := range mine.texts {
			w.drop(ss, key)
		}
		mine.room.Close()
		delete(w.by, ss)
	}
}

// has reports whether a session is subscribed to a URI.
func (w *subscriptions) has(ss *mcp.ServerSession, text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	mine := w.by[ss]
	return mine != nil && slices.Contains(slices.Collect(maps.Values(mine.texts)), text)
}

// forgetHidden ends the subscriptions to what their sessions do not see any more: what
// becomes of it is no news for them.
func (w *subscriptions) forgetHidden(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ss, mine := range w.by {
		who, known := w.server.principal(ctx, ss)
		v, ready := w.server.catalog.Now(who.Filter)
		for key := range mine.texts {
			if !known || ready && !addresses(v, key) {
				w.drop(ss, key)
			}
		}
	}
}

// drop ends one subscription. The caller holds mu.
func (w *subscriptions) drop(ss *mcp.ServerSession, key string) {
	mine, f := w.by[ss], w.watched[key]
	text := mine.texts[key]
	delete(mine.texts, key)
	mine.room.Settle(context.Background(), int64(len(mine.texts))) // less, which waits for nothing
	if f.texts[text]--; f.texts[text] == 0 {
		delete(f.texts, text)
	}
	w.clear(key)
}

// clear forgets a file without subscribers. The caller holds mu.
func (w *subscriptions) clear(key string) {
	if len(w.watched[key].texts) == 0 {
		delete(w.watched, key)
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
		for key, f := range w.watched {
			todo[key] = *f
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
	for key, f := range files {
		now := look(v, f.uri, f.seen)
		var texts []string
		w.mu.Lock()
		if g := w.watched[key]; g != nil {
			g.seen = now
			texts = slices.Collect(maps.Keys(g.texts))
		}
		w.mu.Unlock()
		if now.there == f.seen.there && now.digest == f.seen.digest {
			continue
		}
		for _, text := range texts {
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
