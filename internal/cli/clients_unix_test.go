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
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
)

// noModel is the address of a model that does not exist. A client without a command that asks its
// servers starts a conversation, which connects to the servers before it fails.
const noModel = "http://127.0.0.1:9/v1"

// asked describes clients on npm, with the arguments that make a client connect to its servers
// without an account.
var asked = map[string]struct {
	npm, program string
	args         []string
	env          []string
	files        map[string]string // below the home folder, whose path replaces HOME
}{
	"claude-code": {"@anthropic-ai/claude-code", "claude", []string{"mcp", "list"}, nil, nil},
	"gemini-cli": {"@google/gemini-cli", "gemini", []string{"mcp", "list"}, nil,
		map[string]string{".gemini/trustedFolders.json": `{"HOME":"TRUST_FOLDER"}`}},
	"qwen-code": {"@qwen-code/qwen-code", "qwen", []string{"mcp", "list"}, nil,
		map[string]string{".qwen/trustedFolders.json": `{"HOME":"TRUST_FOLDER"}`}},
	"opencode": {"opencode-ai", "opencode", []string{"mcp", "list"}, nil, nil},
	"kilo":     {"@kilocode/cli", "kilo", []string{"mcp", "list"}, nil, nil},
	"codex": {"@openai/codex", "codex", []string{"exec", "--skip-git-repo-check", "-c", "model_provider=x",
		"-c", `model_providers.x={name="x",base_url="` + noModel + `",wire_api="responses",request_max_retries=0,stream_max_retries=0}`, "hi"}, nil, nil},
	"copilot-cli": {"@github/copilot", "copilot", []string{"-p", "hi"}, []string{"COPILOT_PROVIDER_BASE_URL=" + noModel, "COPILOT_MODEL=x"}, nil},
}

// TestClientsConnect checks that the real clients send the token with the entry that connect wrote.
// With another token, the server must refuse them, which proves that the token matters.
func TestClientsConnect(t *testing.T) {
	token, line := access.NewToken()
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	put(t, tokens, line+" test\n")
	for id, a := range asked {
		t.Run(id, func(t *testing.T) {
			program := clientOfNPM(t, id)
			for what, sent := range map[string]string{"ok": token, "refused token": token + "x"} {
				audit := filepath.Join(t.TempDir(), "audit")
				url := startServer(t, "--dir", skills(t), "--token-file", tokens, "--audit", audit)
				home := t.TempDir()
				settle(t, id, home)
				var out, errs bytes.Buffer
				env := console.Env{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Dir: home, Home: home}
				if code := cli.Main(t.Context(), env, []string{"connect", id, "--http", url, "--token", "--write", "--project", home}); code != 0 {
					t.Fatal(code, errs.String())
				}
				var said bytes.Buffer
				got := resultsOf(t, audit, func(ctx context.Context) {
					cmd := exec.CommandContext(ctx, program, a.args...)
					cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = home, &said, &said, 5*time.Second
					// Most programs are scripts that start the client, so the whole process group
					// is killed.
					cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
					cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
					cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "KNACK_TOKEN=" + sent}, a.env...)
					_ = cmd.Run() // a client that starts a conversation fails
				})
				if len(got) == 0 || slices.ContainsFunc(got, func(r string) bool { return r != what }) {
					t.Errorf("with the %s token the server answered %q, want %q alone; the client said\n%s", map[bool]string{true: "right", false: "wrong"}[sent == token], got, what, said.String())
				}
			}
		})
	}
}

