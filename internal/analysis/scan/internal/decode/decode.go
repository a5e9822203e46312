// Package decode decodes texts as programs such as base64, xxd and tr do.
package decode

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
)

// Is reports whether a program is known to decode texts.
func Is(program string) bool { return decoders()[program] != nil }

// By returns the result of decoding a text with a program. known reports whether the result is
// known. decodes reports whether the program decodes at all with these arguments.
func By(program string, args []string, text string) (out string, known, decodes bool) {
	return decoders()[program](args, text)
}

// decoders maps decoding programs to their functions. Source: MITRE ATT&CK T1140.
var decoders = sync.OnceValue(func() map[string]func(args []string, text string) (out string, known, decodes bool) {
	return map[string]func(args []string, text string) (out string, known, decodes bool){
		"base64": decodeBase64, "gbase64": decodeBase64, "base32": decodeBase32, "basenc": decodeBasenc,
		"openssl": decodeOpenssl, "xxd": decodeXxd, "uudecode": decodeUnknown, "rev": decodeRev, "tr": decodeTr, "jq": decodeJq,
	}
})

func hasFlag(args []string, letters, long string) bool {
	return slices.ContainsFunc(args, func(word string) bool { return words.IsFlag(word, letters, long) })
}

func decodeBase64(args []string, text string) (string, bool, bool) {
	out, ok := Base64(text)
	return out, ok, hasFlag(args, "dD", "decode d de dec deco decod")
}

func decodeBase32(args []string, text string) (string, bool, bool) {
	out, ok := Base32(text)
	return out, ok, hasFlag(args, "dD", "decode")
}

// Base32 decodes base32 with or without padding.
func Base32(text string) (string, bool) {
	out, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(withoutSpace(text), "="))
	return string(out), err == nil
}

func decodeBasenc(args []string, text string) (string, bool, bool) {
	if hasFlag(args, "", "base16") {
		out, ok := Hex(text)
		return out, ok, hasFlag(args, "dD", "decode")
	}
	return decodeBase64(args, text)
}

// decodeOpenssl decodes like openssl base64 -d and openssl enc -base64 -d. If the command uses a
// cipher, the result is unknown.
func decodeOpenssl(args []string, text string) (string, bool, bool) {
	plain, decodes := false, false
	for _, v := range args {
		switch v {
		case "base64", "-base64", "-a":
			plain = true
		case "-d":
			decodes = true
		case "-k", "-pass", "-K":
			return "", false, hasFlag(args, "d", "")
		}
	}
	out, ok := Base64(text)
	return out, ok && plain, decodes
}

func decodeXxd(args []string, text string) (string, bool, bool) {
	out, ok := Hex(text)
	return out, ok && hasFlag(args, "p", ""), hasFlag(args, "r", "")
}

// decodeJq decodes the argument of @base64d: a string in jq's program, or otherwise its input.
func decodeJq(args []string, text string) (string, bool, bool) {
	for _, word := range args {
		before, _, ok := strings.Cut(word, "@base64d")
		if !ok {
			continue
		}
		if _, inner, ok := strings.Cut(before, `"`); ok {
			text, _, _ = strings.Cut(inner, `"`)
		}
		out, ok := Base64(strings.Trim(text, "\" \n"))
		return out, ok, true
	}
	return "", false, false
}

func decodeUnknown([]string, string) (string, bool, bool) { return "", false, true }

func decodeRev(_ []string, text string) (string, bool, bool) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		letters := []rune(line)
		slices.Reverse(letters)
		lines[i] = string(letters)
	}
	return strings.Join(lines, "\n"), true, true
}

func decodeTr(args []string, text string) (string, bool, bool) {
	if len(args) != 2 || hasFlag(args, "dsc", "delete") {
		return "", false, false
	}
	out, ok := Tr(args[0], args[1], text)
	return out, ok, ok
}

// Tr decodes like tr with two alphabets of equal length, such as the alphabets of ROT13.
func Tr(from, to, text string) (string, bool) {
	from, to = ranges(from), ranges(to)
	if len(from) < 26 || len(from) != len(to) || strings.EqualFold(from, to) {
		return "", false
	}
	return strings.Map(func(c rune) rune {
		if i := strings.LastIndex(from, string(c)); i >= 0 && c < 0x80 {
			return rune(to[i])
		}
		return c
	}, text), true
}

// ranges expands ranges such as a-z in the alphabets of tr.
func ranges(text string) string {
	var out strings.Builder
	for i := 0; i < len(text) && out.Len() < 256; i++ {
		if i+2 < len(text) && text[i+1] == '-' && text[i] <= text[i+2] && text[i+2] < 0x80 {
			for c := text[i]; c <= text[i+2]; c++ {
				out.WriteByte(c)
			}
			i += 2
			continue
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

func withoutSpace(text string) string {
	return strings.Map(func(c rune) rune {
		if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
			return -1
		}
		return c
	}, text)
}

// Base64 decodes the standard and the URL-safe alphabet of base64, with or without padding.
func Base64(text string) (string, bool) {
	text = strings.TrimRight(withoutSpace(text), "=")
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	out, err := encoding.DecodeString(text)
	return string(out), err == nil && len(out) > 0
}

// Hex decodes hexadecimal digits.
func Hex(text string) (string, bool) {
	out, err := hex.DecodeString(withoutSpace(text))
	return string(out), err == nil && len(out) > 0
}

// UTF16 decodes an encoded command of PowerShell, which is base64 of UTF-16.
func UTF16(text string) (string, bool) {
	text, ok := Base64(text)
	if !ok || len(text)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = uint16(text[2*i]) | uint16(text[2*i+1])<<8
	}
	return string(utf16.Decode(units)), true
}

// Escapes resolves the backslash escapes of $'…', printf and echo -e. It returns the number of
// numeric escapes.
func Escapes(text string) (string, int) {
	if !strings.Contains(text, "\\") {
		return text, 0
	}
	var out strings.Builder
	count := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		base, digits, start := 0, 0, i+1
		switch c := text[i]; c {
		case 'x':
			base, digits = 16, 2
		case 'u':
			base, digits = 16, 4
		case 'U':
			base, digits = 16, 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
			base, digits, start = 8, 3, i
			if c == '0' {
				digits = 4
			}
		case 'n':
			out.WriteByte('\n')
			continue
		case 't':
			out.WriteByte('\t')
			continue
		default:
			out.WriteByte(c)
			continue
		}
		end := start
		for end < len(text) && end-start < digits && digit(text[end], base) {
			end++
		}
		n, err := strconv.ParseUint(text[start:end], base, 32)
		if err != nil {
			out.WriteByte(text[i])
			continue
		}
		count++
		if n < 256 && base == 8 || digits == 2 {
			out.WriteByte(byte(n))
		} else {
			out.WriteRune(rune(n))
		}
		i = end - 1
	}
	return out.String(), count
}

func digit(c byte, base int) bool {
	return '0' <= c && c <= '7' || base == 16 && ('8' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F')
}
