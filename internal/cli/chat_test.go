package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/interop/agents/model"
)

// scripted starts an endpoint that answers each request with the next line of a script: say TEXT,
// or call NAME ARGUMENTS. It supports Chat Completions and Messages.
func scripted(script string) (*model.Server, error) {
	lines := strings.Split(strings.TrimSpace(script), "\n")
	s := &model.Server{Next: func(model.Request) model.Reply {
		if len(lines) == 0 {
			return model.Reply{Text: "the script is at its end"}
		}
		kind, rest, _ := strings.Cut(lines[0], " ")
		lines = lines[1:]
		if kind == "say" {
			return model.Reply{Text: rest}
		}
		name, arguments, _ := strings.Cut(rest, " ")
		call := &model.Call{Name: name}
		if err := json.Unmarshal([]byte(arguments), &call.Args); err != nil {
			panic(err)
		}
		return model.Reply{Call: call}
	}}
	return s, s.Start()
}

func startScripted(t testing.TB, script string) *model.Server {
	t.Helper()
	s, err := scripted(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// modelCommand implements the script command model FILE. It starts an endpoint that follows the
// script in FILE. It sets MODEL to the address of Chat Completions, and MESSAGES to the address of
// Messages.
func modelCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model FILE")
	}
	s, err := scripted(ts.ReadFile(args[0]))
	ts.Check(err)
	ts.Defer(s.Close)
	ts.Setenv("MODEL", s.URL()+"/v1")
	ts.Setenv("MESSAGES", s.URL())
}

// calculator writes the skill from the examples of the contracts, and returns its root.
func calculator(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "calculator", "SKILL.md"), "# Calculator Skill\n\nProvides basic arithmetic operations.\n\n## Usage\n\n```python\nresult = 2 + 2\nprint(result)\n```")
	put(t, filepath.Join(dir, "calculator", "examples", "basic.py"), "\ndef add(a, b):\n    return a + b\n\ndef subtract(a, b):\n    return a - b\n")
	return dir
}

// nowhere stands for a machine on which no server listens.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// talks runs knack chat with the given variables and local servers, and returns its output and exit
// status.
func talks(t testing.TB, local http.RoundTripper, variables map[string]string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	home := variables["HOME"]
	if home == "" {
		home = t.TempDir()
	}
	env := console.Env{Stdout: new(locked), Stderr: new(locked), Stdin: strings.NewReader(""), Getenv: func(name string) string { return variables[name] }, Dir: home, Home: home, Local: local}
	code = cli.Main(t.Context(), env, append([]string{"chat"}, args...))
	return env.Stdout.(*locked).String(), env.Stderr.(*locked).String(), code
}

