package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Errors of [Lines.Line].
var (
	// ErrCtrlC is returned if the user typed Ctrl-C at an empty line.
	ErrCtrlC = errors.New("interrupted by Ctrl-C")
	// ErrDropped is returned if the user dropped a line by typing Ctrl-C in it.
	ErrDropped = errors.New("the line was dropped by Ctrl-C")
	// ErrLongLine is returned for a line of more than 1 MiB.
	ErrLongLine = errors.New("the line is longer than 1 MiB")
)

const maxLine = 1 << 20

// Lines reads lines from standard input. At a terminal it shows a prompt and supports editing keys.
// A paste of several lines is returned as one line that contains line ends.
type Lines struct {
	plain    *bufio.Reader
	out      io.Writer // the terminal to write prompts to; nil for no prompt
	terminal *os.File  // the terminal at which the person types; nil if unknown
	in       *os.File  // the terminal, if it supports editing
	keys     *keys
	editor   *term.Terminal
	pending  chan typed // the line that a read returned after its caller had gone

	mu  sync.Mutex
	raw *term.State // the terminal's state before editing, else nil
}

type typed struct {
	line string
	err  error
}

// Lines returns a reader of standard input. There must be only one.
func (e *Env) Lines() *Lines {
	l := &Lines{plain: bufio.NewReader(e.Stdin)}
	switch {
	case !e.StdinTerminal:
		return l
	case e.StdoutTerminal:
		l.out = e.Stdout
	case e.StderrTerminal:
		l.out = e.Stderr
	default:
		return l
	}
	l.terminal, _ = e.Stdin.(*os.File)
	if l.terminal != nil && !e.Plain && e.Variable("TERM") != "dumb" {
		l.in, l.keys = l.terminal, &keys{in: l.terminal}
		l.editor = term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{l.keys, l.out}, "")
	}
	return l
}

// IsTyped reports whether a person types the lines and sees the prompts.
func (l *Lines) IsTyped() bool { return l.out != nil }

// Line shows a prompt and reads one line, without its line end. The error is io.EOF at the end of
// the input, [ErrCtrlC], [ErrDropped], [ErrLongLine], or the cause of the context. If the context
// ends first, the next call returns the line that is being typed.
func (l *Lines) Line(ctx context.Context, prompt string) (string, error) {
	if l.pending == nil {
		l.pending = make(chan typed, 1)
		go func(to chan typed) {
			line, err := l.read(prompt)
			to <- typed{line, err}
		}(l.pending)
	} else if l.editor != nil {
		l.editor.SetPrompt(prompt)
		_, _ = l.editor.Write([]byte("\n")) // shows the prompt
	} else if l.out != nil {
		fmt.Fprint(l.out, prompt)
	}
	select {
	case t := <-l.pending:
		l.pending = nil
		return t.line, t.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Forget drops keys that were typed before the next prompt, so that they do not answer a question
// that the user has not seen.
func (l *Lines) Forget() {
	if l.out == nil {
		return
	}
	if l.terminal != nil {
		forgetKeys(l.terminal)
	}
	if l.pending != nil {
		select {
		case <-l.pending:
			l.pending = nil
		default: // the next prompt shows the keys typed so far
			return
		}
	}
	_, _ = l.plain.Discard(l.plain.Buffered()) // the bytes are buffered
	if l.keys != nil {
		l.keys.raw, l.keys.out = nil, nil
	}
}

// Close restores the terminal, even while a line is being read.
func (l *Lines) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.raw != nil {
		_, _ = io.WriteString(l.out, "\x1b[?2004l\r\n")
		_ = term.Restore(int(l.in.Fd()), l.raw)
		l.raw = nil
	}
}

func (l *Lines) read(prompt string) (string, error) {
	if l.editor == nil {
		if l.out != nil {
			fmt.Fprint(l.out, prompt)
		}
		return l.readPlain()
	}
	return l.edit(prompt)
}

func (l *Lines) readPlain() (string, error) {
	var line []byte
	for {
		part, more, err := l.plain.ReadLine()
		if err != nil {
			return "", err
		}
		if line = append(line, part...); len(line) > maxLine {
			return "", ErrLongLine
		}
		if !more {
			return string(line), nil
		}
	}
}

// edit reads a line at a terminal in raw mode, with editing keys.
func (l *Lines) edit(prompt string) (string, error) {
	fd := int(l.in.Fd())
	raw, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	l.mu.Lock()
	l.raw = raw
	l.mu.Unlock()
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		_ = l.editor.SetSize(width, height)
	}
	l.editor.SetPrompt(prompt)
	l.editor.SetBracketedPasteMode(true)
	line, err := l.editor.ReadLine()
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.raw != nil {
		l.editor.SetBracketedPasteMode(false)
		_ = term.Restore(fd, l.raw)
		l.raw = nil
	}
	switch {
	case l.keys.ctrlC && line == "":
		return "", ErrCtrlC
	case l.keys.ctrlC:
		return "", ErrDropped
	case err != nil:
		return "", err
	}
	return pasted.Replace(line), nil
}

