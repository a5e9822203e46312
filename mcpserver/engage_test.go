package mcpserver_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestUnlistedEngage checks that the skill engage, which is served but not listed, is answered like
// any other by skills/get and directory reads. Its entry has the digest of the bytes that
// resources/read returns.
func TestUnlistedEngage(t *testing.T) {
	text := skillText("engage", "How to use it.")
	w := start(t, setting{files: many(1), engage: func() string { return text }})
	eachEra(t, w, func(t *testing.T, c *client) {
		var list struct{ Skills []struct{ URI string } }
		c.result("skills/list", nil, &list)
		if len(list.Skills) != 1 || list.Skills[0].URI != "skill://s-0000/SKILL.md" {
			t.Errorf("it is listed: %+v", list)
		}
		var read mcp.ReadResourceResult
		c.result("resources/read", map[string]any{"uri": "skill://engage/SKILL.md"}, &read)
		if len(read.Contents) != 1 || read.Contents[0].Text != text {
			t.Fatalf("%+v", read.Contents)
		}
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))
		got := c.result("skills/get", map[string]any{"uri": "skill://engage/SKILL.md"}, nil)
		if want := `{"uri":"skill://engage/SKILL.md","frontmatter":{"name":"engage","description":"How to use it."},"resources":[{"uri":"skill://engage/SKILL.md","digest":"` + digest + `","size":` + fmt.Sprint(len(text)) + `}]}`; string(got["skill"]) != want {
			t.Errorf("got %s\nwant %s", got["skill"], want)
		}
		got = c.result("resources/directory/read", map[string]any{"uri": "skill://engage"}, nil)
		if want := `[{"description":"How to use it.","mimeType":"text/markdown","name":"engage","size":` + fmt.Sprint(len(text)) + `,"uri":"skill://engage/SKILL.md"}]`; string(got["resources"]) != want {
			t.Errorf("got %s\nwant %s", got["resources"], want)
		}
		for _, uri := range []string{"skill://engage", "skill://engage/other", "skill://engage/SKILL.md/x"} {
			if m := c.call("skills/get", map[string]any{"uri": uri}); m.code() != -32602 {
				t.Errorf("%s: %+v", uri, m)
			}
		}
	})
}
