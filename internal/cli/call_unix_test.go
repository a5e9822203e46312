//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestCallWithoutReaderOfStderr: whoever closes the stream that shows the calls to
// people has the answer on stdout and the exit status all the same.
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
