// Package archive reads archives in memory, within limits. It distinguishes archives made to harm
// their reader from damaged ones.
package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/bound"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// The limits of unpacking. They count the bytes that are unpacked, not the sizes in headers.
const (
	// leastEntry is the smallest number of bytes that an entry counts for. It limits the number of
	// entries.
	leastEntry = 1 << 10
	maxNesting = 3
	// maxRatio limits the unpacked bytes per packed byte, beyond the first freeRatio bytes. Deflate
	// reaches 1,032, and documents reach 30.
	maxRatio  = 100
	freeRatio = 1 << 20
	// maxEntryName limits the name of an entry, in bytes: PATH_MAX of current systems.
	maxEntryName = 4096
)

// MaxEntries limits the number of entries in the archives of a skill.
const MaxEntries = bound.Unpacked / leastEntry

// Hostile is an error about an archive made to harm its reader. Errors of other types are about
// archives that cannot be read.
type Hostile string

// Error returns the fault of the archive.
func (h Hostile) Error() string { return string(h) }

// Visitor receives the entries and files of an archive.
type Visitor interface {
	Entry(path string)                        // called for every entry of the archive, before the first File
	Locked(archive, entry string)             // the archive is encrypted, and this is its first encrypted entry
	File(path string, data []byte, depth int) // the content of an entry; depth counts the archives around it
	Fault(path string, err error)             // an entry cannot be read, or is hostile
}

// Budget limits the unpacked bytes of the archives of one skill.
type Budget struct {
	unpacked int64 // bytes so far
	top      int   // the size of the skill's file that is unpacked
}

// reader reads one archive.
type reader struct {
	*Budget
	Visitor
}

// TooLarge is an error about an archive or an entry that is too large to judge.
type TooLarge string

// Error describes how large the archive or entry is.
func (t TooLarge) Error() string { return string(t) }

const errSwells = Hostile("it unpacks to more than 100 times its size")

var (
	errDamaged  = errors.New("it is damaged, or was cut off")
	errTooLarge = TooLarge(fmt.Sprintf("it has more than %d MiB", skill.MaxFile>>20))
	errTooMuch  = TooLarge(fmt.Sprintf("the archives of the skill have more than %d MiB in them", bound.Unpacked>>20))
)

// Walk visits the entries of an archive. depth is the number of archives that surround it in the
// skill's file.
func (b *Budget) Walk(name string, data []byte, depth int, v Visitor) error {
	if depth == 0 {
		b.top = len(data)
	}
	if depth >= maxNesting {
		return Hostile(fmt.Sprintf("archives are nested more than %d deep", maxNesting))
	}
	r := reader{b, v}
	switch format := Format(data); format {
	case "zip":
		return r.zip(name, data, depth)
	case "gzip":
		return r.gunzip(name, data, depth)
	case "tar", "":
		return r.untar(name, data, depth)
	default:
		return errors.New("archives of the format " + format + " are not opened")
	}
}

// Format returns the format of an archive, judging by its first bytes, or "".
func Format(data []byte) string {
	for _, a := range formats {
		if a.at <= len(data) && bytes.HasPrefix(data[a.at:], []byte(a.magic)) {
			return a.format
		}
	}
	return ""
}

// formats lists the magic numbers of archives. Source: magic/Magdir/archive and compress of the
// program file.
var formats = []struct {
	at            int
	magic, format string
}{
	{0, "PK\x03\x04", "zip"}, {0, "PK\x05\x06", "zip"}, {0, "\x1f\x8b", "gzip"}, {257, "ustar", "tar"},
	{0, "BZh", "bzip2"}, {0, "\xfd7zXZ\x00", "xz"}, {0, "\x28\xb5\x2f\xfd", "zstd"}, {0, "7z\xbc\xaf\x27\x1c", "7z"}, {0, "Rar!\x1a\x07", "RAR"},
	{0, "MSCF", "cabinet"}, {0, "!<arch>\n", "ar"}, {0, "xar!", "xar"}, {0, "\x04\x22\x4d\x18", "lz4"}, {0, "LZIP", "lzip"},
}

// entryEscapes escapes the characters that have a meaning in findings and their paths.
var entryEscapes = strings.NewReplacer("!", "%21", "\n", "%0A", "\r", "%0D", "\t", "%09")

