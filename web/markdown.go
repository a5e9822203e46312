package web

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"net/url"
	"path"
	"runtime"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	nodes "github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/web/internal/gfm"
)

// maxRendered is the maximum size of Markdown that is rendered, in bytes; longer text
// is shown as source. The longest real SKILL.md of 145,005 has 294 kB.
const maxRendered = 384 << 10

// idPrefix begins every id in rendered text, so that a heading cannot replace an
// element of the page.
const idPrefix = "md-"

// renderer converts a skill's Markdown to HTML that cannot do anything.
type renderer struct {
	md    goldmark.Markdown
	slots chan struct{} // limits concurrent rendering
}

func newRenderer() *renderer {
	return &renderer{
		slots: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
		md: goldmark.New(
			goldmark.WithExtensions(gfm.Extension{}),
			goldmark.WithParserOptions(parser.WithAutoHeadingID()),
			goldmark.WithRendererOptions(
				nodes.WithNodeRenderers(util.Prioritized(literal{}, 1)),
				html.WithXHTML(),
			),
		),
	}
}

// place is the file that contains a text. Relative links start from it.
type place struct {
	view catalog.View
	e    *catalog.Entry
	file string
}

// renderWait is how long a page waits for a free slot. After that it shows the source.
const renderWait = time.Second

// Messages of a page that shows the source instead of rendered text.
const (
	tooMuch = "This text is too long, nested too deep, or has too many marks or links to be rendered."
	tooBusy = "Other texts are being rendered, and this one did not wait for them. Load the page again to see it rendered."
)

// render converts Markdown to HTML. If the text is too long or too expensive, or the
// server is busy, it returns the reason in whyNot.
func (m *renderer) render(ctx context.Context, source string, at place) (out template.HTML, whyNot string) {
	if len(source) > maxRendered || hostile(source) {
		return "", tooMuch
	}
	ctx, cancel := context.WithTimeout(ctx, renderWait)
	defer cancel()
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return "", tooBusy
	}
	data := []byte(source)
	doc := m.md.Parser().Parse(text.NewReader(data))
	if !rewrite(doc, data, at) {
		return "", tooMuch
	}
	var b markup
	if err := m.md.Renderer().Render(&b, data, doc); err != nil {
		return "", tooMuch
	}
	clean := sanitize(b.String())
	clean = strings.NewReplacer("<table>", `<div class="scroll" tabindex="0"><table>`, "</table>", "</table></div>").Replace(clean)
	return template.HTML(clean), "" // sanitize passes only what its table allows
}

// Limits of the Markdown that is parsed. The parser's time for emphasis and links grows
// with the square of the marks in a paragraph. Its time for quotes and lists grows with
// the marks at the beginning of a line. Of 3,389 real Markdown files of skills, none
// has more than 55,000 of the first (as counted by hostile) or 42 of the second.
//
// A row of a table is padded to the number of cells in the header. So the size of a
// table grows with the product of rows and columns. None of the same files has more
// than 2,651 cells, counted this way.
const (
	maxMarks  = 10_000_000
	maxOpen   = 64
	maxCells  = 100_000
	maxMarkup = 8 << 20 // bytes; limits any other growth
	// maxHeadings is the maximum number of lines that make a heading. Each costs about
	// 20 µs.
	maxHeadings = 10_000
)

// Limits of link destinations. A link definition is written once, but its destination
// and title are processed and written for every link that uses it. None of the same
// files has more than 4,900 bytes of them.
const (
	maxLinked      = 1 << 20
	maxDestination = 2 << 10 // of one link; longer destinations are dropped
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
		if util.IsBlank([]byte(line)) { // as the parser does: only such a line ends a paragraph or a table
			total += marks * marks
			cells += columns * rows
			marks, columns, rows = 0, 0, 0
			continue
		}
		if opened(line) > maxOpen {
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

// heads reports whether a line may make a heading, of itself or of the line above.
func heads(line string) bool {
	line = strings.TrimLeft(line, " >")
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "=") || strings.HasPrefix(line, "-") && strings.Trim(line, "- \t\r\n") == ""
}

// opened counts the quote and list marks at the beginning of a line. A line of one
// repeated mark is a rule or the underline of a heading.
func opened(line string) (n int) {
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

// rewrite points links at pages of this site, marks external links and removes unusable
// ones. It returns false if the links exceed the limits of a page.
func rewrite(doc ast.Node, source []byte, at place) bool {
	var found []ast.Node
	linked := 0
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n.Kind() {
			case ast.KindLink, ast.KindImage, ast.KindAutoLink, ast.KindHeading:
				found = append(found, n)
			}
			switch n := n.(type) {
			case *ast.Link:
				linked += len(n.Destination) + len(n.Title)
			case *ast.Image:
				linked += len(n.Destination) + len(n.Title)
			}
		}
		return ast.WalkContinue, nil
	})
	if linked > maxLinked {
		return false
	}
	written := 0 // an address on this server may be longer than the destination in the text
	for _, n := range found {
		if written > maxMarkup {
			return false
		}
		switch n := n.(type) {
		case *ast.Heading:
			if id, ok := n.AttributeString("id"); ok {
				if b, ok := id.([]byte); ok {
					n.SetAttributeString("id", append([]byte(idPrefix), b...))
				}
			}
		case *ast.AutoLink:
			t := at.target(string(n.URL(source)))
			if n.AutoLinkType == ast.AutoLinkEmail || t.kind == outside {
				n.SetAttributeString("class", []byte("out"))
				n.SetAttributeString("rel", []byte(outsideRel))
			} else {
				swap(n, ast.NewString(bytes.Clone(n.Label(source))))
			}
		case *ast.Link:
			t := at.target(string(n.Destination))
			t.lead(n)
			written += len(t.href)
		case *ast.Image:
			t := at.target(string(n.Destination))
			t.show(n)
			written += len(t.href) + len(t.raw)
		}
	}
	return true
}

