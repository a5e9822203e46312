package plugin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
)

const (
	maxDepth  = 64      // nesting of objects and lists; real files have 6
	maxValues = 500_000 // values in a file: 5,000 plugins with 100 values each
	maxFaults = 1_000   // faults in a file
)

// kind is the type of a JSON value.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

var kindNames = [...]string{"null", "true or false", "a number", "a string", "a list", "an object"}

// value is a JSON value and its position in the file. A nil value is absent.
type value struct {
	kind    kind
	yes     bool
	at, end int
	text    string
	items   []*value
	members []member
}

// member is a member of an object. If several members have the same name, the last counts, as in
// JavaScript.
type member struct {
	name    string
	at, end int // of the name
	value   *value
}

// get returns the value of a member, or nil.
func (v *value) get(name string) *value {
	if v == nil {
		return nil
	}
	for i := len(v.members) - 1; i >= 0; i-- {
		if v.members[i].name == name {
			return v.members[i].value
		}
	}
	return nil
}

// hasKind reports whether a value is present and of the given type.
func (v *value) hasKind(k kind) bool { return v != nil && v.kind == k }

// string returns the text of a string, or "".
func (v *value) string() string {
	if v.hasKind(text) {
		return v.text
	}
	return ""
}

// bool returns a boolean value, or fallback for any other value.
func (v *value) bool(fallback bool) bool {
	if v.hasKind(boolean) {
		return v.yes
	}
	return fallback
}

// report collects the faults of a file.
type report struct {
	faults []Fault
	cut    int
}

func (r *report) add(rule string, e Effect, at *value, field, fix, format string, args ...any) {
	f := Fault{Rule: rule, Effect: e, Field: field, Message: fmt.Sprintf(format, args...), Fix: fix}
	if at != nil {
		f.At, f.End = at.at, at.end
	}
	r.put(f)
}

// name adds a fault at the name of a member.
func (r *report) name(rule string, e Effect, m member, field, fix, format string, args ...any) {
	r.add(rule, e, &value{at: m.at, end: m.end}, field, fix, format, args...)
}

func (r *report) put(f Fault) {
	if len(r.faults) == maxFaults {
		r.cut++
		return
	}
	r.faults = append(r.faults, f)
}

// worst reports whether the file has a fault with at least this effect.
func (r *report) worst(e Effect) bool {
	for _, f := range r.faults {
		if f.Effect >= e {
			return true
		}
	}
	return false
}

// list returns the faults. If there were too many, a note at the end reports this.
func (r *report) list() []Fault {
	if r.cut > 0 {
		return append(r.faults, Fault{Rule: r.faults[0].Rule, Effect: r.faults[0].Effect, Message: fmt.Sprintf("%s more faults are left out", display.Thousands(r.cut)), Fix: "mend these first"})
	}
	return r.faults
}

