package function_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"testing/fstest"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
)

// Files is a custom source. It has the skills of any file system, each of which is a folder with a
// SKILL.md. A catalogue accepts any type with the two methods of Files.
type Files struct {
	Label string
	FS    fs.FS
}

// Root returns the root of the skills, which has the source's label.
func (s Files) Root() skill.Root {
	return skill.Root{Label: s.Label, Scope: skill.ScopeProject}
}

// Scan finds the skills, without opening their files.
func (s Files) Scan(context.Context) (skill.Scan, error) {
	var scan skill.Scan
	found, err := fs.Glob(s.FS, "*/SKILL.md")
	if err != nil {
		return scan, err
	}
	for _, file := range found {
		folder := path.Dir(file)
		sub, err := fs.Sub(s.FS, folder)
		if err != nil {
			return scan, err
		}
		info, err := fs.Stat(s.FS, file)
		if err != nil {
			return scan, err
		}
		scan.Bundles = append(scan.Bundles, &skill.Bundle{
			Path: folder, Entry: "SKILL.md", Stamp: skill.StampOf(info), FS: sub,
		})
	}
	return scan, nil
}

var library = Files{Label: "library", FS: fstest.MapFS{
	"calculator/SKILL.md":          {Data: []byte("---\nname: calculator\ndescription: Adds and subtracts numbers\n---\n\nSee examples/basic.py.\n")},
	"calculator/examples/basic.py": {Data: []byte("\ndef add(a, b):\n    return a + b\n\ndef subtract(a, b):\n    return a - b\n")},
}}

// A catalogue can have a custom source, without a disk.
func Example_ownSource() {
	ctx := context.Background()
	skills := catalog.New([]catalog.Source{library}, catalog.Options{})
	if err := skills.Refresh(ctx); err != nil { // a long-running program calls go skills.Run(ctx)
		panic(err)
	}
	view, err := skills.View(ctx)
	if err != nil {
		panic(err)
	}
	found, err := view.Search(ctx, catalog.Query{Text: "subtract"})
	if err != nil {
		panic(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Name, hit.URI())
	}
	// Output: calculator skill://calculator/SKILL.md
}

// An agent loop passes the model's tool calls to Call, and the answering messages back to the
// model.
func Example_agentLoop() {
	ctx := context.Background()
	skills := catalog.New([]catalog.Source{library}, catalog.Options{})
	if err := skills.Refresh(ctx); err != nil {
		panic(err)
	}
	host := tool.NewHost(skills)
	host.Observe = func(e tool.Event) { fmt.Println(e) }
	tools, err := tool.ParseSets(tool.DefaultSet)
	if err != nil {
		panic(err)
	}
	definitions, err := function.Definitions(ctx, host, tools, function.OpenAI, profile.Client{})
	if err != nil {
		panic(err)
	}
	model := scripted( // stands for the model, with its answers in order
		`{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file_in_skill","arguments":"{\"skill_name\": \"calculator\", \"file_path\": \"examples/missing.py\"}"}}]}`,
		`{"role":"assistant","content":"There is no such example."}`,
	)
	messages := []json.RawMessage{json.RawMessage(`{"role":"user","content":"Is there an example?"}`)}
	for {
		answer := model(messages, definitions)
		messages = append(messages, answer)
		var reply struct {
			Content   string
			ToolCalls json.RawMessage `json:"tool_calls"`
		}
		if err := json.Unmarshal(answer, &reply); err != nil {
			panic(err)
		}
		if reply.ToolCalls == nil {
			fmt.Println(reply.Content)
			return
		}
		results, err := function.Call(ctx, host, tools, function.OpenAI, reply.ToolCalls)
		if err != nil {
			panic(err)
		}
		var more []json.RawMessage
		if err := json.Unmarshal(results, &more); err != nil {
			panic(err)
		}
		messages = append(messages, more...)
	}
	// Output:
	// [Tool Call] read_file_in_skill(skill_name="calculator", file_path="examples/missing.py")
	// [Tool Result] ERROR: File 'examples/missing.py' not found in skill 'calculator' (the file_path "." lists the files)
	// There is no such example.
}

func scripted(answers ...string) func(messages []json.RawMessage, tools json.RawMessage) json.RawMessage {
	return func([]json.RawMessage, json.RawMessage) json.RawMessage {
		next := answers[0]
		answers = answers[1:]
		return json.RawMessage(next)
	}
}

func ExampleCall() {
	ctx := context.Background()
	skills := catalog.New([]catalog.Source{library}, catalog.Options{})
	if err := skills.Refresh(ctx); err != nil {
		panic(err)
	}
	tools, err := tool.ParseSets(tool.DefaultSet)
	if err != nil {
		panic(err)
	}
	message, err := function.Call(ctx, tool.NewHost(skills), tools, function.Anthropic,
		[]byte(`{"type":"tool_use","id":"toolu_1","name":"read_file_in_skill","input":{"skill_name":"calculator","file_path":"examples/basic.py"}}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(string(message))
	// Output: {"type":"tool_result","tool_use_id":"toolu_1","content":"\ndef add(a, b):\n    return a + b\n\ndef subtract(a, b):\n    return a - b\n","is_error":false}
}
