package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/interop/agents/model"
)

// These tests are of the suite itself. They need no client and always run.

// client is a client of Chat Completions in memory: it shows the tools by name and runs
// each call with call, until the model says something.
func client(t *testing.T, p *play, tools []string, call func(name string, args object) string) (said string) {
	t.Helper()
	s := &model.Server{Next: p.next}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var shown []object
	for _, name := range tools {
		shown = append(shown, object{"type": "function", "function": object{"name": name}})
	}
	messages := []object{{"role": "user", "content": "Begin."}}
	for range 100 {
		data, err := json.Marshal(object{"messages": messages, "tools": shown})
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.Post(s.URL()+"/chat/completions", "application/json", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		var v struct {
			Choices []struct {
				Message struct {
					Content   string
					ToolCalls []struct {
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal(body, &v); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		m := v.Choices[0].Message
		if len(m.ToolCalls) == 0 {
			return m.Content
		}
		c := m.ToolCalls[0]
		var args object
		if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, object{"role": "tool", "tool_call_id": c.ID, "content": call(c.Function.Name, args)})
	}
	t.Fatal("the model never ends")
	return ""
}

// TestPlay checks that the scripted model finds knack's tools under the names of clients,
// through their searches, and reports a missing tool.
func TestPlay(t *testing.T) {
	tests := []struct {
		name    string
		tools   []string
		calls   []string
		seen    string
		trouble []string
	}{
		{"prefixed", []string{"skill", "mcp__knack__skill"}, []string{`mcp__knack__skill {"name":"x"}`}, "mcp__knack__skill", nil},
		{"dashed", []string{"knack-read_file_in_skill", "knack-skill"}, []string{`knack-skill {"name":"x"}`}, "knack-skill", nil},
		{"bare", []string{"read_file_in_skill", "skill", "Skills"}, []string{`skill {"name":"x"}`}, "skill", nil},
		{"of the client alone", []string{"skill"}, nil, "", []string{"the model finds no tool skill"}},
		{"hidden", []string{"skill", "tool_search", "tool_call"}, []string{
			`tool_search {"query":"knack skill"}`, `tool_call {"arguments":{"name":"x"},"name":"mcp__knack__skill"}`}, "mcp__knack__skill", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &play{steps: []*step{{tool: "skill", args: object{"name": "x"}, whole: "The text of the skill."}}}
			var calls []string
			said := client(t, p, tt.tools, func(name string, args object) string {
				data, _ := json.Marshal(args)
				calls = append(calls, name+" "+string(data))
				if name == "tool_search" {
					return `<function>{"name":"mcp__knack__read_file_in_skill"}</function><function>{"name":"mcp__knack__skill"}</function>`
				}
				return "Loading: x\n\nThe text of the skill."
			})
			if diff := cmp.Diff(tt.calls, calls); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.trouble, p.trouble); diff != "" {
				t.Error(diff)
			}
			s := p.steps[0]
			if want := tt.trouble == nil; s.name != tt.seen || s.arrived().complete != want || said != "All read." {
				t.Errorf("called %q, %+v, and said %q", s.name, s.arrived(), said)
			}
		})
	}
}

// TestReadOn: the model follows an answer that says how to read on, in the words of knack
// and as a client quotes them, also to the tool that reads files.
func TestReadOn(t *testing.T) {
	text := lines("", "a text", 3000)
	half := strings.LastIndex(text[:1500], "\n") + 1
	for _, asJSON := range []bool{false, true} {
		p := &play{steps: []*step{{tool: "skill", args: object{"name": "x"}, whole: text}}}
		var calls []string
		client(t, p, []string{"knack-skill", "knack-read_file_in_skill"}, func(name string, args object) string {
			data, _ := json.Marshal(args)
			calls = append(calls, name+" "+string(data))
			answer := "Loading: x\n" + text[:half] + "[These are lines 1 to 17 of 34. To read on: `knack-read_file_in_skill` {\"skill_name\": \"x\", \"file_path\": \"SKILL.md\", \"offset\": 18}]"
			if len(calls) == 2 {
				answer = text[half:] + "[These are lines 18 to 34 of 34. It ends here.]"
			}
			if asJSON {
				return `{"content":[{"type":"text","text":"` + quoted(answer) + `"}]}`
			}
			return answer
		})
		want := []string{`knack-skill {"name":"x"}`, `knack-read_file_in_skill {"file_path":"SKILL.md","offset":18,"skill_name":"x"}`}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Error(diff)
		}
		if got := p.steps[0].arrived().String(); got != "in 2 parts" {
			t.Errorf("as JSON %v: %s", asJSON, got)
		}
	}
}

// TestArrived tells a whole text from a quoted, a cut and a missing one.
func TestArrived(t *testing.T) {
	text := lines("\"A heading\" <here> & there\n", "a text", 3000)
	half := strings.LastIndex(text[:1500], "\n") + 1
	asJSON := strings.NewReplacer("\n", `\n`, `"`, `\"`) // as clients write it, with < and & as they are
	quote := func(s string) string { return `[{"type":"text","text":"` + asJSON.Replace(s) + `"}]` }
	tests := []struct {
		answers []string
		want    string
	}{
		{nil, "not read"},
		{[]string{"Loading: x\n" + text + "\nthe end"}, "whole"},
		{[]string{strings.TrimRight(text, "\n")}, "whole"},
		{[]string{quote("Loading: x\n" + text)}, "whole, as JSON"},
		{[]string{text[:half] + "to read on …", text[half:]}, "in 2 parts"},
		{[]string{text[:half-20] + "to read on …", text[half-20:]}, "in 2 parts"}, // within a line
		{[]string{quote(text[:half] + "to read on …"), quote(text[half:])}, "in 2 parts"},
		{[]string{text[:half] + "…", text[half+100:]}, "cut"},
		{[]string{text[half:], text[:half]}, "cut"},
		{[]string{text[:800] + "[truncated]" + text[1000:]}, "cut"},
		{[]string{"Output too large"}, "cut"},
	}
	for _, tt := range tests {
		s := &step{whole: text, answers: tt.answers}
		if got := s.arrived().String(); got != tt.want {
			t.Errorf("%.300q: %s, want %s", tt.answers, got, tt.want)
		}
	}
}

// TestPrefixOf finds how much of a text is shown.
func TestPrefixOf(t *testing.T) {
	line := ruled(" ")
	for _, n := range []int{0, 21, 247, 4096, len(line)} {
		if got := len(prefixOf("before it "+line[:n]+"... after it", line)); got != n {
			t.Errorf("%d characters are shown, %d were found", n, got)
		}
	}
}

// TestListedServers finds the line of a server in the lists of clients.
func TestListedServers(t *testing.T) {
	for list, want := range map[string]int{
		"Checking…\n\nknack: /x/knack serve - ✔ Connected\n":                 1,
		"Name   Command\nknack  /x/knack  serve  enabled\n":                  1,
		"\x1b[32m✓\x1b[0m knack: /x/knack serve (stdio) - Connected\n":       1,
		"┌  MCP\n│\n●  ✓ knack \x1b[90mconnected\n│      /x/bin/knack serve": 1,
		"User servers:\n  knack (local)\nWorkspace:\n  knack (local)\n":      2,
		"knack-2: x\nknacks: y\nNo MCP servers configured\n":                 1,
		"": 0,
	} {
		if got := listedServers(list); len(got) != want {
			t.Errorf("%q: %q, want %d", list, got, want)
		}
	}
}

// TestCheckLine: names that fit and topics are asked for, in their order.
func TestCheckLine(t *testing.T) {
	var of []listed
	for _, name := range []string{"git", "tar", "azure-storage-blobs-and-containers-of-all-kinds", "azure-storage-queue", "azure-monitor", strings.Repeat("long-", 30) + "name", strings.Repeat("much-", 30) + "name"} {
		of = append(of, listed{Name: name})
	}
	for line, want := range map[string]string{
		"7 skills: git, tar, azure-monitor, azure-storage-queue. Others, with `find_skills`: name, azure, … First load what fits.\n\nMore": "",
		"7 skills: git. Others, with `find_skills`: azure, storage, long, much. First load what fits.":                                     "has 1 names, and 4 fit",
		"7 skills: git, tar, azure-monitor, azure-storage-queue. Others, with `find_skills`: long, name. First load what fits.":            "the topic name stands for 2 names",
		"7 skills: git, tar, azure-monitor, azure-storage-queue. Others, with `find_skills`: monitor. First load what fits.":               "the topic monitor stands for 0 names",
		"7 skills: git, tar, azure-monitor, azure-storage-queue. First load what fits.":                                                    "no topics",
	} {
		if err := checkLine(line, of); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// TestLines: generated texts have the size that they should have, and every line once.
func TestLines(t *testing.T) {
	for _, n := range []int{1, 80, 90, 91, 9000, 40_000} {
		text := lines("", "a text", n)
		seen := map[string]bool{}
		for line := range strings.Lines(text) {
			if seen[line] {
				t.Errorf("%d bytes: twice %q", n, line)
			}
			seen[line] = true
		}
		if len(text) != n || !strings.HasSuffix(text, "\n") {
			t.Errorf("%d bytes wanted, %d are there, which end %q", n, len(text), text[max(0, len(text)-20):])
		}
	}
}

// TestRecorder checks that messages reach the server and the client, and are written to the
// file.
func TestRecorder(t *testing.T) {
	var kept []line
	var out bytes.Buffer
	pass("client", strings.NewReader("{\"id\":1}\nno JSON\n{\"id\":2}"), &out, func(l line) { kept = append(kept, l) })
	if got := out.String(); got != "{\"id\":1}\nno JSON\n{\"id\":2}" {
		t.Errorf("passed on %q", got)
	}
	want := []line{{From: "client", JSON: json.RawMessage("{\"id\":1}\n")}, {From: "client", Text: "no JSON\n"}, {From: "client", JSON: json.RawMessage(`{"id":2}`)}}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Error(diff)
	}
}

// TestRuler: the ruler answers a client's requests, and nothing else.
func TestRuler(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"skill","arguments":{"name":"500"}}}
{"jsonrpc":"2.0","id":3,"method":"server/discover"}
`
	var out bytes.Buffer
	rule(strings.NewReader(in), &out, "TEXT")
	var got []string
	for text := range strings.Lines(out.String()) {
		var m struct {
			ID     int
			Result struct {
				ProtocolVersion, Instructions string
				Content                       []struct{ Text string }
			}
			Error struct{ Code int }
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		length := 0
		for _, c := range m.Result.Content {
			length += len(c.Text)
		}
		got = append(got, fmt.Sprint(m.ID, " ", m.Result.ProtocolVersion, " ", m.Result.Instructions, " ", length, " ", m.Error.Code))
	}
	want := []string{"1 2025-11-25 I: TEXT 0 0", "2   500 0", "3   0 -32601"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMerge: rows of clients that did not run stay, in the order of the clients; of one
// that was run and gave no row the old one goes.
func TestMerge(t *testing.T) {
	old := "| client | x |\n| --- | --- |\n| OpenCode | old |\n| Gemini CLI | old |\n| Codex | old |\n| Gone | old |\n"
	want := "| client | x |\n| --- | --- |\n| Claude Code | new |\n| Codex | old |\n| Gemini CLI | new |\n"
	got := merge(old, map[string]string{"Gemini CLI": "| Gemini CLI | new |", "Claude Code": "| Claude Code | new |", "OpenCode": ""})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDocument: the document has a row for every client in every table, and none for a
// client that no run can see.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../doc/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	for table := range tables {
		_, rows, _, err := section(string(text), table)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, row := range strings.Split(strings.TrimSpace(rows), "\n")[2:] {
			name, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
			got = append(got, name)
		}
		for _, a := range agents {
			want = append(want, a.name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("table %s: %s", table, diff)
		}
	}
	for _, a := range agents {
		command := "| `" + strings.Join(append([]string{"knack connect", a.id, "--write"}, a.flags...), " ") + "`"
		if !strings.Contains(string(text), command) {
			t.Errorf("no row has the command that connects %s: %s", a.title, command)
		}
	}
}
