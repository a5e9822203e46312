// Package frontmatter reads the frontmatter of a SKILL.md: a YAML mapping between two lines of
// three dashes.
//
// [Parse] finds the block between its fences (fence.go) and reads it leniently. It splits a block
// that is not valid YAML at its top-level keys (repair.go), so a fault in one field does not affect
// the others. Every deviation from the specification is a [Problem] with a position in the file.
//
// Values follow the YAML 1.2 core schema and are bounded in size and depth. Anchors, aliases, merge
// keys and tags are faults. Nearly all real blocks use so little of YAML that a small reader can
// read them (plain.go). A YAML library reads the others (yaml.go).
package frontmatter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
)

// MaxSize is the limit of a block between its fences, in bytes. The longest real one has 9.6
// kB.
const MaxSize = 64 << 10

// Document is a parsed SKILL.md. Fields is the result of lenient reading. If Problems contains no
// error, a strict reader accepts the file too.
type Document struct {
	// Fields lists the top-level fields in file order. For a field that is not valid YAML, the
	// value is its text; see Repaired.
	Fields []Field
	// Repaired is set if a strict reader would not read these fields. The skill is then available
	// but not published.
	Repaired bool
	// Problems are sorted by position.
	Problems []Problem
	// Body is the offset of the first byte after the frontmatter.
	Body int
}

// Parse parses a SKILL.md. It never fails: faults are in Problems.
func Parse(data []byte) *Document {
	return parse(data, strings.Clone, nil)
}

// ParseShared is [Parse] without copies. Values and messages are parts of data. Fields uses the
// memory of buf if that is large enough.
func ParseShared(data []byte, buf []Field) *Document {
	return parse(data, func(text string) string { return text }, buf)
}

// Cut splits a SKILL.md into the block between its fences and the text after them. ok is
// false if the file has no frontmatter.
func Cut(data []byte) (block, body []byte, ok bool) {
	f, ok := new(Document).findFence(display.TextOf(data))
	if !ok {
		return nil, nil, false
	}
	return data[f.start:f.end], data[f.body:], true
}

// parse is Parse with two ways to save memory. keep copies the frontmatter, and values and messages
// are parts of the copy. The fields use the memory of buf if that is large enough.
func parse(data []byte, keep func(string) string, buf []Field) *Document {
	d := &Document{Body: len(data)}
	// To copy the whole file would be half of all allocations for a thousand skills.
	d.parse(display.TextOf(data), keep, buf)
	sortProblems(d.Problems)
	d.boundProblems()
	return d
}

// maxProblems bounds the problems of one file. A hostile file can have a problem in every other
// byte, and the catalogue keeps them all.
const maxProblems = 100

func (d *Document) boundProblems() {
	n := len(d.Problems) - maxProblems
	if n <= 0 {
		return
	}
	last := d.Problems[maxProblems-1]
	rest := d.Problems[maxProblems:]
	d.Problems = slices.Clone(d.Problems[:maxProblems])
	for _, p := range rest {
		if p.Rule == NameSyntax { // the only one of these rules that skips a skill
			d.Problems = append(d.Problems, p)
			n--
		}
	}
	if n > 0 {
		d.add(last.Rule, d.Problems[len(d.Problems)-1].Position, "", fmt.Sprintf("%d more problems are not listed", n), "fix the listed ones first")
	}
}

func (d *Document) parse(s string, keep func(string) string, buf []Field) {
	name := wideName(s)
	wide, control := scanBytes(s)
	switch {
	case name != "":
		d.add(FileEncoding, Position{1, 1}, "", "the file is "+name+", not UTF-8", "save it as UTF-8, in an editor or with: iconv -f "+name+" -t UTF-8")
		return
	case !utf8.ValidString(s[wide:]):
		d.add(FileEncoding, positionOf(s, invalidAt(s)), "", "the file is not valid UTF-8", "save the file as UTF-8")
		return
	}
	f, ok := d.findFence(s)
	if !ok {
		return
	}
	d.Body = f.body
	if i := indexLoneCR(s, f.body); i >= 0 {
		d.add(TextControl, positionOf(s, i), "", "a line ends with a lone carriage return", "save the file with LF line ends")
	}
	// The values are parts of the block. A copy of it lets the memory of the file be freed.
	block := keep(s[f.start:f.end])
	d.readBlock(block, f.line, buf, min(wide, control) >= f.end)
	if control < f.body {
		control = f.body + indexBadControl(s[f.body:])
	}
	if control < len(s) {
		d.add(TextControl, positionOf(s, control), "", "the text contains a control character", "delete it")
	}
}

