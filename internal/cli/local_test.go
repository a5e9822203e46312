package cli

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/web"
)

// TestIsLocal checks that a server over HTTP is local only if no setting invites other clients.
// Only a local server names folders and its command.
func TestIsLocal(t *testing.T) {
	for name, row := range map[string]struct {
		f     *httpFlags
		local bool
	}{
		"a port":                     {&httpFlags{addr: "8080"}, true},
		"a port with its colon":      {&httpFlags{addr: ":8080"}, true},
		"the loopback":               {&httpFlags{addr: "127.0.0.1:0"}, true},
		"another of the loopback":    {&httpFlags{addr: "127.8.8.8:8080"}, true},
		"IPv6's":                     {&httpFlags{addr: "[::1]:8080"}, true},
		"by name":                    {&httpFlags{addr: "LocalHost:8080"}, true},
		"under its own name":         {&httpFlags{addr: "8080", hosts: []string{"localhost:8080", "[::1]"}}, true},
		"every address":              {&httpFlags{addr: "0.0.0.0:8080"}, false},
		"every address of IPv6":      {&httpFlags{addr: "[::]:8080"}, false},
		"an address of the network":  {&httpFlags{addr: "192.0.2.7:8080", noAuth: true}, false},
		"another name":               {&httpFlags{addr: "skills.example.com:8080"}, false},
		"a name that only begins so": {&httpFlags{addr: "localhost.example.com:8080"}, false},
		"under another name":         {&httpFlags{addr: "8080", hosts: []string{"localhost", "skills.example.com"}}, false},
		"for another site's pages":   {&httpFlags{addr: "8080", origins: []string{"https://example.com"}}, false},
		"with tokens":                {&httpFlags{addr: "8080", tokens: true}, false},
		"with a policy":              {&httpFlags{addr: "8080", policy: access.NewPolicy(true, nil)}, false},
	} {
		if got := row.f.isLocal(); got != row.local {
			t.Errorf("%s: %v", name, got)
		}
		w := httptest.NewRecorder()
		row.f.pages(console.Env{Getenv: os.Getenv}, web.Options{Catalog: catalog.New(nil, catalog.Options{})}).ServeHTTP(w, httptest.NewRequest("GET", "/connect", nil))
		if got := strings.Contains(w.Body.String(), ownServer(console.Env{Getenv: os.Getenv}).Command); got != row.local {
			t.Errorf("%s: the page names the command: %t", name, got)
		}
	}
}
