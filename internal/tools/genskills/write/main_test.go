package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/knack-dev/knack/internal/tools/genskills"
)

// TestWrite checks that the tree has exactly the generated files, and that write refuses to write
// over another tree.
func TestWrite(t *testing.T) {
	o := genskills.Options{Seed: 5, Faults: 0.2, MaxBytes: 2000}
	root := filepath.Join(t.TempDir(), "new")
	files, size, err := write(root, 30, o)
	if err != nil {
		t.Fatal(err)
	}
	var want, sum int64
	for i := range 30 {
		s := o.At(i)
		for _, f := range s.Files {
			at := filepath.Join(root, filepath.FromSlash(s.Path), filepath.FromSlash(f.Path))
			data, err := os.ReadFile(at)
			if err != nil || !bytes.Equal(data, f.Data) {
				t.Errorf("%s: %d bytes, want %d; %v", at, len(data), len(f.Data), err)
			}
			want, sum = want+1, sum+int64(len(f.Data))
		}
	}
	found := int64(0)
	if err := filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if files != want || size != sum || found != want {
		t.Errorf("says %d files and %d bytes, wrote %d; want %d and %d", files, size, found, want, sum)
	}
	if _, _, err := write(root, 1, o); err == nil {
		t.Error("writes into a folder that is not empty")
	}
}
