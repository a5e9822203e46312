package access

import (
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

func patterns(t *testing.T, list string) (all []Pattern) {
	t.Helper()
	for _, text := range strings.Fields(list) {
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatal(text, err)
		}
		all = append(all, p)
	}
	return all
}

func entry(base string) *catalog.Entry {
	return &catalog.Entry{Skill: &skill.Skill{}, Root: &skill.Root{}, Tail: "/" + base, Status: catalog.Available}
}

func TestPolicy(t *testing.T) {
	rules := []Rule{
		{Allow: patterns(t, "skill://common/**")},
		{Groups: []string{"billing", "ops"}, Allow: patterns(t, "skill://acme/billing/**"), Deny: patterns(t, "skill://common/games/**")},
		{Subjects: []string{"anna"}, Allow: patterns(t, "skill://acme/billing/secret skill://acme/anna")},
		{Groups: []string{"ops"}, Deny: patterns(t, "skill://acme/billing/secret")},
	}
	who := map[string]Subject{
		"nobody":            {},
		"anna":              {Name: "anna"},
		"billing":           {Name: "b", Groups: []string{"billing"}},
		"anna-ops":          {Name: "anna", Groups: []string{"x", "ops"}},
		"billing as a name": {Name: "billing"},
	}
	for base, want := range map[string]string{ // by default deny, then by default allow
		"common/git":          "anna anna-ops billing billing as a name nobody / anna anna-ops billing billing as a name nobody",
		"common/games/chess":  "anna billing as a name nobody / anna billing as a name nobody",
		"acme/billing/refund": "anna-ops billing / anna anna-ops billing billing as a name nobody",
		"acme/billing/secret": "anna billing / anna billing billing as a name nobody",
		"acme/anna":           "anna anna-ops / anna anna-ops billing billing as a name nobody",
		"other":               " / anna anna-ops billing billing as a name nobody",
	} {
		var got []string
		for _, allow := range []bool{false, true} {
			p := NewPolicy(allow, rules)
			var seen []string
			for name, s := range who {
				if p.Filter(s).Visible(entry(base)) {
					seen = append(seen, name)
				}
			}
			slices.Sort(seen)
			got = append(got, strings.Join(seen, " "))
		}
		if got := strings.Join(got, " / "); got != want {
			t.Errorf("%s is seen by\n%s, want\n%s", base, got, want)
		}
	}
}

// Subjects to which the same rules apply share one Filter: a snapshot caches the view
// of each Filter.
func TestFilterIsShared(t *testing.T) {
	p := NewPolicy(false, []Rule{{Groups: []string{"a"}}, {Groups: []string{"b"}}, {Subjects: []string{"anna"}}})
	of := func(name string, groups ...string) *catalog.Filter { return p.Filter(Subject{name, groups}) }
	if of("x", "a") != of("y", "c", "a") || of("x") != of("y", "c") || of("anna", "b") != of("anna", "b", "b") {
		t.Error("two filters where the same rules hold")
	}
	if of("x", "a") == of("x", "b") || of("x", "a") == of("x", "a", "b") || of("x") == of("anna") {
		t.Error("one filter where other rules hold")
	}
}

// A skipped skill has no URI; the policy judges it by its folder.
func TestPolicyOnSkippedSkills(t *testing.T) {
	filter := NewPolicy(true, []Rule{{Deny: patterns(t, "skill://acme/secret/** skill://whole")}}).Filter(Subject{})
	for _, c := range []struct {
		prefix, path, folder string
		sees                 bool
	}{
		{"acme", "secret/x", "x", false}, {"acme", "open/x", "x", true}, {"", "acme/secret", "secret", false},
		{"", "secret/x", "x", true}, {"", ".", "whole", false}, {"whole", ".", "x", true},
	} {
		e := &catalog.Entry{Skill: &skill.Skill{Bundle: &skill.Bundle{Path: c.path, In: &skill.Root{Dir: "/" + c.folder}}}, Root: &skill.Root{Prefix: c.prefix}, Status: catalog.Skipped}
		if got := filter.Visible(e); got != c.sees {
			t.Errorf("%+v: seen = %v", c, got)
		}
	}
}

func TestIdle(t *testing.T) {
	p := NewPolicy(false, []Rule{{Allow: patterns(t, "skill://a/** skill://b/**")}, {Deny: patterns(t, "skill://a/secert skill://a/x")}})
	var got []string
	for _, pattern := range p.Unmatched([]*catalog.Entry{entry("a/secret"), entry("a/x")}) {
		got = append(got, pattern.String())
	}
	if want := []string{"skill://b/**", "skill://a/secert"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A pattern is misspelt if no skill matches it, but one would after the root label is
// added, removed or replaced.
func TestMisspelt(t *testing.T) {
	in := func(label, prefix, tail string) *catalog.Entry {
		return &catalog.Entry{Skill: &skill.Skill{}, Root: &skill.Root{Label: label, Prefix: prefix}, Tail: tail, Status: catalog.Available}
	}
	one := []*catalog.Entry{in("dir-1", "", "secret/a"), in("dir-1", "", "open"), in("builtin", "", "engage")}
	two := []*catalog.Entry{in("dir-1", "dir-1", "open"), in("dir-2", "dir-2", "secret/a"), in("builtin", "", "engage")}
	skipped := []*catalog.Entry{{Skill: &skill.Skill{Bundle: &skill.Bundle{Path: "secret/b"}}, Root: &skill.Root{Label: "a b", Prefix: "a b"}, Status: catalog.Skipped}}
	for _, c := range []struct {
		entries       []*catalog.Entry
		pattern, want string
	}{
		{one, "skill://secret/**", ""}, {two, "skill://secret/**", "skill://dir-2/secret/**"}, {two, "skill://secret/a", "skill://dir-2/secret/a"},
		{two, "skill://dir-2/secret/**", ""}, {two, "skill://dir-1/secret/**", "skill://dir-2/secret/**"}, {two, "skill://dir-3/secret/*", "skill://dir-2/secret/*"},
		{one, "skill://dir-1/secret/**", "skill://secret/**"}, {one, "skill://dir-2/**", "skill://**"}, {one, "skill://builtin/engage", "skill://engage"},
		{two, "skill://open", "skill://dir-1/open"}, {two, "skill://**/secret/a", ""}, {two, "skill://*/secret/a", ""}, {one, "skill://dir-*/open", "skill://open"},
		{skipped, "skill://secret/**", "skill://a%20b/secret/**"},
		// More than the root label differs: the skill may be gone, or not there yet.
		{two, "skill://secrets/**", ""}, {one, "skill://team/open", ""}, {two, "skill://dir-1/closed", ""}, {two, "skill://acme/open", ""}, {nil, "skill://secret/**", ""},
	} {
		got := ""
		for _, m := range NewPolicy(true, []Rule{{Deny: patterns(t, c.pattern)}}).Misspelt(c.entries) {
			got = m.As
			if p, err := ParsePattern(m.As); err != nil || len(NewPolicy(true, []Rule{{Deny: []Pattern{p}}}).Unmatched(c.entries)) > 0 {
				t.Errorf("%s matches nothing either (%v)", m.As, err)
			}
		}
		if got != c.want {
			t.Errorf("%s is misspelt for %q, want %q", c.pattern, got, c.want)
		}
	}
}
