package archive

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"time"
)

// Writer writes a reproducible tar: the same files give the same bytes with every version of Go.
// Its headers have neither a time nor an owner.
type Writer struct {
	gzip *stored // nil for a plain tar
	tar  *tar.Writer
}

// NewWriter returns a writer of a tar in an uncompressed, reproducible gzip.
func NewWriter(w io.Writer) *Writer {
	gzip := &stored{w: w, crc: crc32.NewIEEE()}
	return &Writer{gzip, tar.NewWriter(gzip)}
}

// NewTar returns a writer of a plain tar.
func NewTar(w io.Writer) *Writer { return &Writer{nil, tar.NewWriter(w)} }

// Add adds a file. The caller adds files in byte order of their paths.
func (w *Writer) Add(path string, exec bool, content []byte) error {
	return w.Copy(path, exec, int64(len(content)), bytes.NewReader(content))
}

// Copy adds a file with content of the given size.
func (w *Writer) Copy(path string, exec bool, size int64, content io.Reader) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: path, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0)}
	if exec {
		h.Mode = 0o755
	}
	if err := w.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("pack %s: %w", path, err)
	}
	_, err := io.Copy(w.tar, content)
	return err
}

// Close ends the archive. It does not close the underlying writer.
func (w *Writer) Close() error {
	if err := w.tar.Close(); err != nil || w.gzip == nil {
		return err
	}
	return w.gzip.close()
}

// maxStored is the maximum size of a stored block (RFC 1951, 3.2.4).
const maxStored = 1<<16 - 1

// stored writes gzip (RFC 1952) in stored blocks, all of maxStored bytes except the last.
type stored struct {
	w     io.Writer
	begun bool
	block []byte
	size  uint32
	crc   hash.Hash32
}

func (s *stored) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		if len(s.block) == maxStored {
			if err := s.flush(false); err != nil {
				return n, err
			}
		}
		if s.block == nil {
			s.block = make([]byte, 0, maxStored)
		}
		part := p[n:min(len(p), n+maxStored-len(s.block))]
		s.block = append(s.block, part...)
		n += len(part)
	}
	s.size += uint32(len(p))
	s.crc.Write(p)
	return len(p), nil
}

func (s *stored) flush(last bool) error {
	var head []byte
	if !s.begun {
		s.begun = true
		head = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255} // deflate, no time, unknown system
	}
	final := byte(0)
	if last {
		final = 1
	}
	head = append(head, final)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(s.block)))
	head = binary.LittleEndian.AppendUint16(head, ^uint16(len(s.block)))
	if _, err := s.w.Write(head); err != nil {
		return err
	}
	_, err := s.w.Write(s.block)
	s.block = s.block[:0]
	return err
}

func (s *stored) close() error {
	if err := s.flush(true); err != nil {
		return err
	}
	tail := binary.LittleEndian.AppendUint32(nil, s.crc.Sum32())
	_, err := s.w.Write(binary.LittleEndian.AppendUint32(tail, s.size))
	return err
}
