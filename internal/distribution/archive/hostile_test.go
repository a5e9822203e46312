package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// hostile is an archive that someone may send.
type hostile struct {
	name string
	data []byte
	// why is a part of the error about the archive, or of the fault of its skill "s". If it is "",
	// the archive is accepted without the offending entry.
	why string
}

const document = "---\nname: s\ndescription: A skill.\n---\n"

// tarOf makes a tar with a skill and these entries. A name is written to the header unchanged.
func tarOf(entries ...tar.Header) []byte {
	var b bytes.Buffer
	add := func(h tar.Header, content string) {
		b.Write(ustar(h, content))
		b.WriteString(content)
		b.Write(make([]byte, -len(content)&511))
	}
	add(tar.Header{Name: "s/SKILL.md", Typeflag: tar.TypeReg}, document)
	for _, h := range entries {
		content := ""
		if h.Typeflag == tar.TypeReg || h.Size > 0 {
			content = strings.Repeat("x", int(max(h.Size, 3)))
		}
		if len(h.Name) > 100 {
			long := "L" + h.Name + "\x00"
			add(tar.Header{Name: "././@LongLink", Typeflag: tar.TypeGNULongName}, long[1:])
			h.Name = h.Name[:100]
		}
		add(h, content)
	}
	b.Write(make([]byte, 1024))
	return b.Bytes()
}

// ustar makes a header by hand, since the library refuses hostile values.
func ustar(h tar.Header, content string) []byte {
	b := make([]byte, 512)
	copy(b, h.Name)
	copy(b[100:], fmt.Sprintf("%07o\x00", 0o644))
	copy(b[108:], "0000000\x000000000\x00")
	copy(b[124:], fmt.Sprintf("%011o\x0000000000000\x00", len(content)))
	b[156] = h.Typeflag
	copy(b[157:], h.Linkname)
	copy(b[257:], "ustar\x0000")
	if h.Typeflag == tar.TypeGNULongName {
		copy(b[257:], "ustar  \x00")
	}
	return sum(b)
}

// sum fills in the checksum of a header.
func sum(b []byte) []byte {
	copy(b[148:156], "        ")
	total := 0
	for _, c := range b[:512] {
		total += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", total))
	return b
}

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

type zipFile struct {
	name, content string
	mode          os.FileMode
	change        func(h *zip.FileHeader)
}

// zipOf makes a zip with a skill and these entries.
func zipOf(files ...zipFile) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range append([]zipFile{{name: "s/SKILL.md", content: document}}, files...) {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		if f.mode != 0 {
			h.SetMode(f.mode)
		}
		if f.change != nil {
			f.change(h)
		}
		out, err := w.CreateHeader(h)
		if err != nil {
			panic(err)
		}
		if !strings.HasSuffix(f.name, "/") {
			_, _ = io.WriteString(out, f.content)
		}
	}
	_ = w.Close()
	return b.Bytes()
}

// rawZip makes a zip of stored files without data descriptors. change may change its headers.
func rawZip(change func(local, central [][]byte, end []byte), names ...string) []byte {
	return rawZipAround("", "", "", change, names...)
}

