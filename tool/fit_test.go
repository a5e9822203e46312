package tool

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/alloctest"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
)

// TestFits checks that the report of Fits matches the description.
func TestFits(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 60))
	for _, n := range []int{0, 1, 5, 20, 60, 400, 4000} {
		var texts []string
		for i := range n {
			texts = append(texts, fmt.Sprintf("skill-%04d", i), long)
		}
		v := catalog.View{Snapshot: &catalog.Snapshot{Listed: entriesOf(texts...)}}
		fits := Fits(v)
		if fits[0].Client != "" || fits[0].Budget != listing.Budget || len(fits) != 3 {
			t.Fatalf("%d skills: %+v", n, fits)
		}
		if whole := listing.Of(v.Listed).Length(listing.EscapedBullets); fits[0].Need != whole {
			t.Errorf("%d skills: needs %d characters, reported %d", n, whole, fits[0].Need)
		}
		for _, f := range fits {
			name, before, _ := strings.Cut(f.Client, " before ")
			if before == "" {
				before = "999"
			}
			c := profile.Client{Name: name, Version: olderThan(before)}
			text := defaultSkill().Define(v, c).Description
			if name != "" { // other clients may not see the instructions
				text += Instructions(v, toolsOf(t, "default"), c)
			}
			whole := strings.Count(text, long)
			if want := n - len(f.Shortened) - len(f.Left); whole != want {
				t.Errorf("%d skills for %q: %d whole, reported %d (%s)", n, f.Client, whole, want, f.Form)
			}
			named := 0
			for _, e := range v.Listed {
				if strings.Contains(text, e.Name) {
					named++
				}
			}
			if want := n - len(f.Left); named != want {
				t.Errorf("%d skills for %q: %d named, reported %d (%s)", n, f.Client, named, want, f.Form)
			}
			if f.Form == FormWhole && f.Need > f.Budget {
				t.Errorf("%d skills for %q: %s, needs %d of %d", n, f.Client, f.Form, f.Need, f.Budget)
			}
		}
	}
}

// olderThan returns a version just before another.
func olderThan(version string) string {
	at := strings.LastIndexByte(version, '.') + 1
	last, _ := strconv.Atoi(version[at:])
	return fmt.Sprint(version[:at], last-1)
}

// TestFitsOfManyCostLittle checks that Fits allocates only a few arrays for many skills, since it
// does not render the list.
func TestFitsOfManyCostLittle(t *testing.T) {
	allocs := func(n int) float64 {
		var texts []string
		for i := range n {
			texts = append(texts, fmt.Sprintf("skill-%05d", i), strings.TrimSpace(strings.Repeat("what it is for ", 10)))
		}
		v := catalog.View{Snapshot: &catalog.Snapshot{Listed: entriesOf(texts...)}}
		return alloctest.Least(3, func() { Fits(v) })
	}
	if few, lots := allocs(2000), allocs(6000); lots > few+64 {
		t.Errorf("%.0f allocations for 6,000 skills, and %.0f for 2,000", lots, few)
	}
}

// TestPresence checks that PresenceOf describes how a skill appears in the description.
func TestPresence(t *testing.T) {
	long := "Does one thing. " + strings.TrimSpace(strings.Repeat("word ", 60))
	view := func(n int) catalog.View {
		files := map[string]string{}
		for i := range n {
			name := fmt.Sprintf("skill-%04d", i)
			files[name+"/SKILL.md"] = skilltest.Document(name, long+" "+name+".")
		}
		return skilltest.View(t, skilltest.Catalog(t, skilltest.Project(files)))
	}
	seen := map[Presence]bool{}
	for _, n := range []int{1, 60, 300, 2000} {
		v := view(n)
		for _, set := range []string{"default", "universal"} {
			tools, err := ParseSets(set)
			if err != nil {
				t.Fatal(err)
			}
			text := tools[0].Define(v, profile.Client{}).Description
			for i := 0; i < n; i += 1 + n/10 {
				e := v.Listed[i]
				want := PresenceAbsent
				switch {
				case strings.Contains(text, e.Description):
					want = PresenceWhole
				case strings.Contains(text, "<name>"+e.Name+"</name>\n<description>Does one thing."), strings.Contains(text, "- "+e.Name+": Does one thing."):
					want = PresenceShortened
				case strings.Contains(text, e.Name):
					want = PresenceName
				}
				if got := PresenceOf(e, v, tools, profile.Client{}); got != want {
					t.Errorf("%s, %s of %d: %q, want %q", set, e.Name, n, got, want)
				}
				seen[want] = true
			}
		}
	}
	if len(seen) != 4 {
		t.Errorf("only %v were seen", seen)
	}
	v, other := view(1), view(2).Listed[1]
	for set, want := range map[string]Presence{"default": PresenceAbsent, "runner": PresenceUnlisted, "uri": PresenceUnlisted} {
		tools, err := ParseSets(set)
		if err != nil {
			t.Fatal(err)
		}
		if got := PresenceOf(other, v, tools, profile.Client{}); got != want {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}
