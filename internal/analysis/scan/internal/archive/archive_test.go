package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/bound"
)

// within is a visitor that opens the archives in an archive and counts the unpacked bytes.
type within struct {
	budget Budget
	bytes  int
}

func (w *within) Entry(string)          {}
func (w *within) Locked(string, string) {}
func (w *within) Fault(string, error)   {}

func (w *within) File(path string, data []byte, depth int) {
	w.bytes += len(data)
	if Format(data) != "" {
		w.budget.Walk(path, data, depth, w)
	}
}

func FuzzWalk(f *testing.F) {
	var zipped, tarred, packed bytes.Buffer
	z := zip.NewWriter(&zipped)
	file, _ := z.Create("a/b.sh")
	file.Write([]byte(strings.Repeat("echo ", 100)))
	z.Close()
	r := tar.NewWriter(&tarred)
	r.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "a/b.sh", Size: 5, Mode: 0o644})
	r.Write([]byte("echo\n"))
	r.Close()
	g := gzip.NewWriter(&packed)
	g.Write(zipped.Bytes())
	g.Close()
	for _, seed := range [][]byte{zipped.Bytes(), tarred.Bytes(), packed.Bytes()} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := &within{}
		w.budget.Walk("a", data, 0, w)
		if w.bytes > bound.Unpacked || w.budget.unpacked > bound.Unpacked+MaxEntries*leastEntry {
			t.Errorf("%d bytes were unpacked", w.bytes)
		}
	})
}
