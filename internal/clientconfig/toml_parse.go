package clientconfig

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// tomlFile is the content of a TOML file: a flat list of keys in its order.
type tomlFile struct {
	tables []tomlTable
	keys   []tomlKey
}

type tomlTable struct {
	path  []string
	array bool
	end   int // behind the header and a comment on its line
}

// tomlKey is one key with its value: a string, a bool, a list, or for any other type the
// text as a [json.Number] or a [json.RawMessage].
type tomlKey struct {
	table, path        []string
	value              any
	start, end         int // of the value
	lineStart, lineEnd int // of the whole lines, their end included
	line               int
}

// toml parses TOML 1.0, except that it does not check the form of numbers and dates.
type toml struct {
	data  string
	at    int
	depth int
}

var (
	reBareKey    = lazyregexp.New(`^[A-Za-z0-9_-]+`)
	reBareScalar = lazyregexp.New(`^(true|false|[+-]?(inf|nan)|[+-]?[0-9][0-9A-Za-z_.:+-]*( [0-9]{2}:[0-9:.Z+-]+)?)`)
)

func parseTOML(data []byte) (f tomlFile, err error) {
	if !utf8.Valid(data) {
		return f, fmt.Errorf("it is not UTF-8")
	}
	p := &toml{data: string(data)}
	p.eat("\ufeff")
	seen := map[string]bool{}
	var table []string
	for {
		p.blanks(true)
		if p.at == len(p.data) {
			return f, nil
		}
		from := p.at
		if p.peek() == '[' {
			t, err := p.header()
			if err != nil {
				return f, err
			}
			id := fmt.Sprintf("%q", t.path)
			if seen[id] && !t.array {
				return f, p.fail("the table [%s] appears twice", strings.Join(t.path, "."))
			}
			seen[id] = true
			if t.array {
				for k := range seen { // each of the list starts again
					if strings.HasPrefix(k, id[:len(id)-1]+" ") {
						delete(seen, k)
					}
				}
			}
			table = t.path
			t.end = p.at
			f.tables = append(f.tables, t)
			continue
		}
		k := tomlKey{table: table, line: p.line(), lineStart: 1 + strings.LastIndexByte(p.data[:from], '\n')}
		if k.path, err = p.key(); err != nil {
			return f, err
		}
		id := fmt.Sprintf("%q", slices.Concat(table, k.path))
		if seen[id] {
			return f, p.fail("the key %s appears twice", strings.Join(k.path, "."))
		}
		seen[id] = true
		p.blanks(false)
		if !p.eat("=") {
			return f, p.fail("= was expected behind the key %s", strings.Join(k.path, "."))
		}
		p.blanks(false)
		k.start = p.at
		if k.value, err = p.value(); err != nil {
			return f, err
		}
		k.end = p.at
		if err := p.lineEnd(); err != nil {
			return f, err
		}
		if k.lineEnd = p.at; p.at < len(p.data) {
			k.lineEnd += 1 + strings.IndexByte(p.data[p.at:], '\n')
		}
		f.keys = append(f.keys, k)
	}
}

func (p *toml) line() int { return 1 + strings.Count(p.data[:min(p.at, len(p.data))], "\n") }

func (p *toml) fail(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", p.line(), fmt.Sprintf(format, args...))
}

func (p *toml) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

