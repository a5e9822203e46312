package trust

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"
)

// MaxKey bounds a key file, in bytes.
const MaxKey = 64 << 10

// keyPrefix is the prefix of a key's ID.
const keyPrefix = "key:"

// Key is a public key: ECDSA P-256 or Ed25519.
type Key struct {
	Name string // for messages: the file as the configuration spells it
	// ID is "key:" and the hexadecimal SHA-256 of the key in PKIX form.
	ID     string
	public crypto.PublicKey
	hint   string // the key's hint in bundles of other tools
}

// KeyError is the reason why a file is not a usable key, and a fix.
type KeyError struct{ Message, Fix string }

// Error returns the message.
func (e *KeyError) Error() string { return e.Message }

// ParsePublic parses a public key in PEM, as openssl and cosign write it. The error is a
// [*KeyError], which does not name the file.
func ParsePublic(name string, data []byte) (Key, error) {
	block, err := onlyBlock(data, "a public key")
	if err != nil {
		return Key{}, err
	}
	switch block.Type {
	case "PUBLIC KEY":
	case "CERTIFICATE":
		return Key{}, &KeyError{"it holds a certificate, and knack checks signatures by keys", "write its key with: openssl x509 -pubkey -noout -in FILE"}
	default:
		if strings.Contains(block.Type, "PRIVATE KEY") {
			return Key{}, &KeyError{"it holds a private key, which belongs to its publisher alone", "name the file of the public key; openssl pkey -in FILE -pubout writes it"}
		}
		return Key{}, &KeyError{fmt.Sprintf("it holds %q in PEM, and no public key", shorten(block.Type)), "use a file that begins with -----BEGIN PUBLIC KEY-----"}
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return Key{}, &KeyError{"its public key is damaged", "copy the whole file again, from BEGIN to END"}
	}
	return newKey(name, public)
}

func newKey(name string, public crypto.PublicKey) (Key, error) {
	if kind := unreadKind(public); kind != "" {
		return Key{}, &KeyError{"its key is of the kind " + kind + ", and knack reads P-256 and Ed25519", otherKind}
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return Key{}, &KeyError{"its public key is damaged", "copy the whole file again, from BEGIN to END"}
	}
	sum := sha256.Sum256(der)
	return Key{Name: name, ID: keyPrefix + hex.EncodeToString(sum[:]), public: public, hint: base64.StdEncoding.EncodeToString(sum[:])}, nil
}

const otherKind = "make a key with: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out FILE"

// unreadKind returns the name of an unsupported kind of key, or "".
func unreadKind(public crypto.PublicKey) string {
	switch k := public.(type) {
	case ed25519.PublicKey:
		return ""
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return ""
		}
		return k.Params().Name
	case *rsa.PublicKey:
		return "RSA"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", public), "*")
}

// ParsePrivate parses a publisher's private key: PKCS #8 in PEM, without a password. The error is
// a [*KeyError], which has neither the file's name nor its content.
func ParsePrivate(data []byte) (crypto.Signer, error) {
	block, err := onlyBlock(data, "a private key")
	if err != nil {
		return nil, err
	}
	switch block.Type {
	case "PRIVATE KEY":
	case "ENCRYPTED PRIVATE KEY":
		return nil, &KeyError{"its private key has a password, and knack asks for none", "write it without: openssl pkcs8 -in FILE -out NEWFILE"}
	case "ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY":
		return nil, &KeyError{"it is a key of cosign, which keeps it with a password in a form of its own", "sign with it: cosign sign --key FILE REPOSITORY@DIGEST; or make another key with openssl genpkey"}
	case "EC PRIVATE KEY", "RSA PRIVATE KEY", "EC PARAMETERS":
		return nil, &KeyError{"its private key is not in the form PKCS #8", "write it so: openssl pkcs8 -topk8 -nocrypt -in FILE -out NEWFILE"}
	case "PUBLIC KEY":
		return nil, &KeyError{"it holds a public key, with which nothing can be signed", "name the file of the private key"}
	default:
		return nil, &KeyError{fmt.Sprintf("it holds %q in PEM, and no private key", shorten(block.Type)), "use a file that begins with -----BEGIN PRIVATE KEY-----"}
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, &KeyError{"its private key is damaged", "copy the whole file again, from BEGIN to END"}
	}
	signer, ok := key.(crypto.Signer)
	if !ok { // a key for key agreement only
		return nil, &KeyError{"its key cannot sign", otherKind}
	}
	if _, err := newKey("", signer.Public()); err != nil {
		return nil, err
	}
	return signer, nil
}

// onlyBlock returns the only PEM block of a file.
func onlyBlock(data []byte, what string) (*pem.Block, error) {
	if len(data) > MaxKey {
		return nil, &KeyError{fmt.Sprintf("it has more than %d KiB, which is no key", MaxKey>>10), "use the file of " + what + " in PEM"}
	}
	block, rest := pem.Decode(data)
	if block == nil {
		fix := "use the file of " + what + " in PEM, which begins with -----BEGIN"
		if bytes.HasPrefix(data, []byte("ssh-")) || bytes.HasPrefix(data, []byte("ecdsa-sha2-")) {
			fix = "it is a key of ssh; ssh-keygen -e -m PKCS8 -f FILE writes it in PEM"
		}
		return nil, &KeyError{"it holds no PEM", fix}
	}
	if again, _ := pem.Decode(rest); again != nil && block.Type != "EC PARAMETERS" {
		return nil, &KeyError{"it holds several keys or certificates", "put each key into a file of its own, and name them all"}
	}
	return block, nil
}

// shorten cuts a text of a file for a message.
func shorten(text string) string { return text[:min(len(text), 40)] }
