// Package limit bounds how often each of many clients may ask. It keeps one time
// for each client that asked lately, of a bounded number of them, and knows nothing
// of who they are or what they ask for.
package limit

import (
	"sync"
	"time"
)

// Rate is how often one client may ask: Burst times at once, and PerSecond times a
// second in the long run. The zero Rate is no limit.
type Rate struct {
	PerSecond float64
	Burst     int
}

// interval is what one request costs, as time.
func (r Rate) interval() time.Duration {
	return max(time.Duration(float64(time.Second)/r.PerSecond), 1)
}

// MaxClients is how many clients are told apart; some 1 MiB of memory. Those beyond
// share what one client has, together.
const MaxClients = 16384

// others stands for all clients beyond [MaxClients]. No client has a name with NUL.
const others = "\x00"

// Clients counts for each of its clients. The zero value is no limit.
type Clients struct {
	rate    Rate
	most    int
	now     func() time.Time
	mu      sync.Mutex
	of      map[string]*client
	cleaned time.Time // when those were last forgotten who have everything again
}

// client is one that asked. All of its burst is there again at full, so that who is
// past that time is like one who never asked.
type client struct {
	full   time.Time
	denied uint64 // since it was last let in
}

// New makes a count of clients who may each ask as often as rate says.
func New(rate Rate) *Clients {
	return &Clients{rate: rate, most: MaxClients, now: time.Now, of: map[string]*client{}}
}

// Take counts one request of a client. Where it may not ask, denied says how often
// it was told so since it last might, and wait when it will.
func (c *Clients) Take(name string) (wait time.Duration, denied uint64) {
	if c == nil || c.rate.PerSecond <= 0 {
		return 0, 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	cost := c.rate.interval()
	burst := cost * time.Duration(max(c.rate.Burst, 1))
	who := c.find(name, now, burst)
	full := who.full
	if full.Before(now) {
		full = now
	}
	if wait = full.Add(cost).Sub(now) - burst; wait > 0 {
		who.denied++
		return wait, who.denied
	}
	who.full, who.denied = full.Add(cost), 0
	return 0, 0
}

// find is for the holder of mu. Nobody is forgotten before they have everything
// again: whoever comes under many names would be let in under each.
func (c *Clients) find(name string, now time.Time, burst time.Duration) *client {
	if who := c.of[name]; who != nil {
		return who
	}
	if len(c.of) >= c.most && now.Sub(c.cleaned) >= burst/2 {
		c.cleaned = now
		for key, who := range c.of {
			if !who.full.After(now) {
				delete(c.of, key)
			}
		}
	}
	if len(c.of) >= c.most {
		if name = others; c.of[name] != nil {
			return c.of[name]
		}
	}
	who := &client{}
	c.of[name] = who
	return who
}
