package skill

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Where the block is not valid YAML, it is cut at its top-level keys and each
// field is read alone. One that still fails is taken as text, so that a fault
// in one field costs none of the others. A name is never guessed.

// reKey matches a top-level key: a word, or one in quotes, and a colon before a
// blank or the line's end. reKnownKey also takes one of the specification's
// keys whose colon is followed directly by a quote.
var (
	reKey      = regexp.MustCompile(`^(?:([A-Za-z_][A-Za-z0-9_.-]*)|"([^"\\]+)"|'([^']+)')[ \t]*:(?:[ \t]|$)`)
	reKnownKey = regexp.MustCompile(`^(name|description|license|compatibility|metadata|allowed-tools):["']`)
	reConflict = regexp.MustCompile(`^(<<<<<<<|=======|>>>>>>>)( |$)`)
	reBlock    = regexp.MustCompile(`^[>|][+-]?[0-9]?[+-]?([ \t]+|$)`)
)

// chunk is one top-level field as lines of the block.
type chunk struct {
	key   string
	colon int // offset in lines[0] just after the colon
	lines []string
	line  int // of lines[0] in the block, from 1
}

// repair fills Fields where the block as a whole has the given fault.
func (d *Document) repair(block string, fault *yamlFault, shift func(Position) Position) {
	chunks := cutFields(block)
	if len(chunks) == 0 {
		d.add(fault.rule, shift(fault.position), "", fault.message, "")
		d.add(RuleYAMLMapping, shift(Position{1, 1}), "", "the frontmatter is not a mapping of keys to values", "write name: and description: between the two --- lines")
		return
	}
	seen := map[string]bool{}
	found := false
	for _, c := range chunks {
		at := func(p Position) Position { return shift(Position{p.Line + c.line - 1, p.Column}) }
		field, alone, notes := c.read()
		if alone != nil {
			found = true
			d.add(alone.rule, at(alone.position), c.key, alone.message, mendFor(c, alone))
			if c.key == "name" {
				d.add(RuleNameSyntax, at(Position{1, 1}), "name", "the name cannot be read: "+alone.message, mendFor(c, alone))
				continue
			}
		}
		for _, n := range notes {
			d.add(n.rule, at(n.position), c.key, n.message, "")
		}
		if seen[field.Key] {
			found = true
			d.add(RuleYAMLDuplicate, at(field.KeyPosition), field.Key,
				"the key "+Quote(field.Key)+" stands twice; the first counts", "delete one of the two")
			continue
		}
		seen[field.Key] = true
		d.Fields = append(d.Fields, shiftFields([]Field{field}, at)...)
	}
	if !found {
		// Each field is sound alone; the fault lies between them.
		d.add(fault.rule, shift(fault.position), "", fault.message, "indent lines that belong to the field above, or delete them")
	}
}

// cutFields cuts the block at its top-level keys. Lines before the first key are
// dropped; any other line belongs to the field above it.
func cutFields(block string) []chunk {
	var chunks []chunk
	for pos, line := 0, 1; pos < len(block); line++ {
		text, next := cutLine(block, pos)
		pos = next
		if key, colon, ok := matchKey(text); ok {
			chunks = append(chunks, chunk{key: key, colon: colon, lines: []string{text}, line: line})
			continue
		}
		if n := len(chunks); n > 0 && !reConflict.MatchString(text) {
			chunks[n-1].lines = append(chunks[n-1].lines, text)
		}
	}
	return chunks
}

func matchKey(text string) (key string, colon int, ok bool) {
	if m := reKey.FindStringSubmatchIndex(text); m != nil {
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				key = text[m[g]:m[g+1]]
			}
		}
		return key, strings.IndexByte(text[keyEnd(m):], ':') + keyEnd(m) + 1, true
	}
	if m := reKnownKey.FindStringSubmatchIndex(text); m != nil {
		return text[m[2]:m[3]], m[3] + 1, true
	}
	return "", 0, false
}

func keyEnd(m []int) int { return max(m[3], m[5], m[7]) }

// read reads the chunk alone: as YAML, else as text with the fault that made it so.
func (c chunk) read() (Field, *yamlFault, []yamlFault) {
	block := strings.Join(c.lines, "\n") + "\n"
	fault := unsafeCharacter(block)
	if fault == nil {
		var v Value
		var notes []yamlFault
		v, notes, fault = parseYAML(block)
		if fault == nil && v.Kind == Map && len(v.Fields) == 1 {
			return v.Fields[0], nil, notes
		}
		if fault == nil {
			fault = syntaxFault(Position{1, 1}, "the field does not read as a key and a value")
		}
	}
	head := c.lines[0][:len(c.lines[0])-len(strings.TrimLeft(c.lines[0][c.colon:], " \t"))]
	column := utf8.RuneCountInString(head) + 1
	return Field{Key: c.key, KeyPosition: Position{1, 1},
		Value: Value{Kind: String, Text: c.text(), Position: Position{1, column}}}, fault, nil
}

// text is the value as one line of text: lines joined by blanks, a block
// indicator with text behind it dropped, quotes around a value that is sound
// alone removed, everything else as it stands.
func (c chunk) text() string {
	parts := make([]string, 0, len(c.lines))
	for i, l := range c.lines {
		if i == 0 {
			l = strings.TrimLeft(l[c.colon:], " \t")
			l = l[len(reBlock.FindString(l)):]
		}
		if strings.HasPrefix(strings.TrimLeft(l, " \t"), "#") && i > 0 {
			continue
		}
		parts = append(parts, l)
	}
	text := OneLine(strings.Join(parts, "\n"))
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		if v, _, fault := parseYAML("v: " + text + "\n"); fault == nil && len(v.Fields) == 1 && v.Fields[0].Value.Kind == String {
			return OneLine(v.Fields[0].Value.Text)
		}
	}
	return text
}

// mendFor names the certain mend of the common faults.
func mendFor(c chunk, f *yamlFault) string {
	value := strings.TrimLeft(c.lines[0][c.colon:], " \t")
	switch {
	case strings.Contains(f.message, "must not stand"):
		return "delete the character"
	case c.colon < len(c.lines[0]) && value == c.lines[0][c.colon:] && value != "":
		return "put a blank after " + c.key + ":"
	case value != "" && strings.ContainsRune(">|", rune(value[0])):
		return "put the text on the next line, indented, or delete the " + value[:1]
	case value == "":
		return "indent the lines of the value"
	case strings.ContainsRune(`"'`, rune(value[0])):
		return "quote the whole value once and escape quotes inside it"
	case len(c.lines) > 1 && continues(c.lines[1:]):
		return "indent the lines that continue the value, or quote it"
	}
	return "put the value in quotes: " + c.key + ": '…'"
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
