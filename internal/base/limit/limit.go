// Package limit bounds the request rate of each client, the memory that all requests use
// together, and the goroutines of a loop.
package limit

import (
	"sync"
	"time"
)

// Rate is a client's permitted rate: a burst of Burst requests, and PerSecond requests per second
// in the long run. The zero Rate sets no limit.
type Rate struct {
	PerSecond float64
	Burst     int
}

// interval returns the time that one request costs.
func (r Rate) interval() time.Duration {
	return max(time.Duration(float64(time.Second)/r.PerSecond), 1)
}

// maxClients bounds the clients that are counted separately, which takes about 1 MiB of memory. All
// other clients together count as one.
const maxClients = 16384

// others is the name of the clients beyond [maxClients]. No client's name has a NUL.
const others = "\x00"

// Clients counts the requests of each client. The zero value sets no limit.
type Clients struct {
	rate    Rate
	most    int
	now     func() time.Time
	mu      sync.Mutex
	clients map[string]*client
	cleaned time.Time // when clients with a full burst were last removed
}

// client is the state of one client. From the time full on, its whole burst is available again, as
// for a new client.
type client struct {
	full   time.Time
	denied uint64 // since its last permitted request
}

// New returns Clients that allow each client the given rate.
func New(rate Rate) *Clients {
	return &Clients{rate: rate, most: maxClients, now: time.Now, clients: map[string]*client{}}
}

// Take counts one request of a client. If the request is not permitted, denied is the number of
// requests denied since the last permitted one, and wait is the time until the next one is
// permitted.
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

// find returns a client's state. The caller holds mu. To make room, find removes another client
// only when that client's burst is full again. Otherwise a client with many names would get many
// bursts.
func (c *Clients) find(name string, now time.Time, burst time.Duration) *client {
	if who := c.clients[name]; who != nil {
		return who
	}
	if len(c.clients) >= c.most && now.Sub(c.cleaned) >= burst/2 {
		c.cleaned = now
		for key, who := range c.clients {
			if !who.full.After(now) {
				delete(c.clients, key)
			}
		}
	}
	if len(c.clients) >= c.most {
		if name = others; c.clients[name] != nil {
			return c.clients[name]
		}
	}
	who := &client{}
	c.clients[name] = who
	return who
}
