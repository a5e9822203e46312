package frontmatter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// A block that is not valid YAML is split at its top-level keys, and each field is read separately.
// A field that still has a fault is read as text, so the fault does not affect the other fields. A
// name is never guessed.

// Patterns of top-level keys. reKey matches a word, plain or in quotes, and a colon before a space,
// a tab or the line's end. reUnspacedKey matches a key and a colon before any other character. It
// accepts only the keys of the specification and, in upper or lower case, the keys that restrict
// the skill's use. reLooseKey matches any other plain key, which can contain spaces or letters
// beyond ASCII. Its match may also be text that continues a value.
var (
	reKey         = lazyregexp.New(`^(?:([A-Za-z_][A-Za-z0-9_.-]*)|"([^"\\]+)"|'([^']+)')[ \t]*:(?:[ \t]|$)`)
	reUnspacedKey = lazyregexp.New(`^(name|description|license|compatibility|metadata|allowed-tools|(?i:disable-model-invocation|user-invocable)):[^ \t]`)
	reLooseKey    = lazyregexp.New(`^([^\s"'#&*!|>%@,?:{}\[\]\x60-][^"'#]*?)[ \t]*:(?:[ \t]|$)`)
	reConflict    = lazyregexp.New(`^(<<<<<<<|=======|>>>>>>>)( |$)`)
	reBlock       = lazyregexp.New(`^[>|][+-]?[0-9]?[+-]?([ \t]+|$)`)
)

// Bounds of the repair. With them, a hostile block costs no more than a real one. They bound the
// number of fields that are read as YAML; name and description always are. They also bound the
// lines and bytes of a value in quotes or brackets.
const (
	maxRepairs    = 256
	maxJoined     = 4
	maxJoinedSize = 8 << 10
)

// chunk is one top-level field, as lines of the block.
type chunk struct {
	key   string
	colon int // offset in lines[0] just after the colon
	lines []string
	line  int // of lines[0] in the block, from 1
}

// part is the result of reading a chunk. Its fields have positions in the block. If the chunk has a
// fault, its value was read as text into one field.
type part struct {
	chunk  chunk
	fields []Field
	notes  []yamlFault
	fault  *yamlFault
}

// repair fills Fields if the block as a whole has the given fault.
func (d *Document) repair(block string, fault *yamlFault, shift func(Position) Position) {
	chunks := cutFields(block)
	if len(chunks) == 0 {
		d.add(fault.rule, shift(fault.position), "", fault.message, cmp.Or(fault.fix, "write each field on a line of its own, as name: value"))
		d.add(YAMLMapping, shift(Position{1, 1}), "", "the frontmatter is not a mapping of keys to values", "write name: and description: between the two --- lines")
		return
	}
	found := d.conflict(block, shift)
	first := map[string]Position{}
	tries := maxRepairs
	for len(chunks) > 0 {
		c := chunks[0]
		if at, duplicate := first[c.key]; duplicate {
			found = true
			d.duplicate(c.key, shift(Position{c.line, 1}), at)
			chunks = chunks[1:]
			continue
		}
		parts, used := readChunks(chunks, &tries)
		chunks = chunks[used:]
		for _, p := range parts {
			found = d.addPart(p, first, shift) || found
		}
	}
	if !found {
		// Each field is valid alone, so the fault is between the fields.
		d.add(fault.rule, shift(fault.position), "", fault.message, cmp.Or(fault.fix, "indent lines that belong to the field above, or delete them"))
	}
}

// addPart records a part's fields and problems, and reports whether it had a problem.
func (d *Document) addPart(p part, first map[string]Position, shift func(Position) Position) (found bool) {
	if p.fault != nil {
		found = true
		fix := fixFor(p.chunk, p.fault)
		if p.chunk.key != "name" {
			d.add(p.fault.rule, shift(p.fault.position), p.chunk.key, p.fault.message, fix)
		} else {
			d.add(NameSyntax, shift(p.fault.position), "name", "the name cannot be read: "+p.fault.message, fix)
			first["name"] = shift(Position{p.chunk.line, 1})
			return true
		}
	}
	for _, n := range p.notes {
		d.add(n.rule, shift(n.position), p.chunk.key, n.message, "")
	}
	for _, f := range shiftFields(p.fields, shift) {
		if at, duplicate := first[f.Key]; duplicate {
			found = true
			d.duplicate(f.Key, f.KeyPosition, at)
			continue
		}
		first[f.Key] = f.KeyPosition
		d.Fields = append(d.Fields, f)
	}
	return found
}

func (d *Document) duplicate(key string, at, first Position) {
	d.add(YAMLDuplicate, at, key, fmt.Sprintf("the key %s occurs twice; the first, on line %d, counts", display.Quote(key), first.Line), "delete one of the two")
}

