// Package deploy tests the files for operators with the built binary: settings, the service, the
// commands of doc/running.md, and the dashboard. The tests start servers, so they are skipped with
// -short.
package deploy

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/registrytest"
)

// knack returns the built binary. It skips the test with -short.
func knack(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts servers")
	}
	return registrytest.Knack(t)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file, and the folders above it. It replaces an existing file by a rename.
func put(t *testing.T, file, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file+".new", []byte(text), 0o600))
	must(t, os.Rename(file+".new", file))
}

// skillMD returns the SKILL.md of a skill with the given name.
func skillMD(name string) string {
	return "---\nname: " + name + "\ndescription: Use for " + name + ".\n---\nDo it.\n"
}

// server is a running knack.
type server struct {
	url string // without a path
	log func() string
}

// serve starts a server, which ends with the test.
func serve(t *testing.T, args ...string) server {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), knack(t), append([]string{"serve"}, args...)...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	cmd.Dir = home
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	errout, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	var mu sync.Mutex
	var said strings.Builder
	s := server{log: func() string {
		mu.Lock()
		defer mu.Unlock()
		return said.String()
	}}
	lines := bufio.NewScanner(errout)
	next := func() bool {
		more := lines.Scan()
		mu.Lock()
		defer mu.Unlock()
		said.WriteString(lines.Text() + "\n")
		return more
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
	})
	end := func() {
		defer close(ended)
		for next() {
		}
		_ = cmd.Wait()
	}
	for next() {
		text := lines.Text()
		i := strings.Index(text, "http")
		if !strings.Contains(text, "knack serves MCP") || i < 0 {
			continue
		}
		s.url, _, _ = strings.Cut(text[i:], "/mcp")
		go end()
		return s
	}
	end()
	t.Fatalf("it does not say where it serves:\n%s", s.log())
	return s
}

// certified returns a self-signed certificate for the loopback address and its key, in PEM. The
// certificate has the given serial number.
func certified(t *testing.T, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	what := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	signed, err := x509.CreateCertificate(rand.Reader, what, what, private.Public(), private)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// insecure returns a client that trusts every certificate, since the tests compare serial numbers.
func insecure(t *testing.T) *http.Client {
	to := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	t.Cleanup(to.CloseIdleConnections)
	return &http.Client{Transport: to}
}

// get returns the status and the body of the answer to a GET.
func get(ctx context.Context, client *http.Client, url, token string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}
