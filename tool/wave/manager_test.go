package wave

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/lookup"
)

const shopSkills = "/home/ana/shop/.claude/skills/"

func TestSkillManager(t *testing.T) {
	m := &SkillManager{Finder: waveFinder(t)}
	difftest.Same(t, m.Initialize(t.Context()), nil)
	one := SkillMetadata{"skill-1", "Description of skill 1", "project", shopSkills + "skill-1"}
	two := SkillMetadata{"skill-2", "Description of skill 2", "personal", "/home/ana/.claude/skills/skill-2"}
	all := m.AvailableSkills()
	difftest.Same(t, len(all), 5)
	difftest.Same(t, []SkillMetadata{all[1], all[4]}, []SkillMetadata{one, two})

	got, err := m.LoadSkill(t.Context(), "skill-1")
	difftest.Same(t, err, nil)
	difftest.Same(t, got, &Skill{SkillMetadata: one, Content: md("skill-1", "Description of skill 1"),
		Frontmatter: SkillFrontmatter{"skill-1", "Description of skill 1", json.RawMessage(`{"name":"skill-1","description":"Description of skill 1"}`)}})
	none, err := m.LoadSkill(t.Context(), "nope")
	if none != nil || err != nil {
		t.Errorf("a skill that does not exist: %v, %v", none, err)
	}
	_, err = m.LoadSkill(t.Context(), "nodesc")
	var details *SkillErrorDetails
	if !errors.As(err, &details) {
		t.Fatalf("an invalid skill: %v", err)
	}
	difftest.Same(t, details, &SkillErrorDetails{SkillInvalid, "nodesc", "2:1: description is missing",
		[]string{"add a line description: that says what the skill does and when to use it"}, []string{"meta", "skill-1", "dup", "shadowed", "skill-2"}})

	found, err := m.Discover(t.Context())
	difftest.Same(t, err, nil)
	difftest.Same(t, found.ProjectSkills["skill-1"], one)
	difftest.Same(t, found.PersonalSkills["skill-2"], two)
	difftest.Same(t, found.PersonalSkills["skill-1"].Description, "shadowed")
	difftest.Same(t, []int{len(found.ProjectSkills), len(found.PersonalSkills), len(found.Errors)}, []int{2, 5, 8})
	for _, e := range found.Errors {
		if e.SkillPath == shopSkills+"nodesc" {
			difftest.Same(t, e.Message, "2:1: description is missing")
		}
	}
}

// TestSkillManagerProject checks that the working folder of a call determines the project.
func TestSkillManagerProject(t *testing.T) {
	finders := map[string]*lookup.Finder{}
	for _, dir := range []string{"/one", "/two"} {
		finders[dir] = finderOf(t, project(map[string]string{"here/SKILL.md": md("here", "In "+dir)}))
	}
	m := &SkillManager{Finder: finderOf(t, global(map[string]string{"here/SKILL.md": md("here", "At home")})), Project: func(_ context.Context, dir string) (*lookup.Finder, error) {
		if f := finders[dir]; f != nil {
			return f, nil
		}
		return nil, fs.ErrNotExist
	}}
	for dir, want := range map[string]string{"/one": "here: In /one", "/two": "here: In /two", "": "here: At home"} {
		r, err := m.Execute(t.Context(), SkillToolArgs{"here"}, ToolContext{Workdir: dir})
		difftest.Same(t, err, nil)
		difftest.Same(t, r.ShortResult, want)
	}
	if _, err := m.Execute(t.Context(), SkillToolArgs{"here"}, ToolContext{Workdir: "/three"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a project that cannot be opened: %v", err)
	}
}

func TestManagerJSON(t *testing.T) {
	meta := SkillMetadata{"n", "d", "project", "/p"}
	const asJSON = `{"name":"n","description":"d","type":"project","skillPath":"/p"}`
	front := SkillFrontmatter{"n", "d", json.RawMessage(`{"name":"n","x":1}`)}
	for _, tt := range []struct {
		v    any
		want string
	}{
		{meta, asJSON},
		{front, `{"name":"n","x":1}`},
		{SkillFrontmatter{Name: "n", Description: "d"}, `{"name":"n","description":"d"}`},
		{SkillError{"/p", "m"}, `{"skillPath":"/p","message":"m"}`},
		{ToolContext{"/w"}, `{"workdir":"/w"}`},
		{SkillDiscoveryResult{map[string]SkillMetadata{"n": meta}, map[string]SkillMetadata{}, []SkillError{}}, `{"personalSkills":{"n":` + asJSON + `},"projectSkills":{},"errors":[]}`},
		{ParsedSkillFile{Frontmatter: front, Content: "c", SkillMetadata: meta, ValidationErrors: []string{}, IsValid: true}, `{"frontmatter":{"name":"n","x":1},"content":"c","skillMetadata":` + asJSON + `,"validationErrors":[],"isValid":true}`},
		{Skill{SkillMetadata: meta, Frontmatter: front, Content: "c"}, `{"name":"n","description":"d","type":"project","skillPath":"/p","frontmatter":{"name":"n","x":1},"content":"c"}`},
	} {
		got, err := json.Marshal(tt.v)
		difftest.Same(t, err, nil)
		difftest.Same(t, string(got), tt.want)
	}
}

func TestParseSkillFile(t *testing.T) {
	files := project(map[string]string{
		"s/skill-name/SKILL.md": "---\nname: skill-name\ndescription: Brief\n---\n\n# Skill Content\n[a](../../etc/passwd)\n",
		"s/other/SKILL.md":      "---\nname: Skill_Name\ndescription: \n---\nbody",
		"s/broken/SKILL.md":     "---\nname: [\n---\n",
		"s/latin/SKILL.md":      "---\nname: latin\ndescription: \xe9\n---\n",
	}).Files
	difftest.Same(t, ParseSkillFile(files, "s/skill-name/SKILL.md", skill.ScopeProject), ParsedSkillFile{
		Frontmatter: SkillFrontmatter{"skill-name", "Brief", json.RawMessage(`{"name":"skill-name","description":"Brief"}`)},
		Content:     "\n# Skill Content\n[a](../../etc/passwd)\n", SkillMetadata: SkillMetadata{"skill-name", "Brief", "project", "s/skill-name"},
		ValidationErrors: []string{}, IsValid: true, Warnings: []string{"7: '../../etc/passwd' leads outside the skill's folder and is not followed"},
	})
	for path, want := range map[string]string{
		"s/other/SKILL.md":  "2:7: 'Skill_Name' is not made of a-z, 0-9 and single inner hyphens; 2:7: the folder is called 'other', not 'Skill_Name'; 3:13: description is empty",
		"s/none/SKILL.md":   "cannot be read: no such file",
		"../x/SKILL.md":     "'../x/SKILL.md' is not the path of a file",
		"/etc/SKILL.md":     "'/etc/SKILL.md' is not the path of a file",
		"s/latin/SKILL.md":  "3:14: the file is not valid UTF-8",
		"s/broken/SKILL.md": "",
	} {
		p := ParseSkillFile(files, path, skill.ScopeGlobal)
		got := strings.Join(p.ValidationErrors, "; ")
		if p.IsValid || want != "" && got != want || got == "" || p.SkillMetadata.Type != "personal" {
			t.Errorf("%s: %+v", path, p)
		}
	}
}

func TestReferences(t *testing.T) {
	body := strings.Join([]string{
		"[in](references/a.md) ![in](./b.png#x) [in](a/../c.md) [web](https://x/../..) [mail](mailto:a@b) [same](#part) [host](//example.com/x)",
		"[out](../sibling/SKILL.md) and [two](/etc/passwd 'title')",
		"[encoded](%2e%2e/x) [angle](<../a b.md>) [drive](C:\\x) [home](~/.ssh/id_rsa) [file](file:///etc/passwd)",
		"  [def]: ../out.md",
		"`[code](../x)` and ``[code](../x)``",
		"```", "[code](../x)", "```", "~~~~md", "[code](../x)", "~~~", "[code](../x)", "~~~~",
		"[last](..\\x)",
	}, "\n")
	got := warnings([]byte("---\nname: x\ndescription: d\n---\n" + body))
	var want []string
	for _, w := range []string{"6: '../sibling/SKILL.md'", "6: '/etc/passwd'", "7: '%2e%2e/x'", "7: '../a b.md'", "7: 'C:\\x'", "7: '~/.ssh/id_rsa'", "7: 'file:///etc/passwd'", "8: '../out.md'", "18: '..\\x'"} {
		want = append(want, w+" leads outside the skill's folder and is not followed")
	}
	difftest.Same(t, got, want)
	difftest.Same(t, len(warnings([]byte(md("x", "d")+strings.Repeat("[x](../x)\n", 100)))), warningLimit)
	// A reference that leaves the folder is not a fault: the whole skill loads.
	f := finderOf(t, project(map[string]string{"x/SKILL.md": md("x", "d") + "[out](../y/SKILL.md)\n", "y/SKILL.md": "CANARY"}))
	r := execute(t, f, "x")
	if !r.Success || strings.Contains(r.Content, "CANARY") || !strings.HasSuffix(r.Content, "[out](../y/SKILL.md)\n") {
		t.Errorf("%q", r.Content)
	}
}
