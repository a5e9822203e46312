package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// The structures of a zip (APPNOTE.TXT 6.3, section 4.3): signatures, and lengths without
// variable parts.
const (
	sigLocal, lenLocal         = "PK\x03\x04", 30
	sigCentral, lenCentral     = "PK\x01\x02", 46
	sigEnd, lenEnd             = "PK\x05\x06", 22
	sigEnd64, lenEnd64         = "PK\x06\x06", 56
	sigLocator64, lenLocator64 = "PK\x06\x07", 20
	maxComment                 = 1<<16 - 1
	// A data descriptor follows a file whose size was unknown when its header was written. Its
	// signature is optional, and its sizes have four or eight bytes each.
	sigDescriptor, maxDescriptor = "PK\x07\x08", 24
)

// A zip states every property twice, and programs differ in the copy that they trust. So this
// reader accepts only archives with equal copies and without gaps between the files. archive/zip
// cannot check this.

// zipped is a file in a zip.
type zipped struct {
	path         string
	name         string // as spelt in the headers
	kind         origin.NodeType
	folder       bool
	flags        uint16
	method       uint16
	crc          uint32
	packed, size int64
	at           int64 // offset of the local header
	data         int64 // offset of the first packed byte
}

const (
	flagEncrypted  = 1 << 0
	flagDescriptor = 1 << 3
	flagPatched    = 1 << 5
	flagMasked     = 1 << 13
)

func walkZip(in *io.SectionReader, size int64, visit func(origin.Node, io.Reader) error) error {
	files, err := directory(in, size)
	if err != nil {
		return err
	}
	total := budget{}
	for i := range files {
		f := &files[i]
		if f.folder {
			continue
		}
		if f.path == "" {
			return refuse("it has a file without a name")
		}
		content := &inflated{file: f, in: in, budget: &total}
		e, data := origin.Node{Path: f.path, Size: f.size, Type: f.kind}, io.Reader(content)
		if f.kind == origin.Link && f.size <= maxPath { // the content is the link's target
			target, err := io.ReadAll(content)
			if err != nil {
				return err
			}
			e.Target, data = string(target), strings.NewReader(string(target))
		}
		if err := visit(e, data); err != nil {
			return err
		}
		if content.err != nil && !errors.Is(content.err, io.EOF) {
			return content.err
		}
	}
	return nil
}

