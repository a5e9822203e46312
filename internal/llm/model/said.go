package model

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// speech assembles a text that arrives in several JSON strings. A server may split the text
// anywhere, even within a character. The field half then keeps the first part of the character.
type speech struct {
	show func(string)
	text strings.Builder
	half []byte // as written in the JSON string
}

// add adds a JSON string and shows its text.
func (s *speech) add(piece json.RawMessage) {
	if len(piece) < 2 || piece[0] != '"' {
		return
	}
	s.half = append(s.half, piece[1:len(piece)-1]...)
	n := wholeCharacters(s.half)
	s.take(n)
}

// take shows the first n pending bytes.
func (s *speech) take(n int) {
	if n == 0 {
		return
	}
	t := text(json.RawMessage(`"` + string(s.half[:n]) + `"`))
	s.half = append(s.half[:0], s.half[n:]...)
	s.text.WriteString(t)
	s.show(t)
}

// end shows the pending half character, if any, and returns the text.
func (s *speech) end() string {
	s.take(len(s.half))
	return s.text.String()
}

// wholeCharacters returns how many bytes of raw, the text between the quotes of a JSON string, form
// whole characters. The rest, if any, is the beginning of a surrogate pair or of a UTF-8 sequence.
func wholeCharacters(raw []byte) int {
	n := len(raw)
	if n >= 6 && isHighSurrogate(raw[n-6:]) {
		slashes := 0
		for slashes < n-6 && raw[n-7-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return n - 6
		}
	}
	for i := 1; i <= min(3, n); i++ {
		if c := raw[n-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(raw[n-i:]) {
				return n - i
			}
			break
		}
	}
	return n
}

// isHighSurrogate reports whether six bytes are an escape from \ud800 to \udbff.
func isHighSurrogate(b []byte) bool {
	return b[0] == '\\' && b[1] == 'u' && b[2]|0x20 == 'd' && strings.IndexByte("89abAB", b[3]) >= 0
}
