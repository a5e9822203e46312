package web

import (
	"bytes"
	"net/url"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"github.com/knack-dev/knack/skill"
)

// Limits of link destinations. A link definition is written once, but its destination
// and title are processed and written for every link that uses it. Of 3,389 real
// Markdown files of skills, none has more than 4,900 bytes of them.
const (
	maxLinked      = 1 << 20
	maxDestination = 2 << 10 // of one link; longer destinations are dropped
)

// rewrite points links at pages of this site, marks external links and removes unusable
// ones. It returns false if the links exceed the limits of a page.
//
// The text of an image is an attribute, and HTML has no links in links. So what is in an
// image is reduced to its text, and so is an external image in a link.
func rewrite(doc ast.Node, source []byte, at place) bool {
	type part struct {
		ast.Node
		inImage, inLink bool
	}
	var found []part
	linked, images, links := 0, 0, 0 // images and links count those around a node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		step, size := -1, 0
		if entering {
			step = 1
			switch n.Kind() {
			case ast.KindLink, ast.KindImage, ast.KindAutoLink, ast.KindHeading:
				found = append(found, part{n, images > 0, links > 0})
			}
		}
		switch n := n.(type) {
		case *ast.Link:
			links += step
			size = len(n.Destination) + len(n.Title)
		case *ast.Image:
			images += step
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
			t := at.target(string(n.URL(source)))
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
			t := at.target(string(n.Destination))
			t.lead(n)
			written += len(t.href)
		case *ast.Image:
			t := at.target(string(n.Destination))
			switch shown := t.kind == inside && picture(t.file) != ""; {
			case p.inImage, p.inLink && !shown:
				dissolve(n)
				continue
			case shown:
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

// adopt moves the children of a node below another.
func adopt(parent, n ast.Node) {
	for n.HasChildren() {
		parent.AppendChild(parent, n.FirstChild())
	}
}

// unwrap replaces a link with its text, marked as a link that leads nowhere.
func unwrap(n ast.Node) {
	em := ast.NewEmphasis(1)
	em.SetAttributeString("class", []byte("nowhere"))
	adopt(em, n)
	em.AppendChild(em, sign(" (a link that leads nowhere from here)"))
	swap(n, em)
}

// imageSign returns what says that the text before it is that of an image.
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

// asLink replaces an image with a link to it. A page sends no requests to other servers.
func asLink(n *ast.Image) *ast.Link {
	link := ast.NewLink()
	link.Destination = n.Destination
	adopt(link, n)
	link.AppendChild(link, imageSign())
	swap(n, link)
	return link
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
