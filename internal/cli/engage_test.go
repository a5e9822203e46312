package cli_test

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/tool"
)

// TestEngageFollowsTheTools checks that the skill engage names exactly the served tools, and calls
// each with valid arguments.
func TestEngageFollowsTheTools(t *testing.T) {
	var every []string
	for _, set := range tool.SetNames() {
		tools, err := tool.ParseSets(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range tools {
			every = append(every, tl.Name)
		}
	}
	slices.Sort(every)
	every = slices.Compact(every)
	for _, sets := range append(tool.SetNames(), "", "universal,runner", "default,wave", "wave,uri", "runner,universal,default", "default,default") {
		tools, err := tool.ParseSets(cmp.Or(sets, tool.DefaultSet))
		if err != nil {
			t.Fatal(err)
		}
		var given, served, named []string
		if sets != "" {
			given = strings.Split(sets, ",")
		}
		text := builtin.New(given...).Engage()
		for _, name := range every {
			if slices.ContainsFunc(tools, func(tl *tool.Tool) bool { return tl.Name == name }) {
				served = append(served, name)
			}
			if regexp.MustCompile("`" + name + "(`| {)").MatchString(text) {
				named = append(named, name)
			}
		}
		if diff := gocmp.Diff(served, named); diff != "" {
			t.Errorf("%q: served and named (-+): %s", sets, diff)
		}
		for _, m := range regexp.MustCompile("`([A-Za-z_]+) ({[^`]*})`").FindAllStringSubmatch(text, -1) {
			var arguments map[string]any
			if err := json.Unmarshal([]byte(m[2]), &arguments); err != nil {
				t.Errorf("%q: %s: %v", sets, m[0], err)
			}
			if !slices.ContainsFunc(tools, func(tl *tool.Tool) bool { return tl.Name == m[1] && takes(t, tl, arguments) }) {
				t.Errorf("%q: no tool takes %s", sets, m[0])
			}
		}
	}
}

// takes reports whether arguments satisfy a tool's schema.
func takes(t *testing.T, tl *tool.Tool, arguments map[string]any) bool {
	t.Helper()
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(tl.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	for key := range arguments {
		if schema.Properties[key] == nil {
			return false
		}
	}
	return !slices.ContainsFunc(tl.Required(), func(key string) bool { return arguments[key] == nil })
}

// TestEngageByCommand checks that engage is about the tools that a command serves. A command that
// prints a skill uses the engage of the default set.
func TestEngageByCommand(t *testing.T) {
	const call = `{"name":"get_skill","arguments":{"skill_name":"engage"}}`
	dir := t.TempDir()
	for _, c := range []struct {
		args        []string
		stdin, want string
	}{
		{[]string{"show", "engage"}, "", "`find_skills {}`"},
		{[]string{"show", "engage", "--as", "wave:Skill"}, "", "`Skill {"},
		{[]string{"show", "engage", "--as", "runner:get_skill"}, "", "`get_skill {"},
		{[]string{"show", "skill://engage/SKILL.md", "--as", "uri:get_skill", "--no-builtin"}, "", "`get_skill {\"uri\": "},
		{[]string{"call", "--tools", "runner", "--format", "mcp"}, call, "`list_skills {}`"},
	} {
		out, stderr, code := ranWith(t, dir, c.stdin, c.args...)
		out = strings.ReplaceAll(out, `\"`, `"`)
		if code != 0 || !strings.Contains(out, c.want) || c.args[1] != "engage" && strings.Contains(out, "find_skills") {
			t.Errorf("%q: %d %s %.300s", c.args, code, stderr, out)
		}
	}
}

// TestShadowedNames checks a claim of engage about skills with equal names: in one root, such a
// skill loads with the root's label and the folder's path.
func TestShadowedNames(t *testing.T) {
	dir := t.TempDir()
	for _, at := range []string{"a/review", "b/review"} {
		put(t, filepath.Join(dir, at, "SKILL.md"), "---\nname: review\ndescription: in "+at+"\n---\n")
	}
	out, stderr, code := ranWith(t, dir, `{"name":"find_skills","arguments":{}}`, "call", "--format", "mcp", "--dir", ".", "--no-builtin")
	if code != 0 || !strings.Contains(out, "dir-1:b:review") {
		t.Fatalf("%d %s %s", code, stderr, out)
	}
	for _, name := range []string{"dir-1:b:review", "skill://b/review/SKILL.md"} {
		if out, stderr, code := ran(t, dir, "show", name, "--as", "skill", "--dir", ".", "--no-builtin"); code != 0 || !strings.Contains(out, "in b/review") {
			t.Errorf("%s: %d %s %s", name, code, stderr, out)
		}
	}
	text := strings.Join(strings.Fields(builtin.New().Engage()), " ")
	if !strings.Contains(text, "if both are in one root, with the path of its folder, a colon for each slash, as in `skill {\"name\": \"claude-user:team:review\"}`") {
		t.Error("engage does not say how to load one of two skills in one root")
	}
}
