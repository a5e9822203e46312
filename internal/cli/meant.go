package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/help"
)

// otherNames maps words for commands in other tools to knack's commands. below is the parent
// command, or "".
var otherNames = []struct{ below, words, commands string }{
	{"", "get i install", "add"},
	{"", "accept allow pin trust", "approve"},
	{"", "revoke-approval unapprove", "approve --remove"},
	{"", "agent ask llm prompt talk", "chat"},
	{"", "lint test validate", "check"},
	{"", "configure preferences", "config"},
	{"", "attach link setup", "connect"},
	{"", "debug diagnose status why", "doctor"},
	{"", "evals evaluate measure trigger triggers", "eval"},
	{"", "commands man usage", "help"},
	{"", "ls skill skills", "list"},
	{"", "auth signin sign-in", "login"},
	{"", "signout sign-out", "logout"},
	{"", "init", "new, config init"},
	{"", "create generate scaffold", "new"},
	{"", "push release upload", "publish"},
	{"", "clone download fetch mirror", "pull"},
	{"", "delete rm uninstall", "remove"},
	{"", "audit inspect", "scan"},
	{"", "find grep query", "search"},
	{"", "mcp run server start stdio", "serve"},
	{"", "cat info load open read view", "show"},
	{"", "ci restore", "sync"},
	{"", "key secret tokens", "token"},
	{"", "outdated upgrade", "update"},
	{"", "frozen integrity", "verify"},
	{"config", "get list ls print", "config show"},
	{"config", "lint validate", "config check"},
	{"config", "create new", "config init"},
	{"token", "add create", "token new"},
	{"token", "ls show", "token list"},
	{"token", "delete remove rm", "token revoke"},
}

// configSet lists the words by which other tools change one setting, and configSetHint is the hint
// for them.
const (
	configSet     = "edit set unset"
	configSetHint = "settings are in a file: 'knack config path' names it, and 'knack config init' writes one"
)

// otherFlags maps names of flags in other tools to knack's flags.
var otherFlags = []struct{ words, flag string }{
	{"addr address bind host listen p port", "http"},
	{"o output", "json"},
	{"token", "token-file"},
}

// colorFlags are the flags of other tools that turn colours off.
const colorFlags = "no-color no-colour nocolor color colour monochrome"

// leastWord is the minimum length of a word of another tool for which knack suggests a command
// despite a misspelling.
const leastWord = 4

// noCommand returns the error for a word that is not a subcommand of parent.
func noCommand(parent *cobra.Command, typed string) error {
	var words []string
	meant := map[string]string{} // maps a word to its commands
	path := strings.TrimPrefix(strings.TrimPrefix(parent.CommandPath(), parent.Root().Name()), " ")
	add := func(word, commands string) {
		if meant[word] == "" {
			words, meant[word] = append(words, word), commands
		}
	}
	for _, c := range parent.Commands() {
		if !c.Hidden {
			add(c.Name(), strings.TrimSpace(path+" "+c.Name()))
		}
	}
	hint := "run '" + parent.CommandPath() + " --help' for the commands"
	if len(words) == 0 {
		hint = "run '" + parent.CommandPath() + " --help' for its use"
	}
	if !parent.HasParent() {
		for _, t := range help.Topics {
			add(t.Name, "help "+t.Name)
		}
	}
	for _, o := range otherNames {
		for word := range strings.FieldsSeq(o.words) {
			if o.below == path && (len(word) >= leastWord || word == strings.ToLower(typed)) {
				add(word, o.commands)
			}
		}
	}
	if path == "config" && slices.Contains(strings.Fields(configSet), strings.ToLower(typed)) {
		hint = configSetHint
	} else if commands := meant[typo.Nearest(typed, words)]; commands != "" {
		hint = "did you mean 'knack " + strings.ReplaceAll(commands, ", ", "' or 'knack ") + "'?"
	}
	return command.UsageError(hint, "there is no command '%s%s'", strings.TrimPrefix(path+" ", " "), display.Echo(typed))
}

// flagHint returns the hint for an error in a command's flags.
func flagHint(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		typed := unknown.GetSpecifiedName()
		if group := unknown.GetSpecifiedShortnames(); group != "" {
			typed, _, _ = strings.Cut(group, "=") // -dir for --dir
			if strings.EqualFold(typed, "v") {
				typed = "version"
			}
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if slices.Contains(strings.Fields(colorFlags), strings.ToLower(typed)) {
			return "set NO_COLOR=1 in the environment"
		}
		if best := typo.Nearest(typed, names); best != "" {
			return "did you mean --" + best + "?"
		}
		for _, o := range otherFlags {
			if slices.Contains(strings.Fields(o.words), strings.ToLower(typed)) && slices.Contains(names, o.flag) {
				return "did you mean --" + o.flag + "?"
			}
		}
	}
	return "run '" + cmd.CommandPath() + " --help' for its flags"
}
