package catalog

import (
	"testing"
	"time"

	"github.com/knack-dev/knack/skill"
)

// TestHashedIsNotKept: what the first scan has hashed and nobody asks for in time goes,
// be it that nothing ever changes.
func TestHashedIsNotKept(t *testing.T) {
	c := New([]Source{visiting{source("a", "x/SKILL.md", text("x", "one"))}}, Options{})
	NewManifests(c).Expect()
	take, until := c.hashed.sink(&skill.Skill{Publishable: true}, time.Now())
	if left := time.Until(until); left <= 0 || left > hashFor {
		t.Fatalf("a scan hashes for %v", left)
	}
	take(nil, time.Now())
	if _, until := c.hashed.sink(&skill.Skill{Publishable: true}, time.Now().Add(-2*hashFor)); !until.IsZero() {
		t.Error("a scan that has gone on for long begins another manifest")
	}
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		c.hashed.mu.Lock()
		defer c.hashed.mu.Unlock()
		return len(c.hashed.of)
	}
	if count() == 0 {
		t.Fatal("nothing is kept for who has asked")
	}
	for end := time.Now().Add(AheadGood + 30*time.Second); count() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is kept")
		}
	}
}
