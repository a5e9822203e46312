package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/client"
	"github.com/knack-dev/knack/internal/connection"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/display"
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

// rerunCommand returns the command that writes the entry of a scope.
func (f *connectFlags) rerunCommand(c client.Client, scope client.Scope) string {
	out := "knack connect " + c.ID + " --write"
	if scope == client.Project {
		out = "knack connect " + c.ID + " --scope project --write"
	}
	if f.trust {
		out += " --trust"
	}
	return out + afterDash(f.chosen)
}

// printResult says what --write did.
func printResult(env *console.Env, c client.Client, s client.Server, state connection.Connection, ch client.Change) {
	file := atHome(*env, state.File)
	switch {
	case ch.Shared && ch.State == client.Outdated: // see obstacle
		return
	case !state.Written && s.URL == "" && len(state.Command) == 0:
		fmt.Fprintf(env.Stdout, "%s has an entry already, which %s; nothing is written\n", console.Clean(file), console.Clean(state.Target()))
		fmt.Fprintln(env.Stderr, "hint: --command PATH starts the knack at PATH, --http URL connects to another server")
	case !state.Written:
		fmt.Fprintf(env.Stdout, "%s has the entry already%s\n", console.Clean(file), console.Clean(state.Extras()))
	case state.Backup != "":
		fmt.Fprintf(env.Stdout, "%s has the entry now%s; the previous file is %s\n", console.Clean(file), console.Clean(state.Extras()), console.Clean(atHome(*env, state.Backup)))
	default:
		fmt.Fprintf(env.Stdout, "%s has the entry now%s\n", console.Clean(file), console.Clean(state.Extras()))
	}
	switch {
	case state.First != nil:
		fmt.Fprintln(env.Stdout, console.Clean(state.Precedence()))
	case state.Written && !state.Off && (ch.Scope != client.Project || len(c.NextSteps(client.Env{}, ch.Scope, ch.Name)) == 0):
		fmt.Fprintf(env.Stderr, "hint: restart %s to see the skills\n", c.Name)
	}
}

// printDestination says where the printed entry goes.
func printDestination(env *console.Env, c client.Client, s client.Server, state connection.Connection, ch client.Change, file string) {
	switch {
	case state.File == "":
		fmt.Fprintf(env.Stderr, "It goes into the configuration file of %s.\n", c.Name)
	case state.State == connection.Refused || state.State == client.Foreign || ch.Shared:
		fmt.Fprintf(env.Stderr, "%s: %s.\n", c.Name, console.Clean(state.Status()))
	case state.State == client.Connected:
		fmt.Fprintf(env.Stderr, "%s has an entry already, which %s.\n", console.Clean(file), console.Clean(state.Target()))
	case state.State == client.Outdated:
		fmt.Fprintf(env.Stderr, "%s has an entry already, which %s; --write would change it:\n", console.Clean(file), console.Clean(state.Target()))
		fmt.Fprint(env.Stderr, console.Clean(state.Diff))
	default:
		fmt.Fprintf(env.Stderr, "It goes into %s; --write puts it there.\n", console.Clean(file))
	}
	if state.First != nil {
		fmt.Fprintln(env.Stderr, console.Clean(state.Precedence()))
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
			fmt.Fprintf(env.Stderr, "That is not known to be knack: %s.\n", connection.RemoveAdvice)
		}
		return
	}
	if counts.Scope == client.Project && counts.URL != "" && counts.URL != s.URL {
		fmt.Fprintf(env.Stderr, "Anyone may have written that entry: approve it only if you know the server at %s.\n", display.RedactURI(counts.URL))
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
