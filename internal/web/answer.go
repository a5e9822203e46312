package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
)

//go:embed assets
var assetFiles embed.FS

//go:embed templates
var templateFiles embed.FS

// asset is one static file that the pages load: a style sheet, a script or an icon.
type asset struct {
	data       []byte
	href, kind string
}

// loadAssets gives each static file an address that changes with its content, so that
// browsers can cache it indefinitely.
func loadAssets() map[string]asset {
	all := map[string]asset{}
	err := fs.WalkDir(assetFiles, "assets", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := assetFiles.ReadFile(p)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		name := path.Base(p)
		all[name] = asset{data, "/assets/" + hex.EncodeToString(sum[:6]) + "/" + name, assetTypes[path.Ext(name)]}
		return nil
	})
	if err != nil {
		panic(err) // the files are embedded in the binary
	}
	return all
}

var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

func (s *Site) asset(r *request) error {
	a, ok := s.assets[path.Base(r.URL.Path)]
	if !ok || a.href != r.URL.Path {
		return problem(http.StatusNotFound, "There is no such file.")
	}
	r.w.Header().Set("Content-Type", a.kind)
	r.w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return answer(r, http.StatusOK, a.data)
}

// parsePages parses one template for each page, with the shared frame around it.
func parsePages(assets map[string]asset) map[string]*template.Template {
	base := template.New("").Funcs(template.FuncMap{
		"asset": func(name string) string { return assets[name].href },
		"bytes": bytesOf, "count": countOf, "times": timesOf, "date": dateOf, "inc": func(i int) int { return i + 1 }, "plural": plural,
	})
	base = template.Must(base.ParseFS(templateFiles, "templates/frame.html", "templates/parts.html"))
	pages := map[string]*template.Template{}
	for _, name := range []string{"home", "skill", "file", "health", "connect", "usage", "error", "skipped", "signin"} {
		pages[name] = template.Must(template.Must(base.Clone()).ParseFS(templateFiles, "templates/"+name+".html"))
	}
	return pages
}

// render writes a complete page. If the template fails, it writes nothing.
func (s *Site) render(r *request, status int, name string, page any) error {
	var b bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&b, "frame", page); err != nil {
		return err
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if s.byCookie(r) {
		r.w.Header().Set("Cache-Control", "no-store") // the back button must show no page after sign-out
	}
	return answer(r, status, visiblePage(b.Bytes()))
}

// visiblePage replaces invisible characters with their code points. These are characters that
// change the text direction, join letters or are not displayed. It works on the whole rendered
// page, so that it misses no text of a skill or a query.
func visiblePage(page []byte) []byte {
	text := string(page)
	if display.Visible(text, display.CodePoint) == text { // the usual case
		return page
	}
	var b strings.Builder
	inTitle := false // title cannot contain other elements
	for text != "" {
		at := strings.IndexByte(text, '<')
		if at < 0 {
			at = len(text)
		}
		spell := markUnseen
		if inTitle {
			spell = display.CodePoint
		}
		b.WriteString(display.Visible(text[:at], spell))
		text = text[at:]
		end := strings.IndexByte(text, '>') + 1 // a ">" in an attribute value is escaped
		if end == 0 {
			end = len(text)
		}
		b.WriteString(display.Visible(text[:end], display.CodePoint))
		inTitle = strings.HasPrefix(text, "<title>")
		text = text[end:]
	}
	return []byte(b.String())
}

func markUnseen(r rune) string { return `<span class="unseen">` + display.CodePoint(r) + `</span>` }

func answer(r *request, status int, data []byte) error {
	r.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	r.w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = r.w.Write(data) // a write error means that the client has gone
	}
	return nil
}

// answerJSON encodes v and writes it with an ETag. A client that sends the same tag
// gets status 304.
func answerJSON(r *request, v any) error {
	b, err := rawjson.Marshal(v)
	if err != nil {
		return err
	}
	return answerTagged(r, "application/json", append(display.AppendVisibleJSON(nil, b), '\n'))
}

// answerTagged writes data with an ETag, or status 304 if the client already has that
// tag.
func answerTagged(r *request, kind string, data []byte) error {
	return answerKept(r, kind, tagOf(data))
}

// tagged is content with its ETag.
type tagged struct {
	data []byte
	tag  string
}

func tagOf(data []byte) tagged {
	sum := sha256.Sum256(data)
	return tagged{data, `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// answerKept is [answerTagged] for content whose tag is already computed.
func answerKept(r *request, kind string, t tagged) error {
	h := r.w.Header()
	if r.lacks == nil {
		h.Set("ETag", t.tag)
	}
	if r.lacks == nil && holds(r.Header.Values("If-None-Match"), t.tag) {
		r.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", kind)
	return answer(r, http.StatusOK, t.data)
}

func holds(lists []string, tag string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
				return true
			}
		}
	}
	return false
}

// problemObject is the JSON form of an error response (RFC 9457).
type problemObject struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func writeProblem(r *request, f *failure) {
	data, _ := json.Marshal(problemObject{titleOf(f.status), f.status, f.say})
	r.w.Header().Set("Content-Type", mime.FormatMediaType("application/problem+json", nil))
	_ = answer(r, f.status, append(display.AppendVisibleJSON(nil, data), '\n'))
}
