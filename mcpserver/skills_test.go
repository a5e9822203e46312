package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
)

// entry is a skill as the server sends it.
type entry struct {
	URI         string
	Frontmatter json.RawMessage
	Resources   []struct {
		URI, Digest string
		Size        int64
	}
}

type skillList struct {
	Skills     []entry
	NextCursor string
}

// checkEra checks that a result has the members of the modern era, or has none of them in the
// legacy era.
func checkEra(t *testing.T, era string, members map[string]json.RawMessage, ttl, scope string) {
	t.Helper()
	want := map[string]string{"resultType": `"complete"`, "ttlMs": ttl, "cacheScope": `"` + scope + `"`}
	for key, value := range want {
		got, there := members[key]
		if era == legacy && there {
			t.Errorf("legacy: %s is there: %s", key, got)
		}
		if era == modern && string(got) != value {
			t.Errorf("modern: %s is %s, want %s", key, got, value)
		}
	}
}

func TestListShapes(t *testing.T) {
	w := start(t, setting{})
	eachEra(t, w, func(t *testing.T, c *client) {
		var got skillList
		checkEra(t, c.era, c.result("skills/list", nil, &got), "30000", "public")
		var uris []string
		for _, s := range got.Skills {
			uris = append(uris, s.URI)
		}
		if diff := cmp.Diff(published, uris); diff != "" {
			t.Error(diff)
		}
		first := got.Skills[0]
		if want := `{"name":"a-first","description":"Has all.","license":"MIT","metadata":{"version":"1.0"}}`; string(first.Frontmatter) != want {
			t.Errorf("frontmatter %s", first.Frontmatter)
		}
		if want := `{"name":"d-types","description":"Types.","date":"2026-01-02","oct":12,"bin":"0b11","und":"1_000","float":1.10,"zed":{"b":1,"a":[1,null,true]}}`; string(got.Skills[4].Frontmatter) != want {
			t.Errorf("frontmatter %s", got.Skills[4].Frontmatter)
		}
		var files []string
		for _, r := range first.Resources {
			files = append(files, strings.TrimPrefix(r.URI, "skill://a-first/"))
			data, err := os.ReadFile(filepath.Join(shared, "a-first", filepath.FromSlash(unescape(t, strings.TrimPrefix(r.URI, "skill://a-first/")))))
			if err != nil || r.Size != int64(len(data)) || r.Digest != skill.DigestOf(data).String() {
				t.Errorf("%s: size %d, digest %s, %v", r.URI, r.Size, r.Digest, err)
			}
		}
		want := []string{
			"%2541.txt", "%C3%BCn%C3%AF%20%E2%98%83.md", "SKILL.md", "a+b=c,d;e@f!g'(h)~.txt", "crlf.txt", "data.bin", "empty-file.txt",
			"inner/SKILL.md", "inner/help.md", "odd%20name%20&%20%5Bx%5D%20%231%20100%25.txt", "scripts/run.sh", "templates/deep/t.md",
		}
		if diff := cmp.Diff(want, files); diff != "" {
			t.Error(diff)
		}
	})
}

func unescape(t *testing.T, s string) string {
	t.Helper()
	out, err := url.PathUnescape(s)
	must(t, err)
	return out
}

func TestGetEqualsList(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	eachEra(t, w, func(t *testing.T, c *client) {
		var all struct{ Skills []json.RawMessage }
		c.result("skills/list", nil, &all)
		for i, uri := range published {
			members := c.result("skills/get", map[string]any{"uri": uri}, nil)
			checkEra(t, c.era, members, "0", "public")
			if string(members["skill"]) != string(all.Skills[i]) {
				t.Errorf("%s differs:\n%s\n%s", uri, members["skill"], all.Skills[i])
			}
			if _, there := members["nextCursor"]; there {
				t.Errorf("%s: a cursor", uri)
			}
		}
	})
}

