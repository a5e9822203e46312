package lockfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/typo"
	"github.com/knack-dev/knack/skill"
)

// maxText bounds a string of a lock, in bytes.
const maxText = 4 << 10

// reader reads the JSON of a lock. The tokens of encoding/json have no position of their own, and
// take more than twice as long as all of Parse. A fault is a panic with an [*Error], which Parse
// recovers.
type reader struct {
	src   string
	at    int            // the next byte
	last  int            // where the last value began
	paths map[string]int // of the files of the entry, folded, with their places
}

func (r *reader) begin(data []byte) {
	switch {
	case len(data) > MaxSize:
		r.fail(0, "lock fewer skills in one folder", "the file is too large; the limit is 32 MiB")
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")), bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		r.fail(0, "save it as UTF-8 without a byte-order mark", "the file begins with a byte-order mark")
	}
	r.src = string(data)
	r.paths = map[string]int{}
	if !utf8.ValidString(r.src) {
		for i, c := range r.src {
			if _, n := utf8.DecodeRuneInString(r.src[i:]); c == utf8.RuneError && n == 1 {
				r.fail(i, restore, "the byte %#02x is not UTF-8", r.src[i])
			}
		}
	}
	if r.space(); r.at == len(r.src) {
		r.fail(0, restore+", or delete it if no skill is installed", "the file is empty")
	}
}

func (r *reader) end() {
	if r.space(); r.at < len(r.src) {
		r.syntax("the end of the file")
	}
}

// fail ends the reading.
func (r *reader) fail(at int, fix, format string, args ...any) {
	line := strings.LastIndexByte(r.src[:at], '\n') + 1
	panic(&Error{Line: 1 + strings.Count(r.src[:at], "\n"), Column: 1 + utf8.RuneCountInString(r.src[line:at]), Message: fmt.Sprintf(format, args...), Fix: fix})
}

// syntax fails because something else was expected here.
func (r *reader) syntax(expected string) {
	rest := r.src[r.at:]
	if r.at == 0 || r.src[r.at-1] == '\n' {
		for _, marker := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
			if strings.HasPrefix(rest, marker) {
				r.fail(r.at, "take one side (git checkout --ours "+Name+"), then run knack add for the skills of the other; their folders are there, so they are only recorded", "the file has the conflict markers of a merge")
			}
		}
	}
	if rest == "" {
		r.fail(r.at, restore, "the file ends too early: %s is missing", expected)
	}
	_, n := utf8.DecodeRuneInString(rest)
	r.fail(r.at, restore, "%s is here instead of %s", display.Quote(rest[:n]), expected)
}

func (r *reader) space() {
	for r.at < len(r.src) && (r.src[r.at] == ' ' || r.src[r.at] == '\n' || r.src[r.at] == '\r' || r.src[r.at] == '\t') {
		r.at++
	}
}

// next passes a byte, behind blanks, if it is the next.
func (r *reader) next(c byte) bool {
	r.space()
	if r.at == len(r.src) || r.src[r.at] != c {
		return false
	}
	r.at++
	return true
}

func (r *reader) expect(c byte) {
	if !r.next(c) {
		r.syntax(strconv.Quote(string(c)))
	}
}

