// Package archive reads untrusted zip and tar archives, and writes tar archives with reproducible
// bytes.
//
// The package refuses an archive that two programs could read differently, and an archive with a
// path that leads out of its folder. It returns other entries that no skill may have, such as links
// and devices, with their type. [origin.Find] decides about them. The package never touches a disk.
package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// Limits of an archive. They count the actual bytes, not the sizes in headers.
const (
	MaxEntries  = 200_000
	MaxUnpacked = 4 << 30 // in bytes
	// maxNames is the maximum size of all paths together, in bytes. A reader must keep them in
	// memory.
	maxNames = 16 << 20
	// maxPath bounds one path, in bytes: PATH_MAX of common systems.
	maxPath = 4096
	// maxRatio is the maximum number of unpacked bytes for one packed byte. It applies after the
	// first freeRatio unpacked bytes. Deflate reaches 1,032, and real skills reach 20.
	maxRatio  = 100
	freeRatio = origin.MaxSize
)

// ErrRefused matches each error about a damaged or forbidden archive, with [errors.Is].
var ErrRefused = errors.New("the archive is refused")

type refusal struct{ message string }

func (r *refusal) Error() string        { return r.message }
func (r *refusal) Is(target error) bool { return target == ErrRefused }

func refuse(format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...)}
}

// Walk reads an archive of size bytes and calls visit for each entry except folders, in the order
// of the archive. It detects the format from the first bytes. content is valid until visit returns.
// Its reads fail if the bytes contradict the archive's headers. Walk stops at the first error of
// visit and returns it. An error about the archive is an [ErrRefused].
func Walk(ctx context.Context, r io.ReaderAt, size int64, visit func(e origin.Node, content io.Reader) error) error {
	in := io.NewSectionReader(contextReader{ctx, r}, 0, size)
	head := make([]byte, 262)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	head = head[:n]
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return walkZip(in, size, visit)
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return walkGzip(in, visit)
	case len(head) > 257 && bytes.HasPrefix(head[257:], []byte("ustar")):
		return walkTar(in, nil, visit)
	}
	return refuse("it is neither a zip nor a tar.gz%s", guess(head))
}

// guess names the probable type of an unknown file.
func guess(head []byte) string {
	text := string(bytes.TrimLeft(head, "\ufeff \t\r\n"))
	for _, known := range []struct{ magic, meaning string }{
		{"\xfd7zxz", ": it is packed with xz; pack it with gzip"},
		{"\x28\xb5\x2f\xfd", ": it is packed with zstd; pack it with gzip"},
		{"bzh", ": it is packed with bzip2; pack it with gzip"},
		{"7z\xbc\xaf", ": it is a 7z archive; make it a zip or a tar.gz"},
		{"rar!", ": it is a RAR archive; make it a zip or a tar.gz"},
		{"mz", ": it is a program"},
		{"<!doctype", ": it is a web page; give the address of the archive itself"},
		{"<html", ": it is a web page; give the address of the archive itself"},
		{"version https://git-lfs", ": it is a pointer of Git LFS; give the address of the archive itself"},
	} {
		if n := len(known.magic); len(text) >= n && strings.EqualFold(text[:n], known.magic) {
			return known.meaning
		}
	}
	if len(head) == 0 {
		return ": it is empty"
	}
	return ""
}

// contextReader fails after its context has ended.
type contextReader struct {
	ctx context.Context
	r   io.ReaderAt
}

func (c contextReader) ReadAt(p []byte, at int64) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.ReadAt(p, at)
}

// census counts the entries of an archive and checks their paths.
type census struct {
	entries, names int
}

// path returns the path of an entry without a leading "./" or a folder's trailing slash. It is ""
// for the archive's root.
func (c *census) path(name string) (path string, folder bool, err error) {
	c.entries++
	c.names += len(name)
	switch {
	case c.entries > MaxEntries:
		return "", false, tooMany()
	case c.names > maxNames:
		return "", false, refuse("the names in it have more than %d MiB", maxNames>>20)
	case len(name) > maxPath:
		return "", false, refuse("it has a path of more than %s bytes", display.Thousands(maxPath))
	case strings.HasPrefix(name, "/"):
		return "", false, refuse("it has an absolute path, %s", display.Quote(name))
	case strings.ContainsRune(name, 0):
		return "", false, refuse("it has a name with a zero byte, %s", display.Quote(name))
	case name == "":
		return "", false, refuse("it has an entry without a name")
	}
	path, folder = strings.CutSuffix(name, "/")
	for strings.HasPrefix(path, "./") {
		path = path[2:]
	}
	if path == "." || path == "" {
		return "", true, nil
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(path, `\`, "/"), "/") {
		if part == ".." {
			return "", false, refuse("it has a path that leads out of the folder, %s", display.Quote(name))
		}
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." {
			return "", false, refuse("it has a path that is not plain, %s", display.Quote(name))
		}
	}
	return path, folder, nil
}

func tooMany() error { return refuse("it has more than %s entries", display.Thousands(MaxEntries)) }

// budget bounds the unpacked bytes, absolutely and relative to the packed bytes.
type budget struct {
	unpacked int64
	packed   func() int64 // nil if the archive is not packed
}

func (b *budget) add(n int64) error {
	b.unpacked += n
	switch {
	case n < 0 || b.unpacked < 0 || b.unpacked > MaxUnpacked:
		return refuse("it unpacks to more than %d GiB", MaxUnpacked>>30)
	case b.packed != nil && b.unpacked > freeRatio && b.unpacked > maxRatio*b.packed():
		return refuse("it unpacks to more than %d times its size", maxRatio)
	}
	return nil
}