// TestPages checks the pages of 350 skills, of which one is removed and one added between two
// pages.
func TestPages(t *testing.T) {
	t.Parallel()
	w := start(t, setting{files: many(350)})
	eachEra(t, w, func(t *testing.T, c *client) {
		put(t, w.dir, map[string]string{"s-0300/SKILL.md": skillText("s-0300", "Again.")})
		_ = os.RemoveAll(filepath.Join(w.dir, "s-0300-new"))
		_ = w.catalog.Refresh(t.Context())
		var uris []string
		pages := 0
		for cursor := ""; ; {
			var got skillList
			params := map[string]any{}
			if cursor != "" {
				params["cursor"] = cursor
			}
			c.result("skills/list", params, &got)
			pages++
			for _, s := range got.Skills {
				uris = append(uris, s.URI)
			}
			if cursor = got.NextCursor; cursor == "" {
				break
			}
			if pages == 2 {
				_ = os.RemoveAll(filepath.Join(w.dir, "s-0300"))
				put(t, w.dir, map[string]string{"s-0300-new/SKILL.md": skillText("s-0300-new", "New.")})
				must(t, w.catalog.Refresh(t.Context()))
			}
		}
		if pages != 4 || len(uris) != 350 || !slices.IsSorted(uris) || len(slices.Compact(slices.Clone(uris))) != 350 {
			t.Errorf("%d pages, %d skills, sorted %v", pages, len(uris), slices.IsSorted(uris))
		}
		if slices.Contains(uris, "skill://s-0300/SKILL.md") || !slices.Contains(uris, "skill://s-0300-new/SKILL.md") {
			t.Error("the later pages are of the older snapshot")
		}
	})
}

// TestEncodings checks that every spelling of a URI leads to the same skill, and that none leads
// out of it.
func TestEncodings(t *testing.T) {
	w := start(t, setting{files: fixtures()})
	put(t, w.dir, map[string]string{"../outside.txt": "canary"})
	eachEra(t, w, func(t *testing.T, c *client) {
		for _, uri := range []string{
			"skill://a-first/SKILL.md", "SKILL://a-first/SKILL.md", "skill://%61-first/SKILL.md", "skill://a%2Dfirst/%53KILL.md", "skill://a%2dfirst/SKILL%2Emd",
		} {
			var got struct{ Skill entry }
			c.result("skills/get", map[string]any{"uri": uri}, &got)
			if got.Skill.URI != "skill://a-first/SKILL.md" {
				t.Errorf("%s: %s", uri, got.Skill.URI)
			}
		}
		for _, uri := range []string{
			"skill://a-first/../../outside.txt", "skill://a-first/%2e%2e/%2e%2e/outside.txt", "skill://a-first/..%2f..%2foutside.txt",
			"skill://a-first/%252e%252e/outside.txt", "skill://a-first/..\\outside.txt", "skill://a-first/..%5coutside.txt",
			"skill://a-first/.env", "skill://a-first/%2eenv", "skill://a-first/.git/config", "skill://a-first//SKILL.md", "skill://a-first/SKILL.md%00",
			"skill:///etc/passwd", "skill://user@a-first/SKILL.md", "skill://a-first/SKILL.md#x", "skill://a-first/./SKILL.md", "skill://a-first/\xff",
			"skill://a-first/%ff", "skill://a-first/%", "skill://", "skill:a-first", "C:\\x", "skill://a-first/C:/x", "",
		} {
			for _, method := range []string{"skills/get", "resources/directory/read", "resources/read"} {
				if m := c.call(method, map[string]any{"uri": uri}); m.code() != -32602 && (c.era == legacy || m.code() != -32020) {
					t.Errorf("%s %q: code %d, %s", method, uri, m.code(), m.Result)
				}
			}
		}
	})
}

