package windows

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session connects the Go SDK's client to a knack server on the machine, over stdio.
func session(t *testing.T, m *machine, at, version string, args ...string) (*mcp.ClientSession, *exec.Cmd, chan string) {
	t.Helper()
	return connected(t, m, at, version, append([]string{m.binary, "serve"}, args...))
}

// connected is like [session], but takes any command line.
func connected(t *testing.T, m *machine, at, version string, words []string) (*mcp.ClientSession, *exec.Cmd, chan string) {
	t.Helper()
	changed := make(chan string, 100)
	client := mcp.NewClient(&mcp.Implementation{Name: "knack-windows", Version: "1"}, &mcp.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { changed <- "resources" },
	})
	cmd := m.command(context.WithoutCancel(t.Context()), at, nil, words...)
	s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: 30 * time.Second}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return s, cmd, changed
}

// called calls a tool, and returns the text of its answer and whether the answer is an error.
func called(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (text string, isError bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	if len(r.Content) > 0 {
		text = r.Content[0].(*mcp.TextContent).Text
	}
	return text, r.IsError
}

func stdio(t *testing.T, m *machine, at string) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		folder := at + `\` + version
		m.write(t, folder, map[string]string{".claude/skills/one/SKILL.md": skillOf("one"), ".claude/skills/one/ref/a.md": "text of a"})
		s, cmd, changed := session(t, m, folder, version, "--no-builtin")
		tools, err := s.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 3 || !strings.Contains(tools.Tools[0].Description, "<name>one</name>") {
			t.Fatalf("%v: %s", err, excerpt(tools))
		}
		want := "Loading: one\nBase directory: " + folder + `\.claude\skills\one` + "\n\n" + skillOf("one")
		if text, isError := called(t, s, "skill", map[string]any{"name": "one"}); text != want || isError {
			t.Errorf("%q, want %q", text, want)
		}
		for _, path := range []string{"ref/a.md", `ref\a.md`, "./ref/a.md"} {
			if text, isError := called(t, s, "read_file_in_skill", map[string]any{"skill_name": "one", "file_path": path}); text != "text of a" || isError {
				t.Errorf("%s: %q", path, text)
			}
		}
		read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://claude-project/one/ref/a.md"})
		if err != nil || len(read.Contents) != 1 || read.Contents[0].Text != "text of a" {
			t.Errorf("%v: %s", err, excerpt(read))
		}
		m.write(t, folder, map[string]string{".claude/skills/late/SKILL.md": skillOf("late")})
		if version == "2025-11-25" {
			select {
			case <-changed:
			case <-time.After(time.Minute):
				t.Error("the client never hears of a new skill")
			}
		}
		if text, _ := called(t, s, "skill", map[string]any{"name": "late"}); !strings.HasPrefix(text, "Loading: late\n") {
			t.Errorf("a new skill: %q", text)
		}
		if err := s.Close(); err != nil {
			t.Errorf("the end: %v", err)
		}
		if state := cmd.ProcessState; state == nil || state.ExitCode() != 0 {
			t.Errorf("the server ended with %v", state)
		}
	}
}

func escapes(t *testing.T, m *machine, at string) {
	m.write(t, at, map[string]string{"skills/one/SKILL.md": skillOf("one"), "skills/one/ref/a.md": "text of a", "skills/two/SKILL.md": skillOf("two"), "secret.txt": "THE SECRET", "skills/one.txt": "THE SECRET"})
	paths := []string{
		`..\..\secret.txt`, "../../secret.txt", `ref\..\..\..\secret.txt`, `C:\escapes\secret.txt`, "C:/escapes/secret.txt", "C:secret.txt", `\escapes\secret.txt`, "/escapes/secret.txt",
		`\\?\C:\escapes\secret.txt`, `\\.\C:\escapes\secret.txt`, `\\localhost\C$\escapes\secret.txt`, `\??\C:\escapes\secret.txt`, `..\one.txt`, `.\..\one.txt`,
		"CON", "NUL", "con.md", "ref/aux", `ref\com1`, "SKILL.md::$DATA", "ref::$INDEX_ALLOCATION", "SKILL.md:stream", "SKILL.md.", "SKILL.md ", "ref./a.md", "ref /a.md", ".. /one.txt", "... /one.txt",
	}
	s, _, _ := session(t, m, at, "2025-11-25", "--no-builtin", "--dir", "skills")
	defer s.Close()
	for _, path := range paths {
		text, isError := called(t, s, "read_file_in_skill", map[string]any{"skill_name": "one", "file_path": path})
		if !isError || strings.Contains(text, "SECRET") {
			t.Errorf("%s: %q", path, text)
		}
		uri := "skill://dir-1/one/" + strings.NewReplacer(`\`, "%5C", " ", "%20", "?", "%3F").Replace(path)
		if r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s: %s", uri, excerpt(r.Contents[0].Text))
		}
		if a := m.knackOnce(path); a && testing.Verbose() {
			m.knack(t, at, "show", "one", path, "--dir", "skills", "--no-builtin").says(t, 1, nil, nil)
		}
	}
	for _, name := range []string{`..\one`, `C:\escapes\skills\one`, "one.", "con", `two\..\one`, "one::$INDEX_ALLOCATION"} {
		if text, isError := called(t, s, "read_file_in_skill", map[string]any{"skill_name": name, "file_path": "ref/a.md"}); !isError {
			t.Errorf("the skill %s: %q", name, text)
		}
	}
}

// knackOnce reports whether a path is one of the few that are tested with the knack command, too.
func (m *machine) knackOnce(path string) bool {
	return strings.HasPrefix(path, `..\`) || path == "CON" || strings.HasSuffix(path, "$DATA")
}

func overHTTP(t *testing.T, m *machine, at string) {
	m.write(t, at, map[string]string{"skills/one/SKILL.md": skillOf("one")})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cmd := m.command(ctx, at, nil, m.binary, "serve", "--no-builtin", "--dir", "skills", "--http", "127.0.0.1:0")
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stop(); _ = cmd.Wait() }()
	var address string
	lines := bufio.NewScanner(errs)
	for address == "" && lines.Scan() {
		t.Log(lines.Text())
		address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(lines.Text())
	}
	if address == "" {
		t.Fatal("no address is printed")
	}
	go func() { _, _ = io.Copy(io.Discard, errs) }()
	page, err := http.Get(address + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	if text, _ := io.ReadAll(page.Body); page.StatusCode != http.StatusOK || !strings.Contains(string(text), "Does one.") {
		t.Errorf("%s: %s", page.Status, excerpt(string(text)))
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "knack-windows", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: address + "/mcp", DisableStandaloneSSE: true, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if text, isError := called(t, s, "skill", map[string]any{"name": "one"}); isError || !strings.HasPrefix(text, "Loading: one\n") {
		t.Errorf("%q", text)
	}
}
