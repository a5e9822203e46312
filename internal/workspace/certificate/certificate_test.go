package certificate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// pair returns a certificate with the given serial number, and its key, in PEM.
func pair(t *testing.T, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	what := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Duration(serial) * time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, what, what, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// put replaces a file by renaming another into its place.
func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// watched is a certificate that is watched within a synctest bubble.
type watched struct {
	*testing.T
	*Certificate
	cert, key string
	reports   chan string
}

// watch opens cert.pem and key.pem in a folder, and watches them.
func watch(t *testing.T, dir string) *watched {
	w := &watched{T: t, cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), reports: make(chan string, 10)}
	var err error
	if w.Certificate, err = Open(File{w.cert, "CERT"}, File{w.key, "KEY"}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Watch(ctx, func(renewed bool, err error) { w.reports <- fmt.Sprint(renewed, " ", err) })
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return w
}

// expect checks which certificate is served, and the reports since the last call.
func (w *watched) expect(serial int64, reports ...string) {
	w.Helper()
	synctest.Wait()
	served, err := w.Config().GetCertificate(nil)
	if err != nil || served.Leaf.SerialNumber.Int64() != serial || !w.Ends().Equal(served.Leaf.NotAfter) {
		w.Errorf("certificate %v is served, until %v; want %d (%v)", served.Leaf.SerialNumber, w.Ends(), serial, err)
	}
	var got []string
	for len(w.reports) > 0 {
		got = append(got, <-w.reports)
	}
	if diff := cmp.Diff(reports, got); diff != "" {
		w.Errorf("reports -want +got\n%s", diff)
	}
}

const (
	renewed  = "true <nil>"
	unfit    = "false CERT, KEY: tls: private key does not match public key"
	noKey    = "false KEY: there is no such file"
	nothing  = "false <nil>"
	noOther  = "false CERT, KEY: tls: failed to find any PEM data in certificate input"
	firstOne = 1
)

// TestFilesChange checks that a new pair is served within an interval after both files were
// written, and that a pair that does not match is reported once and not served.
func TestFilesChange(t *testing.T) {
	cert1, key1 := pair(t, firstOne)
	cert2, key2 := pair(t, 2)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "cert.pem"), cert1)
	put(t, filepath.Join(dir, "key.pem"), key1)
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, dir)
		testwait.Advance(10 * interval)
		w.expect(firstOne)

		// One file after the other, as renewal programs write.
		put(t, w.cert, cert2)
		testwait.Advance(interval)
		w.expect(firstOne)
		put(t, w.key, key2)
		testwait.Advance(interval)
		w.expect(2, renewed)
		testwait.Advance(10 * interval)
		w.expect(2)

		// A pair that never matches.
		put(t, w.cert, cert1)
		testwait.Advance(2 * interval)
		w.expect(2, unfit)
		put(t, w.cert, cert1)
		testwait.Advance(10 * interval)
		w.expect(2)
		put(t, w.cert, "")
		testwait.Advance(2 * interval)
		w.expect(2, noOther)
		put(t, w.cert, cert2)
		testwait.Advance(2 * interval)
		w.expect(2, nothing)

		// A key that is removed, and comes back with its certificate.
		if err := os.Remove(w.key); err != nil {
			t.Fatal(err)
		}
		testwait.Advance(2 * interval)
		w.expect(2, noKey)
		put(t, w.cert, cert1)
		put(t, w.key, key1)
		testwait.Advance(interval)
		w.expect(firstOne, renewed)
	})
}

// TestLinkSwapped checks that a change is noticed if a link is swapped, as Kubernetes does, and if
// a file is rewritten in place with the same size.
func TestLinkSwapped(t *testing.T) {
	dir := t.TempDir()
	for n := range int64(3) {
		cert, key := pair(t, n+1)
		at := filepath.Join(dir, fmt.Sprint(n+1))
		put(t, filepath.Join(at, "cert.pem"), cert)
		put(t, filepath.Join(at, "key.pem"), key)
	}
	data := filepath.Join(dir, "..data")
	link := func(to string) {
		t.Helper()
		if err := os.Symlink(to, data+".new"); err != nil {
			t.Skip(err)
		}
		if err := os.Rename(data+".new", data); err != nil {
			t.Fatal(err)
		}
	}
	link("1")
	for _, name := range []string{"cert.pem", "key.pem"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, dir)
		link("2")
		testwait.Advance(interval)
		w.expect(2, renewed)
		for _, name := range []string{"cert.pem", "key.pem"} {
			text, err := os.ReadFile(filepath.Join(dir, "3", name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "2", name), text, 0o600); err != nil { // in place
				t.Fatal(err)
			}
		}
		testwait.Advance(interval)
		w.expect(3, renewed)
	})
}

// TestRenew checks that Renew does not wait for the interval, and that each call is reported.
func TestRenew(t *testing.T) {
	cert1, key1 := pair(t, firstOne)
	cert2, key2 := pair(t, 2)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "cert.pem"), cert1)
	put(t, filepath.Join(dir, "key.pem"), key1)
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, dir)
		w.Renew()
		w.expect(firstOne, nothing)
		put(t, w.key, key2)
		w.Renew()
		w.expect(firstOne, unfit)
		w.Renew()
		w.expect(firstOne, unfit)
		testwait.Advance(10 * interval)
		w.expect(firstOne) // the intervals report nothing more
		put(t, w.cert, cert2)
		w.Renew()
		w.expect(2, renewed)
	})
	var none *Certificate
	none.Renew() // a server without TLS
	if !none.Ends().IsZero() {
		t.Error("no certificate has an end")
	}
}

// TestOpen checks that a server does not start with a pair that cannot be used.
func TestOpen(t *testing.T) {
	cert1, key1 := pair(t, firstOne)
	_, key2 := pair(t, 2)
	for want, texts := range map[string][2]string{
		"does not match public key": {cert1, key2},
		"failed to find any PEM":    {"none", key1},
		"there is no such file":     {cert1, ""},
	} {
		dir := t.TempDir()
		cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		put(t, cert, texts[0])
		if texts[1] != "" {
			put(t, key, texts[1])
		}
		if _, err := Open(File{cert, "CERT"}, File{key, "KEY"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
