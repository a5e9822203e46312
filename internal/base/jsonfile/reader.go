// Package jsonfile reads JSON files that people write or may edit. It is strict, and reports the
// line and the column of a fault.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
)

const (
	// maxText bounds a string of a file, in bytes, unless the options set another bound.
	maxText = 4 << 10
	// maxDepth bounds the nesting of lists and objects in a value that is skipped.
	maxDepth = 100
)

// Options set the bounds of a kind of file, and the fixes in its errors.
type Options struct {
	MaxSize  int    // in bytes
	MaxText  int    // of one string, in bytes; 0 means 4,096
	TooLarge string // the fix for a file that is too large
	Restore  string // the fix for a malformed file
	Empty    string // the fix for an empty file
	Conflict string // the fix for conflict markers of a merge
}

// Error is the first fault of a file. Line and Column count from 1. Column counts characters.
type Error struct {
	Line, Column int
	Message, Fix string
}

// Error returns the position, the message and the fix in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s: %s", e.Line, e.Column, e.Message, e.Fix)
}

// Reader reads the values of a JSON file one after the other. It does not use the tokens of
// encoding/json, which take more than twice as long and have no positions. A method that finds a
// fault panics with an [*Error], which [Read] recovers.
type Reader struct {
	// Last is the offset at which the last value began, for [Reader.Fail].
	Last int

	o   Options
	src string
	at  int // the next byte
}

// Read reads a file with the function read, which reads one value. It returns the first fault. Only
// white space may follow the value.
func Read(data []byte, o Options, read func(*Reader)) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			e, ours := fault.(*Error)
			if !ours {
				panic(fault)
			}
			err = e
		}
	}()
	if o.MaxText == 0 {
		o.MaxText = maxText
	}
	r := &Reader{o: o}
	r.begin(data)
	read(r)
	if r.space(); r.at < len(r.src) {
		r.syntax("the end of the file")
	}
	return nil
}

func (r *Reader) begin(data []byte) {
	switch {
	case len(data) > r.o.MaxSize:
		r.Fail(0, r.o.TooLarge, "the file is too large; the limit is %d MiB", r.o.MaxSize>>20)
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")), bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		r.Fail(0, "save it as UTF-8 without a byte-order mark", "the file begins with a byte-order mark")
	}
	r.src = string(data)
	if !utf8.ValidString(r.src) {
		for i, c := range r.src {
			if _, n := utf8.DecodeRuneInString(r.src[i:]); c == utf8.RuneError && n == 1 {
				r.Fail(i, r.o.Restore, "the byte %#02x is not UTF-8", r.src[i])
			}
		}
	}
	if r.space(); r.at == len(r.src) {
		r.Fail(0, r.o.Empty, "the file is empty")
	}
}

// Fail panics with a fault at an offset.
func (r *Reader) Fail(at int, fix, format string, args ...any) {
	line := strings.LastIndexByte(r.src[:at], '\n') + 1
	if rest := r.src[at:]; at == line {
		for _, marker := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
			if strings.HasPrefix(rest, marker) {
				fix, format, args = r.o.Conflict, "the file has the conflict markers of a merge", nil
			}
		}
	}
	panic(&Error{Line: 1 + strings.Count(r.src[:at], "\n"), Column: 1 + utf8.RuneCountInString(r.src[line:at]), Message: fmt.Sprintf(format, args...), Fix: fix})
}

// syntax fails at the current offset. expected names the text that should be there.
func (r *Reader) syntax(expected string) {
	rest := r.src[r.at:]
	if rest == "" {
		r.Fail(r.at, r.o.Restore, "the file ends too early: %s is missing", expected)
	}
	_, n := utf8.DecodeRuneInString(rest)
	r.Fail(r.at, r.o.Restore, "%s is here instead of %s", display.Quote(rest[:n]), expected)
}

func (r *Reader) space() {
	for r.at < len(r.src) && (r.src[r.at] == ' ' || r.src[r.at] == '\n' || r.src[r.at] == '\r' || r.src[r.at] == '\t') {
		r.at++
	}
}

