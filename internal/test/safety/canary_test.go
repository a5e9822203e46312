//go:build linux

package safety

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// canary is a text in a place that must not be read. It is recognised in every encoding of an
// answer.
type canary struct {
	text  string
	forms []string
}

// newCanary returns a canary that consists of letters only, which no encoding of an answer escapes.
func newCanary(name string) canary {
	sum := sha256.Sum256([]byte("canary " + name))
	text := "CANARY"
	for _, b := range sum {
		text += string(rune('a'+b%26)) + string(rune('A'+b/26%26))
	}
	c := canary{text: text, forms: []string{text, hex.EncodeToString([]byte(text))}}
	// A blob is the base64 of the whole file, so the text can begin at any of three offsets.
	for skip := range 3 {
		whole := base64.StdEncoding.EncodeToString([]byte(text[skip:]))
		c.forms = append(c.forms, whole[:len(whole)/4*4-4])
	}
	return c
}

// within reports whether an answer contains the canary.
func (c canary) within(answer string) bool {
	for _, f := range c.forms {
		if strings.Contains(answer, f) {
			return true
		}
	}
	return false
}

// leaks returns an error that names the canary that the answer contains.
func leaks(answer string, cs map[string]canary) error {
	for what, c := range cs {
		if c.within(answer) {
			return fmt.Errorf("leaks %s: %s", what, excerpt(answer))
		}
	}
	return nil
}

func excerpt(s string) string {
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	return fmt.Sprintf("%q", s)
}
