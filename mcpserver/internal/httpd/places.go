package httpd

import (
	"context"
	"fmt"
	"sync"

	"github.com/knack-dev/knack/access"
)

// overShare reports whether a client that has own of all has had its share of most: no
// client gets the last quarter that has a quarter already, so that another that comes for
// its first finds room. The client "" has no share.
func overShare(client string, own, all, most int) bool {
	share := max(most/4, 1)
	return client != "" && own >= share && all >= most-share
}

// sharer is the client that counts for the shares, as for [Handler.Limit]; "" for a client
// that is not limited.
func (h *Handler) sharer(who access.Principal, address string) string {
	if h.core.Access.Now().Verifier == nil && isLoopback(address) {
		return ""
	}
	return nameOf(who.Subject, networkOf(address))
}

// places are those of one kind, in shares.
type places struct {
	what string
	most int
	mu   sync.Mutex
	all  int
	of   map[string]int // by client
}

func newPlaces(what string, most int) *places {
	return &places{what: what, most: most, of: map[string]int{}}
}

// take takes a place, or says why it cannot.
func (t *places) take(client string) (no string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.of[client]
	switch {
	case overShare(client, own, t.all, t.most):
		return fmt.Sprintf("you have %d of the %d %s that there are, and the rest is for others; end one, or try again later", own, t.all, t.what)
	case t.all >= t.most:
		return "too many " + t.what + "; end one, or try again later"
	}
	t.all++
	t.of[client]++
	return ""
}

func (t *places) leave(client string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all--
	if t.of[client]--; t.of[client] == 0 {
		delete(t.of, client)
	}
}

func (t *places) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all
}

// openStream is one that waits for news.
type openStream struct {
	token string
	end   context.CancelFunc
}
