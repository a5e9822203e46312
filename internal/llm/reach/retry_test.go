package reach

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPatient checks that a refused request is repeated, with its body, only if the server
// sends a short Retry-After, and not for ever.
func TestPatient(t *testing.T) {
	for name, c := range map[string]struct {
		after  string
		busy   int // answers 429 before another
		status int
		asked  int
	}{
		"twice":       {"0", 2, 200, 3},
		"hung up":     {"0", 2, 200, 3}, // net/http repeats a body by itself on the same connection
		"past date":   {"Mon, 02 Jan 2006 15:04:05 GMT", 1, 200, 2},
		"no header":   {"", 1, 429, 1},
		"too long":    {"61", 1, 429, 1},
		"overflowing": {"99999999999999", 1, 429, 1},
		"negative":    {"-1", 1, 429, 1},
		"no number":   {"soon", 1, 429, 1},
		"for ever":    {"0", 100, 429, 6},
	} {
		t.Run(name, func(t *testing.T) {
			var bodies []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if bodies = append(bodies, string(body)); len(bodies) <= c.busy {
					if c.after != "" {
						w.Header().Set("Retry-After", c.after)
					}
					if name == "hung up" {
						w.Header().Set("Connection", "close")
					}
					w.WriteHeader(http.StatusTooManyRequests)
				}
			}))
			defer server.Close()
			client := http.Client{Transport: &retryTransport{http.DefaultTransport}}
			resp, err := client.Post(server.URL, "text/plain", strings.NewReader("whole"))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if want := strings.Repeat("whole ", c.asked); resp.StatusCode != c.status || strings.Join(bodies, " ")+" " != want {
				t.Errorf("%d, and the server got %q", resp.StatusCode, bodies)
			}
		})
	}
}