// owned has the commands of clients on npm that add a server and list the servers. OLD and DIR are
// placeholders for a command and an argument. shows is a text that the list contains once for each
// server.
var owned = map[string]struct {
	add, list []string
	shows     string
}{
	"claude-code": {[]string{"mcp", "add", "knack", "--", "OLD", "serve", "--dir", "DIR"}, []string{"mcp", "list"}, "Connected"},
	"codex":       {[]string{"mcp", "add", "knack", "--", "OLD", "serve", "--dir", "DIR"}, []string{"mcp", "list"}, "enabled"},
	"gemini-cli":  {[]string{"mcp", "add", "-s", "user", "knack", "OLD", "serve", "--", "--dir", "DIR"}, []string{"mcp", "list"}, "Connected"},
	"opencode":    {[]string{"mcp", "add", "knack", "--", "OLD", "serve", "--dir", "DIR"}, []string{"mcp", "list"}, "connected"},
	"kilo":        {[]string{"mcp", "add", "knack", "--", "OLD", "serve", "--dir", "DIR"}, []string{"mcp", "list"}, "connected"},
	"qwen-code":   {[]string{"mcp", "add", "knack", "OLD", "serve", "--", "--dir", "DIR"}, []string{"mcp", "list"}, "Connected"},
	"copilot-cli": {[]string{"mcp", "add", "knack", "--", "OLD", "serve", "--dir", "DIR"}, []string{"mcp", "get", "knack"}, "Enabled"},
}

// TestClientsOwnEntry checks that connect keeps the arguments of an entry that the client's own
// command added. Only one entry must be left, and the client must connect to it.
func TestClientsOwnEntry(t *testing.T) {
	knack, err := exec.LookPath("knack") // this test binary, see TestMain
	if err != nil {
		t.Fatal(err)
	}
	for id, o := range owned {
		t.Run(id, func(t *testing.T) {
			program := clientOfNPM(t, id)
			home, older, skills := t.TempDir(), filepath.Join(t.TempDir(), "knack"), skills(t)
			if err := os.Symlink(knack, older); err != nil {
				t.Fatal(err)
			}
			settle(t, id, home)
			run := func(args []string) string {
				ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
				defer stop()
				cmd := exec.CommandContext(ctx, program)
				for _, a := range args {
					cmd.Args = append(cmd.Args, strings.NewReplacer("OLD", older, "DIR", skills).Replace(a))
				}
				cmd.Dir, cmd.WaitDelay = home, 5*time.Second
				cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "NO_COLOR=1"}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
				}
				return string(out)
			}
			run(o.add)
			var out, errs bytes.Buffer
			env := console.Env{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Dir: home, Home: home}
			if code := cli.Main(t.Context(), env, []string{"connect", id, "--command", knack, "--write"}); code != 0 || !strings.Contains(out.String(), older) {
				t.Fatal(code, out.String(), errs.String())
			}
			list := run(o.list)
			for text, want := range map[string]int{knack + " ": 1, older: 0, "--dir " + skills: 1, o.shows: 1} {
				if got := strings.Count(strings.Join(strings.Fields(list), " "), text); got != want {
					t.Errorf("%q %d times, want %d, in\n%s", text, got, want, list)
				}
			}
		})
	}
}

// clientOfNPM returns the program of a client in the folders of KNACK_CLIENTS.
func clientOfNPM(t *testing.T, id string) string {
	t.Helper()
	folders := os.Getenv("KNACK_CLIENTS")
	if folders == "" {
		t.Skip("KNACK_CLIENTS names no folders that hold clients: npm install " + asked["gemini-cli"].npm + " and others, then KNACK_CLIENTS=…/node_modules/.bin")
	}
	for _, folder := range filepath.SplitList(folders) {
		if found, err := exec.LookPath(filepath.Join(folder, asked[id].program)); err == nil {
			return found
		}
	}
	t.Skipf("no folder of KNACK_CLIENTS holds %s: npm install %s", asked[id].program, asked[id].npm)
	return ""
}

// settle writes the files that a client needs in its home folder.
func settle(t *testing.T, id, home string) {
	t.Helper()
	for at, text := range asked[id].files {
		at = filepath.Join(home, filepath.FromSlash(at))
		put(t, at, strings.ReplaceAll(text, "HOME", home))
	}
}

// resultsOf runs a client and returns the results of its POST requests, or of the requests in its
// session. It stops the client shortly after the first result.
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
				continue // an incomplete line
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
