package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/corpus"
)

// read returns the entries of an archive: "TYPE CONTENT" by path.
func read(data []byte) (map[string]string, error) {
	found := map[string]string{}
	r := bytes.NewReader(data)
	err := Walk(context.Background(), r, r.Size(), func(e origin.Node, content io.Reader) error {
		data, err := io.ReadAll(content)
		if err == nil && e.Size != int64(len(data)) {
			err = fmt.Errorf("%s has %d bytes, announced %d", e.Path, len(data), e.Size)
		}
		found[e.Path] = fmt.Sprintf("%d %s", e.Type, data)
		return err
	})
	return found, err
}

var files = []struct{ path, content string }{
	{"SKILL.md", "\ufeff" + document + "\r\n"},
	{"empty", ""},
	{"r\u00e9f/\u65e5\u672c.md", "x"},
	{"run.sh", "#!/bin/sh\n"},
	{strings.Repeat("long/", 40) + "x", "long"},
	{"zeros", strings.Repeat("\x00", 70_000)},
}

func want(top string) map[string]string {
	all := map[string]string{}
	for _, f := range files {
		kind := origin.Regular
		if f.path == "run.sh" {
			kind = origin.Exec
		}
		all[top+f.path] = fmt.Sprintf("%d %s", kind, f.content)
	}
	return all
}

// TestFormats checks that the same files are read from each kind of archive.
func TestFormats(t *testing.T) {
	for name, format := range map[string]tar.Format{"pax": tar.FormatPAX, "gnu": tar.FormatGNU} {
		for _, top := range []string{"", "./"} {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			if format == tar.FormatPAX { // as git archive begins
				_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "9f2b1e4"}})
			}
			_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: top + "r\u00e9f/", Mode: 0o755})
			for _, f := range files {
				h := &tar.Header{Typeflag: tar.TypeReg, Name: top + f.path, Size: int64(len(f.content)), Mode: 0o644, Format: format}
				if f.path == "run.sh" {
					h.Mode = 0o755
				}
				if err := w.WriteHeader(h); err != nil {
					t.Fatal(err)
				}
				_, _ = io.WriteString(w, f.content)
			}
			_ = w.Close()
			for packing, data := range map[string][]byte{"plain": b.Bytes(), "gzip": gzipped(b.Bytes())} {
				got, err := read(data)
				if diff := cmp.Diff(want(""), got); diff != "" || err != nil {
					t.Errorf("%s %s below %q: %v\n%s", name, packing, top, err, diff)
				}
			}
		}
	}
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		_, _ = w.Create("pdf/")
		for i, f := range files {
			h := &zip.FileHeader{Name: "pdf/" + f.path, Method: method, Modified: time.Unix(1e9, 0)}
			h.SetMode(0o644)
			if f.path == "run.sh" {
				h.SetMode(0o755)
			}
			if i%2 == 0 {
				out, err := w.CreateHeader(h)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.WriteString(out, f.content)
				continue
			}
			h.Method = zip.Store
			h.CompressedSize64, h.UncompressedSize64, h.CRC32 = uint64(len(f.content)), uint64(len(f.content)), crcOf(f.content)
			out, err := w.CreateRaw(h)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(out, f.content)
		}
		_ = w.SetComment("a comment")
		_ = w.Close()
		got, err := read(b.Bytes())
		if diff := cmp.Diff(want("pdf/"), got); diff != "" || err != nil {
			t.Errorf("zip, method %d: %v\n%s", method, err, diff)
		}
	}
}

