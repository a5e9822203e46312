package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// tokensAgain tells when a change of a token file takes effect.
const tokensAgain = "a running server reads the changed file within a few seconds; its log says so"

// tokensReadable is the hint for a token file that exists but cannot be read.
const tokensReadable = "use a file of at most 1 MiB that knack can read"

func tokensCommand(env *console.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the access tokens of a server",
		Long: `Make, list and revoke the access tokens of a server, which reads their file:
'knack serve --token-file tokens'. The file has the hash of each token and the
name of its owner. A running server reads a changed file within seconds.`,
		Example: `  knack token new anna --to tokens
  knack token list --to tokens
  knack token revoke anna --to tokens`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(tokenNewCommand(env), tokenListCommand(env), tokenRevokeCommand(env))
	return cmd
}

func tokenNewCommand(env *console.Env) *cobra.Command {
	var subject, to string
	cmd := &cobra.Command{
		Use:   "new [NAME]",
		Short: "Make an access token, and add its hash to a file",
		Long: `Make an access token that belongs to NAME, and print it. Give it to the client,
which sends it in the header "Authorization: Bearer". It is shown this once and
kept nowhere: the file of --to gets its hash. Without --to its line for such a
file is printed too.`,
		Example: `  knack token new anna --to tokens
  knack token new --json   # for a program that writes the file`,
		Args: command.ArgCount(0, 1, "the name of the token's owner, or nothing"),
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			flag := cmd.Flags().Changed("subject")
			name := ownerName(subject)
			if len(args) == 1 {
				name = ownerName(args[0])
			}
			switch {
			case flag && name != ownerName(subject):
				return nil, command.UsageError("leave out one of the two", "two names are given: '%s', and with --subject '%s'", display.Echo(name), display.Echo(subject))
			case strings.ContainsFunc(name, unicode.IsControl):
				return nil, command.UsageError("give a name in one line", "the name has a control character")
			case cmd.Flags().Changed("to") && (name == "" || to == ""):
				return nil, command.UsageError("for example: knack token new anna --to tokens", "--to names a file, and needs the name of the token's owner")
			}
			token, line := access.NewToken()
			made := newToken{Token: token, Line: strings.TrimSpace(line + " " + name)}
			if to == "" {
				return made, nil
			}
			file, err := readTokens(*env, to)
			if err == nil {
				err = file.write(append(bytes.TrimRight(file.data, "\n"), []byte(map[bool]string{true: "\n"}[len(bytes.TrimSpace(file.data)) > 0]+made.Line+"\n")...))
			}
			if err != nil {
				return nil, err
			}
			return command.Forms{Value: made, Text: func(env *console.Env) {
				fmt.Fprintln(env.Stdout, token)
				env.Err().Line("the file %s has its hash now, for %s. Give %s the token: it is shown only once.", env.Shown(file.at), name, name)
				env.Err().Text(console.Hint, tokensAgain)
			}}, nil
		}),
	}
	cmd.Flags().StringVar(&subject, "subject", "", "as NAME: the token belongs to `NAME`")
	cmd.Flags().StringVar(&to, "to", "", "add the token's hash to `FILE`")
	cmd.Flags().Bool("json", false, "print a JSON object")
	_ = cmd.MarkFlagFilename("to")
	return cmd
}

// ownerName returns the name of a token's owner in the form of a token file.
func ownerName(given string) string { return strings.Join(strings.Fields(given), " ") }

func tokenListCommand(env *console.Env) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "list --to FILE",
		Short: "List the owners of the tokens in a file",
		Long:  `List the owners of the tokens in a file, each with the beginning of the hash.`,
		Example: `  knack token list --to tokens
  knack token list --to tokens --json`,
		Args: command.ArgCount(0, 1, "no arguments; --to names the file of the tokens"), // some users give FILE here
		RunE: command.Returning(env, func(_ *cobra.Command, args []string) (command.Result, error) {
			if len(args) == 1 && to == "" {
				to = args[0]
			} else if len(args) == 1 {
				return nil, command.UsageError("leave out one of the two", "the file is given twice, as an argument and with --to")
			} else if to == "" {
				return nil, command.UsageError("for example: knack token list --to tokens", "--to is missing: the file that has the tokens")
			}
			file, err := readTokens(*env, to)
			if err != nil {
				return nil, err
			}
			if file.missing {
				return nil, file.absent(env, to)
			}
			out := listedTokens{Version: 1, Tokens: file.tokens()}
			return command.Forms{Value: out, Text: func(env *console.Env) {
				for _, t := range out.Tokens {
					env.Out().Line("%s  %s", console.Dim.Of(t.Hash[:len("sha256:")+12]), display.OneLine(t.Subject))
				}
				env.Err().Line("%s", display.Count(len(out.Tokens), "token"))
			}}, nil
		}),
	}
	cmd.Flags().StringVar(&to, "to", "", "the tokens are in `FILE`")
	cmd.Flags().Bool("json", false, "print a JSON object")
	_ = cmd.MarkFlagFilename("to")
	return cmd
}

