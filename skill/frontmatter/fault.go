package frontmatter

import (
	"fmt"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// A YAML parser reports the tokens that it expected. This file explains a fault to the author
// instead, with the author's text, its position, and the replacement to type. If there is no
// explanation for a fault, the message quotes the parser.

// parserError is the YAML parser's error for a block.
type parserError struct {
	message          string
	at, contextStart Position // the position of the fault, and the beginning of the construct around it
	lines            []string
}

// reEntry matches a line with a key, up to the beginning of the value.
var reEntry = lazyregexp.New(`^[ \t]*(?:-[ \t]+)*("[^"\\]*"|'[^']*'|[^\s"'#&*!|>%@,?:{}\[\]\x60-][^#]*?)[ \t]*:(?:[ \t]+|$)`)

const (
	// lastResort begins a message that quotes the YAML parser's own error.
	lastResort = "YAML cannot be read from here on: "
	fixDepth   = "nest it less deeply"
	fixTab     = "use spaces instead of the tab"
	fixQuotes  = "write one pair of quotes around the whole value; inside of single quotes each ' is written twice"
)

// fault explains the parser's error to an author.
func (c parserError) fault() *yamlFault {
	f := &yamlFault{rule: YAMLSyntax, position: c.at}
	say := func(fix, format string, args ...any) *yamlFault {
		f.fix, f.message = fix, fmt.Sprintf(format, args...)
		return f
	}
	r := c.character(c.at)
	_, value, _ := c.entry(c.at.Line)
	switch {
	case strings.HasPrefix(c.line(1), "%"):
		f.position = Position{1, 1}
		return say("delete the line", "a line that begins with %% is not a field")
	case strings.HasPrefix(c.line(c.at.Line), "%"):
		f.position.Column = 1
		return say("delete the line", "a line that begins with %% is not a field")
	case strings.Contains(c.message, "tab character"), strings.Contains(c.message, "spaces and tabs"), c.message == "found character that cannot start any token" && r == "\t":
		return say(fixTab, "there is a tab where YAML requires spaces")
	case c.message == "mapping values are not allowed in this context":
		return c.colon(f)
	case c.message == "did not find expected alphabetic or numeric character", strings.HasPrefix(c.message, "unknown anchor "):
		if begin := c.character(c.contextStart); begin == "*" || begin == "&" {
			f.position = c.contextStart
		}
		return c.start(f)
	case c.message == "found character that cannot start any token", c.message == "did not find expected node content" && r != "":
		return c.start(f)
	case value != "" && strings.ContainsRune("!?", rune(value[0])):
		f.position.Column = c.column(c.at.Line, value)
		return c.start(f)
	case c.message == "could not find expected ':'":
		f.position = c.contextStart
		return say("", "the line is not a field and is not indented under one")
	case c.message == "did not find expected key", c.message == "did not find expected <document start>" && r != "":
		return c.key(f)
	case strings.HasPrefix(c.message, "did not find expected ',' or "), c.message == "did not find expected node content":
		return c.bracket(f)
	case strings.Contains(c.message, "escape c"), c.message == "did not find expected hexadecimal number":
		return c.escape(f)
	case strings.HasPrefix(c.message, "found unexpected end of stream"), strings.HasPrefix(c.message, "found unexpected document indicator"):
		f.position = c.contextStart
		if end, ok := c.behindBracket(c.contextStart); ok {
			f.position = end
			return c.trailing(f, "bracket")
		}
		q := c.character(c.contextStart)
		return say("write the closing "+q+", or put the other kind of quotes around the whole value", "the quote %s that begins here is never closed", q)
	case c.message == "block sequence entries are not allowed in this context":
		if key, _, _ := c.entry(c.at.Line); isText(key) {
			return c.start(f)
		}
		return say("write each entry on a line of its own, below the key", "a list begins on the line of its key")
	case c.message == "did not find expected '-' indicator":
		return say("indent it as they are, or begin it with -", "the line is not indented as the entries of the list above it")
	case value != "" && strings.ContainsRune(">|", rune(value[0])):
		return say("", "there is text after %s on the same line", value[:1])
	case strings.HasPrefix(c.message, "exceeded max depth"):
		return say(fixDepth, "more than %d levels deep", maxDepth)
	case c.message == "found a comment without preceding whitespace":
		return say("put a space before the #, or put the whole value in quotes", "there is a # directly after the value")
	}
	return c.other(f)
}

// other explains a fault for which there is no other text. If the block was cut off, it does not
// quote the parser, whose message does not fit.
func (c parserError) other(f *yamlFault) *yamlFault {
	last := len(c.lines)
	for last > 0 && strings.TrimSpace(c.line(last)) == "" {
		last--
	}
	if c.at.Line < last || c.at.Line == last && strings.TrimSpace(c.textFrom(c.at)) != "" {
		f.message, f.fix = lastResort+display.CutBytes(display.OneLine(c.message), 160), ""
		return f
	}
	f.position = Position{last, c.column(last, "")}
	f.message, f.fix = "the text ends here, in the middle of a value", "write the rest"
	return f
}

// colon explains a second colon.
func (c parserError) colon(f *yamlFault) *yamlFault {
	key, value, ok := c.entry(c.at.Line)
	if ok && value != "" && c.column(c.at.Line, value) <= c.at.Column {
		switch {
		case strings.ContainsRune(`"'`, rune(value[0])):
			return c.trailing(f, "quote")
		case strings.ContainsRune(`[{`, rune(value[0])):
			return c.trailing(f, "bracket")
		}
		f.message, f.fix = "an unquoted value contains a colon and a space", quoteFix(key)
		if strings.TrimSpace(c.textFrom(Position{c.at.Line, c.at.Column + 1})) == "" {
			f.message = "an unquoted value ends with a colon"
		}
		return f
	}
	if key, value, n := c.fieldAbove(c.at.Line - 1); n > 0 && value != "" {
		f.message = fmt.Sprintf("the value of %s continues on this line, which contains a colon and a space", display.Excerpt(key))
		f.fix = quoteFix(key) + "; or, if this is a field, indent it as the others"
		return f
	}
	for n := c.at.Line - 1; n > 0; n-- {
		if text := strings.TrimSpace(c.line(n)); text != "" && text[0] != '#' {
			f.position = Position{n, 1}
			break
		}
	}
	f.message = "the line is not a field and is not indented under one"
	f.fix = "write it as a field, name: value, or delete it"
	return f
}

// start explains a character that cannot begin a value or a line.
func (c parserError) start(f *yamlFault) *yamlFault {
	r := c.character(f.position)
	if r == "" {
		return c.other(f)
	}
	if strings.TrimLeft(c.until(f.position), " \t") == "" {
		f.message = fmt.Sprintf("a line that begins with %s is not a field", r)
		return f
	}
	f.message = fmt.Sprintf("a value that begins with %s must be quoted", r)
	if key, _, ok := c.entry(f.position.Line); ok {
		f.fix = quoteFix(key)
	}
	return f
}

// key explains text at the place where the next field should begin.
func (c parserError) key(f *yamlFault) *yamlFault {
	// The parser stops before the white space after the text that it has read.
	rest := c.textFrom(f.position)
	f.position.Column += len(rest) - len(strings.TrimLeft(rest, " \t"))
	key, value, n := c.fieldAbove(f.position.Line)
	ran := n > 0 && value != "" && (n < f.position.Line || c.column(n, value) < f.position.Column)
	switch {
	case ran && strings.ContainsRune(`"'`, rune(value[0])) && c.until(f.position) != "":
		return c.trailing(f, "quote")
	case ran && strings.ContainsRune(`[{`, rune(value[0])) && c.until(f.position) != "":
		return c.trailing(f, "bracket")
	case strings.HasPrefix(c.textFrom(f.position), "- "):
		f.message = "there is a list entry where a field is expected"
		f.fix = "indent the entries below their key"
		if value != "" {
			f.fix = quoteFix(key) + ", or indent its lines"
		}
	default:
		f.message, f.fix = "the line is not indented as the fields around it", "indent it as they are"
	}
	return f
}

func (c parserError) trailing(f *yamlFault, what string) *yamlFault {
	f.message, f.fix = "there is text after the closing "+what, fixQuotes
	if key, _, _ := c.fieldAbove(f.position.Line); what == "bracket" {
		f.fix = "delete it"
		if isText(key) {
			f.fix = quoteFix(key)
		}
	}
	return f
}

// bracket explains a fault in a list or mapping in brackets.
func (c parserError) bracket(f *yamlFault) *yamlFault {
	key, value, n := c.fieldAbove(c.at.Line)
	if n > 0 && c.contextStart == c.at && value != "" {
		c.contextStart = Position{n, c.column(n, value)} // the parser names no bracket if the next value is missing
	}
	closer := map[string]string{"[": "]", "{": "}"}[c.character(c.contextStart)]
	f.message, f.fix = "a comma or the closing "+closer+" is missing before this", "write the missing character"
	switch {
	case closer == "":
		c.other(f)
	case c.at.Line > len(c.lines) || c.character(c.at) == "":
		f.position = c.contextStart
		key, _, _ = c.fieldAbove(c.contextStart.Line)
		f.message, f.fix = fmt.Sprintf("the %s that begins here is never closed", c.character(c.contextStart)), "write the closing "+closer
	}
	if character := c.character(c.at); closer == "]" && (character == "[" || character == "{") {
		before, after := c.until(c.at), c.textFrom(c.at)
		word := before[strings.LastIndexAny(before, "[, ")+1:]
		if end := strings.IndexAny(after, "]}"); word != "" && end > 0 { // as in [ray[data], pyarrow]
			f.message = "a text of a list has a bracket and no quotes"
			f.fix = "put it in quotes: " + display.Excerpt("'"+word+after[:end+1]+"'")
		}
	}
	if isText(key) {
		f.fix = quoteFix(key)
	}
	return f
}

// escape explains a backslash in double quotes.
func (c parserError) escape(f *yamlFault) *yamlFault {
	text := []rune(c.until(f.position))
	for i := len(text) - 1; i >= max(len(text)-10, 0); i-- {
		if text[i] == '\\' {
			f.position.Column = i + 1
			break
		}
	}
	chars := []rune(c.textFrom(f.position))
	if strings.Contains(c.message, "Unicode") {
		f.message = fmt.Sprintf("%s is not a complete character", display.Excerpt(string(chars[:min(len(chars), 6)])))
		f.fix = "write the character itself"
		return f
	}
	escape := string(chars[:min(len(chars), 2)])
	f.message = fmt.Sprintf("in double quotes %s means nothing", display.Excerpt(escape))
	if digits := map[string]int{`\x`: 2, `\u`: 4, `\U`: 8}[escape]; digits > 0 {
		f.message = fmt.Sprintf("in double quotes %s must be followed by %d hexadecimal digits", escape, digits)
	}
	f.fix = `use single quotes, or write \\ for each backslash`
	return f
}

// behindBracket returns the position after the closing bracket of a field's value. ok is true if
// the value begins with a bracket, and the quote at p is after the closing bracket.
func (c parserError) behindBracket(p Position) (Position, bool) {
	_, value, ok := c.entry(p.Line)
	if !ok || value == "" || !strings.ContainsRune("[{", rune(value[0])) {
		return p, false
	}
	closer := map[byte]string{'[': "]", '{': "}"}[value[0]]
	i := strings.Index(value, closer)
	if i < 0 {
		return p, false
	}
	at := Position{p.Line, c.column(p.Line, value[i+1:])}
	return at, at.Column <= p.Column
}

// entry returns the line's key and value.
func (c parserError) entry(n int) (key, value string, ok bool) {
	m := reEntry().FindStringSubmatchIndex(c.line(n))
	if m == nil {
		return "", "", false
	}
	return c.line(n)[m[2]:m[3]], c.line(n)[m[1]:], true
}

// fieldAbove returns the key and the value of the nearest line with a key, from the given line
// upwards. n is the number of the line, or 0 if no line has a key.
func (c parserError) fieldAbove(from int) (key, value string, n int) {
	for n := min(from, len(c.lines)); n > 0; n-- {
		if key, value, ok := c.entry(n); ok {
			return key, value, n
		}
	}
	return "", "", 0
}

func (c parserError) line(n int) string {
	if n < 1 || n > len(c.lines) {
		return ""
	}
	return c.lines[n-1]
}

// column returns the column at which tail begins, if line n ends with it.
func (c parserError) column(n int, tail string) int {
	return len([]rune(c.line(n))) - len([]rune(tail)) + 1
}

// textFrom returns the part of a line that begins at a position. until returns the part before the
// position.
func (c parserError) textFrom(p Position) string {
	runes := []rune(c.line(p.Line))
	return string(runes[min(max(p.Column-1, 0), len(runes)):])
}

func (c parserError) until(p Position) string {
	runes := []rune(c.line(p.Line))
	return string(runes[:min(max(p.Column-1, 0), len(runes))])
}

// character returns the character at a position, or "" after a line's end.
func (c parserError) character(p Position) string {
	for _, r := range c.textFrom(p) {
		return string(r)
	}
	return ""
}

// isText reports whether a field's value is one text. Brackets in it are not a list.
func isText(key string) bool {
	switch key {
	case "name", "description", "license", "compatibility", "argument-hint", "when_to_use":
		return true
	}
	return false
}

func quoteFix(key string) string {
	return "put the value in quotes: " + display.Excerpt(key) + ": '…'"
}
