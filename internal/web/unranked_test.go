package web_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/net/html"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/web"
	"github.com/knack-dev/knack/skill"
)

// slow is a source whose disk does not answer while held is set. The search index, which needs the
// headings, is then not built.
type slow struct {
	files fstest.MapFS
	gate  *atomic.Pointer[chan struct{}]
}

func (s slow) Root() skill.Root { return skill.Root{Label: "slow", Scope: skill.ScopeProject} }

func (s slow) Scan(context.Context) (skill.Scan, error) {
	var scan skill.Scan
	for name := range s.files {
		folder := path.Dir(name)
		sub, err := fs.Sub(s, folder)
		if err != nil {
			return scan, err
		}
		info, err := fs.Stat(s.files, name)
		if err != nil {
			return scan, err
		}
		scan.Bundles = append(scan.Bundles, &skill.Bundle{Path: folder, Entry: "SKILL.md", Stamp: skill.StampOf(info), FS: sub})
	}
	return scan, nil
}

func (s slow) Open(name string) (fs.File, error) {
	if gate := s.gate.Load(); gate != nil {
		<-*gate
	}
	return s.files.Open(name)
}

// TestSearchBeforeTheIndex checks that a page does not wait for the index. It shows the skills of
// the current snapshot that have the words, and says that they are not ranked. The API, which
// cannot say that, waits. With the index, the results of both are ranked.
func TestSearchBeforeTheIndex(t *testing.T) {
	skillText := func(name, description string) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "---\nname: %s\ndescription: %s\n---\n", name, description)}
	}
	source := slow{fstest.MapFS{
		"a/SKILL.md": skillText("a", "The TIDE in the harbour."), "b/SKILL.md": skillText("b", "Nothing."),
		"tide/SKILL.md": skillText("tide", "Tables."), "tide-broken/SKILL.md": {Data: []byte("---\nname: tide-broken\n---\n")},
	}, new(atomic.Pointer[chan struct{}])}
	c := catalog.New([]catalog.Source{source}, catalog.Options{})
	must(t, c.Refresh(t.Context()))
	gate := make(chan struct{})
	source.gate.Store(&gate)
	site := web.New(web.Options{Catalog: c})
	f := &fixture{t: t, catalog: c, site: site}
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	f.url = server.URL

	search := func(path string) (names string, unranked bool) {
		t.Helper()
		doc := f.page(path)
		for _, list := range all(doc, class("skills")) {
			for _, h := range all(list, tag("h2")) {
				names += strings.Fields(textOf(h))[0] + " "
			}
		}
		for _, a := range all(doc, tag("a")) {
			unranked = unranked || textOf(a) == "Search again" && attr(a, "href") == path
		}
		return names, unranked
	}
	if names, unranked := search("/?q=tide"); names != "tide tide-broken a " || !unranked {
		t.Errorf("without an index: %s, said to be unranked: %v", names, unranked)
	}
	if names, unranked := search("/"); strings.Count(names, " ") != 4 || unranked {
		t.Errorf("without a search: %s, said to be unranked: %v", names, unranked)
	}
	answered := make(chan int, 1)
	go func() {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/skills?q=tide", nil))
		answered <- strings.Count(w.Body.String(), `"name"`)
	}()
	select {
	case n := <-answered:
		close(gate)
		t.Fatalf("the API does not wait, and has %d skills", n)
	case <-time.After(200 * time.Millisecond): // twenty times as long as a page waits
	}
	close(gate)
	if n := <-answered; n != 2 {
		t.Errorf("the API has %d skills", n)
	}
	if names, unranked := search("/?q=tide"); names != "tide a tide-broken " || unranked {
		t.Errorf("with an index: %s, said to be unranked: %v", names, unranked)
	}
}

func textOf(n *html.Node) string { return strings.TrimSpace(text(n)) }
