package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// further is the number of new bytes after which a failed attempt does not count. A connection that
// breaks often can thus still transfer a layer, but knack gives up on a registry that sends a byte
// at a time.
const further = 1 << 20

// blob is a blob in transfer.
type blob struct {
	repo  *Repository
	want  Descriptor
	what  string // the name of the blob in messages
	to    io.WriterAt
	have  int64 // number of received bytes
	hash  hash.Hash
	moved func(n int64)
}

// Fetch writes the blob with the digest and size of d to the start of to. It calls moved with each
// change of the number of received bytes. The parameter what names the blob in errors. A further
// attempt continues after the received bytes. If Fetch fails, the content of to is undefined.
func (r *Repository) Fetch(ctx context.Context, d Descriptor, what string, to io.WriterAt, moved func(n int64)) error {
	b := &blob{repo: r, want: d, what: what, to: to, moved: moved}
	b.hash = sha256.New()
	places := b.repo.registry.places
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return b.repo.registry.all.try(ctx, func() (bool, error) {
		before := b.have
		err := b.attempt(ctx)
		return b.have-before >= further, err
	})
}

// Read returns the bytes of a small blob.
func (r *Repository) Read(ctx context.Context, d Descriptor, what string) ([]byte, error) {
	data := make(memory, d.Size)
	return data, r.Fetch(ctx, d, what, data, func(int64) {})
}

// memory is a blob in memory, of the size in its descriptor.
type memory []byte

func (m memory) WriteAt(p []byte, at int64) (int, error) {
	n := copy(m[min(at, int64(len(m))):], p)
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// restart discards the received bytes.
func (b *blob) restart() {
	b.moved(-b.have)
	b.have = 0
	b.hash.Reset()
}

// anew discards the wrong bytes, and returns an error that causes another attempt.
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
	if status, ok := errors.AsType[*StatusError](err); ok && status.Code == http.StatusRequestedRangeNotSatisfiable {
		return b.anew("%s has %d bytes of %s of %s, and not the %d that its manifest says: tell the registry's operator, or publish it again", b.repo.registry.host, b.have, b.what, b.repo.path, b.want.Size)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if b.have > 0 && (resp.StatusCode != http.StatusPartialContent || !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", b.have))) {
		if resp.StatusCode == http.StatusPartialContent {
			return b.anew("%s sent another part of %s than was asked for: try again later", b.repo.registry.host, b.what)
		}
		b.restart() // the registry begins again
	}
	if err := b.take(ctx, resp.Body); err != nil {
		return err
	}
	if !bytes.Equal(b.hash.Sum(nil), digestBytes(b.want.Digest)) {
		return b.anew("%s sent other bytes for %s of %s than its digest says, 8 times: try again later, or tell the registry's operator", b.repo.registry.host, b.what, b.repo.path)
	}
	return nil
}

// take copies the rest of the blob.
func (b *blob) take(ctx context.Context, from io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if b.have+int64(n) > b.want.Size {
			return b.anew("%s sent more bytes for %s of %s than its manifest says: try again later, or tell the registry's operator", b.repo.registry.host, b.what, b.repo.path)
		}
		if n > 0 {
			if _, err := b.to.WriteAt(buf[:n], b.have); err != nil {
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
