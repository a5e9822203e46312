package skill

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/knack-dev/knack/internal/ruleid"
)

// Limits of one SKILL.md, in bytes.
const (
	MaxSkillMD     = 1 << 20  // contract 000
	MaxFrontmatter = 64 << 10 // knack; the longest real one has 9.6 kB
)

// Document is a parsed SKILL.md. Fields is the lenient reading; strictly read, the file is
// valid if Problems has no error.
type Document struct {
	// Fields lists the top-level fields in file order. A field that is not valid YAML holds
	// its text; see Repaired.
	Fields []Field
	// Repaired is set if a strict reader would not read these fields. Such a skill is
	// available and not published.
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

// parse is Parse with two ways to save memory: keep copies the frontmatter, of which values
// and messages are substrings, and the fields use room if they fit.
func parse(data []byte, keep func(string) string, room []Field) *Document {
	d := &Document{Body: len(data)}
	// A copy of the whole file would be half of all allocations for a thousand skills.
	d.parse(textOf(data), keep, room)
	sortProblems(d.Problems)
	d.boundProblems()
	return d
}

// textOf returns bytes as a string without a copy. The bytes must not change while it is
// used.
func textOf(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

// maxProblems bounds the problems of one file: a hostile file can have one in every other
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
		if RuleOf(p.Rule).Skips {
			d.Problems = append(d.Problems, p)
			n--
		}
	}
	if n > 0 {
		d.add(last.Rule, d.Problems[len(d.Problems)-1].Position, "", fmt.Sprintf("%d more problems are not listed", n), "mend the ones that are listed first")
	}
}

func (d *Document) parse(s string, keep func(string) string, room []Field) {
	name := wideName(s)
	wide, control := survey(s)
	switch {
	case name != "":
		d.add(ruleid.FileEncoding, Position{1, 1}, "", "the file is "+name+", not UTF-8", "save it as UTF-8, in an editor or with: iconv -f "+name+" -t UTF-8")
		return
	case !utf8.ValidString(s[wide:]):
		d.add(ruleid.FileEncoding, positionOf(s, invalidAt(s)), "", "the file is not valid UTF-8", "save the file as UTF-8")
		return
	}
	f, ok := d.findFence(s)
	if !ok {
		return
	}
	d.Body = f.body
	if i := indexLoneCR(s, f.body); i >= 0 {
		d.add(ruleid.TextControl, positionOf(s, i), "", "a carriage return alone ends a line", "save the file with LF line ends")
	}
	// The values keep only the block alive, not the file.
	block := keep(s[f.start:f.end])
	d.readBlock(block, f.line, room, min(wide, control) >= f.end)
	if control < f.body {
		control = f.body + indexBadControl(s[f.body:])
	}
	if control < len(s) {
		d.add(ruleid.TextControl, positionOf(s, control), "", "a control character stands in the text", "delete it")
	}
}

func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(a.Position.Line-b.Position.Line, a.Position.Column-b.Position.Column)
	})
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

// JSON returns the frontmatter as one JSON object, every field as its author wrote it: key
// order kept, dates as strings, numbers with their digits.
func (d *Document) JSON() json.RawMessage {
	return Value{Kind: Map, Fields: d.Fields}.AppendJSON(nil)
}

func (d *Document) add(rule RuleID, p Position, field, message, mend string) {
	d.Problems = append(d.Problems, Problem{Rule: rule, Position: p, Field: field, Message: message, Mend: mend})
}

// readBlock fills Fields from the YAML between the fences. The block begins on the given
// line of the file. safe means that it is ASCII without control characters.
func (d *Document) readBlock(block string, line int, room []Field, safe bool) {
	shift := func(p Position) Position { return Position{p.Line + line - 1, p.Column} }
	var fault *yamlFault
	if !safe {
		if i := strings.IndexByte(block, 0); i >= 0 {
			d.add(ruleid.YAMLControl, shift(positionOf(block, i)), "", "the frontmatter holds a NUL character", "delete it")
			return
		}
		fault = unsafeCharacter(block)
	}
	if fault == nil {
		if v, ok := readPlainInto(block, room); ok {
			d.takeRoot(v, nil, shift)
			return
		}
		var v Value
		var notes []yamlFault
		v, notes, fault = parseYAML(block)
		if fault == nil && v.Kind == String && len(cutFields(block)) > 0 {
			// Without a blank after the colons of the keys, YAML reads it all as one plain
			// text.
			fault = &yamlFault{rule: ruleid.YAMLSyntax, position: v.Position, message: "the frontmatter is not a mapping of keys to values"}
		}
		if fault == nil {
			d.takeRoot(v, notes, shift)
			return
		}
	}
	d.Repaired = true
	d.repair(block, fault, shift)
}

