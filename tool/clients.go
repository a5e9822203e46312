package tool

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
	// only the name is known.
	Limit int
	// Scripted is set if a script of the model calls the tools (the code mode of Codex), so
	// that other limits apply.
	Scripted bool
	// Remote is set if the client may be on another machine although [Host.Remote] is not
	// set, so that a folder is named by its URI.
	Remote bool
}

// Keys of a tool's _meta that Claude Code reads (code.claude.com/docs/en/mcp; in the
// program 2.1.197 and 2.1.330): the tool is in the prompt from the start, and the given
// number of characters of its result is shown in place of a file's name.
const (
	alwaysLoadKey = "anthropic/alwaysLoad"
	resultSizeKey = "anthropic/maxResultSizeChars"
)

type clientKey struct{}

// WithClient makes answers to calls in the context fit the limits of the client.
func WithClient(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

func clientIn(ctx context.Context) Client {
	c, _ := ctx.Value(clientKey{}).(Client)
	return c
}

// habits describes how a client treats the texts of a server. A number of 0 means that no
// limit is known.
type habits struct {
	name  string // clientInfo.name in lower case; "*" at the end stands for the server's name in the client's settings
	since string // the first version with these habits; empty for all before the next row of that name
	title string // the client's common name
	// instructions and description are the numbers of characters that the model sees of the
	// instructions and of a tool's description, in UTF-16 units. No client is known to
	// count less than that: in ASCII they are bytes, code points and UTF-16 units.
	instructions, description int
	// lists is set if the model sees the description of the tool skill, with the list of
	// skills, from the start. Otherwise tools are behind a search.
	lists bool
	// result and lines are the largest answer, in bytes and lines, that the model sees
	// whole. A text of so many bytes has at most as many characters by any count.
	result, lines int
	// scripted is result for calls from a script of the model, if that differs.
	scripted int
	// prefix is what the client puts before a tool's name if the server is called knack
	// in its settings; empty for no prefix, and if it differs between models.
	prefix string
	// exact reports that prefix has the name that the server really has there.
	exact bool
	// own is the application's own tool that loads skills, not this server's.
	own string
	// prompt is how the client treats text after a prompt's name.
	prompt PromptArgument
}

// PromptArgument is how a prompt should request the text that the user wrote after its
// name.
type PromptArgument int

// The ways.
const (
	ArgumentOptional PromptArgument = iota
	// ArgumentRequired: the client passes free text to a single required argument, and to
	// no other.
	ArgumentRequired
	// ArgumentNone: the client gives its model the whole text itself, and passes one word
	// of it to each argument.
	ArgumentNone
)

// PromptArgument returns the way for this client.
func (c Client) PromptArgument() PromptArgument { return c.habits().prompt }

// knownClients has a row for each client that was tried: on 2026-11-22 with the version in
// the comment, a scripted model in place of the vendor's and a recorder between client and
// server (doc/clients.md; interop/agents measures again). A limit is a little less than the
// longest text that arrived, or what the client documents; the name of a constant beside it
// comes from the client's own code.
//
// Others refuse a long text: some OpenAI-compatible endpoints answer 400
// (string_above_max_length) to a description over 1,024 characters
// (github.com/modelcontextprotocol/servers/issues/799,
// github.com/getsentry/sentry-mcp/issues/106). That belongs to the endpoint and not to the
// client's name: a program that makes definitions for one sets [Client.Limit].
var knownClients = []habits{
	// Claude Code 2.1.330: 4,096 characters of instructions and of a description, a
	// JavaScript length. It defers tools but for those with anthropic/alwaysLoad, and with
	// anthropic/maxResultSizeChars shows results up to the number there: 300,000 characters
	// came, and its documentation says 500,000. Text after a prompt's name is in the model's
	// context as <command-args>; each argument of the prompt gets a word.
	{name: "claude-code", since: "2.1.330", title: "Claude Code", instructions: 4096, description: 4096, lists: true,
		result: maxResultSize, prefix: "mcp__knack__", own: "Skill", prompt: ArgumentNone},
	// Claude Code 2.1.197: the same with 2,048 ("truncates tool descriptions and server
	// instructions at 2KB each", code.claude.com/docs/en/mcp; in the program a constant
	// that is compared with a JavaScript length). So does 2.1.285, according to reports.
	{name: "claude-code", since: "2.1.197", title: "Claude Code", instructions: 2048, description: 2048, lists: true,
		result: maxResultSize, prefix: "mcp__knack__", own: "Skill", prompt: ArgumentNone},
	// Older ones may ignore both keys of _meta: 49,800 characters arrived without them.
	{name: "claude-code", title: "Claude Code", instructions: 2048, description: 2048,
		result: 49_800, prefix: "mcp__knack__", own: "Skill", prompt: ArgumentNone},
	// Codex 0.169.0: with the models that it knows the first 247 characters of the first
	// line of the instructions, for which [headLength] is made, with others all. It cuts
	// the middle out of an answer: with most models that it knows, which call tools from
	// a script, over 10,000 tokens of 4 bytes (39,380 bytes arrived), with models that it
	// does not know over 12,000 bytes (11,800 arrived). Its name for a tool depends on the
	// model: mcp__knack__skill or mcp__knack.skill.
	{name: "codex-mcp-client", title: "Codex", instructions: longestTried,
		result: 11_800, scripted: 39_300},
	// Gemini CLI 0.61.0: DEFAULT_TRUNCATE_TOOL_OUTPUT_THRESHOLD is 40,000 characters,
	// the tags that it puts around included: 39,840 arrived. A prompt gets free text as
	// its single required argument.
	{name: "gemini-cli-mcp-client", title: "Gemini CLI", instructions: longestTried, lists: true,
		result: 39_800, prefix: "mcp_knack_", own: "activate_skill", prompt: ArgumentRequired},
	// OpenCode 1.18.33: MAX_BYTES is 51,200 and MAX_LINES 2,000.
	{name: "opencode", title: "OpenCode", instructions: longestTried, lists: true,
		result: 51_200, lines: 2000, prefix: "knack_", own: "skill"},
	// Qwen Code 0.24.4: 27,800 characters arrived. Of a deferred tool its model sees the
	// first 157 characters of the first line of the description.
	{name: "qwen-cli-mcp-client-*", title: "Qwen Code", instructions: longestTried,
		result: 27_800, prefix: "mcp__knack__", own: "skill"},
	// Copilot CLI 1.0.102: no instructions, but with --allow-all-mcp-server-instructions;
	// 20,350 bytes of a result arrived.
	{name: "copilot-cli", title: "Copilot CLI", instructions: longestTried, lists: true,
		result: 20_300, prefix: "knack-", own: "skill"},
	// Cline 3.0.65 calls itself @cline/core 0.0.0. It shows no instructions, and 8,000
	// characters of the whole result as JSON, in which quotes and line ends count twice.
	{name: "@cline/core", title: "Cline", lists: true,
		result: 6_500, prefix: "knack__", own: "skills"},
	// Continue CLI 1.5.47: no instructions, tools by their bare names; 400,000 characters
	// of a result arrived.
	{name: "continue-cli-client", title: "Continue", lists: true, result: 400_000, own: "Skills"},
}

const (
	// longestTried is the longest text of instructions that was tried and arrived
	// whole, where no client's limit was found.
	longestTried = 11_200
	// unknownInstructions is the limit for an unknown client: the smallest known one except
	// Codex's.
	unknownInstructions = 2048
	// maxResultSize is the ceiling of anthropic/maxResultSizeChars, in characters
	// (code.claude.com/docs/en/mcp), and of an answer for an unknown client: no client is
	// known to show more.
	maxResultSize = 500_000
)

// longestClientName bounds the names that are looked up. No client has a longer one.
const longestClientName = 100

// longestEntry bounds the names of entries that are repeated: clients shorten the names of
// tools that have more than 64 characters in all.
const longestEntry = 30

// habits returns the row of the client. For an unknown or unnamed client it returns a zero
// row with the bounds for unknown clients.
func (c Client) habits() habits {
	h := habits{}
	if len(c.Name) <= longestClientName {
		h = lookUp(c.Name, c.Version)
	}
	if h.prefix != "" && plainName(c.Entry) {
		h.prefix, h.exact = strings.Replace(h.prefix, serverName, c.Entry, 1), true
	}
	if c.Scripted {
		h.result = cmp.Or(h.scripted, h.result)
	}
	h.instructions = cmp.Or(h.instructions, unknownInstructions)
	h.result = cmp.Or(h.result, maxResultSize)
	if c.Limit > 0 && (h.description == 0 || c.Limit < h.description) {
		h.description = c.Limit
	}
	return h
}

func lookUp(name, version string) habits {
	folded := strings.ToLower(name)
	for _, h := range knownClients {
		begins, isPrefix := strings.CutSuffix(h.name, "*")
		server, fits := strings.CutPrefix(folded, begins)
		switch {
		case !fits || !isPrefix && server != "" || older(version, h.since):
			continue
		case isPrefix && len(folded) == len(name) && plainName(name[len(begins):]):
			h.prefix, h.exact = strings.Replace(h.prefix, serverName, name[len(begins):], 1), true
		}
		return h
	}
	return habits{}
}

// serverName is the name of the server in the settings of most clients, and in the table.
const serverName = "knack"

// plainName reports whether clients put a server's name unchanged before its tools.
func plainName(s string) bool {
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

// tool is what the client calls one of this server's tools, quoted, or the tool's own name
// if the client's is not known for sure.
func (h habits) tool(name string) string {
	if h.exact {
		name = h.prefix + name
	}
	return "`" + name + "`"
}
