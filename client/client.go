// Package client knows the clients' configuration files: where each client keeps
// its own, what an MCP server's entry looks like there, and how to add one without
// touching anything else.
//
// It is told which folders there are and what to write. A merge is a function from
// bytes to bytes; every result is parsed again and compared with what was there
// before, so that a file is changed as meant or not at all.
package client

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Name is the key under which the entry stands in every file.
const Name = "knack"

// Client is one program that starts MCP servers from a configuration file.
type Client struct {
	ID, Name string
	// Reads are the labels of the roots whose skills the client reads itself. It
	// would show those twice.
	Reads []string
	// Project: the file belongs to a project, not to the user.
	Project bool
	// Command is what does the same on the command line of the client, for the
	// user's own configuration; "" where there is nothing.
	Command func(Server) string
	// Source is where the file and the folders of skills are documented.
	Source string
	// Tried is the version of the client with which the entries were tried, and how;
	// "" where they were written from its documentation alone.
	Tried string

	format  format
	dialect dialect  // of JSON
	keys    []string // the path to the servers
	file    func(Places) string
	signs   func(Places) []string // a folder or file that tells that the client is here
	local   func(Server) []field
	remote  func(Server) []field // nil where the file has no form for it
	extra   []field              // what a new entry needs beside, and the user may change
	bearer  []field              // how a server behind a URL is given the token
	// tokenEnv: what bearer says is read from the environment.
	tokenEnv bool
}

type format int

const (
	formatJSON format = iota
	formatTOML
	formatYAML
)

// Places are the folders in which clients keep their files.
type Places struct {
	OS      string // as runtime.GOOS says it
	Home    string // the user's
	Project string // the root of the project
	AppData string // %APPDATA% on Windows, else empty
}

// Server is what an entry starts or connects to.
type Server struct {
	Command string   // absolute path of the executable
	Args    []string // of the command
	URL     string   // where it is not empty, a server that runs elsewhere
	Token   bool     // the server behind the URL asks for one: the entry says where it is, or has a place for it
}

// transport are the fields that say how a server is reached, in any client's
// words. An entry of ours has those of one way and none of another.
var transport = []string{"type", "command", "args", "url", "httpUrl", "serverUrl", "uri", "cmd"}

// Places a client's file can be in.
func atHome(rel string) func(Places) string {
	return func(p Places) string { return below(p.Home, rel) }
}

func atProject(rel string) func(Places) string {
	return func(p Places) string { return below(p.Project, rel) }
}

// config is the user's configuration folder as Linux, macOS and Windows have it.
func config(unix, mac, windows string) func(Places) string {
	return func(p Places) string {
		switch {
		case p.OS == "windows":
			return below(p.AppData, windows)
		case p.OS == "darwin":
			return below(p.Home, mac)
		}
		return below(p.Home, unix)
	}
}

