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

// The reasons why [Lines.Line] has no line.
var (
	// ErrCtrlC is returned if the user typed Ctrl-C at an empty line.
	ErrCtrlC = errors.New("interrupted by Ctrl-C")
	// ErrDropped is returned if the user typed Ctrl-C in a line, which is dropped.
	ErrDropped = errors.New("the line was dropped by Ctrl-C")
	// ErrLongLine is returned for a line of more than 1 MiB.
	ErrLongLine = errors.New("the line is longer than 1 MiB")
)

const maxLine = 1 << 20

// Lines reads lines from standard input: at a terminal with a prompt and keys for editing, and
// elsewhere as they come. A paste of several lines is one line with line ends in it.
type Lines struct {
	plain    *bufio.Reader
	out      io.Writer // the terminal's, or nil: no prompt
	terminal *os.File  // what the person types at; nil if unknown
	in       *os.File  // the terminal, if its lines can be edited
	keys     *keys
	editor   *term.Terminal
	pending  chan typed // of a read whose caller has gone

	mu  sync.Mutex
	raw *term.State // the terminal's before a line is edited; nil otherwise
}

type typed struct {
	line string
	err  error
}

// Lines returns a reader of standard input. There must be one alone.
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
	if l.terminal != nil && !e.Plain && e.getenv("TERM") != "dumb" {
		l.in, l.keys = l.terminal, &keys{in: l.terminal}
		l.editor = term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{l.keys, l.out}, "")
	}
	return l
}

// IsTyped reports whether a person types the lines, and sees the prompts.
func (l *Lines) IsTyped() bool { return l.out != nil }

// Line reads one line, without its end, behind a prompt. The error is io.EOF at the end of the
// input, one of those above, or the cause of the context; what is typed then is the next line.
func (l *Lines) Line(ctx context.Context, prompt string) (string, error) {
	if l.pending == nil {
		l.pending = make(chan typed, 1)
		go func(to chan typed) {
			line, err := l.read(prompt)
			to <- typed{line, err}
		}(l.pending)
	} else if l.editor != nil {
		l.editor.SetPrompt(prompt)
		_, _ = l.editor.Write([]byte("\n")) // which shows it
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

// Forget drops what a person has typed before the next prompt is shown, so that it is not the answer
// to a question that was not seen.
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
		default: // what is typed so far is shown with the prompt
			return
		}
	}
	_, _ = l.plain.Discard(l.plain.Buffered()) // it is there
	if l.keys != nil {
		l.keys.raw, l.keys.out = nil, nil
	}
}

// Close leaves the terminal as it was, also while a line is read.
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

// edit reads a line whose keys the program gets one by one.
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

// Line ends and tabs of a paste are shown by these characters until the line is read. Elsewhere
// Unicode has no use for them.
const (
	shownEnd = "\u2424"
	shownTab = "\u2409"
)

var pasted = strings.NewReplacer(shownEnd, "\n", shownTab, "\t")

// What a terminal sends around a paste.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// keys are what a terminal sends, fit for the editor: Ctrl-C ends a line, and a paste has no line
// ends. One Read goes to the end of a line at most.
type keys struct {
	in    io.Reader
	raw   []byte // read and not looked at
	out   []byte // looked at and not read
	match int    // how much of a mark the last bytes are
	paste bool
	last  byte // of the paste
	ctrlC bool // the last line ended with it
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

// typed takes a byte outside of a paste. It reports whether that ends the line.
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

// pasted takes a byte of a paste.
func (k *keys) pasted(b byte) {
	if b != pasteEnd[k.match] {
		for _, held := range []byte(pasteEnd[:k.match]) {
			k.show(held)
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
