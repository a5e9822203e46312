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

// Visit is what the SDK's middleware must know of an HTTP request: its sender and what it
// holds, until both the request and its handler have ended. A client of a
// session may leave before its handler ends; were its place free by then, clients that leave
// at once could have any number of calls worked on.
type Visit struct {
	httpguard.Caller
	guard *httpguard.Guard // nil for a request that takes no place

	mu      sync.Mutex
	work    *httpguard.Work // nil while nothing is held
	users   int             // of work: the request and the handler
	handled bool            // a handler has begun, which logs the call
}

// begin takes what the visit holds, or says why that cannot be had.
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

// Enter begins the handler. It reports false if the request is over and its place was
// given to another.
func (v *Visit) Enter() bool {
	refusal := v.begin()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.handled = true
	return refusal == ""
}

// Memory is what the visit holds of the memory, nil if it waits for notifications.
func (v *Visit) Memory() *limit.Account {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.work == nil {
		return nil
	}
	return v.work.Memory
}

// Leave ends the request, or the handler.
func (v *Visit) Leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.users--; v.users == 0 {
		v.release()
	}
}

// wait gives everything back: a request that waits for notifications does not work.
func (v *Visit) wait() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.release()
	v.guard = nil
}

// release needs mu.
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

// VisitOf returns the visit of a request, nil if that did not come over HTTP.
func VisitOf(req mcp.Request) *Visit {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	v, _ := extra.TokenInfo.Extra[visitKey].(*Visit)
	return v
}

// carry puts a visit into a request for the SDK. A handler in a session gets the headers of
// its HTTP request and the TokenInfo, which only the SDK's own middleware can set. That needs
// an Authorization header; the one written here is seen by nothing else. A session belongs to
// the token that began it: two tokens of one subject have two sessions, since either may be
// revoked.
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
