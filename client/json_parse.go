package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxNesting bounds how deep a file may nest.
const maxNesting = 200

// node is a value in a JSON file, with where it stands.
type node struct {
	kind       byte // '{', '[', '"', or 'v' for a number or a literal
	start, end int
	text       string   // of a string, decoded; of 'v' as written
	members    []member // of '{'
	items      []node   // of '['
}

type member struct {
	key      string
	keyStart int
	value    node
}

func (n node) member(key string) (node, bool) {
	for _, m := range n.members {
		if m.key == key {
			return m.value, true
		}
	}
	return node{}, false
}

// value is the node as encoding/json would decode it, for comparison.
func (n node) value() any {
	switch n.kind {
	case '{':
		m := make(map[string]any, len(n.members))
		for _, x := range n.members {
			m[x.key] = x.value.value()
		}
		return m
	case '[':
		l := make([]any, len(n.items))
		for i, x := range n.items {
			l[i] = x.value()
		}
		return l
	case '"':
		return n.text
	}
	return json.RawMessage(n.text)
}

// dialect is the JSON that a client reads. A file in another is broken for it, and
// an entry in there would change nothing.
type dialect int

const (
	dialectLax      dialect = iota // comments and trailing commas, as editors write them
	dialectComments                // comments
	dialectPlain                   // neither
)

type jsonc struct {
	data    []byte
	at      int
	depth   int
	dialect dialect
}

// parseJSON reads a whole file. ok is false where it holds nothing but blanks.
func parseJSON(data []byte) (root node, ok bool, err error) { return parseDialect(data, dialectLax) }

func parseDialect(data []byte, d dialect) (root node, ok bool, err error) {
	p := &jsonc{data: data, dialect: d}
	if !utf8.Valid(data) {
		return root, false, fmt.Errorf("it is not UTF-8")
	}
	if strings.HasPrefix(string(data), "\ufeff") {
		p.at = 3
	}
	blank := len(strings.TrimSpace(string(data[p.at:]))) == 0
	if blank {
		return root, false, nil
	}
	if err := p.trivia(); err != nil {
		return root, false, err
	}
	if root, err = p.value(); err != nil {
		return root, false, err
	}
	if err := p.trivia(); err != nil {
		return root, false, err
	}
	if p.at < len(data) {
		return root, false, p.fail("something follows the end")
	}
	return root, true, nil
}

func (p *jsonc) fail(format string, args ...any) error {
	line := 1 + strings.Count(string(p.data[:min(p.at, len(p.data))]), "\n")
	return fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
}

// trivia passes blanks and comments.
func (p *jsonc) trivia() error {
	for p.at < len(p.data) {
		rest := string(p.data[p.at:min(p.at+2, len(p.data))])
		switch {
		case strings.ContainsAny(rest[:1], " \t\r\n"):
			p.at++
		case p.dialect == dialectPlain && (rest == "//" || rest == "/*"):
			return p.fail("the client reads no comments here")
		case rest == "//":
			n := strings.IndexByte(string(p.data[p.at:]), '\n')
			if n < 0 {
				n = len(p.data) - p.at
			}
			p.at += n
		case rest == "/*":
			n := strings.Index(string(p.data[p.at+2:]), "*/")
			if n < 0 {
				return p.fail("a comment is not closed")
			}
			p.at += n + 4
		default:
			return nil
		}
	}
	return nil
}

func (p *jsonc) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

func (p *jsonc) value() (n node, err error) {
	if p.depth++; p.depth > maxNesting {
		return n, p.fail("it nests too deep")
	}
	defer func() { p.depth-- }()
	n.start = p.at
	switch c := p.peek(); c {
	case '{', '[':
		n.kind = c
		err = p.container(&n)
	case '"':
		n.kind = '"'
		n.text, err = p.string()
	default:
		for p.at < len(p.data) && !strings.ContainsRune(" \t\r\n,:{}[]\"/", rune(p.data[p.at])) {
			p.at++
		}
		n.kind, n.text = 'v', string(p.data[n.start:p.at])
		if !json.Valid([]byte(n.text)) {
			err = p.fail("a value was expected, not %s", excerpt(p.data[n.start:]))
		}
	}
	n.end = p.at
	return n, err
}

func excerpt(b []byte) string {
	line, _, more := strings.Cut(string(b), "\n")
	if line = strings.TrimRight(line, "\r"); line == "" {
		return map[bool]string{true: "the end of the line", false: "the end of the file"}[more]
	}
	if len(line) > 20 {
		line = strings.ToValidUTF8(line[:20], "") + "…"
	}
	return "'" + line + "'"
}

func (p *jsonc) container(n *node) error {
	last := byte('}')
	if n.kind == '[' {
		last = ']'
	}
	p.at++
	seen := map[string]bool{}
	for comma := false; ; {
		if err := p.trivia(); err != nil {
			return err
		}
		if p.peek() == last {
			if comma && p.dialect != dialectLax {
				return p.fail("the client reads no comma before %q", string(last))
			}
			p.at++
			return nil
		}
		m := member{keyStart: p.at}
		if n.kind == '{' {
			if err := p.key(&m); err != nil {
				return err
			}
			if seen[m.key] {
				return p.fail("the key %q stands twice", m.key)
			}
			seen[m.key] = true
		}
		v, err := p.value()
		if err != nil {
			return err
		}
		if m.value = v; n.kind == '{' {
			n.members = append(n.members, m)
		} else {
			n.items = append(n.items, v)
		}
		if err := p.trivia(); err != nil {
			return err
		}
		comma = p.peek() == ','
		switch p.peek() {
		case ',':
			p.at++
		case last:
		default:
			return p.fail("a comma or %s was expected, not %s", string(last), excerpt(p.data[p.at:]))
		}
	}
}

func (p *jsonc) key(m *member) (err error) {
	if p.peek() != '"' {
		return p.fail("a key in quotes was expected, not %s", excerpt(p.data[p.at:]))
	}
	if m.key, err = p.string(); err != nil {
		return err
	}
	if err := p.trivia(); err != nil {
		return err
	}
	if p.peek() != ':' {
		return p.fail("a colon was expected behind the key %q", m.key)
	}
	p.at++
	return p.trivia()
}

func (p *jsonc) string() (s string, err error) {
	from := p.at
	for p.at++; p.at < len(p.data); p.at++ {
		switch p.data[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			if err := json.Unmarshal(p.data[from:p.at], &s); err != nil {
				return "", p.fail("a string is not valid: %s", excerpt(p.data[from:]))
			}
			return s, nil
		case '\n':
			return "", p.fail("a string is not closed")
		}
	}
	return "", p.fail("a string is not closed")
}
