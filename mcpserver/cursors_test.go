package mcpserver_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/knack-dev/knack/access"
)

// TestCursorsThatNobodyGave checks that every list, in every era, refuses a cursor that no answer
// has returned. A list of one page refuses every cursor.
func TestCursorsThatNobodyGave(t *testing.T) {
	t.Parallel()
	eachEra(t, start(t, setting{}), func(t *testing.T, c *client) {
		encode := base64.RawURLEncoding.EncodeToString
		const some, whole = "invalid cursor: use the nextCursor of an earlier answer, or none",
			"invalid cursor: this list is one page, and no answer of it has a nextCursor; ask without a cursor"
		for method, want := range map[string]string{
			"tools/list": whole, "resources/templates/list": whole, "resources/list": some, "prompts/list": some, "skills/list": some, "resources/directory/read": some,
		} {
			for _, cursor := range []string{
				"x", "0", "500", " ", "null", "=", "\x00", "%%%", "AAAA", strings.Repeat("A", 1<<20), encode([]byte("1 skill://a/SKILL.md")) + "=", encode([]byte("1 skill://%61/SKILL.md")), encode([]byte(" skill://a/SKILL.md")),
				encode([]byte("1")), encode([]byte("1 ")), encode([]byte("-1 skill://a/SKILL.md")), encode([]byte("1 file:///etc/passwd")), encode([]byte("1 skill://a/../b")),
				encode([]byte("18446744073709551616 skill://a/SKILL.md")), encode([]byte("1 skill://" + strings.Repeat("a/", 4096) + "SKILL.md")),
			} {
				params := map[string]any{"cursor": cursor}
				if method == "resources/directory/read" {
					params["uri"] = "skill://a-first"
				}
				if m := c.call(method, params); m.code() != -32602 || m.Error.Message != want {
					t.Errorf("%s %.80q: %+v", method, cursor, m.Error)
				}
			}
		}
	})
}

// TestCursorsOfPromptsAreBounded checks that a cursor is refused if its position is larger than any
// list can have.
func TestCursorsOfPromptsAreBounded(t *testing.T) {
	t.Parallel()
	eachEra(t, start(t, setting{}), func(t *testing.T, c *client) {
		for place, refused := range map[string]bool{"0": false, "50": false, "2147483647": false, "2147483648": true, "9223372036854775808": true, "18446744073709551615": true} {
			cursor := base64.RawURLEncoding.EncodeToString([]byte(place + " skill://gone/SKILL.md"))
			if m := c.call("prompts/list", map[string]any{"cursor": cursor}); (m.code() == -32602) != refused || m.code() != 0 != refused {
				t.Errorf("%s: %+v", place, m.Error)
			}
		}
	})
}

// TestCursorsTellNoVersion checks that no cursor has the snapshot's number, which counts
// changes of hidden skills too.
func TestCursorsTellNoVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("it lays out thousands of files")
	}
	t.Parallel()
	h := twoHolders(t)
	files := hiddenLibrary()
	for i := range 600 {
		files[fmt.Sprintf("many-%d/SKILL.md", i)] = skillText(fmt.Sprintf("many-%d", i), "One of many.")
	}
	for i := range 600 {
		files[fmt.Sprintf("open/file-%d.txt", i)] = "x"
	}
	for _, policy := range []*access.Policy{nil, h.policy} {
		w := start(t, setting{files: files, verifier: h.verifier, policy: policy})
		w.token = h.some
		eachEra(t, w, func(t *testing.T, c *client) {
			for method, params := range map[string]map[string]any{"resources/list": nil, "skills/list": nil, "resources/directory/read": {"uri": "skill://open"}} {
				var page struct{ NextCursor string }
				c.result(method, params, &page)
				cursor, err := base64.RawURLEncoding.DecodeString(page.NextCursor)
				if version, _, _ := strings.Cut(string(cursor), " "); err != nil || version != "0" {
					t.Errorf("%s: cursor %q, want version 0", method, cursor)
				}
			}
		})
	}
}
