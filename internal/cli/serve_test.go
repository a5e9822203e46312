package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// environment returns the environment of a person with one valid skill and one broken skill.
func environment(t *testing.T) console.Env {
	t.Helper()
	home := t.TempDir()
	for file, text := range map[string]string{
		".claude/skills/git/SKILL.md":    "---\nname: git\ndescription: Git.\n---\n",
		".claude/skills/broken/SKILL.md": "---\nname: broken\n---\n",
		".agents/skills":                 "a file",
	} {
		file = filepath.Join(home, file)
		put(t, file, text)
	}
	return console.Env{
		Stdin: strings.NewReader(""), Stdout: new(locked), Stderr: new(locked),
		Getenv: func(string) string { return "" }, Dir: t.TempDir(), Home: home,
	}
}

// locked is a buffer that several goroutines may use.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// eventually waits until a stream contains a text.
func eventually(t *testing.T, l *locked, want string) {
	t.Helper()
	testwait.Until(t, func() bool { return strings.Contains(l.String(), want) }, want, "is not in", l.String)
}

// TestServeBanner checks that serve prints on a terminal which skills it serves and from where,
// which skills it skips, and how a client connects. Stdout must have only the protocol.
func TestServeBanner(t *testing.T) {
	env := environment(t)
	in, person := io.Pipe()
	env.Stdin, env.StderrTerminal, env.Plain = in, true, true
	out, told := env.Stdout.(*locked), env.Stderr.(*locked)
	ended := make(chan int, 1)
	go func() { ended <- cli.Main(t.Context(), env, []string{"serve"}) }()
	eventually(t, told, "To end it")
	person.Close()
	if code := <-ended; code != 0 {
		t.Errorf("exit status %d", code)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := `knack serves 3 skills over MCP on standard input and output.
  claude-user (~/.claude/skills): 2 found
  agents-user (~/.agents/skills): cannot be read: it is a file, not a folder (give a folder)
  builtin: 2 found
Skipped:
  ~/.claude/skills/broken/SKILL.md:2:1: description is missing (add a line description: that says what the skill does and when to use it)
A client starts this command itself. For Claude Code, this adds it:
  EXE connect claude-code --write
To end it: Ctrl-C.
`
	// After a second, a progress line is printed and erased.
	got := regexp.MustCompile(`[^\n]*\r`).ReplaceAllString(told.String(), "")
	got = strings.NewReplacer(env.Home, "HOME", exe, "EXE").Replace(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if out.String() != "" {
		t.Errorf("on stdout: %s", out)
	}
}

// TestServeBannerFlags checks that the command in the banner has the flags in use, with absolute
// paths.
func TestServeBannerFlags(t *testing.T) {
	env := environment(t)
	in, person := io.Pipe()
	env.Stdin, env.StderrTerminal = in, true
	if err := os.MkdirAll(filepath.Join(env.Dir, "my skills"), 0o755); err != nil {
		t.Fatal(err)
	}
	told := env.Stderr.(*locked)
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Main(t.Context(), env, []string{"serve", "--tools=runner", "--entry", "x", "--no-builtin", "--dir", "my skills", "--dir", env.Dir})
	}()
	eventually(t, told, "To end it")
	person.Close()
	if code := <-ended; code != 0 {
		t.Errorf("exit status %d", code)
	}
	want := " connect claude-code --write -- --dir '" + filepath.Join(env.Dir, "my skills") + "' --dir " + env.Dir + " --no-builtin --tools runner\n"
	if !strings.Contains(told.String(), want) {
		t.Errorf("%s\nwant %s", told, want)
	}
}

// TestServeGreeting checks the text that serve prints over HTTP at a terminal. Without a terminal,
// it must print only its address. Skipped skills must be counted in one line, and not be in the
// log.
func TestServeGreeting(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const tokens = "sha256:2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90 anna\n"
	for name, tt := range map[string]struct {
		terminal bool
		flags    []string
		want     string
	}{
		"no terminal": {false, []string{"--log-level", "error"}, "knack serves MCP at http://127.0.0.1:PORT/mcp\n"},
		"terminal": {true, nil, `knack serves MCP at http://127.0.0.1:PORT/mcp
Pages for people: http://127.0.0.1:PORT/
To connect a client, for example Claude Code:
  EXE connect claude-code --write --url http://127.0.0.1:PORT/mcp
To end it: Ctrl-C.
3 skills of 2 roots; 1 skill skipped, 1 root not readable, and knack list --all says why
`},
		"tokens": {true, []string{"--token-file", "tokens", "--allow-host", "skills.example.com"}, `knack serves MCP at http://127.0.0.1:PORT/mcp
Pages for people: http://127.0.0.1:PORT/
To connect a client, for example Claude Code:
  knack connect claude-code --write --url http://skills.example.com:PORT/mcp --token
Each client needs a token ('knack token new' makes one), most in the variable KNACK_TOKEN.
To end it: Ctrl-C.
3 skills of 2 roots; 1 skill skipped, 1 root not readable, and knack list --all says why
`},
		"json": {true, []string{"--log-format", "json", "--log-level", "error"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			env := environment(t)
			env.StderrTerminal = tt.terminal
			put(t, filepath.Join(env.Dir, "tokens"), tokens)
			told := env.Stderr.(*locked)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan int, 1)
			go func() {
				ended <- cli.Main(ctx, env, append([]string{"serve", "--http", "0"}, tt.flags...))
			}()
			eventually(t, told, "/mcp")
			if tt.terminal && name != "json" {
				eventually(t, told, "3 skills of 2 roots")
			}
			stop()
			if code := <-ended; code != 0 {
				t.Errorf("exit status %d", code)
			}
			text := regexp.MustCompile(`\r[^\n]*\r`).ReplaceAllString(told.String(), "") // erase the progress line of a busy machine
			got := regexp.MustCompile(`:\d+/`).ReplaceAllString(strings.ReplaceAll(text, exe, "EXE"), ":PORT/")
			if name == "json" {
				if strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "{") {
					t.Error(got)
				}
			} else if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestServeClientStopsReading checks that one signal ends the process even if the client has
// stopped reading.
func TestServeClientStopsReading(t *testing.T) {
	testwait.Slow(t)
	t.Parallel()
	env := environment(t)
	in, client := io.Pipe()
	defer client.Close()
	env.Stdin = in
	out := &gate{locked: new(locked), blocked: make(chan struct{}), open: make(chan struct{})}
	defer close(out.open)
	env.Stdout = out
	ctx, signal := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- cli.Main(ctx, env, []string{"serve", "--dir", env.Home}) }()
	io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
	<-out.blocked
	signal()
	select {
	case code := <-ended:
		if code != 3 {
			t.Errorf("exit status %d", code)
		}
	case <-time.After(30 * time.Second):
		t.Error("the process does not end")
	}
}

// TestServeIsPrivate checks that no answer over stdio allows a shared cache, since the skills
// belong to one person.
func TestServeIsPrivate(t *testing.T) {
	env := environment(t)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
	var in string
	for i, method := range []string{"resources/list", "resources/templates/list", "skills/list", "tools/list", "prompts/list"} {
		in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`+"\n", i, method, meta)
	}
	for i, method := range []string{"resources/read", "skills/get"} {
		in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"uri":"skill://claude-user/git/SKILL.md",%s}}`+"\n", 10+i, method, meta)
	}
	env.Stdin = strings.NewReader(in)
	if code := cli.Main(t.Context(), env, []string{"serve"}); code != 0 {
		t.Fatalf("exit status %d", code)
	}
	out := env.Stdout.(*locked).String()
	if strings.Contains(out, `"cacheScope":"public"`) || strings.Count(out, `"cacheScope":"private"`) != 7 {
		t.Error(out)
	}
}

// gate is a stream that holds back its first write.
type gate struct {
	*locked
	once          sync.Once
	blocked, open chan struct{}
}

func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() { close(g.blocked) })
	<-g.open
	return g.locked.Write(p)
}