func rawZipAround(before, between, behind string, change func(local, central [][]byte, end []byte), names ...string) []byte {
	le := binary.LittleEndian
	var local, central [][]byte
	at := len(before)
	for _, name := range append([]string{"s/SKILL.md"}, names...) {
		content := "xxx"
		if name == "s/SKILL.md" {
			content = document
		}
		l := make([]byte, 30, 30+len(name)+len(content))
		copy(l, sigLocal)
		le.PutUint32(l[14:], crc32.ChecksumIEEE([]byte(content)))
		le.PutUint32(l[18:], uint32(len(content)))
		le.PutUint32(l[22:], uint32(len(content)))
		le.PutUint16(l[26:], uint16(len(name)))
		l = append(append(l, name...), content...)
		c := make([]byte, 46, 46+len(name))
		copy(c, sigCentral)
		copy(c[16:28], l[14:26])
		le.PutUint16(c[28:], uint16(len(name)))
		le.PutUint32(c[42:], uint32(at))
		local, central = append(local, l), append(central, append(c, name...))
		at += len(l)
	}
	at += len(between)
	end := make([]byte, 22)
	copy(end, sigEnd)
	size := 0
	for _, c := range central {
		size += len(c)
	}
	le.PutUint16(end[8:], uint16(len(central)))
	le.PutUint16(end[10:], uint16(len(central)))
	le.PutUint32(end[12:], uint32(size))
	le.PutUint32(end[16:], uint32(at))
	if change != nil {
		change(local, central, end)
	}
	parts := append([][]byte{[]byte(before)}, local...)
	parts = append(append(append(parts, []byte(between)), central...), end, []byte(behind))
	return bytes.Join(parts, nil)
}

// badNames lists names of files, each with a part of the resulting error in a tar and in a zip.
var badNames = []struct{ name, inTar, inZip string }{
	{"/etc/passwd", "absolute", "absolute"},
	{"//etc/passwd", "absolute", "absolute"},
	{"/", "absolute", "absolute"},
	{"../x", "leads out", "leads out"},
	{"../../../../tmp/x", "leads out", "leads out"},
	{"..", "leads out", "leads out"},
	{"s/..", "leads out", "leads out"},
	{"s/../x", "leads out", "leads out"},
	{"s/../../x", "leads out", "leads out"},
	{"s/./../../x", "leads out", "leads out"},
	{"./../x", "leads out", "leads out"},
	{"s/a/../../../x", "leads out", "leads out"},
	{`..\x`, "leads out", "leads out"},
	{`s\..\..\x`, "leads out", "leads out"},
	{`s/..\..\x`, "leads out", "leads out"},
	{`s/a\b`, "backslash", "backslash"},
	{`C:\Windows\x`, "", "backslash"},
	{`\\server\share\x`, "", "backslash"},
	{"s//x", "not plain", "not plain"},
	{"s/./x", "not plain", "not plain"},
	{"s/a/./b", "not plain", "not plain"},
	{"s/a//b", "not plain", "not plain"},
	{"s/a\nb", "control", "control"},
	{"s/a\rb", "control", "control"},
	{"s/\x1b[2Jx", "control", "control"},
	{"s/a\x7fb", "control", "control"},
	{"s/a\u0085b", "control", "control"},
	{"s/\xff\xfe", "not UTF-8", "not UTF-8"},
	{"s/a\xc0\xafb", "not UTF-8", "not UTF-8"},
	{"s/" + strings.Repeat("n", 256), "255 bytes", "255 bytes"},
	{"s/" + strings.Repeat("n/", 520) + "x", "1,024 bytes", "1,024 bytes"},
	{strings.Repeat("n/", 2100) + "x", "4,096 bytes", "4,096 bytes"},
	{"s/SKILL.md", "is there twice", "is there twice"},
	{"s/SKILL.MD", "only in case", "only in case"},
	{"s/skill.md", "only in case", "only in case"},
	{"S/SKILL.md", "", ""}, // another skill; names of skills are checked at installation
	{"s", "", ""},          // a file beside the skill, which is not taken
	{"s/SKILL.md/x", "is both a file and a folder", "is both a file and a folder"},
	{"s/.env", "", ""},
	{"s/.git/hooks/post-checkout", "", ""},
	{".git/config", "", ""},
	{"node_modules/x/SKILL.md", "", ""},
	{"s/.wh.SKILL.md", "", ""},
}

