package profile

// known has a row for each client that was tested on 2026-11-22 and 29, in the version that the
// row's comment gives. A scripted model replaced the vendor's, and a recorder sat between client
// and server (doc/clients.md; interop/agents measures again). A limit is slightly below the longest
// text that arrived, or is the documented one. The constants named in comments are from the
// client's own code.
//
// Other programs refuse long texts: some OpenAI-compatible endpoints answer 400
// (string_above_max_length) to a description over 1,024 characters
// (github.com/modelcontextprotocol/servers/issues/799, github.com/getsentry/sentry-mcp/issues/106).
// That limit belongs to the endpoint, not to the client's name: a program that makes definitions
// for such an endpoint sets [Client.Limit].
var known = []Profile{
	// Claude Code 2.1.330 shows 4,096 characters of the instructions and of a description, a
	// JavaScript length. It defers all tools except those with anthropic/alwaysLoad. With
	// anthropic/maxResultSizeChars it shows results up to that number: 300,000 characters arrived,
	// and its documentation says 500,000. Text after a prompt's name is in the model's context as
	// <command-args>; each argument of the prompt gets a word.
	{name: "claude-code", since: "2.1.330", Title: "Claude Code", Instructions: 4096, Description: 4096, ShowsList: true,
		Result: MaxResult, Prefix: "mcp__knack__", OwnTool: "Skill", Argument: ArgumentNone},
	// Claude Code 2.1.197 does the same with 2,048 characters ("truncates tool descriptions and
	// server instructions at 2KB each", code.claude.com/docs/en/mcp; the program compares a
	// constant with a JavaScript length). So does 2.1.285, according to reports.
	{name: "claude-code", since: "2.1.197", Title: "Claude Code", Instructions: 2048, Description: 2048, ShowsList: true,
		Result: MaxResult, Prefix: "mcp__knack__", OwnTool: "Skill", Argument: ArgumentNone},
	// Older versions may ignore both keys of _meta: 49,800 characters arrived without them.
	{name: "claude-code", Title: "Claude Code", Instructions: 2048, Description: 2048,
		Result: 49_800, Prefix: "mcp__knack__", OwnTool: "Skill", Argument: ArgumentNone},
	// Codex 0.169.0 and 0.171.0 show the first 247 characters of the first line of the instructions
	// to models that they know, so that line is made to fit; other models see all. Codex cuts the
	// middle out of a long answer. Most known models call tools from a script, with a limit of
	// 10,000 tokens of 4 bytes. The script prints the result as JSON, so that a line end counts
	// twice: 39,912 bytes arrived, and the text has a frame. For unknown models the limit is 12,000
	// bytes (11,800 arrived). Codex adds the instructions to the description of each tool, and the
	// script prints these as JSON too, within the same limit. Its name for a tool depends on the
	// model: mcp__knack__skill or mcp__knack.skill.
	{name: "codex-mcp-client", Title: "Codex", Instructions: longestTried, Unit: JSON, RepeatsInstructions: true,
		Result: 11_800, scripted: 39_700},
	// Gemini CLI 0.61.0: DEFAULT_TRUNCATE_TOOL_OUTPUT_THRESHOLD is 40,000 characters, including the
	// tags around the result: 39,840 arrived. A prompt gets free text as its single required
	// argument.
	{name: "gemini-cli-mcp-client", Title: "Gemini CLI", Instructions: longestTried, ShowsList: true,
		Result: 39_800, Prefix: "mcp_knack_", OwnTool: "activate_skill", Argument: ArgumentRequired},
	// OpenCode 1.18.33: MAX_BYTES is 51,200 and MAX_LINES 2,000.
	{name: "opencode", Title: "OpenCode", Instructions: longestTried, ShowsList: true,
		Result: 51_200, Lines: 2000, Prefix: "knack_", OwnTool: "skill"},
	// Qwen Code 0.24.4: 27,800 characters arrived. Of a deferred tool, its model sees the first 157
	// characters of the description's first line.
	{name: "qwen-cli-mcp-client-*", Title: "Qwen Code", Instructions: longestTried,
		Result: 27_800, Prefix: "mcp__knack__", OwnTool: "skill"},
	// Copilot CLI 1.0.102 shows no instructions except with --allow-all-mcp-server-instructions;
	// 20,350 bytes of a result arrived.
	{name: "copilot-cli", Title: "Copilot CLI", Instructions: longestTried, ShowsList: true, HidesInstructions: true,
		Result: 20_300, Prefix: "knack-", OwnTool: "skill"},
	// Cline 3.0.65 calls itself @cline/core 0.0.0. It shows no instructions, and 8,000 characters
	// of the whole result as JSON, in which quotes and line ends count twice: 7,901 characters of a
	// text arrived.
	{name: "@cline/core", Title: "Cline", ShowsList: true, HidesInstructions: true,
		Result: 7_700, ResultUnit: JSON, Prefix: "knack__", OwnTool: "skills"},
	// Continue CLI 1.5.47 shows no instructions, and tools by their bare names; 400,000 characters
	// of a result arrived.
	{name: "continue-cli-client", Title: "Continue", ShowsList: true, HidesInstructions: true, Result: 400_000, OwnTool: "Skills"},
	// Kilo 7.7.7: MAX_BYTES is 51,200 and MAX_LINES 2,000, as in OpenCode.
	{name: "kilo", Title: "Kilo Code", Instructions: longestTried, ShowsList: true,
		Result: 51_200, Lines: 2000, Prefix: "knack_", OwnTool: "skill"},
	// Kimi Code 2.1.0 shows no instructions; DEFAULT_TOOL_RESULT_MAX_CHARS is 50,000, a JavaScript
	// length.
	{name: "kimi-code", Title: "Kimi Code", ShowsList: true, HidesInstructions: true, Result: 50_000},
	// Pi 1.6.0: "Text over 20KB keeps its start and end with the middle cut out"
	// (dist/extensions/mcp/tools.js). With "exposure": "direct" in its entry the model sees the
	// descriptions of the tools. Otherwise a script finds the tools, and gets results whole.
	{name: "pi", Title: "Pi", ShowsList: true, HidesInstructions: true, Result: 19_900, Prefix: "mcp__knack__"},
}

const (
	// longestTried is the length of the longest tested instructions, which arrived whole. No client
	// with this value is known to have a limit.
	longestTried = 11_200
	// unknownInstructions is the limit for an unknown client: the smallest known limit except
	// Codex's.
	unknownInstructions = 2048
	// unknownResult is the largest answer for an unknown client, in bytes: just under the 20 kB of
	// Pi. Of the tested clients, only Cline and Codex show less.
	unknownResult = 19_000
	// MaxResult is the ceiling of anthropic/maxResultSizeChars, in characters
	// (code.claude.com/docs/en/mcp), and of an answer to a program. No client is known to show
	// more.
	MaxResult = 500_000
)

// untested maps the names of clients that were not tested, in lower case, to their names in the
// table of agents. The names are from github.com/apify/mcp-client-capabilities.
var untested = map[string]string{
	"amp-mcp-client":           "Amp",
	"antigravity-client":       "Antigravity",
	"cline":                    "Cline",
	"crush":                    "Crush",
	"cursor-vscode":            "Cursor",
	"factory-cli":              "Droid",
	"github-copilot-developer": "Copilot CLI",
	"goose":                    "Goose",
	"kilo-code":                "Kilo Code",
	"roo-code":                 "Roo Code",
	"visual studio code":       "VS Code",
	"visual-studio-code":       "VS Code",
	"windsurf":                 "Windsurf",
	"windsurf-client":          "Windsurf",
	"zed":                      "Zed",
}