const outsideRel = "noopener noreferrer nofollow"

// sign returns a text for screen readers, which do not show how a link is styled.
func sign(words string) ast.Node {
	s := ast.NewString([]byte(`<span class="sr">` + words + `</span>`))
	s.SetRaw(true)
	s.SetCode(true)
	return s
}

func swap(old, with ast.Node) { old.Parent().ReplaceChild(old.Parent(), old, with) }

// unwrap replaces a link with its text, marked as a link that leads nowhere.
func unwrap(n ast.Node) {
	em := ast.NewEmphasis(1)
	em.SetAttributeString("class", []byte("nowhere"))
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		em.AppendChild(em, c)
		c = next
	}
	em.AppendChild(em, sign(" (a link that leads nowhere from here)"))
	swap(n, em)
}

// show points an image at a picture of the skill. An external image becomes a link,
// since a page must not send requests to other servers.
func (t target) show(n *ast.Image) {
	if t.kind == inside && picture(t.file) != "" {
		n.Destination = []byte(t.raw)
		return
	}
	link := ast.NewLink()
	link.Destination = n.Destination
	for c := n.FirstChild(); c != nil; {
		next := c.NextSibling()
		link.AppendChild(link, c)
		c = next
	}
	link.AppendChild(link, ast.NewString([]byte(" [image]")))
	swap(n, link)
	t.lead(link)
}

// lead points a link at its target and marks external links. It unwraps a link that
// leads nowhere.
func (t target) lead(link *ast.Link) {
	switch t.kind {
	case inside:
		link.Destination = []byte(t.href)
	case outside:
		link.SetAttributeString("class", []byte("out"))
		link.SetAttributeString("rel", []byte(outsideRel))
		link.AppendChild(link, sign(" (leads elsewhere)"))
	case nowhere:
		unwrap(link)
	}
}

type kind int

const (
	nowhere kind = iota // a script, a local file of the reader or a path outside the skill
	inside
	outside
)

// target is the destination of a link.
type target struct {
	kind      kind
	href, raw string // on this site, if kind is inside
	file      string // path in the skill
}

func (p place) target(dest string) target {
	if len(dest) > maxDestination {
		return target{}
	}
	// Decode references as a browser does: a scheme may be written with character
	// references.
	resolved := util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations([]byte(dest))))
	u, err := url.Parse(strings.TrimSpace(string(resolved)))
	if err != nil {
		return target{}
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host != "" {
			return target{kind: outside}
		}
		return target{}
	case "mailto":
		return target{kind: outside}
	case "skill":
		uri, err := skill.ParseURI(strings.TrimSuffix((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String(), "/"))
		if err != nil {
			return target{}
		}
		if e, file := p.view.At(uri); e != nil {
			return (place{p.view, e, skill.MainFile}).to(file, u.EscapedFragment())
		}
		return target{}
	case "":
	default:
		return target{}
	}
	if u.Host != "" || strings.HasPrefix(u.Path, "/") {
		return target{}
	}
	if u.Path == "" {
		if u.Fragment == "" {
			return target{}
		}
		return target{kind: inside, href: "#" + idPrefix + u.EscapedFragment(), file: p.file}
	}
	return p.to(path.Join(path.Dir(p.file), u.Path), u.EscapedFragment())
}

// to returns the target of a file of the skill. No URI has a path that leaves the
// skill.
func (p place) to(file, fragment string) target {
	href := pageOf(p.e)
	raw := ""
	if file != "." && file != skill.MainFile {
		uri, err := p.e.FileURI(file)
		if err != nil {
			return target{}
		}
		href, raw = "/skills/"+escapedPath(uri), "/raw/"+escapedPath(uri)
	}
	if fragment != "" {
		href += "#" + idPrefix + fragment
	}
	return target{inside, href, raw, file}
}

// literal shows raw HTML, including comments, as text, so that readers see what an
// agent reads.
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