// TestListWidth checks that lists cut descriptions to the width of the terminal, and never within a
// character.
func TestListWidth(t *testing.T) {
	env := environment(t)
	file := filepath.Join(env.Home, ".claude/skills/git/SKILL.md")
	put(t, file, "---\nname: git\ndescription: Größe über alles und noch viel mehr davon.\n---\n")
	env.StdoutTerminal, env.Width = true, 36
	env.Getenv = func(name string) string { return map[string]string{"NO_COLOR": "1"}[name] }
	if code := cli.Main(t.Context(), env, []string{"list", "--no-builtin"}); code != 0 {
		t.Fatalf("exit status %d", code)
	}
	want := `claude-user (~/.claude/skills)
  git  Größe über alles und noch…
1 skill, 1 skipped, 1 root not
  readable (knack list --all shows
  which and why)
`
	if diff := cmp.Diff(want, env.Stdout.(*locked).String()); diff != "" {
		t.Error(diff)
	}
}

// TestOutputFails checks that a command that could not write its output fails, even if its result
// is negative.
func TestOutputFails(t *testing.T) {
	whole := environment(t)
	put(t, filepath.Join(whole.Dir, ".git/x"), "")
	put(t, filepath.Join(whole.Dir, "mine/SKILL.md"), "---\nname: mine\ndescription: Reads it.\n---\n")
	if code := cli.Main(t.Context(), whole, []string{"add", "./mine"}); code != 0 {
		t.Fatal(whole.Stderr)
	}
	put(t, filepath.Join(whole.Dir, ".agents/skills/mine/SKILL.md"), "no frontmatter")
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"show", "git"}, {"version"}, {"completion", "bash"}, {"--help"},
		{"check"}, {"doctor", "mine"}, {"search", "--json", "nothing"}, {"verify"}, {"verify", "--json"},
	} {
		env := whole
		env.Stdout, env.Stderr = full{}, new(locked)
		if code := cli.Main(t.Context(), env, args); code != 3 {
			t.Errorf("%v: exit status %d", args, code)
		}
		if got, want := env.Stderr.(*locked).String(), "error: the output cannot be written: no space left on device\n"; !strings.HasSuffix(got, want) {
			t.Errorf("%v: %s", args, got)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: errNoSpace{}}
}

