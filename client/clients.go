package client

import "slices"

var (
	claudeDesktop = config(".config/Claude/claude_desktop_config.json", "Library/Application Support/Claude/claude_desktop_config.json", "Claude/claude_desktop_config.json")
	zed           = config(".config/zed/settings.json", ".config/zed/settings.json", "Zed/settings.json")
	goose         = config(".config/goose/config.yaml", ".config/goose/config.yaml", "Block/goose/config/config.yaml")
)

// both are the labels of a row of the well-known roots.
func both(rows ...string) (labels []string) {
	for _, r := range rows {
		labels = append(labels, r+"-project", r+"-user")
	}
	return labels
}

// Clients are the clients whose files are known. A root stands under Reads only
// where its client's documentation, or that of somebody who tried it, says that it
// is read: one too many would hide skills. Where the client itself could be asked,
// it was: doc/decisions/0016-client-files.md says which, when, and what it said.
var Clients = []Client{
	{
		ID: "claude-code", Name: "Claude Code", Reads: both("claude"), Project: true, Command: claudeCommand,
		Source:  "https://code.claude.com/docs/en/mcp, https://code.claude.com/docs/en/skills",
		Tried:   "2.1.329: claude mcp add, claude mcp list",
		dialect: dialectPlain,
		keys:    []string{"mcpServers"}, file: atProject(".mcp.json"), signs: signs(atHome(".claude"), atHome(".claude.json"), atProject(".claude")),
		local: commandAndArgs, remote: typedHTTP,
		bearer: bearer("${" + TokenVariable + "}"), tokenEnv: true,
	},
	{
		ID: "claude-desktop", Name: "Claude Desktop",
		Source:  "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
		dialect: dialectPlain,
		keys:    []string{"mcpServers"}, file: claudeDesktop, signs: signs(base(claudeDesktop)),
		local: commandAndArgs, // servers behind a URL are added as connectors, in the application
	},
	{
		ID: "cursor", Name: "Cursor", Reads: both("cursor", "claude", "codex", "agents"),
		Source: "https://cursor.com/docs/context/mcp, https://cursor.com/docs/skills.md",
		keys:   []string{"mcpServers"}, file: atHome(".cursor/mcp.json"), signs: signs(atHome(".cursor")),
		local: commandAndArgs, remote: urlAs("url"),
		bearer: bearer("${env:" + TokenVariable + "}"), tokenEnv: true,
	},
	{
		ID: "windsurf", Name: "Windsurf", Reads: both("windsurf"),
		Source: "https://docs.windsurf.com/windsurf/cascade/mcp, https://docs.windsurf.com/windsurf/cascade/skills.md",
		keys:   []string{"mcpServers"}, file: atHome(".codeium/windsurf/mcp_config.json"), signs: signs(atHome(".codeium/windsurf")),
		local: commandAndArgs, remote: urlAs("serverUrl"),
		bearer: bearer("${env:" + TokenVariable + "}"), tokenEnv: true,
	},
	{
		ID: "gemini-cli", Name: "Gemini CLI", Reads: both("gemini", "agents"),
		Source:  "https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md, https://github.com/google-gemini/gemini-cli/blob/main/docs/cli/skills.md",
		Tried:   "0.61.0: gemini mcp list, in a trusted folder",
		dialect: dialectComments,
		keys:    []string{"mcpServers"}, file: atHome(".gemini/settings.json"), signs: signs(atHome(".gemini")),
		local: commandAndArgs, remote: urlAs("httpUrl"),
		bearer: bearer("${" + TokenVariable + "}"), tokenEnv: true,
	},
	{
		ID: "vscode", Name: "VS Code", Reads: both("copilot", "claude", "agents"), Project: true,
		Source: "https://code.visualstudio.com/docs/copilot/chat/mcp-servers, https://code.visualstudio.com/docs/agent-customization/agent-skills",
		keys:   []string{"servers"}, file: atProject(".vscode/mcp.json"),
		signs: signs(atProject(".vscode"), atHome(".vscode"), config(".config/Code", "Library/Application Support/Code", "Code")),
		local: stdio, remote: typedHTTP,
		bearer: bearer(TokenPlaceholder),
	},
	{
		ID: "copilot-cli", Name: "Copilot CLI", Reads: append(both("copilot", "agents"), "claude-project"),
		Source: "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers, copilot mcp --help, copilot skill --help",
		Tried:  "1.0.102: copilot mcp get, copilot -p",
		keys:   []string{"mcpServers"}, file: atHome(".copilot/mcp-config.json"), signs: signs(atHome(".copilot")),
		local: commandAndArgs, remote: typedHTTP,
		bearer: bearer("${" + TokenVariable + "}"), tokenEnv: true,
	},
	{
		ID: "codex", Name: "Codex", Reads: both("agents", "codex"),
		Source: "https://developers.openai.com/codex/mcp, https://github.com/openai/codex/blob/main/codex-rs/core/src/skills/loader.rs",
		Tried:  "0.169.0: codex mcp get, codex exec",
		format: formatTOML,
		keys:   []string{"mcp_servers"}, file: atHome(".codex/config.toml"), signs: signs(atHome(".codex")),
		local: commandAndArgs, remote: urlAs("url"),
		bearer: []field{{"bearer_token_env_var", TokenVariable}}, tokenEnv: true,
	},
	{
		ID: "zed", Name: "Zed",
		Source: "https://zed.dev/docs/ai/mcp",
		keys:   []string{"context_servers"}, file: zed, signs: signs(base(zed)),
		local: commandAndArgs, remote: urlAs("url"),
		bearer: bearer(TokenPlaceholder),
	},
	{
		ID: "opencode", Name: "OpenCode", Reads: both("opencode", "opencode-skill", "claude", "agents"),
		Source: "https://opencode.ai/docs/mcp-servers/, https://opencode.ai/v1/docs/skills/",
		Tried:  "1.18.33: opencode mcp list",
		keys:   []string{"mcp"}, file: atHome(".config/opencode/opencode.json"), signs: signs(atHome(".config/opencode")),
		local: func(s Server) []field {
			return []field{{"type", "local"}, {"command", append([]string{s.Command}, s.Args...)}}
		},
		remote: func(s Server) []field { return []field{{"type", "remote"}, {"url", s.URL}} },
		bearer: bearer("{env:" + TokenVariable + "}"), tokenEnv: true,
	},
	{
		ID: "qwen-code", Name: "Qwen Code",
		Source:  "https://github.com/QwenLM/qwen-code, qwen mcp --help",
		Tried:   "0.24.4: qwen mcp list, in a trusted folder",
		dialect: dialectComments,
		keys:    []string{"mcpServers"}, file: atHome(".qwen/settings.json"), signs: signs(atHome(".qwen")),
		local: commandAndArgs, remote: urlAs("httpUrl"),
		bearer: bearer("${" + TokenVariable + "}"), tokenEnv: true,
	},
	{
		ID: "goose", Name: "Goose", Reads: slices.Concat(both("goose", "agents", "claude"), []string{"amp-user"}),
		Source: "https://block.github.io/goose/docs/guides/config-files, https://github.com/block/goose/blob/main/documentation/docs/guides/context-engineering/using-skills.md",
		format: formatYAML,
		keys:   []string{"extensions"}, file: goose, signs: signs(base(goose)),
		local: func(s Server) []field {
			return []field{{"type", "stdio"}, {"cmd", s.Command}, {"args", s.Args}}
		},
		remote: func(s Server) []field { return []field{{"type", "streamable_http"}, {"uri", s.URL}} },
		bearer: bearer(TokenPlaceholder),
		extra:  []field{{"name", Name}, {"enabled", true}, {"envs", object{}}, {"timeout", 300}},
	},
}
