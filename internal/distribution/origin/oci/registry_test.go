package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/internal/test/origintest"
	"github.com/knack-dev/knack/skill"
)

// publisher pushes artifacts in the form that other tools give them.
type publisher struct {
	t    *testing.T
	host string
	user string // "name:password", or ""
}

func (p publisher) send(method, url, contentType string, body []byte) *http.Response {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	if name, password, ok := strings.Cut(p.user, ":"); ok {
		req.SetBasicAuth(name, password)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	answer, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode > 299 {
		p.t.Fatalf("%s %s: %s\n%s", method, url, resp.Status, answer)
	}
	return resp
}

// blob pushes a blob and returns its descriptor.
func (p publisher) blob(repo, mediaType string, data []byte) map[string]any {
	p.t.Helper()
	digest := skill.DigestOf(data).String()
	at := p.send("POST", "http://"+p.host+"/v2/"+repo+"/blobs/uploads/", "", nil)
	location, err := at.Location()
	if err != nil {
		p.t.Fatal(err)
	}
	query := location.Query()
	query.Set("digest", digest)
	location.RawQuery = query.Encode()
	p.send("PUT", location.String(), "application/octet-stream", data)
	return map[string]any{"mediaType": mediaType, "digest": digest, "size": len(data)}
}

const (
	imageType = "application/vnd.oci.image.manifest.v1+json"
	indexType = "application/vnd.oci.image.index.v1+json"
	gzipLayer = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// manifest pushes a manifest and returns its descriptor.
func (p publisher) manifest(repo, tag string, m map[string]any) map[string]any {
	p.t.Helper()
	m["schemaVersion"] = 2
	if m["mediaType"] == nil {
		m["mediaType"] = imageType
	}
	if m["mediaType"] == imageType && m["config"] == nil {
		m["config"] = p.blob(repo, registry.EmptyType, []byte("{}"))
	}
	data, err := json.Marshal(m)
	if err != nil {
		p.t.Fatal(err)
	}
	digest := skill.DigestOf(data).String()
	if tag == "" {
		tag = digest
	}
	p.send("PUT", "http://"+p.host+"/v2/"+repo+"/manifests/"+tag, m["mediaType"].(string), data)
	return map[string]any{"mediaType": m["mediaType"], "digest": digest, "size": len(data)}
}

// image pushes an image whose layers are gzipped tars.
func (p publisher) image(repo, tag string, layers ...[]byte) (digest string) {
	p.t.Helper()
	var list []any
	for _, l := range layers {
		list = append(list, p.blob(repo, gzipLayer, l))
	}
	return p.manifest(repo, tag, map[string]any{"layers": list})["digest"].(string)
}

// with adds an annotation to a descriptor.
func with(d map[string]any, key, value string) map[string]any {
	annotations, _ := d["annotations"].(map[string]string)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	d["annotations"] = annotations
	return d
}

func skillMD(name string) string {
	return "---\nname: " + name + "\ndescription: Does what " + name + " is for.\n---\nDo it.\n"
}

// tarOf packs files, given as path and content. A path that begins with + is executable, and a path
// that ends with / is a folder. Content that begins with -> is the target of a link.
func tarOf(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		name, content := files[i], files[i+1]
		h := &tar.Header{Name: strings.TrimPrefix(name, "+"), Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}
		if h.Name != name {
			h.Mode = 0o755
		}
		if target, ok := strings.CutPrefix(content, "->"); ok {
			h.Typeflag, h.Linkname, h.Size, content = tar.TypeSymlink, target, 0, ""
		}
		if strings.HasSuffix(name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, content)
	}
	w.Close()
	return b.Bytes()
}

func gz(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// options returns the options of an Origin that does not wait. The list gets the durations that it
// would have waited.
func options(t *testing.T) (Options, *[]time.Duration) {
	var mu sync.Mutex
	waits := new([]time.Duration)
	fetcher := httpfetch.New(httpfetch.Options{})
	t.Cleanup(fetcher.Close)
	return Options{
		Options: registry.Options{
			Fetcher: fetcher,
			Wait: func(ctx context.Context, d time.Duration) error {
				mu.Lock()
				defer mu.Unlock()
				*waits = append(*waits, d)
				return ctx.Err()
			},
			Read: os.ReadFile,
		},
		Spool: origintest.Spools(t),
	}, waits
}

// open parses a source and opens it.
func open(t *testing.T, o *Origin, source string) (origin.Library, error) {
	t.Helper()
	ref, err := origin.Parse(source, "", "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := o.Open(t.Context(), ref, origin.Revision{})
	if err == nil {
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return l, err
}

// install fetches every skill of a source that has no fault. It returns the sink and all skills.
func install(t *testing.T, o *Origin, source string) (*origintest.Sink, []origin.Skill, error) {
	t.Helper()
	l, err := open(t, o, source)
	if err != nil {
		return nil, nil, err
	}
	skills, to, err := origintest.Take(t.Context(), l)
	return to, skills, err
}
