package web

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/web/internal/markdown"
	"github.com/knack-dev/knack/skill"
)

// textFile is the file whose text is rendered. Relative links in the text are resolved against it.
type textFile struct {
	view catalog.View
	e    *catalog.Entry
	file string
	// linked collects the other skills that the text links to.
	linked []*catalog.Entry
}

// inside resolves a link in the text. The link may lead to a skill, to a file of the same skill or,
// by a path that leaves the skill's folder, to a file of another skill. Only skills of the view are
// reachable.
func (p *textFile) inside(u *url.URL) markdown.Inside {
	var uri skill.URI
	var err error
	if u.Scheme == "" {
		file := path.Join(path.Dir(p.file), u.Path)
		if file != ".." && !strings.HasPrefix(file, "../") {
			return to(p.e, file)
		}
		uri, err = skill.NewURI(path.Join(p.e.Base(), file))
	} else {
		uri, err = skill.ParseURI(strings.TrimSuffix((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String(), "/"))
	}
	if err != nil {
		return markdown.Inside{}
	}
	e, file := p.view.At(uri)
	if e == nil {
		return markdown.Inside{}
	}
	if e != p.e && !slices.Contains(p.linked, e) {
		p.linked = append(p.linked, e)
	}
	return to(e, file)
}

// to returns the addresses of a file of a skill. They are empty for a path that leaves the skill.
func to(e *catalog.Entry, file string) markdown.Inside {
	if file == "." || file == skill.MainFile {
		return markdown.Inside{Href: pageOf(e), File: file}
	}
	uri, err := e.FileURI(file)
	if err != nil {
		return markdown.Inside{}
	}
	return markdown.Inside{Href: "/skills/" + escapedPath(uri), Raw: "/raw/" + escapedPath(uri), File: file}
}

// minContents is the minimum number of headings for which a page shows a list of them.
const minContents = 3

// contentsOf returns the headings for the list of contents: the two highest levels. It omits a
// title at the beginning if no other heading has its level. contentsOf returns nil for fewer than
// minContents headings.
func contentsOf(all []markdown.Heading) []markdown.Heading {
	if len(all) > 1 && all[0].Level == 1 && !slices.ContainsFunc(all[1:], func(h markdown.Heading) bool { return h.Level == 1 }) {
		all = all[1:]
	}
	high := 6
	for _, h := range all {
		high = min(high, h.Level)
	}
	var headings []markdown.Heading
	for _, h := range all {
		if h.Level -= high; h.Level < 2 {
			headings = append(headings, h)
		}
	}
	if len(headings) < minContents {
		return nil
	}
	return headings
}

// maxMentions is the maximum number of other skills that a page lists as mentioned.
const maxMentions = 20

// mentionsOf returns the other skills that a text links to, or names in code. It ignores a name
// without a hyphen in code, since that is usually a command.
func mentionsOf(at *textFile, code []string) (out []relative) {
	for _, name := range code {
		if !strings.Contains(name, "-") {
			continue
		}
		if e := at.view.Named(name); e != nil && e.Name == name && e.Key != at.e.Key && !slices.Contains(at.linked, e) {
			at.linked = append(at.linked, e)
		}
	}
	for _, e := range at.linked[:min(len(at.linked), maxMentions)] {
		out = append(out, relative{Href: pageOf(e), Place: nameOf(e)})
	}
	return out
}
