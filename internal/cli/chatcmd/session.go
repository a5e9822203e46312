package chatcmd

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/llm/chat"
	"github.com/knack-dev/knack/internal/llm/model"
)

const (
	// again is the time in which a second Ctrl-C ends the program.
	again = time.Second
	// farewell bounds how long an ending program waits for a turn to record its end.
	farewell = 100 * time.Millisecond
)

// errLeaving is returned when the user ends the conversation.
var errLeaving = errors.New("the user leaves")

// interactive talks until the user leaves. If no person types at a terminal, a failed turn ends it
// too.
func (t *talk) interactive(ctx context.Context) error {
	if t.lines.IsTyped() {
		t.greet()
	}
	for {
		words, err := t.words(ctx)
		if err == nil && words != "" {
			err = t.take(ctx, words)
		}
		switch {
		case errors.Is(err, errLeaving):
			return nil
		case err != nil:
			return failed(err)
		}
	}
}

// take handles the user's input.
func (t *talk) take(ctx context.Context, words string) error {
	switch {
	case words == "exit":
		return errLeaving
	case strings.HasPrefix(words, "/"):
		return t.command(ctx, words)
	}
	err := t.guarded(ctx, func(ctx context.Context) error { return t.conversation.Say(ctx, strings.TrimSpace(words)) })
	var interrupt console.Interrupt
	isInterrupt := errors.As(err, &interrupt)
	switch {
	case err == nil:
		return nil
	case isInterrupt && (interrupt.Signal != os.Interrupt || !t.lines.IsTyped()), errors.Is(err, errNow):
		return err
	}
	t.screen.interrupted(isInterrupt)
	if !t.lines.IsTyped() {
		return err
	}
	if isInterrupt {
		return nil
	}
	t.screen.note(console.Error, err.Error())
	if tooLong := (*model.Error)(nil); errors.As(err, &tooLong) && tooLong.Category == model.TooLong {
		t.screen.note(console.Hint, "/new begins a new conversation; nothing of this one was cut")
	} else if limit := (*chat.Limit)(nil); !t.conversation.Kept() && !errors.As(err, &limit) {
		t.screen.note(console.Hint, "your last message is not a part of the conversation; send it again")
	}
	return nil
}

// errNow marks the error of a turn that was interrupted because the program ends.
var errNow = errors.New("interrupted again")

// guarded runs f with a context that a signal ends. A second signal within a moment ends the
// program even while f still runs, and so does SIGTERM.
func (t *talk) guarded(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	for {
		select {
		case err := <-done:
			return err
		case s := <-t.o.Signals:
			by := console.Interrupt{Signal: s}
			cancel(by)
			if s != os.Interrupt || time.Since(t.ctrlC) < again {
				select {
				case <-done:
				case <-time.After(farewell):
				}
				return errors.Join(errNow, by)
			}
			t.ctrlC = time.Now()
		}
	}
}

// words reads the user's input, which is one line. If a line ends with \, the next line belongs to
// the input too.
func (t *talk) words(ctx context.Context) (string, error) {
	var all []string
	prompt := "You: "
	for {
		var line string
		err := t.guarded(ctx, func(ctx context.Context) (err error) {
			line, err = t.lines.Line(ctx, prompt)
			return err
		})
		switch {
		case errors.Is(err, io.EOF) && len(all) > 0: // the last line ended with \
			return strings.Join(all, "\n"), nil
		case errors.Is(err, io.EOF):
			if t.lines.IsTyped() {
				t.screen.plain("") // the cursor is behind the prompt
			}
			return "", errLeaving
		case errors.Is(err, console.ErrDropped):
			return "", nil
		case errors.Is(err, console.ErrCtrlC):
			return "", console.Interrupt{Signal: os.Interrupt}
		case err != nil:
			return "", err
		}
		line = strings.ToValidUTF8(line, "\ufffd")
		rest, more := strings.CutSuffix(line, `\`)
		if all = append(all, rest); !more {
			words := strings.Join(all, "\n")
			if strings.TrimSpace(words) == "" {
				return "", nil
			}
			return strings.TrimRight(words, " \t\n"), nil
		}
		prompt = "...: "
	}
}

// longQuestion is the length in bytes from which a question names the tool again at its end, since
// its beginning may be out of sight.
const longQuestion = 500

// ask asks the user whether to allow a call.
func (t *talk) ask(ctx context.Context, q chat.Question) (chat.Consent, error) {
	text := "Allow " + q.String() + "?"
	if len(text) > longQuestion {
		text += "\nThis is a call of " + q.Tool + "."
	}
	t.lines.Forget() // input typed before the question does not answer it
	t.screen.plain(text)
	for {
		line, err := t.lines.Line(ctx, "[y]es, [a]lways this tool, [n]o: ")
		switch {
		case errors.Is(err, console.ErrCtrlC), errors.Is(err, console.ErrDropped):
			return chat.No, console.Interrupt{Signal: os.Interrupt}
		case errors.Is(err, io.EOF):
			return chat.No, nil
		case err != nil:
			return chat.No, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return chat.Yes, nil
		case "a", "always":
			return chat.Always, nil
		case "n", "no":
			return chat.No, nil
		}
	}
}

// plain prints a text that the user must see, even if other output is hidden.
func (s *screen) plain(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.env.Stderr, console.Clean(text)+"\n")
}

// close stops all output, since a model may still be talking when the program ends.
func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
}
