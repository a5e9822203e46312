package web_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/analysis/judgement"
)

// TestUnlisted checks that a skill of an excluded root is in no list, unless the page
// requests such skills. Its page says so, and so do home, health and the API.
func TestUnlisted(t *testing.T) {
	f := open(t, map[string]string{
		"one/git/SKILL.md":     "---\nname: git\ndescription: Work with branches. Use when asked.\n---\n",
		"three/away/SKILL.md":  "---\nname: away\ndescription: Is excluded. Use when asked.\n---\n",
		"three/wrong/SKILL.md": "---\nname: wrong\n---\n",
	})
	const href, word = "/skills/three/away/", "can still be loaded by name"
	names := func(path string) (out []string) {
		for _, n := range all(f.page(path), tag("h2")) {
			for _, a := range all(n, tag("a")) {
				out = append(out, attr(a, "href"))
			}
		}
		return out
	}
	if got := names("/"); slices.Contains(got, href) || !slices.Contains(got, "/skills/one/git/") {
		t.Errorf("home lists %q", got)
	}
	for _, path := range []string{"/?state=unlisted", "/?state=unlisted&q=away"} {
		if got := names(path); !slices.Equal(got, []string{href}) {
			t.Errorf("%s lists %q", path, got)
		}
	}
	for _, path := range []string{"/", "/health"} {
		if got := text(f.page(path)); !strings.Contains(got, word) {
			t.Errorf("%s does not say that a skill %s", path, word)
		}
	}
	page := text(f.page(href + "?view=problems"))
	for _, want := range []string{"away unlisted", "no: its root is excluded, and no list has its skills"} {
		if !strings.Contains(page, want) {
			t.Errorf("the skill's page does not say %q:\n%s", want, page)
		}
	}
	if got := text(f.page("/health")); !strings.Contains(got, "Not published Hosts") {
		t.Errorf("health counts it as one that is not published:\n%s", got)
	}
	var list struct {
		Total  int
		Skills []struct {
			Name      string
			State     judgement.State
			Published bool
		}
	}
	for path, want := range map[string]string{"/api/v1/skills": "git", "/api/v1/skills?state=unlisted": "away"} {
		must(t, json.Unmarshal([]byte(f.get(path).body), &list))
		if list.Total != 1 || list.Skills[0].Name != want || want == "away" && (list.Skills[0].Published || list.Skills[0].State != judgement.Unlisted) {
			t.Errorf("%s: %+v", path, list)
		}
	}
}
