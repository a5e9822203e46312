package web

import (
	"bytes"
	"net/http"
	"path"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/internal/web/internal/markdown"
	"github.com/knack-dev/knack/skill"
)

// isMarkdown reports whether the file name has a Markdown extension.
func isMarkdown(file string) bool {
	ext := strings.ToLower(path.Ext(file))
	return ext == ".md" || ext == ".markdown" || ext == ".mdx"
}

// asText decodes a file as text. ok is false if it is not text.
func asText(data []byte) (text, encoding string, ok bool) {
	if bytes.IndexByte(data, 0) >= 0 && !bytes.HasPrefix(data, []byte("\xff\xfe")) && !bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return "", "", false
	}
	return display.Decode(data)
}

// escapedPath returns a URI without its scheme, as used after /skills/ and /raw/.
func escapedPath(u skill.URI) string { return strings.TrimPrefix(u.String(), skill.Scheme) }

// pageOf returns the address of a skill's page. Skipped skills have a page below
// /health/.
func pageOf(e *catalog.Entry) string {
	if e.Status == catalog.Skipped {
		return "/health/" + anchorOf(e)
	}
	return "/skills/" + strings.TrimSuffix(escapedPath(e.URI()), skill.MainFile)
}

// anchorOf returns the identifier of a skipped skill below /health/.
func anchorOf(e *catalog.Entry) string {
	d := skill.DigestOf([]byte(e.Root.Label + "\x00" + e.Path)).String()
	return "skipped-" + d[len(d)-12:]
}

// addressed finds the skill and the file that a request's path names after prefix. If
// the view does not have the skill, addressed looks for it on disk and updates v.
func (s *Site) addressed(v *catalog.View, r *request, prefix string) (*catalog.Entry, string, error) {
	rest := strings.TrimSuffix(strings.TrimPrefix(r.URL.EscapedPath(), prefix), "/")
	httpguard.EventOf(r.Request).Asked = skill.Scheme + rest
	uri, err := skill.ParseURI(skill.Scheme + rest)
	if err != nil {
		return nil, "", problem(http.StatusNotFound, "This address names no skill.")
	}
	now, e, file, unsure := s.host.At(r.Context(), *v, uri)
	if *v = now; e == nil {
		return nil, "", absent(unsure, "No skill has this address: it may have been renamed or removed.")
	}
	return e, file, nil
}

// raw returns the bytes of a file as an image, plain text or a download, so that no
// browser executes them.
func (s *Site) raw(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	e, file, err := s.addressed(&v, r, "/raw/")
	if err != nil {
		return err
	}
	return s.rawFile(r, v, e, file)
}

func (s *Site) rawFile(r *request, v catalog.View, e *catalog.Entry, file string) error {
	data, err := readFile(r.Context(), v, e, file)
	if err != nil {
		return err
	}
	h := r.w.Header()
	h.Set("Content-Security-Policy", rawPolicy)
	kind := "application/octet-stream"
	if _, encoding, ok := asText(data); ok {
		kind = "text/plain; charset=" + strings.TrimSuffix(strings.TrimSuffix(encoding, "le"), "be")
	}
	if p := markdown.Picture(file); p != "" && http.DetectContentType(data) == p {
		kind = p
	}
	if kind == "application/octet-stream" {
		h.Set("Content-Disposition", "attachment")
	}
	return answerTagged(r, kind, data)
}
