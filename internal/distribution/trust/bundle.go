package trust

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/base/jsonfile"
)

// The formats of a signature and its parts.
const (
	// Bundle is the media type of a bundle, and the artifact type of its manifest.
	Bundle = "application/vnd.dev.sigstore.bundle.v0.3+json"
	// BundlePrefix is the prefix of the media types of all bundle versions.
	BundlePrefix = "application/vnd.dev.sigstore.bundle"
	// PredicateType is the predicate type of a statement that signs a manifest.
	PredicateType = "https://sigstore.dev/cosign/sign/v1"

	statementType = "https://in-toto.io/Statement/v1"
	payloadType   = "application/vnd.in-toto+json"
)

// bundle is the part of a sigstore bundle that knack reads and writes.
type bundle struct {
	MediaType            string   `json:"mediaType"`
	VerificationMaterial material `json:"verificationMaterial"`
	Envelope             *struct {
		Payload     string  `json:"payload"`
		PayloadType string  `json:"payloadType"`
		Signatures  []value `json:"signatures"`
	} `json:"dsseEnvelope,omitempty"`
}

type material struct {
	PublicKey *struct {
		Hint string `json:"hint"`
	} `json:"publicKey,omitempty"`
	Certificate json.RawMessage `json:"certificate,omitempty"`
	Chain       json.RawMessage `json:"x509CertificateChain,omitempty"`
}

type value struct {
	Sig string `json:"sig"`
}

// statement is the signed text about a manifest.
type statement struct {
	Type    string `json:"_type"`
	Subject []struct {
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
	PredicateType string `json:"predicateType"`
}

// judgeBundle evaluates a bundle for a manifest. A bundle of another statement, such as the
// provenance of a build, is not a signature of the manifest.
func judgeBundle(data []byte, keys []Key, manifestDigest string) finding {
	other := finding{state: Unsigned, reason: "is not signed"}
	var b bundle
	if err := jsonfile.Unmarshal(data, &b); err != nil {
		return invalid("is not JSON as bundles have it")
	}
	if !slices.Contains([]string{Bundle, BundlePrefix + "+json;version=0.1", BundlePrefix + "+json;version=0.2", BundlePrefix + "+json;version=0.3"}, b.MediaType) {
		return finding{state: UnknownSigner, reason: "has a signature in a format that this knack does not read"}
	}
	e := b.Envelope
	if e == nil || e.PayloadType != payloadType {
		return other
	}
	payload, err := unbase64(e.Payload)
	if err != nil {
		return invalid("holds no payload")
	}
	var s statement
	if err := jsonfile.Unmarshal(payload, &s); err != nil {
		return invalid("holds no statement")
	}
	if s.PredicateType != PredicateType {
		return other
	}
	if s.Type != statementType {
		return invalid("holds a statement of a type that is not known")
	}
	if !s.isAbout(manifestDigest) {
		return invalid("is of another release")
	}
	m := b.VerificationMaterial
	if m.PublicKey == nil {
		if m.Certificate != nil || m.Chain != nil {
			return keyless()
		}
		return invalid("names neither a key nor a certificate")
	}
	if len(e.Signatures) != 1 {
		return invalid("has %d values instead of one", len(e.Signatures))
	}
	sig, err := unbase64(e.Signatures[0].Sig)
	if err != nil {
		return invalid("has no value")
	}
	signed := pae(e.PayloadType, payload)
	for _, k := range keys {
		if k.verifies(signed, sig) {
			return finding{state: Signed, signer: k.ID}
		}
	}
	for _, k := range keys {
		if k.hint == m.PublicKey.Hint {
			return invalid("does not fit its content: one of the two was altered")
		}
	}
	return unknownSigner(keys)
}

// isAbout reports whether a statement is about a manifest.
func (s statement) isAbout(manifestDigest string) bool {
	algorithm, value, _ := strings.Cut(manifestDigest, ":")
	if value == "" {
		return false
	}
	for _, about := range s.Subject {
		if about.Digest[algorithm] == value {
			return true
		}
	}
	return false
}

// pae returns the pre-authentication encoding of an envelope, as defined by DSSE v1.
func pae(payloadType string, payload []byte) []byte {
	b := append([]byte("DSSEv1 "), strconv.Itoa(len(payloadType))...)
	b = append(append(b, ' '), payloadType...)
	b = strconv.AppendInt(append(b, ' '), int64(len(payload)), 10)
	return append(append(b, ' '), payload...)
}

// verifies reports whether sig is the key's signature of these bytes. An Ed25519 key may have
// signed their SHA-512 instead, as cosign does.
func (k Key) verifies(signed, sig []byte) bool {
	switch public := k.public.(type) {
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(signed)
		return ecdsa.VerifyASN1(public, sum[:], sig)
	case ed25519.PublicKey:
		sum := sha512.Sum512(signed)
		return ed25519.Verify(public, signed, sig) || ed25519.VerifyWithOptions(public, sum[:], sig, &ed25519.Options{Hash: crypto.SHA512}) == nil
	}
	return false
}

// unbase64 decodes base64 in either alphabet, as the JSON mapping of Protocol Buffers allows.
func unbase64(text string) ([]byte, error) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err == nil && len(data) == 0 {
		err = base64.CorruptInputError(0)
	}
	return data, err
}

// Sign returns a bundle that signs a manifest with a key from [ParsePrivate]. The same key and
// digest give the same bundle.
func Sign(key crypto.Signer, manifestDigest string) ([]byte, error) {
	k, err := newKey("", key.Public())
	if err != nil {
		return nil, err
	}
	algorithm, hex, ok := strings.Cut(manifestDigest, ":")
	if !ok {
		return nil, fmt.Errorf("%q is no digest of a manifest", shorten(manifestDigest))
	}
	payload, err := json.Marshal(map[string]any{
		"_type":         statementType,
		"subject":       []any{map[string]any{"digest": map[string]string{algorithm: hex}}},
		"predicateType": PredicateType,
		"predicate":     struct{}{},
	})
	if err != nil {
		return nil, err
	}
	message, hash := pae(payloadType, payload), crypto.Hash(0)
	if _, ok := k.public.(*ecdsa.PublicKey); ok {
		sum := sha256.Sum256(message)
		message, hash = sum[:], crypto.SHA256
	}
	sig, err := key.Sign(nil, message, hash) // without random numbers, as RFC 6979 defines
	if err != nil {
		return nil, fmt.Errorf("the key cannot sign: %w", err)
	}
	return json.Marshal(map[string]any{
		"mediaType":            Bundle,
		"verificationMaterial": map[string]any{"publicKey": map[string]string{"hint": k.hint}},
		"dsseEnvelope": map[string]any{
			"payload": base64.StdEncoding.EncodeToString(payload), "payloadType": payloadType,
			"signatures": []value{{base64.StdEncoding.EncodeToString(sig)}},
		},
	})
}
