package walk

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/internal/tools/genskills"
)

// TestFirstPaint checks that the first page of a large catalogue is painted about as soon as
// a small one's. It takes the shortest times of many, since other work on the machine only
// makes them longer. A busy machine still makes them longer, so the test runs only on
// request.
func TestFirstPaint(t *testing.T) {
	if os.Getenv("KNACK_PAINT") == "" {
		t.Skip("compares times; KNACK_PAINT=1 runs it on a quiet machine")
	}
	chromium := driven(t, "paint.mjs")
	token, hash := access.NewToken()
	client := &http.Client{Transport: bearing(token)}
	var urls []string
	for _, n := range []int{100, 10_000} {
		root := t.TempDir()
		skills := genskills.Options{Seed: 3, Faults: 0.07, Collisions: 0.05, MainOnly: true}
		files := map[string]string{}
		for i := range n {
			s := skills.At(i)
			files[filepath.Join("skills", filepath.FromSlash(s.Path), s.Files[0].Path)] = string(s.Files[0].Data)
		}
		write(t, root, files)
		url := serve(t, root, hash, "skills")
		testwait.Until(t, func() bool {
			resp, err := client.Get(url + "/api/v1/problems?limit=1")
			if err != nil {
				return false
			}
			resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		}, fmt.Sprintf("the check of %d skills", n))
		urls = append(urls, url)
	}
	var painted []float64
	run(t, "paint.mjs", map[string]any{"urls": urls, "token": token, "chromium": chromium, "least": 12, "most": 80, "within": 1.2}, &painted)
	t.Logf("first paint after %.0f ms with 100 skills, and %.0f ms with 10,000", painted[0], painted[1])
	if painted[1] > 1.2*painted[0] {
		t.Errorf("the first page is painted after %.0f ms with 100 skills, and %.0f ms with 10,000", painted[0], painted[1])
	}
}
