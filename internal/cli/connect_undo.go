package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/clientconfig/connection"
	"github.com/knack-dev/knack/tool"
)

// disconnect removes the entry of a client, and knack's tools from its list of allowed tools.
func (f *connectFlags) disconnect(env *console.Env, c clientconfig.Client, state connection.Connection, ch clientconfig.Change, planErr error, asJSON bool) (command.Result, error) {
	file := env.Shown(state.File)
	if ch.Shared {
		return nil, command.Fail(command.No, fmt.Errorf("%s has an entry for all users of this project, which %s; nothing is removed", file, state.Target()), "knack connect "+c.ID+" --scope project --remove removes it for all of them")
	}
	if p := state.Refusal(planErr); p != nil {
		var missing *clientconfig.MissingError
		if !errors.As(planErr, &missing) {
			return nil, command.Fail(command.No, p.Why, p.Fix)
		}
	}
	if !asJSON && ch.Changed() {
		_ = env.Out().Patch(console.Clean(state.Diff))
	}
	if !f.dry {
		if err := ch.Write(); err != nil {
			return nil, command.Fail(command.Error, fmt.Errorf("%s is unchanged: %w", file, command.Cause(err)), state.WriteFix(err))
		}
		state.Written, state.Backup = ch.Changed(), ch.Backup
	}
	allow, err := f.allow(env, c, ch)
	if err != nil {
		return nil, err
	}
	return command.Forms{Value: state, Text: func(env *console.Env) {
		switch {
		case ch.Changed() && f.dry:
			env.Out().Line("%s would no longer have the entry%s", file, orGone(ch, "would be"))
		case state.Written:
			env.Out().Line("%s no longer has the entry%s; the previous file is %s", file, orGone(ch, "is"), env.Shown(state.Backup))
		case file == "":
			env.Out().Line("%s has no entry of knack", c.Name)
		default:
			env.Out().Line("%s has no entry of knack; nothing is changed", file)
		}
		switch {
		case allow == nil || !allow.Changed():
		case f.dry:
			env.Out().Line("%s would no longer allow knack's tools%s", env.Shown(allow.File), orGone(*allow, "would be"))
		default:
			env.Out().Line("%s no longer allows knack's tools%s; the previous file is %s", env.Shown(allow.File), orGone(*allow, "is"), env.Shown(allow.Backup))
		}
		if state.Written {
			env.Err().Text(console.Hint, "restart "+c.Name+": until then it still uses the entry")
		}
	}}, nil
}

// orGone returns the end of a sentence about a removed file, or "". A file is removed if only the
// entry was in it.
func orGone(ch clientconfig.Change, verb string) string {
	if !ch.Gone {
		return ""
	}
	return ", and " + verb + " removed, since nothing else is in it"
}

// allow plans the change of the client's list of allowed tools, and writes it with --trust --write
// or with --remove. It returns nil for a client without such a list.
func (f *connectFlags) allow(env *console.Env, c clientconfig.Client, ch clientconfig.Change) (*clientconfig.Change, error) {
	out, err := c.Allow(f.clientEnv(*env), ch.Name, f.toolNames(), f.remove)
	if out == nil || err != nil && !f.trust && !f.remove {
		return nil, nil
	}
	if err == nil && !f.dry && (f.write && f.trust || f.remove) {
		err = out.Write()
	}
	if err != nil {
		fix := "fix the file, or allow knack's tools in " + c.Name
		if errors.Is(err, fs.ErrPermission) {
			fix = "make it writable"
		}
		return nil, command.Fail(command.Error, fmt.Errorf("%s is unchanged: %w", env.Shown(out.File), command.Cause(err)), fix)
	}
	return out, nil
}

// toolNames returns the names of the tools that the entry serves.
func (f *connectFlags) toolNames() (names []string) {
	set := tool.DefaultSet
	for i, word := range f.chosen {
		if value, ok := strings.CutPrefix(word, "--tools="); ok {
			set = value
		} else if word == "--tools" && i+1 < len(f.chosen) {
			set = f.chosen[i+1]
		}
	}
	tools, _ := tool.ParseSets(set)
	for _, t := range tools {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

// printAllow prints whether the list of allowed tools contains knack's tools, or would contain
// them.
func (f *connectFlags) printAllow(env *console.Env, c clientconfig.Client, state connection.Connection, allow *clientconfig.Change) {
	if !f.trust {
		return
	}
	if note := c.TrustNote(); note != "" {
		env.Err().Line("--trust adds nothing: %s", note)
	}
	if allow == nil {
		return
	}
	switch file := env.Shown(allow.File); {
	case !allow.Changed():
		env.Err().Line("%s allows knack's tools already.", file)
	case f.write && f.dry:
		env.Out().Line("%s would allow knack's tools: %s", file, strings.Join(f.toolNames(), ", "))
	case f.write:
		env.Out().Line("%s allows knack's tools now: %s", file, strings.Join(f.toolNames(), ", "))
	default:
		env.Err().Line("--write also allows knack's tools in %s: %s.", file, strings.Join(f.toolNames(), ", "))
	}
	if first := state.First; first != nil && first.Scope == clientconfig.Project {
		env.Err().Text(console.Warning, fmt.Sprintf("%s has a server of this name too, and the permission counts for its tools as well: %s", env.Shown(first.File), first.Target()))
	}
}
