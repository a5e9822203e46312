package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/client"
	"github.com/knack-dev/knack/edit"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/lazyregexp"
)

// checkCommand warns of a command that the client may not start, and refuses a temporary one.
func (f *connectFlags) checkCommand(env *console.Env, c client.Client, s client.Server, ch client.Change) error {
	kept := ch.Scope == client.Project && len(ch.Command) > 0 && !slices.ContainsFunc(ch.Differences, func(d client.Difference) bool { return d.Key == "command" })
	if kept {
		s.Command = ch.Command[0]
	}
	install := "go install ./cmd/knack, then run knack connect " + c.ID + " --write"
	switch {
	case s.URL != "" || ch.State == client.Foreign:
	case !f.clientEnv(*env).CanStart(s.Command):
		fmt.Fprintf(env.Stderr, "warning: there is no program %s now, so %s cannot start it\n", console.Clean(s.Command), c.Name)
	case isTemporary(s.Command) && f.write:
		return runError(install, "this knack is a temporary build of go run")
	case isTemporary(s.Command):
		fmt.Fprintf(env.Stderr, "warning: this knack is a temporary build of go run; %s\n", install)
	case f.scope == client.Project && f.command == "" && !kept:
		fmt.Fprintf(env.Stderr, "warning: all users of a project share its file, and %s is a path of this machine; --command knack names the program on each user's PATH\n", console.Clean(s.Command))
	}
	return nil
}

// isTemporary reports whether a program is a build of go run, in the folder for temporary
// files (go-build123/b001/exe/knack) or in the build cache (a hash with -d).
func isTemporary(program string) bool {
	return ofGoRun().MatchString(filepath.ToSlash(program))
}

var ofGoRun = lazyregexp.New(`/(go-build\d+/b\d+/exe|[0-9a-f]{64}-d)/[^/]+$`)

// obstacle returns what keeps the client from using the entry after --write, with the
// fix. It returns nil if nothing does, or if something was written for other projects.
func (f *connectFlags) obstacle(env console.Env, c client.Client, state connection, ch client.Change) error {
	off := func(file, field string) error {
		value := "true"
		if field == "disabled" {
			value = "false"
		}
		return &failure{exitNo, fmt.Errorf("%s: the entry is turned off there, so %s does not start knack", file, c.Name), fmt.Sprintf("set %q to %s there", field, value)}
	}
	file, first := atHome(env, ch.File), ch.OverriddenBy
	switch {
	case first != nil && first.State == client.Foreign: // even if the user's entry was written: the client uses the other one
		return &failure{exitNo, fmt.Errorf("%s %s, and its server called knack %s: that is not known to be knack", atHome(env, first.File), state.precedes(c), state.First.target()), removeAdvice}
	case first != nil && state.First.Missing:
		return &failure{exitNo, fmt.Errorf("%s %s, and its entry %s: no folder of PATH has that program", atHome(env, first.File), state.precedes(c), state.First.target()), "install knack into a folder of PATH"}
	case ch.ListFile != "":
		at, says, fix := atHome(env, ch.ListFile), "has", "take "+strconv.Quote(ch.Name)+" out of it"
		if ch.ListOnly {
			says, fix = "lacks", "add "+strconv.Quote(ch.Name)+" to it"
		}
		return &failure{exitNo, fmt.Errorf("%s: the list %s %s %q, so %s does not start it", at, ch.ListKey, says, ch.Name, c.Name), fix}
	case ch.Off != "": // even if another comes first: some clients merge the two
		return off(file, ch.Off)
	case first == nil && ch.Shared && ch.State == client.Outdated:
		return &failure{exitNo, fmt.Errorf("%s has an entry already, which %s; nothing is written", file, state.target()),
			"--scope user adds one for all your projects, --scope project brings this one up to date"}
	case first == nil || state.Written:
		return nil
	}
	file = atHome(env, first.File)
	switch {
	case first.Off != "":
		return off(file, first.Off)
	case first.State == client.Outdated:
		return &failure{exitNo, fmt.Errorf("%s %s, and its entry is not up to date: it %s", file, state.precedes(c), state.First.target()), f.rerunCommand(c, first.Scope) + " brings it up to date"}
	}
	return nil
}

// removeAdvice is the advice about another server called knack.
const removeAdvice = "do not approve it; remove it there, or give it another name"

