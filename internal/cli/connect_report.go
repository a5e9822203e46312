package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/clientconfig/connection"
)

// checkCommand warns about a command that the client may be unable to start. It returns an error
// for a temporary program.
func (f *connectFlags) checkCommand(env *console.Env, c clientconfig.Client, s clientconfig.Server, ch clientconfig.Change) error {
	unchanged := ch.Scope == clientconfig.Project && len(ch.Command) > 0 && !slices.ContainsFunc(ch.Differences, func(d clientconfig.Difference) bool { return d.Key == "command" })
	if unchanged {
		s.Command = ch.Command[0]
	}
	install := "go install ./cmd/knack, then run knack connect " + c.ID + " --write"
	switch {
	case s.URL != "" || ch.State == clientconfig.Foreign:
	case !f.clientEnv(*env).CanStart(s.Command):
		env.Err().Text(console.Warning, fmt.Sprintf("there is no program %s now, so %s cannot start it", s.Command, c.Name))
	case isTemporary(s.Command) && f.write:
		return command.RunError(install, "this knack is a temporary build of go run")
	case isTemporary(s.Command):
		env.Err().Text(console.Warning, "this knack is a temporary build of go run; "+install)
	case f.scope == clientconfig.Project && f.command == "" && !unchanged && filepath.IsAbs(s.Command):
		env.Err().Text(console.Warning, fmt.Sprintf("all users of a project share its file, and %s is a path of this machine; --command knack names the program on each user's PATH", s.Command))
	}
	return nil
}

// isTemporary reports whether go run built a program. Such a program is in the folder for temporary
// files (go-build123/b001/exe/knack) or in the build cache (a hash with -d).
func isTemporary(program string) bool {
	return ofGoRun().MatchString(filepath.ToSlash(program))
}

var ofGoRun = lazyregexp.New(`/(go-build\d+/b\d+/exe|[0-9a-f]{64}-d)/[^/]+$`)

// rerunCommand returns the command that writes the entry of a scope.
func (f *connectFlags) rerunCommand(env *console.Env, c clientconfig.Client, scope clientconfig.Scope) string {
	words := []string{"connect", c.ID}
	if scope == clientconfig.Project {
		words = append(words, "--scope", "project")
	}
	words = append(words, "--write")
	if f.trust {
		words = append(words, "--trust")
	}
	return env.Command(words...) + afterDash(f.chosen)
}

// printResult prints the result of --write or, for a dry run, the result that it would have.
func (f *connectFlags) printResult(env *console.Env, c clientconfig.Client, s clientconfig.Server, state connection.Connection, ch clientconfig.Change) {
	file := env.Shown(state.File)
	switch {
	case ch.Shared && ch.State == clientconfig.Outdated: // see obstacle
		return
	case f.dry && ch.Changed():
		env.Out().Line("%s would have the entry%s", file, state.Extras())
	case !state.Written && s.URL == "" && len(state.Command) == 0:
		env.Out().Line("%s has an entry already, which %s; nothing is written", file, state.Target())
		env.Err().Text(console.Hint, "--command PATH starts the knack at PATH, --url URL connects to another server")
	case !state.Written:
		env.Out().Line("%s has the entry already%s", file, state.Extras())
	case state.Backup != "":
		env.Out().Line("%s has the entry now%s; the previous file is %s", file, state.Extras(), env.Shown(state.Backup))
	default:
		env.Out().Line("%s has the entry now%s", file, state.Extras())
	}
	switch {
	case state.First != nil:
		env.Out().Line("%s", state.Precedence())
	case state.Gain.IsUseless():
		env.Err().Line("%s %s.", c.Name, state.Gain.String())
	case state.Written && !state.Off && (ch.Scope != clientconfig.Project || len(c.NextSteps(ch.Scope, ch.Name)) == 0):
		env.Err().Text(console.Hint, fmt.Sprintf("restart %s to see the skills", c.Name))
	}
}

