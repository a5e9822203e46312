package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/clientconfig/connection"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// TestWithoutAnswers checks the overview if disks do not answer, and if there are many clients.
func TestWithoutAnswers(t *testing.T) {
	want := `knack finds no skills so far; not everything could be read in a second.
Next:
  knack list    waits until everything is read
  knack --help  shows all commands
`
	if diff := cmp.Diff(want, Text(catalog.View{}, nil)); diff != "" {
		t.Error(diff)
	}
	var all []connection.Connection
	for _, c := range clientconfig.Clients() {
		all = append(all, connection.Connection{Client: c.ID, Name: c.Name, Here: true, Gain: &connection.Gain{Own: 1000, Adds: 12345}})
	}
	for _, state := range []clientconfig.State{"", clientconfig.Connected} {
		for i := range all {
			all[i].State = state
		}
		for line := range strings.SplitSeq(Text(catalog.View{}, all), "\n") {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("more than %d columns: %s", 80, line)
			}
		}
	}
}

// TestOverviewHeld checks that the overview counts held-back skills separately from skipped ones.
func TestOverviewHeld(t *testing.T) {
	var v catalog.View
	v.Snapshot = &catalog.Snapshot{}
	for _, rule := range []skill.RuleID{frontmatter.DescriptionMissing, frontmatter.HeldBack} {
		e := &catalog.Entry{Root: &skill.Root{}, Status: catalog.Skipped, Skill: &skill.Skill{Bundle: &skill.Bundle{}, Problems: []skill.Problem{{Rule: rule}}}}
		v.Entries, v.Skipped = append(v.Entries, e), append(v.Skipped, e)
	}
	if got := Text(v, nil); !strings.Contains(got, "  says why: 1 skill skipped, 1 skill held back\n") {
		t.Error(got)
	}
}
