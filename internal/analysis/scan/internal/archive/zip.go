package archive

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"sort"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/skill"
)

// The structures of a zip (APPNOTE.TXT 6.3, section 4.3): their signatures, and their lengths
// without the variable parts. A zip lists its files twice. This reader compares both lists. The
// reader of the standard library trusts one of them. Knack's reader for transport refuses files
// that honest programs write.
const (
	sigLocal, lenLocal     = "PK\x03\x04", 30
	sigCentral, lenCentral = "PK\x01\x02", 46
	sigEnd, lenEnd         = "PK\x05\x06", 22
	sigEnd64, lenEnd64     = "PK\x06\x06", 56
	maxZipComment          = 1<<16 - 1
)

// zipped is a file in a zip.
type zipped struct {
	name         string
	flags        uint16
	method       uint16
	mode         uint32 // as in Unix
	packed, size uint64
	header, data int // the offsets of its header and its packed bytes
}

const (
	zipLocked = 1<<0 | 1<<6 | 1<<13 // encrypted, strongly encrypted, or with an encrypted directory
	zipLink   = 0o120000
	zipTypes  = 0o170000
	zipStored = 0
	deflated  = 8
)

// zip visits the files of a zip.
func (r reader) zip(name string, data []byte, depth int) error {
	files, err := zipFiles(data)
	if err != nil {
		return err
	}
	entries := make([]string, len(files))
	var total uint64
	locked := ""
	for i, f := range files {
		if entries[i], err = entryPath(name, f.name); err != nil {
			return err
		}
		if f.mode&zipTypes == zipLink && (f.method != zipStored || leads(f.name, string(data[f.data:f.data+int(f.packed)]))) {
			return Hostile("it has a link that leads out of it, " + secrets.Quote(f.name))
		}
		if total += f.size; swells(f.size, f.packed) || swells(total, uint64(len(data))) {
			return errSwells
		}
		r.Entry(entries[i])
		if f.flags&zipLocked != 0 && locked == "" {
			locked = f.name
		}
	}
	if locked != "" {
		r.Locked(name, locked)
	}
	inflate := flate.NewReader(nil) // takes 40 KiB, and a zip may have 30,000 entries
	for i, f := range files {
		if f.flags&zipLocked != 0 || f.mode&zipTypes == zipLink || strings.HasSuffix(f.name, "/") && f.size == 0 {
			continue
		}
		if err := r.zipEntry(entries[i], f, data, depth, inflate); err != nil {
			return err
		}
	}
	return nil
}

// swells reports whether size is too large for an entry of the given packed size.
func swells(size, packed uint64) bool { return size > freeRatio && size/maxRatio > packed }

// zipEntry visits one file of a zip. If it returns an error, the reading of the archive ends.
func (r reader) zipEntry(entry string, f zipped, data []byte, depth int, inflate io.Reader) error {
	packed := data[f.data : f.data+int(f.packed)]
	var in io.Reader = bytes.NewReader(packed)
	switch f.method {
	case zipStored:
	case deflated:
		_ = inflate.(flate.Resetter).Reset(in, nil) // never fails
		in = inflate
	default:
		r.Fault(entry, errors.New("it is packed in a way that is not read"))
		return nil
	}
	content, err := r.unpack(in, len(packed), int(min(f.size, skill.MaxFile)), skill.MaxFile)
	if errors.Is(err, errSwells) || errors.Is(err, errTooMuch) {
		return err
	}
	if err == nil && uint64(len(content)) != f.size {
		err = errDamaged
	}
	if len(content) > 0 {
		r.File(entry, content, depth+1)
	}
	if err != nil {
		r.Fault(entry, err)
	}
	return nil
}

// zipFiles returns the files in a zip's directory. A second directory in the data is an error.
func zipFiles(data []byte) ([]zipped, error) {
	end, from, to, count := zipDirectory(data)
	if end < 0 {
		return nil, errDamaged
	}
	base := 0 // the number of bytes in front of the archive
	if from > to || to > end {
		return nil, errDamaged
	}
	if from < to && !bytes.HasPrefix(data[from:], []byte(sigCentral)) {
		base = end - to
		if from, to = from+base, end; !bytes.HasPrefix(data[from:], []byte(sigCentral)) {
			return nil, errDamaged
		}
	}
	var files []zipped
	for at := from; at < to; {
		f, n := zipCentral(data[at:to])
		if n == 0 {
			return nil, errDamaged
		}
		at += n
		f.header += base
		if err := f.local(data); err != nil {
			return nil, err
		}
		if files = append(files, f); len(files) > MaxEntries {
			return nil, errTooMuch
		}
	}
	if len(files)&0xffff != count {
		return nil, Hostile("its directory has more or fewer files than it says")
	}
	return files, onlyOnce(data, files, from, to, end)
}

