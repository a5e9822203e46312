package display

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// windows1252 has the characters of the bytes 0x80 to 0x9f in windows-1252. It maps the five bytes
// that Microsoft left undefined to C1 controls, as WHATWG does.
var windows1252 = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

// Decode decodes a file's bytes and returns the name of their encoding. Valid UTF-8 is "utf-8" and
// keeps its byte-order mark. A text with the mark of UTF-16 is "utf-16le" or "utf-16be", and loses
// the mark. Any other text is "windows-1252". Decode returns false for binary data. The text may
// share memory with data, which the caller must not change afterwards.
func Decode(data []byte) (text, encoding string, ok bool) {
	if utf8.Valid(data) {
		return TextOf(data), "utf-8", true
	}
	for _, u := range []struct {
		mark, name string
		order      binary.ByteOrder
	}{{"\xff\xfe", "utf-16le", binary.LittleEndian}, {"\xfe\xff", "utf-16be", binary.BigEndian}} {
		if rest, found := bytes.CutPrefix(data, []byte(u.mark)); found && len(rest)%2 == 0 {
			return decodeUTF16(rest, u.order), u.name, true
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
		if c >= 0x80 && c < 0xa0 {
			b.WriteRune(windows1252[c-0x80])
		} else {
			b.WriteRune(rune(c))
		}
	}
	return b.String(), "windows-1252", true
}

// decodeUTF16 decodes an even number of bytes. It replaces half a surrogate pair with U+FFFD.
func decodeUTF16(data []byte, order binary.ByteOrder) string {
	var b strings.Builder
	b.Grow(len(data))
	for ; len(data) > 0; data = data[2:] {
		r := rune(order.Uint16(data))
		if utf16.IsSurrogate(r) && len(data) >= 4 {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(data[2:]))); pair != utf8.RuneError {
				r, data = pair, data[2:]
			}
		}
		b.WriteRune(r) // U+FFFD for half a pair
	}
	return b.String()
}

// TextOf returns bytes as a string without a copy. The bytes must not change while the string is
// used.
func TextOf(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }
