package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

// A program with its own catalogue: a source, a catalogue over it, and the tools of a set,
// which answer in plain text.
func Example() {
	ctx := context.Background()
	skills := catalog.New([]catalog.Source{builtin.New()}, catalog.Options{})
	if err := skills.Refresh(ctx); err != nil { // a long-running program calls go skills.Run(ctx)
		panic(err)
	}
	tools, err := tool.ParseSets("universal")
	if err != nil {
		panic(err)
	}
	host := &tool.Host{Catalog: skills}
	answer, err := tools[0].Call(ctx, host, json.RawMessage(`{"name":"Engage"}`))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.40s\n", answer.Text)
	// Output:
	// Loading: engage
	// Base directory: skill://
}

// A program can watch every call of its tools.
func ExampleEvent() {
	ctx := context.Background()
	skills := catalog.New([]catalog.Source{builtin.New()}, catalog.Options{})
	if err := skills.Refresh(ctx); err != nil {
		panic(err)
	}
	tools, err := tool.ParseSets(tool.DefaultSet)
	if err != nil {
		panic(err)
	}
	host := &tool.Host{Catalog: skills, Observe: func(e tool.Event) { fmt.Println(e) }}
	for _, t := range tools {
		if t.Name == "read_file_in_skill" {
			_, _ = t.Call(ctx, host, json.RawMessage(`{"file_path": "../x", "skill_name": "engage"}`))
		}
	}
	// Output:
	// [Tool Call] read_file_in_skill(skill_name="engage", file_path="../x")
	// [Tool Result] ERROR: Path traversal detected: cannot access files outside skill folder
}

// Contract 003 in a program: the project is that of the agent's working folder.
func ExampleSkillManager() {
	ctx := context.Background()
	open := func(sources ...catalog.Source) (*tool.Host, error) {
		skills := catalog.New(sources, catalog.Options{})
		return &tool.Host{Catalog: skills}, skills.Refresh(ctx)
	}
	home, err := open(builtin.New())
	if err != nil {
		panic(err)
	}
	manager := &tool.SkillManager{Host: home, Project: func(_ context.Context, workdir string) (*tool.Host, error) {
		root := skill.Root{Label: "wave-project", Scope: skill.ScopeProject, Dir: filepath.Join(workdir, ".wave", "skills"), Prefix: "wave-project"}
		return open(dir.New(dir.Options{Root: root}), builtin.New()) // keep it, for the next call in the same folder
	}}
	result, err := manager.Execute(ctx, tool.SkillToolArgs{SkillName: "engage"}, tool.ToolContext{Workdir: "testdata"})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Success, strings.SplitN(result.Content, "\n", 2)[0])
	// Output:
	// true Skill: engage (Type: personal)
}
