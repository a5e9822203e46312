package gfm

import (
	"github.com/yuin/goldmark/ast"
	marks "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// elements renders the nodes of the four parts, except autolinks, which the core renders.
type elements struct{}

// RegisterFuncs registers the renderer of each kind of node.
func (elements) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	for _, kind := range [...]ast.NodeKind{
		marks.KindTable, marks.KindTableHeader, marks.KindTableRow, marks.KindTableCell,
		marks.KindStrikethrough, marks.KindTaskCheckBox,
	} {
		r.Register(kind, render)
	}
}

func render(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	begin, end := tags(n)
	if entering {
		_, _ = w.WriteString(begin)
	} else {
		_, _ = w.WriteString(end)
	}
	return ast.WalkContinue, nil
}

// tags returns the HTML before and after the children of a node.
func tags(n ast.Node) (begin, end string) {
	switch n := n.(type) {
	case *marks.Table:
		return "<table>\n", "</table>\n"
	case *marks.TableHeader:
		if n.NextSibling() == nil {
			return "<thead>\n<tr>\n", "</tr>\n</thead>\n"
		}
		return "<thead>\n<tr>\n", "</tr>\n</thead>\n<tbody>\n"
	case *marks.TableRow:
		if n.NextSibling() == nil {
			return "<tr>\n", "</tr>\n</tbody>\n"
		}
		return "<tr>\n", "</tr>\n"
	case *marks.TableCell:
		tag, align := "td", ""
		if n.Parent().Kind() == marks.KindTableHeader {
			tag = "th"
		}
		if n.Alignment != marks.AlignNone {
			align = ` align="` + n.Alignment.String() + `"`
		}
		return "<" + tag + align + ">", "</" + tag + ">\n"
	case *marks.Strikethrough:
		return "<del>", "</del>"
	case *marks.TaskCheckBox:
		if n.IsChecked {
			return `<input checked="" disabled="" type="checkbox" /> `, ""
		}
		return `<input disabled="" type="checkbox" /> `, ""
	}
	return "", ""
}
