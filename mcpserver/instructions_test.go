package mcpserver

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
)

// TestInstructionsAreKept checks that a snapshot keeps the instructions for each kind of client:
// a session costs no second layout of the list.
func TestInstructionsAreKept(t *testing.T) {
	tools, err := tool.ParseSets("default")
	if err != nil {
		t.Fatal(err)
	}
	v := skilltest.View(t, skilltest.Catalog(t, skilltest.Project(map[string]string{
		"git/SKILL.md": skilltest.Document("git", "Git"), "tar/SKILL.md": skilltest.Document("tar", "Tar"),
	})))
	key := instructionsKey{&Server{tools: tools}, profile.Client{Name: "claude-code"}, false}
	offering, long := key, key
	offering.offersMore, long.client.Version = true, strings.Repeat("9", maxKeptName)
	if text := key.write(v); !strings.Contains(text, "2 skills") || text == offering.write(v) || text != key.write(v) {
		t.Errorf("%s", text)
	}
	for k, isKept := range map[instructionsKey]bool{key: true, offering: true, long: false} {
		if n := testing.AllocsPerRun(10, func() { k.write(v) }); n < 10 != isKept {
			t.Errorf("%v: %v allocations", k.client, n)
		}
	}
}
