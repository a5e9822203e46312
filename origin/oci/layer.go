package oci

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"

	"github.com/knack-dev/knack/origin"
	"github.com/knack-dev/knack/skill"
)

// further is how many bytes must arrive before a failed attempt does not count: a line that breaks
// often gets a layer at last, and a registry that sends a byte at a time does not go on for ever.
const further = 1 << 20

// blob is a layer on its way into a spool.
type blob struct {
	repo  *repository
	want  descriptor
	what  string // in words
	spool origin.Spool
	start int64 // where the layer is in the spool
	have  int64 // bytes that are there
	hash  hash.Hash
	moved func(n int64) // told of each change of have
}

// fetch brings a layer into the spool. Bytes that have arrived before an attempt broke off are
// not asked for again.
func (b *blob) fetch(ctx context.Context) error {
	b.hash = sha256.New()
	places := b.repo.registry.places
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return b.repo.registry.origin.try(ctx, func() (bool, error) {
		before := b.have
		err := b.attempt(ctx)
		return b.have-before >= further, err
	})
}

// restart forgets what has arrived.
func (b *blob) restart() {
	b.moved(-b.have)
	b.have = 0
	b.hash.Reset()
}

// anew forgets what has arrived, since it was wrong, and returns an error for another attempt.
func (b *blob) anew(format string, args ...any) error {
	b.restart()
	return &temporary{fmt.Errorf(format, args...)}
}

func (b *blob) attempt(ctx context.Context) error {
	header := http.Header{}
	if b.have > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", b.have))
	}
	resp, err := b.repo.request(ctx, http.MethodGet, "blobs/"+b.want.Digest, b.what, header)
	if status := (*statusError)(nil); errors.As(err, &status) && status.code == http.StatusRequestedRangeNotSatisfiable {
		return b.anew("%w", err)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if b.have > 0 && (resp.StatusCode != http.StatusPartialContent || !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", b.have))) {
		if resp.StatusCode == http.StatusPartialContent {
			return b.anew("%s sent another part of %s than was asked for: try again later", b.repo.registry.host, b.what)
		}
		b.restart() // the registry does
	}
	if err := b.take(ctx, resp.Body); err != nil {
		return err
	}
	if !bytes.Equal(b.hash.Sum(nil), digestBytes(b.want.Digest)) {
		return b.anew("%s sent other bytes for %s of %s than those of its digest, 8 times: try again later, or tell the registry's operator", b.repo.registry.host, b.what, b.repo.path)
	}
	return nil
}

// take copies the rest of the layer into the spool.
func (b *blob) take(ctx context.Context, from io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if b.have+int64(n) > b.want.Size {
			return b.anew("%s sent more bytes for %s of %s than its manifest says: try again later, or tell the registry's operator", b.repo.registry.host, b.what, b.repo.path)
		}
		if n > 0 {
			if _, err := b.spool.WriteAt(buf[:n], b.start+b.have); err != nil {
				return err
			}
			b.hash.Write(buf[:n])
			b.have += int64(n)
			b.moved(int64(n))
		}
		switch {
		case err == io.EOF && b.have < b.want.Size:
			return b.repo.broke(ctx, b.what, io.ErrUnexpectedEOF)
		case err == io.EOF:
			return nil
		case err != nil:
			return b.repo.broke(ctx, b.what, err)
		}
	}
}

func digestBytes(s string) []byte {
	d, _ := skill.ParseDigest(s)
	return d[:]
}

// packing is what the bytes of a layer are.
type packing uint8

const (
	single packing = iota // a file, or anything else that is no archive
	tarball
	zstd
)

// packingOf looks at the first bytes of a layer, and of what is packed in it.
func packingOf(r *io.SectionReader) packing {
	head := first(io.NewSectionReader(r, 0, r.Size()))
	switch {
	case isTar(head):
		return tarball
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstd
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		if z, err := gzip.NewReader(io.NewSectionReader(r, 0, r.Size())); err == nil && isTar(first(z)) {
			return tarball
		}
	}
	return single
}

// first returns the first block, or what there is of it.
func first(r io.Reader) []byte {
	head := make([]byte, 512)
	n, _ := io.ReadFull(r, head)
	return head[:n]
}

// isTar reports whether a block is the header of a tar's first entry, or the end of an empty one.
func isTar(block []byte) bool {
	return len(block) == 512 && (string(block[257:262]) == "ustar" || len(bytes.Trim(block, "\x00")) == 0)
}