// zipDirectory returns the offset of the end record, the range of the directory, and the declared
// number of files modulo 65,536. Without an end record, end is -1.
func zipDirectory(data []byte) (end, from, to, count int) {
	tail := max(0, len(data)-lenEnd-maxZipComment)
	end = bytes.LastIndex(data[tail:], []byte(sigEnd))
	if end < 0 || tail+end+lenEnd > len(data) {
		return -1, 0, 0, 0
	}
	end += tail
	le := binary.LittleEndian
	count = int(le.Uint16(data[end+10:]))
	length, start := uint64(le.Uint32(data[end+12:])), uint64(le.Uint32(data[end+16:]))
	if length == 1<<32-1 || start == 1<<32-1 || count == 1<<16-1 {
		if at := bytes.LastIndex(data[:end], []byte(sigEnd64)); at >= 0 && at+lenEnd64 <= end {
			count, length, start = int(le.Uint64(data[at+32:])&0xffff), le.Uint64(data[at+40:]), le.Uint64(data[at+48:])
		}
	}
	if length > uint64(end) || start > uint64(end) {
		return -1, 0, 0, 0
	}
	return end, int(start), int(start + length), count
}

// zipCentral reads one entry of the directory and returns its length. The length is 0 if the entry
// is damaged.
func zipCentral(b []byte) (f zipped, length int) {
	le := binary.LittleEndian
	if len(b) < lenCentral || !bytes.HasPrefix(b, []byte(sigCentral)) {
		return f, 0
	}
	names, extras, comment := int(le.Uint16(b[28:])), int(le.Uint16(b[30:])), int(le.Uint16(b[32:]))
	if length = lenCentral + names + extras + comment; length > len(b) {
		return f, 0
	}
	f = zipped{
		name: string(b[lenCentral : lenCentral+names]), flags: le.Uint16(b[8:]), method: le.Uint16(b[10:]), mode: le.Uint32(b[38:]) >> 16,
		packed: uint64(le.Uint32(b[20:])), size: uint64(le.Uint32(b[24:])),
	}
	header := uint64(le.Uint32(b[42:]))
	for extra := b[lenCentral+names : lenCentral+names+extras]; len(extra) >= 4; {
		id, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			break // some programs write such padding
		}
		value := extra[:n]
		extra = extra[n:]
		for _, field := range []*uint64{&f.size, &f.packed, &header} { // Zip64 replaces the fields whose bits are all ones
			if id == 1 && *field == 1<<32-1 && len(value) >= 8 {
				*field, value = le.Uint64(value), value[8:]
			}
		}
	}
	if header > 1<<31 {
		return f, 0
	}
	f.header = int(header)
	return f, length
}

// local finds the packed bytes of a file by its local header, and checks that both headers have the
// same name.
func (f *zipped) local(data []byte) error {
	if f.header+lenLocal > len(data) || !bytes.HasPrefix(data[f.header:], []byte(sigLocal)) {
		return errDamaged
	}
	h := data[f.header:]
	names, extras := int(binary.LittleEndian.Uint16(h[26:])), int(binary.LittleEndian.Uint16(h[28:]))
	f.data = f.header + lenLocal + names + extras
	if f.data > len(data) || f.packed > uint64(len(data)-f.data) {
		return errDamaged
	}
	if string(h[lenLocal:lenLocal+names]) != f.name {
		return Hostile("it has two names for one file, " + secrets.Quote(f.name))
	}
	return nil
}

// onlyOnce checks that no two files share bytes. It also checks that no bytes between the files
// look like another directory or file.
func onlyOnce(data []byte, files []zipped, from, to, end int) error {
	type piece struct{ from, to int }
	pieces := []piece{{from, to}, {end, end + lenEnd}}
	for _, f := range files {
		pieces = append(pieces, piece{f.header, f.data + int(f.packed)})
	}
	sort.Slice(pieces, func(i, j int) bool {
		a, b := pieces[i], pieces[j]
		return cmp.Or(a.from-b.from, a.to-b.to) < 0
	})
	at := 0
	for _, p := range append(pieces, piece{len(data), len(data)}) {
		if p.from < at {
			return Hostile("files in it share their bytes")
		}
		for _, sig := range []string{sigLocal, sigCentral, sigEnd} {
			if bytes.Contains(data[at:p.from], []byte(sig)) {
				return Hostile("it has a second directory, or a file that its directory lacks")
			}
		}
		at = p.to
	}
	return nil
}
