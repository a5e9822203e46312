package console

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
)

const (
	// progressDelay is the time after which a command at a terminal says what it is doing. It
	// counts from the start of the command, however many steps that has.
	progressDelay = 200 * time.Millisecond
	progressTick  = 100 * time.Millisecond
	// progressTime is the time after which the line shows the seconds, so that it moves even if a
	// disk does not answer.
	progressTime = 2 * time.Second
	// plainTick is the time after which a command whose stderr is no terminal says how far a long step
	// is, in a line of its own, and again after as long.
	plainTick = 10 * time.Second
	// progressWidth is the width of a terminal that does not tell it.
	progressWidth = 80
)

// Step is one thing that a command does.
type Step struct {
	What string // what the command is doing: "reading skills"
	// Count returns how many are done, and of how many, or 0 if that is not known yet; then
	// Unit says what is counted. It is called now and then until the step is done.
	Count func() (done, total int)
	Unit  string
	// Parts returns how far the step is: "12 of 64 layers", "3.1 of 9.2 MB". It makes the step a long
	// one, of which a stderr that is no terminal tells too. A terminal shows Short before the parts, in
	// place of What and Count. Without parts yet, What is shown. It may be nil.
	Parts func() []string
	Short string
}

// plain returns the line of a step for a file or a pipe.
func (s *Step) plain() string {
	if parts := s.Parts(); len(parts) > 0 {
		return s.What + ": " + strings.Join(parts, ", ")
	}
	return s.What
}

// working is what a command does outside of all steps.
var working = &Step{What: "still working"}

// ShowProgress says at a terminal, in one line, what a command is doing, until done is called.
// Steps may be nested: the innermost one is shown. Elsewhere, a long step has a line each plainTick.
func ShowProgress(env *Env, step Step) (done func()) {
	if env.progress == nil && step.Parts != nil {
		return showPlain(env.Err(), &step)
	}
	return env.progress.show(&step)
}

// showPlain prints a line for a step at each plainTick. None comes once done has returned.
func showPlain(to *Printer, s *Step) (done func()) {
	var mu sync.Mutex
	over := false
	var timer *time.Timer
	mu.Lock() // which the first tick waits for
	defer mu.Unlock()
	timer = time.AfterFunc(plainTick, func() {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		to.Row("%s", s.plain())
		timer.Reset(plainTick)
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}

// progress is the last line of a terminal while a command works. Nothing else is written in that
// line: stdout and stderr remove it before they write. The methods accept nil, which shows nothing.
type progress struct {
	over atomic.Bool // it shows nothing any more

	mu    sync.Mutex
	w     io.Writer // standard error
	width int
	begun time.Time
	timer *time.Timer
	steps []*Step
	shown string // the line, or ""
}

// startProgress begins with the step working. It shows nothing before progressDelay.
func startProgress(w io.Writer, width int) *progress {
	if width <= 0 {
		width = progressWidth
	}
	p := &progress{w: w, width: width, begun: time.Now(), steps: []*Step{working}}
	p.mu.Lock() // which tick waits for
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(progressDelay, p.tick)
	return p
}

// tick brings the line up to date.
func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over.Load() || len(p.steps) == 0 {
		return
	}
	p.draw(p.line(time.Since(p.begun)))
	p.timer.Reset(progressTick)
}

// line returns what the innermost step is shown as after a time.
func (p *progress) line(after time.Duration) string {
	s := p.steps[len(p.steps)-1]
	text := s.What
	if s.Parts != nil {
		if parts := s.Parts(); len(parts) > 0 {
			text = strings.Join(append([]string{s.Short}, parts...), "  ")
		}
	}
	if s.Count != nil {
		done, total := s.Count()
		if text += ": " + display.Thousands(done); total > 0 {
			text += " of " + display.Thousands(total)
		} else {
			text += " " + s.Unit
		}
	}
	if after >= progressTime {
		text += fmt.Sprintf(", %d s; Ctrl-C ends it", int(after.Seconds()))
	}
	return display.Prefix(text, p.width-1) // a full line would begin another one
}

// draw replaces the line. It writes no escape sequence, which not every console understands.
func (p *progress) draw(line string) {
	if line == p.shown {
		return
	}
	rest := max(len(p.shown)-len(line), 0)
	_, _ = io.WriteString(p.w, "\r"+line+strings.Repeat(" ", rest)+strings.Repeat("\b", rest))
	p.shown = line
}

// erase removes the line.
func (p *progress) erase() {
	if p.shown != "" {
		_, _ = io.WriteString(p.w, "\r"+strings.Repeat(" ", len(p.shown))+"\r")
		p.shown = ""
	}
}

func (p *progress) show(s *Step) (done func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.steps) == 0 && !p.over.Load() {
		p.timer.Reset(progressTick)
	}
	p.steps = append(p.steps, s)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.steps = slices.DeleteFunc(p.steps, func(other *Step) bool { return other == s })
		if len(p.steps) == 0 {
			p.erase()
		}
	}
}

// end removes the line for good.
func (p *progress) end() {
	if p == nil || p.over.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	p.erase()
	p.over.Store(true) // last: from now on other goroutines write without the lock
}

// Write writes to standard error, above the line. A command that has said something is not
// called "still working" any more, since it may wait for its user.
func (p *progress) Write(b []byte) (int, error) {
	if p.over.Load() {
		return p.w.Write(b)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.steps = slices.DeleteFunc(p.steps, func(s *Step) bool { return s == working })
	return p.w.Write(b)
}
