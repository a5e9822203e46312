package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
)

// TestTarWithoutEnd checks that a tar without its end marker is accepted in gzip, as umoci writes a
// layer. The end of the gzip stream shows that nothing is missing.
func TestTarWithoutEnd(t *testing.T) {
	var plain, packed bytes.Buffer
	w := tar.NewWriter(&plain)
	if err := w.WriteHeader(&tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: 1}); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("x"))
	w.Flush() // and no Close
	z := gzip.NewWriter(&packed)
	z.Write(plain.Bytes())
	z.Close()
	walk := func(data []byte) (names []string, err error) {
		err = Walk(t.Context(), bytes.NewReader(data), int64(len(data)), func(e origin.Node, _ io.Reader) error {
			names = append(names, e.Path)
			return nil
		})
		return names, err
	}
	if names, err := walk(packed.Bytes()); len(names) != 1 || err != nil {
		t.Errorf("in gzip: %v, %v", names, err)
	}
	if _, err := walk(plain.Bytes()); err == nil {
		t.Error("a plain tar may have been cut off")
	}
	if _, err := walk(packed.Bytes()[:packed.Len()-4]); err == nil {
		t.Error("the gzip was cut off")
	}
}
