package install_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
	source "github.com/knack-dev/knack/source/dir"
)

// registry returns a source in a registry whose tag moves, and a function that publishes files
// there.
func registry(t *testing.T, _ string) (string, func(map[string]string)) {
	var layer []byte
	manifest := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, body := "application/octet-stream", []byte(nil)
		switch name := path.Base(r.URL.Path); {
		case r.URL.Path == "/v2/":
			kind, body = "application/json", []byte("{}")
		case name == "list":
			kind, body = "application/json", []byte(`{"name":"acme/skills","tags":["stable"]}`)
		case strings.Contains(r.URL.Path, "/manifests/") && (name == "stable" || name == skill.DigestOf([]byte(manifest)).String()):
			kind, body = "application/vnd.oci.image.manifest.v1+json", []byte(manifest)
		case name == skill.DigestOf(layer).String():
			body = layer
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Docker-Content-Digest", skill.DigestOf(body).String())
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return "oci://" + strings.TrimPrefix(server.URL, "http://") + "/acme/skills:stable", func(files map[string]string) {
		layer = tarred(t, files)
		manifest = fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":%q,"size":2},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":%q,"size":%d}]}`,
			skill.DigestOf([]byte("{}")), skill.DigestOf(layer), len(layer))
	}
}

// peer returns a source on a server with the Skills extension, and a function that publishes files
// there.
func peer(t *testing.T, dir string) (string, func(map[string]string)) {
	var now atomic.Pointer[mcpserver.HTTP]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	return "mcp:" + server.URL + "/mcp", func(files map[string]string) {
		at := filepath.Join(dir, "served")
		fill(t, filepath.Join(at, "skills", "pdf"), files)
		c := catalog.New([]catalog.Source{source.New(source.Options{Root: skill.Root{Label: "dir-1", Dir: at}})}, catalog.Options{})
		must(t, c.Refresh(t.Context()))
		h, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c}), mcpserver.HTTPOptions{})
		must(t, err)
		now.Store(h)
	}
}

func tarred(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Name: "skills/pdf/" + name, Size: int64(len(files[name])), Mode: 0o644}
		if strings.HasSuffix(name, ".sh") {
			h.Mode = 0o755
		}
		must(t, w.WriteHeader(h))
		_, err := w.Write([]byte(files[name]))
		must(t, err)
	}
	must(t, w.Close())
	must(t, z.Close())
	return b.Bytes()
}
