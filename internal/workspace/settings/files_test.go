package settings_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// TestUnusableFiles checks that the files of tokens and of the certificate that a server could not
// read are named.
func TestUnusableFiles(t *testing.T) {
	dir := t.TempDir()
	_, line := access.NewToken()
	ends := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	cert, key := certificate(t, ends)
	for name, text := range map[string]string{"cert.pem": cert, "key.pem": key, "tokens": line + "\n", "empty": "", "large": strings.Repeat("#\n", config.MaxSize/2+1), "a.pem": "a", "b.pem": "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const tooLarge = "http.token-file: the server would not start with large: "
	for name, c := range map[string]struct {
		given config.HTTP
		want  []string
	}{
		"none":       {config.HTTP{}, nil},
		"fine":       {config.HTTP{TokenFile: "tokens"}, nil},
		"absolute":   {config.HTTP{TokenFile: filepath.Join(dir, "tokens")}, nil},
		"credential": {config.HTTP{TokenFile: "/run/credentials/knack.service/no-such-file"}, nil},
		"missing":    {config.HTTP{TokenFile: "no"}, []string{"http.token-file: the server would not start with no: there is no such file: check the path"}},
		"empty":      {config.HTTP{TokenFile: "empty"}, []string{"http.token-file: the server would not start with empty: it has no token's hash; 'knack token new' prints one"}},
		"large":      {config.HTTP{TokenFile: "large"}, []string{tooLarge}},
		"no pair": {config.HTTP{TLSCert: "a.pem", TLSKey: "b.pem"}, []string{
			"http.tls-cert, http.tls-key: the server would not start with a.pem and b.pem: tls: failed to find any PEM data in certificate input: use a certificate and its own private key, both in PEM"}},
		"ended":       {config.HTTP{TLSCert: "cert.pem", TLSKey: "key.pem"}, []string{"http.tls-cert: the certificate cert.pem ended at 2026-11-01T00:00:00Z, and clients refuse it: renew it"}},
		"half a pair": {config.HTTP{TLSCert: "a.pem", TLSKey: "no"}, []string{"http.tls-key: the server would not start with no: there is no such file: check the path"}},
	} {
		f := &settings.File{Path: filepath.Join(dir, "knack.yaml"), Config: config.Config{HTTP: c.given}}
		got := f.UnusableFiles(ends.Add(time.Hour))
		if len(got) == 1 && strings.HasPrefix(got[0], tooLarge) {
			got = []string{tooLarge}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	f := &settings.File{Path: filepath.Join(dir, "knack.yaml"), Config: config.Config{HTTP: config.HTTP{TLSCert: "cert.pem", TLSKey: "key.pem"}}}
	if got := f.UnusableFiles(ends.Add(-time.Hour)); got != nil {
		t.Error(got)
	}
}

// certificate returns a certificate that ends at the given time, and its key.
func certificate(t *testing.T, ends time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	what := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: ends}
	public, err := x509.CreateCertificate(rand.Reader, what, what, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}
