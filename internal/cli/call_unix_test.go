//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCallWithoutReaderOfStderr checks that knack call answers on stdout, and exits with the right
// status, even if its client has closed stderr.
func TestCallWithoutReaderOfStderr(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		code     int
	}{
		{`{"id":"1","type":"function","function":{"name":"skill","arguments":{"name":"engage"}}}`, `{"role":"tool","tool_call_id":"1","name":"skill","content":"Loading: engage\n`, 0},
		{`{"id":"1","type":"function","function":{"name":"nope","arguments":{}}}`, `{"role":"tool","tool_call_id":"1","name":"nope","content":"{\"error\":\"Unknown tool: nope\"}"}` + "\n", 0},
		{`no call`, "", 2},
	} {
		t.Run(tt.in, func(t *testing.T) {
			reader, stderr, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stderr.Close()
			if err := reader.Close(); err != nil {
				t.Fatal(err)
			}
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			var stdout bytes.Buffer
			home := t.TempDir()
			cmd := exec.CommandContext(t.Context(), exe, "call")
			cmd.Args[0] = "knack" // see TestMain
			cmd.Dir, cmd.Env = home, []string{"HOME=" + home}
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(tt.in), &stdout, stderr
			err = cmd.Run()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != tt.code {
				t.Errorf("exit status %d (%v), want %d", got, err, tt.code)
			}
			if got := stdout.String(); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("stdout is %.300q, want %q", got, tt.want)
			}
		})
	}
}

// TestNoStorage checks that no contract adds persistent storage, as contract 004 requires. After
// any call, every writable folder is unchanged.
func TestNoStorage(t *testing.T) {
	world := t.TempDir()
	for _, folder := range []string{"tmp", "cache", "configs", "state", "data", "run", "project/.claude/skills/git"} {
		if err := os.MkdirAll(filepath.Join(world, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(world, "project/.claude/skills/git/SKILL.md"), "---\nname: git\ndescription: d\n---\n")
	tree := func() map[string]string {
		out := map[string]string{}
		err := filepath.WalkDir(world, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && d.Type().IsRegular() {
				var data []byte
				data, err = os.ReadFile(path)
				out[path] = info.ModTime().String() + " " + string(data)
			} else {
				out[path] = info.ModTime().String()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := tree()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(in, want string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), exe, args...)
		cmd.Args[0] = "knack" // see TestMain
		cmd.Dir = filepath.Join(world, "project")
		cmd.Env = []string{"HOME=" + world, "GORACE=" + os.Getenv("GORACE")}
		for name, folder := range map[string]string{"TMPDIR": "tmp", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "configs",
			"XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data", "XDG_RUNTIME_DIR": "run"} {
			cmd.Env = append(cmd.Env, name+"="+filepath.Join(world, folder))
		}
		cmd.Stdin = strings.NewReader(in)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("knack %s: %v, %s", strings.Join(args, " "), err, out)
		}
	}
	for _, set := range []string{"uri", "runner", "universal", "wave", "default"} {
		for i, uri := range []string{"skill://git/SKILL.md", "skill://nope/SKILL.md"} {
			if i > 0 && set != "uri" {
				continue // the other sets take names
			}
			for _, tool := range []string{"get_skill", "list_skills", "skill", "Skill", "read_file_in_skill", "find_skills"} {
				arguments := `{"uri":"` + uri + `"}`
				if set != "uri" {
					arguments = `{"name":"git","skill_name":"git","file_path":"SKILL.md","query":"git"}`
				}
				run(`{"id":"1","type":"function","function":{"name":"`+tool+`","arguments":`+arguments+`}}`, `"role":"tool"`, "call", "--tools", set)
			}
		}
	}
	run(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_skill","arguments":{"uri":"skill://git/SKILL.md"}}}
{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"skill://claude-project/git/SKILL.md"}}
`, `"URI: skill://claude-project/git/SKILL.md`, "serve", "--tools", "uri")
	if d := cmp.Diff(before, tree()); d != "" {
		t.Errorf("-before +after:\n%s", d)
	}
}
