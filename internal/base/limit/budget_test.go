package limit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestBudgetIsShared checks that one client gets three quarters of a budget, and another client the
// last quarter.
func TestBudgetIsShared(t *testing.T) {
	b := NewBudget(100, time.Second)
	greedy, modest, local := b.Open("greedy"), b.Open("modest"), b.Open("")
	for range 3 {
		if !greedy.Try(25) {
			t.Fatal("a client does not get three quarters")
		}
	}
	if b.Open("greedy").Try(1) {
		t.Error("a client gets some of the last quarter")
	}
	if !modest.Try(20) {
		t.Error("another client gets nothing")
	}
	if !local.Try(5) || local.Try(1) || b.Held() != 100 {
		t.Errorf("held %d of 100", b.Held())
	}
	greedy.Close()
	if greedy.Try(1) || b.Held() != 25 {
		t.Errorf("a closed account takes room: %d held", b.Held())
	}
	if one := b.Open("a client that comes later"); one.Try(76) || !one.Try(50) {
		t.Error("more than there is, or less than may be had")
	}
	modest.Close()
	local.Close()
	alone := NewBudget(100, 0).Open("one")
	if !alone.Try(1000) || alone.budget.Held() != 75 {
		t.Errorf("%d held, want all that a client can have", alone.budget.Held())
	}
	if !alone.budget.Open("another").Try(1) || !alone.Settle(t.Context(), 1000) || alone.Refused() || alone.budget.Held() != 76 {
		t.Errorf("who has all that a client can have is refused more: %d held", alone.budget.Held())
	}
}

// TestBudgetIsWaitedFor checks that a waiting request gets memory that others return, and is
// refused after a time.
func TestBudgetIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, 10*time.Second)
		first, large, small := b.Open(""), b.Open(""), b.Open("")
		if !first.Try(90) {
			t.Fatal("no room")
		}
		begin := time.Now()
		got := make(chan time.Duration, 2)
		go func() {
			if large.Wait(t.Context(), 50) { // 60 to 80 are held
				t.Error("more than there is")
			}
			got <- time.Since(begin)
		}()
		go func() {
			if !small.Wait(t.Context(), 20) {
				t.Error("refused")
			}
			got <- time.Since(begin)
		}()
		time.Sleep(3 * time.Second)
		if !first.Settle(t.Context(), 60) {
			t.Error("less is not given back")
		}
		if took := <-got; took != 3*time.Second {
			t.Errorf("waited %v", took)
		}
		if took := <-got; took != 10*time.Second {
			t.Errorf("refused after %v", took)
		}
		if !large.Refused() || small.Refused() || len(b.waiting) != 0 || b.Held() != 80 {
			t.Errorf("%v %v, %d wait, %d held", large.Refused(), small.Refused(), len(b.waiting), b.Held())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if large.Wait(ctx, 50) {
			t.Error("waits without a caller")
		}
		small.Close()
		first.Close()
		if b.Held() != 0 || len(b.byClient) != 0 {
			t.Errorf("%d held, by %v", b.Held(), b.byClient)
		}
	})
}
