package observe

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestWeight checks that the size of a store is the total size of its files. It must be computed at
// most once in five minutes, even if the metrics are read often.
func TestWeight(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, bytes int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one", 1000)
	shelf, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		w := NewWeight(t.Context(), func(ctx context.Context) (int64, error) { looks++; return shelf.Size(ctx) })
		expect := func(bytes float64, n int) {
			t.Helper()
			for range 3 {
				synctest.Wait()
				all := w.Measures()
				if len(all) != 1 || all[0].Samples[0].Value != bytes || looks != n {
					t.Errorf("%v after %d looks, want %g after %d", all, looks, bytes, n)
				}
			}
		}
		w.Measures()
		expect(1000, 1)
		write("two", 234)
		testwait.Advance(weighEvery - time.Second)
		expect(1000, 1)
		testwait.Advance(time.Second)
		w.Measures()
		expect(1234, 2)
	})
}
