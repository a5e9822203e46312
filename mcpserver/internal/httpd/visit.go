package httpd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/httpguard"
)

// Visit is an HTTP request as the SDK's middleware sees it. It holds the caller, and a place and
// memory until both the request and its handler have ended. A client of a session may leave before
// its handler ends; if that freed the place, clients that leave at once could have any number of
// calls running.
type Visit struct {
	httpguard.Caller
	guard *httpguard.Guard // nil for a request that takes no place

	mu      sync.Mutex
	work    *httpguard.Work // nil while nothing is held
	users   int             // of work: the request and the handler
	handled bool            // a handler has begun, and logs the call
}

// begin takes a place for the visit, or returns why it cannot.
func (v *Visit) begin() (refusal string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.guard != nil && v.work == nil {
		if v.work, refusal = v.guard.Begin(v.Share); refusal != "" {
			return refusal
		}
	}
	v.users++
	return ""
}

// Enter begins the handler. It reports false if the request is over and another has taken its
// place.
func (v *Visit) Enter() bool {
	refusal := v.begin()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.handled = true
	return refusal == ""
}

// Memory returns the memory account of the visit, or nil if the visit waits for notifications.
func (v *Visit) Memory() *limit.Account {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.work == nil {
		return nil
	}
	return v.work.Memory
}

// Leave ends the request or the handler; the last of the two releases the place.
func (v *Visit) Leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.users--; v.users == 0 {
		v.release()
	}
}

// wait releases everything: a request that waits for notifications does no work.
func (v *Visit) wait() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.release()
	v.guard = nil
}

// release gives the place back. The caller holds mu.
func (v *Visit) release() {
	if v.work != nil {
		v.work.Close()
		v.work = nil
	}
}

func (v *Visit) isHandled() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.handled
}

// visitKey is the key of the visit in the SDK's TokenInfo.
const visitKey = "visit"

// VisitOf returns the visit of a request, or nil if the request did not arrive over HTTP.
func VisitOf(req mcp.Request) *Visit {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	v, _ := extra.TokenInfo.Extra[visitKey].(*Visit)
	return v
}

// carry puts a visit into a request for the SDK. A handler in a session gets the headers of its
// HTTP request and the TokenInfo, which only the SDK's own middleware can set. That needs an
// Authorization header; only the SDK sees the one written here. A session belongs to the token that
// began it: two tokens of one subject have two sessions, since either may be revoked.
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