func below(dir, rel string) string {
	if dir == "" {
		return ""
	}
	return strings.TrimRight(strings.ReplaceAll(dir, `\`, "/"), "/") + "/" + rel
}

func signs(of ...func(Places) string) func(Places) []string {
	return func(p Places) (out []string) {
		for _, f := range of {
			if at := f(p); at != "" {
				out = append(out, at)
			}
		}
		return out
	}
}

func commandAndArgs(s Server) []field {
	return []field{{"command", s.Command}, {"args", s.Args}}
}

func stdio(s Server) []field { return append([]field{{"type", "stdio"}}, commandAndArgs(s)...) }

func typedHTTP(s Server) []field { return []field{{"type", "http"}, {"url", s.URL}} }

func urlAs(key string) func(Server) []field {
	return func(s Server) []field { return []field{{key, s.URL}} }
}

// What stands in an entry for a token, which is never written into one: the
// variable that holds it, or words to be replaced.
const (
	TokenVariable    = "KNACK_TOKEN"
	TokenPlaceholder = "YOUR-TOKEN"
)

// bearer is the header in the words of most clients.
func bearer(token string) []field {
	return []field{{"headers", object{{"Authorization", "Bearer " + token}}}}
}

// TokenFromEnvironment reports whether the client reads a token from
// [TokenVariable]; else it stands in the file in place of [TokenPlaceholder].
func (c Client) TokenFromEnvironment() bool { return c.tokenEnv }

// Find returns the client with this id or name, in any case.
func Find(name string) (Client, bool) {
	for _, c := range Clients {
		if strings.EqualFold(c.ID, name) || strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Client{}, false
}

// File is the client's configuration file, "" where the folder it would lie in is
// not known.
func (c Client) File(p Places) string { return c.file(p) }

// Signs are the folders and files of which one, where it exists, tells that the
// client is used here.
func (c Client) Signs(p Places) []string { return append(c.signs(p), c.file(p)) }

// Remote reports whether the client's file can name a server by its URL.
func (c Client) Remote() bool { return c.remote != nil }

// ErrNoRemote says that a client's file has no form for a server that runs
// elsewhere.
var ErrNoRemote = errors.New("its file has no form for a server behind a URL")

// Entry is a whole file with the entry alone, to be shown.
func (c Client) Entry(s Server) (string, error) {
	out, err := c.Merge(nil, s)
	return string(out), err
}

// Merge adds the entry to the bytes of the client's file, or brings an older one up
// to date. Comments, formatting and everything else stay. An entry that is as it
// should be leaves the bytes as they are. It fails where the file cannot be parsed.
func (c Client) Merge(data []byte, s Server) ([]byte, error) {
	entry := c.local
	if s.URL != "" {
		if entry = c.remote; entry == nil {
			return nil, ErrNoRemote
		}
	}
	at, fields, ours := append(slices.Clone(c.keys), Name), entry(s), slices.Clone(transport)
	switch {
	case s.URL == "":
		for _, f := range c.bearer {
			ours = append(ours, f.key) // Codex refuses a file that has it beside a command
		}
	case s.Token:
		for _, f := range c.missingBearer(data) {
			fields, ours = append(fields, f), append(ours, f.key)
		}
	}
	switch c.format {
	case formatTOML:
		return mergeTOML(data, at, fields, ours)
	case formatYAML:
		return mergeYAML(data, at, fields, c.extra, ours)
	}
	if _, _, err := parseDialect(data, c.dialect); err != nil {
		return nil, err
	}
	return mergeJSON(data, at, fields, ours)
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

// base is the folder of a file.
func base(file func(Places) string) func(Places) string {
	return func(p Places) string {
		if at := file(p); at != "" {
			return path.Dir(at)
		}
		return ""
	}
}

// Has reports whether the client's file has an entry of ours, of whatever kind.
func Has(c Client, data []byte) bool {
	_, ok := c.own(data)
	return ok
}

// own are the fields of our entry in the client's file; none where it is no mapping.
func (c Client) own(data []byte) (fields map[string]any, ok bool) {
	switch c.format {
	case formatTOML:
		f, err := parseTOML(data)
		at := []string{c.keys[0], Name}
		if err != nil || !slices.ContainsFunc(f.tables, func(t tomlTable) bool { return slices.Equal(t.path, at) }) {
			return nil, false
		}
		fields = map[string]any{}
		for _, k := range f.keys {
			if slices.Equal(k.table, at) {
				fields[k.path[0]] = k.value
			}
		}
		return fields, true
	case formatYAML:
		root, err := parseYAML(data)
		_, servers, _ := pair(root, c.keys[0])
		_, entry, ok := pair(servers, Name)
		if err != nil || !ok {
			return nil, false
		}
		fields, _ = yamlValue(entry).(map[string]any)
		return fields, true
	}
	root, _, err := parseJSON(data)
	servers, _ := root.member(c.keys[0])
	entry, ok := servers.member(Name)
	if err != nil || !ok {
		return nil, false
	}
	fields, _ = entry.value().(map[string]any)
	return fields, true
}

// missingBearer is what our entry in the file lacks for giving the token. A token, or
// the name of one, that stands there stays, as do other headers.
func (c Client) missingBearer(data []byte) (out []field) {
	have, _ := c.own(data)
	for _, f := range c.bearer {
		old, there := have[f.key]
		if !there {
			out = append(out, f)
			continue
		}
		header, _ := f.value.(object)
		headers, _ := old.(map[string]any)
		if len(header) == 0 || len(headers) == 0 {
			continue
		}
		all, mine := object{}, true
		for _, k := range slices.Sorted(maps.Keys(headers)) {
			_, text := headers[k].(string)
			mine = mine && text && !strings.EqualFold(k, header[0].key)
			all = append(all, field{k, headers[k]})
		}
		if mine {
			out = append(out, field{f.key, append(all, header...)})
		}
	}
	return out
}
