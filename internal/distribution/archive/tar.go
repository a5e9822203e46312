package archive

import (
	"archive/tar"
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// counter counts the bytes read.
type counter struct {
	r *bufio.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// ReadByte implements [io.ByteReader]. Without it, the decompressor would read ahead into a buffer
// of its own.
func (c *counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

func walkGzip(in io.Reader, visit func(origin.Node, io.Reader) error) error {
	packed := &counter{r: bufio.NewReaderSize(in, 64<<10)}
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		return damaged(err)
	}
	return walkTar(unpacked, func() int64 { return packed.n }, visit)
}

// stream is an unpacked tar. It counts bytes and trailing zeros.
type stream struct {
	r      io.Reader
	budget budget
	zeros  int64
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	last := n
	for last > 0 && p[last-1] == 0 {
		last--
	}
	if last > 0 {
		s.zeros = 0
	}
	s.zeros += int64(n - last)
	if over := s.budget.add(int64(n)); over != nil {
		return 0, over
	}
	return n, err
}

func walkTar(in io.Reader, packed func() int64, visit func(origin.Node, io.Reader) error) error {
	s := &stream{r: in, budget: budget{packed: packed}}
	r := tar.NewReader(s)
	var c census
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s.end()
		}
		if err != nil {
			return damaged(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			c.entries++ // git archive writes this entry, which names no file
			continue
		}
		path, folder, err := c.path(h.Name)
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeDir || folder {
			if h.Size != 0 || h.Typeflag != tar.TypeDir {
				return refuse("it has a folder with content, %s", display.Quote(h.Name))
			}
			continue
		}
		if path == "" {
			return refuse("it has a file without a name")
		}
		if h.Size != 0 && headerOnly(h.Typeflag) {
			return refuse("it has a link or device with content, %s, which some programs read as more files", display.Quote(h.Name))
		}
		failed := &failure{r: r}
		if err := visit(origin.Node{Path: path, Size: h.Size, Type: typeOf(h), Target: targetOf(h, path)}, failed); err != nil {
			return err
		}
		if failed.err != nil {
			return failed.err
		}
	}
}

// targetOf returns the target of a link relative to the link's folder. A hard link's target is
// relative to the archive's root.
func targetOf(h *tar.Header, at string) string {
	if h.Typeflag != tar.TypeLink || strings.HasPrefix(h.Linkname, "/") {
		return h.Linkname
	}
	return strings.Repeat("../", strings.Count(at, "/")) + h.Linkname
}

// failure remembers the first error of reading a file. The walk returns this error even if the
// visitor ignores it.
type failure struct {
	r   io.Reader
	err error
}

func (f *failure) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged(err)
		f.err = err
	}
	return n, err
}

// headerOnly reports whether entries of a type have no content. [tar.Reader] ignores the size in
// the header of such an entry. Other programs skip that many bytes.
func headerOnly(flag byte) bool {
	switch flag {
	case tar.TypeLink, tar.TypeSymlink, tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return true
	}
	return false
}

func typeOf(h *tar.Header) origin.NodeType {
	switch h.Typeflag {
	case tar.TypeReg:
	case tar.TypeLink, tar.TypeSymlink:
		return origin.Link
	default:
		return origin.Other
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return origin.Other // a sparse file can claim any size, since its holes take no space
		}
	}
	if h.Mode&0o111 != 0 {
		return origin.Exec
	}
	return origin.Regular
}

// end reads the bytes after the last entry, which must be zeros. Reading them detects a truncated
// archive, and makes the decompressor compare its checksum. A tar in a complete gzip needs no end
// marker, since umoci writes layers without one.
func (s *stream) end() error {
	zeros := s.zeros
	buf := make([]byte, 32<<10)
	for {
		n, err := s.Read(buf)
		if zeros += int64(n); s.zeros < int64(n) {
			return refuse("it has data after its end, which other programs read as more files")
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return damaged(err)
		}
	}
	if s.budget.packed == nil && zeros < 512 {
		return refuse("it has no end: it was cut off")
	}
	return nil
}

// damaged converts errors of the libraries to refusals. Errors of a disk, a limit or a context
// are unchanged.
func damaged(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return refuse("it was cut off")
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong), errors.As(err, &corrupt):
		return refuse("it is damaged (%v)", err)
	}
	return err
}
