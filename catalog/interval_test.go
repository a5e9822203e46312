package catalog

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/testwait"
)

// Contract 002's refresh cycle: without anybody telling of changes, and whatever
// longer interval was asked for, a new skill is there after 30 seconds and a
// deleted one is not.
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
