package web

import (
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/web/internal/markdown"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

type filePage struct {
	frame
	Skill          row
	RootHref       string // address of the list of the root's skills
	Path, Folder   string
	URI            string
	Href, RawHref  string
	Size           int64
	Digest         string
	Encoding       string
	Picture        bool
	Binary         bool
	Rendered, Text bool // the available views
	Body           template.HTML
	Plain          string // why Markdown is shown as text although the client did not ask for the source
	Source         source
}

// file shows one file of a skill as rendered Markdown, text or an image. A binary file
// has no view.
func (s *Site) file(r *request, v catalog.View, e *catalog.Entry, file string) error {
	data, err := readFile(r.Context(), v, e, file)
	if err != nil {
		f, ok := err.(*failure)
		if !ok || f.status != http.StatusNotFound {
			return err
		}
		if busy := limit.Reserve(r.Context(), skill.FolderMemory); busy != nil {
			return busy // the name may be a folder's
		}
		if isFolder(r, v, e, file) {
			return redirect(r, pageOf(e)+"?view="+viewFiles)
		}
		return err
	}
	uri, err := e.FileURI(file)
	if err != nil {
		return problem(http.StatusNotFound, "The skill has no such file.")
	}
	p := filePage{
		frame: s.frame(r, file+" · "+nameOf(e), "home"), Skill: rowOf(v, e, nil), RootHref: filter{Root: e.Root.Label}.href(), Path: file, Folder: path.Dir(file), URI: uri.String(),
		Href: "/skills/" + escapedPath(uri), RawHref: "/raw/" + escapedPath(uri), Size: int64(len(data)), Digest: skill.DigestOf(data).String(),
	}
	if kind := markdown.Picture(file); kind != "" && http.DetectContentType(data) == kind {
		p.Picture = true
		return s.render(r, http.StatusOK, "file", p)
	}
	text, encoding, ok := asText(data)
	if !ok {
		p.Binary = true
		return s.render(r, http.StatusOK, "file", p)
	}
	p.Encoding, p.Text = encoding, true
	if isMarkdown(file) {
		if r.URL.Query().Get("view") != viewSource {
			body := text
			if path.Base(file) == skill.MainFile && encoding == "utf-8" {
				body = text[frontmatter.Parse(data).Body:]
			}
			out, plain := s.markdown.Render(r.Context(), body, (&textFile{view: v, e: e, file: file}).inside)
			p.Body, p.Plain = out.HTML, plain
			p.Rendered = p.Plain == ""
		}
	}
	if !p.Rendered {
		if p.Source, err = sourceOf(r, text, p.RawHref); err != nil {
			return err
		}
	}
	return s.render(r, http.StatusOK, "file", p)
}

// isFolder reports whether the skill has a file below dir.
func isFolder(r *request, v catalog.View, e *catalog.Entry, dir string) bool {
	found, err := catalog.Await(r.Context(), v, e, func() bool {
		files, _, _ := e.List(r.Context(), 2*skill.MaxFiles)
		for _, f := range files {
			if strings.HasPrefix(f.Path, dir+"/") {
				return true
			}
		}
		return false
	})
	return err == nil && found
}

// IsMarkdown reports whether the file is Markdown text, so that the page offers a
// rendered view.
func (p filePage) IsMarkdown() bool { return isMarkdown(p.Path) && p.Text }
