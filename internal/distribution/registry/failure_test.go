package registry

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// TestSilence checks that a silent registry gets fewer attempts, since each of them takes half a
// minute.
func TestSilence(t *testing.T) {
	waits, calls := 0, 0
	c := New(Options{Wait: func(context.Context, time.Duration) error { waits++; return nil }})
	err := c.try(t.Context(), func() (bool, error) {
		calls++
		return false, &temporary{fmt.Errorf("r.example broke off: %w", os.ErrDeadlineExceeded)}
	})
	if calls != 3 || waits != 2 || err == nil {
		t.Errorf("%d calls, %d waits, %v", calls, waits, err)
	}
}
