package client

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// appendString writes a JSON string, nothing HTML-escaped. It is a valid string of
// YAML and, since control characters are escaped, of TOML too.
func appendString(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimRight(b.Bytes(), "\n")
}

// plainValue is a field's value as a parser returns it.
func plainValue(v any) any {
	switch v := v.(type) {
	case []string:
		l := make([]any, len(v))
		for i, s := range v {
			l[i] = s
		}
		return l
	case object:
		m := make(map[string]any, len(v))
		for _, f := range v {
			m[f.key] = plainValue(f.value)
		}
		return m
	case bool, int:
		b, _ := json.Marshal(v)
		return json.RawMessage(b)
	}
	return v
}

// firstRune is the first character and its length in bytes, at least 1.
func firstRune(b []byte) (rune, int) {
	r, size := utf8.DecodeRune(b)
	return r, max(size, 1)
}
