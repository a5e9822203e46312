package usage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/test/skilltest"
)

// TestNameable checks which texts are counted as names. Any client can request any text.
func TestNameable(t *testing.T) {
	for asked, want := range map[string]string{
		"deploy": "deploy", " Deploy\n": "deploy", "team:deploy": "team:deploy", "Straße": "strasse", "write a poem": "write a poem",
		"skill://team/Deploy/SKILL.md": "skill://team/Deploy/SKILL.md",
		"":                             "", " ": "", "a\nb": "", "a\x00b": "", "a\u202eb": "", "a\u200bb": "", "\xff": "", "a\x1b[31m": "",
		strings.Repeat("a", 65): "", strings.Repeat("ä", 64): strings.Repeat("ä", 64), strings.Repeat("x", 1<<20): "", "skill://" + strings.Repeat("x", 300): "",
		"anna@example.com": "", "skill://anna@example.com/x/SKILL.md": "", "https://example.com/x": "", "file:///etc/passwd": "", "skill://a/SKILL.md?token=x": "",
		"ghp_0123456789abcdef": "", "password: hunter2": "", "Bearer abc": "", "0123456789abcdef0123456789abcdef": "", "skill://x/eyJhbGciOi/SKILL.md": "",
		"<script>alert(1)</script>": "<script>alert(1)</script>", // pages escape it
	} {
		if got := nameable(asked); got != want {
			t.Errorf("%.60q is kept as %q, want %q", asked, got, want)
		}
	}
}

// TestMissing checks that requested names without a skill are counted. They are listed from the
// second request on, and only while no skill has the name.
func TestMissing(t *testing.T) {
	c := New()
	root := skilltest.Project(map[string]string{"git/SKILL.md": skilltest.Document("git", "Branches.")})
	skills := skilltest.Catalog(t, root)
	v := skilltest.View(t, skills)
	for range 2 {
		failed(c, v, "", []byte(`{"name":"Deploy"}`))
		failed(c, v, "", []byte(`{"command":"deploy"}`))
		failed(c, v, "", []byte(`{"uri":"skill://away/SKILL.md"}`))
		failed(c, v, "soon", nil)
		failed(c, v, "git", nil) // the skill exists; the call failed for another reason
		failed(c, v, "claude-project:git", nil)
		failed(c, v, git, nil)
		failed(c, v, "skill://claude-project/git/none.txt", nil) // the file does not exist
		failed(c, v, "", []byte(`{"name":7}`))
		failed(c, v, "", nil)
	}
	failed(c, v, "once", nil)
	say := func() (out []string) {
		names, ok := c.Missing(skilltest.View(t, skills))
		if !ok {
			t.Error("a client without rules is not shown the names")
		}
		for _, m := range names {
			out = append(out, fmt.Sprint(m.Name, " ", m.Times))
		}
		return out
	}
	if diff := cmp.Diff([]string{"deploy 4", "skill://away/SKILL.md 2", "soon 2"}, say()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	root.Put("soon/SKILL.md", skilltest.Document("soon", "It is there now."))
	must(t, skills.Refresh(t.Context()))
	if diff := cmp.Diff([]string{"deploy 4", "skill://away/SKILL.md 2"}, say()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if encoded := string(c.Encode()); strings.Contains(encoded, "once") {
		t.Errorf("a name that was asked for once is kept: %s", encoded)
	}
}

// TestMissingIsBounded checks that names which are requested often survive a flood of names.
func TestMissingIsBounded(t *testing.T) {
	c, v := New(), view(t)
	for range 5 {
		failed(c, v, "wanted", nil)
	}
	for i := range 20 * maxMissing {
		failed(c, v, fmt.Sprint("flood-", i), nil)
		if len(c.missing) > maxMissing {
			t.Fatalf("%d names are kept", len(c.missing))
		}
	}
	if names, _ := c.Missing(v); len(names) != 1 || names[0].Name != "wanted" || names[0].Times != 5 {
		t.Errorf("%v", names)
	}
}

// FuzzRestore checks that no stored file breaks the counts.
func FuzzRestore(f *testing.F) {
	v := view(f)
	c := New()
	called(c, v, "editor", "skill", []byte(`{"name":"git"}`))
	failed(c, v, "deploy", nil)
	failed(c, v, "deploy", nil)
	f.Add(c.Encode())
	f.Add([]byte(`{"version":1,"since":"0001-01-01T00:00:00Z","skills":{"x":{"":{"last":"9999-12-31","weeks":{"0000-01-01":[1,1]}}}},"missing":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := New()
		if c.Restore(data) != nil {
			return
		}
		called(c, v, "editor", "skill", []byte(`{"name":"git"}`))
		c.Seen(v)
		again := New()
		if err := again.Restore(c.Encode()); err != nil {
			t.Error(err)
		}
	})
}