// rerunCommand returns the command that writes the entry of a scope.
func (f *connectFlags) rerunCommand(c client.Client, scope client.Scope) string {
	out := "knack connect " + c.ID + " --write"
	if scope == client.Project {
		out = "knack connect " + c.ID + " --scope project --write"
	}
	if f.trust {
		out += " --trust"
	}
	return out
}

// refusal returns why nothing is written, or nil if something may be.
func refusal(c client.Client, state connection, file string, err error) error {
	var missing *client.MissingError
	switch {
	case state.Suspect != "":
		return &failure{exitNo, fmt.Errorf("%s has a server called knack that %s: that is not known to be knack; it is unchanged", file, state.target()), removeAdvice}
	case state.State == client.Foreign:
		return &failure{exitNo, fmt.Errorf("%s has a server called knack that %s; it is unchanged", file, state.target()),
			"rename that server there, or, if this program is your knack, name it with --command"}
	case state.State != refused:
		return nil
	case errors.As(err, &missing) && file == "":
		return &failure{exitNo, fmt.Errorf("%s: %w", c.Name, err), missing.Fix}
	case errors.As(err, &missing):
		return &failure{exitNo, fmt.Errorf("%s cannot be written: %w", file, err), missing.Fix}
	case errors.Is(err, fs.ErrPermission):
		return &failure{exitNo, fmt.Errorf("%s is unchanged: %s", file, state.Why), "make it readable, or add by hand what knack connect " + c.ID + " prints"}
	case errors.As(err, new(*edit.OutsideError)):
		return &failure{exitNo, fmt.Errorf("%s is unchanged: %s", file, state.Why), "if you mean the file behind that link, name it with --file"}
	}
	return &failure{exitNo, fmt.Errorf("%s is unchanged: %s", file, state.Why), "fix the file, or add by hand what knack connect " + c.ID + " prints"}
}

// showChanges shows what changes in an entry, as a difference.
func showChanges(w io.Writer, state connection, file string) {
	if len(state.Changes) == 0 {
		return
	}
	fmt.Fprintf(w, "%s, %s:\n", console.Clean(file), console.Clean(state.Key))
	for _, d := range state.Changes {
		if d.Old != "" {
			fmt.Fprintf(w, "- %s: %s\n", console.Clean(d.Key), console.Clean(d.Old))
		}
		if d.New != "" {
			fmt.Fprintf(w, "+ %s: %s\n", console.Clean(d.Key), console.Clean(d.New))
		}
	}
}

// writeHint says what to do about a file that could not be written.
func writeHint(env console.Env, c client.Client, file string, err error) string {
	byHand := ", or add by hand what knack connect " + c.ID + " prints"
	switch {
	case errors.Is(err, edit.ErrChanged), errors.Is(err, edit.ErrExists):
		return c.Name + " or another program wrote it meanwhile: run the command again"
	case errors.Is(err, edit.ErrReadOnly):
		return "make it writable" + byHand
	case errors.Is(err, fs.ErrPermission): // the new file and the backup are made beside it
		return "make its folder " + atHome(env, filepath.Dir(file)) + " writable" + byHand
	}
	return ""
}

// printResult says what --write did.
func printResult(env *console.Env, c client.Client, s client.Server, state connection, ch client.Change, file string) {
	switch {
	case ch.Shared && ch.State == client.Outdated: // see obstacle
		return
	case !state.Written && s.URL == "" && len(state.Command) == 0:
		fmt.Fprintf(env.Stdout, "%s has an entry already, which %s; nothing is written\n", console.Clean(file), console.Clean(state.target()))
		fmt.Fprintln(env.Stderr, "hint: --command PATH starts the knack at PATH, --http URL connects to another server")
	case !state.Written:
		fmt.Fprintf(env.Stdout, "%s has the entry already%s\n", console.Clean(file), console.Clean(state.extras()))
	case state.Backup != "":
		fmt.Fprintf(env.Stdout, "%s has the entry now%s; the previous file is %s\n", console.Clean(file), console.Clean(state.extras()), console.Clean(atHome(*env, state.Backup)))
	default:
		fmt.Fprintf(env.Stdout, "%s has the entry now%s\n", console.Clean(file), console.Clean(state.extras()))
	}
	switch {
	case state.First != nil:
		fmt.Fprintln(env.Stdout, console.Clean(state.precedence(*env, c)))
	case state.Written && !state.Off && (ch.Scope != client.Project || len(c.NextSteps(client.Env{}, ch.Scope, ch.Name)) == 0):
		fmt.Fprintf(env.Stderr, "hint: restart %s to see the skills\n", c.Name)
	}
}

