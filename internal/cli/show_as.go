package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// showAs returns a tool's complete answer for the given skill and file. An answer that is an error,
// or reports a missing skill, is printed too, and the exit status is 1.
func showAs(ctx context.Context, from *selection.Flags, as string, args []string) (command.Result, error) {
	t, set, err := toolFor(as, args[0])
	if err != nil {
		return nil, err
	}
	names := t.Required()
	if len(args) == 1 && len(names) == 2 {
		args = append(args, skill.MainFile)
	}
	if len(args) > len(names) {
		return nil, command.UsageError("leave FILE out, or use --as read_file_in_skill", "%s takes a skill and no file", t.Name)
	}
	given := map[string]string{}
	for i, a := range args {
		given[names[i]] = a
	}
	data, err := json.Marshal(given)
	if err != nil {
		return nil, command.RunError("", "%w", err)
	}
	from.Tools = &workspace.Tools{Set: set}
	w, err := from.Open()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	host, err := w.Host(ctx)
	if err != nil {
		return nil, err
	}
	r, err := t.Call(ctx, host, data)
	if err != nil {
		return nil, command.RunError("", "the call was interrupted: %w", err)
	}
	out := toolAnswer{t.Name, set, r.Text, r.IsError, r.Absent}
	switch {
	case r.Absent:
		return out, command.Fail(command.No, errors.New("the tool's answer is that there is no such skill"), "")
	case r.IsError:
		return out, command.Fail(command.No, errors.New("the tool's answer is an error"), "")
	}
	return out, nil
}

// toolAnswer is the JSON form of the result of show --as.
type toolAnswer struct {
	Tool    string `json:"tool"`
	Set     string `json:"set"`
	Text    string `json:"text"`
	IsError bool   `json:"isError"`
	Absent  bool   `json:"absent"` // the skill does not exist
}

// Print implements [command.Result].
func (a toolAnswer) Print(env *console.Env) {
	text := a.Text
	if env.StdoutTerminal && !strings.HasSuffix(text, "\n") {
		text += "\n" // the shell's prompt comes next
	}
	_ = console.PrintText(env, text)
}

// toolFor returns the tool with the given name, or SET:TOOL, that takes a skill. It searches the
// default set first, then the others. If two tools name skills differently, a skill:// URI selects
// the tool that accepts it. set is the set of the tool.
func toolFor(as, called string) (t *tool.Tool, set string, err error) {
	sets := append([]string{tool.DefaultSet}, tool.SetNames()...)
	name := as
	if set, rest, ok := strings.Cut(as, ":"); ok {
		sets, name = []string{set}, rest
	}
	var found []*tool.Tool
	var in []string // the sets of the tools
	for _, set := range sets {
		tools, err := tool.ParseSets(set)
		if err != nil {
			return nil, "", command.UsageError(typo.Hint(set, tool.SetNames(), ""), "--as %s: %w", display.Echo(as), err)
		}
		for _, t := range tools {
			if t.Name == name && len(t.Required()) > 0 {
				found, in = append(found, t), append(in, set)
			}
		}
	}
	if len(found) == 0 {
		known := skillTools()
		words := slices.Clone(known)
		for _, name := range known {
			_, bare, _ := strings.Cut(name, ":")
			words = append(words, bare)
		}
		return nil, "", command.UsageError(typo.Hint(as, words, "the tools are: "+strings.Join(known, ", ")), "--as %s: no tool of this name takes a skill", display.Echo(as))
	}
	isURI := strings.HasPrefix(strings.TrimSpace(called), "skill://")
	for i, t := range found {
		if (t.Required()[0] == "uri") == isURI {
			return t, in[i], nil
		}
	}
	return found[0], in[0], nil
}

// skillTools lists the tools that take a skill, each as SET:TOOL.
func skillTools() []string {
	var names []string
	for _, set := range tool.SetNames() {
		tools, err := tool.ParseSets(set)
		if err != nil {
			continue
		}
		for _, t := range tools {
			if len(t.Required()) > 0 {
				names = append(names, set+":"+t.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}
