package oci

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/skill"
)

// signatures returns the signatures of a manifest.
func signatures(t *testing.T, source string) ([]trust.Signature, error) {
	t.Helper()
	opts, _ := options(t)
	ref, err := origin.Parse("oci://"+source, "", "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(opts).Open(t.Context(), ref, origin.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.(origin.Signed).Signatures(t.Context())
}

// TestSignatures checks that exactly the two forms of signatures are found in real registries.
func TestSignatures(t *testing.T) {
	for _, name := range registrytest.All {
		host := registrytest.Open(t, name, "")
		p := publisher{t: t, host: host}
		digest := p.image("acme/pdf", "v1", gz(tarOf(t, "SKILL.md", skillMD("pdf"))))
		if found, err := signatures(t, host+"/acme/pdf:v1"); err != nil || len(found) != 0 {
			t.Errorf("%v %v", found, err)
		}
		registrytest.Attach(t, host, "acme/pdf", digest, "application/spdx+json", []byte("{}"))
		registrytest.Attach(t, host, "acme/pdf", digest, trust.Bundle, []byte("one"))
		registrytest.Attach(t, host, "acme/pdf", digest, trust.BundlePrefix+"+json;version=0.2", []byte("two"))
		older := p.blob("acme/pdf", trust.SimpleSigning, []byte("three"))
		older["annotations"] = map[string]string{trust.SimpleValue: "AAAA", trust.SimpleCertificate: "-----BEGIN"}
		other := p.blob("acme/pdf", "text/plain", []byte("four"))
		data, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": p.blob("acme/pdf", "application/vnd.oci.image.config.v1+json", []byte("{}")), "layers": []any{other, older}})
		if err != nil {
			t.Fatal(err)
		}
		p.send("PUT", "http://"+host+"/v2/acme/pdf/manifests/"+strings.Replace(digest, ":", "-", 1)+".sig", "application/vnd.oci.image.manifest.v1+json", data)
		found, err := signatures(t, host+"/acme/pdf:v1")
		var got []string
		for _, s := range found {
			got = append(got, fmt.Sprintf("%s %s %v %v", s.Data, s.Value, s.Certificate, s.MediaType == trust.SimpleSigning))
		}
		if want := "one  false false, two  false false, three AAAA true true"; err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%v\ngot  %s\nwant %s", err, strings.Join(got, ", "), want)
		}
		// Signatures are also found if the reference has a digest instead of a tag.
		if found, err := signatures(t, host+"/acme/pdf@"+digest); err != nil || len(found) != 3 {
			t.Errorf("%v %v", found, err)
		}
	}
}

// TestEndlessSignatures checks that a registry that lists endless, large or missing signatures
// costs a bounded number of requests.
func TestEndlessSignatures(t *testing.T) {
	image := []byte(`{"schemaVersion":2,"layers":[]}`)
	blob := []byte("x")
	signature := func(i, size int) []byte {
		return fmt.Appendf(nil, `{"schemaVersion":2,"n":%d,"layers":[{"mediaType":%q,"digest":%q,"size":%d}]}`, i, trust.Bundle, skill.DigestOf(blob), size)
	}
	for name, c := range map[string]struct {
		size      int // of each signature
		absent    bool
		predicate string
		found     int
		most      int // requests
	}{
		"many":     {size: len(blob), found: 2 * trust.MaxFound, most: 4*trust.MaxFound + 4},
		"large":    {size: trust.MaxSize + 1, found: 0, most: trust.MaxFound + 4},
		"absent":   {size: len(blob), absent: true, found: trust.MaxFound, most: 2*trust.MaxFound + 4},
		"of other": {size: len(blob), predicate: "https://slsa.dev/provenance/v1", found: trust.MaxFound, most: trust.MaxFound + 4},
	} {
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			_, last, _ := strings.Cut(r.URL.Path, "/acme/pdf/")
			switch kind, name, _ := strings.Cut(last, "/"); {
			case kind == "referrers":
				var list []string
				for i := range 1000 {
					list = append(list, fmt.Sprintf(`{"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":%q,"digest":%q,"size":9,"annotations":{%q:%q}}`, trust.Bundle, skill.DigestOf(signature(i, c.size)), predicateKey, c.predicate))
				}
				fmt.Fprintf(w, `{"schemaVersion":2,"manifests":[%s]}`, strings.Join(list, ","))
			case kind == "blobs":
				w.Write(blob)
			case strings.HasSuffix(name, ".sig"):
				layer := fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d}`, trust.SimpleSigning, skill.DigestOf(blob), c.size)
				fmt.Fprintf(w, `{"schemaVersion":2,"layers":[%s]}`, layer+strings.Repeat(","+layer, 2000))
			case name == "v1":
				w.Write(image)
			case c.absent:
				w.WriteHeader(http.StatusNotFound)
			default:
				for i := range 1000 {
					if data := signature(i, c.size); skill.DigestOf(data).String() == name {
						w.Write(data)
					}
				}
			}
		}))
		found, err := signatures(t, strings.TrimPrefix(server.URL, "http://")+"/acme/pdf:v1")
		server.Close()
		if err != nil || len(found) != c.found || requests > c.most {
			t.Errorf("%s: %d signatures, %d requests, %v; want %d with at most %d", name, len(found), requests, err, c.found, c.most)
		}
	}
}