// TestChatContracts checks that the tools, messages and output of conversations are as contracts
// 000 and 001 specify.
func TestChatContracts(t *testing.T) {
	t.Parallel()
	dir := calculator(t)
	s := startScripted(t, `call list_skills {}
call get_skill {"skill_name":"calculator"}
call get_skill {"skill_name":"../../../etc/passwd"}
call get_skill {"skill_name":"nonexistent"}
call read_file_in_skill {"skill_name":"calculator","file_path":"examples/basic.py"}
call read_file_in_skill {"skill_name":"calculator","file_path":"examples/missing.py"}
call read_file_in_skill {"skill_name":"calculator","file_path":"../../../etc/passwd"}
call read_file_in_skill {"skill_name":"nonexistent","file_path":"README.md"}
say 1 + 1 is 2.
`)
	args := []string{"--url", s.URL() + "/v1", "--model", "m", "--tools", "runner", "--no-builtin", "--dir", dir}
	out, errs, code := talks(t, nowhere{}, nil, append(args, "what is 1+1?")...)
	if out != "1 + 1 is 2.\n" || code != 0 {
		t.Errorf("%q, exit status %d", out, code)
	}
	documentation := `{"skill_name":"calculator","documentation":"# Calculator Skill\n\nProvides basic arithmetic operations.\n\n## Usage\n\n` + "```python" + `\nresult = 2 + 2\nprint(result)\n` + "```" + `"}`
	basic := "\ndef add(a, b):\n    return a + b\n\ndef subtract(a, b):\n    return a - b\n"
	results := []struct{ tool, call, result string }{
		{"list_skills", "", `{"skills":["calculator"]}`},
		{"get_skill", `skill_name="calculator"`, documentation},
		{"get_skill", `skill_name="../../../etc/passwd"`, `{"error":"Invalid skill name: '../../../etc/passwd'. Skill names must not contain '/', '\\', or '..'"}`},
		{"get_skill", `skill_name="nonexistent"`, `{"error":"Skill 'nonexistent' not found in skills folder"}`},
		{"read_file_in_skill", `skill_name="calculator", file_path="examples/basic.py"`, basic},
		{"read_file_in_skill", `skill_name="calculator", file_path="examples/missing.py"`, "ERROR: File 'examples/missing.py' not found in skill 'calculator'"},
		{"read_file_in_skill", `skill_name="calculator", file_path="../../../etc/passwd"`, "ERROR: Path traversal detected: cannot access files outside skill folder"},
		{"read_file_in_skill", `skill_name="nonexistent", file_path="README.md"`, "ERROR: Skill 'nonexistent' not found in skills folder"},
	}
	var calls strings.Builder
	for _, r := range results {
		fmt.Fprintf(&calls, "[Tool Call] %s(%s)\n[Tool Result] %s\n", r.tool, r.call, r.result)
	}
	if diff := cmp.Diff(calls.String(), errs); diff != "" {
		t.Error(diff)
	}

	// A dry run prints the first request, with the tools of knack tools.
	var last, first, dry struct {
		Tools    any
		Messages []map[string]any
	}
	requests := s.Requests()
	printed, _, _ := talks(t, nowhere{}, nil, append(args, "what is 1+1?", "--dry-run")...)
	tools, _, _ := ran(t, dir, "tools", "--tools", "runner", "--format", "openai")
	var defined any
	for data, into := range map[string]any{string(requests[8].Raw): &last, string(requests[0].Raw): &first, printed: &dry, tools: &defined} {
		if err := json.Unmarshal([]byte(data), into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(first, dry); diff != "" || len(requests) != 9 {
		t.Errorf("%d requests; the dry run is another one: %s", len(requests), diff)
	}
	if diff := cmp.Diff(defined, last.Tools); diff != "" {
		t.Error(diff)
	}
	for i, r := range results {
		m := last.Messages[3+2*i] // after the system, user and assistant messages
		want := map[string]any{"role": "tool", "tool_call_id": fmt.Sprintf("call_%04d", i+1), "name": r.tool, "content": r.result}
		if diff := cmp.Diff(want, m); diff != "" {
			t.Error(diff)
		}
	}
}

// TestChatMessages checks a conversation over the Messages API.
func TestChatMessages(t *testing.T) {
	t.Parallel()
	s := startScripted(t, "call read_file_in_skill {\"skill_name\":\"calculator\",\"file_path\":\"examples/basic.py\"}\nsay Done.\n")
	out, errs, code := talks(t, nowhere{}, map[string]string{"K": "secret"}, "--url", s.URL(), "--wire", "anthropic", "--key-env", "K", "--model", "m", "--tools", "runner", "--dir", calculator(t), "look")
	if out != "Done.\n" || code != 0 || !strings.HasPrefix(errs, "[Tool Call] read_file_in_skill(skill_name=\"calculator\", file_path=\"examples/basic.py\")\n[Tool Result] \ndef add") {
		t.Errorf("%q, %q, exit status %d", out, errs, code)
	}
	requests := s.Requests()
	if len(requests) != 2 || requests[1].API != model.Messages || requests[0].Header.Get("X-Api-Key") != "secret" || requests[0].Header.Get("User-Agent") == "" {
		t.Fatalf("%d requests, %v", len(requests), requests[0].Header)
	}
	if result, ok := requests[1].Result("call_0001"); !ok || !strings.HasPrefix(result, "\ndef add") {
		t.Errorf("the result is %q", result)
	}
}

// TestChatRounds checks that the request after the last round is not sent.
func TestChatRounds(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	for i := range 20 {
		fmt.Fprintf(&script, "call find_skills {\"query\":\"x%d\"}\n", i)
	}
	s := startScripted(t, script.String())
	args := []string{"--url", s.URL() + "/v1", "--model", "m", "--dir", calculator(t), "go", "--quiet"}
	out, errs, code := talks(t, nowhere{}, nil, args...)
	if want := "error: Reached maximum tool rounds (15). Stopping to prevent infinite loop.\n"; out != "" || errs != want || code != 1 || len(s.Requests()) != 15 {
		t.Errorf("%q, %q, exit status %d, %d requests", out, errs, code, len(s.Requests()))
	}
	// Each request uses 110 tokens.
	_, errs, code = talks(t, nowhere{}, nil, append(args, "--max-tokens", "200")...)
	if want := "error: Reached maximum tokens (220 of 200).\n"; errs != want || code != 1 || len(s.Requests()) != 17 {
		t.Errorf("%q, exit status %d, %d requests", errs, code, len(s.Requests()))
	}
}

// TestChatMany checks that a skill is found among a thousand, only some of which are listed in the
// descriptions of the tools.
func TestChatMany(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 1,000 skills")
	}
	t.Parallel()
	dir := t.TempDir()
	for i := range 1000 {
		name := fmt.Sprintf("skill-%04d", i)
		put(t, filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ndescription: Does the work number "+fmt.Sprint(i)+" of many others.\n---\n")
	}
	put(t, filepath.Join(dir, "zebra", "SKILL.md"), "---\nname: zebra\ndescription: Counts the stripes of animals.\n---\nCount twice.\n")
	for _, wire := range []string{"openai", "anthropic"} {
		s := startScripted(t, "call find_skills {\"query\":\"stripes of an animal\"}\ncall skill {\"name\":\"zebra\"}\nsay 42 stripes.\n")
		url := s.URL()
		if wire == "openai" {
			url += "/v1"
		}
		out, errs, code := talks(t, nowhere{}, nil, "--url", url, "--wire", wire, "--model", "m", "--dir", dir, "how many stripes has it?")
		if out != "42 stripes.\n" || code != 0 || !strings.Contains(errs, "Count twice.") {
			t.Errorf("%s: %q, %.300q, exit status %d", wire, out, errs, code)
		}
		cut := map[string]string{"openai": "more skills, not shown to fit; use find_skills to see them)", "anthropic": "The list may be shortened: every name that find_skills returns can be loaded here."}[wire]
		if described := s.Requests()[0].Tools[0].Description; !strings.Contains(described, cut) || wire == "anthropic" && strings.Contains(described, "the work number 999 of") {
			t.Errorf("%s: the description does not say that it is cut: %s", wire, described)
		}
		if found, _ := s.Requests()[1].Result("call_0001"); !strings.Contains(found, "zebra") {
			t.Errorf("%s: found %q", wire, found)
		}
	}
}

// TestChatNoModel checks the message on a machine without a model.
func TestChatNoModel(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, description := range map[string]string{"pdf": "Fills in and merges PDF forms.", "docx": "Fills in a form in Word.", "form-filler": "Fills in forms on the web.", "git": "Writes commits.", "forms": "Draws a form."} {
		put(t, filepath.Join(home, ".claude", "skills", name, "SKILL.md"), "---\nname: "+name+"\ndescription: "+description+"\n---\n")
	}
	out, errs, code := talks(t, nowhere{}, map[string]string{"HOME": home}, "fill in a pdf form")
	const no = "error: no model to talk to\nhint: start a local one (ollama serve; ollama pull qwen3:8b), or set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, or --url and --model\n"
	if want := no + `these skills fit "fill in a pdf form": pdf, form-filler, docx   (knack show pdf)` + "\n"; out != "" || errs != want || code != 3 {
		t.Errorf("%q, exit status %d\ngot  %s\nwant %s", out, code, errs, want)
	}
	if _, errs, code := talks(t, nowhere{}, nil, "fill in a pdf form"); errs != no || code != 3 {
		t.Errorf("without skills: exit status %d, %s", code, errs) // engage has the word "file"
	}
	if _, errs, code := talks(t, nowhere{}, map[string]string{"HOME": home}, "xyzzy"); errs != no || code != 3 {
		t.Errorf("exit status %d, %s", code, errs)
	}
	if _, errs, code := talks(t, nowhere{}, map[string]string{"HOME": home}); errs != no || code != 3 {
		t.Errorf("a conversation: exit status %d, %s", code, errs)
	}
}

// places replaces the local model servers in a test. It maps a port to its handler.
type places map[string]http.Handler

func (p places) RoundTrip(r *http.Request) (*http.Response, error) {
	h := p[r.URL.Port()]
	if h == nil {
		return nil, errors.New("connection refused")
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	return answer.Result(), nil
}

func says(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
}

// TestChatLocal checks which model servers on this machine are used.
func TestChatLocal(t *testing.T) {
	t.Parallel()
	const none = `{"object":"list","data":[]}`
	_, errs, code := talks(t, places{"11434": says(none)}, nil, "hi")
	if want := "error: Ollama at http://127.0.0.1:11434/v1 has no model\nhint: ollama pull qwen3:8b\n"; errs != want || code != 3 {
		t.Errorf("without a model: exit status %d, %s", code, errs)
	}
	for _, page := range []string{"<html>a site</html>", `{"data":[]}`, `["a"]`, ``} {
		if _, errs, code := talks(t, places{"8080": says(page)}, nil, "hi"); !strings.HasPrefix(errs, "error: no model to talk to\n") || code != 3 {
			t.Errorf("%s: exit status %d, %s", page, code, errs)
		}
	}
	const gemma = `{"object":"list","data":[{"id":"gemma","object":"model"}]}`
	if _, errs, code := talks(t, places{"8080": says("404 page not found\n"), "1234": says(gemma)}, nil, "hi", "--model", "gema"); code != 3 || errs != "error: no server on this machine has the model 'gema'; there is gemma\nhint: did you mean gemma?\n" {
		t.Errorf("another model: exit status %d, %s", code, errs)
	}
}

// TestChatKeys checks that knack's output contains no key, wherever keys can be configured.
func TestChatKeys(t *testing.T) {
	t.Parallel()
	const canaries = 50
	var keys []string
	for i := range canaries {
		keys = append(keys, fmt.Sprintf("sk-canary-%02d-%032x", i, 7919*(i+1)*(i+3)))
	}
	var sent []string
	url := newLoopback(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key")
		sent = append(sent, key)
		if r.Method == http.MethodGet { // the list of models, or the target of a redirect
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader([]int{401, 403, 404, 400, 422, 302}[len(sent)%6])
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s (Bearer %s)"}}`, key, key)
	}))
	home := t.TempDir()
	var written strings.Builder
	run := func(variables map[string]string, args ...string) {
		variables["HOME"] = home
		transcript := filepath.Join(home, "t.jsonl")
		for _, more := range [][]string{nil, {"--dry-run"}, {"--json"}, {"--max-rounds", "0"}} {
			out, errs, code := talks(t, nowhere{}, variables, append(append(args, "--transcript", transcript, "what is my key?"), more...)...)
			if code == 0 && more == nil {
				t.Errorf("%q: exit status 0: %s", args, out)
			}
			fmt.Fprintf(&written, "%s\n%s\n", out, errs)
		}
		data, err := os.ReadFile(transcript)
		if err == nil {
			written.Write(data)
		}
	}
	for i, key := range keys {
		host := strings.TrimPrefix(url, "http://")
		switch i % 10 {
		case 0:
			run(map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": url}, "--model", "m")
		case 1:
			run(map[string]string{"LLM_API_KEY": key, "LLM_API_BASE_URL": url, "LLM_MODEL_NAME": "m"})
		case 2:
			run(map[string]string{"MY_KEY": key}, "--url", url, "--key-env", "MY_KEY", "--model", "m", "--wire", "anthropic")
		case 3:
			run(map[string]string{}, "--url", "http://user:"+key+"@"+host, "--model", "m")
		case 4:
			run(map[string]string{}, "--url", url+"/?key="+key, "--model", "m")
		case 5:
			run(map[string]string{}, "--url", url, "--key-env", key, "--model", "m")
		case 6:
			put(t, filepath.Join(home, "knack.yaml"), "chat: {models: {x: {url: '"+url+"', model: m, key-file: secret.txt}}}\n")
			put(t, filepath.Join(home, "secret.txt"), key+"\n")
			run(map[string]string{}, "--config", filepath.Join(home, "knack.yaml"))
		case 7:
			put(t, filepath.Join(home, "knack.yaml"), "chat: {models: {x: {url: '"+url+"', model: m, key: "+key+"}}}\n")
			run(map[string]string{}, "--config", filepath.Join(home, "knack.yaml"))
		case 8:
			put(t, filepath.Join(home, "knack.yaml"), "chat: {models: {x: {url: '"+url+"', model: m, key-env: "+key+"}}}\n")
			run(map[string]string{}, "--config", filepath.Join(home, "knack.yaml"))
		case 9:
			run(map[string]string{"LLM_API_BASE_URL": "https://" + key + "@" + host, "OPENAI_API_KEY": key}, "--model", "m")
		}
	}
	for _, key := range keys {
		if text := written.String(); strings.Contains(text, key) || strings.Contains(text, key[len("sk-"):]) {
			at := strings.Index(text, key[len("sk-"):])
			t.Errorf("a key is written: %s", text[max(0, at-200):min(len(text), at+100)])
		}
	}
	arrived := 0
	for _, key := range sent {
		if strings.HasPrefix(key, "sk-canary") {
			arrived++
		}
	}
	if arrived < 20 || !strings.Contains(written.String(), `"type":"error"`) {
		t.Errorf("%d requests had a key", arrived)
	}
}

// TestChatStream checks that text is printed while the endpoint is still sending.
func TestChatStream(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	url := newLoopback(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"first \"}}]}\n\n")
		w.(http.Flusher).Flush()
		<-more
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"second\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	r, w := io.Pipe()
	env := console.Env{Stdout: w, Stderr: io.Discard, Stdin: strings.NewReader(""), Getenv: func(string) string { return "" }, Dir: t.TempDir(), Home: t.TempDir()}
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Main(t.Context(), env, []string{"chat", "--url", url, "--model", "m", "hi"})
		w.Close()
	}()
	b := make([]byte, len("first "))
	if _, err := io.ReadFull(r, b); err != nil || string(b) != "first " {
		t.Fatalf("%q, %v", b, err)
	}
	close(more)
	rest, err := io.ReadAll(r)
	if code := <-ended; code != 0 || err != nil || string(rest) != "second\n" {
		t.Errorf("%q, %v, exit status %d", rest, err, code)
	}
}