func hostileNames() (all []hostile) {
	for _, n := range badNames {
		name := fmt.Sprintf("name %.40q", n.name)
		t := tarOf(tar.Header{Name: n.name, Typeflag: tar.TypeReg})
		all = append(all, hostile{"tar: " + name, t, n.inTar}, hostile{"tar.gz: " + name, gzipped(t), n.inTar},
			hostile{"zip: " + name, rawZip(nil, n.name), n.inZip})
	}
	for _, pair := range [][2]string{{"s/caf\u00e9", "s/cafe\u0301"}, {"s/stra\u00dfe", "s/STRASSE"}, {"s/Lib/a", "s/lib/b"}, {"s/a", "s/A"}} {
		t := tarOf(tar.Header{Name: pair[0], Typeflag: tar.TypeReg}, tar.Header{Name: pair[1], Typeflag: tar.TypeReg})
		all = append(all, hostile{"tar: one name in two forms " + pair[1], t, "only in case"}, hostile{"zip: one name in two forms " + pair[1], rawZip(nil, pair[0], pair[1]), "only in case"})
	}
	all = append(all, hostile{"zip: name with a zero byte", rawZip(nil, "s/a\x00b"), "zero byte"}, hostile{"zip: no name", rawZip(nil, ""), "without a name"},
		hostile{"tar: no name", tarOf(tar.Header{Typeflag: tar.TypeReg}), "without a name"}, hostile{"tar: the top as a file", tarOf(tar.Header{Name: ".", Typeflag: tar.TypeReg}), "folder with content"},
		hostile{"zip: the top as a file", rawZip(nil, "./"), "folder with content"})
	return all
}

func hostileTypes() (all []hostile) {
	for _, target := range []string{"/etc/passwd", "../../secret", "SKILL.md", "s/SKILL.md", ".", ""} {
		for kind, flag := range map[string]byte{"symbolic": tar.TypeSymlink, "hard": tar.TypeLink} {
			for _, name := range []string{"s/link", "s/SKILL.md", "s/dir"} {
				all = append(all, hostile{fmt.Sprintf("tar: a %s link %s to %q", kind, name, target), tarOf(tar.Header{Name: name, Typeflag: flag, Linkname: target}), "link"})
			}
		}
		all = append(all, hostile{fmt.Sprintf("zip: a link to %q", target), zipOf(zipFile{name: "s/link", content: target, mode: os.ModeSymlink | 0o777}), "link"})
	}
	all = append(all,
		hostile{"tar: a link to a folder, then a file through it", tarOf(tar.Header{Name: "s/d", Typeflag: tar.TypeSymlink, Linkname: "/tmp"}, tar.Header{Name: "s/d/x", Typeflag: tar.TypeReg}), "link"},
		hostile{"tar: a file, then a link in its place", tarOf(tar.Header{Name: "s/x", Typeflag: tar.TypeReg}, tar.Header{Name: "s/x", Typeflag: tar.TypeSymlink, Linkname: "/tmp/x"}), "link"},
		hostile{"tar: the skill is a link", tarOf(tar.Header{Name: "s", Typeflag: tar.TypeSymlink, Linkname: "/tmp"}), ""},
		hostile{"tar: a link beside the skill", tarOf(tar.Header{Name: "other/x", Typeflag: tar.TypeSymlink, Linkname: "/tmp"}), ""},
		hostile{"tar: a link with content", tarOf(tar.Header{Name: "s/link", Typeflag: tar.TypeSymlink, Size: 512}), "with content"},
		hostile{"tar: a hard link with content", tarOf(tar.Header{Name: "other/x", Typeflag: tar.TypeLink, Size: 3}), "with content"},
		hostile{"tar: a pipe with content", tarOf(tar.Header{Name: "s/x", Typeflag: tar.TypeFifo, Size: 512}), "with content"},
		hostile{"tar: a folder with content", tarOf(tar.Header{Name: "s/d/", Typeflag: tar.TypeDir, Size: 3}), "folder with content"},
		hostile{"zip: a link by a system that has none", zipOf(zipFile{name: "s/x", content: "/tmp", change: func(h *zip.FileHeader) { h.CreatorVersion, h.ExternalAttrs = 0, 0o120777<<16 }}), "link"},
		hostile{"zip: a folder that is a file", zipOf(zipFile{name: "s/x", content: "y", change: func(h *zip.FileHeader) { h.CreatorVersion, h.ExternalAttrs = 3<<8, 0o040755<<16 }}), "regular file"},
		hostile{"zip: a folder with content", rawZip(nil, "s/d/"), "folder with content"},
	)
	for name, flag := range map[string]byte{"character device": tar.TypeChar, "block device": tar.TypeBlock, "pipe": tar.TypeFifo, "contiguous file": tar.TypeCont, "unknown type": 'Z', "multi-volume": 'M'} {
		all = append(all, hostile{"tar: " + name, tarOf(tar.Header{Name: "s/x", Typeflag: flag}), "not a regular file"})
	}
	for name, mode := range map[string]os.FileMode{"device": os.ModeDevice, "character device": os.ModeDevice | os.ModeCharDevice, "pipe": os.ModeNamedPipe, "socket": os.ModeSocket} {
		all = append(all, hostile{"zip: " + name, zipOf(zipFile{name: "s/x", content: "y", mode: mode | 0o644}), "not a regular file"})
	}
	return all
}