func TestReadDirectory(t *testing.T) {
	w := start(t, setting{})
	type child struct {
		URI, Name, MIMEType, Description string
		Size                             int64
	}
	eachEra(t, w, func(t *testing.T, c *client) {
		dir := func(uri string) (out []child) {
			t.Helper()
			var got struct{ Resources []child }
			members := c.result("resources/directory/read", map[string]any{"uri": uri}, &got)
			checkEra(t, c.era, members, "0", "public")
			if string(members["resources"]) == "null" {
				t.Errorf("%s: null", uri)
			}
			return got.Resources
		}
		want := []child{
			{"skill://a-first/%2541.txt", "%41.txt", "text/plain", "", 1},
			{"skill://a-first/%C3%BCn%C3%AF%20%E2%98%83.md", "\u00fcn\u00ef \u2603.md", "text/markdown", "", 1},
			{"skill://a-first/SKILL.md", "a-first", "text/markdown", "Has all.", 93},
			{"skill://a-first/a+b=c,d;e@f!g'(h)~.txt", "a+b=c,d;e@f!g'(h)~.txt", "text/plain", "", 1},
			{"skill://a-first/crlf.txt", "crlf.txt", "text/plain", "", 6},
			{"skill://a-first/data.bin", "data.bin", "", "", 4},
			{"skill://a-first/empty", "empty", "inode/directory", "", 0},
			{"skill://a-first/empty-file.txt", "empty-file.txt", "text/plain", "", 0},
			{"skill://a-first/inner", "inner", "inode/directory", "", 0},
			{"skill://a-first/odd%20name%20&%20%5Bx%5D%20%231%20100%25.txt", "odd name & [x] #1 100%.txt", "text/plain", "", 3},
			{"skill://a-first/only-dots", "only-dots", "inode/directory", "", 0},
			{"skill://a-first/scripts", "scripts", "inode/directory", "", 0},
			{"skill://a-first/templates", "templates", "inode/directory", "", 0},
		}
		if diff := cmp.Diff(want, dir("skill://a-first")); diff != "" {
			t.Error(diff)
		}
		nested := []child{
			{"skill://a-first/inner/SKILL.md", "inner", "text/markdown", "Nested.", 0},
			{"skill://a-first/inner/help.md", "help.md", "text/markdown", "", 1},
		}
		nested[0].Size = int64(len(skillText("inner", "Nested.")))
		if diff := cmp.Diff(nested, dir("skill://a-first/inner")); diff != "" {
			t.Error(diff)
		}
		for _, empty := range []string{"skill://a-first/empty", "skill://a-first/only-dots"} {
			if got := dir(empty); len(got) != 0 {
				t.Errorf("%s: %v", empty, got)
			}
		}
		if got := dir("skill://i-lower"); len(got) != 1 || got[0].URI != "skill://i-lower/SKILL.md" {
			t.Errorf("another spelling: %v", got)
		}
		for _, uri := range []string{
			"skill://a-first/", "skill://a-first/crlf.txt", "skill://a-first/nothing", "skill://nothing", "skill://a-first/.git",
			"skill://a-first/SKILL.md", "skill://a-first/empty/..", "",
		} {
			if m := c.call("resources/directory/read", map[string]any{"uri": uri}); m.code() != -32602 {
				t.Errorf("%q: code %d", uri, m.code())
			}
		}
	})
}

func TestDirectoryPages(t *testing.T) {
	t.Parallel()
	w := start(t, setting{files: map[string]string{"big/SKILL.md": skillText("big", "Many files."), "big/f/0000.txt": "x"}})
	one := filepath.Join(w.dir, "big", "f", "0000.txt")
	for i := range 1099 { // hard links are quicker to make than files
		must(t, os.Link(one, filepath.Join(w.dir, "big", "f", fmt.Sprintf("%04d.txt", i+1))))
	}
	must(t, w.catalog.Refresh(t.Context()))
	c := w.dial(modern)
	n, pages := 0, 0
	for cursor := ""; ; {
		params := map[string]any{"uri": "skill://big/f"}
		if cursor != "" {
			params["cursor"] = cursor
		}
		var got struct {
			Resources  []struct{ URI string }
			NextCursor string
		}
		c.result("resources/directory/read", params, &got)
		n, pages = n+len(got.Resources), pages+1
		if cursor = got.NextCursor; cursor == "" {
			break
		}
	}
	if n != 1100 || pages != 3 {
		t.Errorf("%d files in %d pages", n, pages)
	}
	// With more than 512 files, the skill is not published, but its files can be read.
	m := c.call("skills/get", map[string]any{"uri": "skill://big/SKILL.md"})
	if m.code() != -32602 || !strings.Contains(m.Error.Message, "limits") {
		t.Errorf("skills/get: %d %s", m.code(), m.Result)
	}
	var got skillList
	if c.result("skills/list", nil, &got); len(got.Skills) != 0 {
		t.Errorf("listed: %v", got.Skills)
	}
	c.result("resources/read", map[string]any{"uri": "skill://big/f/0001.txt"}, nil)
}

