package reach

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestFailed checks that the text of a failure has no secret of the URL, in whatever form the error
// repeats it.
func TestFailed(t *testing.T) {
	for at, want := range map[string]string{
		"http://127.0.0.1/mcp":                   "http://127.0.0.1/mcp: it failed at http://127.0.0.1/mcp",
		"http://hunter2@127.0.0.1/mcp":           "http://[redacted]@127.0.0.1/mcp: it failed at http://[redacted]@127.0.0.1/mcp",
		"http://hunt%65r2@127.0.0.1/mcp":         "http://[redacted]@127.0.0.1/mcp: it failed at http://[redacted]@127.0.0.1/mcp",
		"http://ana:hunter2@127.0.0.1/mcp":       "http://[redacted]@127.0.0.1/mcp: it failed at http://[redacted]@127.0.0.1/mcp",
		"http://a@127.0.0.1/a":                   "http://[redacted]@127.0.0.1/a: it failed at http://[redacted]@127.0.0.1/a",
		"http://127.0.0.1/mcp?key=hunter2":       "http://127.0.0.1/mcp?[redacted]: it failed at http://127.0.0.1/mcp?[redacted]",
		"http://127.0.0.1/mcp#hunter2":           "http://127.0.0.1/mcp#[redacted]: it failed at http://127.0.0.1/mcp#[redacted]",
		"http://hunter2:hunter2@h/mcp?a=hunter2": "http://[redacted]@h/mcp?[redacted]: it failed at http://[redacted]@h/mcp?[redacted]",
	} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if got := Failed(u, errors.New("it failed at "+u.String())); got != want {
			t.Errorf("%s\n got %s\nwant %s", at, got, want)
		}
		client := http.Client{Transport: failing{}}
		_, err = client.Get(at)
		if got := Failed(u, err); strings.Contains(got, "hunter2") || strings.Contains(got, "hunt%65r2") || !strings.Contains(got, "no such wire") {
			t.Errorf("%s: %s", at, got)
		}
	}
}

type failing struct{}

func (failing) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, errors.New("no such wire to " + r.URL.User.Username() + " of " + r.URL.String())
}
