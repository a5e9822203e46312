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

// snapshotOf returns a snapshot with the given skills and their roots.
func snapshotOf(entries ...*catalog.Entry) *catalog.Snapshot {
	s := &catalog.Snapshot{Entries: entries}
	for _, e := range entries {
		s.Roots = append(s.Roots, catalog.RootStatus{Root: *e.Root})
	}
	return s
}

// sees reports whether a filter shows the first of the given skills, which are all in the snapshot.
func sees(f *catalog.Filter, entries ...*catalog.Entry) bool {
	return f.VisibleIn(snapshotOf(entries...))(entries[0])
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
	for base, want := range map[string]string{ // first if the default denies, then if it allows
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
				if sees(p.Filter(s), entry(base)) {
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

// TestFilterIsShared checks that subjects to which the same rules apply share one Filter, since a
// snapshot caches a view for each Filter.
func TestFilterIsShared(t *testing.T) {
	p := NewPolicy(false, []Rule{{Groups: []string{"a"}}, {Groups: []string{"b"}}, {Subjects: []string{"anna"}}})
	filter := func(name string, groups ...string) *catalog.Filter { return p.Filter(Subject{name, groups}) }
	if filter("x", "a") != filter("y", "c", "a") || filter("x") != filter("y", "c") || filter("anna", "b") != filter("anna", "b", "b") {
		t.Error("two filters where the same rules hold")
	}
	if filter("x", "a") == filter("x", "b") || filter("x", "a") == filter("x", "a", "b") || filter("x") == filter("anna") {
		t.Error("one filter where other rules hold")
	}
}

// TestPolicyOnSkippedSkills checks that a skipped skill is judged by every URI that it could
// have: by its folder and by its name, which may be unreadable.
func TestPolicyOnSkippedSkills(t *testing.T) {
	const deny = "skill://acme/secret/** skill://whole skill://team/payroll"
	for _, c := range []struct {
		prefix, path, folder, name string
		deny, allow                string
		sees                       bool
	}{
		{"acme", "secret/x", "x", "", deny, "skill://**", false}, {"acme", "open/x", "x", "", deny, "skill://**", true}, {"", "acme/secret", "secret", "", deny, "skill://**", false},
		{"", "secret/x", "x", "", deny, "skill://**", true}, {"", ".", "whole", "", deny, "skill://**", false}, {"whole", ".", "x", "", deny, "skill://**", true},
		{"", "team/misc", "misc", "payroll", deny, "skill://**", false}, {"", "team/misc", "misc", "", deny, "skill://**", false}, {"", "team/payroll", "payroll", "misc", deny, "skill://**", false},
		{"", "team/misc", "misc", "misc", deny, "skill://**", true}, {"", "team/misc", "misc", "Pay Roll", deny, "skill://**", true}, {"", "misc", "misc", "payroll", deny, "skill://**", true},
		{"", "x", "x", "", "skill://secret/**", "skill://**", false}, {"", ".", "x", "whole", deny, "skill://**", false}, {"", "team/misc", "misc", "", "skill://team/p*l", "skill://**", false},
		{"", "team/misc", "misc", "payroll", "", "skill://team/misc", false}, {"", "team/misc", "misc", "payroll", "", "skill://team/payroll", false}, {"", "team/misc", "misc", "payroll", "", "skill://team/*", true},
		{"", "team/misc", "misc", "", "", "skill://team/misc", false}, {"", "team/misc", "misc", "", "", "skill://team/**", true}, {"", "team/misc", "misc", "misc", "", "skill://team/misc", true},
		{"", "misc", "misc", "", "", "skill://*", true}, {"", "misc", "misc", "", "", "skill://m*", false},
	} {
		filter := NewPolicy(false, []Rule{{Deny: patterns(t, c.deny), Allow: patterns(t, c.allow)}}).Filter(Subject{})
		e := &catalog.Entry{Skill: &skill.Skill{Name: c.name, Bundle: &skill.Bundle{Path: c.path, In: &skill.Root{Dir: "/" + c.folder}}}, Root: &skill.Root{Prefix: c.prefix}, Status: catalog.Skipped}
		if got := sees(filter, e, entry("acme/secret/x"), entry("whole"), entry("team/payroll")); got != c.sees {
			t.Errorf("%+v: seen = %v", c, got)
		}
	}
}

func TestIdle(t *testing.T) {
	p := NewPolicy(false, []Rule{{Allow: patterns(t, "skill://a/** skill://b/**")}, {Deny: patterns(t, "skill://a/secert skill://a/x")}})
	var got []string
	for _, pattern := range p.Unmatched(snapshotOf(entry("a/secret"), entry("a/x"))) {
		got = append(got, pattern.String())
	}
	if want := []string{"skill://b/**", "skill://a/secert"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMisspelt checks that a pattern counts as misspelt if no skill matches it, but one would match
// with another spelling. The spellings are with the root label added, removed or replaced, and with
// the skill's case, accents and encoded slashes. The skill is then hidden.
func TestMisspelt(t *testing.T) {
	in := func(label, prefix, tail string) *catalog.Entry {
		return &catalog.Entry{Skill: &skill.Skill{}, Root: &skill.Root{Label: label, Prefix: prefix}, Tail: tail, Status: catalog.Available}
	}
	one := []*catalog.Entry{in("dir-1", "", "secret/a"), in("dir-1", "", "open"), in("builtin", "", "engage")}
	two := []*catalog.Entry{in("dir-1", "dir-1", "open"), in("dir-2", "dir-2", "secret/a"), in("builtin", "", "engage")}
	skipped := []*catalog.Entry{{Skill: &skill.Skill{Bundle: &skill.Bundle{Path: "secret/b"}}, Root: &skill.Root{Label: "a b", Prefix: "a b"}, Status: catalog.Skipped}}
	odd := []*catalog.Entry{in("dir-1", "", "gro\u0308ße/pay"), in("dir-1", "", "Secret/pay2")}
	flat := []*catalog.Entry{in("dir-1", "", "open"), in("dir-1", "", "closed")}
	empty := []*catalog.Entry{in("dir-1", "dir-1", "open")}
	for _, c := range []struct {
		entries       []*catalog.Entry
		pattern, want string
	}{
		{one, "skill://secret/**", ""}, {two, "skill://secret/**", "skill://dir-2/secret/**"}, {two, "skill://secret/a", "skill://dir-2/secret/a"},
		{two, "skill://dir-2/secret/**", ""}, {two, "skill://dir-1/secret/**", "skill://dir-2/secret/**"}, {two, "skill://dir-3/secret/*", "skill://dir-2/secret/*"},
		{one, "skill://dir-1/secret/**", "skill://secret/**"}, {one, "skill://dir-2/**", "skill://**"}, {one, "skill://builtin/engage", "skill://engage"},
		{two, "skill://open", "skill://dir-1/open"}, {two, "skill://**/secret/a", ""}, {two, "skill://*/secret/a", ""}, {one, "skill://dir-*/open", "skill://open"},
		{skipped, "skill://secret/**", "skill://a%20b/secret/**"},
		{odd, "skill://gr%C3%B6ße/pay", "skill://gro%CC%88%C3%9Fe/pay"}, {odd, "skill://GRÖSSE/*", "skill://gro%CC%88%C3%9Fe/*"},
		{odd, "skill://secret/**", "skill://Secret/**"}, {odd, "skill://Secret/P*2", "skill://Secret/pay2"}, {odd, "skill://Secret%2Fpay2", "skill://Secret/pay2"}, {odd, "skill://**/PAY2/**", "skill://**/pay2/**"},
		{odd, "skill://dir-1/secret%2Fpay2", "skill://Secret/pay2"}, {odd, "skill://%2F", ""}, {flat, "skill://*/*", "skill://*"}, {two, "skill://Open", "skill://dir-1/open"}, {two, "skill://DIR-2/secret/a", "skill://dir-2/secret/a"},
		{empty, "skill://dir-2/**", ""}, {empty, "skill://dir-2/open", "skill://dir-1/open"}, {empty, "skill://dir-3/**", "skill://dir-1/**"},
		// These patterns differ in more than the spelling. Their skill may be gone, or not exist
		// yet.
		{two, "skill://secrets/**", ""}, {one, "skill://team/open", ""}, {two, "skill://dir-1/closed", ""}, {two, "skill://acme/open", ""}, {nil, "skill://secret/**", ""},
	} {
		got := ""
		p, snapshot := NewPolicy(true, []Rule{{Deny: patterns(t, c.pattern)}}), snapshotOf(c.entries...)
		if len(c.entries) == 1 {
			snapshot.Roots = append(snapshot.Roots, catalog.RootStatus{Root: skill.Root{Label: "dir-2", Prefix: "dir-2"}})
		}
		if visible := p.Filter(Subject{}).VisibleIn(snapshot); c.want != "" && !slices.ContainsFunc(c.entries, func(e *catalog.Entry) bool { return !visible(e) }) {
			t.Errorf("%s hides nothing", c.pattern)
		}
		for _, m := range p.Misspelt(snapshot) {
			got = m.As
			if p, err := ParsePattern(m.As); err != nil || len(NewPolicy(true, []Rule{{Deny: []Pattern{p}}}).Unmatched(snapshotOf(c.entries...))) > 0 {
				t.Errorf("%s matches nothing either (%v)", m.As, err)
			}
		}
		if got != c.want {
			t.Errorf("%s is misspelt for %q, want %q", c.pattern, got, c.want)
		}
	}
}

// TestMatchedRulesHideNoMore checks that a pattern that matches a skill as written denies no
// other spelling.
func TestMatchedRulesHideNoMore(t *testing.T) {
	in := func(label, tail string) *catalog.Entry {
		return &catalog.Entry{Skill: &skill.Skill{}, Root: &skill.Root{Label: label, Prefix: label}, Tail: tail, Status: catalog.Available}
	}
	f := NewPolicy(true, []Rule{{Deny: patterns(t, "skill://dir-1/secret/**")}}).Filter(Subject{})
	if there := in("dir-2", "secret/a"); !sees(f, there, in("dir-1", "secret/b")) || sees(f, there, in("dir-1", "open")) {
		t.Error("the skill of the other root is hidden beside one that matches, or visible without it")
	}
}

// TestWhole checks which rules can hide no skill at all.
func TestWhole(t *testing.T) {
	all, some := patterns(t, "skill://**"), patterns(t, "skill://a/**")
	for name, c := range map[string]struct {
		allow bool
		rules []Rule
		want  bool
	}{
		"no rules":          {true, nil, true},
		"nothing allowed":   {false, nil, false},
		"all allowed":       {false, []Rule{{Allow: some}, {Allow: all}}, true},
		"some allowed":      {false, []Rule{{Allow: some}}, false},
		"a deny":            {true, []Rule{{Allow: all}, {Deny: some}}, false},
		"a deny of others":  {true, []Rule{{Groups: []string{"guests"}, Deny: all}}, true},
		"allowed to others": {false, []Rule{{Subjects: []string{"bert"}, Allow: all}}, false},
	} {
		if got := NewPolicy(c.allow, c.rules).Filter(Subject{Name: "anna"}).Whole; got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
