package chatcmd

import (
	"io"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/llm/chat"
	"github.com/knack-dev/knack/tool"
)

// screen prints a conversation: the model's text to standard output, and its calls to standard
// error.
type screen struct {
	env         *console.Env
	err         *console.Printer
	quiet, json bool

	mu      sync.Mutex // a signal may end the program during output
	begun   bool       // the line of the model's text is not ended yet
	calls   bool       // the last output was a call
	file    *edit.Lines
	failed  error // the first failure of the transcript
	closing bool
}

// text prints a part of the model's text.
func (s *screen) text(part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.json || s.closing || part == "" {
		return
	}
	s.separate(false)
	if s.env.StdoutTerminal {
		part = console.Clean(part)
	}
	_, _ = io.WriteString(s.env.Stdout, part) // the writer records a failure
	s.begun = !strings.HasSuffix(part, "\n")
}

// done ends the line of the model's text, unless it is ended already.
func (s *screen) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLine("")
}

func (s *screen) endLine(mark string) {
	if s.begun {
		_, _ = io.WriteString(s.env.Stdout, mark+"\n")
		s.begun = false
	}
}

// separate prints an empty line between calls and other text, on a terminal.
func (s *screen) separate(calls bool) {
	if s.calls != calls && s.env.StderrTerminal && !s.quiet {
		_, _ = io.WriteString(s.env.Stderr, "\n")
	}
	s.calls = calls
}

// begin prints a call before it is answered, and end prints its result.
func (s *screen) begin(e tool.Event) { s.call(e.CallText()) }
func (s *screen) end(e tool.Event)   { s.call(e.ResultText()) }

func (s *screen) call(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet || s.closing {
		return
	}
	s.separate(true)
	if s.env.StderrTerminal {
		s.err.Dimmed(text)
	} else {
		_, _ = io.WriteString(s.env.Stderr, text+"\n")
	}
}

// note prints a message that is not part of the conversation.
func (s *screen) note(kind console.Painted, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.separate(false)
	s.err.Text(kind, text)
}

// remark prints a dim line with useful information.
func (s *screen) remark(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.separate(false)
	s.err.Dimmed(console.OneLine(text))
}

// interrupted marks the unfinished text of the model as interrupted. At a terminal, the mark is the
// only sign of it.
func (s *screen) interrupted(typed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !typed {
		s.endLine("")
		return
	}
	mark := "(interrupted)"
	if s.begun && s.env.StdoutTerminal {
		s.endLine(" " + mark)
		return
	}
	s.endLine("")
	s.separate(false)
	s.err.Line("%s", mark)
}

// record writes a line of the transcript.
func (s *screen) record(r chat.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return // the last line was written already
	}
	line := r.JSON()
	if s.file != nil && s.failed == nil {
		if s.failed = s.file.Add(line); s.failed != nil {
			s.err.Text(console.Warning, "the transcript is not written any further: "+command.Cause(s.failed).Error())
		}
	}
	if s.json {
		if s.env.StdoutTerminal {
			line = display.AppendVisibleJSON(nil, line)
		}
		_, _ = s.env.Stdout.Write(line)
	}
}
