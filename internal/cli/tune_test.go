package cli

import "testing"

// TestPercentFor: garbage has room that does not grow with what lives.
func TestPercentFor(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 2 << 20: 400, 8 << 20: 200, 16 << 20: 100, 1 << 30: 100} {
		if got := percentFor(live); got != want {
			t.Errorf("%d MiB live: %d %%, not %d", live>>20, got, want)
		}
	}
}
