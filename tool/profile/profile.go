// Package profile describes how clients treat the texts of a server: how much of each text their
// models see, how they name its tools, and how they pass on the text after a prompt's name.
package profile

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Client identifies the client for which the server makes a definition, the instructions or an
// answer.
type Client struct {
	// Name and Version are from MCP's clientInfo, or empty.
	Name, Version string
	// Entry is the server's name in the client's settings, or empty if it is unknown.
	Entry string
	// Limit is the length of the longest description, in characters, that is known to arrive whole.
	// It is 0 if only the name is known, and [Unlimited] if every description arrives whole.
	Limit int
	// Scripted is set if a script of the model calls the tools (the code mode of Codex). Other
	// limits then apply.
	Scripted bool
	// whole is set if the caller shows its model every answer whole. Such a caller is a program
	// that calls the tools itself.
	whole bool
	// Remote is set if the client may be on another machine although the server does not know that
	// it is remote. Folders are then named by URI.
	Remote bool
	// Told is the part of the list of skills that the instructions of the client's session contain.
	// It is zero if there is no session, or if that part is unknown.
	Told Told
}

// Told is the part of a list of skills that is in the instructions but not in a tool's description.
type Told struct {
	// Known is set if the client got instructions, even if they contain no part of the list.
	Known bool
	// Names contains the names of the skills, in the order of the list, each followed by a line
	// end.
	Names string
	// Left is the number of skills that the instructions count and no text names.
	Left int
}

// Unlimited is the [Client.Limit] of a client that shows descriptions of any length.
const Unlimited = -1

type clientKey struct{}