// next skips white space and the byte c. It reports whether c was there.
func (r *Reader) next(c byte) bool {
	r.space()
	if r.at == len(r.src) || r.src[r.at] != c {
		return false
	}
	r.at++
	return true
}

func (r *Reader) expect(c byte) {
	if !r.next(c) {
		r.syntax(strconv.Quote(string(c)))
	}
}

// Members calls visit for each member of an object, with its key and the key's offset. visit reads
// the value.
func (r *Reader) Members(what string, visit func(key string, at int)) {
	if r.space(); r.at < len(r.src) && r.src[r.at] != '{' {
		r.Fail(r.at, r.o.Restore, "%s is not an object: { is expected", what)
	}
	r.expect('{')
	if r.next('}') {
		return
	}
	for {
		key := r.quoted("a name in quotation marks")
		at := r.Last
		r.expect(':')
		visit(key, at)
		if r.next('}') {
			return
		}
		if !r.next(',') {
			r.syntax(`"," or "}"`)
		}
	}
}

// Object reads an object with the given fields, each at most once. It returns a bit set of the
// fields that the object had.
func (r *Reader) Object(what string, fields []string, visit func(field string, at int)) (seen uint) {
	return r.object(what, fields, visit, func(field string, at int) {
		fix := "the fields are " + strings.Join(fields, ", ") + "; if a newer knack wrote the file, use that"
		if best := typo.Nearest(field, fields); best != "" {
			fix = "did you mean " + best + "?"
		}
		r.Fail(at, fix, "there is no field %s in %s", display.Quote(field), what)
	})
}

// Fields is [Reader.Object] for an object of another program. It skips other fields.
func (r *Reader) Fields(what string, fields []string, visit func(field string, at int)) (seen uint) {
	return r.object(what, fields, visit, func(string, int) { r.skip(0) })
}

func (r *Reader) object(what string, fields []string, visit, unknown func(field string, at int)) (seen uint) {
	r.Members(what, func(field string, at int) {
		i := slices.Index(fields, field)
		if i < 0 {
			unknown(field, at)
			return
		}
		if seen&(1<<i) != 0 {
			r.Fail(at, "remove one of the two", "%s has the field %s twice", what, field)
		}
		seen |= 1 << i
		visit(field, at)
	})
	return seen
}

// Require fails unless an object has all required fields. seen is the result of [Reader.Object].
func (r *Reader) Require(seen uint, at int, what string, fields, required []string, fix string) {
	for i, field := range fields {
		if seen&(1<<i) == 0 && slices.Contains(required, field) {
			r.Fail(at, fix, "%s has no field %s", what, field)
		}
	}
}

// List calls visit for each value of a list. visit reads the value.
func (r *Reader) List(field string, visit func()) {
	r.value(field, "a list", func(c byte) bool { return c == '[' })
	r.expect('[')
	if r.next(']') {
		return
	}
	for {
		visit()
		if r.next(']') {
			return
		}
		if !r.next(',') {
			r.syntax(`"," or "]"`)
		}
	}
}

// quoted reads a string. expected describes it in an error.
func (r *Reader) quoted(expected string) string {
	r.space()
	r.Last = r.at
	if r.at == len(r.src) || r.src[r.at] != '"' {
		r.syntax(expected)
	}
	escaped := false
	for i := r.at + 1; i < len(r.src); i++ {
		switch c := r.src[i]; {
		case c == '\\':
			escaped = true
			i++
		case c < 0x20:
			r.Fail(i, r.o.Restore, "a string ends without its quotation mark, or has a control character")
		case c == '"':
			raw := r.src[r.at : i+1]
			r.at = i + 1
			s := raw[1 : len(raw)-1]
			if escaped {
				s = r.unescape(raw)
			}
			if len(s) > r.o.MaxText {
				r.Fail(r.Last, r.o.Restore, "the text is too long; the limit is %s bytes", display.Thousands(r.o.MaxText))
			}
			return s
		}
	}
	r.at = len(r.src)
	r.syntax("a quotation mark")
	return ""
}