// conflict reports the first conflict marker of a merge.
func (d *Document) conflict(block string, shift func(Position) Position) bool {
	for pos, line := 0, 1; pos < len(block); line++ {
		text, next := cutLine(block, pos)
		pos = next
		if reConflict().MatchString(text) {
			d.add(YAMLSyntax, shift(Position{line, 1}), "", "the frontmatter contains a merge conflict marker", "resolve the conflict and delete its markers")
			return true
		}
	}
	return false
}

// cutFields splits the block at its top-level keys. It drops lines before the first key. Any other
// line belongs to the field above it. A key without a space after its colon counts only if the
// block has no proper key with the same name.
func cutFields(block string) []chunk {
	var chunks []chunk
	proper := map[string]bool{}
	for pos, line := 0, 1; pos < len(block); line++ {
		text, next := cutLine(block, pos)
		pos = next
		if key, colon, ok := matchKey(text); ok {
			proper[key] = proper[key] || colon == len(text) || text[colon] == ' ' || text[colon] == '\t'
			chunks = append(chunks, chunk{key: key, colon: colon, lines: []string{text}, line: line})
			continue
		}
		if reConflict().MatchString(text) {
			text = "" // an empty line in its place keeps the line numbers
		}
		if n := len(chunks); n > 0 {
			chunks[n-1].lines = append(chunks[n-1].lines, text)
		}
	}
	return slices.DeleteFunc(mergeUnspaced(chunks, proper), func(c chunk) bool { return c.lines == nil })
}

// mergeUnspaced handles keys without a space after their colon. If a proper key has the same name,
// the lines of such a key become text of the field above.
func mergeUnspaced(chunks []chunk, proper map[string]bool) []chunk {
	last := -1
	for i, c := range chunks {
		if c.unspaced() && proper[c.key] && last >= 0 {
			chunks[last].lines = append(chunks[last].lines, c.lines...)
			chunks[i].lines = nil
			continue
		}
		last = i
	}
	return chunks
}

func matchKey(text string) (key string, colon int, ok bool) {
	if m := reKey().FindStringSubmatchIndex(text); m != nil {
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				key = text[m[g]:m[g+1]]
			}
		}
		return key, strings.IndexByte(text[keyEnd(m):], ':') + keyEnd(m) + 1, true
	}
	if m := reUnspacedKey().FindStringSubmatchIndex(text); m != nil {
		return text[m[2]:m[3]], m[3] + 1, true
	}
	return "", 0, false
}

func keyEnd(m []int) int { return max(m[3], m[5], m[7]) }

// readChunks reads the first chunk separately, as YAML or as text. A value in quotes or brackets
// may continue in the next chunks. used is the number of chunks that were read.
func readChunks(chunks []chunk, tries *int) (parts []part, used int) {
	c := chunks[0]
	if c.key != "name" && c.key != "description" {
		if *tries--; *tries < 0 {
			return []part{c.asText(syntaxFault(Position{c.line, 1}, "the frontmatter has faults and more than %d fields", maxRepairs))}, 1
		}
	}
	p, fault := c.read()
	if fault == nil {
		return []part{p}, 1
	}
	if value := c.value(); value != "" && strings.ContainsRune(`"'[{`, rune(value[0])) {
		joined := c
		for n := 1; n < min(maxJoined, len(chunks)); n++ {
			joined.lines = append(slices.Clip(joined.lines), chunks[n].lines...)
			if joined.size() > maxJoinedSize {
				break
			}
			if p, fault := joined.read(); fault == nil && len(p.fields) == 1 {
				return []part{p}, n + 1
			}
		}
	}
	if pieces := c.loose(); len(pieces) > 1 {
		if _, headFault := pieces[0].read(); headFault == nil {
			for _, piece := range pieces {
				p, fault := piece.read()
				if fault != nil {
					p = piece.asText(fault)
				}
				parts = append(parts, p)
			}
			return parts, 1
		}
	}
	return []part{c.asText(fault)}, 1
}

// loose splits a chunk at lines that could be unusual keys.
func (c chunk) loose() []chunk {
	pieces := []chunk{{key: c.key, colon: c.colon, line: c.line}}
	begin := 0
	for i, text := range c.lines {
		m := reLooseKey().FindStringSubmatchIndex(text)
		if i == 0 || m == nil || len(pieces) == maxRepairs {
			continue
		}
		pieces[len(pieces)-1].lines = c.lines[begin:i]
		begin = i
		colon := m[3] + strings.IndexByte(text[m[3]:], ':') + 1
		pieces = append(pieces, chunk{key: text[m[2]:m[3]], colon: colon, line: c.line + i})
	}
	pieces[len(pieces)-1].lines = c.lines[begin:]
	return pieces
}

