//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/cli"
)

// noModel is a model that is not there: a client that has no command to ask a server
// begins a conversation, and connects before it fails.
const noModel = "http://127.0.0.1:9/v1"

// asked is a client of npm, and how it is made to connect to its servers without an
// account.
var asked = map[string]struct {
	npm, program string
	args         []string
	env          []string
	files        map[string]string // below the home folder; HOME stands for its path
}{
	"claude-code": {"@anthropic-ai/claude-code", "claude", []string{"mcp", "list"}, nil,
		map[string]string{".claude.json": `{"projects":{"HOME":{"hasTrustDialogAccepted":true,"enabledMcpjsonServers":["knack"]}}}`}},
	"gemini-cli": {"@google/gemini-cli", "gemini", []string{"mcp", "list"}, nil,
		map[string]string{".gemini/trustedFolders.json": `{"HOME":"TRUST_FOLDER"}`}},
	"qwen-code": {"@qwen-code/qwen-code", "qwen", []string{"mcp", "list"}, nil,
		map[string]string{".qwen/trustedFolders.json": `{"HOME":"TRUST_FOLDER"}`}},
	"opencode": {"opencode-ai", "opencode", []string{"mcp", "list"}, nil, nil},
	"codex": {"@openai/codex", "codex", []string{"exec", "--skip-git-repo-check", "-c", "model_provider=x",
		"-c", `model_providers.x={name="x",base_url="` + noModel + `",wire_api="responses",request_max_retries=0,stream_max_retries=0}`, "hi"}, nil, nil},
	"copilot-cli": {"@github/copilot", "copilot", []string{"-p", "hi"}, []string{"COPILOT_PROVIDER_BASE_URL=" + noModel, "COPILOT_MODEL=x"}, nil},
}

// TestClientsConnect: the entry that connect writes makes the real client send the
// token; with another token it is refused, so that it was not let in without.
func TestClientsConnect(t *testing.T) {
	folders := os.Getenv("KNACK_CLIENTS")
	if folders == "" {
		t.Skip("KNACK_CLIENTS names no folders that hold clients: npm install " + asked["gemini-cli"].npm + " and others, then KNACK_CLIENTS=…/node_modules/.bin")
	}
	token, line := access.NewToken()
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte(line+" test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for id, a := range asked {
		t.Run(id, func(t *testing.T) {
			program := ""
			for _, folder := range filepath.SplitList(folders) {
				if found, err := exec.LookPath(filepath.Join(folder, a.program)); err == nil {
					program = found
				}
			}
			if program == "" {
				t.Skipf("no folder of KNACK_CLIENTS holds %s: npm install %s", a.program, a.npm)
			}
			for what, sent := range map[string]string{"ok": token, "refused token": token + "x"} {
				audit := filepath.Join(t.TempDir(), "audit")
				url := serving(t, "--dir", skills(t), "--token-file", tokens, "--audit", audit)
				home := t.TempDir()
				for at, text := range a.files {
					at = filepath.Join(home, filepath.FromSlash(at))
					if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(at, []byte(strings.ReplaceAll(text, "HOME", home)), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				var out, errs bytes.Buffer
				env := cli.Env{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Dir: home, Home: home}
				if code := cli.Main(t.Context(), env, []string{"connect", id, "--http", url, "--token", "--write", "--project", home}); code != 0 {
					t.Fatal(code, errs.String())
				}
				var said bytes.Buffer
				got := resultsOf(t, audit, func(ctx context.Context) {
					cmd := exec.CommandContext(ctx, program, a.args...)
					cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = home, &said, &said, 5*time.Second
					cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // most are a script that starts the client
					cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
					cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "KNACK_TOKEN=" + sent}, a.env...)
					_ = cmd.Run() // one that begins a conversation fails
				})
				if len(got) == 0 || slices.ContainsFunc(got, func(r string) bool { return r != what }) {
					t.Errorf("with the %s token the server answered %q, want %q alone; the client said\n%s", map[bool]string{true: "right", false: "wrong"}[sent == token], got, what, said.String())
				}
			}
		})
	}
}

// resultsOf runs a client and returns what the server answered to its requests by
// POST, or what it asked of the server in a session. It ends the client at the first
// answer, after a moment for another.
func resultsOf(t *testing.T, audit string, run func(context.Context)) (results []string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	ended := make(chan bool)
	go func() { run(ctx); close(ended) }()
	for more := true; more; {
		select {
		case <-ended:
			more = false
		case <-time.After(200 * time.Millisecond):
		}
		results = nil
		data, _ := os.ReadFile(audit)
		for line := range bytes.Lines(data) {
			var event struct{ Method, Result string }
			if err := json.Unmarshal(line, &event); err != nil {
				continue // half of a line
			}
			if m := event.Method; m == "POST" && event.Result == "refused token" || m == "initialize" || m == "server/discover" {
				results = append(results, event.Result)
			}
		}
		if more && len(results) > 0 {
			stop()
			<-ended
			more = false
		}
	}
	return slices.Compact(results)
}
