package distcmd

import (
	"context"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/install"
)

// sourceJSON is the result of knack list for a source. doc/api.md describes the fields.
type sourceJSON struct {
	Source      string       `json:"source"`
	Revision    string       `json:"revision,omitempty"`
	Version     string       `json:"version,omitempty"`
	Marketplace string       `json:"marketplace,omitempty"`
	Plugins     []pluginJSON `json:"plugins,omitempty"`
	Skills      []choiceJSON `json:"skills"`
	Warnings    []string     `json:"warnings,omitempty"`

	contents install.Contents
}

type pluginJSON struct {
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	Version     string       `json:"version,omitempty"`
	At          string       `json:"at,omitempty"`
	Skills      []choiceJSON `json:"skills"`
	Reason      string       `json:"reason,omitempty"`
}

// ListSource lists the skills and plugins of a source, and installs nothing.
func ListSource(ctx context.Context, env *console.Env, config, source string) (command.Result, error) {
	f := flags{env: env, config: config, typed: []string{source}}
	in, done, err := f.open(false, false)
	if err != nil {
		return nil, err
	}
	defer done()
	c, err := in.List(ctx, source)
	if err != nil {
		return nil, failure(err)
	}
	out := &sourceJSON{Source: c.Source, Revision: c.Revision.ID, Version: c.Revision.Version, Marketplace: c.Marketplace, Skills: choicesJSON(c.Skills), Warnings: c.Unread, contents: c}
	failed := false
	for _, p := range c.Plugins {
		j := pluginJSON{Name: p.Name, Description: p.Description, Version: p.Version, At: p.Where, Skills: choicesJSON(p.Skills)}
		if p.Err != nil {
			j.Reason, failed = p.Err.Error(), true
		}
		out.Plugins = append(out.Plugins, j)
	}
	if failed {
		err = command.Fail(command.No, command.ErrPrinted, "")
	}
	return out, err
}

func choicesJSON(choices []install.Choice) []choiceJSON {
	out := []choiceJSON{}
	for _, c := range choices {
		j := choiceJSON{Source: c.Source, Name: c.Name, Description: c.Description, Path: c.Path, Warning: c.Unserved}
		if c.Fault != nil {
			j.Reason = c.Fault.Error()
		}
		out = append(out, j)
	}
	return out
}

// Print implements [command.Result].
func (o *sourceJSON) Print(env *console.Env) {
	out, c := env.Out(), o.contents
	total := len(c.Skills)
	for _, p := range c.Plugins {
		total += len(p.Skills)
		if p.Where == "" {
			out.Line("%s", console.Bold.Of(p.Name))
		} else {
			out.Line("%s (%s)", console.Bold.Of(p.Name), p.Where)
		}
		for _, s := range p.Skills {
			printChoice(out, p.Name+":"+s.Name, s)
		}
		if p.Err != nil {
			env.Err().Text(console.Warning, p.Name+": "+p.Err.Error())
		}
	}
	if len(c.Plugins) > 0 && len(c.Skills) > 0 {
		out.Line("in no plugin")
	}
	for _, s := range c.Skills {
		printChoice(out, s.Name, s)
	}
	for _, u := range c.Unread {
		env.Err().Text(console.Warning, u)
	}
	summary := display.Count(total, "skill")
	if n := len(c.Plugins); n > 0 {
		summary += " in " + display.Count(n, "plugin")
	}
	out.Line("%s has %s", c.Source, summary)
	if total > 0 {
		env.Err().Text(console.Hint, env.Command("add", c.Source, "--skill", "NAME")+" installs one; "+env.Command("show", c.Source+"//NAME")+" prints one")
	}
}
