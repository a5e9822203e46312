package trust

import (
	"crypto/ed25519"
	"errors"
	"slices"
	"strings"
	"testing"
)

func pattern(t *testing.T, text string) Pattern {
	t.Helper()
	p, err := ParsePattern(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// TestPatterns checks which sources a pattern fits, and which texts are no patterns.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, source string
		want            bool
	}{
		{"oci://r.example/acme/skills", "oci://r.example/acme/skills", true},
		{"oci://R.example/acme/skills", "oci://r.example/acme/skills", true},
		{"oci://r.example/acme/skills", "oci://r.example/acme/skills/more", false},
		{"oci://r.example/acme/skills", "oci://r.example/acme/skills2", false},
		{"oci://r.example/acme/*", "oci://r.example/acme/skills", true},
		{"oci://r.example/acme/*", "oci://r.example/acme/a/b", false},
		{"oci://r.example/acme/*", "oci://r.example/acme", false},
		{"oci://r.example/acme/**", "oci://r.example/acme/a/b", true},
		{"oci://r.example/acme/**", "oci://r.example/acme", true},
		{"oci://r.example/acme/**", "oci://r.example/acmes/a", false},
		{"oci://r.example/acme/**", "oci://r.example.evil/acme/a", false},
		{"oci://r.example/**/skills", "oci://r.example/a/b/skills", true},
		{"oci://r.example/**/skills", "oci://r.example/a/skills/b", false},
		{"oci://r.example/**/a/*/b", "oci://r.example/a/a/x/b", true},
		{"oci://r.example/a/**", "oci://r.example/a/*", true},   // another pattern
		{"oci://r.example/a/*", "oci://r.example/a/**", false},  // which fits more
		{"oci://r.example/a/**", "oci://r.example/**/a", false}, // and here
		{"oci://docker.io/acme/**", "oci://docker.io/acme/skills", true},
		{"oci://docker.io/acme/**", "oci://index.docker.io/acme/skills", true}, // an old lock has this spelling
		{"oci://docker.io/acme/**", "oci://registry-1.docker.io/acme/skills", true},
		{"oci://docker.io/acme/**", "oci://Registry-1.docker.io:0443/acme/skills", true},
		{"oci://docker.io/acme/**", "oci://registry-1.docker.io:5000/acme/skills", false},
		{"oci://docker.io/acme/**", "oci://docker.io.example/acme/skills", false},
		{"oci://Index.docker.io/acme/**", "oci://docker.io/acme/skills", true},
		{"oci://registry-1.docker.io/acme/*", "oci://docker.io/acme/skills", true},
		{"oci://docker.io/library/**", "oci://index.docker.io/skills", true},
		{"oci://docker.io/skills", "oci://docker.io/library/skills", true},
		{"oci://docker.io/*", "oci://docker.io/skills", true},
		{"oci://docker.io/**", "oci://docker.io/skills", true},
		{"oci://docker.io/**", "oci://index.docker.io/acme/skills", true},
		{"oci://localhost:5901/acme/**", "oci://localhost:05901/acme/skills", true},
		{"oci://localhost:05901/acme/**", "oci://localhost:5901/acme/skills", true},
		{"oci://r.example/acme/**", "oci://r.example:443/acme/skills", true},
		{"oci://r.example:0443/acme/**", "oci://r.example./acme/skills", true},
		{"oci://r.example/acme/**", "oci://r.example:80/acme/skills", false},
		{"oci://127.0.0.1:5901/acme/**", "oci://[::ffff:127.0.0.1]:5901/acme/skills", true},
		{"oci://r.example/a.b/c__d/e--f", "oci://r.example/a.b/c__d/e--f", true},
		{"oci://**", "oci://r.example/a", true},
		{"oci://**", "github.com/acme/skills", false},
		{"**", "github.com/acme/skills", true},
		{"**", "oci://r.example/a", true},
	} {
		if got := pattern(t, c.pattern).Fits(c.source); got != c.want {
			t.Errorf("%s fits %s: %v", c.pattern, c.source, got)
		}
	}
	for _, text := range []string{
		"", "*", "r.example/acme", "https://r.example/a", "github.com/acme/**", "oci://", "oci://r.example", "oci://r.example/", "oci:///a",
		"oci://*/a", "oci://r.example/a:prod", "oci://r.example/a@sha256:1", "oci://r.example//a", "oci://r.example/a/", "oci://r.example/a*", "oci://r.example/***", "oci://r.example/A", "oci://r.example/a b", "oci://localhost:5901/acme%2fu7", "oci://r.example/acme/ü", "oci://r.example/-a/**",
		"oci://127.1:5000/acme/**", "oci://0x7f000001/acme/**", "oci://2130706433/a", "oci://10.0.0.08/a", "oci://10.0.0x1./a", "oci://[1.2]/a", "oci://1.2.3.4.5/a",
	} {
		if p, err := ParsePattern(text); err == nil {
			t.Errorf("%q is the pattern %s", text, p)
		}
	}
}