// members calls visit for each member of an object, with its key and the place of that. visit
// reads the value.
func (r *reader) members(what string, visit func(key string, at int)) {
	if r.space(); r.at < len(r.src) && r.src[r.at] != '{' {
		r.fail(r.at, restore, "%s is not an object: { is expected", what)
	}
	r.expect('{')
	if r.next('}') {
		return
	}
	for {
		key := r.quoted("a name in quotation marks")
		at := r.last
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

// object reads an object with these fields, each once. It returns which it had, a bit each.
func (r *reader) object(what string, fields []string, visit func(field string, at int)) (seen uint) {
	r.members(what, func(field string, at int) {
		i := slices.Index(fields, field)
		if i < 0 {
			fix := "the fields are " + strings.Join(fields, ", ") + "; if a newer knack wrote the file, use that"
			if best := typo.Nearest(field, fields); best != "" {
				fix = "did you mean " + best + "?"
			}
			r.fail(at, fix, "there is no field %s in %s", display.Quote(field), what)
		}
		if seen&(1<<i) != 0 {
			r.fail(at, "remove one of the two", "%s has the field %s twice", what, field)
		}
		seen |= 1 << i
		visit(field, at)
	})
	return seen
}

// quoted reads a string, expected as named.
func (r *reader) quoted(expected string) string {
	r.space()
	r.last = r.at
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
			r.fail(i, restore, "a string ends without its quotation mark, or has a control character")
		case c == '"':
			raw := r.src[r.at : i+1]
			r.at = i + 1
			s := raw[1 : len(raw)-1]
			if escaped {
				s = r.unescape(raw)
			}
			if len(s) > maxText {
				r.fail(r.last, restore, "the text is too long; the limit is 4,096 bytes")
			}
			return s
		}
	}
	r.at = len(r.src)
	r.syntax("a quotation mark")
	return ""
}

func (r *reader) unescape(raw string) (s string) {
	err := json.Unmarshal([]byte(raw), &s)
	if err != nil || strings.Count(s, "\ufffd") > strings.Count(raw, "\ufffd") {
		r.fail(r.last, restore, "the string has an escape that is not valid")
	}
	return s
}

// value begins a value that must be of a type.
func (r *reader) value(field, kind string, is func(c byte) bool) {
	r.space()
	r.last = r.at
	if r.at == len(r.src) {
		r.syntax(kind)
	}
	if !is(r.src[r.at]) {
		r.fail(r.at, restore, "%s is not %s", field, kind)
	}
}

// anyText reads a string that is not empty.
func (r *reader) anyText(field string) string {
	r.value(field, "a text in quotation marks", func(c byte) bool { return c == '"' })
	s := r.quoted("")
	if s == "" {
		r.fail(r.last, restore+", or remove the field", "%s is empty", field)
	}
	return s
}

// text reads a string that is not empty and has no control characters.
func (r *reader) text(field string) string {
	s := r.anyText(field)
	if strings.ContainsFunc(s, unicode.IsControl) {
		r.fail(r.last, restore, "%s has a control character", field)
	}
	return s
}

func (r *reader) digest() skill.Digest {
	d, err := skill.ParseDigest(r.text("digest"))
	if err != nil {
		r.fail(r.last, restore, "digest is not sha256: and 64 hexadecimal digits in small letters")
	}
	return d
}

// number reads a whole number of at most 15 digits.
func (r *reader) number(field string) int64 {
	const kind = "a whole number from 0"
	r.value(field, kind, func(c byte) bool { return c >= '0' && c <= '9' })
	for r.at < len(r.src) && strings.IndexByte("0123456789.eE+-", r.src[r.at]) >= 0 {
		r.at++
	}
	digits := r.src[r.last:r.at]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || len(digits) > 15 || len(digits) > 1 && digits[0] == '0' {
		r.fail(r.last, restore, "%s is not %s", field, kind)
	}
	return n
}

func (r *reader) boolean(field string) bool {
	r.value(field, "true or false", func(c byte) bool { return c == 't' || c == 'f' })
	for _, word := range []string{"true", "false"} {
		if strings.HasPrefix(r.src[r.at:], word) {
			r.at += len(word)
			return word == "true"
		}
	}
	r.fail(r.at, restore, "%s is not true or false", field)
	return false
}

// plain checks a path: relative, slash-separated, with nothing to be resolved in it.
func (r *reader) plain(what, path string, at int) {
	fault := ""
	switch {
	case path == "":
		fault = "is empty"
	case path[0] == '/':
		fault = "is absolute"
	case strings.Contains(path, `\`):
		fault = `has a \`
	case strings.ContainsFunc(path, unicode.IsControl):
		fault = "has a control character"
	}
	for seg := range strings.SplitSeq(path, "/") {
		if fault == "" && (seg == "" || seg == "." || seg == "..") {
			fault = "has a part that is empty, . or .."
		}
	}
	if fault != "" {
		r.fail(at, again, "%s %s is not a plain path: it %s", what, display.Quote(path), fault)
	}
}
