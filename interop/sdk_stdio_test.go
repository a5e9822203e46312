// Package interop drives a built knack with clients that nobody here wrote.
package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	// The binary under test, so that a change to it is a reason to test again.
	_ "github.com/knack-dev/knack/internal/cli"
)

// seen is what sdk_stdio.mjs prints.
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

// fixture is a tree whose odd file names sort first, so that they are what the
// script asks for.
func fixture(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
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
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// needs skips with a message where the client is not installed. Continuous
// integration always has it.
func needs(t *testing.T) string {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("CI") != "" {
		missing = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("node is not installed: %v", err)
	}
	for _, file := range []string{"sdk_stdio.mjs", "package-lock.json"} {
		if _, err := os.ReadFile(file); err != nil { // the test cache looks at what is read here
			t.Fatal(err)
		}
	}
	if _, err := os.Stat("node_modules/@modelcontextprotocol/sdk"); err != nil {
		missing("no client; run npm ci --prefix interop: %v", err)
	}
	return node
}

// build makes the binary that users run.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "knack")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "../cmd/knack")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// TestInteropSDKStdio: the SDK inside most of today's agents lists, loads, reads
// a binary and an empty file, and hears of a new skill within two seconds.
func TestInteropSDKStdio(t *testing.T) {
	node, binary, root := needs(t), build(t), fixture(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "sdk_stdio.mjs", binary, root)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	var got seen
	if err := json.Unmarshal(out, &got); err != nil {
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
	check("instructions", "This server has 3 skills: instructions for particular kinds of task. Before a task, see whether one fits; "+
		"load it with the tool skill and follow it. The tool find_skills searches them by topic.\n\n1 skill was skipped:\n- "+
		filepath.ToSlash(root)+"/skipped/SKILL.md:2:1: description is missing (add a line description: that says what the skill does and when to use it)",
		got.Instructions)
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
		if ms == nil || *ms > 2000 {
			t.Errorf("the new skill is not in %s within 2 s", what)
		}
	}
	check("the new skill", result{Content: []struct{ Type, Text string }{{"text", "Loading: interop-added\nBase directory: " +
		filepath.Join(root, "interop-added") + "\n\n---\nname: interop-added\ndescription: Appears while the server runs.\n---\n\n# Added\n"}}}, got.Call2.Result)
}
