// Package clientconfig describes and edits the configuration files of clients. It knows the path of
// each file and the form of an entry for an MCP server. It adds an entry without changing anything
// else.
//
// The caller provides the folders and the entry. A merge is a function from bytes to bytes. Each
// result is parsed again and compared with the original. So a file changes exactly as intended, or
// not at all. [AddItem] makes the same promise for knack.yaml, which package settings edits.
package clientconfig

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/realpath"
)

// Name is the key of knack's entry in every file.
const Name = "knack"

// Client is a program that starts MCP servers from a configuration file.
type Client struct {
	ID, Name string
	// Reads lists the labels of the roots that the client reads itself. If knack also serves their
	// skills, the client shows these skills twice.
	Reads []string
	// Program is the name of the client's executable, or "" if it has none.
	Program string
	// Command returns the client's own command that adds the entry to the user's configuration. It
	// is nil if the client has no such command.
	Command func(Server) string
	// NeedsApproval is set if the client ignores a project's entry until the user has approved it.
	// Until then it uses the user's own entry of the same name.
	NeedsApproval bool
	// Source lists the documentation of the file and of the skill folders.
	Source string
	// Tested is the version of the client with which the entries were tested, and how. It is "" if
	// they only follow the client's documentation.
	Tested string

	format    format
	dialect   dialect    // of JSON
	list      bool       // in YAML, whether the servers are a list
	keys      []string   // the path of keys to the servers
	nested    string     // key of the object in an entry that describes how to reach the server, or ""
	locations []location // in the client's order of precedence
	// nextSteps contains the sentences that [Client.NextSteps] returns, with the placeholder NAME.
	nextSteps map[Scope][]string
	lists     []nameList // lists of servers that are on or off, outside of the entry
	// createHint tells the user how to create the file, for a client whose file knack does not
	// create. Continue, for example, reads an older config.json only while there is no config.yaml.
	createHint string
	folder     func(Env) string
	local      func(Server) []field
	remote     func(Server) []field // nil if the file cannot describe a remote server
	newFields  func(Server) []field // more fields of a new entry, which the user may change; or nil
	untyped    bool                 // whether an entry that starts a command may lack its "type"
	trust      []field              // the field that makes the client call the tools without asking
	allow      *allowList           // a list outside of the entry with the effect of trust, or nil
	// trustNote describes when the client calls the tools without asking, if its files have no
	// setting for that.
	trustNote string
	// signIn is the command or the step with which the user signs in to a server behind a URL.
	signIn string
	// clientID returns the field for a client ID registered at the provider. It is nil if the file
	// has none.
	clientID func(id string) field
	// provider is a further requirement of this client for registering a client ID. It ends the
	// sentence about that step. It is "" if there is no such requirement.
	provider string
	bearer   []field // fields that send the token to a server behind a URL
	// tokenEnv is set if the client reads the token from the environment.
	tokenEnv bool
}

func commandAndArgs(s Server) []field {
	return []field{{"command", s.Command}, {"args", s.Args}}
}

func stdio(s Server) []field { return append([]field{{"type", "stdio"}}, commandAndArgs(s)...) }

func typedHTTP(s Server) []field { return []field{{"type", "http"}, {"url", s.URL}} }

// oneCommand returns the fields of an entry that has the command and its arguments in one list.
func oneCommand(s Server) []field {
	return []field{{"type", "local"}, {"command", append([]string{s.Command}, s.Args...)}}
}

func typedRemote(s Server) []field { return []field{{"type", "remote"}, {"url", s.URL}} }

func urlAs(key string) func(Server) []field {
	return func(s Server) []field { return []field{{key, s.URL}} }
}

// Texts that stand for the token in an entry: the name of a variable, and a placeholder. An entry
// never contains the token itself.
const (
	TokenVariable    = "KNACK_TOKEN"
	TokenPlaceholder = "YOUR-TOKEN"
)

// bearer returns the authorization header in the form that most clients use.
func bearer(token string) []field {
	return []field{{"headers", object{{"Authorization", "Bearer " + token}}}}
}

// TokenFromEnvironment reports whether the client reads a token from [TokenVariable]. Otherwise the
// user replaces [TokenPlaceholder] in the file.
func (c Client) TokenFromEnvironment() bool { return c.tokenEnv }

// CanTrust reports whether the client's files can make it call the tools without asking.
func (c Client) CanTrust() bool { return len(c.trust) > 0 || c.allow != nil }

// TrustNote describes when the client calls the tools without asking, if its files have no setting
// for that. Otherwise it returns "".
func (c Client) TrustNote() string { return c.trustNote }

// TakesClientID reports whether an entry can contain a client ID that is registered at a provider.
func (c Client) TakesClientID() bool { return c.clientID != nil }

// ProviderNote returns a further requirement of this client for registering a client ID, as the end
// of a sentence. It returns "" if there is none.
func (c Client) ProviderNote() string { return c.provider }

// SignIn returns the command or the step with which the user signs in to a server, given the name
// of its entry. It returns "" if the client has no such command or step.
func (c Client) SignIn(name string) string { return strings.ReplaceAll(c.signIn, "NAME", quoted(name)) }