// TestNeverAMixture rewrites a skill during requests for it, and checks that the frontmatter and
// the digest of SKILL.md are always of the same version.
func TestNeverAMixture(t *testing.T) {
	t.Parallel()
	w := start(t, setting{files: fixtures()})
	c := w.dial(modern)
	done := make(chan struct{})
	stopped := make(chan struct{})
	const versions = 50
	made := func(i int) string { return filepath.Join(w.dir, "b-crlf", fmt.Sprintf(".made%d", i%versions)) }
	for i := range versions {
		must(t, os.WriteFile(made(i), fmt.Appendf(nil, "---\nname: b-crlf\ndescription: Version %d.\n---\n", i), 0o644))
	}
	// Each version is written once and then hard-linked, since ext4 searches long for an inode
	// after many were freed.
	version := func(i int) {
		next := filepath.Join(w.dir, "b-crlf", ".next")
		if err := os.Link(made(i), next); err != nil {
			t.Error(err)
		}
		if err := os.Rename(next, filepath.Join(w.dir, "b-crlf", "SKILL.md")); err != nil {
			t.Error(err)
		}
	}
	version(0)
	go func() {
		defer close(stopped)
		tick := time.Tick(time.Millisecond) // readers need the processor too
		for i := 1; ; i++ {
			select {
			case <-done:
				return
			case <-tick:
				version(i)
			}
		}
	}()
	defer func() { close(done); <-stopped }()
	for range 200 {
		m := c.call("skills/get", map[string]any{"uri": "skill://b-crlf/SKILL.md"})
		if m.Error != nil {
			continue // the skill changed too often during the call
		}
		var got struct{ Skill entry }
		var fm struct{ Description string }
		if json.Unmarshal(m.Result, &got) != nil || json.Unmarshal(got.Skill.Frontmatter, &fm) != nil {
			t.Fatal(string(m.Result))
		}
		want := skill.DigestOf([]byte("---\nname: b-crlf\ndescription: " + fm.Description + "\n---\n")).String()
		for _, r := range got.Skill.Resources {
			if r.URI == "skill://b-crlf/SKILL.md" && r.Digest != want {
				t.Fatalf("frontmatter %q and digest %s", fm.Description, r.Digest)
			}
		}
	}
}

func TestPrivateAnswersAreNotShared(t *testing.T) {
	w := start(t, setting{private: true})
	c := w.dial(modern)
	checkEra(t, modern, c.result("skills/list", nil, nil), "30000", "private")
	checkEra(t, modern, c.result("resources/read", map[string]any{"uri": published[0]}, nil), "0", "private")
}

// TestVerifiesItself checks that CheckServer has no findings about a server with the fixtures.
func TestVerifiesItself(t *testing.T) {
	w := start(t, setting{})
	for _, era := range eras {
		report, err := skillsext.CheckServer(t.Context(), skillsext.CheckOptions{Endpoint: w.url, Protocol: era})
		must(t, err)
		if diff := cmp.Diff([]skillsext.Finding{}, report.Findings); diff != "" || report.Skills != len(published) || report.Files != 21 || report.Protocol != era {
			t.Errorf("%s: %d skills, %d files: %s", report.Protocol, report.Skills, report.Files, diff)
		}
	}
}

func TestCompletes(t *testing.T) {
	w := start(t, setting{})
	eachEra(t, w, func(t *testing.T, c *client) {
		for value, want := range map[string][]string{
			"a-f":               {"a-first/SKILL.md", "a-first/inner/SKILL.md"},
			"inn":               {"a-first/inner/SKILL.md"},
			"a-first/scr":       {"a-first/scripts/run.sh"},
			"skill://a-first/%": {"a-first/%2541.txt", "a-first/%C3%BCn%C3%AF%20%E2%98%83.md"},
			"nothing":           {},
			"a-first/.":         {},
		} {
			var got struct{ Completion struct{ Values []string } }
			c.result("completion/complete", map[string]any{
				"ref": map[string]any{"type": "ref/resource", "uri": "skill://{+path}"}, "argument": map[string]any{"name": "path", "value": value},
			}, &got)
			if diff := cmp.Diff(want, got.Completion.Values); diff != "" {
				t.Errorf("%s: %s", value, diff)
			}
		}
		m := c.call("completion/complete", map[string]any{
			"ref": map[string]any{"type": "ref/prompt", "name": "x"}, "argument": map[string]any{"name": "path", "value": ""},
		})
		if m.code() != -32602 {
			t.Errorf("a prompt: %d", m.code())
		}
	})
}

// TestRenamedSkillIsNotGiven checks that a skill that was renamed, and so has another URI, is not
// returned for its old URI.
func TestRenamedSkillIsNotGiven(t *testing.T) {
	t.Parallel()
	w := start(t, setting{files: many(20)})
	c := w.dial(modern)
	c.result("skills/list", nil, nil)
	for i := range 20 { // the catalogue may see the change first
		name := fmt.Sprintf("s-%04d", i)
		rewrite(t, w.dir, name+"/SKILL.md", skillText("renamed-"+name, "Renamed."))
		m := c.call("skills/get", map[string]any{"uri": "skill://" + name + "/SKILL.md"})
		for tries := 9; m.code() == -32000 && tries > 0; tries-- { // a busy machine may not scan in time
			m = c.call("skills/get", map[string]any{"uri": "skill://" + name + "/SKILL.md"})
		}
		if m.code() != -32602 {
			t.Errorf("%s: %d %s", name, m.code(), m.Result)
		}
	}
}