func hostileZips() (all []hostile) {
	le := binary.LittleEndian
	change := func(name, why string, f func(local, central [][]byte, end []byte)) {
		all = append(all, hostile{"zip: " + name, rawZip(f, "s/x"), why})
	}
	change("another name in the local header", "two names", func(l, _ [][]byte, _ []byte) { l[1][30] = 'S' })
	change("a local name that leads out", "two names", func(l, _ [][]byte, _ []byte) { copy(l[1][30:], "../") })
	change("another size in the local header", "two sizes", func(l, _ [][]byte, _ []byte) { l[1][22]++ })
	change("another packed size in the local header", "two sizes", func(l, _ [][]byte, _ []byte) { l[1][18]++ })
	change("a stored file of two sizes", "two sizes", func(l, c [][]byte, _ []byte) { l[1][22]++; c[1][24]++ })
	change("another method in the local header", "methods", func(l, _ [][]byte, _ []byte) { l[1][8] = 8 })
	change("another checksum in the local header", "two sizes", func(l, _ [][]byte, _ []byte) { l[1][14]++ })
	change("a wrong checksum", "checksum", func(l, c [][]byte, _ []byte) { l[1][14]++; c[1][16]++ })
	change("encrypted", "encrypted", func(l, c [][]byte, _ []byte) { l[1][6] |= 1; c[1][8] |= 1 })
	change("encrypted in the local header", "two sizes", func(l, _ [][]byte, _ []byte) { l[1][6] |= 1 })
	change("encrypted directory", "encrypted", func(_, c [][]byte, _ []byte) { c[1][9] |= 0x20 })
	change("patch data", "method", func(_, c [][]byte, _ []byte) { c[1][8] |= 1 << 5 })
	for _, method := range []byte{1, 6, 9, 12, 14, 93, 95, 99} {
		change(fmt.Sprintf("method %d", method), "method", func(l, c [][]byte, _ []byte) { l[1][8], c[1][10] = method, method })
	}
	change("more files than it says", "directory", func(_, _ [][]byte, e []byte) { e[8]--; e[10]-- })
	change("fewer files than it says", "more or fewer", func(_, _ [][]byte, e []byte) { e[8]++; e[10]++ })
	change("files on another disk", "several", func(_, c [][]byte, _ []byte) { c[1][34] = 1 })
	change("one disk of two", "several", func(_, _ [][]byte, e []byte) { e[4] = 1 })
	change("a directory elsewhere", "not where", func(_, _ [][]byte, e []byte) { e[16]-- })
	change("a larger directory", "not where", func(_, _ [][]byte, e []byte) { e[12]++ })
	change("a huge directory", "not where", func(_, _ [][]byte, e []byte) { le.PutUint32(e[12:], 1<<32-2) })
	change("two files in one place", "overlap", func(_, c [][]byte, _ []byte) { copy(c[1][42:46], c[0][42:46]) })
	change("a file in a file", "overlap", func(_, c [][]byte, _ []byte) { le.PutUint32(c[1][42:], 12) })
	change("a file behind the end", "not where", func(_, c [][]byte, _ []byte) { le.PutUint32(c[1][42:], 1<<30) })
	change("a file that ends in the directory", "cut off", func(l, c [][]byte, _ []byte) { l[1][18], l[1][22], c[1][20], c[1][24] = 99, 99, 99, 99 })
	change("a name that ends in the directory", "not where", func(l, _ [][]byte, _ []byte) { le.PutUint16(l[1][26:], 60000) })
	change("a name longer than the directory", "directory is damaged", func(_, c [][]byte, _ []byte) { le.PutUint16(c[1][28:], 60000) })
	change("no local header", "not where", func(l, _ [][]byte, _ []byte) { l[1][0] = 'X' })
	change("no entry in the directory", "directory is damaged", func(_, c [][]byte, _ []byte) { c[1][0] = 'X' })
	change("a size without its long form", "two sizes", func(_, c [][]byte, _ []byte) { le.PutUint32(c[1][24:], 1<<32-1) })
	all = append(all,
		hostile{"zip: behind a program", rawZipAround("MZ program ", "", "", nil, "s/x"), "a program"},
		hostile{"zip: behind another archive", rawZipAround(string(rawZip(nil, "s/y")), "", "", nil, "s/x"), "between"},
		hostile{"zip: something between files and directory", rawZipAround("", "hidden", "", nil, "s/x"), "between"},
		hostile{"zip: a file that the directory lacks", rawZipAround("", string(rawZip(nil)[:30+10+len(document)]), "", nil, "s/x"), "between"},
		hostile{"zip: something behind it", rawZipAround("", "", "behind", nil, "s/x"), "behind"},
		hostile{"zip: an archive behind it", rawZipAround("", "", string(rawZip(nil, "s/y")), nil, "s/x"), "directory"},
		hostile{"zip: an end in its comment", rawZipAround("", "", string(rawZip(nil)[len(rawZip(nil))-22:]), func(_, _ [][]byte, e []byte) { e[20] = 22 }, "s/x"), "not where"},
		hostile{"zip: a damaged end in its comment", rawZipAround("", "", sigEnd+"....", func(_, _ [][]byte, e []byte) { e[20] = 8 }, "s/x"), "not at its end"},
		hostile{"zip: no directory", rawZip(nil, "s/x")[:100], "not at its end"},
		hostile{"zip: a comment that is cut", rawZipAround("", "", "", func(_, _ [][]byte, e []byte) { e[20] = 9 }, "s/x"), "not at its end"},
		hostile{"zip: two names by a Unicode field", zipOf(zipFile{name: "s/x", content: "y", change: func(h *zip.FileHeader) { h.Extra = append([]byte{0x75, 0x70, 9, 0, 1, 0, 0, 0, 0}, "../y"...) }}), "two names"},
		hostile{"zip: sizes twice", zipOf(zipFile{name: "s/x", content: "y", change: func(h *zip.FileHeader) { h.Extra = bytes.Repeat([]byte{1, 0, 0, 0}, 2) }}), "two sizes"},
		hostile{"zip: a locator to nowhere", rawZipAround("", sigLocator64+strings.Repeat("\xff", 16), "", nil, "s/x"), "between"},
	)
	locator := func(end64, at int64) string {
		return sigLocator64 + string(binary.LittleEndian.AppendUint64([]byte{0, 0, 0, 0}, uint64(end64))) + "\x01\x00\x00\x00"
	}
	streamed := zipOf(zipFile{name: "s/x", content: "y"})
	behind := bytes.LastIndex(streamed, []byte(sigDescriptor)) // the descriptor after the content of s/x
	for at, what := range map[int]string{0: "signature", 4: "checksum", 8: "packed size", 12: "size"} {
		b := bytes.Clone(streamed)
		b[behind+at] ^= 1
		all = append(all, hostile{"zip: another " + what + " behind a file", b, "the record behind it"})
	}
	plain := rawZip(nil, "s/x")
	all = append(all, hostile{"zip: a long end record elsewhere", bytes.Join([][]byte{plain[:len(plain)-22], []byte(locator(0, 0)), plain[len(plain)-22:]}, nil), "not where"})
	return all
}