func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Position.Compare(b.Position) })
}

// Field returns the top-level field with that key.
func (d *Document) Field(key string) (Field, bool) {
	if f := d.field(key); f != nil {
		return *f, true
	}
	return Field{}, false
}

// field is Field without the copy, which is large. It returns nil for a missing field.
func (d *Document) field(key string) *Field {
	for i := range d.Fields {
		if d.Fields[i].Key == key {
			return &d.Fields[i]
		}
	}
	return nil
}

// Meant returns the field that the author probably wrote instead of the given field, which is
// missing. certain is set if the two keys differ only in invisible characters or look-alike
// letters.
func (d *Document) Meant(field string) (f Field, certain, ok bool) {
	for _, f := range d.Fields {
		if f.Key != field && !display.IsASCII(f.Key) && typo.Fold(f.Key) == field {
			return f, true, true
		}
	}
	for _, f := range d.Fields {
		if typo.Field(f.Key) == field {
			return f, false, true
		}
	}
	return Field{}, false, false
}

// JSON returns the frontmatter as one JSON object. Every field is as its author wrote it: the order
// of keys stays, dates are strings, and numbers keep their digits.
func (d *Document) JSON() json.RawMessage {
	return Value{Kind: Map, Fields: d.Fields}.AppendJSON(nil)
}

func (d *Document) add(rule RuleID, p Position, field, message, fix string) {
	d.Problems = append(d.Problems, Problem{Rule: rule, Position: p, Field: field, Message: message, Fix: fix})
}

// readBlock fills Fields from the YAML between the fences. The block begins on the given line of
// the file. safe means that the block is ASCII without control characters.
func (d *Document) readBlock(block string, line int, buf []Field, safe bool) {
	shift := func(p Position) Position { return Position{p.Line + line - 1, p.Column} }
	var fault *yamlFault
	if !safe {
		if i := strings.IndexByte(block, 0); i >= 0 {
			d.add(YAMLControl, shift(positionOf(block, i)), "", "the frontmatter contains a NUL character", "delete it")
			return
		}
		fault = unsafeCharacter(block)
	}
	if fault == nil {
		if v, ok := readPlain(block, buf); ok {
			d.setRoot(v, nil, shift)
			return
		}
		var v Value
		var notes []yamlFault
		v, notes, fault = parseYAML(block)
		if fault == nil && v.Kind == String && len(cutFields(block)) > 0 {
			// Without a space after the colons of the keys, YAML reads the whole block as one plain
			// text.
			fault = &yamlFault{rule: YAMLSyntax, position: v.Position, message: "the frontmatter is not a mapping of keys to values"}
		}
		if fault == nil {
			d.setRoot(v, notes, shift)
			return
		}
	}
	d.Repaired = true
	d.repair(block, fault, shift)
}

func (d *Document) setRoot(v Value, notes []yamlFault, shift func(Position) Position) {
	for _, n := range notes {
		d.Repaired = d.Repaired || n.rule == YAMLDuplicate
		d.Problems = append(d.Problems, n.problem(shift))
	}
	switch v.Kind {
	case Map:
		d.Fields = shiftFields(v.Fields, shift)
	case Null:
		d.add(YAMLMapping, shift(Position{1, 1}), "", "the frontmatter is empty", "write name: and description: between the two --- lines")
	default:
		d.add(YAMLMapping, shift(v.Position), "", "the frontmatter is not a mapping of keys to values", "write name: and description: between the two --- lines")
	}
}

// problem returns the problem for a fault that did not stop the parser.
func (n yamlFault) problem(shift func(Position) Position) Problem {
	p := Problem{Rule: n.rule, Position: shift(n.position), Message: n.message}
	switch n.rule {
	case YAMLDuplicate:
		p.Message += fmt.Sprintf("; the first, on line %d, counts", shift(n.first).Line)
		p.Fix = "delete one of the two"
	case YAMLKeyType:
		p.Fix = "quote the key"
		if strings.HasPrefix(p.Message, "there is no key") {
			p.Fix = "write the key, or delete the line"
		}
	case YAMLNotJSON:
		p.Fix = "quote the value, or rename the key"
	}
	return p
}

func shiftFields(fields []Field, shift func(Position) Position) []Field {
	for i := range fields {
		fields[i].KeyPosition = shift(fields[i].KeyPosition)
		shiftValue(&fields[i].Value, shift)
	}
	return fields
}

func shiftValue(v *Value, shift func(Position) Position) {
	v.Position = shift(v.Position)
	for i := range v.Items {
		shiftValue(&v.Items[i], shift)
	}
	shiftFields(v.Fields, shift)
}
