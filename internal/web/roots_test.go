package web_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/web"
)

// rooted returns a site with three roots. "one" has skills and a finding of its scan, "two" has a
// skill and is then replaced by a file, and "three" is a file.
func rooted(t *testing.T) (c *catalog.Catalog, site *web.Site) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{
		"one/git/SKILL.md": "---\nname: git\ndescription: Branches.\n---\n", "one/hidden/SKILL.md": "---\nname: hidden\ndescription: d\n---\n",
		"one/near/SKILLS.md": "---\nname: near\ndescription: d\n---\n",
		"two/away/SKILL.md":  "---\nname: away\ndescription: d\n---\n", "three": "a file",
	})
	c = catalog.New([]catalog.Source{folder(dir, "one"), folder(dir, "two"), folder(dir, "three")}, catalog.Options{})
	must(t, c.Refresh(t.Context()))
	must(t, os.Rename(filepath.Join(dir, "two"), filepath.Join(dir, "gone")))
	must(t, os.WriteFile(filepath.Join(dir, "two"), nil, 0o644))
	must(t, c.Refresh(t.Context()))
	return c, web.New(web.Options{Catalog: c})
}

// TestRootUp checks that the metrics distinguish a root that is read from one that is
// not, also for a client that the rules let see every skill.
func TestRootUp(t *testing.T) {
	_, site := rooted(t)
	every, err := access.ParsePattern("skill://**")
	must(t, err)
	prometheus := access.NewPolicy(false, []access.Rule{{Allow: []access.Pattern{every}}}).Filter(access.Subject{})
	for name, ctx := range map[string]context.Context{"no rules": t.Context(), "rules": catalog.WithFilter(t.Context(), prometheus)} {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil).WithContext(ctx))
		for _, want := range []string{`knack_root_up{root="one"} 1`, `knack_root_up{root="two"} 0`, `knack_root_up{root="three"} 0`} {
			if !strings.Contains(w.Body.String(), want+"\n") {
				t.Errorf("%s: no %s in\n%s", name, want, w.Body.String())
			}
		}
	}
}

// TestNoticesOfRootsStayHidden checks that only clients that see all skills see notices
// and errors of roots. These name skills that other clients may not see.
func TestNoticesOfRootsStayHidden(t *testing.T) {
	_, site := rooted(t)
	ask := func(path, deny string) string {
		ctx := t.Context()
		if deny != "" {
			p, err := access.ParsePattern(deny)
			must(t, err)
			ctx = catalog.WithFilter(ctx, access.NewPolicy(true, []access.Rule{{Deny: []access.Pattern{p}}}).Filter(access.Subject{}))
		}
		for range 1000 {
			w := httptest.NewRecorder()
			site.ServeHTTP(w, httptest.NewRequest("GET", path, nil).WithContext(ctx))
			if w.Code != 503 {
				return w.Body.String()
			}
		}
		t.Fatalf("%s: never", path)
		return ""
	}
	secrets := []string{"SKILLS.md", "not a folder"}
	for _, path := range []string{"/health", "/api/v1/problems"} {
		whole := ask(path, "")
		for _, s := range secrets {
			if !strings.Contains(whole, s) {
				t.Errorf("%s does not say %q to one who sees all:\n%s", path, s, whole)
			}
		}
		for _, deny := range []string{"skill://one/hidden", "skill://one/**"} {
			part := ask(path, deny)
			for _, s := range secrets {
				if strings.Contains(part, s) {
					t.Errorf("%s says %q to one who may not see %s", path, s, deny)
				}
			}
			if deny == "skill://one/**" && strings.Contains(part, `one`+`<`) {
				t.Errorf("%s names a root of which nothing is seen", path)
			}
		}
	}
}
