package frontmatter

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// Kind is the type of a frontmatter value by the YAML 1.2 core schema.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

// Value is a node of the frontmatter with the position of its first character.
type Value struct {
	Kind     Kind
	Text     string  // the text of a string; for other scalars, the source text
	Items    []Value // of a List
	Fields   []Field // of a Map, in file order, each key once
	Position Position
}

// Field is one key of a mapping.
type Field struct {
	Key         string
	KeyPosition Position
	Value       Value
}

// notation is the notation of a number in the YAML 1.2 core schema (yaml.org/spec/1.2.2, 10.3.2). A
// date, 0b11 and 1_000 are strings there, and 012 is twelve.
type notation uint8

const (
	noNumber notation = iota
	decimal
	octal
	hexadecimal
	infinite // infinite, or .nan
)

func notationOf(s string) notation {
	switch {
	case strings.HasPrefix(s, "0o") && digits(s[2:], "01234567") == len(s)-2 && len(s) > 2:
		return octal
	case strings.HasPrefix(s, "0x") && digits(s[2:], "0123456789abcdefABCDEF") == len(s)-2 && len(s) > 2:
		return hexadecimal
	}
	switch s {
	case ".nan", ".NaN", ".NAN":
		return infinite
	}
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	switch s {
	case ".inf", ".Inf", ".INF":
		return infinite
	}
	const tens = "0123456789"
	whole := digits(s, tens)
	fraction := 0
	if s = s[whole:]; s != "" && s[0] == '.' {
		fraction = digits(s[1:], tens)
		s = s[1+fraction:]
	}
	if whole+fraction == 0 {
		return noNumber
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		if s = s[1:]; s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		n := digits(s, tens)
		if n == 0 {
			return noNumber
		}
		s = s[n:]
	}
	if s != "" {
		return noNumber
	}
	return decimal
}

// digits returns the number of leading characters of a text that are in a set of digits.
func digits(s, set string) int {
	i := 0
	for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
		i++
	}
	return i
}

// KindOf returns the kind of a plain scalar: a text without quotes on one line.
func KindOf(s string) Kind {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return Null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool
	}
	if notationOf(s) == noNumber {
		return String
	}
	return Number
}

// Finite reports whether a Number has a JSON form. Infinities, NaN and values that overflow a
// double have none.
func (v Value) Finite() bool {
	_, ok := jsonNumber(v.Text)
	return ok
}

// jsonNumber writes a core-schema number as a JSON number of the same value. It keeps the author's
// digits if JSON allows them ("1.10" stays "1.10").
func jsonNumber(s string) (string, bool) {
	switch form := notationOf(s); form {
	case infinite:
		return "", false
	case octal, hexadecimal:
		base := 8
		if form == hexadecimal {
			base = 16
		}
		n, ok := new(big.Int).SetString(s[2:], base)
		if !ok {
			return "", false
		}
		return finite(n.String())
	}
	sign := ""
	switch s[0] {
	case '-':
		sign, s = "-", s[1:]
	case '+':
		s = s[1:]
	}
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i:]
	}
	whole, frac, dotted := strings.Cut(mantissa, ".")
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if dotted && frac != "" {
		whole += "." + frac
	}
	return finite(sign + whole + exponent)
}

func finite(s string) (string, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return s, err == nil && !math.IsInf(f, 0)
}

// AppendJSON appends the value's JSON form, without HTML escapes. A number without a JSON form
// becomes a string with its source text. A document with such a number is not published.
func (v Value) AppendJSON(b []byte) []byte { return v.appendJSON(b) }

// appendJSON is AppendJSON without copying values, which are large.
func (v *Value) appendJSON(b []byte) []byte {
	switch v.Kind {
	case Null:
		return append(b, "null"...)
	case Bool:
		return append(b, strings.ToLower(v.Text)...)
	case Number:
		if n, ok := jsonNumber(v.Text); ok {
			return append(b, n...)
		}
		return display.AppendJSONString(b, v.Text)
	case List:
		b = append(b, '[')
		for i := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.Items[i].appendJSON(b)
		}
		return append(b, ']')
	case Map:
		b = append(b, '{')
		for i := range v.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = display.AppendJSONString(b, v.Fields[i].Key)
			b = append(b, ':')
			b = v.Fields[i].Value.appendJSON(b)
		}
		return append(b, '}')
	}
	return display.AppendJSONString(b, v.Text)
}
