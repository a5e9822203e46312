package tool

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"
)

// FuzzQuery checks for any query and limit that the pages together have each found skill
// once, that all of them exist, and that no page fails.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"", "adds numbers", "\x00", "ﬁ ǅ ß İ", "a a a a a a a a a a", "skill://x", "\u202e", "🧮", "-", "*", "name:calculator"} {
		f.Add(q, 3)
	}
	f.Add("skill", -1)
	f.Add("skill", 1<<40)
	files := map[string]string{}
	for i := range 12 {
		name := fmt.Sprintf("skill-%02d", i)
		files[name+"/SKILL.md"] = md(name, []string{"Adds numbers", "Größe & Maß", "Runs a query: SELECT *"}[i%3])
	}
	h := hostOf(f, project(files))
	find := findSkills()
	f.Fuzz(func(t *testing.T, query string, limit int) {
		if !utf8.ValidString(query) {
			t.Skip("JSON carries none")
		}
		seen := map[string]bool{}
		cursor := ""
		for page := 0; ; page++ {
			if page > len(files)+1 {
				t.Fatalf("%q, limit %d: no end of pages", query, limit)
			}
			args := map[string]any{"query": query, "limit": limit}
			if cursor != "" {
				args["cursor"] = cursor
			}
			in, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			r, err := find.Call(t.Context(), h, in)
			if err != nil {
				t.Fatal(err)
			}
			if r.IsError {
				if limit >= 1 && limit <= findLimit {
					t.Fatalf("%q, limit %d: %s", query, limit, r.Text)
				}
				return
			}
			page := readAnswer(r.Text)
			for _, s := range page.skills {
				if seen[s.uri] || files[s.name+"/SKILL.md"] == "" {
					t.Fatalf("%q: %s is found twice, or is none", query, s.uri)
				}
				seen[s.uri] = true
			}
			if limit >= 1 && len(page.skills) > limit {
				t.Fatalf("%q: %d skills, limit %d", query, len(page.skills), limit)
			}
			if cursor = page.cursor; cursor == "" {
				if len(seen) != page.total {
					t.Fatalf("%q: %d of %d skills in all pages", query, len(seen), page.total)
				}
				return
			}
		}
	})
}