// Characters that stand for the line ends and tabs of a paste until the line is read. Unicode has
// no other use for them.
const (
	shownEnd = "\u2424"
	shownTab = "\u2409"
)

var pasted = strings.NewReplacer(shownEnd, "\n", shownTab, "\t")

// The sequences with which a terminal begins and ends a paste.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// keys adapts the terminal's input to the editor. It makes Ctrl-C end a line, and replaces the line
// ends of a paste. One Read returns at most one line.
type keys struct {
	in    io.Reader
	raw   []byte // bytes from the terminal that are not processed yet
	out   []byte // processed bytes that Read has not returned yet
	match int    // number of the last bytes that begin a paste mark
	paste bool
	last  byte // last byte of the paste
	ctrlC bool // Ctrl-C ended the last line
}

// Read implements io.Reader.
func (k *keys) Read(p []byte) (int, error) {
	if len(k.out) == 0 {
		if len(k.raw) == 0 {
			b := make([]byte, 256)
			n, err := k.in.Read(b)
			if n == 0 && err != nil {
				return 0, err
			}
			k.raw = b[:n]
		}
		k.ctrlC = false
		for end := false; len(k.raw) > 0 && !end; k.raw = k.raw[1:] {
			if k.paste {
				k.pasted(k.raw[0])
			} else {
				end = k.typed(k.raw[0])
			}
		}
	}
	n := copy(p, k.out)
	k.out = k.out[n:]
	return n, nil
}

// typed processes a byte outside a paste. It reports whether the byte ends the line.
func (k *keys) typed(b byte) (end bool) {
	if b != pasteBegin[k.match] {
		k.match = 0
	}
	if b == pasteBegin[k.match] {
		k.match++
	}
	if k.match == len(pasteBegin) {
		k.match, k.paste, k.last = 0, true, 0
	}
	if b == 3 {
		k.ctrlC, b = true, '\r'
	}
	k.out = append(k.out, b)
	return b == '\r' || b == '\n'
}

// pasted processes a byte within a paste.
func (k *keys) pasted(b byte) {
	if b != pasteEnd[k.match] {
		for _, matched := range []byte(pasteEnd[:k.match]) {
			k.show(matched)
		}
		k.match = 0
	}
	switch {
	case b != pasteEnd[k.match]:
		k.show(b)
	case k.match == len(pasteEnd)-1:
		k.out, k.match, k.paste = append(k.out, pasteEnd...), 0, false
	default:
		k.match++
	}
}

func (k *keys) show(b byte) {
	switch {
	case b == '\n' && k.last == '\r':
	case b == '\r' || b == '\n':
		k.out = append(k.out, shownEnd...)
	case b == '\t':
		k.out = append(k.out, shownTab...)
	case b >= ' ' && b != 0x7f:
		k.out = append(k.out, b)
	}
	k.last = b
}
