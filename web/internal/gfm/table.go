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
// It does nothing if no line is a delimiter row, or if the header row and the first
// delimiter row have different numbers of cells.
func (tables) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	source, lines := reader.Source(), p.Lines()
	at, columns := 1, []marks.Alignment(nil)
	for ; at < lines.Len(); at++ {
		line := lines.At(at)
		if columns = delimiters(line.Value(source)); columns != nil {
			break
		}
	}
	if columns == nil || len(cells(lines.At(at-1), source, len(columns)+1)) != len(columns) {
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
	lines.Set(at-2, last.TrimRightSpace(source))
}

// delimiters returns the alignment of each column of a delimiter row, or nil if the line is
// none. A line of dashes alone, without an end of line, is none: it is the text of an item.
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
		case n.Kind() == ast.KindCodeSpan && entering:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				unescape(n, c, reader.Source())
			}
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
}

// unescape puts the text up to each escaped pipe before the node, without the backslash.
func unescape(span, n ast.Node, source []byte) {
	rest, ok := n.(*ast.Text)
	if !ok {
		return
	}
	for {
		s := rest.Segment
		i := bytes.Index(s.Value(source), []byte(`\|`))
		if i < 0 {
			return
		}
		span.InsertBefore(span, rest, ast.NewRawTextSegment(s.WithStop(s.Start+i)))
		rest.Segment = s.WithStart(s.Start + i + 1)
	}
}

func renderRow(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		if n.PreviousSibling().Kind() == marks.KindTableHeader {
			_, _ = w.WriteString("<tbody>\n")
		}
		_, _ = w.WriteString("<tr>\n")
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString("</tr>\n")
	if n.NextSibling() == nil {
		_, _ = w.WriteString("</tbody>\n")
	}
	return ast.WalkContinue, nil
}

func renderCell(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "td"
	if n.Parent().Kind() == marks.KindTableHeader {
		tag = "th"
	}
	if !entering {
		_, _ = w.WriteString("</" + tag + ">\n")
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString("<" + tag)
	if align := n.(*marks.TableCell).Alignment; align != marks.AlignNone {
		_, _ = w.WriteString(` align="` + align.String() + `"`)
	}
	_ = w.WriteByte('>')
	return ast.WalkContinue, nil
}
