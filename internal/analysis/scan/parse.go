package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// MaxSize bounds a baseline, in bytes.
const MaxSize = 16 << 20

// Error is a fault of a baseline file and its position. Column counts characters.
type Error struct {
	Line, Column int
	Message, Fix string
}

// Error returns the position and the message.
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// restore is the fix for a text that knack has not written.
const restore = "restore the file from version control, or delete it and let --write make it anew"

// Parse reads a baseline strictly. Its error is an [*Error].
func Parse(data []byte) (b *Baseline, err error) {
	p := &parser{data: data}
	defer func() {
		if fault := recover(); fault != nil {
			e, ours := fault.(*Error)
			if !ours {
				panic(fault)
			}
			b, err = nil, e
		}
	}()
	switch {
	case len(data) > MaxSize:
		p.fail(0, "scan fewer skills at once", "the file is too large; the limit is 16 MiB")
	case len(bytes.TrimSpace(data)) == 0:
		p.fail(0, "delete it, and --write makes it", "the file is empty")
	case !utf8.Valid(data):
		p.fail(0, restore, "the file is not UTF-8")
	}
	var head struct{ Kind string }
	err = json.Unmarshal(data, &head)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		p.fail(max(int(syntax.Offset)-1, 0), restore, "the file is not JSON: %s", display.Echo(syntax.Error()))
	}
	if err != nil || head.Kind != kind {
		p.fail(0, "name another file; this one is left as it is", "the file is not a baseline: it has no \"kind\": %q", kind)
	}
	p.d = json.NewDecoder(bytes.NewReader(data))
	p.d.UseNumber()
	return p.baseline(), nil
}

// parser reads the tokens of a JSON text. A fault is a panic with an [*Error].
type parser struct {
	data []byte
	d    *json.Decoder
	last int // where the last token begins
}

func (p *parser) fail(at int, fix, format string, args ...any) {
	at = min(at, len(p.data))
	begin := bytes.LastIndexByte(p.data[:at], '\n') + 1
	panic(&Error{bytes.Count(p.data[:at], []byte("\n")) + 1, utf8.RuneCount(p.data[begin:at]) + 1, fmt.Sprintf(format, args...), fix})
}

func (p *parser) token() json.Token {
	p.last = int(p.d.InputOffset())
	for p.last < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[p.last]) >= 0 {
		p.last++
	}
	t, err := p.d.Token()
	if err != nil {
		p.fail(p.last, restore, "the file is not JSON: %s", display.Echo(err.Error()))
	}
	return t
}

// object reads an object and calls visit for each of its fields.
func (p *parser) object(what string, visit func(field string)) {
	if p.token() != json.Delim('{') {
		p.fail(p.last, restore, "%s is not an object", what)
	}
	seen := map[string]bool{}
	for p.d.More() {
		field, _ := p.token().(string)
		if seen[field] {
			p.fail(p.last, restore, "%s has the field %s twice", what, display.Quote(field))
		}
		seen[field] = true
		visit(field)
	}
	p.token()
}

func (p *parser) text(field string) string {
	s, ok := p.token().(string)
	if !ok || s == "" {
		p.fail(p.last, restore, "%s is not a text", field)
	}
	return s
}

func (p *parser) number(field string) int {
	n, _ := p.token().(json.Number)
	i, err := n.Int64()
	if err != nil || i < 1 || i > 1<<30 {
		p.fail(p.last, restore, "%s is not a number from 1", field)
	}
	return int(i)
}

func (p *parser) unknown(what, field string) {
	p.fail(p.last, "use a newer knack, or "+restore, "%s has the field %s, which this knack does not know", what, display.Quote(field))
}

func (p *parser) baseline() *Baseline {
	b := &Baseline{known: map[key]int{}}
	version := 0
	p.object("the baseline", func(field string) {
		switch field {
		case "kind":
			p.token()
		case "version":
			if version = p.number(field); version != 1 {
				p.fail(p.last, "use a newer knack, or "+restore, "version %d is not known; this knack reads version 1", version)
			}
		case "findings":
			if p.token() != json.Delim('[') {
				p.fail(p.last, restore, "findings is not a list")
			}
			for p.d.More() {
				p.finding(b)
			}
			p.token()
		default:
			p.unknown("the baseline", field)
		}
	})
	if version == 0 {
		p.fail(0, restore, "the baseline has no version")
	}
	return b
}

func (p *parser) finding(b *Baseline) {
	var k key
	count, at := 1, -1
	p.object("a finding", func(field string) {
		if at < 0 {
			at = p.last
		}
		switch field {
		case "file":
			k.file = p.text(field)
		case "rule":
			k.rule = skill.RuleID(p.text(field))
		case "text":
			digest, err := skill.ParseDigest(p.text(field))
			if err != nil {
				p.fail(p.last, restore, "text is not a digest: %v", err)
			}
			k.text = digest
		case "count":
			count = p.number(field)
		default:
			p.unknown("a finding", field)
		}
	})
	if at < 0 {
		at = p.last
	}
	switch {
	case k.file == "" || k.rule == "" || (k.text == skill.Digest{}) != (k.rule == more):
		p.fail(at, restore, "a finding needs file, rule and text")
	case b.known[k] > 0:
		p.fail(at, "remove one of the two", "a finding is there twice")
	}
	b.known[k] = count
}
