package gfm

import (
	"github.com/yuin/goldmark/ast"
	marks "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// strikes finds text between one or two tildes. The core pairs them, as it pairs the marks
// of emphasis.
type strikes struct{}

// Trigger returns the mark.
func (strikes) Trigger() []byte { return []byte("~") }

// Parse returns a delimiter, or nil if there are more than two tildes.
func (s strikes) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 1, s)
	if d == nil || d.OriginalLength > 2 || before == '~' { // before: the third of three
		return nil
	}
	d.Segment = segment.WithStop(segment.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}

// IsDelimiter reports whether c is the mark.
func (strikes) IsDelimiter(c byte) bool { return c == '~' }

// CanOpenCloser reports whether two delimiters have the same mark.
func (strikes) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch returns the node for the text between two delimiters.
func (strikes) OnMatch(int) ast.Node { return marks.NewStrikethrough() }
