package mcpserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
)

// TestInstructionsAreKept checks that a snapshot caches the instructions for each kind of client,
// so that another session needs no new layout of the list.
func TestInstructionsAreKept(t *testing.T) {
	tools, err := tool.ParseSets("default")
	if err != nil {
		t.Fatal(err)
	}
	v := skilltest.View(t, skilltest.Catalog(t, skilltest.Project(map[string]string{
		"git/SKILL.md": skilltest.Document("git", "Git"), "tar/SKILL.md": skilltest.Document("tar", "Tar"),
	})))
	key := instructionsKey{&Server{o: Options{Tools: tools}}, profile.Client{Name: "claude-code"}, false}
	offering, long := key, key
	offering.offersMore, long.client.Version = true, strings.Repeat("9", maxKeptName)
	if text := key.write(v).text; !strings.Contains(text, "2 skills") || text == offering.write(v).text || text != key.write(v).text {
		t.Errorf("%s", text)
	}
	for k, isKept := range map[instructionsKey]bool{key: true, offering: true, long: false} {
		if n := testing.AllocsPerRun(10, func() { k.write(v) }); n < 10 != isKept {
			t.Errorf("%v: %v allocations", k.client, n)
		}
	}
}

// TestToldClientsShareAnAnswer checks that a client whose instructions are still current gets the
// same tools/list as a client without a session. Finding it allocates nothing.
func TestToldClientsShareAnAnswer(t *testing.T) {
	tools, err := tool.ParseSets("default")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for i := range 60 {
		name := fmt.Sprint("topic-", i)
		files[name+"/SKILL.md"] = skilltest.Document(name, strings.Repeat("Handles the files of one more topic. ", 6))
	}
	v := skilltest.View(t, skilltest.Catalog(t, skilltest.Project(files)))
	c := profile.Client{Name: "claude-code", Version: "2.1.332"}
	shared := toolsKey{&Server{o: Options{Tools: tools}}, c}
	same, other := shared, shared
	same.client.Told = instructionsKey{shared.server, c, false}.write(v).told
	other.client.Told = profile.Told{Known: true, Names: "topic-1\n"}
	if same.client.Told.Names == "" {
		t.Error("the instructions have no skills")
	}
	for k, want := range map[toolsKey]toolsKey{shared: shared, same: shared, other: other} {
		if k.current(v) != want {
			t.Errorf("%+v shares no answer, or another's", k.client)
		}
		if n := testing.AllocsPerRun(10, func() { k.current(v) }); n > 0 {
			t.Errorf("%+v: %v allocations", k.client, n)
		}
	}
}
