// Package markdown judges the rendered text, the hidden text and the commands of Markdown.
package markdown

import (
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/bound"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/commands"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Scan judges a Markdown file by its rendered text and its hidden text.
func Scan(r passage.Report, c *commands.Analyzer, p passage.Part) {
	m := &page{Report: r, commands: c, loads: isEntry(p.File.Path)}
	if _, body, ok := frontmatter.Cut([]byte(p.Text)); ok {
		begin := len(p.Text) - len(body)
		m.frontmatter(p, begin)
		p = p.Slice(begin, len(p.Text))
	}
	m.p = squeeze(p)
	if why := m.tooMuch(); why != "" {
		m.TooLarge(p.File.Path, why)
		m.plain()
		return
	}
	m.source = []byte(m.p.Text)
	m.blocks(markdownParser().Parse(text.NewReader(m.source)))
}

// page reads one Markdown file.
type page struct {
	passage.Report
	commands        *commands.Analyzer
	p               passage.Part
	source          []byte       // the bytes of p
	loads           bool         // the commands of the page run when the skill is loaded
	visible, unseen passage.Copy // the visible and the hidden text of the current block
	links           []link       // of the current block
	before          block        // the suspicious links of the previous block
	open            []string     // open elements that hide their content
	raw             bool         // the page is too large to parse
	noted           bool         // the fact that the file has hidden text is recorded
	comment         bool         // an HTML comment that began in an earlier piece is still open
}

// link is a link or a bare address in a text.
type link struct {
	url      string
	from, to int // the range of the link's text, or of the bare address
}

// maxBlank limits the consecutive blank lines that are kept. The parser needs memory for each.
const maxBlank = 2

// squeeze returns a part with long runs of blank lines shortened.
func squeeze(p passage.Part) passage.Part {
	if !strings.Contains(p.Text, "\n\n\n") && !strings.Contains(p.Text, "\r\n\r\n\r\n") {
		return p
	}
	var c passage.Copy
	at, from, blank := 0, 0, 0
	for line := range strings.Lines(p.Text) {
		if strings.Trim(line, "\r\n") != "" {
			if blank > maxBlank {
				from = at
			}
			blank = 0
		} else if blank++; blank == maxBlank {
			c.Write(p.Text[from:at+len(line)], p.Offset(from))
			from = at + len(line)
		}
		at += len(line)
	}
	if blank < maxBlank {
		c.Write(p.Text[from:], p.Offset(from))
	}
	return c.Part(p)
}

var markdownParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))
})

// blockParser parses only blocks, and not their inline content.
var blockParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...))
})

const tooLong = "its paragraphs are too long or have too many marks to be read as Markdown: it is read as plain text"

// tooMuch returns the reason not to parse a text, or "".
func (m *page) tooMuch() string {
	nodes, product, html := 0, 0, false
	length, inBlock := 0, 0 // since the last blank line
	var deep nesting
	for line := range strings.Lines(m.p.Text) {
		depth := deep.depth(line)
		if depth > bound.Quotes {
			return "its quotes or lists are nested too deep to be read as Markdown: it is read as plain text"
		}
		if len(line) > bound.Paragraph && strings.Contains(line, "<") {
			return tooLong
		}
		n := bound.Markdown.Marks(line)
		nodes += bound.MarkdownNodes(line, n, depth)
		if strings.TrimSpace(line) == "" {
			product += length * inBlock
			length, inBlock = 0, 0
			continue
		}
		inBlock += n
		length += len(line)
		html = html || length > bound.Paragraph && inBlock > 0
	}
	if nodes > bound.Markdown.Most() {
		return "it has too many lines or marks to be read as Markdown: it is read as plain text"
	}
	if product+length*inBlock <= bound.Product && !html {
		return ""
	}
	// Compute the product again without the marks in code, on which the parser spends no time.
	product, html = 0, false
	source := []byte(m.p.Text)
	_ = ast.Walk(blockParser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n.(type) {
		case *ast.Paragraph, *ast.TextBlock, *ast.Heading, *ast.HTMLBlock:
		default:
			return ast.WalkContinue, nil
		}
		length, inBlock := 0, 0
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			length += line.Len()
			inBlock += bound.Markdown.Marks(m.p.Text[line.Start:line.Stop])
		}
		if n.Kind() != ast.KindHTMLBlock {
			product += length * inBlock
		}
		html = html || length > bound.Paragraph && inBlock > 0
		return ast.WalkSkipChildren, nil
	})
	if product > bound.Product || html {
		return tooLong
	}
	return ""
}

// nesting tracks the indentations of the open lists and quotes of a text.
type nesting []int

// depth estimates how many quotes and lists surround a line. The estimate is never too low.
func (n *nesting) depth(line string) int {
	marks := countMarks(line)
	if marks == 0 {
		return 0
	}
	indent := 0
	for indent < len(line) && (line[indent] == ' ' || line[indent] == '\t') {
		indent++
	}
	for k := len(*n); k > 0 && (*n)[k-1] >= indent; k-- {
		*n = (*n)[:k-1]
	}
	*n = append(*n, indent)
	return len(*n) + marks
}

// countMarks counts the marks of quotes and lists at the beginning of a line. A space must follow
// the mark of a list. A line that repeats one mark is a rule or the underline of a heading, so its
// marks do not count.
func countMarks(line string) (n int) {
	line = strings.TrimRight(line, " \t\r\n")
	if strings.Trim(line, "- \t") == "" || strings.Trim(line, "* \t") == "" {
		return 0
	}
	for i := range len(line) {
		switch c := line[i]; {
		case c == '>':
			n++
		case strings.IndexByte("-+*", c) >= 0, (c == '.' || c == ')') && i > 0 && line[i-1] >= '0' && line[i-1] <= '9':
			if i+1 < len(line) && line[i+1] != ' ' && line[i+1] != '\t' {
				return n
			}
			n++
		case c != ' ' && c != '\t' && (c < '0' || c > '9'):
			return n
		}
	}
	return n
}

