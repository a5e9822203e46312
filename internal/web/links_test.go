package web

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/skill"
)

// memory is a source of the skills a and b, which are in memory.
type memory struct{}

func (memory) Root() skill.Root { return skill.Root{Label: "r", Prefix: "r"} }

func (memory) Scan(context.Context) (skill.Scan, error) {
	var s skill.Scan
	for _, name := range []string{"a", "b"} {
		files := fstest.MapFS{
			"SKILL.md": {Data: []byte("---\nname: " + name + "\ndescription: D.\n---\n")}, ".env": {Data: []byte("x")}, "a/.git/x": {Data: []byte("x")}, "seen": {Data: []byte("x")},
		}
		s.Bundles = append(s.Bundles, &skill.Bundle{Path: name, Entry: "SKILL.md", FS: files, Stamp: skill.Stamp{Size: 1}})
	}
	return s, nil
}

// here returns a file of the skill a, from which links are resolved.
func here(t testing.TB, file string) *textFile {
	t.Helper()
	c := catalog.New([]catalog.Source{memory{}}, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &textFile{view: v, e: v.Named("a"), file: file}
}

// TestInside checks that a link reaches only a skill of the view and its files.
func TestInside(t *testing.T) {
	at := here(t, "docs/x.md")
	for link, want := range map[string]string{
		"y.md": "/skills/r/a/docs/y.md", "../z z.md": "/skills/r/a/z%20z.md", "../SKILL.md": "/skills/r/a/", "..": "/skills/r/a/",
		"../../b/SKILL.md": "/skills/r/b/", "../../b": "/skills/r/b/", "../../b/docs/y.md": "/skills/r/b/docs/y.md", "skill://r/b/SKILL.md": "/skills/r/b/", "skill://r/b/y.md": "/skills/r/b/y.md",
		"../../none/SKILL.md": "", "../../../x": "", "../../../r/b/SKILL.md": "/skills/r/b/", "../../../../etc/passwd": "", "a\\..\\..\\..\\b": "", "skill://r/../x": "", "skill:///x": "",
		"skill://r/none": "", "skill://r/b/../../x": "",
	} {
		u := &url.URL{Path: link}
		if rest, ok := strings.CutPrefix(link, "skill://"); ok {
			u = &url.URL{Scheme: "skill"}
			u.Host, u.Path, _ = strings.Cut(rest, "/")
			u.Path = "/" + u.Path
		}
		if got := at.inside(u); got.Href != want {
			t.Errorf("%q leads to %q, want %q", link, got.Href, want)
		}
	}
	if len(at.linked) != 1 || at.linked[0].Name != "b" {
		t.Errorf("the other skills are %v", at.linked)
	}
}

// TestHidden checks that dot files are never read, even if a source has them.
func TestHidden(t *testing.T) {
	at := here(t, "SKILL.md")
	for _, file := range []string{".env", "a/.git/x"} {
		if data, err := readFile(t.Context(), at.view, at.e, file); err == nil {
			t.Errorf("%s is %q", file, data)
		}
	}
	if data, err := readFile(t.Context(), at.view, at.e, "seen"); err != nil || string(data) != "x" {
		t.Errorf("%q %v", data, err)
	}
}

// TestUnfiltered checks that the list without a filter follows the check of the skills.
func TestUnfiltered(t *testing.T) {
	v := here(t, "SKILL.md").view
	sh, e := newShelf(v), v.Named("a")
	for _, c := range []struct {
		summary judgement.Summary
		fine    int
	}{{judgement.Summary{Status: e.Status, Severities: judgement.Severities{Warnings: 1}}, 0}, {judgement.Summary{Status: e.Status}, 0}, {judgement.Summary{Status: e.Status, Judged: true}, 1}} {
		by, err := sh.unfiltered(t.Context(), v, &doctor.Totals{Summaries: map[*catalog.Entry]*judgement.Summary{e: &c.summary}})
		if fine := by.n[byState][stateNumber(judgement.Fine)]; err != nil || fine != c.fine || len(by.entries) != 2 {
			t.Errorf("%d of %d are fine, %v", fine, len(by.entries), err)
		}
	}
}

// turning is a folder whose file has other bytes each time it is opened.
type turning struct{ opens *atomic.Int64 }

func (f turning) Open(name string) (fs.File, error) {
	return fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: a\ndescription: D.\n---\n")}, "x.txt": {Data: fmt.Appendf(nil, "%04d", f.opens.Add(1))}}.Open(name)
}

func (turning) Root() skill.Root { return skill.Root{Label: "r", Prefix: "r"} }

func (f turning) Scan(context.Context) (skill.Scan, error) {
	return skill.Scan{Bundles: []*skill.Bundle{{Path: "a", Entry: "SKILL.md", FS: f, Stamp: skill.Stamp{Size: 1}}}}, nil
}

// TestZipIsWhole checks that no archive has a file that changed while it was made.
func TestZipIsWhole(t *testing.T) {
	c := catalog.New([]catalog.Source{turning{new(atomic.Int64)}}, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	New(Options{Catalog: c}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/zip/r/a", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "changed while it was packed") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
