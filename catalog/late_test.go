package catalog

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/knack-dev/knack/skill"
)

// dead is a source whose disk answers only when it is told to.
type dead struct {
	Source
	answer chan struct{}
}

func (d dead) Scan(ctx context.Context) (skill.Scan, error) {
	select {
	case <-d.answer:
		return d.Source.Scan(ctx)
	case <-ctx.Done():
		return skill.Scan{}, ctx.Err()
	}
}

// A root whose disk does not answer costs its own skills, not everybody's, and
// joins when it does.
func TestLateRoot(t *testing.T) {
	d := dead{source("a", "x/SKILL.md", text("x", "late")), make(chan struct{})}
	b := source("b", "y/SKILL.md", text("y", "in time"))
	c := New([]Source{d, b}, Options{Patience: 20 * time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = c.Run(ctx) }()
	v := view(t, c)
	if v.Named("y") == nil || v.Named("x") != nil {
		t.Errorf("listed: %d skills", len(v.Listed))
	}
	if err := v.Roots[0].Err; !errors.Is(err, ErrLate) {
		t.Errorf("the late root says %v", err)
	}
	// While it is late, the other root goes on to be refreshed.
	b.write("z/SKILL.md", text("z", "new"))
	c.Poke()
	waitFor(t, "the other root is refreshed", func() bool { return view(t, c).Named("z") != nil })
	close(d.answer)
	waitFor(t, "the late root joins", func() bool { v := view(t, c); return v.Named("x") != nil && v.Roots[0].Err == nil })
}

// Without patience a refresh waits, and ends with its context.
func TestNoPatience(t *testing.T) {
	d := dead{source("a", "x/SKILL.md", text("x", "late")), make(chan struct{})}
	c := New([]Source{d}, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if err := c.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("refresh: %v", err)
	}
	close(d.answer)
	if err := c.Refresh(context.Background()); err != nil || view(t, c).Named("x") == nil {
		t.Errorf("after the disk is back: %v", err)
	}
}
