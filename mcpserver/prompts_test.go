package mcpserver_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/mcpserver"
)

func userMD(name, fields string) string {
	return "---\nname: " + name + "\ndescription: About " + name + ".\n" + fields + "---\n# " + name + "\n"
}

func promptNames(t *testing.T, client *mcp.ClientSession) (names []string, pages int) {
	t.Helper()
	p := &mcp.ListPromptsParams{}
	for {
		res, err := client.ListPrompts(t.Context(), p)
		must(t, err)
		pages++
		for _, one := range res.Prompts {
			names = append(names, one.Name)
		}
		if res.NextCursor == "" {
			return names, pages
		}
		p.Cursor = res.NextCursor
	}
}

func TestPrompts(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			root := tree(t, map[string]string{
				"b/SKILL.md": userMD("b", ""), "a/SKILL.md": userMD("a", ""),
				"mine/SKILL.md":   userMD("mine", "disable-model-invocation: true\n"),
				"theirs/SKILL.md": userMD("theirs", "user-invocable: false\n"),
				"z/a/SKILL.md":    userMD("A", ""), "lost/SKILL.md": "no skill",
			})
			client := connect(t, serve(t, scanned(t, folder(root))), era, nil)
			caps := client.InitializeResult().Capabilities
			if caps.Prompts == nil || !caps.Prompts.ListChanged || caps.Completions == nil {
				t.Errorf("capabilities: %+v", caps)
			}
			res, err := client.ListPrompts(t.Context(), nil)
			must(t, err)
			var got []string
			for _, p := range res.Prompts {
				got = append(got, p.Name+"|"+p.Description)
			}
			if d := cmp.Diff([]string{"a|About a.", "b|About b.", "mine|About mine."}, got); d != "" {
				t.Error(d)
			}
			for _, row := range []struct {
				name, said, folder, want string
			}{
				{"a", "", "a", userMD("a", "")},
				{"A", "", "a", userMD("a", "")},
				{"mine", "", "mine", userMD("mine", "disable-model-invocation: true\n")},
				{"b", "$ARGUMENTS !`date` <b> {{x}}", "b", userMD("b", "") + "\nThe user's request: $ARGUMENTS !`date` <b> {{x}}"},
				{"b", "  one word\n", "b", userMD("b", "") + "\nThe user's request: one word"},
				{"b", " \n", "b", userMD("b", "")},
			} {
				p := &mcp.GetPromptParams{Name: row.name}
				if row.said != "" {
					p.Arguments = map[string]string{"arguments": row.said}
				}
				res, err := client.GetPrompt(t.Context(), p)
				must(t, err)
				if len(res.Messages) != 1 || res.Messages[0].Role != "user" {
					t.Fatalf("%s: %+v", row.name, res.Messages)
				}
				want := "Base directory: " + filepath.Join(root, row.folder) + "\n\n" + row.want
				if d := cmp.Diff(want, res.Messages[0].Content.(*mcp.TextContent).Text); d != "" {
					t.Errorf("%s: %s", row.name, d)
				}
			}
			for _, p := range []*mcp.GetPromptParams{
				{Name: "theirs"}, {Name: "lost"}, {Name: ""}, {Name: "../a"}, {Name: "a\x00"}, {Name: strings.Repeat("a", 1<<16)},
				{Name: "a", Arguments: map[string]string{"x": "y"}},
			} {
				_, err := client.GetPrompt(t.Context(), p)
				if code(err) != jsonrpc.CodeInvalidParams || len(err.Error()) > 500 {
					t.Errorf("%.40q: %.600v", p.Name, err)
				}
			}
			// The text comes from the disk, even before the next scan.
			put(t, root, map[string]string{"b/SKILL.md": userMD("b", "license: MIT\n"), "a/SKILL.md": userMD("a", "user-invocable: false\n")})
			if res, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "b"}); err != nil || !strings.HasSuffix(res.Messages[0].Content.(*mcp.TextContent).Text, "\n\n"+userMD("b", "license: MIT\n")) {
				t.Errorf("changed: %v", err)
			}
			if _, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "a"}); code(err) != jsonrpc.CodeInvalidParams {
				t.Errorf("kept from people a moment ago: %v", err)
			}
		})
	}
}

// TestPromptArgumentsByClient checks that a prompt declares its argument as each client needs it.
// Clients differ in how they pass on the text after the prompt's name.
func TestPromptArgumentsByClient(t *testing.T) {
	root := tree(t, map[string]string{"a/SKILL.md": userMD("a", "")})
	for client, want := range map[string][]*mcp.PromptArgument{
		"claude-code":           nil,
		"gemini-cli-mcp-client": {{Name: "arguments", Description: "What to do with the skill", Required: true}},
		"opencode":              {{Name: "arguments", Description: "What to do with the skill"}},
		"somebody":              {{Name: "arguments", Description: "What to do with the skill"}},
	} {
		for _, era := range eras {
			session, err := mcp.NewClient(&mcp.Implementation{Name: client, Version: "2.1.330"}, nil).Connect(t.Context(), pipes(t, serve(t, scanned(t, folder(root)))), &mcp.ClientSessionOptions{ProtocolVersion: era})
			must(t, err)
			res, err := session.ListPrompts(t.Context(), nil)
			must(t, err)
			if d := cmp.Diff(want, res.Prompts[0].Arguments); d != "" {
				t.Errorf("%s, %s: %s", client, era, d)
			}
			must(t, session.Close())
		}
	}
}

