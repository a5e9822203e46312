package model

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// speech is a text that arrives in JSON strings. A server may cut it anywhere, also within a
// character, whose first half then waits for the other.
type speech struct {
	show func(string)
	text strings.Builder
	half []byte // as it stood in the JSON string
}

// add takes a JSON string, and shows it.
func (s *speech) add(piece json.RawMessage) {
	if len(piece) < 2 || piece[0] != '"' {
		return
	}
	s.half = append(s.half, piece[1:len(piece)-1]...)
	n := wholeCharacters(s.half)
	s.take(n)
}

// take shows the first n bytes of what has come.
func (s *speech) take(n int) {
	if n == 0 {
		return
	}
	t := text(json.RawMessage(`"` + string(s.half[:n]) + `"`))
	s.half = append(s.half[:0], s.half[n:]...)
	s.text.WriteString(t)
	s.show(t)
}

// end shows what waits for a half that has not come.
func (s *speech) end() string {
	s.take(len(s.half))
	return s.text.String()
}

// wholeCharacters returns how many bytes of the inside of a JSON string are whole characters: not
// the first half of a pair of escapes, nor the first bytes of a character.
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
