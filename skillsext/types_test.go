package skillsext

import (
	"testing"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// TestEntryIsWritten checks that the hand-written encoding of an entry equals the output of
// encoding/json.
func TestEntryIsWritten(t *testing.T) {
	const front = `{"name":"a","description":"x <y> & \u2028 \"z\"","n":1.50}`
	for name, s := range map[string]*Skill{
		"whole": {URI: "skill://a/SKILL.md", Frontmatter: Frontmatter(front), Resources: StaticResources(
			Resource{URI: "skill://a/SKILL.md", Digest: "sha256:00", Size: 12},
			Resource{URI: "skill://a/\"b\\<c>&é", Digest: "sha256:01", Size: -1},
		)},
		"an empty manifest": {URI: "u"},
		"generated":         {URI: "u", Resources: DynamicResources()},
		"none":              nil,
	} {
		want, err := rawjson.Marshal(s)
		if got := string(s.AppendJSON(nil)); err != nil || got != string(want) {
			t.Errorf("%s: %s\nwant %s (%v)", name, got, want, err)
		}
	}
	if data, err := rawjson.Marshal(&Skill{Frontmatter: Frontmatter(`{"a":`)}); err == nil {
		t.Errorf("a frontmatter that is no JSON: %s", data)
	}
}
