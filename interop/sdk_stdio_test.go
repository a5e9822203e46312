// Package interop tests a built knack with third-party clients.
package interop

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	// The code of the binary under test, so that a change to it invalidates cached results.
	_ "github.com/knack-dev/knack/internal/cli"
)

// seen is the output of sdk_stdio.mjs.
type seen struct {
	Server       struct{ Name string }
	Capabilities struct {
		Tools, Resources struct{ ListChanged bool }
	}
	Instructions string
	Tools        []struct {
		Name, Title string
		InputSchema struct{ Type string }
	}
	Resources []struct {
		URI, Name, Description, MIMEType string
		Size                             int
	}
	Call, Call2 struct {
		Name   string
		Result result
	}
	Skill, Binary, Empty struct {
		URI      string
		Contents []content
	}
	Change struct {
		URI                                                                string
		ToolsChangedMs, ResourcesChangedMs, ToolListedMs, ResourceListedMs *int
	}
	Errors []string
	Stderr string
}

type result struct {
	IsError bool
	Content []struct{ Type, Text string }
}

type content struct {
	URI, MIMEType, Form string
	Size                int
	Same                bool
}

const (
	oddMD    = "\ufeff---\r\nname: a-odd\r\ndescription: CRLF and a byte-order mark.\r\n---\r\nOdd.\r\n"
	gitMD    = "---\nname: git\ndescription: Commits & <merges>.\n---\n# Git\n"
	nestedMD = "---\nname: hooks\ndescription: Nested.\n---\n"
)

// fixture makes a tree whose odd file names sort first, so that the script reads these files.
func fixture(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	err := put(root, map[string]string{
		"a-odd/SKILL.md":            oddMD,
		"a-odd/!0 ä#%41.bin":        "\x00\x01\xff",
		"a-odd/!1 [empty] 'x'.txt":  "",
		"git/SKILL.md":              gitMD,
		"git/hooks/SKILL.md":        nestedMD,
		"git/hooks/pre-commit.sh":   "#!/bin/sh\n",
		"git/references/merge.md":   "Merge.\r\n",
		"git/.env":                  "CANARY",
		"skipped/SKILL.md":          "---\nname: skipped\n---\n",
		"skipped/not-served.txt":    "x",
		"git/references/.hidden.md": "CANARY",
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestInteropSDKStdio checks knack with the SDK inside most of today's agents. The SDK lists and
// loads skills, reads a binary and an empty file, and is notified of a new skill before the
// periodic refresh.
func TestInteropSDKStdio(t *testing.T) {
	t.Parallel()
	program, root := node(t, "sdk"), fixture(t)
	r := start(t, program, script(t, "sdk_stdio.mjs"), knack(t), root)
	if r.code != 0 {
		t.Fatalf("exit status %d: %s", r.code, r.stderr)
	}
	var got seen
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}

	check := func(what string, want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	check("server", "knack", got.Server.Name)
	check("capabilities", []bool{true, true}, []bool{got.Capabilities.Tools.ListChanged, got.Capabilities.Resources.ListChanged})
	check("instructions", "3 skills: a-odd, git, hooks. First load what fits, with this server's tool `skill`.\n\n"+
		"A skill is instructions for one kind of task. If the application has a tool of its own for skills, that one does not know these. "+
		"`read_file_in_skill` reads the other files of a skill. `find_skills` searches all skills by topic.\n\n"+
		"The skills:\n- a-odd: CRLF and a byte-order mark.\n- git: Commits & <merges>.\n- hooks: Nested.\n\n"+
		"1 skill was skipped: skipped. `find_skills` says why.", got.Instructions)
	check("errors", []string{}, got.Errors)

	var tools []string
	for _, tool := range got.Tools {
		tools = append(tools, tool.Name+" ("+tool.Title+") "+tool.InputSchema.Type)
	}
	check("tools", []string{"skill (Load Skill) object", "read_file_in_skill (Read File in Skill) object", "find_skills (Find Skills) object"}, tools)

	type resource = struct {
		URI, Name, Description, MIMEType string
		Size                             int
	}
	resources := make([]resource, len(got.Resources))
	for i, r := range got.Resources {
		resources[i] = resource(r)
	}
	check("resources", []resource{
		{"skill://a-odd/SKILL.md", "a-odd", "CRLF and a byte-order mark.", "text/markdown", len(oddMD)},
		{"skill://git/SKILL.md", "git", "Commits & <merges>.", "text/markdown", len(gitMD)},
		{"skill://git/hooks/SKILL.md", "hooks", "Nested.", "text/markdown", len(nestedMD)},
	}, resources)

	check("call", result{Content: []struct{ Type, Text string }{
		{"text", "Loading: a-odd\nBase directory: " + filepath.Join(root, "a-odd") + "\n\n" + oddMD},
	}}, got.Call.Result)
	check("skill", []content{{"skill://a-odd/SKILL.md", "text/markdown", "text", len(oddMD), true}}, got.Skill.Contents)
	binaryURI, emptyURI := "skill://a-odd/!0%20%C3%A4%23%2541.bin", "skill://a-odd/!1%20%5Bempty%5D%20'x'.txt"
	check("binary", []content{{binaryURI, "application/octet-stream", "blob", 3, true}}, got.Binary.Contents)
	check("empty", []content{{emptyURI, "text/plain", "blob", 0, true}}, got.Empty.Contents)

	for what, ms := range map[string]*int{
		"tools/list_changed": got.Change.ToolsChangedMs, "resources/list_changed": got.Change.ResourcesChangedMs,
		"tools/list": got.Change.ToolListedMs, "resources/list": got.Change.ResourceListedMs,
	} {
		if ms == nil {
			t.Errorf("the new skill is not in %s", what)
			continue
		}
		t.Logf("the new skill is in %s after %d ms", what, *ms)
	}
	check("the new skill", result{Content: []struct{ Type, Text string }{{"text", "Loading: interop-added\nBase directory: " +
		filepath.Join(root, "interop-added") + "\n\n---\nname: interop-added\ndescription: Appears while the server runs.\n---\n\n# Added\n"}}}, got.Call2.Result)
}
