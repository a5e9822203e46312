package rawjson

import "encoding/binary"

// maxLevels bounds the nesting of a message: the levels of its members and its own level.
const maxLevels = MaxDepth + 1

// Object reports whether b is one JSON object whose members nest at most [MaxDepth] levels. It
// calls visit with each member as [Members] does, before it has checked the rest. It accepts the
// same objects as [encoding/json.Valid], except for the levels, in a quarter of the time.
func Object(b []byte, visit func(key, value []byte) bool) bool {
	i := space(b, 0)
	if i == len(b) || b[i] != '{' {
		return false
	}
	end := composite(b, i, 1, visit)
	return end >= 0 && space(b, end) == len(b)
}

// value returns the end of the value at i, or -1 if the value is invalid.
func value(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return quoted(b, i)
	case '{', '[':
		return composite(b, i, depth+1, nil)
	case 't':
		return literal(b, i, "true")
	case 'f':
		return literal(b, i, "false")
	case 'n':
		return literal(b, i, "null")
	}
	return number(b, i)
}

// composite returns the end of the object or array at i, or -1 if it is invalid. It calls visit, if
// not nil, with each member of an object.
func composite(b []byte, i, depth int, visit func(key, value []byte) bool) int {
	if depth > maxLevels {
		return -1
	}
	object, end := b[i] == '{', b[i]+2 // in ASCII, the closing bracket comes two characters after the opening one
	if i = space(b, i+1); i < len(b) && b[i] == end {
		return i + 1
	}
	for {
		key := i
		var keyEnd int
		if object {
			if i = quoted(b, i); i < 0 {
				return -1
			}
			keyEnd = i
			if i = space(b, i); i >= len(b) || b[i] != ':' {
				return -1
			}
			i = space(b, i+1)
		}
		from := i
		if i = value(b, i, depth); i < 0 || visit != nil && !visit(b[key:keyEnd], b[from:i]) {
			return -1
		}
		switch i = space(b, i); {
		case i >= len(b):
			return -1
		case b[i] == end:
			return i + 1
		case b[i] != ',':
			return -1
		}
		i = space(b, i+1)
	}
}

// quoted returns the end of the string at i, or -1 if it is invalid.
func quoted(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i = plain(b, i+1); i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c == '\\':
			if i = escape(b, i+1); i < 0 {
				return -1
			}
		}
	}
	return -1
}

// plain skips bytes of a string from i on, eight at a time. It stops at the first group of eight
// that has a quote, a backslash or a control character, and returns the group's index.
func plain(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, escape := w^'"'*ones, w^'\\'*ones
		if ((w-' '*ones)&^w|(quote-ones)&^quote|(escape-ones)&^escape)&highs != 0 {
			break
		}
	}
	return i
}

// escape returns the index of the last byte of the escape whose backslash is before i, or -1.
func escape(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i
	case 'u':
		for range 4 {
			if i++; i >= len(b) || !hex(b[i]) {
				return -1
			}
		}
		return i
	}
	return -1
}

func hex(c byte) bool { return digit(c) || 'a' <= c|' ' && c|' ' <= 'f' }

func digit(c byte) bool { return '0' <= c && c <= '9' }

func literal(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return -1
}

// number returns the end of the number at i, or -1 if it is invalid.
func number(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	whole := i
	if i = digits(b, i); i < 0 || b[whole] == '0' && i > whole+1 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = digits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|' ' == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digits(b, i)
	}
	return i
}

// digits returns the end of the digits at i, or -1 without digits.
func digits(b []byte, i int) int {
	from := i
	for i < len(b) && digit(b[i]) {
		i++
	}
	if i == from {
		return -1
	}
	return i
}
