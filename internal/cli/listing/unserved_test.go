package listing_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/listing"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// TestUnserved checks that the banner lists held-back skills separately from skipped ones, and at
// most ten of each.
func TestUnserved(t *testing.T) {
	snapshot := &catalog.Snapshot{}
	add := func(name string, p skill.Problem) {
		e := &catalog.Entry{Root: &skill.Root{Label: "r"}, Status: catalog.Skipped, Skill: &skill.Skill{Bundle: &skill.Bundle{Path: name, Entry: skill.MainFile}, Problems: []skill.Problem{p}}}
		snapshot.Entries, snapshot.Skipped = append(snapshot.Entries, e), append(snapshot.Skipped, e)
	}
	add("none", skill.Problem{Rule: frontmatter.DescriptionMissing, Message: "description is missing"})
	for i := range 11 {
		add(fmt.Sprintf("bad-%d", i), skill.Problem{Rule: frontmatter.HeldBack, Message: "held back: a.sh:2:1: it is run", Fix: "mend it"})
	}
	v := catalog.View{Snapshot: snapshot}
	if diff := cmp.Diff([]string{"1 skill skipped", "11 skills held back"}, listing.Unserved(v)); diff != "" {
		t.Error(diff)
	}
	var b bytes.Buffer
	listing.PrintUnserved((&console.Env{Stdout: &b}).Out(), v)
	if !strings.HasPrefix(b.String(), "Skipped:\n  r/none/SKILL.md: description is missing\nHeld back by the operator's policy:\n  r/bad-0/SKILL.md: held back: a.sh:2:1: it is run (mend it)\n") ||
		!strings.HasSuffix(b.String(), "  r/bad-9/SKILL.md: held back: a.sh:2:1: it is run (mend it)\n  and 1 more; knack list --all shows them\n") {
		t.Error(b.String())
	}
	b.Reset()
	if listing.PrintUnserved((&console.Env{Stdout: &b}).Out(), catalog.View{Snapshot: &catalog.Snapshot{}}); b.Len() > 0 {
		t.Error(b.String())
	}
}
