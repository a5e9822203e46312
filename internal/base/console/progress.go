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
	// progressDelay is the time before a command at a terminal shows its progress. It counts from
	// the start of the command, across all steps.
	progressDelay = 200 * time.Millisecond
	progressTick  = 100 * time.Millisecond
	// progressTime is the time after which the line shows elapsed seconds. The line then changes
	// even if a disk does not answer.
	progressTime = 2 * time.Second
	// plainTick is the interval between progress lines of a long step if stderr is not a
	// terminal.
	plainTick = 10 * time.Second
	// progressWidth is the assumed width of a terminal that does not report one.
	progressWidth = 80
)

// Step is one part of a command's work.
type Step struct {
	What string // the activity: "reading skills"
	// Count returns the number of finished units and the total, or a total of 0 if it is unknown.
	// It is called repeatedly until the step ends. Unit is the plural noun for the units.
	Count func() (done, total int)
	Unit  string
	// Text, if not nil, returns the line for a terminal, which replaces the activity.
	Text func() string
	// Parts, if not nil, returns the progress: "12 of 64 layers", "3.1 of 9.2 MB". Its presence
	// marks a long step, which is also reported if stderr is not a terminal. A terminal shows Short
	// and the parts instead of the activity, unless there are no parts.
	Parts func() []string
	Short string
}

// plain returns the progress line for a file or a pipe.
func (s *Step) plain() string {
	if parts := s.Parts(); len(parts) > 0 {
		return s.What + ": " + strings.Join(parts, ", ")
	}
	return s.What
}

// working is the step to show while no other step runs.
var working = &Step{What: "still working"}

// ShowProgress shows a step in one line of a terminal until done is called. If steps are nested, it
// shows the innermost one. Without a terminal, it prints a line for a long step every plainTick.
func ShowProgress(env *Env, step Step) (done func()) {
	if env.progress == nil && step.Parts != nil {
		return showPlain(env.Err(), &step)
	}
	return env.progress.show(&step)
}

// showPlain prints a line for a step every plainTick until done is called.
func showPlain(to *Printer, s *Step) (done func()) {
	var mu sync.Mutex
	over := false
	var timer *time.Timer
	mu.Lock() // held until timer is set
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

// progress is the last line of a terminal while a command works. A write to stdout or stderr erases
// it first, so other output never shares that line. A nil progress shows nothing.
type progress struct {
	over atomic.Bool // set once nothing is shown any more

	mu    sync.Mutex
	w     io.Writer // standard error
	width int
	begun time.Time
	timer *time.Timer
	steps []*Step
	drawn string // the current line, or ""
}

// startProgress starts with the step [working]. It shows nothing before progressDelay.
func startProgress(w io.Writer, width int) *progress {
	if width <= 0 {
		width = progressWidth
	}
	p := &progress{w: w, width: width, begun: time.Now(), steps: []*Step{working}}
	p.mu.Lock() // held until timer is set
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(progressDelay, p.tick)
	return p
}

// tick updates the line.
func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over.Load() || len(p.steps) == 0 {
		return
	}
	p.draw(p.line(time.Since(p.begun)))
	p.timer.Reset(progressTick)
}

// line returns the line for the innermost step at the given time since the start.
func (p *progress) line(after time.Duration) string {
	s := p.steps[len(p.steps)-1]
	text := s.What
	if s.Text != nil {
		text = s.Text()
	}
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
	return display.Prefix(text, p.width-1) // a full line would wrap
}

// draw replaces the line. It uses no escape sequences, since some consoles do not understand them.
func (p *progress) draw(line string) {
	if line == p.drawn {
		return
	}
	rest := max(len(p.drawn)-len(line), 0)
	_, _ = io.WriteString(p.w, "\r"+line+strings.Repeat(" ", rest)+strings.Repeat("\b", rest))
	p.drawn = line
}

// erase removes the line.
func (p *progress) erase() {
	if p.drawn != "" {
		_, _ = io.WriteString(p.w, "\r"+strings.Repeat(" ", len(p.drawn))+"\r")
		p.drawn = ""
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

// end removes the line permanently.
func (p *progress) end() {
	if p == nil || p.over.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	p.erase()
	p.over.Store(true) // last, since other goroutines write without the lock afterwards
}

// Write erases the line and writes to standard error. The line no longer shows "still working"
// after that, since the command may be waiting for its user.
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