// printDestination says where the printed entry goes.
func printDestination(env *console.Env, c client.Client, s client.Server, state connection, ch client.Change, file string) {
	switch {
	case state.File == "":
		fmt.Fprintf(env.Stderr, "It goes into the configuration file of %s.\n", c.Name)
	case state.State == refused || state.State == client.Foreign || ch.Shared:
		fmt.Fprintf(env.Stderr, "%s: %s.\n", c.Name, console.Clean(state.status(*env)))
	case state.State == client.Connected:
		fmt.Fprintf(env.Stderr, "%s has an entry already, which %s.\n", console.Clean(file), console.Clean(state.target()))
	case state.State == client.Outdated:
		fmt.Fprintf(env.Stderr, "%s has an entry already, which %s; --write would change it:\n", console.Clean(file), console.Clean(state.target()))
		showChanges(env.Stderr, state, file)
	default:
		fmt.Fprintf(env.Stderr, "It goes into %s; --write puts it there.\n", console.Clean(file))
	}
	if state.First != nil {
		fmt.Fprintln(env.Stderr, console.Clean(state.precedence(*env, c)))
	}
	if c.Command != nil && state.State == client.Absent && state.Scope != client.Project {
		fmt.Fprintf(env.Stderr, "Or: %s\n", console.Clean(c.Command(s)))
	}
	if strings.Contains(state.Entry, "--exclude") {
		fmt.Fprintf(env.Stderr, "%s reads the folders behind --exclude itself.\n", c.Name)
	}
}

// printAdvice says what is left to do, and what to know.
func (f *connectFlags) printAdvice(env *console.Env, c client.Client, s client.Server, ch client.Change) {
	if s.Token && c.TokenFromEnvironment() {
		fmt.Fprintf(env.Stderr, "%s reads the token from the environment variable %s.\n", c.Name, client.TokenVariable)
	} else if s.Token && ch.State != client.Connected {
		fmt.Fprintf(env.Stderr, "Replace %s by your token; then do not share the file.\n", client.TokenPlaceholder)
	}
	counts := ch
	if ch.OverriddenBy != nil {
		counts = *ch.OverriddenBy
	}
	if counts.State == client.Foreign { // no word about approving, allowing or trusting
		if !f.write { // else see obstacle
			fmt.Fprintf(env.Stderr, "That is not known to be knack: %s.\n", removeAdvice)
		}
		return
	}
	if counts.Scope == client.Project && counts.URL != "" && counts.URL != s.URL {
		fmt.Fprintf(env.Stderr, "Anyone may have written that entry: approve it only if you know the server at %s.\n", console.Clean(counts.URL))
	}
	for _, sentence := range c.NextSteps(f.clientEnv(*env), counts.Scope, counts.Name) {
		fmt.Fprintln(env.Stderr, console.Clean(sentence))
	}
	switch {
	case f.write && !ch.Changed() && ch.OverriddenBy != nil: // see obstacle
	case ch.OverriddenBy != nil && ch.OverriddenBy.State == client.Outdated:
		fmt.Fprintf(env.Stderr, "%s brings that entry up to date.\n", f.rerunCommand(c, counts.Scope))
	case c.CanTrust() && !counts.Trusted && ch.OverriddenBy != nil:
		fmt.Fprintf(env.Stderr, "%s asks before it calls a tool, and a headless run gets no tools; knack connect %s --scope project --write --trust adds an entry for which it does not ask.\n", c.Name, c.ID)
	case c.CanTrust() && !counts.Trusted:
		fmt.Fprintf(env.Stderr, "%s asks before it calls a tool, and a headless run gets no tools; --trust adds \"trust\": true, and it no longer asks for knack's.\n", c.Name)
	}
	if twice := c.DuplicateHint("that server"); twice != "" && s.URL != "" {
		fmt.Fprintf(env.Stderr, "%s, or use an entry without --http.\n", twice)
	}
}
