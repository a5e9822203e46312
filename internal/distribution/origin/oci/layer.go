package oci

import (
	"bytes"
	"compress/gzip"
	"io"
)

// packing is the format of a layer's bytes.
type packing uint8

const (
	single packing = iota // a file, or anything else that is not an archive
	tarball
	zstd
)

// packingOf detects the format by the first bytes of a layer, and of its decompressed content.
func packingOf(r *io.SectionReader) packing {
	head := firstBlock(io.NewSectionReader(r, 0, r.Size()))
	switch {
	case isTar(head):
		return tarball
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstd
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		if z, err := gzip.NewReader(io.NewSectionReader(r, 0, r.Size())); err == nil && isTar(firstBlock(z)) {
			return tarball
		}
	}
	return single
}

// firstBlock returns the first 512 bytes, or fewer if there are no more.
func firstBlock(r io.Reader) []byte {
	head := make([]byte, 512)
	n, _ := io.ReadFull(r, head)
	return head[:n]
}

// isTar reports whether a block is the header of the first entry of a tar, or the end block of an
// empty tar.
func isTar(block []byte) bool {
	return len(block) == 512 && (string(block[257:262]) == "ustar" || len(bytes.Trim(block, "\x00")) == 0)
}
