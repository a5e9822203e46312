// Package gfm extends goldmark with four parts of GitHub Flavored Markdown: tables,
// strikethrough, task lists and autolinks (https://github.github.com/gfm/).
//
// It renders what goldmark's package extension renders, as XHTML and with the alignment of a
// cell in its attribute. Importing that package compiles regular expressions and builds
// tables at every start of the program. This package does nothing until [Extension] is used.
//
// The time grows with the length of a text, beside what goldmark's core takes, except for
// tables. A table has its rows times its columns in cells, however short the rows are, so
// the caller limits it.
package gfm

import (
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// Extension adds the four parts to a goldmark.Markdown.
type Extension struct{}

// Extend adds the parsers and renderers of the four parts to m.
func (Extension) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(
		parser.WithParagraphTransformers(util.Prioritized(tables{}, 200)), // after link definitions
		parser.WithASTTransformers(util.Prioritized(pipes{}, 0)),
		parser.WithInlineParsers(
			util.Prioritized(tasks{}, 0), // before links, which begin alike
			util.Prioritized(strikes{}, 500),
			util.Prioritized(autolinks{}, 999), // after emphasis, which begins alike
		),
	)
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(elements{}, 500)))
}
