package scan

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf16"

	"github.com/knack-dev/knack/scan/internal/words"
)

// decoder returns what a program makes of a text, and whether its options tell it to decode.
type decoder func(args []value, text string) (out string, known, decodes bool)

// decode returns what a decoder writes. ok is false if it is not told to decode.
func (r *shellReader) decode(name string, args []value, in value) (value, bool) {
	source := in
	for _, v := range args {
		if !strings.HasPrefix(v.text, "-") || v.stream {
			if c := r.content(v); !c.empty() {
				source = c
			}
		}
	}
	if name == "openssl" || name == "xxd" || name == "tr" {
		source = openedBy(r, name, args, in)
	}
	text, known, decodes := decoders[name](args, source.text)
	if !decodes {
		return value{}, false
	}
	out := value{decoder: name, text: text, known: known && source.known}
	if !out.known {
		out.text = ""
	}
	if name == "tr" || name == "rev" { // they are mostly used for other ends
		if !source.known || text == source.text {
			return value{}, false
		}
	}
	return out.with(source), true
}

// openedBy returns what a decoder with options of its own reads.
func openedBy(r *shellReader, name string, args []value, in value) value {
	for i, v := range args {
		if v.text == "-in" && i+1 < len(args) || v.stream {
			return r.content(args[min(i+1, len(args)-1)])
		}
		if name == "xxd" && !strings.HasPrefix(v.text, "-") && i > 0 {
			if c := r.content(v); !c.empty() {
				return c
			}
		}
	}
	return in
}

// flag reports whether one of the options is given: as a letter, or as a word.
func flag(args []value, letters, long string) bool {
	for _, v := range args {
		if name, ok := strings.CutPrefix(v.text, "--"); ok {
			if name != "" && words.Has(long, name) {
				return true
			}
		} else if name, ok := strings.CutPrefix(v.text, "-"); ok && letters != "" && strings.ContainsAny(name, letters) {
			return true
		}
	}
	return false
}

func decodeBase64(args []value, text string) (string, bool, bool) {
	out, ok := fromBase64(text)
	return out, ok, flag(args, "dD", "decode d de dec deco decod")
}

func decodeBase32(args []value, text string) (string, bool, bool) {
	out, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(withoutSpace(text), "="))
	return string(out), err == nil, flag(args, "dD", "decode")
}

func decodeBasenc(args []value, text string) (string, bool, bool) {
	if flag(args, "", "base16") {
		out, ok := fromHex(text)
		return out, ok, flag(args, "dD", "decode")
	}
	return decodeBase64(args, text)
}

// decodeOpenssl decodes openssl base64 -d and openssl enc -base64 -d. What a cipher hides is not known.
func decodeOpenssl(args []value, text string) (string, bool, bool) {
	plain, decodes := false, false
	for _, v := range args {
		switch v.text {
		case "base64", "-base64", "-a":
			plain = true
		case "-d":
			decodes = true
		case "-k", "-pass", "-K":
			return "", false, flag(args, "d", "")
		}
	}
	out, ok := fromBase64(text)
	return out, ok && plain, decodes
}

func decodeXxd(args []value, text string) (string, bool, bool) {
	out, ok := fromHex(text)
	return out, ok && flag(args, "p", ""), flag(args, "r", "")
}

func decodeUnknown([]value, string) (string, bool, bool) { return "", false, true }

func decodeRev(_ []value, text string) (string, bool, bool) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		letters := []rune(line)
		for a, b := 0, len(letters)-1; a < b; a, b = a+1, b-1 {
			letters[a], letters[b] = letters[b], letters[a]
		}
		lines[i] = string(letters)
	}
	return strings.Join(lines, "\n"), true, true
}

// decodeTr decodes tr with two alphabets that turn each other round: ROT13 and its kin.
func decodeTr(args []value, text string) (string, bool, bool) {
	if len(args) != 2 || flag(args, "dsc", "delete") {
		return "", false, false
	}
	from, to := ranges(args[0].text), ranges(args[1].text)
	if len(from) < 26 || len(from) != len(to) || strings.EqualFold(from, to) {
		return "", false, false
	}
	return strings.Map(func(c rune) rune {
		if i := strings.LastIndex(from, string(c)); i >= 0 && c < 0x80 {
			return rune(to[i])
		}
		return c
	}, text), true, true
}

// ranges writes out a-z in the alphabets of tr.
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

// fromBase64 decodes both alphabets, with padding or without.
func fromBase64(text string) (string, bool) {
	text = strings.TrimRight(withoutSpace(text), "=")
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	out, err := encoding.DecodeString(text)
	return string(out), err == nil && len(out) > 0
}

func fromHex(text string) (string, bool) {
	out, err := hex.DecodeString(withoutSpace(text))
	return string(out), err == nil && len(out) > 0
}

// decodedUTF16 returns what PowerShell makes of an encoded command: base64 of UTF-16.
func decodedUTF16(v value) value {
	text, ok := fromBase64(v.text)
	if !ok || len(text)%2 != 0 || !v.known {
		v.text, v.known = "", false
		return v
	}
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = uint16(text[2*i]) | uint16(text[2*i+1])<<8
	}
	v.text = string(utf16.Decode(units))
	return v
}