func (r *Reader) unescape(raw string) (s string) {
	err := json.Unmarshal([]byte(raw), &s)
	if err != nil || strings.Count(s, "\ufffd") > strings.Count(raw, "\ufffd") {
		r.Fail(r.Last, r.o.Restore, "the string has an escape that is not valid")
	}
	return s
}

// value checks that the next value has the given type, by its first byte.
func (r *Reader) value(field, kind string, begins func(c byte) bool) {
	r.space()
	r.Last = r.at
	if r.at == len(r.src) {
		r.syntax(kind)
	}
	if !begins(r.src[r.at]) {
		r.Fail(r.at, r.o.Restore, "%s is not %s", field, kind)
	}
}

// AnyText reads a string that is not empty.
func (r *Reader) AnyText(field string) string {
	r.value(field, "a text in quotation marks", func(c byte) bool { return c == '"' })
	s := r.quoted("")
	if s == "" {
		r.Fail(r.Last, r.o.Restore+", or remove the field", "%s is empty", field)
	}
	return s
}

// Text reads a string that is not empty and has no control characters.
func (r *Reader) Text(field string) string {
	s := r.AnyText(field)
	if strings.ContainsFunc(s, unicode.IsControl) {
		r.Fail(r.Last, r.o.Restore, "%s has a control character", field)
	}
	return s
}

// Digest reads a digest that the function parse accepts.
func Digest[T any](r *Reader, field string, parse func(string) (T, error)) T {
	d, err := parse(r.Text(field))
	if err != nil {
		r.Fail(r.Last, r.o.Restore, "%s is not sha256: and 64 hexadecimal digits in small letters", field)
	}
	return d
}

// Number reads a whole number of at most 15 digits.
func (r *Reader) Number(field string) int64 {
	const kind = "a whole number from 0"
	r.value(field, kind, func(c byte) bool { return c >= '0' && c <= '9' })
	for r.at < len(r.src) && strings.IndexByte("0123456789.eE+-", r.src[r.at]) >= 0 {
		r.at++
	}
	digits := r.src[r.Last:r.at]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || len(digits) > 15 || len(digits) > 1 && digits[0] == '0' {
		r.Fail(r.Last, r.o.Restore, "%s is not %s", field, kind)
	}
	return n
}

// Boolean reads true or false.
func (r *Reader) Boolean(field string) bool {
	r.value(field, "true or false", func(c byte) bool { return c == 't' || c == 'f' })
	for _, word := range []string{"true", "false"} {
		if strings.HasPrefix(r.src[r.at:], word) {
			r.at += len(word)
			return word == "true"
		}
	}
	r.Fail(r.at, r.o.Restore, "%s is not true or false", field)
	return false
}

// Next returns the offset at which the next value begins, for [Reader.Fail], and its line.
func (r *Reader) Next() (at, line int) {
	r.space()
	return r.at, 1 + strings.Count(r.src[:r.at], "\n")
}

// skip skips a value of any type.
func (r *Reader) skip(depth int) {
	if depth > maxDepth {
		r.Fail(r.at, r.o.Restore, "lists and objects are more than %d deep", maxDepth)
	}
	const kind = "a value"
	r.value("this", kind, func(c byte) bool { return strings.IndexByte(`{["tfn-0123456789`, c) >= 0 })
	switch c := r.src[r.at]; c {
	case '{':
		r.Members("this", func(string, int) { r.skip(depth + 1) })
	case '[':
		r.List("this", func() { r.skip(depth + 1) })
	case '"':
		r.quoted("")
	default:
		end := strings.IndexFunc(r.src[r.at:], func(c rune) bool { return strings.ContainsRune(" \t\r\n,]}", c) })
		if end < 0 {
			end = len(r.src) - r.at
		}
		if !json.Valid([]byte(r.src[r.at : r.at+end])) {
			r.Fail(r.at, r.o.Restore, "this is not %s", kind)
		}
		r.at += end
	}
}