// directory reads the central directory and compares it with the local headers.
func directory(in *io.SectionReader, size int64) ([]zipped, error) {
	start, length, count, err := findDirectory(in, size)
	if err != nil {
		return nil, err
	}
	if count > MaxEntries {
		return nil, tooMany()
	}
	files := make([]zipped, 0, min(count, length/lenCentral))
	var c census
	var buf []byte
	total := budget{packed: func() int64 { return size }}
	r := bufio.NewReaderSize(io.NewSectionReader(in, start, length), 64<<10)
	for left := length; left > 0 && int64(len(files)) <= count; {
		f, n, err := readCentral(r, left, &buf)
		if err != nil {
			return nil, err
		}
		left -= n
		if f.path, f.folder, err = c.path(f.name); err != nil {
			return nil, err
		}
		if err := f.checkSupported(); err != nil {
			return nil, err
		}
		if err := total.add(f.size); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if int64(len(files)) != count {
		return nil, refuse("its directory has more or fewer files than it says")
	}
	return files, readHeaders(in, files, start)
}

// findDirectory locates the central directory by the record at the end of the archive.
func findDirectory(in io.ReaderAt, size int64) (start, length, count int64, err error) {
	tail := make([]byte, min(size, lenEnd+maxComment+lenLocator64))
	if err := readAt(in, tail, size-int64(len(tail))); err != nil {
		return 0, 0, 0, err
	}
	at := bytes.LastIndex(tail, []byte(sigEnd))
	if at < 0 || at+lenEnd > len(tail) || at+lenEnd+u16(tail[at+20:]) != len(tail) {
		return 0, 0, 0, refuse("its directory is not at its end: it was cut off, or something was put behind it")
	}
	end := tail[at:]
	limit := size - int64(len(tail)-at) // the end of the directory
	if u16(end[4:]) != 0 || u16(end[6:]) != 0 {
		return 0, 0, 0, refuse("it is one part of several")
	}
	here := int64(u16(end[8:]))
	count, length, start = int64(u16(end[10:])), int64(u32(end[12:])), int64(u32(end[16:]))
	if here != count {
		return 0, 0, 0, refuse("it is one part of several")
	}
	if at >= lenLocator64 && bytes.HasPrefix(tail[at-lenLocator64:], []byte(sigLocator64)) {
		if start, length, count, limit, err = find64(in, limit-lenLocator64, tail[at-lenLocator64:at], start, length, count); err != nil {
			return 0, 0, 0, err
		}
	}
	if start < 0 || length < 0 || start > limit || length != limit-start {
		return 0, 0, 0, refuse("its directory is not where it says")
	}
	return start, length, count, nil
}

// find64 reads the end record of a large archive. Its values must agree with the values of the
// short end record.
func find64(in io.ReaderAt, locator int64, l []byte, start, length, count int64) (_, _, _, limit int64, err error) {
	at := int64(u64(l[8:]))
	if at < 0 || at != locator-lenEnd64 || u32(l[4:]) != 0 || u32(l[16:]) > 1 {
		return 0, 0, 0, 0, refuse("its directory is not where it says")
	}
	end := make([]byte, lenEnd64)
	if err := readAt(in, end, at); err != nil {
		return 0, 0, 0, 0, err
	}
	if !bytes.HasPrefix(end, []byte(sigEnd64)) || u64(end[4:]) != lenEnd64-12 || u32(end[16:]) != 0 || u32(end[20:]) != 0 || u64(end[24:]) != u64(end[32:]) {
		return 0, 0, 0, 0, refuse("its directory is not where it says")
	}
	count64, length64, start64 := u64(end[32:]), u64(end[40:]), u64(end[48:])
	if differs(uint64(count), count64, math.MaxUint16) || differs(uint64(length), length64, math.MaxUint32) || differs(uint64(start), start64, math.MaxUint32) {
		return 0, 0, 0, 0, refuse("it has two directories that differ")
	}
	if count64 > math.MaxInt32 || length64 > math.MaxInt64 || start64 > math.MaxInt64 {
		return 0, 0, 0, 0, refuse("its directory is not where it says")
	}
	return int64(start64), int64(length64), int64(count64), at, nil
}

// differs reports whether a short field contradicts a long one. A short field of all ones means
// that only the long one counts.
func differs(short, long, ones uint64) bool { return short != ones && short != long }

// readCentral reads one entry of the directory through a buffer. n is the length of the entry in
// bytes.
func readCentral(r io.Reader, left int64, buf *[]byte) (f zipped, n int64, err error) {
	*buf = slices.Grow((*buf)[:0], lenCentral+3*math.MaxUint16)
	h := (*buf)[:lenCentral]
	if left < lenCentral {
		return f, 0, refuse("its directory is damaged")
	}
	if _, err := io.ReadFull(r, h); err != nil {
		return f, 0, damaged(err)
	}
	names, extras, comment := u16(h[28:]), u16(h[30:]), u16(h[32:])
	n = int64(lenCentral + names + extras + comment)
	if !bytes.HasPrefix(h, []byte(sigCentral)) || n > left {
		return f, 0, refuse("its directory is damaged")
	}
	rest := (*buf)[lenCentral:n]
	if _, err := io.ReadFull(r, rest); err != nil {
		return f, 0, damaged(err)
	}
	f = zipped{name: string(rest[:names]), flags: uint16(u16(h[8:])), method: uint16(u16(h[10:])), crc: u32(h[16:])}
	f.kind = zipType(h[5], u32(h[38:]))
	f.packed, f.size, f.at = int64(u32(h[20:])), int64(u32(h[24:])), int64(u32(h[42:]))
	if u16(h[34:]) != 0 {
		return f, 0, refuse("it is one part of several")
	}
	err = f.extra(rest[names:names+extras], &f.size, &f.packed, &f.at)
	return f, n, err
}

// extra reads the extra fields of a header. If one of fields has the short form for "too large",
// extra sets it to its long form. It refuses a second name that differs.
func (f *zipped) extra(b []byte, fields ...*int64) error {
	seen := false
	for len(b) >= 4 {
		id, n := u16(b), u16(b[2:])
		if b = b[4:]; n > len(b) {
			break // padding that some programs write
		}
		value := b[:n]
		b = b[n:]
		switch id {
		case 1: // Zip64: the fields whose short form is all ones, in this order
			if seen {
				return refuse("%s has two sizes", display.Quote(f.name))
			}
			seen = true
			for _, field := range fields {
				if *field != math.MaxUint32 {
					continue
				}
				if len(value) < 8 || u64(value) > math.MaxInt64 {
					return refuse("%s has no size", display.Quote(f.name))
				}
				*field, value = int64(u64(value)), value[8:]
			}
		case 0x7075: // Info-ZIP's Unicode name
			if n < 5 || string(value[5:]) != f.name {
				return refuse("%s has two names", display.Quote(f.name))
			}
		}
	}
	return nil
}

// zipType returns the type of an entry from the system that wrote it and its attributes. A link by
// any system counts as a link, since programs differ about links by unusual systems.
func zipType(system byte, attributes uint32) origin.NodeType {
	mode := attributes >> 16
	switch mode & 0o170000 {
	case 0o120000:
		return origin.Link
	case 0, 0o100000:
	default: // also a folder whose name does not end with a slash
		if system == 3 || system == 19 {
			return origin.Other
		}
	}
	if (system == 3 || system == 19) && mode&0o111 != 0 {
		return origin.Exec
	}
	return origin.Regular
}

// checkSupported refuses entries that this package does not read.
func (f *zipped) checkSupported() error {
	name := display.Quote(f.name)
	switch {
	case strings.Contains(f.name, `\`):
		return refuse("it has a name with a backslash, %s: make it with a program that writes slashes", name)
	case f.flags&(flagEncrypted|flagMasked) != 0:
		return refuse("%s is encrypted", name)
	case f.flags&flagPatched != 0, f.method != 0 && f.method != 8:
		return refuse("%s is packed by a method that few programs know: pack it with deflate", name)
	case f.folder && f.size != 0:
		return refuse("it has a folder with content, %s", name)
	case f.method == 0 && f.packed != f.size:
		return refuse("%s has two sizes", name)
	case f.size > freeRatio && f.size/maxRatio > f.packed:
		return refuse("%s unpacks to more than %d times its size", name, maxRatio)
	}
	return nil
}

// readHeaders reads the local headers. The files must follow each other without gaps from the
// archive's first byte to its directory. Overlapping files could turn a small archive into a large
// one.
func readHeaders(in io.ReaderAt, files []zipped, directory int64) error {
	order := make([]*zipped, len(files))
	for i := range files {
		order[i] = &files[i]
	}
	slices.SortFunc(order, func(a, b *zipped) int { return cmp.Compare(a.at, b.at) })
	end := int64(0)
	for i, f := range order {
		if f.at != end {
			return refuse("%s is not where it is expected: files overlap, or there is something between them", display.Quote(f.name))
		}
		if err := f.readLocal(in, directory); err != nil {
			return err
		}
		if f.packed > directory-f.data {
			return refuse("%s is cut off", display.Quote(f.name))
		}
		end = f.data + f.packed
		if f.flags&flagDescriptor == 0 {
			continue
		}
		next := directory
		if i+1 < len(order) {
			next = order[i+1].at
		}
		if err := f.readDescriptor(in, next-end); err != nil {
			return err
		}
		end = next
	}
	if directory != end {
		return refuse("there is something between its files and its directory")
	}
	return nil
}

// readDescriptor compares the n bytes after a file's content with the directory. Programs that read
// from a stream trust these bytes.
func (f *zipped) readDescriptor(in io.ReaderAt, n int64) error {
	if n < 0 || n > maxDescriptor {
		return refuse("files overlap behind %s, or there is something between them", display.Quote(f.name))
	}
	found := make([]byte, n)
	if err := readAt(in, found, f.data+f.packed); err != nil {
		return err
	}
	values := bytes.TrimPrefix(found, []byte(sigDescriptor))
	if len(values) < 12 {
		values = found // the signature is also the checksum
	}
	switch {
	case len(values) == 12 && u32(values) == f.crc && int64(u32(values[4:])) == f.packed && int64(u32(values[8:])) == f.size:
		return nil
	case len(values) == 20 && u32(values) == f.crc && u64(values[4:]) == uint64(f.packed) && u64(values[12:]) == uint64(f.size):
		return nil
	}
	return refuse("%s has two sizes or checksums: the record behind it and the directory differ", display.Quote(f.name))
}

// readLocal compares a file's local header with the directory.
func (f *zipped) readLocal(in io.ReaderAt, directory int64) error {
	var head [lenLocal]byte
	h := head[:]
	if f.at > directory-lenLocal {
		return refuse("%s is not where the directory says", display.Quote(f.name))
	}
	if err := readAt(in, h, f.at); err != nil {
		return err
	}
	names, extras := u16(h[26:]), u16(h[28:])
	f.data = f.at + int64(lenLocal+names+extras)
	if !bytes.HasPrefix(h, []byte(sigLocal)) || f.data > directory {
		return refuse("%s is not where the directory says", display.Quote(f.name))
	}
	rest := make([]byte, names+extras)
	if err := readAt(in, rest, f.at+lenLocal); err != nil {
		return err
	}
	if string(rest[:names]) != f.name {
		return refuse("%s has two names", display.Quote(f.name))
	}
	crc, packed, size := u32(h[14:]), int64(u32(h[18:])), int64(u32(h[22:]))
	if err := f.extra(rest[names:], &size, &packed); err != nil {
		return err
	}
	flags := uint16(u16(h[6:]))
	if flags&flagDescriptor != 0 && crc == 0 && packed == 0 && size == 0 {
		crc, packed, size = f.crc, f.packed, f.size // the values follow the file
	}
	if (flags^f.flags)&(flagEncrypted|flagDescriptor) != 0 || uint16(u16(h[8:])) != f.method || crc != f.crc || packed != f.packed || size != f.size {
		return refuse("%s has two sizes or methods: its header and the directory differ", display.Quote(f.name))
	}
	return nil
}

// inflated reads the content of a file.
type inflated struct {
	file   *zipped
	in     io.ReaderAt
	budget *budget
	r      io.Reader
	n      int64
	crc    hash.Hash32
	err    error // the error of an earlier Read
}

func (i *inflated) Read(p []byte) (int, error) {
	if i.err != nil {
		return 0, i.err
	}
	if i.r == nil {
		i.crc = crc32.NewIEEE()
		i.r = io.NewSectionReader(i.in, i.file.data, i.file.packed)
		if i.file.method == 8 {
			i.r = flate.NewReader(bufio.NewReader(i.r))
		}
	}
	n, err := i.r.Read(p)
	i.n += int64(n)
	i.crc.Write(p[:n])
	name := display.Quote(i.file.name)
	switch over := i.budget.add(int64(n)); {
	case over != nil:
		i.err = over
	case i.n > i.file.size:
		i.err = refuse("%s is larger than it says", name)
	case errors.Is(err, io.EOF) && i.n < i.file.size:
		i.err = refuse("%s is smaller than it says", name)
	case errors.Is(err, io.EOF) && i.crc.Sum32() != i.file.crc:
		i.err = refuse("%s is damaged: its checksum is another", name)
	case errors.Is(err, io.EOF):
		i.err = io.EOF
	case err != nil:
		i.err = damaged(err)
	}
	if i.err != nil && !errors.Is(i.err, io.EOF) {
		return 0, i.err
	}
	return n, i.err
}

// readAt fills p with the bytes at an offset.
func readAt(in io.ReaderAt, p []byte, at int64) error {
	if at < 0 {
		return refuse("it is damaged")
	}
	if _, err := io.ReadFull(io.NewSectionReader(in, at, int64(len(p))), p); err != nil {
		return damaged(err)
	}
	return nil
}

func u16(b []byte) int    { return int(binary.LittleEndian.Uint16(b)) }
func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
