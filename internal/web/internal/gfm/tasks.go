package gfm

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	marks "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// tasks finds the box at the beginning of a list item: [ ], [x] or [X].
type tasks struct{}

// Trigger returns the first character of a box.
func (tasks) Trigger() []byte { return []byte("[") }

// Parse returns a box if it is the first thing in the first block of a list item. It does not
// require the space after the box that the specification asks for.
func (tasks) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	const space = " \t\n\f\r"
	item := parent.Parent()
	if item == nil || item.Kind() != ast.KindListItem || item.FirstChild() != parent || parent.HasChildren() {
		return nil
	}
	line, _ := block.PeekLine()
	if len(line) < 3 || bytes.IndexByte([]byte(space+"xX"), line[1]) < 0 || line[2] != ']' {
		return nil
	}
	block.Advance(len(line) - len(bytes.TrimLeft(line[3:], space)))
	return marks.NewTaskCheckBox(line[1] == 'x' || line[1] == 'X')
}