// read parses the chunk as a YAML block.
func (c chunk) read() (part, *yamlFault) {
	p := part{chunk: c}
	block := strings.Join(c.lines, "\n") + "\n"
	fault := unsafeCharacter(block)
	if fault == nil {
		var v Value
		v, p.notes, fault = parseYAML(block)
		if fault == nil && (v.Kind != Map || len(v.Fields) == 0 || v.Fields[0].Key != c.key) {
			fault = syntaxFault(Position{1, 1}, "the field does not read as a key and a value")
			if c.unspaced() {
				fault = c.unspacedFault()
			}
		}
		p.fields = v.Fields
	}
	down := func(p Position) Position { return Position{p.Line + c.line - 1, p.Column} }
	if fault != nil {
		fault.position = down(fault.position)
		return p, fault
	}
	for i := range p.notes {
		p.notes[i].position = down(p.notes[i].position)
	}
	shiftFields(p.fields, down)
	return p, nil
}

// unspacedFault returns the fault of a colon without a space after it. If an unusual space follows
// the colon, the fault names that space, because it looks like an ordinary one.
func (c chunk) unspacedFault() *yamlFault {
	at := utf8.RuneCountInString(c.lines[0][:c.colon])
	if r, _ := utf8.DecodeRuneInString(c.lines[0][c.colon:]); unicode.IsSpace(r) {
		f := syntaxFault(Position{1, at + 1}, "after the colon of %s there is the space U+%04X, which YAML does not accept as a space", display.Excerpt(c.key), r)
		f.fix = "replace it with an ordinary space"
		return f
	}
	return syntaxFault(Position{1, at}, "there is no space after the colon of %s", display.Excerpt(c.key))
}

// asText reads the chunk's value as text, because of a fault.
func (c chunk) asText(fault *yamlFault) part {
	head := len(c.lines[0]) - len(c.value())
	column := utf8.RuneCountInString(c.lines[0][:head]) + 1
	return part{chunk: c, fault: fault, fields: []Field{{Key: c.key, KeyPosition: Position{c.line, 1},
		Value: Value{Kind: String, Text: c.text(), Position: Position{c.line, column}}}}}
}

// value returns the text after the colon in the first line.
func (c chunk) value() string { return strings.TrimLeft(c.lines[0][c.colon:], " \t") }

// unspaced reports whether neither a space nor a tab follows the colon.
func (c chunk) unspaced() bool {
	return c.colon < len(c.lines[0]) && c.lines[0][c.colon] != ' ' && c.lines[0][c.colon] != '\t'
}

func (c chunk) size() (n int) {
	for _, l := range c.lines {
		n += len(l) + 1
	}
	return n
}

// text returns the value as one line of text. It joins lines with spaces and drops comment lines.
// It also removes a block indicator before the text, and the quotes around a value that is valid
// YAML.
func (c chunk) text() string {
	parts := make([]string, 0, len(c.lines))
	for i, l := range c.lines {
		if i == 0 {
			l = c.value()
			l = l[len(reBlock().FindString(l)):]
		}
		if strings.HasPrefix(strings.TrimLeft(l, " \t"), "#") && i > 0 {
			continue
		}
		parts = append(parts, l)
	}
	text := display.OneLine(strings.Join(parts, "\n"))
	if n := len(text); n > 1 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		if v, _, fault := parseYAML("v: " + text + "\n"); fault == nil && len(v.Fields) == 1 && v.Fields[0].Value.Kind == String {
			return display.OneLine(v.Fields[0].Value.Text)
		}
	}
	return text
}

// fixFor returns the fix for a fault in a field.
func fixFor(c chunk, f *yamlFault) string {
	value, key := c.value(), display.Excerpt(c.key)
	switch {
	case f.fix != "":
		return f.fix
	case c.unspaced():
		return "put a space after " + key + ":"
	case value != "" && strings.ContainsRune(">|", rune(value[0])):
		return "put the text on the next line, indented, or delete the " + value[:1]
	case value == "":
		return "indent the lines of the value"
	case strings.ContainsRune(`"'`, rune(value[0])):
		return fixQuotes
	case len(c.lines) > 1 && continues(c.lines[1:]):
		return "indent the lines that continue the value, or quote it"
	}
	return quoteFix(key)
}

// continues reports whether any of the lines begins at column 1.
func continues(lines []string) bool {
	for _, l := range lines {
		if l != "" && l[0] != ' ' && l[0] != '\t' {
			return true
		}
	}
	return false
}
