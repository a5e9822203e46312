package registrytest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Skills maps the path of each file of a release to its content.
type Skills map[string]string

// Skill returns the SKILL.md of a skill with this name and text.
func Skill(name, text string) string {
	return "---\nname: " + name + "\ndescription: Does what " + name + " is for.\n---\n" + text + "\n"
}

// Release pushes a release and returns the digest of its manifest. The hash of a skill's outermost
// folder selects the pack that contains the skill. The layer before the packs is one that no
// replica needs.
func Release(t testing.TB, host, repo, tag string, packs int, skills Skills, annotations map[string]string) (digest string) {
	t.Helper()
	files := make([]Skills, packs)
	for path, content := range skills {
		outer, _, _ := strings.Cut(path, "/")
		sum := sha256.Sum256([]byte(outer))
		pack := packs * int(binary.BigEndian.Uint16(sum[:2])) >> 16
		if files[pack] == nil {
			files[pack] = Skills{}
		}
		files[pack][path] = content
	}
	layers := [][]byte{Pack(t, Skills{".knack/index.json": "{}\n"})}
	for _, f := range files {
		if f != nil {
			layers = append(layers, Pack(t, f))
		}
	}
	all := map[string]string{"io.github.knack-dev.release": "1"}
	maps.Copy(all, annotations)
	return Image(t, host, repo, tag, all, layers...)
}

// Pack returns the files as a gzipped tar, in byte order of their paths.
func Pack(t testing.TB, files Skills) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o644, Size: int64(len(files[path]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[path]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const imageType = "application/vnd.oci.image.manifest.v1+json"

// Image pushes an image with these annotations and layers, and returns its digest.
func Image(t testing.TB, host, repo, tag string, annotations map[string]string, layers ...[]byte) (digest string) {
	t.Helper()
	list := []map[string]any{}
	for i, l := range layers {
		d := blob(t, host, repo, "application/vnd.oci.image.layer.v1.tar+gzip", l)
		d["annotations"] = map[string]string{"org.opencontainers.image.title": fmt.Sprintf("%d.tar.gz", i)}
		list = append(list, d)
	}
	data, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": imageType, "annotations": annotations, "layers": list,
		"config": blob(t, host, repo, "application/vnd.oci.empty.v1+json", []byte("{}")),
	})
	if err != nil {
		t.Fatal(err)
	}
	send(t, http.MethodPut, "http://"+host+"/v2/"+repo+"/manifests/"+tag, imageType, data)
	return digestOf(data)
}

// Tag adds a tag to a manifest.
func Tag(t testing.TB, host, repo, digest, tag string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/v2/"+repo+"/manifests/"+digest, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", imageType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, err)
	}
	send(t, http.MethodPut, "http://"+host+"/v2/"+repo+"/manifests/"+tag, resp.Header.Get("Content-Type"), data)
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// blob pushes a blob and returns its descriptor.
func blob(t testing.TB, host, repo, mediaType string, data []byte) map[string]any {
	t.Helper()
	at := send(t, http.MethodPost, "http://"+host+"/v2/"+repo+"/blobs/uploads/", "", nil)
	location, err := at.Location()
	if err != nil {
		t.Fatal(err)
	}
	query := location.Query()
	query.Set("digest", digestOf(data))
	location.RawQuery = query.Encode()
	send(t, http.MethodPut, location.String(), "application/octet-stream", data)
	return map[string]any{"mediaType": mediaType, "digest": digestOf(data), "size": len(data)}
}

func send(t testing.TB, method, url, contentType string, body []byte) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode > 299 {
		t.Fatalf("%s %s: %s\n%s", method, url, resp.Status, answer)
	}
	return resp
}

// Stored repacks a gzip without compression. The unpacked content stays the same.
func Stored(t testing.TB, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Noise returns n incompressible bytes, the same ones each time.
func Noise(n int) string {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	return string(data)
}
