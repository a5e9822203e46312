package limit

import (
	"strconv"
	"sync"
	"testing"
	"time"
)

// clock gives c a time that changes only when the test sets it, and returns it.
func clock(c *Clients) *time.Time {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c.now = func() time.Time { return now }
	return &now
}

// let makes n requests and returns how many were permitted.
func let(c *Clients, name string, n int) (in int) {
	for range n {
		if wait, _ := c.Take(name); wait == 0 {
			in++
		}
	}
	return in
}

func TestTake(t *testing.T) {
	c := New(Rate{PerSecond: 2, Burst: 5})
	now := clock(c)
	expect := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	expect("a burst", let(c, "a", 9), 5)
	expect("another's", let(c, "b", 9), 5)
	if wait, denied := c.Take("a"); wait != 500*time.Millisecond || denied != 5 {
		t.Errorf("wait %v, denied %d", wait, denied)
	}
	*now = now.Add(499 * time.Millisecond)
	expect("too early", let(c, "a", 3), 0)
	*now = now.Add(time.Millisecond)
	expect("after the wait", let(c, "a", 3), 1)
	if _, denied := c.Take("a"); denied != 3 {
		t.Errorf("denied %d since it was let in, want 3", denied)
	}
	*now = now.Add(time.Second)
	expect("a second later", let(c, "a", 9), 2)
	*now = now.Add(time.Hour)
	expect("no more than a burst is saved", let(c, "a", 9), 5)
	*now = now.Add(-time.Hour)
	expect("a clock that went back", let(c, "c", 9), 5)
}

func TestNoLimit(t *testing.T) {
	var none *Clients
	if let(none, "a", 1000)+let(New(Rate{}), "a", 1000) != 2000 {
		t.Error("where there is no limit, somebody is limited")
	}
}

// TestMostClients checks that memory is bounded, and that a client gains nothing from many names.
func TestMostClients(t *testing.T) {
	c := New(Rate{PerSecond: 1, Burst: 2})
	c.most = 100
	now := clock(c)
	in := 0
	for i := range 10_000 {
		in += let(c, strconv.Itoa(i), 1)
	}
	if len(c.clients) > c.most+1 {
		t.Errorf("%d clients are kept", len(c.clients))
	}
	if in != c.most+2 {
		t.Errorf("%d were let in, want each of %d and 2 of all others", in, c.most)
	}
	if n := let(c, "7", 9); n != 1 {
		t.Errorf("one that was there has %d left, want 1", n)
	}
	*now = now.Add(2 * time.Second)
	if n := let(c, "new", 9); n != 2 {
		t.Errorf("a new one, once the others have gone: %d, want 2", n)
	}
	if len(c.clients) > 2 {
		t.Errorf("%d clients are kept of whom nothing need be known", len(c.clients))
	}
}

func TestTakeAtOnce(t *testing.T) {
	c := New(Rate{PerSecond: 1, Burst: 50})
	clock(c)
	var in sync.Map
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { in.Store(i, let(c, "a", 100)) })
	}
	all.Wait()
	sum := 0
	in.Range(func(_, n any) bool { sum += n.(int); return true })
	if sum != 50 {
		t.Errorf("%d were let in, want 50", sum)
	}
}