// printDestination prints the file in which the printed entry belongs.
func printDestination(env *console.Env, c clientconfig.Client, s clientconfig.Server, state connection.Connection, ch clientconfig.Change, file string) {
	switch {
	case state.File == "":
		env.Err().Line("It goes into the configuration file of %s.", c.Name)
	case state.State == connection.Refused || state.State == clientconfig.Foreign || ch.Shared:
		env.Err().Line("%s: %s.", c.Name, state.Status())
	case state.State == clientconfig.Connected:
		env.Err().Line("%s has an entry already, which %s.", file, state.Target())
	case state.State == clientconfig.Outdated:
		env.Err().Line("%s has an entry already, which %s; --write would change it:", file, state.Target())
		_ = env.Err().Patch(console.Clean(state.Diff))
	default:
		env.Err().Line("It goes into %s; --write puts it there.", file)
	}
	if state.First != nil {
		env.Err().Line("%s", state.Precedence())
	}
	if gain := state.Gain.String(); gain != "" {
		env.Err().Line("%s %s.", c.Name, gain)
	}
	if c.Command != nil && state.State == clientconfig.Absent && state.Scope != clientconfig.Project {
		env.Err().Row("Or: %s", c.Command(s))
	}
}

// printAdvice prints further steps and warnings.
func (f *connectFlags) printAdvice(env *console.Env, c clientconfig.Client, s clientconfig.Server, ch clientconfig.Change, allow *clientconfig.Change) {
	if s.Token && c.TokenFromEnvironment() {
		env.Err().Line("%s reads the token from the environment variable %s.", c.Name, clientconfig.TokenVariable)
	} else if s.Token && ch.State != clientconfig.Connected {
		env.Err().Line("Replace %s by your token; then do not share the file.", clientconfig.TokenPlaceholder)
	}
	counts := ch
	if ch.OverriddenBy != nil {
		counts = *ch.OverriddenBy
	}
	if counts.State == clientconfig.Foreign { // a foreign entry gets no advice on approving, allowing or trusting
		if !f.write { // with --write, see obstacle
			env.Err().Line("That is not known to be knack: %s.", connection.RemoveAdvice)
		}
		return
	}
	if counts.Scope == clientconfig.Project && counts.URL != "" && counts.URL != s.URL {
		env.Err().Line("Anyone may have written that entry: approve it only if you know the server at %s.", display.RedactURI(counts.URL))
	}
	if step := c.SignIn(counts.Name); step != "" && s.URL != "" && !s.Token {
		env.Err().Line("If the server asks for a sign-in: %s.", step)
	}
	if s.ClientID != "" {
		env.Err().Line("At the provider, %s has to be a public client with the redirect addresses http://localhost and http://127.0.0.1, at any port and path%s.", display.Echo(s.ClientID), c.ProviderNote())
	}
	for _, sentence := range c.NextSteps(counts.Scope, counts.Name) {
		env.Err().Line("%s", sentence)
	}
	switch {
	case f.write && !ch.Changed() && ch.OverriddenBy != nil: // see obstacle
	case ch.OverriddenBy != nil && ch.OverriddenBy.State == clientconfig.Outdated:
		env.Err().Line("%s brings that entry up to date.", f.rerunCommand(env, c, counts.Scope))
	case allow != nil && !f.trust && allow.Changed():
		env.Err().Line("%s asks before it calls a tool, and a headless run gets no tools; --trust allows knack's tools in %s.", c.Name, env.Shown(allow.File))
	case allow != nil:
	case c.CanTrust() && !counts.Trusted && ch.OverriddenBy != nil:
		env.Err().Line("%s asks before it calls a tool, and a headless run gets no tools; knack connect %s --scope project --write --trust adds an entry for which it does not ask.", c.Name, c.ID)
	case c.CanTrust() && !counts.Trusted:
		env.Err().Line("%s asks before it calls a tool, and a headless run gets no tools; --trust adds \"trust\": true, and it no longer asks for knack's tools.", c.Name)
	}
	if twice := c.DuplicateHint("that server"); twice != "" && s.URL != "" {
		env.Err().Line("%s, or use an entry without --url.", twice)
	}
	if s.URL != "" && !f.every {
		env.Err().Text(console.Hint, "to see the skills of that server: knack list "+console.ShellWord("mcp:"+display.RedactURI(s.URL)))
	}
}
