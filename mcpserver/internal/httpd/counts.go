package httpd

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
)

// Numbers are what an HTTP server has counted since it was made. They name no skill and no
// client.
type Numbers struct {
	// Calls are those that came to a method, and Refusals the answers 401, 403 and
	// 429. Both are in order of their fields.
	Calls    []CallCount
	Refusals []RefusalCount
	Sessions int // that are open, of protocol versions before 2026-07-28
	Streams  int // that wait for news
}

// CallCount is how often a method was called with one outcome: "ok", or "error" for
// an error of the protocol and a result that says it is one.
type CallCount struct {
	Method, Outcome string
	Count           uint64
}

// RefusalCount is how often something was refused with a status for a reason:
//
//	401  no-token, token
//	403  host, origin, other
//	429  rate, unknown, refused, busy
type RefusalCount struct {
	Status int
	Reason string
	Count  uint64
}

// The reasons of refusals.
const (
	whyNoToken = "no-token" // none was sent
	whyToken   = "token"    // it is not known
	whyHost    = "host"     // that is not served
	whyOrigin  = "origin"   // that is not served
	whyRate    = "rate"     // a client asks too often
	whyUnknown = "unknown"  // an address asks too often without a token
	whyRefused = "refused"  // an address was refused too often
	whyBusy    = "busy"     // too much at once
	whyOther   = "other"
)

// Counts are kept for [Handler.Numbers]. The keys are methods that the server knows and
// reasons, with a count of 0, so that no client can make them many.
type Counts struct {
	mu       sync.Mutex
	calls    map[CallCount]uint64
	refusals map[RefusalCount]uint64
}

func count[K comparable](c *Counts, of *map[K]uint64, key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *of == nil {
		*of = map[K]uint64{}
	}
	(*of)[key]++
}

// Call counts a call of a method.
func (c *Counts) Call(method string, failed bool) {
	outcome := "ok"
	if failed {
		outcome = "error"
	}
	count(c, &c.calls, CallCount{Method: method, Outcome: outcome})
}

// refused counts an answer that is a refusal.
func (c *Counts) refused(r *http.Request, status int, reason string) {
	switch status {
	case http.StatusUnauthorized:
		reason = whyToken
		if len(r.Header["Authorization"]) == 0 && len(r.Header["Cookie"]) == 0 {
			reason = whyNoToken
		}
	case http.StatusForbidden:
		reason = cmp.Or(reason, whyOther)
	case http.StatusTooManyRequests:
		reason = cmp.Or(reason, whyBusy)
	default:
		return
	}
	count(c, &c.refusals, RefusalCount{Status: status, Reason: reason})
}

// why notes the reason of the refusal that is about to be written.
func why(w http.ResponseWriter, reason string) {
	if x, ok := w.(*exchange); ok {
		x.reason = reason
	}
}

// Numbers are those of now.
func (h *Handler) Numbers() Numbers {
	n := Numbers{Streams: h.streams.count(), Sessions: h.sessions.count()}
	c := h.core.Counts
	c.mu.Lock()
	for k, times := range c.calls {
		k.Count = times
		n.Calls = append(n.Calls, k)
	}
	for k, times := range c.refusals {
		k.Count = times
		n.Refusals = append(n.Refusals, k)
	}
	c.mu.Unlock()
	slices.SortFunc(n.Calls, func(a, b CallCount) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Outcome, b.Outcome))
	})
	slices.SortFunc(n.Refusals, func(a, b RefusalCount) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Reason, b.Reason))
	})
	return n
}
