package skillsext

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/skill"
)

const mainText = "---\nname: git-flow\ndescription: Branches.\ndate: 2026-01-02\nn: 1.50\nlist: [1, {a: b}]\n---\n\nBody\n"

func good() *Skill {
	res := func(path, text string) Resource {
		return Resource{"skill://git-flow/" + path, skill.DigestOf([]byte(text)).String(), int64(len(text))}
	}
	return &Skill{
		URI:         "skill://git-flow/SKILL.md",
		Frontmatter: Frontmatter(`{"name":"git-flow","description":"Branches.","date":"2026-01-02","n":1.5,"list":[1,{"a":"b"}]}`),
		Resources:   StaticResources(res("SKILL.md", mainText), res("a%20b.txt", "text"), res("empty", "")),
	}
}

func TestVerifyResource(t *testing.T) {
	for _, x := range []struct {
		name, uri, data string
		want            string
	}{
		{"as listed", "skill://git-flow/a%20b.txt", "text", ""},
		{"in another spelling", "skill://git%2Dflow/a%20%62.txt", "text", ""},
		{"empty", "skill://git-flow/empty", "", ""},
		{"shorter", "skill://git-flow/a%20b.txt", "tex", reasonSize},
		{"longer", "skill://git-flow/empty", "x", reasonSize},
		{"as long, other bytes", "skill://git-flow/a%20b.txt", "tExt", reasonDigest},
		{"not listed", "skill://git-flow/c.txt", "text", reasonUnlisted},
		{"of another skill", "skill://git/a%20b.txt", "text", reasonUnlisted},
		{"no URI", "", "text", reasonUnlisted},
	} {
		err := VerifyResource(good(), x.uri, []byte(x.data))
		var failed *VerificationError
		if errors.As(err, &failed); err != nil && failed.Reason != x.want || err == nil && x.want != "" {
			t.Errorf("%s: %v", x.name, err)
		}
	}
	generated := &Skill{URI: "skill://git-flow/SKILL.md", Resources: DynamicResources()}
	if err := VerifyResource(generated, "skill://git-flow/anything", nil); err != nil {
		t.Error(err)
	}
	if VerifyResource(generated, "skill://git-flow-2/anything", nil) == nil {
		t.Error("a file outside of a generated skill is taken")
	}
}

