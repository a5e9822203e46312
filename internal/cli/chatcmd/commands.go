package chatcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/listing"
	"github.com/knack-dev/knack/internal/llm/model"
)

// greet prints the model and the number of skills before the first prompt.
func (t *talk) greet() {
	skills := "no skills"
	if v, ok := t.host.Catalog.Now(nil); ok && len(v.Listed) > 0 {
		skills = display.Count(len(v.Listed), "skill")
	}
	t.screen.remark(fmt.Sprintf("%s at %s, with %s; /help lists the commands, and exit leaves", t.end.Model, hostOf(t.end.URL), skills))
}

// commands are the commands of a conversation, with their descriptions for /help.
var commands = [][2]string{
	{"/new", "begin a new conversation"},
	{"/skills", "list the skills"},
	{"/tools", "list the tools that the model has"},
	{"/model", "tell which model this is; /model NAME changes to another model"},
	{"/help", "list the commands"},
	{"/exit", "leave, as do exit and Ctrl-D"},
}

// command runs a line that begins with /. If a person types, it prints an error of the user, who
// can then try again.
func (t *talk) command(ctx context.Context, line string) error {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	err := t.run(ctx, word, strings.TrimSpace(rest))
	var mistake *command.Failure
	if !errors.As(err, &mistake) || !t.lines.IsTyped() {
		return err
	}
	t.screen.note(console.Error, mistake.Error())
	if mistake.Hint != "" {
		t.screen.note(console.Hint, mistake.Hint)
	}
	return nil
}

func (t *talk) run(ctx context.Context, word, rest string) error {
	if rest != "" && word != "/model" && slices.ContainsFunc(commands, func(c [2]string) bool { return c[0] == word }) {
		return command.UsageError("write it alone", "%s takes nothing after it", word)
	}
	switch word {
	case "/new":
		if t.conversation.Clear(); t.lines.IsTyped() {
			t.screen.remark("a new conversation")
		}
	case "/skills":
		return t.skills(ctx)
	case "/tools":
		t.tools()
	case "/model":
		return t.model(ctx, rest)
	case "/help":
		for _, c := range commands {
			t.screen.line("  %s  %s", console.Bold.Of(fmt.Sprintf("%-7s", c[0])), c[1])
		}
		t.screen.line("A line that ends with \\ continues on the next. Ctrl-C ends an answer.")
	case "/exit":
		return errLeaving
	default:
		names := make([]string, len(commands))
		for i, c := range commands {
			names[i] = c[0]
		}
		hint := "/help lists the commands; to say something that begins with /, type a blank before it"
		if best := typo.Nearest(word, names); best != "" {
			hint = "did you mean " + best + "?"
		}
		return command.UsageError(hint, "there is no command %s", display.Echo(word))
	}
	return nil
}

// line prints a line of requested output.
func (s *screen) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.separate(false)
	s.err.Line(format, args...)
}

func (t *talk) skills(ctx context.Context) error {
	v, err := t.host.Catalog.View(ctx)
	if err != nil {
		return err
	}
	width := 0
	for _, e := range v.Listed {
		width = max(width, listing.NameWidth(t.screen.err, v.Called(e)))
	}
	for _, e := range v.Listed {
		listing.Skill(t.screen.err, e, v.Called(e), width)
	}
	t.screen.line("%s", display.Count(len(v.Listed), "skill"))
	return nil
}

func (t *talk) tools() {
	for _, tool := range t.o.Tools {
		t.screen.line("  %s  %s", console.Bold.Of(tool.Name), tool.Title)
	}
	for _, others := range t.o.Others {
		for _, d := range others.Definitions() {
			title, _, _ := strings.Cut(d.Description, "\n")
			t.screen.line("  %s  %s", console.Bold.Of(d.Name), display.Cut(title, 100))
		}
	}
}

// model switches to another model: one of chat.models, or another one of this endpoint. Without a
// name it prints the current model.
func (t *talk) model(ctx context.Context, name string) error {
	if name == "" {
		t.screen.line("%s at %s", t.end.Model, hostOf(t.end.URL))
		if names := t.chat().Names(); len(names) > 0 {
			t.screen.line("in %s: %s", t.file.Shown, strings.Join(names, ", "))
		}
		return nil
	}
	end := t.end
	end.Model = name
	if m, found := t.chat().Find(name); found {
		var err error
		if end, err = t.endpoint(m, Wanted{}); err != nil {
			return failed(err)
		}
		if end, err = modelOf(ctx, end, t.open, t.tell); err != nil {
			return err
		}
	} else if known, err := t.client.Models(ctx); err == nil && !slices.Contains(known, name) {
		hint := "it has " + model.List(known)
		if best := typo.Nearest(name, known); best != "" {
			hint = "did you mean " + best + "?"
		}
		return command.UsageError(hint, "%s has no model '%s'", hostOf(t.end.URL), display.Echo(name))
	}
	t.client.Close()
	t.end, t.client = end, t.open(end)
	t.conversation.Use(t.client, end.Wire, t.about(end))
	t.screen.remark(fmt.Sprintf("%s at %s", end.Model, hostOf(end.URL)))
	return nil
}
