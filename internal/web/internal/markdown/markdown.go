// Package markdown renders the Markdown of skills as HTML without scripts, forms or requests.
//
// [Renderer.Render] parses and renders, rewrite in links.go resolves the links, and sanitize in
// sanitize.go passes only allowed elements.
package markdown

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"runtime"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	nodes "github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxRendered is the maximum size of Markdown that is rendered, in bytes; longer text
// is shown as source. The longest real SKILL.md of 145,005 has 294 kB.
const maxRendered = 384 << 10

// idPrefix begins every id in rendered text, so that a heading cannot replace an
// element of the page.
const idPrefix = "md-"

// Renderer converts a skill's Markdown to HTML without scripts, forms or requests.
type Renderer struct {
	md    goldmark.Markdown
	slots chan struct{} // limits concurrent rendering
}

// New returns a renderer.
func New() *Renderer {
	return &Renderer{
		slots: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
		md: goldmark.New(
			goldmark.WithExtensions(
				extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
				extension.Strikethrough, extension.TaskList, extension.Linkify,
			),
			goldmark.WithParserOptions(parser.WithAutoHeadingID()),
			goldmark.WithRendererOptions(
				nodes.WithNodeRenderers(util.Prioritized(literal{}, 1)),
				html.WithXHTML(),
			),
		),
	}
}

// renderWait is how long a page waits for a free slot. After that it shows the source.
const renderWait = time.Second

// Messages of a page that shows the source instead of rendered text.
const (
	tooMuch = "This text is too long, nested too deep, or has too many marks or links to be rendered."
	tooBusy = "Other texts are being rendered, and this one did not wait for them. Load the page again to see it rendered."
)

// Text is rendered Markdown.
type Text struct {
	HTML     template.HTML
	Headings []Heading // in the order of the text, at most [maxContents]
	Code     []string  // the distinct inline codes, at most [maxContents]
}

// Heading is a heading of a text. ID is the id of its element.
type Heading struct {
	Level    int
	ID, Text string
}

// maxContents is the maximum number of headings and of inline codes in a [Text].
const maxContents = 100

// Render converts Markdown to HTML. If the text is too long or too expensive, or the
// server is busy, it returns the reason in whyNot.
func (m *Renderer) Render(ctx context.Context, source string, links Links) (out Text, whyNot string) {
	if len(source) > maxRendered || hostile(source) {
		return Text{}, tooMuch
	}
	ctx, cancel := context.WithTimeout(ctx, renderWait)
	defer cancel()
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return Text{}, tooBusy
	}
	data := []byte(source)
	doc := m.md.Parser().Parse(text.NewReader(data))
	out.Headings, out.Code = headingsOf(doc, data), codeOf(doc, data)
	if !rewrite(doc, data, links) {
		return Text{}, tooMuch
	}
	var b markup
	if err := m.md.Renderer().Render(&b, data, doc); err != nil {
		return Text{}, tooMuch
	}
	clean := sanitize(b.String())
	clean = strings.NewReplacer("<table>", `<div class="scroll" tabindex="0"><table>`, "</table>", "</table></div>").Replace(clean)
	out.HTML = template.HTML(clean) // sanitize passes only the elements in its table
	return out, ""
}

// headingsOf returns the headings of a document that are not in a quote or a list.
func headingsOf(doc ast.Node, source []byte) (all []Heading) {
	for n := doc.FirstChild(); n != nil && len(all) < maxContents; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		id, _ := h.AttributeString("id")
		name, _ := id.([]byte)
		if words := strings.Join(strings.Fields(wordsOf(h, source)), " "); words != "" && isID(idPrefix+string(name)) {
			all = append(all, Heading{h.Level, idPrefix + string(name), words})
		}
	}
	return all
}

// wordsOf returns the text of a node without its markup. It omits HTML, which a list of headings
// does not show as text.
func wordsOf(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			words := n.Value(source)
			if !inCode(n) { // character references and escapes are literal in code
				words = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(words)))
			}
			b.Write(words)
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// codeOf returns the inline codes of a document.
func codeOf(doc ast.Node, source []byte) (all []string) {
	seen := map[string]bool{}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || n.Kind() != ast.KindCodeSpan {
			return ast.WalkContinue, nil
		}
		if code := wordsOf(n, source); len(all) < maxContents && !seen[code] {
			seen[code] = true
			all = append(all, code)
		}
		return ast.WalkSkipChildren, nil
	})
	return all
}

func inCode(n ast.Node) bool { return n.Parent() != nil && n.Parent().Kind() == ast.KindCodeSpan }

