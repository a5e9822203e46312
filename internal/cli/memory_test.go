package cli

import "testing"

func TestLimitFor(t *testing.T) {
	const m = 1 << 20
	for _, c := range []struct {
		limit        int64
		live, stacks uint64
		want         int64
	}{
		{128 * m, 10 * m, 1 * m, 128 * m},
		{128 * m, 40 * m, 24 * m, 128 * m},
		{128 * m, 60 * m, 60 * m, 225 * m},
		{300 * m, 60 * m, 70 * m, 300 * m},
		{300 * m, 60 * m, 50 * m, 300 * m}, // not with every connection that goes
		{300 * m, 10 * m, 1 * m, 128 * m},
	} {
		if got := limitFor(c.limit, c.live, c.stacks); got != c.want {
			t.Errorf("limitFor(%d, %d, %d) = %d MiB, want %d", c.limit/m, c.live/m, c.stacks/m, got/m, c.want/m)
		}
	}
}
