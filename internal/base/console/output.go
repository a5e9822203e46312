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
)

// Output records that a write failed, so that no command ends as if its data had arrived.
type Output struct {
	io.Writer
	failed   atomic.Pointer[error] // a write that no caller waits for may outlive its command
	progress *progress             // ends with the first write
	now      now
}

// Start prepares an environment for one command. Its output records failures, and a terminal
// shows what the command is doing if that takes long, until end is called.
func Start(env *Env) (out *Output, end func()) {
	if env.StderrTerminal && env.getenv("TERM") != "dumb" {
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
	if failed := err; err != nil { // a variable of its own, because it escapes
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

// WriteNow writes what it can of the pieces without waiting, and returns how many bytes.
func (o *Output) WriteNow(pieces [][]byte) int {
	f, ok := o.Writer.(*os.File)
	if !ok {
		return 0
	}
	o.progress.end()
	return o.now.write(f, pieces)
}

// Clean makes text fit for a terminal. It removes control and direction characters except
// line ends and tabs, and escapes other invisible characters.
func Clean(s string) string {
	return display.Visible(strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\r", ""), func(r rune) string {
		if unicode.IsControl(r) || display.IsBidiControl(r) {
			return ""
		}
		return display.Escaped(r)
	})
}

// PrintJSON writes one indented JSON value, never HTML-escaped, and fit for a terminal.
func PrintJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(display.AppendVisibleJSON(make([]byte, 0, b.Len()), b.Bytes()))
	return err
}

// PrintText writes data to stdout unchanged, and to a terminal without control characters.
func PrintText(env *Env, s string) error {
	if env.StdoutTerminal {
		s = Clean(strings.ToValidUTF8(s, "\ufffd"))
	}
	_, err := io.WriteString(env.Stdout, s)
	return err
}

// OneLine makes text fit for one line of a terminal.
func OneLine(s string) string { return Clean(display.OneLine(s)) }