// TestPromptArgumentsUnknown checks that the error always names the same of several unknown
// arguments.
func TestPromptArgumentsUnknown(t *testing.T) {
	session := connect(t, serve(t, scanned(t, folder(tree(t, map[string]string{"a/SKILL.md": userMD("a", "")})))), eras[0], nil)
	for range 20 {
		_, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "a", Arguments: map[string]string{"z": "", "y": "", "x": "", "arguments": ""}})
		if err == nil || !strings.Contains(err.Error(), "Unknown argument: x (") {
			t.Fatal(err)
		}
	}
}

// TestPromptsAreBounded checks that only the first hundred skills of the listing are listed as
// prompts, and that the log reports the others. These can still be loaded by name.
func TestPromptsAreBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 130 {
		name := fmt.Sprintf("s%03d", i)
		files[name+"/SKILL.md"] = userMD(name, "")
	}
	var log bytes.Buffer
	s := serve(t, scanned(t, skilltest.Project(files)), func(o *mcpserver.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	client := connect(t, s, "2025-11-25", nil)
	names, pages := promptNames(t, client)
	if len(names) != 100 || pages != 2 || names[0] != "s000" || names[99] != "s099" || !slices.IsSorted(names) {
		t.Errorf("%d prompts in %d pages, %v to %v", len(names), pages, names[0], names[len(names)-1])
	}
	promptNames(t, client)
	if n := strings.Count(log.String(), "skills without a prompt"); n != 1 || !strings.Contains(log.String(), "without=30") || !strings.Contains(log.String(), `"first without"=s100`) {
		t.Errorf("the log says it %d times: %s", n, log.String())
	}
	if _, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "s129"}); err != nil {
		t.Error(err)
	}
}

// TestPromptsPagesWhileSkillsChange checks that a page continues after the previous one, even if
// skills were added and removed meanwhile.
func TestPromptsPagesWhileSkillsChange(t *testing.T) {
	files := map[string]string{}
	for i := range 80 {
		name := fmt.Sprintf("s%03d", i)
		files[name+"/SKILL.md"] = userMD(name, "")
	}
	root := skilltest.Project(files)
	c := scanned(t, root)
	client := connect(t, serve(t, c), "2025-11-25", nil)
	first, err := client.ListPrompts(t.Context(), nil)
	must(t, err)
	delete(root.Files, "s003/SKILL.md")
	delete(root.Files, "s004/SKILL.md")
	root.Put("s001a/SKILL.md", userMD("s001a", ""))
	must(t, c.Refresh(t.Context()))
	second, err := client.ListPrompts(t.Context(), &mcp.ListPromptsParams{Cursor: first.NextCursor})
	must(t, err)
	if got := second.Prompts[0].Name; len(second.Prompts) != 30 || got != "s050" {
		t.Errorf("%d prompts, from %s", len(second.Prompts), got)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"deploy/SKILL.md": userMD("deploy", ""), "Deploy Notes/SKILL.md": userMD("Deploy Notes", ""), "theirs/SKILL.md": userMD("theirs", "user-invocable: false\n"),
	}
	for i := range 130 {
		name := fmt.Sprintf("s%03d", i)
		files[name+"/SKILL.md"] = userMD(name, "")
	}
	root := skilltest.Project(files)
	root.In.Prefix = ""
	served := scanned(t, root)
	for _, era := range eras {
		client := connect(t, serve(t, served), era, nil)
		ask := func(ref *mcp.CompleteReference, argument, value string) (mcp.CompletionResultDetails, error) {
			res, err := client.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: argument, Value: value}})
			if err != nil {
				return mcp.CompletionResultDetails{}, err
			}
			return res.Completion, nil
		}
		deploy, template := &mcp.CompleteReference{Type: "ref/prompt", Name: "deploy"}, &mcp.CompleteReference{Type: "ref/resource", URI: "skill://{+path}"}
		for _, row := range []struct {
			ref             *mcp.CompleteReference
			argument, value string
			want            mcp.CompletionResultDetails
		}{
			{deploy, "arguments", "DEP", mcp.CompletionResultDetails{Values: []string{"deploy", "Deploy Notes"}, Total: 2}},
			{deploy, "arguments", "th", mcp.CompletionResultDetails{Values: []string{}}},
			{deploy, "arguments", "", mcp.CompletionResultDetails{Values: []string{}}},
			{template, "path", "dep", mcp.CompletionResultDetails{Values: []string{"Deploy%20Notes/SKILL.md", "deploy/SKILL.md"}, Total: 2}},
			{template, "path", "theirs", mcp.CompletionResultDetails{Values: []string{"theirs/SKILL.md"}, Total: 1}},
		} {
			got, err := ask(row.ref, row.argument, row.value)
			must(t, err)
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("%s: %q: %s", era, row.value, d)
			}
		}
		if got, err := ask(deploy, "arguments", "s"); err != nil || len(got.Values) != 100 || got.Total != 130 || !got.HasMore {
			t.Errorf("%d values of %d, more %v, %v", len(got.Values), got.Total, got.HasMore, err)
		}
		for _, ref := range []*mcp.CompleteReference{{Type: "ref/prompt", Name: "nope"}, {Type: "ref/prompt", Name: "theirs"}, {Type: "ref/resource", URI: "file:///{x}"}} {
			if _, err := ask(ref, "arguments", "x"); code(err) != jsonrpc.CodeInvalidParams {
				t.Errorf("%+v: %v", ref, err)
			}
		}
	}
}
