package knack_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack"
	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// A program opens the skills of a folder, searches them, loads a skill with a tool call, and serves
// all of them over MCP.
func Example() {
	ctx := context.Background()
	skills, err := knack.Open(ctx, knack.Options{Dirs: []string{"source/builtin/skills"}})
	if err != nil {
		panic(err)
	}
	defer skills.Close()
	found, err := skills.Search(ctx, "write a new skill", 1)
	if err != nil || len(found) == 0 {
		panic(err)
	}
	fmt.Println(found[0].Name)
	answer, err := skills.Call(ctx, "skill", map[string]any{"name": found[0].Name})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.22s\n", answer.Text)
	if err := skills.Serve(ctx, strings.NewReader(""), io.Discard); err != nil { // nil, nil: standard input and output
		panic(err)
	}
	// Output:
	// write-a-skill
	// Loading: write-a-skill
}

// TestAgentsPage checks that doc/agents.md begins with the code of the example above.
func TestAgentsPage(t *testing.T) {
	source, err := os.ReadFile("knack_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("doc", "agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "func Example() {\n")
	body, _, found := strings.Cut(body, "\t// Output:")
	_, block, _ := strings.Cut(string(page), "```go\n")
	block, _, _ = strings.Cut(block, "```")
	if !found || !strings.Contains(block, body) {
		t.Errorf("doc/agents.md has another program than Example:\n%s", block)
	}
}

func write(t *testing.T, dir, name, description string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n\nBody of %s.\n", name, description, name)
	if err := os.WriteFile(filepath.Join(dir, name, "SKILL.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, o knack.Options) *knack.Library {
	t.Helper()
	skills, err := knack.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(skills.Close)
	return skills
}

func TestLibrary(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "adding", "Adds numbers")
	write(t, dir, "painting", "Paints pictures")
	ctx, skills := t.Context(), open(t, knack.Options{Dirs: []string{dir}, NoBuiltin: true})

	all, err := skills.Skills(ctx)
	want := []knack.Skill{{"adding", "Adds numbers", "skill://adding/SKILL.md", "dir-1"}, {"painting", "Paints pictures", "skill://painting/SKILL.md", "dir-1"}}
	if err != nil || fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("Skills = %v, %v; want %v", all, err, want)
	}
	found, err := skills.Search(ctx, "pictures", 1)
	if err != nil || len(found) != 1 || found[0].Name != "painting" {
		t.Errorf("Search = %v, %v", found, err)
	}
	unknown, err := skills.Call(ctx, "skill", map[string]any{"name": "nothing"})
	if err != nil || !strings.Contains(unknown.Text, "not found") {
		t.Errorf("Call of an unknown skill = %+v, %v", unknown, err)
	}
	definitions, err := skills.Functions(ctx, function.OpenAI)
	if err != nil || !bytes.Contains(definitions, []byte("Paints pictures")) {
		t.Errorf("Functions = %s, %v", definitions, err)
	}
	answer, err := skills.Answer(ctx, function.Anthropic, []byte(`{"type":"tool_use","id":"1","name":"skill","input":{"name":"adding"}}`))
	if err != nil || !bytes.Contains(answer, []byte("Body of adding.")) {
		t.Errorf("Answer = %s, %v", answer, err)
	}
	if _, err := skills.Call(ctx, "skill", func() {}); err == nil {
		t.Error("Call took arguments that are no JSON")
	}
}

// TestSearchNames checks that each name that a search returns loads the found skill, even if
// another folder has a skill with the same name.
func TestSearchNames(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	write(t, one, "adding", "Adds numbers")
	write(t, two, "adding", "Adds up bills")
	skills := open(t, knack.Options{Dirs: []string{one, two}, NoBuiltin: true})
	found, err := skills.Search(t.Context(), "adds", 0)
	if err != nil || len(found) != 2 {
		t.Fatalf("Search = %v, %v", found, err)
	}
	for _, s := range found {
		answer, err := skills.Call(t.Context(), "skill", map[string]any{"name": s.Name})
		if err != nil || !strings.Contains(answer.Text, filepath.Join(map[string]string{"dir-1": one, "dir-2": two}[s.Root], "adding")) {
			t.Errorf("%s of %s loads %q, %v", s.Name, s.Root, answer.Text, err)
		}
	}
}

// TestLibraryIsGuarded checks that a skill that does not match the lock beside it is not served if
// the settings enforce locks.
func TestLibraryIsGuarded(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".agents", "skills"), "adding", "Adds numbers")
	config := filepath.Join(t.TempDir(), "knack.yaml")
	if err := os.WriteFile(config, []byte("lock: enforce\nroots:\n  - label: team\n    dir: "+filepath.Join(dir, ".agents", "skills")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	names := func() string {
		all, err := open(t, knack.Options{Config: config, NoBuiltin: true}).Skills(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(len(all))
	}
	if got := names(); got != "1" {
		t.Fatalf("%s skills without a lock", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "knack.lock"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := names(); got != "0" {
		t.Errorf("%s skills are served that are not as locked", got)
	}
}

func TestOpenFails(t *testing.T) {
	for _, o := range []knack.Options{{Dirs: []string{filepath.Join(t.TempDir(), "none")}}, {Tools: "none"}, {Exclude: []string{"none"}}} {
		if skills, err := knack.Open(t.Context(), o); err == nil {
			skills.Close()
			t.Errorf("Open(%+v) does not fail", o)
		}
	}
}

// TestOpenWithSilentFolder checks that Open leaves out a folder whose disk does not answer.
func TestOpenWithSilentFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, silent := t.TempDir(), t.TempDir()
		write(t, dir, "adding", "Adds numbers")
		write(t, silent, "painting", "Paints pictures")
		answer := make(chan bool)
		defer close(answer)
		realpath.Ask(silent, false, func() bool { return <-answer })
		skills, err := knack.Open(t.Context(), knack.Options{Dirs: []string{dir, silent}, NoBuiltin: true})
		if err != nil {
			t.Fatal(err)
		}
		defer skills.Close()
		if all, err := skills.Skills(t.Context()); err != nil || len(all) != 1 {
			t.Errorf("Skills = %v, %v", all, err)
		}
	})
}

// TestHandlerCloses checks that a program's own HTTP server with the handler can shut down while a
// client listens.
func TestHandlerCloses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "adding", "Adds numbers")
	handler, err := open(t, knack.Options{Dirs: []string{dir}}).Handler()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"agent","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Method": "subscriptions/listen", "Mcp-Protocol-Version": "2026-07-28"} {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream is %d %q, %v", answer.StatusCode, text, err)
	}
	handler.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Patience)
	defer cancel()
	if err := server.Config.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func TestHandler(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "adding", "Adds numbers")
	handler, err := open(t, knack.Options{Dirs: []string{dir}}).Handler()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "skill", Arguments: map[string]any{"name": "adding"}})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(answer.Content)
	if !bytes.Contains(data, []byte("Body of adding.")) || bytes.Contains(data, []byte(dir)) {
		t.Errorf("the answer is %s", data)
	}
}
