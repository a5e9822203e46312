package markdown

import (
	"bytes"
	"net/url"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// Links resolves a link to a file of this site: a skill URI, or a path relative to the text. It
// ignores the fragment of the link.
type Links func(u *url.URL) Inside

// Inside is a file on this site, or the zero value if the site has none.
type Inside struct {
	Href, Raw string // addresses of its page and of its bytes; Raw may be empty
	File      string // path in the skill
}

// Limits of link destinations. A link definition is written once, but its destination
// and title are processed and written for every link that uses it. Of 3,389 real
// Markdown files of skills, none has more than 4,900 bytes of them.
const (
	maxLinked      = 1 << 20
	maxDestination = 2 << 10 // of one link; longer destinations are dropped
)

// rewrite points links at pages of this site, marks external links and removes unusable ones. It
// returns false if the links exceed the limits of a page.
//
// The text of an image is an attribute, and HTML has no links in links. So the content of an image
// is reduced to its text, and so is an external image in a link.
func rewrite(doc ast.Node, source []byte, links Links) bool {
	type part struct {
		ast.Node
		inImage, inLink bool
	}
	var found []part
	linked, inImage, inLink := 0, 0, 0 // the last two count the images and links around a node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		step, size := -1, 0
		if entering {
			step = 1
			switch n.Kind() {
			case ast.KindLink, ast.KindImage, ast.KindAutoLink, ast.KindHeading:
				found = append(found, part{n, inImage > 0, inLink > 0})
			}
		}
		switch n := n.(type) {
		case *ast.Link:
			inLink += step
			size = len(n.Destination) + len(n.Title)
		case *ast.Image:
			inImage += step
			size = len(n.Destination) + len(n.Title)
		}
		if entering {
			linked += size
		}
		return ast.WalkContinue, nil
	})
	if linked > maxLinked {
		return false
	}
	written := 0 // an address on this server may be longer than the destination in the text
	for _, p := range found {
		if written > maxMarkup {
			return false
		}
		switch n := p.Node.(type) {
		case *ast.Heading:
			if id, ok := n.AttributeString("id"); ok {
				if b, ok := id.([]byte); ok {
					n.SetAttributeString("id", append([]byte(idPrefix), b...))
				}
			}
		case *ast.AutoLink:
			t := links.target(string(n.URL(source)))
			if !p.inImage && (n.AutoLinkType == ast.AutoLinkEmail || t.kind == outside) {
				n.SetAttributeString("class", []byte("out"))
				n.SetAttributeString("rel", []byte(outsideRel))
			} else {
				swap(n, ast.NewString(bytes.Clone(n.Label(source))))
			}
		case *ast.Link:
			if p.inImage {
				dissolve(n)
				continue
			}
			t := links.target(string(n.Destination))
			t.lead(n)
			written += len(t.href)
		case *ast.Image:
			t := links.target(string(n.Destination))
			switch picture := t.kind == inside && Picture(t.file) != ""; {
			case p.inImage, p.inLink && !picture:
				dissolve(n)
				continue
			case picture:
				n.Destination = []byte(t.raw)
			default:
				t.lead(asLink(n))
			}
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

// adopt moves the children of n below parent.
func adopt(parent, n ast.Node) {
	for n.HasChildren() {
		parent.AppendChild(parent, n.FirstChild())
	}
}

// unwrap replaces a link by its text, marked as a dead link.
func unwrap(n ast.Node) {
	em := ast.NewEmphasis(1)
	em.SetAttributeString("class", []byte("nowhere"))
	adopt(em, n)
	em.AppendChild(em, sign(" (a link that leads nowhere from here)"))
	swap(n, em)
}

// imageSign returns a mark after the text of an image.
func imageSign() ast.Node { return ast.NewString([]byte(" [image]")) }

// dissolve replaces a link or image with its text.
func dissolve(n ast.Node) {
	for n.HasChildren() {
		n.Parent().InsertBefore(n.Parent(), n, n.FirstChild())
	}
	if n.Kind() == ast.KindImage {
		n.Parent().InsertBefore(n.Parent(), n, imageSign())
	}
	n.Parent().RemoveChild(n.Parent(), n)
}

// asLink replaces an image with a link to it, since a page sends no requests to other servers.
func asLink(n *ast.Image) *ast.Link {
	link := ast.NewLink()
	link.Destination = n.Destination
	adopt(link, n)
	link.AppendChild(link, imageSign())
	swap(n, link)
	return link
}

// lead points a link at its target and marks external links. It unwraps a dead link.
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

// target returns the destination of a link.
func (links Links) target(dest string) target {
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
	case "":
		if u.Host != "" || strings.HasPrefix(u.Path, "/") {
			return target{}
		}
		if u.Path == "" {
			if u.Fragment == "" {
				return target{}
			}
			return target{kind: inside, href: "#" + idPrefix + u.EscapedFragment()}
		}
	default:
		return target{}
	}
	to := links(u)
	if to.Href == "" {
		return target{}
	}
	if u.Fragment != "" {
		to.Href += "#" + idPrefix + u.EscapedFragment()
	}
	return target{inside, to.Href, to.Raw, to.File}
}

// pictures maps file extensions to the media types of the images that pages show. SVG
// is not included, because it is a document that may contain scripts.
var pictures = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
}

// Picture returns the media type of an image that may be shown, or "".
func Picture(file string) string { return pictures[strings.ToLower(path.Ext(file))] }
