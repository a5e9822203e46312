package httpd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/limit"
)

// Visit is what the SDK's door must know of an HTTP request: its sender, its place among
// the calls that are worked on, and its room. Both are held until the request is over and
// its handler has ended: a client of a session may leave before, and were the place free by
// then, clients that leave at once could have any number of calls worked on.
type Visit struct {
	Caller
	Room  *limit.Account // nil for what waits for news
	calls *places        // nil for what holds no place
	rooms *limit.Budget

	mu      sync.Mutex
	holders int  // the request and the handler
	entered bool // by a handler, which tells of the call
}

// Enter begins the handler. It reports false if the request is over and its place was
// given to another.
func (v *Visit) Enter() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.entered = true
	if v.calls == nil {
		return true
	}
	if v.holders == 0 {
		if v.calls.take(v.Share) != "" {
			return false
		}
		v.Room = v.rooms.Open(v.Share)
	}
	v.holders++
	return true
}

// Leave ends the request, or the handler.
func (v *Visit) Leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.calls == nil {
		return
	}
	if v.holders--; v.holders == 0 {
		v.calls.leave(v.Share)
		v.Room.Close()
	}
}

// wait gives the place up: what waits for news does not work.
func (v *Visit) wait() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls.leave(v.Share)
	v.Room.Close()
	v.calls, v.Room = nil, nil
}

func (v *Visit) begun() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.entered
}

// visitKey is where the SDK's note on a token has the visit.
const visitKey = "visit"

// VisitOf is nil for a request that did not come over HTTP.
func VisitOf(req mcp.Request) *Visit {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	v, _ := extra.TokenInfo.Extra[visitKey].(*Visit)
	return v
}

// carry puts a visit into a request for the SDK. Of its request a handler in a session gets
// the headers and the token's holder alone, and that from the SDK's own middleware, which
// wants a token: the one written here is seen by that middleware and by nothing else. A
// session belongs to the token that began it: two tokens of one subject have two sessions,
// since either may be revoked.
func carry(r *http.Request, v *Visit) (carrying *http.Request) {
	user := ""
	if v.Token != "" {
		sum := sha256.Sum256([]byte(v.Token))
		user = hex.EncodeToString(sum[:8])
	}
	verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: user, Extra: map[string]any{visitKey: v}}, nil
	}
	known := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	asked := (&http.Request{Header: http.Header{"Authorization": {"Bearer x"}}}).WithContext(r.Context())
	known(http.HandlerFunc(func(_ http.ResponseWriter, known *http.Request) {
		carrying = r.WithContext(known.Context())
	})).ServeHTTP(nil, asked)
	return carrying
}
