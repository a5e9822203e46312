package tool

import (
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/lookup"
)

// These tests check contract 004.

func got(uri, text string) Result {
	return Result{Text: "URI: " + uri + "\n\n" + text, Object: skillDocument{uri, "text/markdown", text}, WritesIsError: true}
}

const (
	gitURI    = "skill://claude-project/git/SKILL.md"
	engageURI = "skill://engage/SKILL.md"
)

// TestGetByURIRenamed checks that the URI of a skill under its old name is not supported after the
// skill was renamed.
func TestGetByURIRenamed(t *testing.T) {
	root := project(map[string]string{"git/SKILL.md": md("git", "d")})
	h := hostOf(t, root)
	difftest.Same(t, call(t, h, "uri", "get_skill", args{"uri": gitURI}), got(gitURI, md("git", "d")))
	root.Put("git/SKILL.md", md("other", "d"))
	for range 2 {
		if r := call(t, h, "uri", "get_skill", args{"uri": gitURI}); !r.IsError || !strings.HasPrefix(r.Text, "Unsupported skill URI: "+gitURI+"\n") || strings.Count(r.Text, gitURI) != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// TestURIsAgree checks that list_skills, the "currently supported" URIs and the answers of
// get_skill cover the same skills. These include shadowed skills and copies, but no skipped skill
// and none that is hidden from models.
func TestURIsAgree(t *testing.T) {
	h := hostOf(t, project(map[string]string{"git/SKILL.md": md("git", "one"), "again/SKILL.md": md("git", "one"), "hidden/SKILL.md": "---\nname: hidden\ndescription: d\ndisable-model-invocation: true\n---\n"}),
		global(map[string]string{"git/SKILL.md": md("git", "two"), "same/SKILL.md": md("git", "one"), "bad/SKILL.md": "no skill", "hidden/SKILL.md": "---\nname: git\ndescription: d\ndisable-model-invocation: true\n---\n"}))
	var answered, uris []string
	for _, e := range viewOf(t, h).Entries {
		if uri := e.URI().String(); !call(t, h, "uri", "get_skill", args{"uri": uri}).IsError {
			answered = append(answered, uri)
		}
	}
	for _, s := range call(t, h, "uri", "list_skills", args{}).Object.(skillList).Skills {
		uris = append(uris, s.URI)
	}
	_, text, _ := strings.Cut(call(t, h, "uri", "get_skill", args{"uri": "skill://x/SKILL.md"}).Text, "Currently supported: ")
	supported := strings.Split(text, ", ")
	for _, all := range [][]string{answered, uris, supported} {
		slices.Sort(all)
	}
	if len(answered) != 4 {
		t.Errorf("%q is answered", answered)
	}
	difftest.Same(t, uris, answered)
	difftest.Same(t, supported, answered)
}

// TestListByURIIsBudgeted checks that every URI is listed for any number of skills, with shortened
// descriptions.
func TestListByURIIsBudgeted(t *testing.T) {
	for _, n := range []int{50, 150, 400} {
		r := call(t, hostOf(t, many(n, 600)), "uri", "list_skills", args{})
		difftest.Same(t, strings.Count(r.Text, "skill://"), n)
		difftest.Same(t, len(r.Object.(skillList).Skills), n)
		if n <= 150 && display.Length(r.Text) > listing.Budget || !strings.HasSuffix(r.Text, "\n(descriptions are shortened to fit; get_skill shows a skill whole)") {
			t.Errorf("%d: %d characters, …%q", n, display.Length(r.Text), r.Text[len(r.Text)-100:])
		}
	}
}

func TestSetsClash(t *testing.T) {
	_, err := ParseSets("runner,uri")
	if err == nil {
		t.Fatal("two tools are called get_skill")
	}
	difftest.Same(t, err.Error(), "the tool sets runner and uri both have tools called list_skills and get_skill (contracts 000 and 004); serve them from two servers, each with one of the sets")
	tools, err := ParseSets("runner,default")
	difftest.Same(t, err, nil)
	difftest.Same(t, labels(tools), []string{"list_skills (000)", "get_skill (000)", "read_file_in_skill (001)", "skill (002)", "find_skills (find_skills)"})
}

// TestGetByURIOddNames checks that a bare name is only a key: after decoding it once, it may have
// characters that no path has.
func TestGetByURIOddNames(t *testing.T) {
	odd, pipeline := md("'a:b'", "d"), md("CI/CD Pipeline", "d")
	h := hostOf(t, project(map[string]string{"odd/SKILL.md": odd, "ci/SKILL.md": pipeline, "x/SKILL.md": md("x", "d")}))
	skills := call(t, h, "uri", "list_skills", args{}).Object.(skillList).Skills
	by := map[string]string{}
	for _, s := range skills {
		by[s.Name] = s.URI
	}
	for uri, want := range map[string]Result{
		"skill://a%3Ab/SKILL.md":                got(by["a:b"], odd),
		"skill://a:b/SKILL.md":                  got(by["a:b"], odd),
		"skill://CI%2FCD%20Pipeline/SKILL.md":   got(by["CI/CD Pipeline"], pipeline),
		"skill://ci%2fcd%20pipeline/SKILL.md":   got(by["CI/CD Pipeline"], pipeline),
		"skill://claude-project%3Ax/SKILL.md":   got(by["x"], md("x", "d")),
		"SKILL://CI%2FCD%20Pipeline/SKILL.md":   got(by["CI/CD Pipeline"], pipeline),
		"skill://CI%2FCD%20Pipeline/SKILL%2Emd": got(by["CI/CD Pipeline"], pipeline),
	} {
		difftest.Same(t, call(t, h, "uri", "get_skill", args{"uri": uri}), want)
	}
	for _, uri := range []string{
		"skill://CI%252FCD%20Pipeline/SKILL.md", "skill://CI%2FCD%20Pipeline/x.md", "skill://CI%2FCD%20Pipeline", "skill://CI%2FCD%20Pipeline%2FSKILL.md",
		"skill://..%2Fproject%2Fci/SKILL.md", "skill://ci%2F/SKILL.md", "skill:///SKILL.md", "skill://u@CI%2FCD%20Pipeline/SKILL.md", "skill://CI%2FCD%20Pipeline/SKILL.md?x", "skill://%zz/SKILL.md",
	} {
		if r := call(t, h, "uri", "get_skill", args{"uri": uri}); !r.IsError || !strings.HasPrefix(r.Text, "Unsupported skill URI: ") {
			t.Errorf("%s: %+v", uri, r)
		}
	}
}

// TestEngageAlwaysAnswers checks that skill://engage/SKILL.md always answers: with a skill of the
// user that models may read, or else with the unlisted built-in text.
func TestEngageAlwaysAnswers(t *testing.T) {
	hidden := "---\nname: engage\ndescription: d\ndisable-model-invocation: true\n---\n"
	own := md("engage", "mine")
	builtin := got(engageURI, "# Built in")
	deleted := project(map[string]string{"engage/SKILL.md": own})
	hiddenThere := project(map[string]string{"engage/SKILL.md": hidden})
	hiddenThere.In.Prefix = ""
	for name, tt := range map[string]struct {
		root *skilltest.Memory
		want Result
	}{
		"none":         {project(nil), builtin},
		"own":          {project(map[string]string{"engage/SKILL.md": own}), got("skill://claude-project/engage/SKILL.md", own)},
		"hidden":       {project(map[string]string{"engage/SKILL.md": hidden}), builtin},
		"hidden there": {hiddenThere, builtin},
		"deleted":      {deleted, builtin},
	} {
		h := hostOf(t, tt.root)
		delete(deleted.Files, "engage/SKILL.md")
		h.Engage = func() string { return "# Built in" }
		difftest.Same(t, call(t, h, "uri", "get_skill", args{"uri": engageURI}), tt.want)
		if r := call(t, h, "uri", "get_skill", args{"uri": "skill://nope/SKILL.md"}); !r.IsError || strings.Contains(r.Text, engageURI) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	h := hostOf(t, project(nil))
	difftest.Same(t, call(t, h, "uri", "get_skill", args{"uri": engageURI}).IsError, true)
	h.Engage = func() string { return "# Built in" }
	uri, _ := skill.ParseURI(engageURI)
	d, err := h.Document(t.Context(), uri)
	difftest.Same(t, d, lookup.Document{Text: "# Built in", ModelInvocable: true})
	difftest.Same(t, err, nil)
}
