package oci

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/skill"
)

// TestUnreadableSignature checks that a good signature is used despite an unreadable one. An
// unreadable signature alone causes a temporary error: a later poll may accept the release.
func TestUnreadableSignature(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	key, err := trust.ParsePublic("a.pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	image := `{"schemaVersion":2,"layers":[]}`
	digest := skill.DigestOf([]byte(image)).String()
	bundle, err := trust.Sign(private, digest)
	if err != nil {
		t.Fatal(err)
	}
	manifestOf := func(layer string, size int64) string {
		return fmt.Sprintf(`{"schemaVersion":2,"layers":[{"mediaType":%q,"digest":%q,"size":%d}]}`, trust.Bundle, skill.DigestOf([]byte(layer)), size)
	}
	good := manifestOf(string(bundle), int64(len(bundle)))
	for name, c := range map[string]struct {
		manifest string // the manifest of the unreadable signature
		older    string // the unreadable signature in cosign's older form
		entry    string // the entry in the list of referrers, if the manifest's own is not used
		want     string
	}{
		"no JSON":          {manifest: "{", want: "has a signature that is not JSON as bundles have it"},
		"huge":             {manifest: manifestOf("x", 1<<40), want: "has a signature that is not JSON as bundles have it"},
		"large":            {manifest: `{"schemaVersion":2,"a":"` + strings.Repeat("a", 5<<20) + `"}`, want: "has a signature that is not JSON as bundles have it"},
		"a digest is none": {manifest: `{"schemaVersion":2,"layers":[{"digest":"../../evil"}]}`, want: "has a signature that is not JSON as bundles have it"},
		"other bytes":      {manifest: manifestOf("altered", 7), want: "a signature cannot be fetched: "},
		"no answer":        {manifest: manifestOf("broken", 6), want: "a signature cannot be fetched: "},
		"an entry":         {manifest: "{", entry: "sha512:1", want: "its signatures cannot be listed: "},
		"older, no JSON":   {older: "{", want: "has a signature that is not as cosign writes it"},
		"older, huge":      {older: manifestOf("x", 1<<40), want: "has a signature that is not as cosign writes it"},
	} {
		t.Run(name, func(t *testing.T) {
			var referrers []string
			manifests := map[string]string{"v1": image, digest: image}
			if c.older != "" {
				manifests[strings.Replace(digest, ":", "-", 1)+".sig"] = c.older
			}
			list := func(manifest, at string) {
				manifests[at] = manifest
				referrers = append(referrers, fmt.Sprintf(`{"artifactType":%q,"digest":%q}`, trust.Bundle, at))
			}
			if c.entry != "" {
				list(c.manifest, c.entry)
			} else if c.manifest != "" {
				list(c.manifest, skill.DigestOf([]byte(c.manifest)).String())
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, last, _ := strings.Cut(r.URL.Path, "/acme/pdf/")
				kind, name, _ := strings.Cut(last, "/")
				switch data, has := manifests[name]; {
				case kind == "referrers":
					fmt.Fprintf(w, `{"schemaVersion":2,"manifests":[%s]}`, strings.Join(referrers, ","))
				case kind == "manifests" && has:
					io.WriteString(w, data)
				case name == skill.DigestOf(bundle).String():
					w.Write(bundle)
				case name == skill.DigestOf([]byte("altered")).String():
					io.WriteString(w, "another")
				case name == skill.DigestOf([]byte("broken")).String():
					w.WriteHeader(http.StatusInternalServerError)
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			defer server.Close()
			rule := trust.Rule{Keys: []trust.Key{key}, Require: true, Where: "knack.yaml:1"}
			if rule.From, err = trust.ParsePattern("oci://**"); err != nil {
				t.Fatal(err)
			}
			judge := func() (trust.Verdict, error) {
				opts, _ := options(t)
				ref, err := origin.Parse("oci://"+strings.TrimPrefix(server.URL, "http://")+"/acme/pdf:v1", "", "")
				if err != nil {
					t.Fatal(err)
				}
				l, err := New(opts).Open(t.Context(), ref, origin.Revision{})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				return origin.Verify(t.Context(), trust.Rules{rule}, ref, l)
			}
			_, err := judge()
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, origin.ErrLimit) || errors.Is(err, origin.ErrNoSkills) || errors.Is(err, origin.ErrGone) {
				t.Errorf("alone: %v, want %q", err, c.want)
			}
			list(good, skill.DigestOf([]byte(good)).String())
			if v, err := judge(); err != nil || v.State != trust.Signed {
				t.Errorf("with a good one: %v, %v", v, err)
			}
		})
	}
}
