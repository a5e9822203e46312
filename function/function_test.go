package function_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
)

var update = flag.Bool("update", false, "rewrite the goldens; read the difference before you commit it")

// md returns a SKILL.md.
func md(name, description string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: " + description + "\n---\n\n# " + name + "\n")}
}

func hostOf(t testing.TB) *tool.Host {
	t.Helper()
	c := catalog.New([]catalog.Source{Files{Label: "library", FS: fstest.MapFS{
		"calculator/SKILL.md":          md("calculator", "Adds & subtracts <numbers>"),
		"calculator/examples/basic.py": {Data: []byte("\ndef add(a, b):\n    return a + b\n\ndef subtract(a, b):\n    return a - b\n")},
		"calculator/page.html":         {Data: []byte("<b>a && b</b>")},
		"calculator/big.txt":           {Data: bytes.Repeat([]byte("0123456789abcdef"), 1<<20-1)},
	}}}, catalog.Options{})
	if err := c.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	return tool.NewHost(c)
}

func toolsOf(t testing.TB, set string) []*tool.Tool {
	t.Helper()
	tools, err := tool.ParseSets(set)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// TestDefinitionsEqualTheContracts checks that the OpenAI definitions equal the contracts' own
// JSON, including the order of keys.
func TestDefinitionsEqualTheContracts(t *testing.T) {
	for _, row := range []struct{ set, tool string }{
		{"runner", "get_skill"}, {"runner", "read_file_in_skill"}, {"wave", "Skill"},
	} {
		t.Run(row.set+"/"+row.tool, func(t *testing.T) {
			data, err := function.Definitions(t.Context(), hostOf(t), toolsOf(t, row.set), function.OpenAI, profile.Client{})
			if err != nil {
				t.Fatal(err)
			}
			var all []json.RawMessage
			if err := json.Unmarshal(data, &all); err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(filepath.Join("testdata", "contracts", row.tool+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var want bytes.Buffer
			if err := json.Compact(&want, file); err != nil {
				t.Fatal(err)
			}
			for _, got := range all {
				if string(got) == want.String() {
					return
				}
			}
			t.Errorf("no definition is\n%s\nbut there are\n%s", want.String(), data)
		})
	}
}

func TestDefinitions(t *testing.T) {
	for _, set := range tool.SetNames() {
		for _, format := range function.Formats() {
			t.Run(set+"/"+string(format), func(t *testing.T) {
				data, err := function.Definitions(t.Context(), hostOf(t), toolsOf(t, set), format, profile.Client{})
				if err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				if err := json.Indent(&got, data, "", "  "); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("definitions", set+"."+string(format)+".json"), got.String()+"\n")
			})
		}
	}
	if _, err := function.Definitions(t.Context(), hostOf(t), nil, "yaml", profile.Client{}); err == nil {
		t.Error("no error for a format that is none")
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	difftest.Same(t, got, string(want), name)
}

const (
	basic   = `"\ndef add(a, b):\n    return a + b\n\ndef subtract(a, b):\n    return a - b\n"`
	unknown = `"{\"error\":\"Unknown tool: nope\"}"`
)

// TestCall checks the whole answer to each kind of call in each format.
func TestCall(t *testing.T) {
	for _, row := range []struct {
		name   string
		format function.Format
		in     string
		want   string
	}{
		{"openai", "openai", `{"id":"call_abc123","type":"function","function":{"name":"read_file_in_skill","arguments":"{\"skill_name\": \"calculator\", \"file_path\": \"examples/basic.py\"}"}}`,
			`{"role":"tool","tool_call_id":"call_abc123","name":"read_file_in_skill","content":` + basic + `}`},
		{"arguments as an object", "openai", `{"id":"1","type":"function","function":{"name":"read_file_in_skill","arguments":{"skill_name":"calculator","file_path":"page.html"}}}`,
			`{"role":"tool","tool_call_id":"1","name":"read_file_in_skill","content":"<b>a && b</b>"}`},
		{"neither id nor type", "openai", `{"function":{"name":"read_file_in_skill","arguments":"{\"skill_name\": \"calculator\", \"file_path\": \"examples/missing.py\"}"}}`,
			`{"role":"tool","name":"read_file_in_skill","content":"ERROR: File 'examples/missing.py' not found in skill 'calculator' (the file_path \".\" lists the files)"}`},
		{"arguments empty", "openai", `{"id":"1","function":{"name":"skill","arguments":""}}`,
			`{"role":"tool","tool_call_id":"1","name":"skill","content":"Invalid arguments for tool skill: 'name' is missing; give the name of a skill"}`},
		{"arguments blank", "openai", `{"id":"1","function":{"name":"skill","arguments":" \n"}}`,
			`{"role":"tool","tool_call_id":"1","name":"skill","content":"Invalid arguments for tool skill: 'name' is missing; give the name of a skill"}`},
		{"arguments null", "openai", `{"id":"1","function":{"name":"skill","arguments":null}}`,
			`{"role":"tool","tool_call_id":"1","name":"skill","content":"Invalid arguments for tool skill: 'name' is missing; give the name of a skill"}`},
		{"arguments missing", "openai", `{"id":null,"function":{"name":"skill"}}`,
			`{"role":"tool","name":"skill","content":"Invalid arguments for tool skill: 'name' is missing; give the name of a skill"}`},
		{"arguments cut off", "openai", `{"id":"1","function":{"name":"skill","arguments":"{\"name\": \"calc"}}`,
			`{"role":"tool","tool_call_id":"1","name":"skill","content":"{\"error\":\"Invalid tool arguments: not valid JSON: unexpected end of JSON input\"}"}`},
		{"arguments followed by text", "openai", `{"id":"1","function":{"name":"skill","arguments":"{} {}"}}`,
			`{"role":"tool","tool_call_id":"1","name":"skill","content":"{\"error\":\"Invalid tool arguments: not valid JSON: invalid character '{' after top-level value\"}"}`},
		{"arguments a list", "openai", `{"id":"1","function":{"name":"skill","arguments":"[1]"}}`,
			`{"role":"tool","tool_call_id":"1","name":"skill","content":"Invalid arguments for tool skill: they must be one JSON object"}`},
		{"arguments a number", "openai", `{"id":"1","function":{"name":"skill","arguments":5}}`,
			`{"role":"tool","tool_call_id":"1","name":"skill","content":"Invalid arguments for tool skill: they must be one JSON object"}`},
		{"arguments a quoted string", "openai", `{"id":"1","function":{"name":"skill","arguments":"\"calculator\""}}`,
			`{"role":"tool","tool_call_id":"1","name":"skill","content":"Invalid arguments for tool skill: they must be one JSON object"}`},
		{"unknown tool", "openai", `{"id":"1","type":"function","function":{"name":"nope","arguments":"{"}}`,
			`{"role":"tool","tool_call_id":"1","name":"nope","content":` + unknown + `}`},
		{"HTML in a name", "openai", `{"id":"<1&2>","function":{"name":"<a&b>"}}`,
			`{"role":"tool","tool_call_id":"<1&2>","name":"<a&b>","content":"{\"error\":\"Unknown tool: <a&b>\"}"}`},
		{"a list", "openai", ` [{"id":"b","function":{"name":"nope"}},{"id":"a","function":{"name":"read_file_in_skill","arguments":"{\"skill_name\":\"calculator\",\"file_path\":\"page.html\"}"}}] `,
			`[{"role":"tool","tool_call_id":"b","name":"nope","content":` + unknown + `},{"role":"tool","tool_call_id":"a","name":"read_file_in_skill","content":"<b>a && b</b>"}]`},
		{"a list of one", "openai", `[{"id":"b","function":{"name":"nope"}}]`, `[{"role":"tool","tool_call_id":"b","name":"nope","content":` + unknown + `}]`},
		{"an empty list", "openai", `[]`, `[]`},

		{"anthropic", "anthropic", `{"type":"tool_use","id":"toolu_1","name":"read_file_in_skill","input":{"skill_name":"calculator","file_path":"examples/basic.py"}}`,
			`{"type":"tool_result","tool_use_id":"toolu_1","content":` + basic + `,"is_error":false}`},
		{"a tool's error", "anthropic", `{"type":"tool_use","id":"toolu_1","name":"read_file_in_skill","input":{"skill_name":"calculator","file_path":"../x"}}`,
			`{"type":"tool_result","tool_use_id":"toolu_1","content":"ERROR: Path traversal detected: cannot access files outside skill folder","is_error":true}`},
		{"unknown tool", "anthropic", `{"type":"tool_use","id":"toolu_1","name":"nope","input":{}}`,
			`{"type":"tool_result","tool_use_id":"toolu_1","content":` + unknown + `,"is_error":true}`},
		{"input a list", "anthropic", `{"type":"tool_use","id":"1","name":"skill","input":[]}`,
			`{"type":"tool_result","tool_use_id":"1","content":"Invalid arguments for tool skill: they must be one JSON object","is_error":true}`},
		{"input missing", "anthropic", `{"type":"tool_use","id":"1","name":"skill"}`,
			`{"type":"tool_result","tool_use_id":"1","content":"Invalid arguments for tool skill: 'name' is missing; give the name of a skill","is_error":true}`},
		{"a message's content", "anthropic", `[{"type":"thinking","thinking":"…"},{"type":"text","text":"I look."},{"type":"tool_use","id":"1","name":"nope","input":{}}]`,
			`[{"type":"tool_result","tool_use_id":"1","content":` + unknown + `,"is_error":true}]`},
		{"content without a call", "anthropic", `[{"type":"text","text":"Done."}]`, `[]`},

		{"gemini", "gemini", `{"functionCall":{"id":"f1","name":"read_file_in_skill","args":{"skill_name":"calculator","file_path":"examples/basic.py"}}}`,
			`{"functionResponse":{"id":"f1","name":"read_file_in_skill","response":{"output":` + basic + `}}}`},
		{"no id, a tool's error", "gemini", `{"functionCall":{"name":"read_file_in_skill","args":{"skill_name":"nonexistent","file_path":"README.md"}}}`,
			`{"functionResponse":{"name":"read_file_in_skill","response":{"error":"ERROR: Skill 'nonexistent' not found in skills folder"}}}`},
		{"the call alone", "gemini", `{"name":"nope","args":{}}`, `{"functionResponse":{"name":"nope","response":{"error":"Unknown tool: nope"}}}`},
		{"args missing", "gemini", `{"functionCall":{"name":"skill"}}`,
			`{"functionResponse":{"name":"skill","response":{"error":"Invalid arguments for tool skill: 'name' is missing; give the name of a skill"}}}`},
		{"args a boolean", "gemini", `{"functionCall":{"name":"skill","args":true}}`,
			`{"functionResponse":{"name":"skill","response":{"error":"Invalid arguments for tool skill: they must be one JSON object"}}}`},
		{"a content's parts", "gemini", `[{"text":"I look."},{"functionCall":{"name":"nope"},"thoughtSignature":"c2ln"}]`,
			`[{"functionResponse":{"name":"nope","response":{"error":"Unknown tool: nope"}}}]`},

		{"arguments cut off", "anthropic", `{"type":"tool_use","id":"1","name":"skill","input":"{\"name\": \"calc"}`,
			`{"type":"tool_result","tool_use_id":"1","content":"Invalid arguments for tool skill: they must be one JSON object","is_error":true}`},
		{"arguments as text", "anthropic", `{"type":"tool_use","id":"1","name":"read_file_in_skill","input":"{\"skill_name\":\"calculator\",\"file_path\":\"page.html\"}"}`,
			`{"type":"tool_result","tool_use_id":"1","content":"<b>a && b</b>","is_error":false}`},
		{"arguments as text", "mcp", `{"name":"skill","arguments":"{\"name\":\"calculator\"}"}`,
			`{"content":[{"type":"text","text":"Invalid arguments for tool skill: they must be one JSON object"}],"isError":true}`},
		{"a message's whole content", "anthropic", `[{"type":"thinking","thinking":"…","signature":"c2ln"},{"type":"redacted_thinking","data":"…"},{"type":"text","text":"I look."},` +
			`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},` +
			`{"type":"mcp_tool_use","id":"m1","name":"nope","server_name":"x","input":{}},{"type":"container_upload","file_id":"f"},{"type":"of a later year"},` +
			`{"type":"tool_use","id":"1","name":"nope","input":{}},{"type":"tool_use","id":"2","name":"read_file_in_skill","input":{"skill_name":"calculator","file_path":"page.html"}}]`,
			`[{"type":"tool_result","tool_use_id":"1","content":` + unknown + `,"is_error":true},{"type":"tool_result","tool_use_id":"2","content":"<b>a && b</b>","is_error":false}]`},
		{"all kinds of parts", "gemini", `[{"thought":true,"text":"I look."},{"inlineData":{"mimeType":"image/png","data":"aaaa"}},{"fileData":{"fileUri":"x"}},{"executableCode":{"language":"PYTHON","code":"1"}},` +
			`{"codeExecutionResult":{"outcome":"OUTCOME_OK"}},{"thoughtSignature":"c2ln"},{"functionCall":{"id":"f1","name":"nope","args":{}},"thoughtSignature":"c2ln"}]`,
			`[{"functionResponse":{"id":"f1","name":"nope","response":{"error":"Unknown tool: nope"}}}]`},
		{"an output item", "openai", `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"read_file_in_skill","arguments":"{\"skill_name\":\"calculator\",\"file_path\":\"page.html\"}","status":"completed"}`,
			`{"type":"function_call_output","call_id":"call_1","output":"<b>a && b</b>"}`},
		{"output items", "openai", `[{"type":"reasoning","id":"rs_1","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},{"type":"web_search_call","id":"ws_1","status":"completed"},` +
			`{"type":"function_call","call_id":"call_1","name":"nope","arguments":"{}"}]`,
			`[{"type":"function_call_output","call_id":"call_1","output":` + unknown + `}]`},

		{"a whole answer", "openai", `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"nope","arguments":"{}"}}]}}]}`,
			`[{"role":"tool","tool_call_id":"1","name":"nope","content":` + unknown + `}]`},
		{"a message", "openai", `{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"nope","arguments":"{}"}}]}`,
			`[{"role":"tool","tool_call_id":"1","name":"nope","content":` + unknown + `}]`},
		{"an answer without a call", "openai", `{"choices":[{"message":{"role":"assistant","content":"Done.","tool_calls":null}}]}`, `[]`},
		{"a whole answer of Responses", "openai", `{"object":"response","output":[{"type":"mcp_call","id":"m","name":"nope","arguments":"{}"},{"type":"function_call","call_id":"1","name":"nope","arguments":"{}"}]}`,
			`[{"type":"function_call_output","call_id":"1","output":` + unknown + `}]`},
		{"a whole answer", "anthropic", `{"type":"message","role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"1","name":"nope","input":{}}]}`,
			`[{"type":"tool_result","tool_use_id":"1","content":` + unknown + `,"is_error":true}]`},
		{"a whole answer", "gemini", `{"candidates":[{"content":{"role":"model","parts":[{"text":"I look."},{"functionCall":{"name":"nope","args":{}}}]}}]}`,
			`[{"functionResponse":{"name":"nope","response":{"error":"Unknown tool: nope"}}}]`},
		{"a content", "gemini", `{"role":"model","parts":[{"functionCall":{"name":"nope","args":{}}}]}`,
			`[{"functionResponse":{"name":"nope","response":{"error":"Unknown tool: nope"}}}]`},

		{"mcp", "mcp", `{"name":"read_file_in_skill","arguments":{"skill_name":"calculator","file_path":"examples/basic.py"}}`,
			`{"content":[{"type":"text","text":` + basic + `}],"isError":false}`},
		{"a tool's error", "mcp", `{"name":"skill","arguments":{"name":" "}}`, `{"content":[{"type":"text","text":"Skill name cannot be empty"}],"isError":true}`},
		{"unknown tool", "mcp", `{"name":"nope"}`,
			`{"content":[{"type":"text","text":` + unknown + `}],"structuredContent":{"error":"Unknown tool: nope"},"isError":true}`},
		{"arguments null", "mcp", `{"name":"skill","arguments":null}`,
			`{"content":[{"type":"text","text":"Invalid arguments for tool skill: 'name' is missing; give the name of a skill"}],"isError":true}`},
		{"a list", "mcp", `[{"name":"nope"}]`,
			`[{"content":[{"type":"text","text":` + unknown + `}],"structuredContent":{"error":"Unknown tool: nope"},"isError":true}]`},
	} {
		t.Run(string(row.format)+"/"+row.name, func(t *testing.T) {
			got, err := function.Call(t.Context(), hostOf(t), toolsOf(t, "default"), row.format, []byte(row.in))
			if err != nil {
				t.Fatal(err)
			}
			difftest.Same(t, string(got), row.want)
		})
	}
}

// TestUnusable checks that input without a call in the format is an error and calls no
// tool.
func TestUnusable(t *testing.T) {
	const openAI = `; in the openai format a call is {"id":"call_1","type":"function","function":{"name":"…","arguments":"{…}"}}`
	const anthropic = `; in the anthropic format a call is {"type":"tool_use","id":"toolu_1","name":"…","input":{…}}`
	const gemini = `; in the gemini format a call is {"functionCall":{"name":"…","args":{…}}}`
	const mcp = `; in the mcp format a call is {"name":"…","arguments":{…}}`
	good := `{"id":"1","function":{"name":"skill","arguments":"{}"}}`
	for _, row := range []struct {
		format   function.Format
		in, want string
	}{
		{"openai", "", "it is empty; give a tool call as JSON"},
		{"openai", " \n\ufeff"[:2], "it is empty; give a tool call as JSON"},
		{"openai", "{", "it is not valid JSON: unexpected end of JSON input"},
		{"openai", "hello", "it is not valid JSON: invalid character 'h' looking for beginning of value"},
		{"openai", "[{}", "it is not valid JSON: unexpected end of JSON input"},
		{"openai", good + good, "it is not valid JSON: invalid character '{' after top-level value"},
		{"openai", strings.Repeat("[", 20_000), "it is not valid JSON: invalid character '[' exceeded max depth"},
		{"openai", "null", "it is null" + openAI},
		{"openai", "5", "it is a number" + openAI},
		{"openai", `"x"`, "it is a string" + openAI},
		{"openai", "{}", "its 'function' is missing, not an object" + openAI},
		{"openai", `{"function":"skill"}`, "its 'function' is a string, not an object" + openAI},
		{"openai", `{"Function":{"name":"skill"}}`, "its 'function' is missing, not an object" + openAI},
		{"openai", `{"function":{}}`, "its 'function.name' is missing, not a string" + openAI},
		{"openai", `{"function":{"name":5}}`, "its 'function.name' is a number, not a string" + openAI},
		{"openai", `{"id":5,"function":{"name":"skill"}}`, "its 'id' is a number, not a string"},
		{"openai", `{"type":"custom","function":{"name":"skill"}}`, `its type is "custom", not "function"` + openAI},
		{"openai", `{"name":"skill","arguments":{}}`, "its 'function' is missing, not an object; it looks like a call in the mcp format, not openai"},
		{"openai", `[` + good + `,[]]`, "call 2 of 2: it is a list" + openAI},
		{"openai", `[` + good + `,{"role":"user"}]`, "call 2 of 2: its 'function' is missing, not an object" + openAI},
		{"openai", `[` + strings.Repeat(good+",", function.MaxCalls) + good + `]`, "the list has 129 calls; at most 128 are accepted at once"},
		{"openai", strings.Repeat(" ", function.MaxInput) + good, "it is larger than 16 MiB"},
		{"anthropic", `{"type":"tool_result","tool_use_id":"1"}`, `its type is "tool_result", not "tool_use"` + anthropic},
		{"anthropic", `{"type":"text","text":"hello"}`, `its type is "text", not "tool_use"` + anthropic},
		{"anthropic", `{"type":"tool_use","id":"1"}`, "its 'name' is missing, not a string" + anthropic},
		{"anthropic", `{"type":"tool_use","id":true,"name":"skill"}`, "its 'id' is a boolean, not a string"},
		{"anthropic", `{"functionCall":{"name":"skill"}}`, "its 'name' is missing, not a string; it looks like a call in the gemini format, not anthropic"},
		{"gemini", `{}`, "its 'name' is missing, not a string" + gemini},
		{"gemini", `{"functionCall":null}`, "its 'functionCall' is null, not an object" + gemini},
		{"gemini", `{"functionCall":[]}`, "its 'functionCall' is a list, not an object" + gemini},
		{"gemini", `{"functionCall":{"name":null}}`, "its 'functionCall.name' is null, not a string" + gemini},
		{"gemini", good, "its 'name' is missing, not a string; it looks like a call in the openai format, not gemini"},
		{"gemini", `{"type":"tool_use","id":"toolu_1","name":"skill","input":{"name":"x"}}`, `its type is "tool_use"; it looks like a call in the anthropic format, not gemini`},
		{"gemini", `[{"type":"tool_use","id":"toolu_1","name":"skill","input":{"name":"x"}}]`, `call 1 of 1: its type is "tool_use"; it looks like a call in the anthropic format, not gemini`},
		{"gemini", `{"name":"skill","input":{"name":"x"}}`, "its arguments are in 'input', not 'args'; it looks like a call in the anthropic format, not gemini"},
		{"gemini", `{"name":"skill","arguments":{"name":"x"}}`, "its arguments are in 'arguments', not 'args'; it looks like a call in the mcp format, not gemini"},
		{"gemini", `[{"functionResponse":{"name":"skill","response":{}}}]`, "call 1 of 1: its 'name' is missing, not a string" + gemini},
		{"gemini", `{"type":"function_call","call_id":"1","name":"skill","arguments":"{}"}`, `its type is "function_call"; it looks like a call in the openai format, not gemini`},
		{"anthropic", `{"name":"skill","arguments":{"name":"x"}}`, "its arguments are in 'arguments', not 'input'; it looks like a call in the mcp format, not anthropic"},
		{"anthropic", `[{"type":"tool_result","tool_use_id":"1"}]`, `call 1 of 1: its type is "tool_result", not "tool_use"` + anthropic},
		{"anthropic", good, "its 'name' is missing, not a string; it looks like a call in the openai format, not anthropic"},
		{"openai", `[{"type":"tool_use","id":"1","name":"skill","input":{}}]`, `call 1 of 1: its type is "tool_use", not "function"; it looks like a call in the anthropic format, not openai`},
		{"openai", `[{"type":"custom","id":"1","custom":{"name":"skill"}}]`, `call 1 of 1: its type is "custom", not "function"` + openAI},
		{"openai", `{"type":"function_call","call_id":5,"name":"skill","arguments":"{}"}`, "its 'call_id' is a number, not a string"},
		{"openai", `{"type":"function_call","call_id":"1","arguments":"{}"}`, "its 'name' is missing, not a string; in the openai format a call is {\"type\":\"function_call\",\"call_id\":\"call_1\",\"name\":\"…\",\"arguments\":\"{…}\"}"},
		{"mcp", `{"name":"skill","input":{}}`, "its arguments are in 'input', not 'arguments'; it looks like a call in the anthropic format, not mcp"},
		{"mcp", `{"type":"tool_use","name":"skill","input":{}}`, `its type is "tool_use"; it looks like a call in the anthropic format, not mcp`},
		{"mcp", `{"arguments":{}}`, "its 'name' is missing, not a string" + mcp},
		{"mcp", `{"name":["skill"]}`, "its 'name' is a list, not a string" + mcp},
		{"mcp", `{"type":"mcp_call","id":"1","name":"skill","arguments":"{}"}`, `its type is "mcp_call": a server of the vendor has answered this call`},
		{"openai", `{"type":"mcp_call","id":"1","name":"skill","arguments":"{}"}`, `its type is "mcp_call": a server of the vendor has answered this call`},
		{"anthropic", `{"type":"server_tool_use","id":"1","name":"skill","input":{}}`, `its type is "server_tool_use": a server of the vendor has answered this call`},
		{"mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill"}}`, "it is a JSON-RPC request; give its params alone, in the mcp format"},
		{"openai", `{"choices":[{"message":{}},{"message":{}}]}`, "its 'choices' has 2 elements; give the calls of one"},
		{"openai", `{"choices":[]}`, "its 'choices' has 0 elements; give the calls of one"},
		{"openai", `{"type":"function_call_output","call_id":"1","output":[]}`, `its type is "function_call_output", not "function"` + openAI},
		{"anthropic", `{"type":"tool_result","tool_use_id":"1","content":[]}`, `its type is "tool_result", not "tool_use"` + anthropic},
		{"openai", `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"skill","input":{}}]}`, "its 'function' is missing, not an object" + openAI},
		{"yaml", `{"name":"skill"}`, "there is no format called 'yaml'"},
	} {
		host := hostOf(t)
		host.Observe = func(e tool.Event) { t.Errorf("%.80s: something was called: %s", row.in, e.Tool) }
		got, err := function.Call(t.Context(), host, toolsOf(t, "default"), row.format, []byte(row.in))
		if !errors.Is(err, function.ErrInput) || got != nil {
			t.Errorf("%s %.80s: answer %.80s, error %v", row.format, row.in, got, err)
			continue
		}
		if diff := cmp.Diff("unusable tool call: "+row.want, err.Error()); diff != "" {
			t.Errorf("%s %.80s (-want +got):\n%s", row.format, row.in, diff)
		}
	}
}

// TestLongName checks that an answer repeats at most 256 bytes of a name, cut between
// characters.
func TestLongName(t *testing.T) {
	name := strings.Repeat("é", 200)
	got, err := function.Call(t.Context(), hostOf(t), toolsOf(t, "default"), function.Anthropic, []byte(`{"name":"`+name+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"tool_result","content":"{\"error\":\"Unknown tool: ` + strings.Repeat("é", 128) + `\"}","is_error":true}`
	difftest.Same(t, string(got), want)
}

// TestManyLargeAnswers checks that the answer to a list of calls is bounded.
func TestManyLargeAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("48 MiB of answers")
	}
	one := `{"name":"read_file_in_skill","input":{"skill_name":"calculator","file_path":"big.txt"}}`
	got, err := function.Call(t.Context(), hostOf(t), toolsOf(t, "runner"), function.Anthropic, []byte("["+one+","+one+","+one+"]"))
	if err != nil {
		t.Fatal(err)
	}
	var answers []struct {
		Content string
		IsError bool `json:"is_error"`
	}
	if err := json.Unmarshal(got, &answers); err != nil {
		t.Fatal(err)
	}
	const size = 16 * (1<<20 - 1)
	if len(answers) != 3 || len(answers[0].Content) != size || len(answers[1].Content) != size {
		t.Fatalf("%d answers; the first two should be whole", len(answers))
	}
	want := `{"error":"The answers to these calls are too large together; make this call alone"}`
	if answers[2].Content != want || !answers[2].IsError {
		t.Errorf("the third answer is %.100s", answers[2].Content)
	}
}

// TestCancelled checks that a cancelled context yields its error.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := catalog.New(nil, catalog.Options{}) // it is never scanned, so a call waits
	cancel()
	_, err := function.Call(ctx, tool.NewHost(c), toolsOf(t, "default"), function.MCP, []byte(`{"name":"skill","arguments":{"name":"x"}}`))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := function.Definitions(ctx, tool.NewHost(c), nil, function.MCP, profile.Client{}); !errors.Is(err, context.Canceled) {
		t.Errorf("definitions: error %v", err)
	}
}

// TestObserver checks that Observe is called for every call in order, even for one that reaches no
// tool.
func TestObserver(t *testing.T) {
	host := hostOf(t)
	var seen []string
	host.Observe = func(e tool.Event) { seen = append(seen, e.String()) }
	in := `[{"name":"nope","input":{"b":1,"a":"x"}},{"name":"skill","input":"{"},{"name":"read_file_in_skill","input":{"file_path":"page.html","skill_name":"calculator"}}]`
	if _, err := function.Call(t.Context(), host, toolsOf(t, "default"), function.Anthropic, []byte(in)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"[Tool Call] nope(…)\n[Tool Result] {\"error\":\"Unknown tool: nope\"}",
		"[Tool Call] skill(\"{\")\n[Tool Result] Invalid arguments for tool skill: they must be one JSON object",
		"[Tool Call] read_file_in_skill(skill_name=\"calculator\", file_path=\"page.html\")\n[Tool Result] <b>a && b</b>",
	}
	difftest.Same(t, seen, want)
}

func FuzzCall(f *testing.F) {
	for _, seed := range []string{
		`{"id":"1","type":"function","function":{"name":"skill","arguments":"{\"name\":\"calculator\"}"}}`,
		`[{"type":"text","text":"x"},{"type":"tool_use","id":"1","name":"find_skills","input":{"limit":1e9}}]`,
		`{"functionCall":{"id":"1","name":"read_file_in_skill","args":{"skill_name":"calculator","file_path":"page.html"}}}`,
		`{"name":"skill","arguments":{"command":"\u0000"}}`, "[]", "\xff", `{"name":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	host, tools := hostOf(f), toolsOf(f, "default")
	host.Observe = func(e tool.Event) { _ = e.String() }
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, format := range function.Formats() {
			out, err := function.Call(context.Background(), host, tools, format, in)
			if err != nil {
				if !errors.Is(err, function.ErrInput) || out != nil {
					t.Fatalf("%s: answer %.80s, error %v", format, out, err)
				}
				continue
			}
			// An answer has its text at most twice, with at most six bytes for each character.
			if !json.Valid(out) || len(out) > 12*function.MaxOutput+12*len(in) {
				t.Fatalf("%s: %d bytes, valid JSON: %v", format, len(out), json.Valid(out))
			}
		}
	})
}

// TestExecute checks that Execute answers a call in the same words as Call.
func TestExecute(t *testing.T) {
	host := hostOf(t)
	var seen []string
	host.Begin = func(e tool.Event) { seen = append(seen, e.CallText()) }
	for _, row := range []struct{ name, arguments, want string }{
		{"read_file_in_skill", `{"file_path":"page.html","skill_name":"calculator"}`, "<b>a && b</b>"},
		{"find_skills", ``, ""},
		{"skill", `{"name":`, `{"error":"Invalid tool arguments: not valid JSON: unexpected end of JSON input"}`},
		{"skill", `7`, "Invalid arguments for tool skill: they must be one JSON object"},
		{"nope", `{}`, `{"error":"Unknown tool: nope"}`},
	} {
		r, err := function.Execute(t.Context(), host, toolsOf(t, "default"), row.name, row.arguments)
		if err != nil || row.want != "" && r.Text != row.want || row.want == "" && r.IsError {
			t.Errorf("%s(%s): %+v, %v", row.name, row.arguments, r, err)
		}
	}
	if len(seen) != 5 {
		t.Errorf("began: %q", seen)
	}
}
