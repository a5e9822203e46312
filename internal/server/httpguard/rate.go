package httpguard

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/event"
)

// The rates of unknown clients are far above a person's, and low enough to leave room for others.
var (
	// refusalRate is the rate at which an address may send refused tokens.
	refusalRate = limit.Rate{PerSecond: 5, Burst: 100}
	// unknownRate is the rate of requests that need no token: sign-ins, and files of pages, of
	// which one person needs about ten.
	unknownRate = limit.Rate{PerSecond: 20, Burst: 400}
	// loggedRate is the rate up to which each request of an unknown client has an audit line.
	// Beyond it, only the second, the fourth, the eighth and so on has one. A flood then writes a
	// few lines in ten seconds, and takes weeks to fill the files.
	loggedRate = limit.Rate{PerSecond: 0.1, Burst: 100}
)

// limits are the limits in force.
type limits struct {
	rate                      limit.Rate // of each client
	clients, refused, unknown *limit.Clients
}

// Limit sets the rate of each client from now on. The counts continue if the rate is unchanged. The
// zero rate ends all limits.
func (g *Guard) Limit(rate limit.Rate) {
	if rate.PerSecond <= 0 {
		g.limits.Store(nil)
		return
	}
	if l := g.limits.Load(); l != nil && l.rate == rate {
		return
	}
	g.limits.Store(&limits{rate, limit.New(rate), limit.New(refusalRate), limit.New(unknownRate)})
}

// admit counts a request of a known sender. If the sender exceeds its rate, admit answers the
// request and returns false.
func (g *Guard) admit(w http.ResponseWriter, r *http.Request, who access.Principal) bool {
	x, l := recordOf(r), g.limits.Load()
	x.who, x.known = who, true
	if l == nil || unlimited(g.o.Access.Now(), x.Address) {
		return true
	}
	wait, denied := l.clients.Take(clientName(who.Subject, x.Address))
	if wait > 0 {
		x.Times, x.Refusal = denied, event.OverRate
		g.tooOften(w, r, wait)
	}
	return wait == 0
}

// admitUnknown is like [Guard.admit], for a request that has no token and needs none.
func (g *Guard) admitUnknown(w http.ResponseWriter, r *http.Request) bool {
	x, l := recordOf(r), g.limits.Load()
	if l == nil {
		return true
	}
	wait, _ := l.unknown.Take(networkOf(x.Address))
	if wait > 0 {
		x.Refusal = event.OverUnknown
		g.tooOften(w, r, wait)
	}
	return wait == 0
}

// admitAny is like [Guard.admit], for a request whose answer is the same for all senders.
func (g *Guard) admitAny(w http.ResponseWriter, r *http.Request) bool {
	if g.o.Access.Now().Verifier == nil {
		return g.admit(w, r, access.Principal{})
	}
	return g.admitUnknown(w, r)
}

// tooOften answers that the sender must wait for the given time.
func (g *Guard) tooOften(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
	w.Header().Set("Retry-After", seconds)
	w.Header().Del("WWW-Authenticate")
	g.refuse(w, r, http.StatusTooManyRequests, "Too many requests: wait "+seconds+" s before the next one.")
}