// plain judges a text that is too large to parse. It judges the text as written, its comments, and
// the whole text as commands.
func (m *page) plain() {
	m.raw = true
	m.elements(m.p)
	m.end()
	m.commands.Shell(m.p, commands.Bare)
}

// blocks judges a node and its children.
func (m *page) blocks(n ast.Node) {
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = string(n.Info.Segment.Value(m.source))
		}
		m.fence(m.lines(n.Lines()), info)
	case *ast.CodeBlock:
		m.fence(m.lines(n.Lines()), "")
	case *ast.HTMLBlock:
		q := *n.Lines()
		if n.HasClosure() {
			q.Append(n.ClosureLine)
		}
		m.elements(m.lines(&q))
		m.end()
	case *ast.LinkReferenceDefinition:
		m.reference(n)
	case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
		inner := len(m.open)
		m.inlines(n)
		m.open = m.open[:min(inner, len(m.open))] // an element that was opened in a paragraph ends with the paragraph
		m.end()
		m.bareCommands(n)
	default:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			m.blocks(c)
		}
	}
}

// lines returns segments of the source as a part.
func (m *page) lines(segments *text.Segments) passage.Part {
	var c passage.Copy
	for i := range segments.Len() {
		c.Add(m.p, segments.At(i).Start, segments.At(i).Stop)
	}
	return c.Part(m.p)
}

// out returns the copy to which the current text belongs: the copy of the hidden or of the visible
// text.
func (m *page) out() *passage.Copy {
	if len(m.open) > 0 || m.comment {
		return &m.unseen
	}
	return &m.visible
}

// inlines reads the content of a paragraph.
func (m *page) inlines(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			m.prose(m.p, c.Segment.Start, c.Segment.Stop)
			if c.SoftLineBreak() || c.HardLineBreak() {
				m.out().Write("\n", m.p.Offset(c.Segment.Stop))
			}
		case *ast.CodeSpan:
			var code passage.Copy
			for t := c.FirstChild(); t != nil; t = t.NextSibling() {
				if t, ok := t.(*ast.Text); ok {
					code.Add(m.p, t.Segment.Start, t.Segment.Stop)
					m.out().Add(m.p, t.Segment.Start, t.Segment.Stop)
				}
			}
			m.inlineCode(code.Part(m.p), c)
		case *ast.AutoLink:
			m.out().Write(string(c.Label(m.source)), m.p.Offset(max(c.Pos(), 0)+1))
		case *ast.Link:
			from := m.out().Len()
			m.inlines(c)
			m.link(c.Destination, from)
			m.attribute(c.Title, c.Pos(), "a link's title")
		case *ast.Image:
			m.attribute(altOf(c, m.source), c.Pos(), "an alternative text")
			m.link(c.Destination, m.out().Len())
			m.attribute(c.Title, c.Pos(), "an image's title")
		case *ast.RawHTML:
			m.elements(m.lines(c.Segments))
		default:
			m.inlines(c)
		}
	}
}

// link records the address of a link whose text begins at an offset of the visible text.
func (m *page) link(destination []byte, from int) {
	if m.out() == &m.visible {
		m.links = append(m.links, link{string(util.UnescapePunctuations(destination)), from, m.visible.Len()})
	}
}

// prose copies bytes of a part as rendered: without the backslashes of escapes, and with character
// references resolved.
func (m *page) prose(p passage.Part, from, to int) {
	out := m.out()
	done := from
	if m.raw {
		out.Add(p, from, to)
		return
	}
	for i := from; i < to; {
		n := strings.IndexAny(p.Text[i:to], `\&`)
		if n < 0 {
			break
		}
		i += n
		end := i + 1
		switch {
		case p.Text[i] == '&':
			if char, size := reference(p.Text[i:to]); size > 0 {
				out.Add(p, done, i)
				out.Write(char, p.Offset(i))
				end = i + size
				done = end
			}
		case end < to && util.IsPunct(p.Text[end]):
			out.Add(p, done, i)
			done = end
			end++
		}
		i = end
	}
	out.Add(p, done, to)
}

// maxReference is the length of the longest character reference, such as &amp;.
const maxReference = 40

// reference returns the character for the character reference at the beginning of a text, and the
// length of the reference. The length is 0 if there is no reference.
func reference(text string) (char string, size int) {
	n := strings.IndexByte(text[:min(len(text), maxReference)], ';')
	if n < 0 {
		return "", 0
	}
	ref := []byte(text[:n+1])
	if out := util.ResolveEntityNames(util.ResolveNumericReferences(ref)); !slices.Equal(out, ref) {
		return string(out), n + 1
	}
	return "", 0
}

// altOf returns the alternative text of an image.
func altOf(n ast.Node, source []byte) (alt []byte) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			alt = append(alt, t.Segment.Value(source)...)
			if t.SoftLineBreak() {
				alt = append(alt, '\n')
			}
		} else {
			alt = append(alt, altOf(c, source)...)
		}
	}
	return alt
}

// end judges the block that was just read.
func (m *page) end() {
	visible, unseen := m.visible.Part(m.p), m.unseen.Part(m.p)
	links := m.links
	m.links = nil
	m.hidden(unseen, "a text that is not shown", 0)
	m.block(visible, links)
}
