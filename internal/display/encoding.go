package display

import (
	"bytes"
	"strings"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// Decode turns a file's bytes into text and names its encoding: "utf-8" (a byte-order
// mark stays), "utf-16le" or "utf-16be" by their byte-order mark (which is removed), else
// "windows-1252" if no byte indicates binary data. It returns false for a binary file. The
// text may share the bytes, which must not change any more.
func Decode(data []byte) (text, encoding string, ok bool) {
	if utf8.Valid(data) {
		return unsafe.String(unsafe.SliceData(data), len(data)), "utf-8", true
	}
	for _, u := range []struct {
		mark, name string
		order      unicode.Endianness
	}{{"\xff\xfe", "utf-16le", unicode.LittleEndian}, {"\xfe\xff", "utf-16be", unicode.BigEndian}} {
		if rest, found := bytes.CutPrefix(data, []byte(u.mark)); found && len(rest)%2 == 0 {
			out, err := unicode.UTF16(u.order, unicode.IgnoreBOM).NewDecoder().Bytes(rest)
			return string(out), u.name, err == nil
		}
	}
	for _, c := range data {
		if c < 0x20 && c != '\t' && c != '\r' && c != '\n' && c != '\f' {
			return "", "", false
		}
	}
	var b strings.Builder
	b.Grow(len(data) + len(data)/8)
	for _, c := range data {
		r := charmap.Windows1252.DecodeByte(c)
		if r == utf8.RuneError {
			r = rune(c) // WHATWG maps the five bytes that Microsoft left undefined to C1
		}
		b.WriteRune(r)
	}
	return b.String(), "windows-1252", true
}
