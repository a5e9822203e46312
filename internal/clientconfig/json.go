package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// dialect is the form of JSON that a client reads. An entry in a file of another form would have no
// effect, because the client could not read the file.
type dialect int

const (
	dialectLax      dialect = iota // comments and trailing commas, as in editors' settings
	dialectComments                // comments only
	dialectPlain                   // neither comments nor trailing commas
)

// maxNesting bounds the nesting of a file, since the parser is recursive.
const maxNesting = 200

// byteOrderMark is at the beginning of files that some Windows editors write.
const byteOrderMark = "\ufeff"

// jsonFile is a parsed JSON file. It keeps all bytes, so it can be written again unchanged.
type jsonFile struct {
	data  []byte // without the byte-order mark
	root  hujson.Value
	empty bool // whether the file has only white space
}

// parseJSON parses a whole file. It refuses forms that the client would not read.
func parseJSON(data []byte, d dialect) (f jsonFile, err error) {
	if !utf8.Valid(data) {
		return f, errors.New("it is not UTF-8")
	}
	f.data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	if len(bytes.TrimSpace(f.data)) == 0 {
		f.empty = true
		f.root.Value = &hujson.Object{}
		return f, nil
	}
	if !bytes.HasSuffix(f.data, []byte("\n")) {
		f.data = append(bytes.Clone(f.data), '\n') // the parser requires one after a last // comment
	}
	if at := tooDeep(f.data); at >= 0 {
		return f, f.fail(at, "it nests more than %d levels deep", maxNesting)
	}
	if f.root, err = hujson.Parse(f.data); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return f, f.fail(len(f.data)-1, "the file ends in the middle of a value or a comment")
		}
		text := strings.TrimPrefix(err.Error(), "hujson: ")
		if len(text) > 200 {
			text = strings.ToValidUTF8(text[:200], "") + "…"
		}
		return f, errors.New(text)
	}
	return f, f.check(&f.root, d)
}

// tooDeep returns the offset at which the nesting exceeds maxNesting, or -1. It skips strings and
// comments. It finds no other faults; the parser does.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '{' || c == '[':
			if depth++; depth > maxNesting {
				return i
			}
		case c == '}' || c == ']':
			depth--
		case c == '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(data[i:], []byte("//")):
			i += max(bytes.IndexByte(data[i:], '\n'), 0)
		case bytes.HasPrefix(data[i:], []byte("/*")):
			i += max(bytes.Index(data[i:], []byte("*/")), 0)
		}
	}
	return -1
}

// check refuses whatever the dialect does not allow. It also refuses duplicate keys, since some
// readers use the first and others the last.
func (f jsonFile) check(v *hujson.Value, d dialect) error {
	if err := f.checkExtra(v.BeforeExtra, v.StartOffset-len(v.BeforeExtra), d); err != nil {
		return err
	}
	var last *hujson.Value // the last member or element of a container
	var end hujson.Extra
	switch c := v.Value.(type) {
	case *hujson.Object:
		seen := map[string]bool{}
		for i := range c.Members {
			m := &c.Members[i]
			key := m.Name.Value.(hujson.Literal).String()
			if seen[key] {
				return f.fail(m.Name.StartOffset, "the key %q appears twice", key)
			}
			seen[key] = true
			if err := errors.Join(f.check(&m.Name, d), f.check(&m.Value, d)); err != nil {
				return err
			}
			last = &m.Value
		}
		end = c.AfterExtra
	case *hujson.Array:
		for i := range c.Elements {
			if err := f.check(&c.Elements[i], d); err != nil {
				return err
			}
			last = &c.Elements[i]
		}
		end = c.AfterExtra
	}
	if last != nil && last.AfterExtra != nil && d != dialectLax {
		return f.fail(v.EndOffset-1, "the client reads no comma before a closing bracket")
	}
	return errors.Join(f.checkExtra(end, v.EndOffset-1-len(end), d), f.checkExtra(v.AfterExtra, v.EndOffset, d))
}

func (f jsonFile) checkExtra(b hujson.Extra, at int, d dialect) error {
	if d != dialectPlain || b.IsStandard() {
		return nil
	}
	return f.fail(at+bytes.IndexByte(b, '/'), "the client reads no comments here")
}

// fail returns an error with the line and the column of an offset.
func (f jsonFile) fail(at int, format string, args ...any) error {
	before := f.data[:min(at, len(f.data))]
	line, column := 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
}

// value returns the file's values as encoding/json decodes them, with numbers as text.
func (f jsonFile) value() map[string]any {
	v := f.root.Clone()
	v.Standardize()
	d := json.NewDecoder(bytes.NewReader(v.Pack()))
	d.UseNumber()
	out := map[string]any{}
	_ = d.Decode(&out) // cannot fail, since the parser accepted it; a value that is not an object has no members
	return out
}

// readJSON returns the servers below a path of keys.
func readJSON(data []byte, path []string, d dialect) (map[string]any, error) {
	f, err := parseJSON(data, d)
	if err != nil {
		return nil, err
	}
	at := f.value()
	for _, key := range path {
		at, _ = at[key].(map[string]any)
	}
	return at, nil
}