// parse reads a file that must be a JSON object. If it is not, parse returns nil and adds a fault
// with the effect bad. A name that occurs twice in an object is a fault of the rule [RuleKeys].
func (r *report) parse(data []byte, most int, rule string, bad Effect) *value {
	fail := func(at int, fix, format string, args ...any) *value {
		r.add(rule, bad, &value{at: at, end: min(at+1, len(data))}, "", fix, format, args...)
		return nil
	}
	if len(data) > most {
		r.add(rule, bad, nil, "", "make it smaller", "it has %d bytes, and at most %s MiB are read", len(data), fmt.Sprint(most>>20))
		return nil
	}
	if !utf8.Valid(data) {
		at := 0
		for at < len(data) {
			c, size := utf8.DecodeRune(data[at:])
			if c == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		return fail(at, "save the file as UTF-8", "it is not UTF-8")
	}
	skip := 0
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		skip = len("\ufeff")
		r.put(Fault{Rule: rule, Effect: Ignores, Message: "it begins with a byte-order mark, at which some clients fail", Fix: "save the file without one"})
	}
	if len(bytes.TrimSpace(data[skip:])) == 0 {
		return fail(0, "write a JSON object", "the file is empty")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(data[skip:], &raw); err != nil {
		at, message, fix := syntax(data, skip, err)
		return fail(at, fix, "it is not JSON: %s", message)
	}
	p := &parser{decoder: json.NewDecoder(bytes.NewReader(data[skip:])), data: data, skip: skip, report: r}
	p.decoder.UseNumber() // a number may be too large for a float64
	v := p.value(0)
	switch {
	case p.deep:
		return fail(p.place(), "use fewer levels", "objects and lists are nested more than %d levels deep", maxDepth)
	case p.values > maxValues:
		return fail(p.place(), "split the file", "it has more than %s values", display.Thousands(maxValues))
	case v.kind != object:
		return fail(v.at, "write a JSON object: {…}", "it is %s and not an object", kindNames[v.kind])
	}
	return v
}

// syntax returns where and why a text is not JSON, and the fix.
func syntax(data []byte, skip int, err error) (at int, message, fix string) {
	var wrong *json.SyntaxError
	if !errors.As(err, &wrong) {
		return skip, err.Error(), "correct it"
	}
	at = min(max(skip+int(wrong.Offset)-1, 0), len(data)-1)
	before := bytes.TrimRight(data[skip:at], " \t\r\n")
	switch c := data[at]; {
	case strings.Contains(wrong.Error(), "unexpected end"):
		return len(data) - 1, "the file ends within a value", "complete it, or fetch it again"
	case c == '/' || c == '#':
		return at, "there is a comment, which JSON does not have", "delete the comment"
	case (c == '}' || c == ']') && bytes.HasSuffix(before, []byte(",")):
		return at, "there is a comma before " + string(rune(c)), "delete the comma"
	case c == '\'':
		return at, "strings are in double quotes", `write " instead of '`
	}
	return at, strings.TrimPrefix(wrong.Error(), "json: "), "correct the JSON here"
}

// parser reads the values of a text that is valid JSON.
type parser struct {
	decoder *json.Decoder
	data    []byte
	skip    int // the length of the byte-order mark
	values  int
	deep    bool
	report  *report
}

// place returns the offset in the file after the last token.
func (p *parser) place() int { return p.skip + int(p.decoder.InputOffset()) }

// token returns the next token and its offset in the file.
func (p *parser) token() (t json.Token, at int) {
	at = p.place()
	for at < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[at]) >= 0 {
		at++
	}
	t, _ = p.decoder.Token() // the text is known to be JSON
	return t, at
}

func (p *parser) value(depth int) *value {
	t, at := p.token()
	v := &value{at: at, end: p.place()}
	if p.values++; p.values > maxValues {
		return v
	}
	switch t := t.(type) {
	case bool:
		v.kind, v.yes = boolean, t
	case json.Number:
		v.kind = number
	case string:
		v.kind, v.text = text, t
	case json.Delim:
		if depth == maxDepth {
			p.deep = true
			return v
		}
		if v.kind = list; t == '{' {
			v.kind = object
			p.members(v, depth)
		} else {
			for p.decoder.More() && !p.deep && p.values <= maxValues {
				v.items = append(v.items, p.value(depth+1))
			}
		}
		if !p.deep && p.values <= maxValues {
			_, _ = p.token()
			v.end = p.place()
		}
	}
	return v
}

func (p *parser) members(v *value, depth int) {
	seen := map[string]bool{}
	for p.decoder.More() && !p.deep && p.values <= maxValues {
		t, at := p.token()
		name, _ := t.(string)
		m := member{name: name, at: at, end: p.place()}
		if seen[name] {
			p.report.name(RuleKeys, Ignores, m, display.Echo(name), "keep one of the two", "the name %s occurs twice in one object; most clients take the last", display.Quote(name))
		}
		seen[name] = true
		m.value = p.value(depth + 1)
		v.members = append(v.members, m)
	}
}

// fieldName joins the name of an object and the name of its member.
func fieldName(objectName, name string) string {
	if objectName == "" {
		return cmp.Or(display.Echo(name), `""`)
	}
	return objectName + "." + cmp.Or(display.Echo(name), `""`)
}