func tokenRevokeCommand(env *console.Env) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "revoke NAME|HASH",
		Short: "Remove tokens from a file",
		Long: `Remove from a file all tokens of an owner, or the token whose hash begins so, as
'knack token list' prints it. A running server refuses them within seconds.`,
		Example: `  knack token revoke anna --to tokens`,
		Args:    command.ArgCount(1, 1, "an owner, or the beginning of a hash"),
		RunE: command.Returning(env, func(_ *cobra.Command, args []string) (command.Result, error) {
			if to == "" {
				return nil, command.UsageError("for example: knack token revoke anna --to tokens", "--to is missing: the file that has the token")
			}
			file, err := readTokens(*env, to)
			if err != nil {
				return nil, err
			}
			if file.missing {
				return nil, file.absent(env, to)
			}
			var gone []listedToken
			var rest []byte
			for line := range bytes.Lines(file.data) {
				t, ok := tokenIn(string(line))
				if ok && (t.Subject == args[0] || len(args[0]) >= len("sha256:")+8 && strings.HasPrefix(t.Hash, args[0])) {
					gone = append(gone, t)
					continue
				}
				rest = append(rest, line...)
			}
			if len(gone) == 0 {
				return nil, command.Fail(command.No, fmt.Errorf("the file %s has no token of '%s'", env.Shown(file.at), display.Echo(args[0])), "knack token list --to "+console.ShellWord(to)+" lists its tokens")
			}
			left := len(file.tokens()) - len(gone)
			if left == 0 { // a running server takes an empty file for a truncated one
				rest = fmt.Appendf(rest, "# no token is left since %s\n", time.Now().UTC().Format(time.RFC3339))
			}
			if err := file.write(rest); err != nil {
				return nil, err
			}
			return command.Forms{Value: listedTokens{Version: 1, Tokens: gone}, Text: func(env *console.Env) {
				env.Out().Line("removed %s of %s from the file %s", display.Count(len(gone), "token"), display.OneLine(gone[0].Subject), env.Shown(file.at))
				env.Err().Text(console.Hint, tokensAgain)
				if left == 0 {
					env.Err().Text(console.Warning, "it has no token now: a running server refuses every client, and no server starts with it")
				}
			}}, nil
		}),
	}
	cmd.Flags().StringVar(&to, "to", "", "remove them from `FILE`")
	cmd.Flags().Bool("json", false, "print a JSON object")
	_ = cmd.MarkFlagFilename("to")
	return cmd
}

// listedTokens is the JSON form of a list of tokens.
type listedTokens struct {
	Version int           `json:"version"`
	Tokens  []listedToken `json:"tokens"`
}

type listedToken struct {
	Subject string `json:"subject"`
	Hash    string `json:"hash"`
}

// tokenIn parses a line of a token file. ok is false if the line has no token.
func tokenIn(line string) (t listedToken, ok bool) {
	fields := strings.Fields(strings.TrimPrefix(line, "\ufeff"))
	if len(fields) == 0 {
		return t, false
	}
	_, err := skill.ParseDigest(fields[0])
	return listedToken{strings.Join(fields[1:], " "), fields[0]}, err == nil
}

// tokenFile is a token file with the content that was read.
type tokenFile struct {
	at      string
	data    []byte
	missing bool
}

// absent returns the error for a token file that the user named and that does not exist.
func (f tokenFile) absent(env *console.Env, named string) error {
	return command.Fail(command.Error, fmt.Errorf("there is no file %s", env.Shown(f.at)), "check the path; knack token new NAME --to "+console.ShellWord(named)+" makes it")
}

// readTokens reads a token file, which may be missing. It returns an error for a file with a fault,
// so that the file is not changed.
func readTokens(env console.Env, name string) (f tokenFile, err error) {
	f.at = realpath.Of(env.Absolute(name))
	f.data, err = settings.ReadUserFile(f.at)
	if err == nil && len(f.data) > config.MaxSize {
		err = skill.ErrTooLarge
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.missing = true
		return f, nil
	case err != nil:
		return f, command.RunError(settings.HintOf(err, tokensReadable), "the file %s cannot be read: %s", env.Shown(f.at), settings.ReasonOf(err))
	}
	if _, err := access.ParseTokens(bytes.NewReader(f.data)); err != nil && !errors.Is(err, access.ErrNoToken) {
		return f, command.RunError("correct the file, or name another one", "the file %s is not a token file: %w", env.Shown(f.at), err)
	}
	return f, nil
}

// tokens returns the tokens of the file, in its order; the list is not nil.
func (f tokenFile) tokens() []listedToken {
	all := []listedToken{}
	for line := range bytes.Lines(f.data) {
		if t, ok := tokenIn(string(line)); ok {
			all = append(all, t)
		}
	}
	return all
}

// write replaces the file, or creates it for its owner alone.
func (f tokenFile) write(data []byte) error {
	var err error
	if f.missing {
		err = edit.Create(f.at, data, 0o600)
	} else {
		err = edit.Replace(f.at, f.data, data)
	}
	if err != nil {
		return command.RunError("", "the token file is unchanged: %w", err)
	}
	return nil
}