// Limits of the Markdown that is parsed. The parser's time for emphasis and links grows with the
// square of the marks in a paragraph. Its time for quotes and lists grows with the marks at the
// beginning of a line. Among 3,389 real Markdown files of skills, the sum of these squares is at
// most 55,000, as hostile computes it, and a line begins with at most 42 marks.
//
// A row of a table is padded to the number of cells in the header. So the size of a table grows
// with the product of rows and columns. None of the same files has more than 2,651 cells, counted
// this way.
const (
	maxMarks  = 10_000_000
	maxOpen   = 64
	maxCells  = 100_000
	maxMarkup = 8 << 20 // bytes of rendered HTML, for texts that the other limits miss
	// maxHeadings is the maximum number of lines that make a heading. Each costs about
	// 20 µs.
	maxHeadings = 10_000
)

// markup is a buffer for rendered HTML with a maximum size.
type markup struct{ bytes.Buffer }

func (m *markup) Write(p []byte) (int, error) {
	if m.Len()+len(p) > maxMarkup {
		return 0, errLong
	}
	return m.Buffer.Write(p)
}

var errLong = errors.New("more markup than a page shows")

// hostile reports whether parsing the text would take seconds. No text written for
// readers is that expensive.
func hostile(source string) bool {
	total, marks := 0, 0
	cells, columns, rows := 0, 0, 0
	headings := 0
	for line := range strings.Lines(source) {
		if util.IsBlank([]byte(line)) { // like the parser: only a blank line ends a paragraph or a table
			total += marks * marks
			cells += columns * rows
			marks, columns, rows = 0, 0, 0
			continue
		}
		if countMarks(line) > maxOpen {
			return true
		}
		if heads(line) {
			headings++
		}
		columns, rows = max(columns, strings.Count(line, "|")), rows+1
		for i := range len(line) {
			switch c := line[i]; c {
			case '*', '_', '~':
				if i == 0 || line[i-1] != c {
					marks++
				}
			case '[':
				marks++
			}
		}
	}
	return total+marks*marks > maxMarks || cells+columns*rows > maxCells || headings > maxHeadings
}

// heads reports whether a line may turn itself or the line above into a heading.
func heads(line string) bool {
	line = strings.TrimLeft(line, " >")
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "=") || strings.HasPrefix(line, "-") && strings.Trim(line, "- \t\r\n") == ""
}

// countMarks counts the quote and list marks at the beginning of a line. A line of one
// repeated mark is a rule or the underline of a heading.
func countMarks(line string) (n int) {
	line = strings.TrimRight(line, " \t\r\n")
	if strings.Trim(line, "- \t") == "" || strings.Trim(line, "* \t") == "" {
		return 0
	}
	for i := range len(line) {
		switch c := line[i]; {
		case strings.IndexByte(">-+*", c) >= 0, (c == '.' || c == ')') && i > 0 && line[i-1] >= '0' && line[i-1] <= '9':
			n++
		case c != ' ' && c != '\t' && (c < '0' || c > '9'):
			return n
		}
	}
	return n
}

// literal shows raw HTML, including comments, as text, so that readers see the same text as an
// agent.
type literal struct{}

// RegisterFuncs registers renderers for raw HTML and code.
func (literal) RegisterFuncs(r nodes.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			segments := n.(*ast.RawHTML).Segments
			_, _ = w.WriteString(`<code class="raw">`)
			writeSegments(w, source, segments)
			_, _ = w.WriteString(`</code>`)
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			b := n.(*ast.HTMLBlock)
			_, _ = w.WriteString(`<pre class="raw" tabindex="0"><code>`)
			writeSegments(w, source, b.Lines())
			if b.HasClosure() {
				_, _ = w.Write(util.EscapeHTML(b.ClosureLine.Value(source)))
			}
			_, _ = w.WriteString("</code></pre>\n")
		}
		return ast.WalkSkipChildren, nil
	})
	code := func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(`<pre tabindex="0"><code>`)
			writeSegments(w, source, n.Lines())
			_, _ = w.WriteString("</code></pre>\n")
		}
		return ast.WalkSkipChildren, nil
	}
	r.Register(ast.KindCodeBlock, code)
	r.Register(ast.KindFencedCodeBlock, code)
}

func writeSegments(w util.BufWriter, source []byte, lines *text.Segments) {
	for i := range lines.Len() {
		s := lines.At(i)
		_, _ = w.Write(util.EscapeHTML(s.Value(source)))
	}
}