func TestVerifySkillMD(t *testing.T) {
	if err := VerifySkillMD(good(), []byte(mainText)); err != nil {
		t.Error(err)
	}
	if VerifySkillMD(good(), []byte(strings.Replace(mainText, "Body", "Bady", 1))) == nil {
		t.Error("other bytes are taken")
	}
	for name, frontmatter := range map[string]string{
		"a field less":     `{"name":"git-flow","description":"Branches.","date":"2026-01-02","n":1.5}`,
		"a field more":     `{"name":"git-flow","description":"Branches.","date":"2026-01-02","n":1.5,"list":[1,{"a":"b"}],"allowed-tools":"Bash"}`,
		"another text":     `{"name":"git-flow","description":"branches.","date":"2026-01-02","n":1.5,"list":[1,{"a":"b"}]}`,
		"another type":     `{"name":"git-flow","description":"Branches.","date":"2026-01-02","n":"1.5","list":[1,{"a":"b"}]}`,
		"another number":   `{"name":"git-flow","description":"Branches.","date":"2026-01-02","n":1.51,"list":[1,{"a":"b"}]}`,
		"null":             `{"name":"git-flow","description":"Branches.","date":null,"n":1.5,"list":[1,{"a":"b"}]}`,
		"list order":       `{"name":"git-flow","description":"Branches.","date":"2026-01-02","n":1.5,"list":[{"a":"b"},1]}`,
		"a longer list":    `{"name":"git-flow","description":"Branches.","date":"2026-01-02","n":1.5,"list":[1,{"a":"b"},2]}`,
		"inside a mapping": `{"name":"git-flow","description":"Branches.","date":"2026-01-02","n":1.5,"list":[1,{"a":"c"}]}`,
		"no object":        `[]`,
	} {
		s := good()
		s.Frontmatter = Frontmatter(frontmatter)
		var failed *VerificationError
		if err := VerifySkillMD(s, []byte(mainText)); !errors.As(err, &failed) || failed.Reason != reasonFrontmatter {
			t.Errorf("%s: %v", name, err)
		}
	}
	reordered := good()
	reordered.Frontmatter = Frontmatter(`{"list":[1.0,{"a":"b"}],"n":15e-1,"date":"2026-01-02","description":"Branches.","name":"git-flow"}`)
	if err := VerifySkillMD(reordered, []byte(mainText)); err != nil {
		t.Error(err)
	}
	repaired := "---\nname: git-flow\ndescription: a: b\n---\n" // readers disagree about it
	if _, err := frontmatterDifferences(Frontmatter(`{"name":"git-flow","description":"a: b"}`), []byte(repaired)); err == nil {
		t.Error("repaired frontmatter is taken")
	}
	for _, text := range []string{"no frontmatter", "---\nname: git-flow\ndescription: a: b\n---\n", "", "\xff"} {
		s := &Skill{URI: "skill://git-flow/SKILL.md", Frontmatter: Frontmatter(`{"name":"git-flow"}`),
			Resources: StaticResources(Resource{"skill://git-flow/SKILL.md", skill.DigestOf([]byte(text)).String(), int64(len(text))})}
		if VerifySkillMD(s, []byte(text)) == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestSameNumber(t *testing.T) {
	for _, x := range []struct {
		a, b string
		same bool
	}{
		{"1", "1.0", true}, {"100", "1e2", true}, {"0", "-0.0", true}, {"9007199254740993", "9007199254740992", false}, {"1", "2", false},
		{"1e999999999", "1e999999998", false}, {"0." + strings.Repeat("0", 500) + "1", "0", true},
	} {
		if sameNumber(x.a, x.b) != x.same {
			t.Errorf("%.20s, %.20s", x.a, x.b)
		}
	}
}

func TestCheckEntry(t *testing.T) {
	digest := skill.DigestOf(nil).String()
	list := func(n int, size int64) Resources {
		out := []Resource{{"skill://git-flow/SKILL.md", digest, size}}
		for i := 1; i < n; i++ {
			out = append(out, Resource{"skill://git-flow/" + strings.Repeat("f", i), digest, 0})
		}
		return StaticResources(out...)
	}
	fm := func(more string) Frontmatter { return Frontmatter(`{"name":"git-flow","description":"x"` + more + `}`) }
	for name, x := range map[string]struct {
		skill Skill
		want  int // problems
	}{
		"good":           {Skill{"skill://git-flow/SKILL.md", fm(""), list(512, 16<<20)}, 0},
		"prefixed":       {Skill{"skill://acme/git-flow/SKILL.md", fm(""), DynamicResources()}, 0},
		"another scheme": {Skill{"github://acme/git-flow/SKILL.md", fm(""), DynamicResources()}, 0},
		"too many files": {Skill{"skill://git-flow/SKILL.md", fm(""), list(513, 0)}, 1},
		"too many bytes": {Skill{"skill://git-flow/SKILL.md", fm(""), list(1, 16<<20+1)}, 1},
		"no SKILL.md":    {Skill{"skill://git-flow/README.md", fm(""), list(1, 0)}, 1},
		"no folder":      {Skill{"skill:///SKILL.md", fm(""), list(1, 0)}, 1},
		"other name":     {Skill{"skill://flow/SKILL.md", fm(""), DynamicResources()}, 1},
		"bad name":       {Skill{"skill://Git/SKILL.md", Frontmatter(`{"name":"Git","description":"x"}`), DynamicResources()}, 1},
		"no name":        {Skill{"skill://git-flow/SKILL.md", Frontmatter(`{"description":"x"}`), DynamicResources()}, 1},
		"no description": {Skill{"skill://git-flow/SKILL.md", Frontmatter(`{"name":"git-flow"}`), DynamicResources()}, 1},
		"long":           {Skill{"skill://git-flow/SKILL.md", Frontmatter(`{"name":"git-flow","description":"` + strings.Repeat("ü", 1025) + `"}`), DynamicResources()}, 1},
		"compatibility":  {Skill{"skill://git-flow/SKILL.md", fm(`,"compatibility":""`), DynamicResources()}, 1},
		"metadata":       {Skill{"skill://git-flow/SKILL.md", fm(`,"metadata":{"v":1}`), DynamicResources()}, 1},
		"metadata list":  {Skill{"skill://git-flow/SKILL.md", fm(`,"metadata":[]`), DynamicResources()}, 1},
		"no object":      {Skill{"skill://git-flow/SKILL.md", Frontmatter(`"x"`), DynamicResources()}, 1},
		"not complete":   {Skill{"skill://git-flow/SKILL.md", fm(""), StaticResources()}, 1},
		"twice":          {Skill{"skill://git-flow/SKILL.md", fm(""), StaticResources(Resource{"skill://git-flow/SKILL.md", digest, 0}, Resource{"skill://git-flow/%53KILL.md", digest, 0})}, 1},
		"outside":        {Skill{"skill://git-flow/SKILL.md", fm(""), StaticResources(Resource{"skill://git-flow/SKILL.md", digest, 0}, Resource{"skill://git-flow-2/x", digest, 0})}, 1},
		"digest":         {Skill{"skill://git-flow/SKILL.md", fm(""), StaticResources(Resource{"skill://git-flow/SKILL.md", strings.ToUpper(digest), 0})}, 1},
		"negative":       {Skill{"skill://git-flow/SKILL.md", fm(""), StaticResources(Resource{"skill://git-flow/SKILL.md", digest, -1})}, 1},
	} {
		if got := checkEntry(&x.skill); len(got) != x.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWire(t *testing.T) {
	s := good()
	b, err := rawjson.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Skill
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, &back, cmp.AllowUnexported(Resources{})); diff != "" {
		t.Error(diff)
	}
	if b, _ := rawjson.Marshal(Skill{Frontmatter: Frontmatter(`{"b":"<&>","a":1}`), Resources: DynamicResources()}); string(b) != `{"uri":"","frontmatter":{"b":"<&>","a":1},"resources":"dynamic"}` {
		t.Errorf("%s", b)
	}
	for _, bad := range []string{`"static"`, `null`, `{}`, `1`, `[1]`, `true`} {
		var r Resources
		if json.Unmarshal([]byte(bad), &r) == nil && bad != "null" || bad == "null" && r.UnmarshalJSON([]byte(bad)) == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
