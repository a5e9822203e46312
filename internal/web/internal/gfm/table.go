package gfm

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	marks "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// tables makes a table of the lines of a paragraph from the line above a delimiter row.
type tables struct{}

// Transform puts the table after the paragraph, which keeps the lines above the header row.
// It does nothing if no line is a delimiter row, or if the header row has more cells than
// the first delimiter row. A header row with fewer cells is filled, like any other row. The
// specification makes no table of it, but people write such tables.
func (tables) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	source, lines := reader.Source(), p.Lines()
	at, columns := 1, []marks.Alignment(nil)
	for ; at < lines.Len(); at++ {
		line := lines.At(at)
		if columns = delimiters(line.Value(source)); columns != nil {
			break
		}
	}
	if columns == nil || len(cells(lines.At(at-1), source, len(columns)+1)) > len(columns) {
		return
	}
	table := marks.NewTable()
	table.Alignments = columns
	header := marks.NewTableHeader(marks.NewTableRow(columns))
	fill(header, lines.At(at-1), source, columns)
	table.AppendChild(table, header)
	for i := at + 1; i < lines.Len(); i++ {
		row := marks.NewTableRow(columns)
		fill(row, lines.At(i), source, columns)
		table.AppendChild(table, row)
	}
	p.Parent().InsertAfter(p.Parent(), p, table)
	if at == 1 {
		p.Parent().RemoveChild(p.Parent(), p)
		return
	}
	last := lines.At(at - 2)
	lines.SetSliced(0, at-1)
	lines.Set(at-2, last.WithStop(last.Stop-1)) // without its newline
}

// delimiters returns the alignment of each column of a delimiter row, or nil if the line is
// none. Dashes alone at the end of a paragraph are none: in an item they are its text.
func delimiters(line []byte) (columns []marks.Alignment) {
	const space = " \t\r\n"
	if width, _ := util.IndentWidth(line, 0); width > 3 || len(bytes.Trim(line, "-")) == 0 {
		return nil
	}
	line = bytes.Trim(line, space)
	line = bytes.TrimSuffix(bytes.TrimPrefix(line, []byte("|")), []byte("|"))
	for cell := range bytes.SplitSeq(line, []byte("|")) {
		cell, left := bytes.CutPrefix(bytes.Trim(cell, space), []byte(":"))
		cell, right := bytes.CutSuffix(cell, []byte(":"))
		if len(cell) == 0 || len(bytes.Trim(cell, "-")) > 0 {
			return nil
		}
		align := marks.AlignNone
		switch {
		case left && right:
			align = marks.AlignCenter
		case left:
			align = marks.AlignLeft
		case right:
			align = marks.AlignRight
		}
		columns = append(columns, align)
	}
	return columns
}

// cells splits a row at the pipes that have no backslash before them. It returns the first
// cells, at most most.
func cells(row text.Segment, source []byte, most int) (found []text.Segment) {
	row = row.TrimLeftSpace(source)
	row = row.TrimRightSpace(source)
	at, end := row.Start, row.Stop
	if at < end && source[at] == '|' {
		at++
	}
	if at < end && source[end-1] == '|' {
		end--
	}
	for at < end && len(found) < most {
		stop := at
		for stop < end && (source[stop] != '|' || source[stop-1] == '\\') {
			stop++
		}
		cell := text.NewSegment(at, stop)
		cell = cell.TrimLeftSpace(source)
		found = append(found, cell.TrimRightSpace(source))
		at = stop + 1
	}
	return found
}

// fill appends to a row one cell for each column. Missing cells are empty.
func fill(row ast.Node, line text.Segment, source []byte, columns []marks.Alignment) {
	found := cells(line, source, len(columns))
	for i, align := range columns {
		cell := marks.NewTableCell()
		if i < len(found) {
			cell.Alignment = align
			cell.Lines().Append(found[i])
		}
		row.AppendChild(row, cell)
	}
}

// pipes removes the backslash before a pipe from code spans in tables. In other text the
// core removes it, as before any punctuation, but code spans have no escapes.
type pipes struct{}

// Transform splits the text of each such code span around the backslashes.
func (pipes) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	inCell := false
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch {
		case n.Kind() == marks.KindTableCell:
			inCell = entering
		case n.Type() == ast.TypeInline && !inCell:
			return ast.WalkSkipChildren, nil
		case n.Parent() != nil && n.Parent().Kind() == ast.KindCodeSpan && entering:
			unescape(n.(*ast.Text), reader.Source())
		}
		return ast.WalkContinue, nil
	})
}

// unescape puts the text up to each escaped pipe before the node, without the backslash.
func unescape(rest *ast.Text, source []byte) {
	for {
		s := rest.Segment
		i := bytes.Index(s.Value(source), []byte(`\|`))
		if i < 0 {
			return
		}
		rest.Parent().InsertBefore(rest.Parent(), rest, ast.NewRawTextSegment(s.WithStop(s.Start+i)))
		rest.Segment = s.WithStart(s.Start + i + 1)
	}
}