func (d *Document) takeRoot(v Value, notes []yamlFault, shift func(Position) Position) {
	for _, n := range notes {
		d.Repaired = d.Repaired || n.rule == ruleid.YAMLDuplicate
		d.Problems = append(d.Problems, n.problem(shift))
	}
	switch v.Kind {
	case Map:
		d.Fields = shiftFields(v.Fields, shift)
	case Null:
		d.add(ruleid.YAMLMapping, shift(Position{1, 1}), "", "the frontmatter is empty", "write name: and description: between the two --- lines")
	default:
		d.add(ruleid.YAMLMapping, shift(v.Position), "", "the frontmatter is not a mapping of keys to values", "write name: and description: between the two --- lines")
	}
}

// problem words a fault that did not stop the reading.
func (n yamlFault) problem(shift func(Position) Position) Problem {
	p := Problem{Rule: n.rule, Position: shift(n.position), Message: n.message}
	switch n.rule {
	case ruleid.YAMLDuplicate:
		p.Message += fmt.Sprintf("; the first, on line %d, counts", shift(n.first).Line)
		p.Mend = "delete one of the two"
	case ruleid.YAMLKeyType:
		p.Mend = "quote the key"
		if strings.HasPrefix(p.Message, "no key") {
			p.Mend = "write the key, or delete the line"
		}
	case ruleid.YAMLNotJSON:
		p.Mend = "quote the value, or rename the key"
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

// unsafeCharacter finds a character that must not reach a YAML parser: control characters,
// line breaks of YAML 1.1 that are text in 1.2, and the two non-characters that YAML
// forbids.
func unsafeCharacter(block string) *yamlFault {
	if wide, control := survey(block); min(wide, control) == len(block) {
		return nil
	}
	for i, r := range block {
		if isBadControl(r) || isSeparator(r) || r == 0xfeff || r == 0xfffe || r == 0xffff {
			return &yamlFault{rule: ruleid.YAMLSyntax, position: positionOf(block, i),
				message: fmt.Sprintf("the character U+%04X must not stand here", r), mend: "delete the character"}
		}
	}
	return nil
}

// isBadControl reports whether r is a control character: C0 except tab and line ends, DEL,
// C1.
func isBadControl(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r <= 0x9f
}

// controls marks the ASCII characters of isBadControl with 1, and with 2 the first byte of
// C1 in UTF-8.
var controls = func() (t [256]byte) {
	for c := range rune(utf8.RuneSelf) {
		if isBadControl(c) {
			t[c] = 1
		}
	}
	t[0xc2] = 2
	return t
}()

// indexBadControl returns the index of the first character of isBadControl in valid UTF-8,
// or the text's length.
func indexBadControl(s string) int {
	_, control := survey(s)
	return control
}

// survey checks every byte, 32 at a time. All bytes before wide are ASCII, and control is
// the index of the first character of isBadControl if the text is valid UTF-8. Each is the
// text's length if there is no such byte.
func survey(s string) (wide, control int) {
	wide = len(s)
	i := 0
	for ; i+32 <= len(s); i += 32 {
		// All four words at once, with line feeds among the ordinary bytes: a mispredicted
		// branch costs more than the extra work.
		part := s[i : i+32]
		if (oddBytes(eight(part))|oddBytes(eight(part[8:]))|oddBytes(eight(part[16:]))|oddBytes(eight(part[24:])))&tops == 0 {
			continue
		}
		for at := i; at < i+32; at += 8 {
			w := eight(s[at:])
			if oddBytes(w)&tops == 0 {
				continue
			}
			if w&tops != 0 {
				wide = min(wide, at)
			}
			for k := at; k < at+8; k++ {
				if badControlAt(s, k) {
					return min(wide, k), k
				}
			}
		}
	}
	for ; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			wide = min(wide, i)
		}
		if badControlAt(s, i) {
			return min(wide, i), i
		}
	}
	return wide, len(s)
}

// Masks for eight bytes at once: the lowest and the highest bit of each.
const ones, tops = 0x0101010101010101, 0x8080808080808080

// oddBytes sets the highest bit of at least one byte if one of eight bytes is not ASCII, is
// DEL, or is below the blank and not a line feed. A carry out of a byte that is not ASCII
// does not matter: that byte sets its own bit.
func oddBytes(w uint64) uint64 {
	return ^(w+ones*0x60)&((w^ones*'\n')+ones*0x7f) | (w + ones) | w
}

// eight returns the first eight bytes of a text, the first one lowest.
func eight(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func badControlAt(s string, i int) bool {
	k := controls[s[i]]
	return k == 1 || k == 2 && i+1 < len(s) && s[i+1] <= 0x9f
}

// isSeparator reports LINE SEPARATOR and PARAGRAPH SEPARATOR.
func isSeparator(r rune) bool { return r == 0x2028 || r == 0x2029 }

// positionOf turns a byte offset into a position. A byte-order mark does not count as a
// character of the first line: no editor shows it.
func positionOf(s string, offset int) Position {
	p := Position{1, 1}
	begin := 0
	if strings.HasPrefix(s, "\ufeff") && offset >= len("\ufeff") {
		begin = len("\ufeff")
	}
	for i := begin; i < offset; i++ {
		if endsLine(s, i) {
			p.Line++
			begin = i + 1
		}
	}
	p.Column = utf8.RuneCountInString(s[begin:offset]) + 1
	return p
}

func invalidAt(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}
