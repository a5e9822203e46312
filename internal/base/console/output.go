package console

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
)

// Output records failed writes, so that a command cannot succeed without its output.
type Output struct {
	io.Writer
	failed   atomic.Pointer[error] // atomic: a write in a goroutine may outlive its command
	progress *progress             // ends with the first write
	now      now
}

// Start prepares env for one command. It sets up an output that records failures. Until end is
// called, a terminal shows the progress of a long command.
func Start(env *Env) (out *Output, end func()) {
	if env.StderrTerminal && env.Variable("TERM") != "dumb" {
		env.progress = startProgress(env.Stderr, env.Width)
		env.Stderr = env.progress
	}
	out = &Output{Writer: env.Stdout, progress: env.progress}
	env.Stdout = out
	return out, func() {
		env.progress.end()
		out.now.close()
	}
}

// Write writes p and records a failure.
func (o *Output) Write(p []byte) (int, error) {
	o.progress.end()
	n, err := o.Writer.Write(p)
	if failed := err; err != nil { // a separate variable, so that err itself stays on the stack
		o.failed.CompareAndSwap(nil, &failed)
	}
	return n, err
}

// Failed returns the error of the first write that failed, or nil.
func (o *Output) Failed() error {
	if err := o.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// WriteNow writes as many bytes of the pieces as it can without blocking, and returns the number of
// bytes.
func (o *Output) WriteNow(pieces [][]byte) int {
	f, ok := o.Writer.(*os.File)
	if !ok {
		return 0
	}
	o.progress.end()
	return o.now.write(f, pieces)
}

// Clean makes text safe for a terminal. It removes control and direction characters except line
// ends and tabs, and escapes other invisible characters.
func Clean(s string) string {
	return display.Visible(strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\r", ""), func(r rune) string {
		if unicode.IsControl(r) || display.IsBidiControl(r) {
			return ""
		}
		return display.Escaped(r)
	})
}

// PrintJSON writes one indented JSON value without HTML escapes, safe for a terminal.
func PrintJSON(w io.Writer, v any) error {
	data, err := rawjson.Marshal(v)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, append(data, '\n'), "", "  "); err != nil {
		return err
	}
	_, err = w.Write(display.AppendVisibleJSON(make([]byte, 0, b.Len()), b.Bytes()))
	return err
}

// PrintText writes text to stdout. It removes control characters on a terminal only.
func PrintText(env *Env, s string) error {
	if env.StdoutTerminal {
		s = Clean(strings.ToValidUTF8(s, "\ufffd"))
	}
	_, err := io.WriteString(env.Stdout, s)
	return err
}

// OneLine makes text safe for one line of a terminal.
func OneLine(s string) string { return Clean(display.OneLine(s)) }
