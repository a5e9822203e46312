package trust

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const (
	digest      = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	otherDigest = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
	source      = "oci://registry.example.com/acme/skills"
)

// algorithms lists the kinds of keys, each with a function that makes a new key.
var algorithms = []struct {
	name string
	make func(t testing.TB) crypto.Signer
}{
	{"P-256", func(t testing.TB) crypto.Signer {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}},
	{"Ed25519", func(t testing.TB) crypto.Signer {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}},
}

func publicPEM(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func publicKey(t testing.TB, name string, key crypto.Signer) Key {
	t.Helper()
	k, err := ParsePublic(name, publicPEM(t, key))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// ours returns a signature whose bundle [Sign] makes.
func ours(t testing.TB, key crypto.Signer, about string) Signature {
	t.Helper()
	data, err := Sign(key, about)
	if err != nil {
		t.Fatal(err)
	}
	return Signature{MediaType: Bundle, Data: data}
}

// signValue signs as cosign does: P-256 with random numbers, and Ed25519 over SHA-512.
func signValue(t testing.TB, key crypto.Signer, message []byte) string {
	t.Helper()
	sum, hash := sha256.Sum256(message), crypto.SHA256
	data := sum[:]
	if _, ok := key.(ed25519.PrivateKey); ok {
		long := sha512.Sum512(message)
		data, hash = long[:], crypto.SHA512
	}
	sig, err := key.Sign(rand.Reader, data, hash)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(sig)
}

// envelope returns a signature whose bundle has the fields and the order that cosign 3 writes.
func envelope(t testing.TB, key crypto.Signer, payload, materialJSON string) Signature {
	t.Helper()
	const kind = "application/vnd.in-toto+json"
	text := fmt.Sprintf(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial":%s, "dsseEnvelope":{"payload":%q, "payloadType":%q, "signatures":[{"sig":%q}]}}`,
		materialJSON, base64.StdEncoding.EncodeToString([]byte(payload)), kind, signValue(t, key, []byte(fmt.Sprintf("DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload))))
	return Signature{MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", Data: []byte(text)}
}

func cosignPayload(about string) string {
	return fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1", "subject":[{"digest":{"sha256":%q}, "annotations":{}}], "predicateType":"https://sigstore.dev/cosign/sign/v1", "predicate":{}}`, strings.TrimPrefix(about, "sha256:"))
}

func hintOf(t testing.TB, key crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	return `{"publicKey":{"hint":"` + base64.StdEncoding.EncodeToString(sum[:]) + `"}, "tlogEntries":[]}`
}

// cosign3 returns a signature whose bundle is as cosign 3 makes it.
func cosign3(t testing.TB, key crypto.Signer, about string) Signature {
	return envelope(t, key, cosignPayload(about), hintOf(t, key))
}

const certificate = `{"certificate":{"rawBytes":"MIIB"}, "tlogEntries":[{"logIndex":"1"}]}`

// cosign2 returns a signature from the layer of the tag that cosign 2 writes.
func cosign2(t testing.TB, key crypto.Signer, about string) Signature {
	t.Helper()
	data := fmt.Sprintf(`{"critical":{"identity":{"docker-reference":"registry.example.com/acme/skills"},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, about)
	return Signature{MediaType: SimpleSigning, Data: []byte(data), Value: signValue(t, key, []byte(data))}
}

// twice returns a signature of cosign 2 that names two releases.
func twice(t testing.TB, key crypto.Signer) Signature {
	t.Helper()
	s := cosign2(t, key, otherDigest)
	s.Data = bytes.Replace(s.Data, []byte(`},"type"`), []byte(`,"Docker-Manifest-Digest":"`+digest+`"},"type"`), 1)
	s.Value = signValue(t, key, s.Data)
	return s
}

// altered replaces a text in the payload of a bundle, and keeps the value of the signature.
func altered(t testing.TB, s Signature, old, new string) Signature {
	t.Helper()
	var b map[string]any
	if err := json.Unmarshal(s.Data, &b); err != nil {
		t.Fatal(err)
	}
	e := b["dsseEnvelope"].(map[string]any)
	payload, err := base64.StdEncoding.DecodeString(e["payload"].(string))
	if err != nil || !strings.Contains(string(payload), old) {
		t.Fatalf("%q is not in the payload %s (%v)", old, payload, err)
	}
	e["payload"] = base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(payload), old, new, 1)))
	if s.Data, err = json.Marshal(b); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMatrix checks the verdict on each kind of signature without a rule, with a rule, and with a
// rule that requires a signature. The three verdicts of a row are in this order. A verdict with "!"
// is a refusal.
func TestMatrix(t *testing.T) {
	for _, alg := range algorithms {
		key, wrong := alg.make(t), alg.make(t)
		rows := []struct {
			name  string
			found []Signature
			want  string
		}{
			{"unsigned", nil, "unsigned, unsigned, unsigned!"},
			{"ours", []Signature{ours(t, key, digest)}, "unknown signer, signed, signed"},
			{"cosign 3 bundle", []Signature{cosign3(t, key, digest)}, "unknown signer, signed, signed"},
			{"cosign 2 .sig", []Signature{cosign2(t, key, digest)}, "unknown signer, signed, signed"},
			{"wrong key", []Signature{ours(t, wrong, digest)}, "unknown signer, unknown signer, unknown signer!"},
			{"wrong key, cosign 3", []Signature{cosign3(t, wrong, digest)}, "unknown signer, unknown signer, unknown signer!"},
			{"wrong key, cosign 2", []Signature{cosign2(t, wrong, digest)}, "unknown signer, unknown signer, unknown signer!"},
			{"wrong key under the hint of the right one", []Signature{envelope(t, wrong, cosignPayload(digest), hintOf(t, key))}, "unknown signer, invalid!, invalid!"},
			{"other digest", []Signature{ours(t, key, otherDigest)}, "invalid!, invalid!, invalid!"},
			{"other digest, cosign 3", []Signature{cosign3(t, key, otherDigest)}, "invalid!, invalid!, invalid!"},
			{"other digest, cosign 2", []Signature{cosign2(t, key, otherDigest)}, "invalid!, invalid!, invalid!"},
			{"altered payload", []Signature{altered(t, ours(t, key, otherDigest), otherDigest[7:], digest[7:])}, "unknown signer, invalid!, invalid!"},
			{"altered payload without a hint", []Signature{altered(t, envelope(t, key, cosignPayload(otherDigest), `{"publicKey":{}}`), otherDigest[7:], digest[7:])}, "unknown signer, unknown signer, unknown signer!"},
			{"altered payload, cosign 2", []Signature{{MediaType: SimpleSigning, Data: cosign2(t, key, digest).Data, Value: cosign2(t, key, otherDigest).Value}}, "unknown signer, unknown signer, unknown signer!"},
			{"two signatures", []Signature{ours(t, wrong, digest), cosign3(t, key, digest)}, "unknown signer, signed, signed"},
			{"two signatures, one of another release", []Signature{ours(t, key, otherDigest), ours(t, key, digest)}, "invalid!, signed, signed"},
			{"two signatures, old and new", []Signature{cosign2(t, key, digest), ours(t, key, digest)}, "unknown signer, signed, signed"},
			{"keyless", []Signature{envelope(t, wrong, cosignPayload(digest), certificate)}, "keyless, keyless, keyless!"},
			{"keyless, cosign 2", []Signature{{MediaType: SimpleSigning, Data: cosign2(t, wrong, digest).Data, Certificate: true}}, "keyless, keyless, keyless!"},
			{"keyless and ours", []Signature{envelope(t, wrong, cosignPayload(digest), certificate), ours(t, key, digest)}, "unknown signer, signed, signed"},
			{"keyless by the trusted key's own value", []Signature{envelope(t, key, cosignPayload(digest), certificate)}, "keyless, keyless, keyless!"},
			{"provenance of a build", []Signature{envelope(t, key, strings.Replace(cosignPayload(digest), "sigstore.dev/cosign/sign/v1", "slsa.dev/provenance/v1", 1), hintOf(t, key))}, "unsigned, unsigned, unsigned!"},
			{"a statement of another type", []Signature{envelope(t, key, strings.Replace(cosignPayload(digest), "in-toto.io/Statement/v1", "evil.example/Statement/v9", 1), hintOf(t, key))}, "invalid!, invalid!, invalid!"},
			{"a statement without a type", []Signature{envelope(t, key, strings.Replace(cosignPayload(digest), `"_type":"https://in-toto.io/Statement/v1", `, "", 1), hintOf(t, key))}, "invalid!, invalid!, invalid!"},
			{"a name in other case", []Signature{envelope(t, key, strings.Replace(cosignPayload(digest), "subject", "SUBJECT", 1), hintOf(t, key))}, "invalid!, invalid!, invalid!"},
			{"a subject twice", []Signature{envelope(t, key, strings.Replace(cosignPayload(otherDigest), `"predicateType"`, `"Subject":[{"digest":{"sha256":"`+digest[7:]+`"}}], "predicateType"`, 1), hintOf(t, key))}, "invalid!, invalid!, invalid!"},
			{"a digest twice, cosign 2", []Signature{twice(t, key)}, "invalid!, invalid!, invalid!"},
			{"no JSON", []Signature{{MediaType: Bundle, Data: []byte("{")}}, "invalid!, invalid!, invalid!"},
			{"a later format", []Signature{{MediaType: Bundle, Data: []byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v9+json"}`)}}, "unknown signer, unknown signer, unknown signer!"},
			{"too large", []Signature{{MediaType: Bundle, Data: append(ours(t, key, digest).Data, bytes.Repeat([]byte(" "), MaxSize)...)}}, "invalid!, invalid!, invalid!"},
		}
		from, err := ParsePattern("oci://registry.example.com/acme/**")
		if err != nil {
			t.Fatal(err)
		}
		rule := Rule{From: from, Keys: []Key{publicKey(t, "acme.pub", key)}, Where: "knack.yaml:2"}
		required := rule
		required.Require = true
		for _, row := range rows {
			t.Run(row.name+" "+alg.name, func(t *testing.T) {
				var got []string
				for _, rules := range []Rules{nil, {rule}, {required}} {
					v, err := rules.Verify(source, digest, row.found)
					text := string(v.State)
					var refusal *Refusal
					if errors.As(err, &refusal) {
						text += "!"
						if refusal.Message == "" || refusal.Fix == "" || refusal.Verdict.State != v.State {
							t.Errorf("the refusal %+v does not say what happened and what to do", refusal)
						}
					} else if err != nil {
						t.Error(err)
					}
					if (v.State == Signed) != (v.Signer == rule.Keys[0].ID) {
						t.Errorf("%s by %q", v.State, v.Signer)
					}
					got = append(got, text)
				}
				if text := strings.Join(got, ", "); text != row.want {
					t.Errorf("got  %s\nwant %s", text, row.want)
				}
			})
		}
	}
}
