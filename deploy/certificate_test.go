//go:build unix

package deploy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestCertificateUnderLoad replaces the certificate while clients call the server over existing and
// new connections of HTTP/1.1 and HTTP/2. It checks that no request fails and that each new
// certificate is served, and logs how long that took. A test of internal/workspace/certificate
// bounds that time.
func TestCertificateUnderLoad(t *testing.T) {
	testwait.Slow(t)
	knack(t)
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "skills", "one", "SKILL.md"), skillMD("one"))
	lay := func(serial int64) {
		cert, key := certified(t, serial)
		put(t, filepath.Join(dir, fmt.Sprint(serial), "tls.crt"), cert)
		put(t, filepath.Join(dir, fmt.Sprint(serial), "tls.key"), key)
	}
	data := filepath.Join(dir, "..data")
	link := func(serial int64) {
		must(t, os.Symlink(fmt.Sprint(serial), data+".new"))
		must(t, os.Rename(data+".new", data))
	}
	lay(1)
	link(1)
	s := serve(t, "--no-builtin", "--dir", filepath.Join(dir, "skills"), "--http", "127.0.0.1:0", "--tls-cert", filepath.Join(data, "tls.crt"), "--tls-key", filepath.Join(data, "tls.key"))

	ctx, stop := context.WithCancel(t.Context())
	var answered, opened atomic.Int64
	var failed sync.Map
	var clients sync.WaitGroup
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill","arguments":{"name":"one"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	for n := range 8 {
		client := insecure(t)
		to := client.Transport.(*http.Transport)
		to.ForceAttemptHTTP2, to.DisableKeepAlives = n%2 == 0, n%4 < 2
		clients.Go(func() {
			for ctx.Err() == nil {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(call))
				must(t, err)
				for key, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "skill"} {
					r.Header.Set(key, value)
				}
				resp, err := client.Do(r)
				if err == nil {
					var body strings.Builder
					if err = resp.Write(&body); err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(body.String(), "Do it.")) {
						err = fmt.Errorf("%s", body.String())
					}
				}
				if answered.Add(1); err != nil {
					failed.Store(err.Error(), true)
				}
			}
		})
	}
	// The deferred calls end the clients before the server.
	defer clients.Wait()
	defer stop()
	served := func() int64 {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{InsecureSkipVerify: true})
		must(t, err)
		defer conn.Close()
		opened.Add(1)
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	awaitServed := func(how string, serial int64) {
		t.Helper()
		begun := time.Now()
		testwait.Until(t, func() bool { return served() == serial }, how, "is not served:", s.log)
		t.Logf("%s: served after %v", how, time.Since(begun).Round(10*time.Millisecond))
	}
	testwait.Until(t, func() bool { return answered.Load() > 100 }, "no answers:", s.log)
	lay(2)
	link(2)
	awaitServed("a swapped link", 2)
	cert, key := certified(t, 3)
	put(t, filepath.Join(data, "tls.crt"), cert)
	put(t, filepath.Join(data, "tls.key"), key)
	awaitServed("one file after the other", 3)
	lay(4)
	put(t, filepath.Join(dir, "4", "tls.key"), key) // the key of another certificate
	link(4)
	const fallback = "the previous one stays in use"
	testwait.Until(t, func() bool { return strings.Contains(s.log(), fallback) }, "the log does not say that the pair is unfit:", s.log)
	if served() != 3 {
		t.Error("a certificate is served without its key")
	}
	lay(5)
	link(5)
	awaitServed("a pair after one that did not fit", 5)
	stop()
	clients.Wait()
	failed.Range(func(err, _ any) bool {
		t.Error(err)
		return true
	})
	if n := strings.Count(s.log(), fallback); n != 1 {
		t.Errorf("the log says %d times that a pair is unfit:\n%s", n, s.log())
	}
	t.Logf("%d calls answered, 0 failed allowed; %d more connections", answered.Load(), opened.Load())
}
