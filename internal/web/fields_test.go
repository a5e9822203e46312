package web_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestFields checks that an answer has exactly the requested properties.
func TestFields(t *testing.T) {
	f := open(t, files)
	for address, want := range map[string]string{
		"/api/v1/skills?q=secret&fields=published,name":         `{"skills":[{"name":"secret","published":true}],"fields":["name","published"],"total":1}`,
		"/api/v1/skills?state=skipped&fields=load,name,by,size": `{"skills":[{"name":"lost","size":19}],"fields":["name","load","size","by"],"total":1}`,
		"/.well-known/agent-skills/index.json?fields=name":      `{"$schema":"https://schemas.agentskills.io/discovery/0.2.0/schema.json","skills":[{"name":"git"},{"name":"same"},{"name":"secret"}],"fields":["name"]}`,
	} {
		a := f.get(address)
		if diff := cmp.Diff(want+"\n", a.body); diff != "" || a.status != 200 {
			t.Errorf("%s: %d: -want +got\n%s", address, a.status, diff)
		}
		if whole := f.get(strings.Split(address, "fields=")[0]); whole.header.Get("ETag") == a.header.Get("ETag") {
			t.Errorf("%s: has the tag of the whole answer", address)
		}
	}
	// With every field the index has the same skills as without.
	var whole, all struct{ Skills []map[string]string }
	for address, into := range map[string]any{"": &whole, "?fields=name,type,description,url,digest": &all} {
		must(t, json.Unmarshal([]byte(f.get("/.well-known/agent-skills/index.json"+address).body), into))
	}
	if diff := cmp.Diff(whole, all); diff != "" || len(all.Skills) != 3 {
		t.Errorf("-without +with\n%s", diff)
	}
}

// TestAPIFilters checks the filters and orders of the list, which are the same as on
// pages.
func TestAPIFilters(t *testing.T) {
	f := open(t, shelves)
	for query, want := range map[string][]string{
		"?collection=acme": {"anchor", "harbour"}, "?tag=plan": {"harbour"}, "?rule=name-folder": {"Solo Skill"}, "?published=no": {"Solo Skill"},
		"?sort=tokens": {"harbour", "anchor", "wrench", "Solo Skill"}, "?collection=none": {}, "?rule=name-folder&tag=plan": {},
	} {
		var page struct{ Skills []struct{ Name string } }
		must(t, json.Unmarshal([]byte(f.get("/api/v1/skills"+query).body), &page))
		var got []string
		for _, s := range page.Skills {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestEverythingIsDescribed checks that the document describes every property and parameter.
func TestEverythingIsDescribed(t *testing.T) {
	var doc struct {
		Paths      map[string]map[string]struct{ Parameters []map[string]any }
		Components struct{ Schemas, Parameters map[string]map[string]any }
	}
	must(t, json.Unmarshal([]byte(open(t, files).get("/api/v1/openapi.json").body), &doc))
	described := func(schema map[string]any) bool {
		if ref, ok := schema["$ref"].(string); ok && schema["description"] == nil {
			name := ref[strings.LastIndexByte(ref, '/')+1:]
			if schema = doc.Components.Schemas[name]; schema == nil {
				schema = doc.Components.Parameters[name]
			}
		}
		text, _ := schema["description"].(string)
		return strings.HasSuffix(text, ".")
	}
	properties := 0
	var walk func(at string, value any)
	walk = func(at string, value any) {
		schema, ok := value.(map[string]any)
		if !ok {
			return
		}
		below, _ := schema["properties"].(map[string]any)
		for name, p := range below {
			if p, ok := p.(map[string]any); ok {
				if properties++; !described(p) && at != "Skill.if" {
					t.Errorf("%s.%s is not described", at, name)
				}
			}
		}
		for name, v := range schema {
			if name != "properties" {
				walk(at+"."+name, v)
			}
		}
		for name, v := range below {
			walk(at+"."+name, v)
		}
	}
	for name, schema := range doc.Components.Schemas {
		if !described(schema) {
			t.Errorf("%s is not described", name)
		}
		walk(name, schema)
	}
	for path, methods := range doc.Paths {
		for _, p := range methods["get"].Parameters {
			if !described(p) {
				t.Errorf("%s: the parameter %v is not described", path, p["name"])
			}
		}
	}
	if properties < 60 {
		t.Errorf("%d properties", properties)
	}
}

// TestClients runs the clients of doc/api.md unchanged, with a token and without.
func TestClients(t *testing.T) {
	testwait.Slow(t)
	page, err := os.ReadFile("../../doc/api.md")
	must(t, err)
	_, page, _ = bytes.Cut(page, []byte("\n## Clients\n"))
	code := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```(sh|python|js)\n(.*?)```").FindAllSubmatch(page, -1) {
		code[string(m[1])] = string(m[2])
	}
	many := maps.Clone(files)
	for i := range 60 { // more than a page
		name := "x" + strings.Repeat("y", i)
		many["one/"+name+"/SKILL.md"] = "---\nname: " + name + "\ndescription: d\n---\n"
	}
	f := open(t, many)
	v := f.view()
	var want []string
	for _, e := range v.Entries {
		if e.Status != catalog.Skipped {
			want = append(want, v.Called(e)+" "+e.Digest.String())
		}
	}
	slices.Sort(want)
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer a token" {
			http.Error(w, `{"detail":"no token"}`, http.StatusUnauthorized)
			return
		}
		f.site.ServeHTTP(w, r)
	}))
	t.Cleanup(locked.Close)
	for language, run := range map[string][]string{"sh": {"sh", "-s"}, "python": {"python3", "-"}, "js": {"node", "--input-type=module", "-"}} {
		t.Run(language, func(t *testing.T) {
			for _, needed := range append([]string{run[0]}, map[string][]string{"sh": {"curl", "jq"}}[language]...) {
				if _, err := exec.LookPath(needed); err != nil {
					if os.Getenv("CI") != "" {
						t.Fatal(err)
					}
					t.Skip(err)
				}
			}
			client := func(url, token string) ([]string, error) {
				cmd := exec.CommandContext(t.Context(), run[0], run[1:]...)
				cmd.Stdin = strings.NewReader(code[language])
				cmd.Env = append(os.Environ(), "KNACK_URL="+url, "KNACK_TOKEN="+token)
				out, err := cmd.Output()
				lines := strings.Split(strings.TrimSpace(string(out)), "\n")
				slices.Sort(lines)
				return lines, err
			}
			for url, token := range map[string]string{f.url: "", locked.URL: "a token"} {
				got, err := client(url, token)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("with the token %q: %v: -want +got\n%s", token, err, diff)
				}
			}
			if got, err := client(locked.URL, ""); err == nil {
				t.Errorf("without a token the client succeeds: %q", got)
			}
		})
	}
}
