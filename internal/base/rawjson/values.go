package rawjson

import "bytes"

// MaxValues bounds the JSON values of a message. A decoded value takes up to a hundred times the
// memory of its text. The largest real messages, lists of files, have some thousand values.
const MaxValues = 10_000

// Counter counts the JSON values of a text that arrives in pieces. Outside strings, each value but
// the first follows a [, a {, or a comma. A line end also ends a string, because another event of a
// stream can begin after it. The zero value is ready to use.
type Counter struct {
	Values int

	quoted  bool // in a string
	escaped bool // after a backslash in a string
}

// Add counts the next piece.
func (c *Counter) Add(p []byte) {
	n, quoted, escaped := c.Values, c.quoted, c.escaped
	for _, b := range p {
		switch {
		case escaped:
			escaped = false
		case b == '\n':
			quoted = false
		case b == '"':
			quoted = !quoted
		case quoted:
			escaped = b == '\\'
		case b == ',' || b == '{' || b == '[':
			n++
		}
	}
	c.Values, c.quoted, c.escaped = n, quoted, escaped
}

// Values counts the JSON values of a complete text as [Counter] does.
func Values(b []byte) int {
	var c Counter
	c.Add(b)
	return c.Values
}

// HasMore reports whether a text has more than n values. It is much faster than [Values] if the
// text has fewer.
func HasMore(b []byte, n int) bool {
	most := 0 // including commas and brackets in strings
	for _, before := range []string{",", "{", "["} {
		most += bytes.Count(b, []byte(before))
	}
	return most > n && Values(b) > n
}

// TooMany reports whether a message has more than [MaxValues] values, so that it must not be
// decoded.
func TooMany(b []byte) bool { return len(b) > MaxValues && HasMore(b, MaxValues) }
