package markdown

import (
	"math"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// minHidden is a length in bytes. A title, an alternative text or a YAML comment is searched for
// commands and instructions only if it is longer. A shorter text is a mere label.
const minHidden = 60

// maxNotice limits the bytes that are searched for the first line of a notice.
const maxNotice = 400

// hidden judges a text that people do not see. what describes the text in findings. A text of at
// most least bytes is searched only for phrases that override instructions or conceal acts.
func (m *page) hidden(p passage.Part, what string, least int) {
	if strings.TrimSpace(p.Text) == "" {
		return
	}
	for _, find := range []func(string) (from, to int, ok bool){words.Overriding, words.Concealing} {
		if from, to, ok := find(p.Text); ok {
			m.noteHidden(p.File)
			find := m.Find
			if words.Quoted(p.Text, from, to) && asksNothingBeside(p.Text, from, to) {
				find = m.Look
			}
			find(passage.HiddenOverride, p, from, to, what+" says "+secrets.Quote(p.Around(from, to)))
			return
		}
	}
	if len(p.Text) <= least {
		return
	}
	asks, from, to := asking(p.Text)
	noted := len(p.Text) < minHidden || m.noted
	if asks == "" && noted || reNotice().MatchString(p.Text[:min(len(p.Text), maxNotice)]) {
		return
	}
	m.noteHidden(p.File)
	if asks != "" {
		m.Find(passage.HiddenText, p, from, to, what+" has "+asks+": "+secrets.Quote(p.Around(from, to)))
	}
}

// reNotice matches the first line of a licence, a line that credits a source, and the directives of
// tools that check or generate Markdown.
var reNotice = lazyregexp.New(`(?i)^\s*(?:[^\n]{0,100}\b(?:copyright|licen[sc]ed?|spdx|sources?|sourced|based on|adapted|derived|credits?|attribution|cc by|generated)\b|` +
	`\W{0,10}(?:markdownlint|prettier|eslint|vale|textlint|cspell|toc|doctoc|yaml-language-server|mdformat|remark)\b)`)

// noteHidden records that a file has text that is not displayed.
func (m *page) noteHidden(f *passage.File) {
	m.noted = true
	m.Fact(passage.FactHidden, f.Path)
}

// asking finds a request in a hidden text: a URL, a command or an instruction. what is the kind of
// the request, or "" if there is none, and from and to are its range.
func asking(text string) (what string, from, to int) {
	if from := strings.Index(text, "://"); from >= 0 {
		if from, to := addressAt(text, from); to > from {
			return "a URL", from, to
		}
	}
	if from, to, ok := commandIn(text, false); ok {
		return "a command", from, to
	}
	if from, to, ok := words.Instruction(text); ok {
		return "an instruction", from, to
	}
	return "", 0, 0
}

// asksNothingBeside reports whether a text makes no request outside the given range of bytes.
func asksNothingBeside(text string, from, to int) bool {
	for _, rest := range [...]string{text[:from], text[to:], text[:from] + "x" + text[to:]} {
		if asks, _, _ := asking(rest); asks != "" || words.Overrides(rest) {
			return false
		}
	}
	return true
}

// attribute judges the title or the alternative text of a link or an image. pos is the offset of
// the link or image.
func (m *page) attribute(value []byte, pos int, what string) {
	if len(value) == 0 {
		return
	}
	pos = max(pos, 0)
	near := m.p.Text[pos:min(len(m.p.Text), pos+maxNear)]
	if n := strings.Index(near, string(value)); n >= 0 {
		m.hidden(m.linesOf(pos+n, pos+n+len(value)), what, minHidden)
		return
	}
	m.hidden(m.p.With(string(value), pos), what, minHidden)
}

// maxNear limits the distance in bytes between the beginning of a link and its title or text.
const maxNear = 4 << 10

// linesOf returns a range of the page as a part.
func (m *page) linesOf(from, to int) passage.Part {
	var c passage.Copy
	c.Add(m.p, from, to)
	return c.Part(m.p)
}

// reference judges the definition of a link, which is never rendered. Many definitions are
// comments, such as "[//]: # (text)".
func (m *page) reference(n *ast.LinkReferenceDefinition) {
	pos := n.Pos()
	least := minHidden
	if d := string(n.Destination); d == "#" || d == "" {
		least = 0
	}
	for _, text := range [][]byte{n.Title, n.Label, n.Destination} {
		if !strings.ContainsAny(string(text), " \t\n") {
			continue // a name or an address
		}
		near := m.p.Text[max(pos, 0):min(len(m.p.Text), max(pos, 0)+maxNear)]
		if at := strings.Index(near, string(text)); at >= 0 {
			m.hidden(m.linesOf(pos+at, pos+at+len(text)), "a definition of a link", least)
			continue
		}
		m.hidden(m.p.With(string(text), max(pos, 0)), "a definition of a link", least)
	}
}

// void lists the elements without an end tag. Such an element cannot hide the text after it.
var void = words.Set{Rows: "area base br col embed hr img input link meta source track wbr"}

// unshown lists the elements whose text is not displayed.
var unshown = words.Set{Rows: "script style template title datalist"}

// elements reads a piece of HTML: its texts, its comments, and the elements that hide their
// content.
func (m *page) elements(q passage.Part) {
	at := 0
	if m.comment {
		end := strings.Index(q.Text, "-->")
		if end < 0 {
			m.unseen.Add(q, 0, len(q.Text))
			return
		}
		m.unseen.Add(q, 0, end)
		m.comment, at = false, end+len("-->")
	}
	for z := (pieces{rest: q.Text[at:]}); ; {
		p := z.next()
		from := at
		at += p.size
		switch p.kind {
		case textPiece:
			if p.size == 0 {
				return
			}
			m.prose(q, from, at)
		case comment:
			m.note(q, from, at)
			m.comment = strings.HasPrefix(q.Text[from:at], "<!--") && !p.closed
		case startTag:
			m.separateBlock(q, p.name, from)
			m.start(p, q, from)
		case endTag:
			if n := len(m.open); n > 0 && m.open[n-1] == p.name {
				m.open = m.open[:n-1]
			}
			m.separateBlock(q, p.name, from)
		}
	}
}

// inline lists the elements within a line of text. A word can continue after the tag of such an
// element.
var inline = words.Set{Rows: "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q ruby s samp small span strike strong sub sup time tt u var wbr"}

// separateBlock writes a space at the tag of a block element, since such a tag separates words.
func (m *page) separateBlock(q passage.Part, name string, at int) {
	if !inline.Has(name) {
		m.out().Write(" ", q.Offset(at))
	}
}

// note judges a comment in HTML.
func (m *page) note(q passage.Part, from, to int) {
	text := q.Text[from:to]
	inner := strings.TrimLeft(text, "<!-")
	from += len(text) - len(inner)
	to -= len(inner) - len(strings.TrimRight(inner, "->"))
	if from < to {
		var c passage.Copy
		c.Add(q, from, to)
		m.hidden(c.Part(q), "a comment", 0)
	}
}

// start reads the start tag of an element.
func (m *page) start(p piece, q passage.Part, from int) {
	hides := unshown.Has(p.name)
	for _, a := range p.attributes {
		hides = hides || isHiding(a.key, a.value)
		what, least := "an attribute", math.MaxInt
		switch a.key {
		case "title":
			what, least = "a title", minHidden
		case "alt":
			what, least = "an alternative text", minHidden
		case "href", "src":
			if m.out() == &m.visible {
				m.links = append(m.links, link{a.value, m.visible.Len(), m.visible.Len()})
			}
			continue
		case "style", "class", "d", "id":
			continue
		}
		if a.value != "" {
			m.hidden(q.With(a.value, from), what, least)
		}
	}
	if void.Has(p.name) {
		return
	}
	if n := len(m.open); hides || n > 0 && m.open[n-1] == p.name {
		m.open = append(m.open, p.name)
	}
}