type errNoSpace struct{}

func (errNoSpace) Error() string { return "no space left on device" }

// TestServeRootIsFile checks that a file in place of a client's root is logged in one line, and not
// in one line for each folder that could be below it.
func TestServeRootIsFile(t *testing.T) {
	env := environment(t)
	file := filepath.Join(env.Dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	in, client := io.Pipe()
	env.Stdin = in
	out, told := env.Stdout.(*locked), env.Stderr.(*locked)
	ended := make(chan int, 1)
	go func() { ended <- cli.Main(t.Context(), env, []string{"serve", "--exclude", "agents-user"}) }()
	io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
	eventually(t, out, `"serverInfo"`)
	io.WriteString(client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	eventually(t, out, `"roots/list"`)
	id := regexp.MustCompile(`"id":(\d+|"[^"]*")[^\n]*"roots/list"|"roots/list"[^\n]*"id":(\d+|"[^"]*")`).FindStringSubmatch(out.String())
	io.WriteString(client, `{"jsonrpc":"2.0","id":`+id[1]+id[2]+`,"result":{"roots":[{"uri":"file://`+filepath.ToSlash(file)+`"}]}}`+"\n")
	eventually(t, told, "a root of the client cannot be used")
	io.WriteString(client, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n")
	eventually(t, out, `"id":2`)
	client.Close()
	if code := <-ended; code != 0 {
		t.Errorf("exit status %d", code)
	}
	if n := strings.Count(told.String(), "level=WARN"); n != 2 || !strings.Contains(told.String(), "it is a file, not a folder") {
		t.Errorf("%d warnings, want one of the root and one of the broken skill:\n%s", n, told)
	}
}

// TestServeMissingFolder checks that a missing folder in KNACK_DIRS is logged in one line, at a
// terminal too.
func TestServeMissingFolder(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		env := environment(t)
		gone := filepath.Join(env.Home, "gone")
		env.Getenv = func(name string) string {
			return map[string]string{"KNACK_DIRS": "relative" + string(filepath.ListSeparator) + gone}[name]
		}
		in, client := io.Pipe()
		env.Stdin, env.StderrTerminal = in, terminal
		told := env.Stderr.(*locked)
		ended := make(chan int, 1)
		go func() { ended <- cli.Main(t.Context(), env, []string{"serve"}) }()
		eventually(t, told, `level=WARN msg="there is no folder `+gone+`; make it, or remove it from KNACK_DIRS"`+"\n")
		client.Close()
		if code := <-ended; code != 0 || strings.Count(told.String(), "KNACK_DIRS") != 1 {
			t.Errorf("exit status %d: %s", code, told)
		}
	}
}