// TestRules checks that the first rule that fits a source applies, and how it judges locks.
func TestRules(t *testing.T) {
	old, next, other := algorithms[0].make(t), algorithms[1].make(t), algorithms[0].make(t)
	oldKey, nextKey := publicKey(t, "old.pub", old), publicKey(t, "next.pub", next)
	rules := Rules{
		{From: pattern(t, source), Keys: []Key{oldKey, nextKey}, Require: true, Where: "knack.yaml:2"},
		{From: pattern(t, "oci://registry.example.com/**"), Keys: []Key{nextKey}, Where: "knack.yaml:5"},
		{From: pattern(t, Any), Keys: []Key{publicKey(t, "other.pub", other)}, Require: true, Where: "knack.yaml:7"},
	}
	if r, ok := rules.Rule(source); !ok || r.Where != "knack.yaml:2" {
		t.Errorf("the rule of %s is %+v", source, r)
	}
	hub := Rules{{From: pattern(t, "oci://docker.io/acme/**"), Keys: []Key{oldKey}, Require: true}}
	for _, host := range []string{"docker.io", "index.docker.io", "registry-1.docker.io"} {
		if _, err := hub.Verify("oci://"+host+"/acme/skills", digest, nil); err == nil {
			t.Errorf("an unsigned release of %s is taken", host)
		}
		if hub.Locked("oci://"+host+"/acme/skills", "") == nil {
			t.Errorf("a release of %s without a signer is taken from a lock", host)
		}
	}
	if _, err := rules.Verify("oci://registry.example.com/b", digest, nil); err != nil {
		t.Errorf("a rule behind the first that fits was asked: %v", err)
	}

	// While a publisher replaces a key, both keys sign.
	v, err := rules.Verify(source, digest, []Signature{ours(t, next, digest), ours(t, old, digest)})
	if err != nil || v.State != Signed || v.Signer != oldKey.ID || !slices.Equal(v.Signers, []string{oldKey.ID, nextKey.ID}) {
		t.Errorf("%+v, %v", v, err)
	}
	if by := v.By(nextKey.ID).Signer; by != nextKey.ID {
		t.Errorf("the signer of the lock is not preferred: %s", by)
	}
	if by := v.By("key:00").Signer; by != oldKey.ID {
		t.Errorf("%s did not sign", by)
	}

	_, err = rules.Verify(source, digest, []Signature{ours(t, other, digest)})
	want := "the release sha256:111111111111 is signed by another key than old.pub or next.pub, and knack.yaml:2 takes only releases that old.pub or next.pub signed"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = rules.Verify("github.com/acme/skills", "", nil)
	if err == nil || !strings.HasPrefix(err.Error(), "a source of this kind has no signatures, as only registries have them, and knack.yaml:7 takes only") {
		t.Errorf("a source without signatures: %v", err)
	}

	var refusal *Refusal
	for signer, refused := range map[string]bool{oldKey.ID: false, nextKey.ID: false, "": true, publicKey(t, "", other).ID: true} {
		if err := rules.Locked(source, signer); errors.As(err, &refusal) != refused {
			t.Errorf("a lock with the signer %q: %v", signer, err)
		}
	}
	if err := rules.Locked("oci://registry.example.com/b", ""); err != nil {
		t.Errorf("a rule without require refuses a lock: %v", err)
	}
	if err := Rules(nil).Locked(source, ""); err != nil {
		t.Errorf("no rule refuses a lock: %v", err)
	}
}

// TestManySignatures checks that only a bounded number of signatures is judged.
func TestManySignatures(t *testing.T) {
	key := algorithms[1].make(t)
	rules := Rules{{From: pattern(t, Any), Keys: []Key{publicKey(t, "a.pub", key)}}}
	found := make([]Signature, MaxFound, MaxFound+1)
	for i := range found {
		found[i] = cosign3(t, algorithms[0].make(t), digest)
	}
	if v, _ := rules.Verify(source, digest, append(found, ours(t, key, digest))); v.State != UnknownSigner {
		t.Errorf("the signature behind the last that counts is judged: %s", v.State)
	}
	found[MaxFound-1] = ours(t, key, digest)
	if v, _ := rules.Verify(source, digest, found); v.State != Signed {
		t.Errorf("the last signature that counts is not judged: %s", v.State)
	}
}

// FuzzBundle checks that arbitrary bytes never count as a signature by a given key, and that each
// refusal has a fix.
func FuzzBundle(f *testing.F) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	f.Add(ours(f, key, digest).Data, "")
	f.Add(cosign3(f, key, digest).Data, "")
	old := cosign2(f, key, digest)
	f.Add(old.Data, old.Value)
	f.Add([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":`+certificate+`}`), "AA==")
	// Use other keys than the one that signed the inputs, so that no input has a valid signature.
	rules := Rules{{From: Pattern{Any}, Keys: []Key{publicKey(f, "a.pub", algorithms[1].make(f)), publicKey(f, "b.pub", algorithms[0].make(f))}, Require: true, Where: "knack.yaml:1"}}
	f.Fuzz(func(t *testing.T, data []byte, value string) {
		for _, kind := range []string{Bundle, SimpleSigning} {
			v, err := rules.Verify(source, digest, []Signature{{MediaType: kind, Data: data, Value: value}})
			var refusal *Refusal
			if v.State == Signed || v.Signer != "" || !errors.As(err, &refusal) || refusal.Message == "" || refusal.Fix == "" {
				t.Fatalf("%s: %+v, %v", kind, v, err)
			}
			if strings.ContainsAny(refusal.Message, "\n\r\x1b") {
				t.Fatalf("the message has controls of the input: %q", refusal.Message)
			}
		}
	})
}