func hostileStreams() (all []hostile) {
	good := tarOf()
	packed := gzipped(good)
	for cut := 1; cut < len(good)-1024; cut += 173 {
		all = append(all, hostile{fmt.Sprintf("tar: cut at %d", cut), good[:cut], "cut off|neither|damaged|no end|no skill"})
	}
	for cut := 3; cut < len(packed); cut += 19 {
		all = append(all, hostile{fmt.Sprintf("tar.gz: cut at %d", cut), packed[:cut], "cut off"})
	}
	flipped := func(at int) []byte {
		b := bytes.Clone(packed)
		b[at] ^= 1
		return b
	}
	other := tarOf(tar.Header{Name: "s/y", Typeflag: tar.TypeReg})
	sparse := func() []byte {
		var b bytes.Buffer
		records := "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n" + "27 GNU.sparse.name=s/sparse\n" + "34 GNU.sparse.realsize=9999999999\n"
		b.Write(ustar(tar.Header{Name: "x", Typeflag: tar.TypeXHeader}, records))
		b.WriteString(records)
		b.Write(make([]byte, -len(records)&511))
		b.Write(ustar(tar.Header{Name: "GNUSparse/x", Typeflag: tar.TypeReg}, strings.Repeat("0", 512)))
		b.WriteString("0\n" + strings.Repeat("\x00", 510))
		return append(good[:len(good)-1024:len(good)-1024], append(b.Bytes(), make([]byte, 1024)...)...)
	}
	checksum := bytes.Clone(good)
	checksum[0] = 'S'
	return append(all,
		hostile{"tar: two behind one another", append(bytes.Clone(good), other...), "after its end"},
		hostile{"tar.gz: two tars in two members", append(bytes.Clone(packed), gzipped(other)...), "after its end"},
		hostile{"tar.gz: one tar in two members", append(gzipped(good[:600]), gzipped(good[600:])...), ""},
		hostile{"tar.gz: something behind it", append(bytes.Clone(packed), "behind"...), "damaged|cut off"},
		hostile{"tar.gz: a flipped bit", flipped(len(packed) / 2), "damaged|cut off|behind"},
		hostile{"tar.gz: another checksum", flipped(len(packed) - 8), "damaged"},
		hostile{"tar.gz: another length", flipped(len(packed) - 1), "damaged"},
		hostile{"tar: a wrong checksum", checksum, "damaged"},
		hostile{"tar: no end", good[:len(good)-1024], "no end"},
		hostile{"tar: a sparse file of 10 GB", sparse(), "not a regular file|damaged"},
		hostile{"gzip: no tar", gzipped([]byte(document)), "cut off"},
		hostile{"gzip: a zip", gzipped(rawZip(nil)), "cut off"},
		hostile{"gzip: a gzip", gzipped(packed), "cut off"},
		hostile{"gzip: nothing", gzipped(nil), "no skill"},
		hostile{"empty", nil, "empty"},
		hostile{"text", []byte(document), "neither"},
		hostile{"a web page", []byte("<!DOCTYPE html><title>Sign in</title>"), "web page"},
		hostile{"xz", []byte("\xfd7zXZ\x00"), "xz"},
		hostile{"zstd", []byte("\x28\xb5\x2f\xfd0000"), "zstd"},
		hostile{"an LFS pointer", []byte("version https://git-lfs.github.com/spec/v1\n"), "LFS"},
	)
}

