package trust

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
)

func privatePEM(t *testing.T, kind string, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// TestKeys checks that keys of both kinds can be read back, and then sign equal bundles.
func TestKeys(t *testing.T) {
	for _, alg := range algorithms {
		t.Run(alg.name, func(t *testing.T) {
			key := alg.make(t)
			read, err := ParsePrivate(privatePEM(t, "PRIVATE KEY", key))
			if err != nil {
				t.Fatal(err)
			}
			public := publicKey(t, "acme.pub", key)
			if id := publicKey(t, "acme.pub", read).ID; id != public.ID || !strings.HasPrefix(id, "key:") || len(id) != 4+64 {
				t.Errorf("the ID of the key that was read is %q, and of the written one %q", id, public.ID)
			}
			if one, two := ours(t, read, digest), ours(t, key, digest); !bytes.Equal(one.Data, two.Data) {
				t.Errorf("two bundles of one key and manifest differ:\n%s\n%s", one.Data, two.Data)
			}
		})
	}
}

// TestBadKeys checks that the error for each file that is not a key has a reason and a fix.
func TestBadKeys(t *testing.T) {
	p256 := algorithms[0].make(t)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	agrees, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte("x")}) }
	public := publicPEM(t, p256)
	for _, c := range []struct {
		name    string
		public  bool
		data    []byte
		message string
		fix     string
	}{
		{"empty", true, nil, "it holds no PEM", "-----BEGIN"},
		{"of ssh", true, []byte("ssh-ed25519 AAAA me@here\n"), "it holds no PEM", "ssh-keygen"},
		{"large", true, make([]byte, MaxKey+1), "more than 64 KiB", "public key"},
		{"two keys", true, append(bytes.Clone(public), public...), "several keys", "file of its own"},
		{"private", true, privatePEM(t, "PRIVATE KEY", p256), "holds a private key", "pubout"},
		{"certificate", true, block("CERTIFICATE"), "a certificate", "openssl x509"},
		{"another block", true, block("X"), `holds "X" in PEM`, "BEGIN PUBLIC KEY"},
		{"damaged", true, block("PUBLIC KEY"), "damaged", "again"},
		{"P-384", true, publicPEM(t, p384), "of the kind P-384", "openssl genpkey"},
		{"RSA", true, publicPEM(t, rsaKey), "of the kind RSA", "openssl genpkey"},
		{"empty", false, nil, "it holds no PEM", "a private key"},
		{"public", false, public, "holds a public key", "private key"},
		{"with a password", false, block("ENCRYPTED PRIVATE KEY"), "has a password", "openssl pkcs8"},
		{"of cosign", false, block("ENCRYPTED SIGSTORE PRIVATE KEY"), "a key of cosign", "cosign sign"},
		{"of cosign 1", false, block("ENCRYPTED COSIGN PRIVATE KEY"), "a key of cosign", "cosign sign"},
		{"SEC 1", false, append(block("EC PARAMETERS"), block("EC PRIVATE KEY")...), "not in the form PKCS #8", "-topk8"},
		{"another block", false, block("X"), `holds "X" in PEM`, "BEGIN PRIVATE KEY"},
		{"damaged", false, block("PRIVATE KEY"), "damaged", "again"},
		{"RSA", false, privatePEM(t, "PRIVATE KEY", rsaKey), "of the kind RSA", "openssl genpkey"},
		{"X25519", false, privatePEM(t, "PRIVATE KEY", agrees), "cannot sign", "openssl genpkey"},
	} {
		var err error
		if c.public {
			_, err = ParsePublic("acme.pub", c.data)
		} else {
			_, err = ParsePrivate(c.data)
		}
		var bad *KeyError
		if !errors.As(err, &bad) || !strings.Contains(bad.Message, c.message) || !strings.Contains(bad.Fix, c.fix) {
			t.Errorf("%s (public %v): %+v, want %q and %q", c.name, c.public, err, c.message, c.fix)
		}
	}
	if _, err := Sign(rsaKey, digest); err == nil {
		t.Error("a key of RSA signs")
	}
	if _, err := Sign(p256, "latest"); err == nil {
		t.Error("a tag is signed")
	}
	var _ crypto.Signer = rsaKey
}
