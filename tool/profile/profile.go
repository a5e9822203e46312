// Package profile knows how clients treat the texts of a server: how much of each their
// models see, what they call its tools, and what they do with the text after a prompt's name.
package profile

import (
	"cmp"
	"context"
	"strconv"
	"strings"
)

// Client is the client for which a definition, the instructions or an answer is made.
type Client struct {
	// Name and Version are the client's own (MCP's clientInfo), or empty.
	Name, Version string
	// Entry is the server's name in the client's settings, or empty if it is unknown.
	Entry string
	// Limit is the longest description in characters that is known to arrive whole; 0 if
	// only the name is known, [Unlimited] if each does.
	Limit int
	// Scripted is set if a script of the model calls the tools (the code mode of Codex), so
	// that other limits apply.
	Scripted bool
	// whole is set if the caller shows its model each answer whole, as a program does that
	// calls the tools itself.
	whole bool
	// Remote is set if the client may be on another machine although the server is not known
	// to be remote, so that a folder is named by its URI.
	Remote bool
}

// Unlimited is a [Client.Limit] of a client that shows descriptions of any length.
const Unlimited = -1

type clientKey struct{}

// WithClient makes answers to calls in the context fit the limits of the client, which must
// not change any more.
func WithClient(ctx context.Context, c *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// FromContext returns the client of [WithClient], or one that shows all of each answer.
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
	since string // the first version with this profile; empty for all before the next row of that name

	Title string // the client's common name
	// Instructions and Description are the lengths of what the model sees of the instructions
	// and of a tool's description, in units of Unit.
	Instructions, Description int
	// Unit is what the client counts of them. No client is known to count less than UTF-16
	// units: in ASCII they are bytes, code points and UTF-16 units.
	Unit Unit
	// ShowsList is set if the model sees the description of the tool skill, with the list of
	// skills, from the start. Otherwise tools are behind a search.
	ShowsList bool
	// HidesInstructions is set if the model never sees the instructions.
	HidesInstructions bool
	// RepeatsInstructions is set if the client adds the instructions to each tool's description.
	RepeatsInstructions bool
	// Result and Lines are the largest answer, in units of ResultUnit and in lines, that the
	// model sees whole. The unit is Bytes unless the client is known to count otherwise: a text
	// of so many bytes has at most as many characters.
	Result, Lines int
	ResultUnit    Unit
	// scripted is Result for calls from a script of the model, in units of [JSON], if that differs.
	scripted int
	// Prefix is what the client puts before a tool's name if the server is called
	// [ServerName] in its settings; empty for no prefix, and if it differs between models.
	Prefix string
	// Exact reports that Prefix has the name that the server really has there.
	Exact bool
	// OwnTool is the application's own tool that loads skills, not this server's.
	OwnTool string
	// Argument is how the client treats text after a prompt's name.
	Argument Argument
}

// Argument is how a prompt should request the text that the user wrote after its name.
type Argument int

// The ways to request it.
const (
	// ArgumentOptional: nothing is known of the client.
	ArgumentOptional Argument = iota
	// ArgumentRequired: the client passes free text to a single required argument, and to
	// no other.
	ArgumentRequired
	// ArgumentNone: the client gives its model the whole text itself, and passes one word
	// of it to each argument.
	ArgumentNone
)

// longestName bounds the names of clients that are looked up. No client has a longer one.
const longestName = 100

// longestEntry bounds the names of entries that are repeated: clients shorten the names of
// tools that have more than 64 characters in all.
const longestEntry = 30

// ServerName is the name of the server in the settings of most clients, and in the table.
const ServerName = "knack"

// Known returns a client for each row of the table: of each name the newest version first,
// and last one without a version, for all older ones.
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

// older reports whether a version is before another, by the numbers between the dots. A
// part that is not a number counts as 0.
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

// leadingNumber returns the number at the beginning of a text; enormous ones are equal.
func leadingNumber(s string) uint64 {
	digits := s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
	n, _ := strconv.ParseUint(digits, 10, 32) // out of range is the largest
	return n
}

// ToolName returns the client's name for one of this server's tools, quoted, or the tool's
// own name if the client's is not known for sure.
func (p Profile) ToolName(name string) string {
	if p.Exact {
		name = p.Prefix + name
	}
	return "`" + name + "`"
}
