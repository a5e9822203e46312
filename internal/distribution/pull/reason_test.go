package pull_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

// TestReasons checks that content of a registry that is not a release of skills is refused with a
// reason, and without retries.
func TestReasons(t *testing.T) {
	registry := registrytest.Start(t)
	proxy := registrytest.NewProxy(t, registry.Host)
	digest := "sha256:" + strings.Repeat("ab", 32)
	layers := func(n int, size int64) string {
		var all []map[string]any
		for range n {
			all = append(all, map[string]any{"digest": digest, "size": size})
		}
		text, err := json.Marshal(map[string]any{"schemaVersion": 2, "layers": all})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, c := range map[string]struct {
		body   string
		want   string
		reason pull.Reason
	}{
		"4 MiB and 1":     {strings.Repeat(" ", 4<<20+1), "more than 4 MiB", pull.Limit},
		"10,001 layers":   {layers(10_001, 1), "10,001 layers", pull.Limit},
		"a large layer":   {layers(1, 257<<20), "257 MiB", pull.Limit},
		"large together":  {layers(20, 256<<20), "more than 4 GiB", pull.Limit},
		"no manifest":     {"<html>", "is not JSON", pull.NoSkills},
		"another release": {`{"schemaVersion": 1}`, "old format", pull.NoSkills},
	} {
		t.Run(name, func(t *testing.T) {
			proxy.Set(func(w http.ResponseWriter, r *http.Request, _ *registrytest.Proxy, _ int) bool {
				if registrytest.IsManifest(r) && r.Method == http.MethodGet {
					_, _ = io.WriteString(w, c.body)
				}
				return registrytest.IsManifest(r) // a HEAD without a digest
			})
			r := newReplica(t, filepath.Join(t.TempDir(), "knack"))
			_, _, err := r.get("oci://" + proxy.Host + "/a/b:prod")
			if err == nil || !strings.Contains(err.Error(), c.want) || pull.ReasonOf(err) != c.reason || len(r.waits) > 0 {
				t.Errorf("%q, %d waits: %v\nwant %s", pull.ReasonOf(err), len(r.waits), err, c.want)
			}
		})
	}
	proxy.Set(registrytest.Status(503, "Retry-After", "3600"))
	r := newReplica(t, filepath.Join(t.TempDir(), "knack"))
	_, _, err := r.get("oci://" + proxy.Host + "/a/b:prod")
	var later interface{ RetryAfter() time.Duration }
	if !errors.As(err, &later) || later.RetryAfter() != time.Hour || pull.ReasonOf(err) != "" {
		t.Errorf("%v", err)
	}
}