// zeros reads as n zero bytes.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func bombs() (all []hostile) {
	gz := func(n int64, head []byte) []byte {
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		_, _ = w.Write(head)
		_, _ = io.Copy(w, zeros(n))
		_ = w.Close()
		return b.Bytes()
	}
	large := func(name string, size int64) []byte {
		b := ustar(tar.Header{Name: name, Typeflag: tar.TypeReg}, "")
		copy(b[124:], fmt.Sprintf("%011o", size))
		return sum(b)
	}
	var many bytes.Buffer
	for i := range MaxEntries/10 + 1 { // ten gzip members, all the same
		many.Write(ustar(tar.Header{Name: fmt.Sprintf("d/%d", i), Typeflag: tar.TypeReg}, ""))
	}
	big := zipFile{name: "s/zeros", content: strings.Repeat("\x00", 100<<20)}
	le := binary.LittleEndian
	lying := zipOf(zipFile{name: "s/x", content: strings.Repeat("\x00", 1<<20)})
	lies := func(size uint32) []byte {
		b := bytes.Clone(lying)
		at := bytes.LastIndex(b, []byte(sigCentral))
		le.PutUint32(b[at+24:], size)
		le.PutUint32(b[bytes.LastIndex(b, []byte(sigDescriptor))+12:], size)
		return b
	}
	return append(all,
		hostile{"tar.gz: a bomb of 1 GiB", gz(1<<30, large("s/x", 1<<30)), "times its size"},
		hostile{"tar.gz: a bomb beside the skill", gz(1<<30, append(tarOf()[:1024], large("x", 1<<30)...)), "times its size"},
		hostile{"tar.gz: a bomb behind the end", gz(1<<30, tarOf()), "times its size"},
		hostile{"tar.gz: more bytes than an int", gzipped(append(tarOf()[:1024], large("s/x", 1<<33-1)...)), "cut off"},
		hostile{"tar.gz: 200,001 files", gzipped(append(bytes.Repeat(many.Bytes(), 10), make([]byte, 1024)...)), "200,000 entries"},
		hostile{"zip: a bomb of 100 MiB", zipOf(big), "times its size"},
		hostile{"zip: more than stated", lies(9), "larger than it says"},
		hostile{"zip: less than stated", lies(2 << 20), "smaller than it says"},
		hostile{"zip: much more than it has", lies(1 << 30), "times its size"},
		hostile{"zip: files that overlap", overlapping(), "overlap"},
		hostile{"zip: 200,001 entries", longDirectory(), "200,000 entries"},
		hostile{"zip: 200,001 entries as one", manyEntries(1), "more or fewer"},
		hostile{"zip: 200,001 entries as 65,535", manyEntries(1<<16 - 1), "more or fewer"},
		hostile{"zip: names of 16 MiB", longNames(), "names"},
	)
}