// WithClient returns a context in which answers to calls fit the limits of the client. The client
// must not change afterwards.
func WithClient(ctx context.Context, c *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// FromContext returns the client of [WithClient]. If the context has none, it returns a client that
// shows every answer whole.
func FromContext(ctx context.Context) Client {
	if c, ok := ctx.Value(clientKey{}).(*Client); ok && c != nil {
		return *c
	}
	return Client{whole: true}
}

// Profile describes how a client treats the texts of a server. A number of 0 means that no
// limit is known.
type Profile struct {
	name  string // clientInfo.name in lower case; "*" at the end stands for the server's name in the client's settings
	since string // the first version with this profile; empty for versions older than the other rows of the name

	Title string // the client's common name
	// Instructions and Description are the lengths up to which the model sees the instructions and
	// a tool's description, in units of Unit.
	Instructions, Description int
	// Unit is the unit of both numbers. All known clients count at least the UTF-16 units of a
	// text. For ASCII, these equal the bytes and the code points.
	Unit Unit
	// ShowsList is set if the model sees the description of the tool skill, with the list of
	// skills, from the start. Otherwise the model must search for tools.
	ShowsList bool
	// HidesInstructions is set if the model never sees the instructions.
	HidesInstructions bool
	// RepeatsInstructions is set if the client adds the instructions to each tool's description.
	RepeatsInstructions bool
	// Result and Lines are the size of the largest answer that the model sees whole, in units of
	// ResultUnit and in lines. The unit is Bytes unless the client is known to use a different one.
	// Bytes are safe, because a text has no more characters than bytes.
	Result, Lines int
	ResultUnit    Unit
	// scripted replaces Result for calls from a script of the model, in units of [JSON]. It is 0 if
	// Result applies.
	scripted int
	// Prefix is the client's prefix of a tool's name if the server is called [ServerName] in its
	// settings. It is empty without a prefix, or if the prefix depends on the model.
	Prefix string
	// Exact is set if Prefix contains the server's actual name in the client's settings.
	Exact bool
	// OwnTool is the client's own tool that loads skills.
	OwnTool string
	// Argument is how the client treats text after a prompt's name.
	Argument Argument
}

// Argument is how a prompt should request the text that the user wrote after its name.
type Argument int

// The ways to request the text.
const (
	// ArgumentOptional is for a client of unknown behaviour.
	ArgumentOptional Argument = iota
	// ArgumentRequired is for a client that passes free text only to a single required argument.
	ArgumentRequired
	// ArgumentNone is for a client that gives its model the whole text itself, and passes one word
	// of the text to each argument.
	ArgumentNone
)

// longestName bounds the client names that are looked up. No known client has a longer name.
const longestName = 100

// longestEntry bounds the entry names that texts repeat, because clients shorten tool names of more
// than 64 characters in all.
const longestEntry = 30

// ServerName is the name of the server in the settings of most clients, and in the table.
const ServerName = "knack"

// Known returns a client for each row of the table. For each name, the newest version is first, and
// a client without a version, for all older ones, is last.
func Known() []Client {
	all := make([]Client, len(known))
	for i, p := range known {
		all[i] = Client{Name: p.name, Version: p.since}
	}
	return all
}

// Profile returns the client's row of the table. For an unknown or unnamed client it returns
// a zero row with the bounds for unknown clients.
func (c Client) Profile() Profile {
	p := Profile{}
	if len(c.Name) <= longestName {
		p = lookUp(c.Name, c.Version)
	}
	if p.Prefix != "" && isPlain(c.Entry) {
		p.Prefix, p.Exact = strings.Replace(p.Prefix, ServerName, c.Entry, 1), true
	}
	if c.Scripted && p.scripted > 0 {
		p.Result, p.ResultUnit = p.scripted, JSON
	}
	p.Instructions = cmp.Or(p.Instructions, unknownInstructions)
	if c.whole {
		p.Result = MaxResult
	}
	p.Result, p.ResultUnit = cmp.Or(p.Result, unknownResult), cmp.Or(p.ResultUnit, Bytes)
	if c.Limit > 0 && (p.Description == 0 || c.Limit < p.Description) {
		p.Description = c.Limit
	}
	return p
}

// Agent returns the name of the client in the table of agents, or "" for an unknown client.
func (c Client) Agent() string {
	if len(c.Name) > longestName {
		return ""
	}
	if p := lookUp(c.Name, c.Version); p.Title != "" {
		return p.Title
	}
	return untested[strings.ToLower(c.Name)]
}

// ClientOf returns the client of an agent, by its name in the table of agents. For an agent whose
// client knack does not recognize, it returns the unknown client.
func ClientOf(agent string) Client {
	for _, p := range known {
		if p.Title == agent {
			return Client{Name: p.name, Version: p.since}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(untested)) {
		if untested[name] == agent {
			return Client{Name: name}
		}
	}
	return Client{}
}

func lookUp(name, version string) Profile {
	folded := strings.ToLower(name)
	for _, p := range known {
		before, isPattern := strings.CutSuffix(p.name, "*")
		server, matches := strings.CutPrefix(folded, before)
		switch {
		case !matches || !isPattern && server != "" || older(version, p.since):
			continue
		case isPattern && len(folded) == len(name) && isPlain(name[len(before):]):
			p.Prefix, p.Exact = strings.Replace(p.Prefix, ServerName, name[len(before):], 1), true
		}
		return p
	}
	return Profile{}
}

// isPlain reports whether clients put a server's name unchanged before its tools.
func isPlain(s string) bool {
	return s != "" && len(s) <= longestEntry && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// older reports whether a version precedes another, by the numbers between the dots. A part that is
// not a number counts as 0.
func older(version, than string) bool {
	for than != "" {
		var a, b string
		a, version, _ = strings.Cut(version, ".")
		b, than, _ = strings.Cut(than, ".")
		if m, n := leadingNumber(a), leadingNumber(b); m != n {
			return m < n
		}
	}
	return false
}

// leadingNumber returns the number at the beginning of a text. All enormous numbers are equal.
func leadingNumber(s string) uint64 {
	digits := s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
	n, _ := strconv.ParseUint(digits, 10, 32) // a number out of range becomes the largest
	return n
}

// ToolName returns the client's name for one of this server's tools, quoted. If the client's name
// is not certain, it returns the tool's own name.
func (p Profile) ToolName(name string) string {
	if p.Exact {
		name = p.Prefix + name
	}
	return "`" + name + "`"
}