// DuplicateHint warns that skills show twice if a server reads folders that the client reads
// itself, and names a remedy. server is a phrase for the server, such as "that server". The result
// is an unfinished sentence, so the caller can add more remedies. It is "" if the client reads no
// skills itself.
func (c Client) DuplicateHint(server string) string {
	if len(c.Reads) == 0 {
		return ""
	}
	return fmt.Sprintf("%s reads some folders of skills itself. If %s reads them too, their skills show twice: start it with --exclude %s", c.Name, server, strings.Join(c.Reads, " --exclude "))
}

// Scopes returns the scopes in which the client has its own entries.
func (c Client) Scopes() (out []Scope) {
	for _, at := range c.locations {
		if !slices.Contains(out, at.scope) {
			out = append(out, at.scope)
		}
	}
	return out
}

// Find returns the client with the given ID, name or program, in any case.
func Find(name string) (Client, bool) {
	for _, c := range Clients() {
		if strings.EqualFold(c.ID, name) || strings.EqualFold(c.Name, name) || c.Program != "" && strings.EqualFold(c.Program, name) {
			return c, true
		}
	}
	return Client{}, false
}

// NextSteps returns the steps that remain for the user after an entry of this scope and name is
// written, in whole sentences.
func (c Client) NextSteps(scope Scope, name string) (out []string) {
	fill := strings.NewReplacer(`"NAME"`, strconv.Quote(name), "NAME", quoted(name))
	for _, sentence := range c.nextSteps[scope] {
		out = append(out, fill.Replace(sentence))
	}
	return out
}

// toolWord returns the form of a server's name in the names of its tools.
func toolWord(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, name)
}

// File returns the path of the client's configuration file of the user, or "" if its folder is
// unknown.
func (c Client) File(p Env) string {
	for _, at := range c.locations {
		if at.scope == User {
			return at.file(p)
		}
	}
	return ""
}

// ErrNoRemote is returned if a client's file cannot describe a remote server.
var ErrNoRemote = errors.New("its file has no form for a server behind a URL")

// ServerIn returns s as it should be written into this file. If several clients read the file, the
// result has no settings of a single client.
func (c Client) ServerIn(p Env, file string, s Server) Server {
	if !realpath.Inside(filepath.FromSlash(p.Project), file) {
		return s // clients share only files of a project
	}
	readers := 0
	for _, other := range Clients() {
		if slices.ContainsFunc(other.locations, func(at location) bool {
			return at.scope == Project && at.isFile(p, file)
		}) {
			readers++
		}
	}
	if readers < 2 {
		return s
	}
	s.shared, s.Trust = true, false
	return s
}

// isFile reports whether the location is the given file, through any path.
func (at location) isFile(p Env, file string) bool {
	own := filepath.FromSlash(at.file(p))
	return own == file || own != "" && realpath.Answers(own) && realpath.Same(own, file)
}

// newEntry returns the fields of a new entry.
func (c Client) newEntry(s Server) []field {
	s.Args = s.arguments(nil)
	out := c.local
	if s.URL != "" {
		out = c.remote
	}
	fields := out(s)
	if s.shared && s.URL == "" {
		fields = stdio(s) // the form that all clients of the file read
	}
	if c.newFields != nil && !s.shared {
		fields = append(fields, c.newFields(s)...)
	}
	if s.URL != "" && s.Token {
		fields = append(fields, c.bearer...)
	}
	if s.ClientID != "" && c.clientID != nil {
		fields = append(fields, c.clientID(s.ClientID))
	}
	if s.Trust {
		fields = append(fields, c.trust...)
	}
	return fields
}

// Entry returns the text of a file that has only the entry, for display.
func (c Client) Entry(s Server) (string, error) {
	out, err := c.Merge(nil, s)
	return string(out), err
}

// Merge adds the entry to the bytes of the client's file, or updates an existing entry. Comments,
// formatting and everything else stay. If the entry is up to date, Merge returns the bytes
// unchanged. It fails if the file cannot be parsed.
func (c Client) Merge(data []byte, s Server) ([]byte, error) {
	if s.URL != "" && c.remote == nil {
		return nil, ErrNoRemote
	}
	all, err := c.servers(data, c.keys)
	if err != nil {
		return nil, err
	}
	return c.mergeAt(data, append(slices.Clone(c.keys), Name), all[Name], c.decide(all[Name].fields, s))
}

// mergeAt updates the entry at a path. have is the current entry.
func (c Client) mergeAt(data []byte, path []string, have entry, ch change) ([]byte, error) {
	if ch.state == Connected || ch.state == Foreign {
		return data, nil
	}
	if c.nested != "" && (have.fields == nil || have.nested) {
		path = append(slices.Clone(path), c.nested)
	}
	return c.merge(data, path, ch.set, ch.drop)
}

// quoted quotes a word for a POSIX shell, or on Windows for cmd.exe, PowerShell and Git Bash.
func quoted(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+", r))
	}) {
		return s
	}
	if runtime.GOOS == "windows" && !strings.ContainsAny(s, "\"$`%!") {
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func claudeCommand(s Server) string {
	if s.URL != "" {
		add := fmt.Sprintf("claude mcp add -s user --transport http %s %s", Name, quoted(s.URL))
		if s.Token {
			// The header is in single quotes, because the client would write the expanded text into
			// its file. It comes after the URL, because the flag takes every word after it.
			add += ` --header 'Authorization: Bearer ${` + TokenVariable + `}'`
		}
		return add
	}
	words := []string{"claude mcp add -s user", Name, "--", quoted(s.Command)}
	for _, a := range s.arguments(nil) {
		words = append(words, quoted(a))
	}
	return strings.Join(words, " ")
}
