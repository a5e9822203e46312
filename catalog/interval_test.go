package catalog

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestRefreshCycle checks contract 002's refresh cycle. After 30 seconds a new skill is
// served and a deleted one is not, even without a watcher and with a longer configured
// interval.
func TestRefreshCycle(t *testing.T) {
	for _, asked := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			m := source("a", "old/SKILL.md", text("old", "d"))
			c := New([]Source{m}, Options{Interval: asked})
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan struct{})
			go func() { defer close(ended); _ = c.Run(ctx) }()
			defer func() { cancel(); <-ended }()
			view(t, c)
			synctest.Wait()
			m.write("new/SKILL.md", text("new", "d"))
			m.remove("old/SKILL.md")
			testwait.Advance(30*time.Second + time.Millisecond)
			v := view(t, c)
			if v.Named("new") == nil || v.Named("old") != nil {
				t.Errorf("asked for %v: after 30 s there is new: %v, old: %v", asked, v.Named("new") != nil, v.Named("old") != nil)
			}
		})
	}
}

// TestRefreshCycleOfSlowScans checks that the next periodic scan begins after 30 seconds,
// however long a scan takes.
func TestRefreshCycleOfSlowScans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := source("a")
		c := New([]Source{counted{m, 1, time.Second}}, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = c.Run(ctx) }()
		defer func() { cancel(); <-ended }()
		<-time.After(2*time.Second + DefaultInterval + time.Millisecond) // two scans: the first does not set the rest
		synctest.Wait()
		if took := time.Duration(c.rest.Load()); took <= restMost {
			t.Fatalf("the scans ask for a rest of %v, which needs no bound", took)
		}
		m.write("new/SKILL.md", text("new", "d"))
		<-time.After(time.Second + DefaultInterval)
		synctest.Wait()
		if view(t, c).Named("new") == nil {
			t.Error("after 30 s and a scan the new skill is not there")
		}
	})
}