func (p *toml) eat(s string) bool {
	if strings.HasPrefix(p.data[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

// blanks skips white space, and with lines also line ends and comments.
func (p *toml) blanks(lines bool) {
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == ' ' || c == '\t', lines && (c == '\n' || strings.HasPrefix(p.data[p.at:], "\r\n")):
			p.at++
		case lines && c == '#':
			p.comment()
		default:
			return
		}
	}
}

// comment skips a comment up to its line end.
func (p *toml) comment() {
	line, _, _ := strings.Cut(p.data[p.at:], "\n")
	p.at += len(strings.TrimSuffix(line, "\r"))
}

// lineEnd requires that only a comment follows on the line, and stops before the line's
// end.
func (p *toml) lineEnd() error {
	p.blanks(false)
	if p.peek() == '#' {
		p.comment()
	}
	if p.at == len(p.data) || p.peek() == '\n' || strings.HasPrefix(p.data[p.at:], "\r\n") {
		return nil
	}
	return p.fail("the line should end before %q", excerpt([]byte(p.data[p.at:])))
}

func (p *toml) header() (t tomlTable, err error) {
	p.eat("[")
	t.array = p.eat("[")
	p.blanks(false)
	if t.path, err = p.key(); err != nil {
		return t, err
	}
	p.blanks(false)
	if !p.eat("]") || t.array && !p.eat("]") {
		return t, p.fail("] was expected behind [%s", strings.Join(t.path, "."))
	}
	return t, p.lineEnd()
}

// key reads a key with dots.
func (p *toml) key() (path []string, err error) {
	for {
		part := ""
		switch c := p.peek(); {
		case c == '"' || c == '\'':
			if part, err = p.string(); err != nil {
				return nil, err
			}
		default:
			if part = reBareKey().FindString(p.data[p.at:]); part == "" {
				return nil, p.fail("a key was expected, not %s", excerpt([]byte(p.data[p.at:])))
			}
			p.at += len(part)
		}
		path = append(path, part)
		from := p.at
		p.blanks(false)
		if !p.eat(".") {
			p.at = from
			return path, nil
		}
		p.blanks(false)
	}
}

func (p *toml) value() (any, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.fail("it nests too deep")
	}
	defer func() { p.depth-- }()
	from := p.at
	switch p.peek() {
	case '"', '\'':
		if q := p.data[p.at : p.at+1]; strings.HasPrefix(p.data[p.at:], q+q+q) {
			return p.long(q + q + q)
		}
		return p.string()
	case '[':
		return p.array()
	case '{':
		return p.inline()
	}
	s := reBareScalar().FindString(p.data[p.at:])
	if s == "" {
		return nil, p.fail("a value was expected, not %s", excerpt([]byte(p.data[from:])))
	}
	p.at += len(s)
	if s == "true" || s == "false" {
		return s == "true", nil
	}
	return json.Number(s), nil
}

// long skips a string of several lines; its text is not decoded.
func (p *toml) long(quote string) (any, error) {
	from := p.at
	for p.at += 3; p.at < len(p.data); p.at++ {
		switch {
		case quote == `"""` && p.data[p.at] == '\\':
			p.at++
		case p.eat(quote):
			for range 2 { // up to two more may belong to the string
				p.eat(quote[:1])
			}
			return json.RawMessage(p.data[from:p.at]), nil
		}
	}
	return nil, p.fail("a string is not closed")
}

func (p *toml) string() (string, error) {
	quote := p.data[p.at]
	for i := p.at + 1; i < len(p.data) && p.data[i] != '\n'; i++ {
		switch {
		case quote == '"' && p.data[i] == '\\':
			i++
		case p.data[i] == quote:
			raw := p.data[p.at : i+1]
			if quote == '\'' {
				p.at = i + 1
				return raw[1 : len(raw)-1], nil
			}
			s, err := strconv.Unquote(strings.ReplaceAll(raw, "\t", `\t`))
			if err != nil {
				return "", p.fail("a string is not valid: %s", excerpt([]byte(raw)))
			}
			p.at = i + 1
			return s, nil
		}
	}
	return "", p.fail("a string is not closed")
}

func (p *toml) array() (any, error) {
	list := []any{}
	for p.eat("["); ; {
		p.blanks(true)
		if p.eat("]") {
			return list, nil
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		p.blanks(true)
		if !p.eat(",") && p.peek() != ']' {
			return nil, p.fail("a comma or ] was expected, not %s", excerpt([]byte(p.data[p.at:])))
		}
	}
}

func (p *toml) inline() (any, error) {
	from := p.at
	p.eat("{")
	for first := true; ; first = false {
		p.blanks(false)
		if first && p.eat("}") {
			return json.RawMessage("{}"), nil
		}
		if _, err := p.key(); err != nil {
			return nil, err
		}
		p.blanks(false)
		if !p.eat("=") {
			return nil, p.fail("= was expected")
		}
		p.blanks(false)
		if _, err := p.value(); err != nil {
			return nil, err
		}
		p.blanks(false)
		if p.eat("}") {
			return json.RawMessage(p.data[from:p.at]), nil
		}
		if !p.eat(",") {
			return nil, p.fail("a comma or } was expected, not %s", excerpt([]byte(p.data[p.at:])))
		}
	}
}
