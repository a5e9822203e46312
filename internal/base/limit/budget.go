package limit

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Budget divides units, such as bytes or calls, among clients. A waiting request gets room as soon
// as there is enough for it. Smaller requests may overtake it. A client that holds a quarter of the
// units gets none of the last quarter, which stays free for other clients.
type Budget struct {
	units    int64
	patience time.Duration

	mu       sync.Mutex
	used     int64
	byClient map[string]int64
	waiting  []*waiter
}

type waiter struct {
	account *Account
	units   int64
	granted chan struct{} // closed with mu held
}

// NewBudget returns a budget. A request that finds no room waits for at most patience.
func NewBudget(units int64, patience time.Duration) *Budget {
	return &Budget{units: units, patience: patience, byClient: map[string]int64{}}
}

// Open returns an account for a client, which the caller must close. The client "" is not limited
// to a share and may hold all units.
func (b *Budget) Open(client string) *Account { return &Account{budget: b, client: client} }

// Held returns the number of units in all accounts.
func (b *Budget) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Share returns the number of units that a client holds. over reports whether the client gets no
// more, because the rest is reserved for other clients.
func (b *Budget) Share(client string) (own int64, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own = b.byClient[client]
	return own, b.exceedsShare(client, own+1, b.used+1)
}

// exceedsShare reports whether a client would hold more than its share. The caller holds mu.
func (b *Budget) exceedsShare(client string, own, all int64) bool {
	share := max(b.units/4, 1)
	return client != "" && own > share && all > b.units-share
}

// Account is the part of a budget that one request holds. Its methods are safe for concurrent use.
// An account has a maximum, and a request for more gets the maximum. Settle, Refused and Close
// accept a nil account, which holds nothing.
type Account struct {
	budget *Budget
	client string
	// Guarded by the budget's mu.
	used            int64
	closed, refused bool
}

// Try takes room for more units. It reports false if the room is not free now.
func (a *Account) Try(units int64) bool {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.take(units)
}

// Wait takes room for more units. It reports false if no room becomes free before the budget's
// patience or the context ends.
func (a *Account) Wait(ctx context.Context, units int64) bool {
	b := a.budget
	b.mu.Lock()
	if a.take(units) {
		b.mu.Unlock()
		return true
	}
	w := &waiter{a, units, make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.mu.Unlock()
	late := time.NewTimer(b.patience)
	defer late.Stop()
	select {
	case <-w.granted:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.granted: // the units were granted at the last moment
		return true
	default:
	}
	b.waiting = slices.DeleteFunc(b.waiting, func(other *waiter) bool { return other == w })
	a.refused = true
	return false
}

// Settle sets the number of units that the account holds. If it needs more, it waits for room.
func (a *Account) Settle(ctx context.Context, units int64) bool {
	if a == nil {
		return true
	}
	a.budget.mu.Lock()
	more := units - a.used
	if more < 0 {
		a.give(-more)
	}
	a.budget.mu.Unlock()
	return more <= 0 || a.Wait(ctx, more)
}

// Refused reports whether a request of the account for room was refused.
func (a *Account) Refused() bool {
	if a == nil {
		return false
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.refused
}

// Close returns all units. Later requests for room are refused.
func (a *Account) Close() {
	if a == nil {
		return
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.closed = true
	a.give(a.used)
}

// take takes room if it is free. The caller holds mu.
func (a *Account) take(units int64) bool {
	b := a.budget
	most := b.units // the maximum of one account
	if a.client != "" {
		most -= b.units / 4
	}
	units = min(units, most-a.used)
	all, own := b.used+units, b.byClient[a.client]+units
	switch {
	case !a.closed && units <= 0: // the account already holds its maximum
		return true
	case a.closed, all > b.units, b.exceedsShare(a.client, own, all):
		return false
	}
	b.used, b.byClient[a.client] = all, own
	a.used += units
	return true
}

// give returns units and serves waiting requests. The caller holds mu.
func (a *Account) give(units int64) {
	if units == 0 {
		return
	}
	b := a.budget
	a.used -= units
	b.used -= units
	if b.byClient[a.client] -= units; b.byClient[a.client] == 0 {
		delete(b.byClient, a.client)
	}
	b.waiting = slices.DeleteFunc(b.waiting, func(w *waiter) bool {
		if !w.account.take(w.units) {
			return false
		}
		close(w.granted)
		return true
	})
}
