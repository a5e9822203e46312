// Package client knows the clients' configuration files: where each client keeps its
// own, what an MCP server's entry looks like there, and how to add one without touching
// anything else.
//
// It is told which folders there are and what to write. A merge is a function from
// bytes to bytes; every result is parsed again and compared with what was there
// before, so that a file is changed as meant or not at all.
package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Name is the key of the entry in every file.
const Name = "knack"

// Client is one program that starts MCP servers from a configuration file.
type Client struct {
	ID, Name string
	// Reads are the labels of the roots whose skills the client reads itself. It would
	// show those twice.
	Reads []string
	// Program is the name of the client's executable, "" if it has none of its own.
	Program string
	// Command is what does the same on the command line of the client, for the user's
	// own configuration; nil if there is no such command.
	Command func(Server) string
	// After says what the client still asks of the user, once an entry of a scope is
	// there. A text is a whole sentence.
	After map[Scope][]string
	// Source is where the file and the folders of skills are documented.
	Source string
	// Tried is the version of the client with which the entries were tried, and how;
	// "" if they were written from its documentation alone.
	Tried string

	format  format
	dialect dialect  // of JSON
	list    bool     // of YAML: the servers are a list
	keys    []string // the path to the servers
	nested  string   // the key below which an entry says how the server is reached, "" for none
	places  []place  // in the client's order of precedence
	// must: what makes the file, if knack does not. Continue reads an older config.json
	// only as long as there is no config.yaml.
	must    string
	folder  func(Places) string
	local   func(Server) []field
	remote  func(Server) []field // nil if the file has no form for it
	extra   func(Server) []field // what a new entry has besides, and the user may change; nil for nothing
	untyped bool                 // an entry that starts a command may lack its "type"
	trust   []field              // what makes the client call the tools without asking
	bearer  []field              // how a server behind a URL is given the token
	// tokenEnv: what bearer says is read from the environment.
	tokenEnv bool
}

func commandAndArgs(s Server) []field {
	return []field{{"command", s.Command}, {"args", s.Args}}
}

func stdio(s Server) []field { return append([]field{{"type", "stdio"}}, commandAndArgs(s)...) }

func typedHTTP(s Server) []field { return []field{{"type", "http"}, {"url", s.URL}} }

// oneCommand is an entry whose command and arguments are one list.
func oneCommand(s Server) []field {
	return []field{{"type", "local"}, {"command", append([]string{s.Command}, s.Args...)}}
}

func typedRemote(s Server) []field { return []field{{"type", "remote"}, {"url", s.URL}} }

func urlAs(key string) func(Server) []field {
	return func(s Server) []field { return []field{{key, s.URL}} }
}

// An entry has one of these for a token, never the token itself: the variable that
// holds it, or words to be replaced.
const (
	TokenVariable    = "KNACK_TOKEN"
	TokenPlaceholder = "YOUR-TOKEN"
)

// bearer is the header in the words of most clients.
func bearer(token string) []field {
	return []field{{"headers", object{{"Authorization", "Bearer " + token}}}}
}

// TokenFromEnvironment reports whether the client reads a token from [TokenVariable];
// else the token takes the place of [TokenPlaceholder] in the file.
func (c Client) TokenFromEnvironment() bool { return c.tokenEnv }

// Trusts reports whether an entry can make the client call the tools without asking.
func (c Client) Trusts() bool { return len(c.trust) > 0 }

// Twice says that skills show twice if a server behind a URL reads the folders that the
// client reads itself, and what prevents it; server is that server, as in "that server".
// It is an unfinished sentence, to which more remedies can be added, and "" if the client
// reads no such folder.
func (c Client) Twice(server string) string {
	if len(c.Reads) == 0 {
		return ""
	}
	return fmt.Sprintf("%s reads some folders of skills itself. If %s reads them too, their skills show twice: start it with --exclude %s", c.Name, server, strings.Join(c.Reads, " --exclude "))
}

// Scopes are the scopes in which the client has entries of its own.
func (c Client) Scopes() (out []Scope) {
	for _, at := range c.places {
		if !slices.Contains(out, at.scope) {
			out = append(out, at.scope)
		}
	}
	return out
}

// Find returns the client with this id or name, in any case.
func Find(name string) (Client, bool) {
	for _, c := range Clients {
		if strings.EqualFold(c.ID, name) || strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Client{}, false
}

// File is the user's configuration file of the client, "" if the folder it would be in
// is not known.
func (c Client) File(p Places) string {
	for _, at := range c.places {
		if at.scope == User {
			return at.file(p)
		}
	}
	return ""
}

// Remote reports whether the client's file can name a server by its URL.
func (c Client) Remote() bool { return c.remote != nil }

// ErrNoRemote says that a client's file has no form for a server that runs elsewhere.
var ErrNoRemote = errors.New("its file has no form for a server behind a URL")

// fresh is a whole new entry.
func (c Client) fresh(s Server) []field {
	out := c.local
	if s.URL != "" {
		out = c.remote
	}
	fields := out(s)
	if c.extra != nil {
		fields = append(fields, c.extra(s)...)
	}
	if s.URL != "" && s.Token {
		fields = append(fields, c.bearer...)
	}
	if s.Trust {
		fields = append(fields, c.trust...)
	}
	return fields
}

// Entry is a whole file with the entry alone, to be shown.
func (c Client) Entry(s Server) (string, error) {
	out, err := c.Merge(nil, s)
	return string(out), err
}

// Merge adds the entry to the bytes of the client's file, or brings an older one up to
// date. Comments, formatting and everything else stay. An entry that is as it should be
// leaves the bytes as they are. It fails if the file cannot be parsed.
func (c Client) Merge(data []byte, s Server) ([]byte, error) {
	if s.URL != "" && c.remote == nil {
		return nil, ErrNoRemote
	}
	all, err := c.servers(data, c.keys)
	if err != nil {
		return nil, err
	}
	return c.mergeAt(data, append(slices.Clone(c.keys), Name), all[Name], s)
}

// mergeAt brings the entry at a path up to date, which has the fields have.
func (c Client) mergeAt(data []byte, path []string, have entry, s Server) ([]byte, error) {
	ch := c.decide(have.fields, s)
	if ch.state == Connected || ch.state == Foreign {
		return data, nil
	}
	if c.nested != "" && (have.fields == nil || have.nested) {
		path = append(slices.Clone(path), c.nested)
	}
	return c.merge(data, path, ch.set, ch.drop)
}

// quoted is a word for a POSIX shell.
func quoted(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func claudeCommand(s Server) string {
	if s.URL != "" {
		add := fmt.Sprintf("claude mcp add -s user --transport http %s %s", Name, quoted(s.URL))
		if s.Token {
			// In single quotes: what the shell fills in, the client writes into its file. Behind
			// the URL, since it takes every word after it.
			add += ` --header 'Authorization: Bearer ${` + TokenVariable + `}'`
		}
		return add
	}
	words := []string{"claude mcp add -s user", Name, "--", quoted(s.Command)}
	for _, a := range s.Args {
		words = append(words, quoted(a))
	}
	return strings.Join(words, " ")
}