// overlapping makes a zip whose thousand files are at one place.
func overlapping() []byte {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("s/%04d", i)
	}
	return rawZip(func(_, central [][]byte, _ []byte) {
		for i := range central[1:] {
			copy(central[i+1][42:46], central[1][42:46])
		}
	}, names...)
}

func manyEntries(said uint16) []byte {
	names := make([]string, MaxEntries)
	for i := range names {
		names[i] = fmt.Sprintf("s/%d", i)
	}
	return rawZip(func(_, _ [][]byte, end []byte) {
		binary.LittleEndian.PutUint16(end[8:], said)
		binary.LittleEndian.PutUint16(end[10:], said)
	}, names...)
}

// longDirectory makes a zip of 200,001 files with the standard library.
func longDirectory() []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range MaxEntries + 1 {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i)}); err != nil {
			panic(err)
		}
	}
	_ = w.Close()
	return b.Bytes()
}

func longNames() []byte {
	names := make([]string, 4100)
	for i := range names {
		names[i] = fmt.Sprintf("d/%0*d", maxPath-2, i)
	}
	return rawZip(nil, names...)
}

func crcOf(content string) uint32 { return crc32.ChecksumIEEE([]byte(content)) }

// allSmall returns all hostile archives except the bombs.
func allSmall() []hostile {
	return slices.Concat(hostileNames(), hostileTypes(), hostileZips(), hostileStreams())
}

