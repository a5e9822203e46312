package login

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// most is the maximum size of a helper's output, in bytes. An answer has a name and a token.
const most = 256 << 10

// errLate is the error of a slow helper: it may wait for input on a hidden prompt.
var errLate = errors.New("it did not answer within a minute")

// Helper returns a function for [Config.Run]. It starts programs from the folders in path, with the
// environment env and a limit of one minute. It does not search relative folders, which could
// belong to the project.
func Helper(path string, env []string) func(ctx context.Context, program, input string) ([]byte, error) {
	return helper(path, env, time.Minute)
}

func helper(path string, env []string, limit time.Duration) func(ctx context.Context, program, input string) ([]byte, error) {
	return func(ctx context.Context, program, input string) ([]byte, error) {
		found := ""
		for _, dir := range filepath.SplitList(path) {
			if !filepath.IsAbs(dir) {
				continue
			}
			if at, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
				found = at
				break
			}
		}
		if found == "" {
			return nil, errors.New("it is not in PATH")
		}
		ctx, stop := context.WithTimeoutCause(ctx, limit, errLate)
		defer stop()
		cmd := exec.CommandContext(ctx, found, "get")
		cmd.Env = env
		cmd.Stdin = strings.NewReader(input)
		cmd.WaitDelay = time.Second // a child of the helper may keep its stdout open
		var out bounded
		cmd.Stdout, cmd.Stderr = &out, io.Discard
		err := cmd.Run()
		if err != nil && context.Cause(ctx) == errLate {
			return nil, errLate
		}
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("it ended with %s", exit.ProcessState)
		}
		return out.buffer.Bytes(), err
	}
}

// bounded keeps the first bytes written to it. The buffer is not embedded: its ReadFrom would
// bypass Write.
type bounded struct{ buffer bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.buffer.Len()+len(p) > most {
		return 0, errors.New("it wrote too much")
	}
	return b.buffer.Write(p)
}