// entryPath returns the path of an archive's entry for findings. It escapes characters that would
// make the path look like another one.
func entryPath(archive, entry string) (string, error) {
	plain := strings.ReplaceAll(strings.ToValidUTF8(entry, "\uFFFD"), `\`, "/")
	switch {
	case len(entry) > maxEntryName:
		return "", Hostile(fmt.Sprintf("it has a name of more than %d bytes", maxEntryName))
	case strings.HasPrefix(plain, "/"), len(plain) >= 2 && plain[1] == ':':
		return "", Hostile("it has an absolute path, " + secrets.Quote(entry))
	case slices.Contains(strings.Split(plain, "/"), ".."):
		return "", Hostile("it has a path that leads out of the folder, " + secrets.Quote(entry))
	case strings.IndexByte(entry, 0) >= 0:
		return "", Hostile("it has a name with a zero byte, " + secrets.Quote(entry))
	}
	plain = entryEscapes.Replace(path.Clean(plain))
	return archive + "!" + display.Visible(plain, display.Escaped), nil
}

// spend charges bytes to the budget.
func (b *Budget) spend(n int) { b.unpacked += int64(max(n, leastEntry)) }

// unpack reads the unpacked form of packed bytes, up to a limit. size is the declared number of
// bytes. The size of the outer archive also limits the bytes of a nested archive. If there are more
// bytes than the limit, unpack returns an error with the bytes that it has read. If the bytes
// exceed the allowed ratio to the packed bytes, it returns only the error.
func (b *Budget) unpack(in io.Reader, packed, size, limit int) ([]byte, error) {
	swells := max(freeRatio, maxRatio*min(packed, b.top))
	left := int(max(bound.Unpacked-b.unpacked, 0))
	most := min(swells, limit, left)
	data, err := readAll(io.LimitReader(in, int64(most)+1), min(max(size, 0), most))
	if len(data) <= most {
		b.spend(len(data))
		if err != nil {
			err = errDamaged
		}
		return data, err
	}
	b.spend(most)
	switch most {
	case swells:
		return nil, errSwells
	case limit:
		return data[:most], errTooLarge
	}
	return data[:most], errTooMuch
}

// readAll reads all bytes of in, and expects about size bytes. Its buffer grows in small steps,
// since memory is bounded.
func readAll(in io.Reader, size int) ([]byte, error) {
	data := make([]byte, 0, size+bytes.MinRead)
	for {
		n, err := in.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return data, err
		}
		if len(data) == cap(data) {
			data = append(make([]byte, 0, len(data)+len(data)/4+bytes.MinRead), data...)
		}
	}
}

// gunzip visits the content of a gzip file, which is a tar or a single file.
func (r reader) gunzip(name string, data []byte, depth int) error {
	in, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return errDamaged
	}
	unpacked, err := r.unpack(in, len(data), int(binary.LittleEndian.Uint32(data[len(data)-4:])), bound.Unpacked)
	if len(unpacked) == 0 {
		return err
	}
	if Format(unpacked) == "tar" {
		return errors.Join(r.untar(name, unpacked, depth), err)
	}
	base := path.Base(name[strings.LastIndexByte(name, '!')+1:])
	inner := strings.TrimSuffix(base, path.Ext(base))
	if strings.EqualFold(path.Ext(base), ".tgz") || inner == "" {
		inner += ".tar"
	}
	r.File(name+"!"+inner, unpacked, depth+1)
	return err
}

// untar visits the files of a tar.
func (r reader) untar(name string, data []byte, depth int) error {
	if err := walkTar(data, func(h *tar.Header, _ io.Reader) error {
		if entry, err := entryPath(name, h.Name); err == nil {
			r.Entry(entry)
		}
		return nil
	}); err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	return walkTar(data, func(h *tar.Header, content io.Reader) error {
		if h.Typeflag == tar.TypeXGlobalHeader {
			return nil
		}
		entry, err := entryPath(name, h.Name)
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			return nil
		case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		case tar.TypeLink, tar.TypeSymlink:
			from := h.Name
			if h.Typeflag == tar.TypeLink {
				from = "" // the target of a hard link is a path from the top
			}
			if leads(from, h.Linkname) {
				return Hostile("it has a link that leads out of it, " + secrets.Quote(h.Name))
			}
			return nil // the target is judged as an entry of its own
		default:
			return Hostile("it has an entry that is not a file, " + secrets.Quote(h.Name))
		}
		file, err := r.unpack(content, len(data), int(min(h.Size, skill.MaxFile)), skill.MaxFile)
		if len(file) > 0 && err == nil {
			r.File(entry, file, depth+1)
		}
		if errors.Is(err, errTooLarge) {
			r.Fault(entry, err)
			return nil
		}
		return err
	})
}

// walkTar visits the entries of a tar. Only zero bytes may follow the tar's end.
func walkTar(data []byte, visit func(*tar.Header, io.Reader) error) error {
	in := bytes.NewReader(data)
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errDamaged
		}
		if err := visit(h, r); err != nil {
			return err
		}
	}
	if rest := data[len(data)-in.Len():]; len(bytes.Trim(rest, "\x00")) > 0 {
		return errors.New("it has data after its end")
	}
	return nil
}

// leads reports whether a link leads out of its archive. Links that stay in the archive are common:
// the source archives of many projects contain them.
func leads(from, to string) bool {
	to = strings.ReplaceAll(to, "\\", "/")
	at := path.Join(path.Dir(from), to)
	return to == "" || path.IsAbs(to) || strings.Contains(to, ":") || at == ".." || strings.HasPrefix(at, "../")
}