// unpack unpacks the skills of an archive into a folder as carelessly as possible: it joins each
// path to the folder. It returns the reason why the archive or its skill is refused.
func unpack(ctx context.Context, data []byte, to string, note func(entries int)) error {
	var entries []origin.Node
	r := bytes.NewReader(data)
	err := Walk(ctx, r, r.Size(), func(e origin.Node, content io.Reader) error {
		if e.Path == "s/SKILL.md" || strings.HasPrefix(e.Path, "s/") && e.Type.IsFile() {
			_, _ = io.Copy(io.Discard, content) // a visitor that does not look at errors
		}
		entries = append(entries, e)
		note(len(entries))
		return nil
	})
	if err != nil {
		if !errors.Is(err, ErrRefused) {
			return fmt.Errorf("NO REFUSAL: %w", err)
		}
		return err
	}
	skills := origin.Find(entries, "")
	var copied error
	for _, s := range skills {
		if len(s.Copies) > 0 {
			copied = errors.New("a link became a copy")
		}
		if s.Path == "s" && s.Fault != nil {
			return s.Fault
		}
		if s.Path == "s" && len(s.Dropped) > 0 { // the rest is installed
			return errors.New("left out " + s.Dropped[0])
		}
	}
	if len(skills) == 0 {
		return errors.New("no skill")
	}
	chosen := origin.Select(skills)
	err = Walk(ctx, r, r.Size(), func(e origin.Node, content io.Reader) error {
		if !e.Type.IsFile() {
			return nil
		}
		data, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		for in, file := range chosen.Holders(e.Path) {
			at := filepath.Join(to, in, file)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(at, data, 0o600); err != nil {
				return err
			}
		}
		return nil
	})
	return cmp.Or(err, copied)
}

// TestHostile checks that no byte of a hostile archive gets out of the folder into which it is
// unpacked. It also checks that no archive takes more than 64 MiB of memory.
func TestHostile(t *testing.T) {
	testwait.Slow(t)
	all := append(allSmall(), bombs()...)
	if len(all) < 150 {
		t.Errorf("%d archives", len(all))
	}
	for _, h := range all {
		top := t.TempDir()
		to := filepath.Join(top, "a", "b", "c")
		var before, now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		peak := uint64(0)
		err := unpack(t.Context(), h.data, to, func(entries int) {
			if entries%10_000 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapAlloc-min(before.HeapAlloc, now.HeapAlloc))
			}
		})
		runtime.ReadMemStats(&now)
		if asked := now.TotalAlloc - before.TotalAlloc; asked > 64<<20 && (peak == 0 || peak > 64<<20) {
			t.Errorf("%s: asked for %d MiB, held %d", h.name, asked>>20, peak>>20)
		}
		told := err == nil && h.why == ""
		for why := range strings.SplitSeq(h.why, "|") {
			told = told || err != nil && why != "" && strings.Contains(err.Error(), why)
		}
		if !told {
			t.Errorf("%s: %v, want %q", h.name, err, h.why)
		}
		for _, outside := range []string{top, filepath.Join(top, "a"), filepath.Join(top, "a", "b")} {
			if names, _ := os.ReadDir(outside); len(names) > 1 {
				t.Errorf("%s: something is in %s", h.name, outside)
			}
		}
	}
	t.Logf("%d archives", len(all))
}
