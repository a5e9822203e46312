package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/tool"
)

// A program with its own catalogue uses a source, a catalogue over it, and the tools of a set,
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
	host := tool.NewHost(skills)
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
	host := tool.NewHost(skills)
	host.Observe = func(e tool.Event) { fmt.Println(e) }
	for _, t := range tools {
		if t.Name == "read_file_in_skill" {
			_, _ = t.Call(ctx, host, json.RawMessage(`{"file_path": "../x", "skill_name": "engage"}`))
		}
	}
	// Output:
	// [Tool Call] read_file_in_skill(skill_name="engage", file_path="../x")
	// [Tool Result] ERROR: Path traversal detected: cannot access files outside skill folder
}
