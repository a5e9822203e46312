package frontmatter

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// wideName returns the encoding of a file if it is UTF-16 or UTF-32, and otherwise "". It
// recognizes a byte-order mark, or a beginning of ---.
func wideName(s string) string {
	if len(s) < 2 || s[0] != 0 && s[0] < 0xfe && s[1] != 0 {
		return "" // nearly always
	}
	for _, w := range []struct{ begin, name string }{
		// UTF-32 comes first, because its byte-order mark in little-endian order begins like
		// UTF-16's.
		{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"},
		{"-\x00\x00\x00-\x00\x00\x00", "UTF-32LE"}, {"\x00\x00\x00-\x00\x00\x00-", "UTF-32BE"},
		{"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
		{"-\x00-\x00", "UTF-16LE"}, {"\x00-\x00-", "UTF-16BE"},
	} {
		if strings.HasPrefix(s, w.begin) {
			return w.name
		}
	}
	return ""
}

// unsafeCharacter finds a character that must not reach a YAML parser. It finds control characters,
// line breaks of YAML 1.1 that are text in 1.2, and the two non-characters that YAML forbids.
func unsafeCharacter(block string) *yamlFault {
	if wide, control := scanBytes(block); min(wide, control) == len(block) {
		return nil
	}
	for i, r := range block {
		if isBadControl(r) || isSeparator(r) || r == 0xfeff || r == 0xfffe || r == 0xffff {
			return &yamlFault{rule: YAMLSyntax, position: positionOf(block, i),
				message: fmt.Sprintf("the character U+%04X is not allowed here", r), fix: "delete the character"}
		}
	}
	return nil
}

// isBadControl reports whether r is a control character: C0 except tab and line ends, DEL,
// C1.
func isBadControl(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r <= 0x9f
}

// controls contains 1 for each ASCII character that isBadControl reports. It contains 2 for the
// first byte of the C1 characters in UTF-8.
var controls = func() (t [256]byte) {
	for c := range rune(utf8.RuneSelf) {
		if isBadControl(c) {
			t[c] = 1
		}
	}
	t[0xc2] = 2
	return t
}()

// indexBadControl returns the index of the first character that isBadControl reports, or the text's
// length. The text must be valid UTF-8.
func indexBadControl(s string) int {
	_, control := scanBytes(s)
	return control
}

// scanBytes checks every byte, 32 at a time. All bytes before wide are ASCII. If the text is valid
// UTF-8, control is the index of the first character that isBadControl reports. Either is the
// text's length if there is no such byte.
func scanBytes(s string) (wide, control int) {
	wide = len(s)
	i := 0
	for ; i+32 <= len(s); i += 32 {
		// One condition tests all four words, and line feeds count as ordinary bytes. A
		// mispredicted branch would cost more than the extra work.
		part := s[i : i+32]
		if (specialBytes(eight(part))|specialBytes(eight(part[8:]))|specialBytes(eight(part[16:]))|specialBytes(eight(part[24:])))&tops == 0 {
			continue
		}
		for at := i; at < i+32; at += 8 {
			w := eight(s[at:])
			if specialBytes(w)&tops == 0 {
				continue
			}
			if w&tops != 0 {
				wide = min(wide, at)
			}
			for k := at; k < at+8; k++ {
				if badControlAt(s, k) {
					return min(wide, k), k
				}
			}
		}
	}
	for ; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			wide = min(wide, i)
		}
		if badControlAt(s, i) {
			return min(wide, i), i
		}
	}
	return wide, len(s)
}

// ones and tops mask the lowest and the highest bit of each of eight bytes.
const ones, tops = 0x0101010101010101, 0x8080808080808080

// specialBytes sets the highest bit of at least one byte if any of the eight is special. A byte is
// special if it is not ASCII, is DEL, or is below the space and not a line feed. A carry from a
// byte that is not ASCII does no harm, because that byte sets its own bit.
func specialBytes(w uint64) uint64 {
	return ^(w+ones*0x60)&((w^ones*'\n')+ones*0x7f) | (w + ones) | w
}

// eight returns the first eight bytes of a text as a little-endian integer.
func eight(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func badControlAt(s string, i int) bool {
	k := controls[s[i]]
	return k == 1 || k == 2 && i+1 < len(s) && s[i+1] <= 0x9f
}

// isSeparator reports whether r is LINE SEPARATOR or PARAGRAPH SEPARATOR.
func isSeparator(r rune) bool { return r == 0x2028 || r == 0x2029 }

func invalidAt(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}