// TestLongZip checks that a zip is read even if its number of files needs the long form.
func TestLongZip(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range 1 << 16 {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close()
	got, err := read(b.Bytes())
	if err != nil || len(got) != 1<<16 {
		t.Fatalf("%d files, %v", len(got), err)
	}
	// The long and the short form must not differ.
	data := b.Bytes()
	data[len(data)-22+12] = 1
	if _, err := read(data); !errors.Is(err, ErrRefused) {
		t.Errorf("two directories: %v", err)
	}
}

// TestDescriptors checks that a zip that was written to a stream is read, with each of the four
// forms of a file's descriptor.
func TestDescriptors(t *testing.T) {
	values := func(signature string, wide bool, content string) string {
		b := binary.LittleEndian.AppendUint32([]byte(signature), crcOf(content))
		for range 2 {
			if wide {
				b = binary.LittleEndian.AppendUint64(b, uint64(len(content)))
			} else {
				b = binary.LittleEndian.AppendUint32(b, uint32(len(content)))
			}
		}
		return string(b)
	}
	for i, form := range []string{values("", false, "xxx"), values("", true, "xxx"), values(sigDescriptor, false, "xxx"), values(sigDescriptor, true, "xxx"), ""} {
		got, err := read(rawZipAround("", form, "", func(local, central [][]byte, _ []byte) {
			local[1][6], central[1][8] = flagDescriptor, flagDescriptor
			clear(local[1][14:26])
		}, "s/x"))
		if content := got["s/x"]; (err == nil && content == "0 xxx") != (form != "") {
			t.Errorf("form %d: %q, %v", i, content, err)
		}
	}
}

func TestVisitorEnds(t *testing.T) {
	stop := errors.New("stop")
	for _, data := range [][]byte{tarOf(), gzipped(tarOf()), rawZip(nil)} {
		r := bytes.NewReader(data)
		if err := Walk(t.Context(), r, r.Size(), func(origin.Node, io.Reader) error { return stop }); !errors.Is(err, stop) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Walk(ctx, r, r.Size(), func(origin.Node, io.Reader) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestWriter checks the exact bytes of an archive, which must be the same on every replica of a
// server.
func TestWriter(t *testing.T) {
	pack := func() []byte {
		var b bytes.Buffer
		w := NewWriter(&b)
		for _, f := range files {
			if err := w.Add(f.path, f.path == "run.sh", []byte(f.content)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	data := pack()
	const digest = "911994c77e7d26dd55458114d1e0f95b6c13dfd01b0d805fd887bb86e952d520"
	if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != digest || !bytes.Equal(data, pack()) {
		t.Errorf("the archive is %s, %d bytes, want %s: replicas of two versions would differ", got, len(data), digest)
	}
	got, err := read(data)
	if diff := cmp.Diff(want(""), got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); err != nil || n%512 != 0 || int64(len(data))-n > 18+5*(1+n/maxStored) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestCorpus checks that the real skills are the same after they were packed and read again.
func TestCorpus(t *testing.T) {
	root := corpus.Dir(t, "skills")
	var b bytes.Buffer
	w := NewWriter(&b)
	wanted := map[string]string{}
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		below, _ := filepath.Rel(root, p)
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		wanted[filepath.ToSlash(below)] = fmt.Sprintf("%d %s", origin.Regular, data)
		return w.Add(filepath.ToSlash(below), false, data)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := read(b.Bytes())
	if err != nil || !cmp.Equal(wanted, got) {
		t.Errorf("%d of %d files came back, %v", len(got), len(wanted), err)
	}
}

func FuzzWalk(f *testing.F) {
	for i, h := range allSmall() {
		if i%3 == 0 || strings.HasPrefix(h.name, "zip") {
			f.Add(h.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := read(data)
		for path := range got {
			if strings.HasPrefix(path, "/") || strings.Contains("/"+path+"/", "/../") || strings.Contains(path, "\x00") {
				t.Errorf("path %q", path)
			}
		}
		if err != nil {
			if !errors.Is(err, ErrRefused) {
				t.Errorf("no refusal: %v", err)
			}
			return
		}
		if !bytes.HasPrefix(data, []byte("PK")) {
			return
		}
		// Check that another reader finds the same files.
		other, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatalf("another reader: %v", err)
		}
		same := map[string]string{}
		for _, file := range other.File {
			path := strings.TrimLeft(file.Name, "./")
			if strings.HasSuffix(file.Name, "/") {
				continue
			}
			in, err := file.Open()
			if err != nil {
				t.Fatalf("another reader: %v", err)
			}
			data, err := io.ReadAll(in)
			if err != nil {
				t.Fatalf("another reader: %v", err)
			}
			same[path] = string(data)
		}
		for path, content := range got {
			if suffix, ok := same[strings.TrimLeft(path, "./")]; ok && !strings.HasSuffix(content, suffix) {
				t.Errorf("another reader finds another %s", path)
			}
		}
		if len(same) > len(got) {
			t.Errorf("another reader finds %d files, not %d", len(same), len(got))
		}
	})
}
