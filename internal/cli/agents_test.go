package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAgentLoops runs the agent loops of doc/agents.md unchanged. The knack that they start is this
// test binary: see TestMain.
func TestAgentLoops(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs programs")
	}
	t.Parallel()
	doc, err := os.ReadFile(filepath.FromSlash("../../doc/agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, loop := range []struct {
		language, program, file string
		dump                    string // a program that prints the messages
		called                  func([]json.RawMessage) json.RawMessage
	}{
		{"python", "python3", "loop.py", "\nprint(json.dumps(messages))\n", func(m []json.RawMessage) json.RawMessage { return m[2] }},
		{"ts", node(), "loop.mts", "\nconsole.log(JSON.stringify(messages));\n", func(m []json.RawMessage) json.RawMessage {
			var result struct{ Content []json.RawMessage }
			if json.Unmarshal(m[2], &result) != nil || len(result.Content) != 1 {
				return nil
			}
			return result.Content[0]
		}},
	} {
		t.Run(loop.language, func(t *testing.T) {
			program, err := exec.LookPath(loop.program)
			if err != nil {
				t.Skipf("there is no %s here", loop.program)
			}
			code := block(t, string(doc), loop.language)
			if n := strings.Count(code, "\n"); n > 24 {
				t.Errorf("the loop has %d lines", n)
			}
			dir := t.TempDir()
			file := filepath.Join(dir, loop.file)
			put(t, file, code+loop.dump)
			if loop.language == "ts" {
				typeCheck(t, file)
			}
			cmd := exec.CommandContext(t.Context(), program, file)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "HOME="+dir, "USERPROFILE="+dir, "KNACK_DIRS=")
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			said, rest, _ := strings.Cut(stdout.String(), "\n")
			if strings.TrimSpace(said) != "I know how to find skills now." {
				t.Errorf("it says %q", said)
			}
			var messages []json.RawMessage
			if err := json.Unmarshal([]byte(rest), &messages); err != nil || len(messages) < 3 {
				t.Fatalf("messages %s: %v", rest, err)
			}
			var result struct {
				ToolCallID string `json:"tool_call_id"`
				ToolUseID  string `json:"tool_use_id"`
				Content    string
			}
			if err := json.Unmarshal(loop.called(messages), &result); err != nil {
				t.Fatal(err)
			}
			if result.ToolCallID != "call_1" && result.ToolUseID != "toolu_1" || !strings.HasPrefix(result.Content, "Loading: engage\nBase directory: skill://engage\n\n---\nname: engage\n") {
				t.Errorf("the result is %+v", result)
			}
			if !strings.HasPrefix(stderr.String(), "[Tool Call] skill(name=\"engage\")\n[Tool Result] Loading: engage\n") {
				t.Errorf("the user sees %q", stderr.String())
			}
		})
	}
}

// modules is the folder of the interop tests' npm packages. They include a Node that runs
// TypeScript and a compiler that checks it.
const modules = "../../interop/node_modules"

func node() string {
	for _, name := range []string{"node/bin/node", "node/bin/node.exe"} {
		if at, err := filepath.Abs(filepath.Join(modules, name)); err == nil && exists(at) {
			return at
		}
	}
	return "node" // version 22.18 or later
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// typeCheck checks a file with the TypeScript compiler in its strictest mode.
func typeCheck(t *testing.T, file string) {
	t.Helper()
	at, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	tsc := filepath.Join(at, ".bin", "tsc")
	if !exists(tsc) {
		if os.Getenv("CI") != "" {
			t.Fatal("no TypeScript compiler, and this is continuous integration: npm ci --prefix interop")
		}
		t.Skip("no TypeScript compiler: npm ci --prefix interop")
	}
	cmd := exec.CommandContext(t.Context(), tsc, "--noEmit", "--strict", "--noUncheckedIndexedAccess", "--erasableSyntaxOnly", "--module", "nodenext",
		"--target", "es2023", "--types", "node", "--typeRoots", filepath.Join(at, "@types"), file)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(node())+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
}

// block returns the only code block of a language in a Markdown document.
func block(t *testing.T, doc, language string) string {
	t.Helper()
	found := regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```\n").FindAllStringSubmatch(doc, -1)
	if len(found) != 1 {
		t.Fatalf("%d blocks of %s", len(found), language)
	}
	return found[0][1]
}
