package display

import (
	"fmt"
	"math/bits"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// largeText is the size above which [Swells] looks at a text: the size of the largest SKILL.md.
const largeText = 1 << 20

// Swells reports whether a large text becomes more than twice as long in a JSON string. Nearly all
// of such a text is control characters.
func Swells[T string | []byte](text T) bool {
	if len(text) <= largeText {
		return false
	}
	more := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			more++
		case c < 0x20, c == 0x7f:
			more += 5
		}
	}
	return more > len(text)
}

// AppendJSONString appends s as a JSON string. It escapes quotes, backslashes and control
// characters, and replaces invalid UTF-8 with U+FFFD.
func AppendJSONString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	begin := 0 // start of the unchanged bytes
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			changed := notInJSON(eight(s[i:]))
			if changed == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(changed) / 8
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = utf8.AppendRune(append(b, s[begin:i]...), r)
				begin = i + 1
			}
			i += n
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f {
			i++
			continue
		}
		b = append(b, s[begin:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		begin = i
	}
	return append(append(b, s[begin:]...), '"')
}

// notInJSON returns 0 for eight bytes of printable ASCII that need no escape in a JSON string.
// Otherwise its lowest set bit marks the first byte that is not such a character. Higher bits may
// be wrong, because a carry can reach them.
func notInJSON(w uint64) uint64 {
	return (^((w + ones*0x60) & ((w ^ ones*'"') + ones*0x7f) & ((w ^ ones*'\\') + ones*0x7f)) | (w + ones) | w) & tops
}

// Masks of the lowest and the highest bit of each of eight bytes.
const ones, tops = 0x0101010101010101, 0x8080808080808080

// eight returns the first eight bytes of a text in little-endian order.
func eight(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// AppendVisibleJSON appends a JSON text for people. The value stays the same, but invisible
// characters and terminal controls become escapes.
func AppendVisibleJSON(b, text []byte) []byte {
	from := 0
	for i := 0; i < len(text); {
		if text[i] < 0x7f { // below the space, JSON has only separators
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError:
			b = utf8.AppendRune(append(b, text[from:i]...), r)
		case !unicode.IsControl(r) && !IsUnseen(r):
			i += size
			continue
		case r > 0xffff:
			one, two := utf16.EncodeRune(r)
			b = fmt.Appendf(append(b, text[from:i]...), `\u%04x\u%04x`, one, two)
		default:
			b = fmt.Appendf(append(b, text[from:i]...), `\u%04x`, r)
		}
		i += size
		from = i
	}
	return append(b, text[from:]...)
}
