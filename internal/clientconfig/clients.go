package clientconfig

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/realpath"
)

var (
	geminiJSON    = pathOf("$GEMINI_CLI_HOME/.gemini/settings.json")
	claudeDesktop = config(pathOf("~/.config/Claude/claude_desktop_config.json"), "Library/Application Support/Claude/claude_desktop_config.json", "Claude/claude_desktop_config.json")
	vscode        = config(pathOf("$XDG_CONFIG_HOME/Code/User/mcp.json"), "Library/Application Support/Code/User/mcp.json", "Code/User/mcp.json")
	zed           = config(pathOf("$XDG_CONFIG_HOME/zed/settings.json"), ".config/zed/settings.json", "Zed/settings.json")
	goose         = config(pathOf("$XDG_CONFIG_HOME/goose/config.yaml"), "", "Block/goose/config/config.yaml")
)

// claudeJSON returns the file in which Claude Code keeps its servers. It is beside Claude Code's
// folder, or in the folder that CLAUDE_CONFIG_DIR names.
func claudeJSON(p Env) string {
	if p.homes().Moved("CLAUDE_CONFIG_DIR") != "" {
		return pathOf("$CLAUDE_CONFIG_DIR/.claude.json")(p)
	}
	return pathOf("~/.claude.json")(p)
}

// claudeLocal returns the path of keys to the servers that Claude Code keeps for one project.
func claudeLocal(p Env) []string {
	at := filepath.FromSlash(p.Project)
	if real, err := realpath.Eval(at); err == nil {
		at = real
	}
	return []string{"projects", at, "mcpServers"}
}

// claudeProject returns the path of keys to the settings that Claude Code keeps for one project.
func claudeProject(p Env) []string { return claudeLocal(p)[:2] }

// geminiLists returns the lists of server names that Gemini CLI has in the given files.
func geminiLists(files ...func(Env) string) (out []nameList) {
	for _, file := range files {
		at := location{file: file, keys: func(Env) []string { return []string{"mcp"} }}
		out = append(out, nameList{location: at, key: "excluded"}, nameList{location: at, key: "allowed", only: true})
	}
	return out
}

// clineSettings returns the path of the settings file that Cline reads. Of the variables for it,
// the first that is set decides.
func clineSettings(p Env) string {
	if at := strings.TrimSpace(p.env("CLINE_MCP_SETTINGS_PATH")); at != "" {
		return at
	}
	if dir := p.env("CLINE_DATA_DIR"); dir != "" {
		return below(dir, "settings/cline_mcp_settings.json")
	}
	return pathOf("$CLINE_DIR/data/settings/cline_mcp_settings.json")(p)
}

// Steps that some clients require of the user after an entry is written.
const (
	claudeAsks  = `Claude Code asks each user to approve a server of .mcp.json: start claude here once.`
	geminiTrust = "Gemini CLI starts no server in a folder that is not trusted: start gemini in the folder once and trust it."
)

// oauthAs returns a function that returns the field oauth. The field contains a client ID under
// key, and the other members.
func oauthAs(key string, others ...field) func(id string) field {
	return func(id string) field { return field{"oauth", append(object{{key, id}}, others...)} }
}

// Clients lists the supported clients. Those that npm distributes were tested.
var Clients = sync.OnceValue(func() []Client { return withAgents(clients) })

// clients is the table of the supported clients. withAgents adds the facts from the table of
// agents.
var clients = []Client{
	{
		ID: "claude-code", Program: "claude", Command: claudeCommand, NeedsApproval: true,
		Source:    "https://code.claude.com/docs/en/mcp, https://code.claude.com/docs/en/skills",
		Tested:    "2.1.330: claude mcp add, claude mcp list",
		nextSteps: map[Scope][]string{Project: {claudeAsks}},
		allow:     claudeAllow, signIn: "/mcp in Claude Code", clientID: oauthAs("clientId"),
		locations: []location{{scope: Local, file: claudeJSON, keys: claudeLocal}, project(".mcp.json"), user(claudeJSON)},
		lists:     []nameList{{location: location{file: claudeJSON, keys: claudeProject}, key: "disabledMcpServers"}},
		dialect:   dialectPlain, keys: []string{"mcpServers"},
		local: stdio, remote: typedHTTP, untyped: true,
		bearer: bearer("${" + TokenVariable + "}"), tokenEnv: true,
	},
	{
		ID: "claude-desktop", Name: "Claude Desktop",
		Source:    "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
		locations: []location{user(claudeDesktop)}, folder: base(claudeDesktop),
		dialect: dialectPlain, keys: []string{"mcpServers"},
		local: commandAndArgs, // servers behind a URL are added as connectors, in the application
	},
	{
		ID: "cursor", Program: "cursor",
		Source:    "https://cursor.com/docs/context/mcp, https://cursor.com/docs/skills.md",
		locations: []location{project(".cursor/mcp.json"), user(pathOf("~/.cursor/mcp.json"))},
		keys:      []string{"mcpServers"},
		local:     commandAndArgs, remote: urlAs("url"),
		bearer: bearer("${env:" + TokenVariable + "}"), tokenEnv: true,
	},
	{
		ID: "windsurf", Program: "windsurf",
		Source:    "https://docs.windsurf.com/windsurf/cascade/mcp, https://docs.windsurf.com/windsurf/cascade/skills.md",
		locations: []location{user(pathOf("~/.codeium/windsurf/mcp_config.json"))},
		keys:      []string{"mcpServers"},
		local:     commandAndArgs, remote: urlAs("serverUrl"),
		bearer: bearer("${env:" + TokenVariable + "}"), tokenEnv: true,
	},
	{
		ID: "gemini-cli", Program: "gemini",
		Source:    "https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md, https://github.com/google-gemini/gemini-cli/blob/main/docs/cli/skills.md",
		Tested:    "0.61.0: gemini mcp add, gemini mcp list, in a trusted folder",
		nextSteps: map[Scope][]string{User: {geminiTrust}, Project: {geminiTrust}},
		locations: []location{project(".gemini/settings.json"), user(geminiJSON)},
		lists:     geminiLists(atProject(".gemini/settings.json"), geminiJSON),
		dialect:   dialectComments, keys: []string{"mcpServers"},
		local: commandAndArgs, remote: urlAs("httpUrl"), trust: []field{{"trust", true}},
		bearer: bearer("${" + TokenVariable + "}"), tokenEnv: true,
		signIn: "/mcp auth NAME in Gemini CLI", clientID: oauthAs("clientId", field{"enabled", true}), provider: ", and the provider has to add iss to the redirect (RFC 9207)",
	},
	{
		ID: "vscode", Program: "code",
		Source:    "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration, https://code.visualstudio.com/docs/agent-customization/agent-skills",
		locations: []location{project(".vscode/mcp.json"), user(vscode)}, folder: base(base(vscode)),
		keys:  []string{"servers"},
		local: stdio, remote: typedHTTP,
		bearer: bearer(TokenPlaceholder),
	},
	{
		ID: "copilot-cli", Program: "copilot",
		Source:    "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers, copilot mcp --help, copilot skill list",
		Tested:    "1.0.102: copilot mcp add, copilot mcp list, copilot -p",
		nextSteps: map[Scope][]string{Project: {"Copilot CLI reads a project's servers only in a folder that is trusted: start copilot here once and trust it."}},
		locations: []location{project(".mcp.json"), project(".github/mcp.json"), user(pathOf("$COPILOT_HOME/mcp-config.json"))},
		keys:      []string{"mcpServers"},
		local:     func(s Server) []field { return append([]field{{"type", "local"}}, commandAndArgs(s)...) }, remote: typedHTTP, untyped: true,
		newFields: func(Server) []field { return []field{{"tools", []string{"*"}}} },
		bearer:    bearer("${" + TokenVariable + "}"), tokenEnv: true,
		trustNote: "no file of Copilot CLI allows tools in all folders: start it with --allow-tool=knack.",
	},
	{
		ID: "codex", Program: "codex",
		Source:    "https://developers.openai.com/codex/mcp, https://github.com/openai/codex/blob/main/codex-rs/core/src/skills/loader.rs",
		Tested:    "0.169.0: codex mcp add, codex mcp list, codex exec",
		nextSteps: map[Scope][]string{Project: {"Codex reads .codex/config.toml only in a project that is trusted: start codex here once and trust it."}},
		locations: []location{project(".codex/config.toml"), user(pathOf("$CODEX_HOME/config.toml"))},
		format:    formatTOML, keys: []string{"mcp_servers"},
		local: commandAndArgs, remote: urlAs("url"),
		bearer: []field{{"bearer_token_env_var", TokenVariable}}, tokenEnv: true,
		trustNote: "Codex calls tools that only read, as those of knack, without asking.",
		signIn:    "codex mcp login NAME", clientID: oauthAs("client_id"),
	},
	{
		ID: "zed", Program: "zed",
		Source:    "https://zed.dev/docs/ai/mcp",
		locations: []location{user(zed)}, folder: base(zed),
		keys:  []string{"context_servers"},
		local: commandAndArgs, remote: urlAs("url"),
		bearer: bearer(TokenPlaceholder),
	},
	{
		ID: "opencode", Program: "opencode",
		Source: "https://opencode.ai/docs/mcp-servers/, https://opencode.ai/docs/skills/, opencode debug skill",
		Tested: "1.18.33: opencode mcp add, opencode mcp list",
		locations: []location{
			project(".opencode/opencode.jsonc"), project(".opencode/opencode.json"), project("opencode.jsonc"), preferred(project("opencode.json")),
			user(pathOf("$XDG_CONFIG_HOME/opencode/opencode.jsonc")), user(pathOf("$XDG_CONFIG_HOME/opencode/opencode.json")), user(pathOf("$XDG_CONFIG_HOME/opencode/config.json")),
		},
		keys:  []string{"mcp"},
		local: oneCommand, remote: typedRemote,
		bearer: bearer("{env:" + TokenVariable + "}"), tokenEnv: true,
		trustNote: "OpenCode calls the tools without asking, unless its permissions say otherwise.",
		signIn:    "opencode mcp auth NAME", clientID: oauthAs("clientId"),
	},
	{
		ID: "qwen-code", Program: "qwen",
		Source: "https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/mcp.md, https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/skills.md",
		Tested: "0.24.4: qwen mcp add, qwen mcp list",
		nextSteps: map[Scope][]string{
			User:    {"If Qwen Code asks whether it may trust the folder, say yes: it starts no server in a folder that is not trusted."},
			Project: {"Qwen Code starts a project's server after an approval: qwen mcp approve NAME."},
		},
		locations: []location{project(".qwen/settings.json"), borrowed(project(".mcp.json")), user(pathOf("$QWEN_HOME/settings.json"))},
		dialect:   dialectComments, keys: []string{"mcpServers"},
		local: commandAndArgs, remote: urlAs("httpUrl"), trust: []field{{"trust", true}},
		bearer: bearer("${" + TokenVariable + "}"), tokenEnv: true, signIn: "/mcp in Qwen Code",
	},
	{
		ID: "goose", Program: "goose",
		Source:    "https://block.github.io/goose/docs/guides/config-files, https://github.com/block/goose/blob/main/documentation/docs/guides/context-engineering/using-skills.md",
		locations: []location{user(goose)}, folder: base(goose),
		format: formatYAML, keys: []string{"extensions"},
		local: func(s Server) []field {
			return []field{{"type", "stdio"}, {"cmd", s.Command}, {"args", s.Args}}
		},
		remote: func(s Server) []field { return []field{{"type", "streamable_http"}, {"uri", s.URL}} },
		bearer: bearer(TokenPlaceholder),
		newFields: func(Server) []field {
			return []field{{"name", Name}, {"enabled", true}, {"envs", object{}}, {"timeout", 300}}
		},
	},
	{
		ID: "cline", Program: "cline",
		Source:    "https://docs.cline.bot/getting-started/config, https://docs.cline.bot/customization/skills, cline mcp add",
		Tested:    "3.0.65: cline mcp add, cline config mcp",
		locations: []location{user(clineSettings)},
		dialect:   dialectPlain, keys: []string{"mcpServers"}, nested: "transport",
		local:  stdio,
		remote: func(s Server) []field { return []field{{"type", "streamableHttp"}, {"url", s.URL}} },
		bearer: bearer(TokenPlaceholder),
	},
	{
		ID: "continue", Program: "cn",
		Source:     "https://docs.continue.dev/reference, https://docs.continue.dev/customize/deep-dives/mcp",
		Tested:     "cn 1.5.47: cn -p",
		locations:  []location{user(pathOf("$CONTINUE_GLOBAL_DIR/config.yaml"))},
		createHint: "start Continue once, which writes its models into it",
		format:     formatYAML, keys: []string{"mcpServers"}, list: true,
		local:  commandAndArgs,
		remote: func(s Server) []field { return []field{{"type", "streamable-http"}, {"url", s.URL}} },
		bearer: []field{{"requestOptions", object{{"headers", object{{"Authorization", "Bearer " + TokenPlaceholder}}}}}},
	},
	{
		ID: "crush", Program: "crush",
		Source:    "https://github.com/charmbracelet/crush/blob/main/docs/config/README.md, https://github.com/charmbracelet/crush/blob/main/internal/config/load.go",
		locations: []location{project(".crush.json"), preferred(project("crush.json")), user(pathOf("$XDG_CONFIG_HOME/crush/crush.json"))},
		dialect:   dialectPlain, keys: []string{"mcp"},
		local: stdio, remote: typedHTTP,
		bearer: bearer("$" + TokenVariable), tokenEnv: true,
	},
	{
		ID: "amp", Program: "amp",
		Source:    "https://ampcode.com/manual, amp mcp add --help, amp skill list",
		Tested:    "0.0.1790142911: amp mcp add, amp mcp list",
		nextSteps: map[Scope][]string{Project: {"Amp starts a workspace's server after an approval: amp mcp approve NAME."}},
		locations: []location{project(".amp/settings.json"), project(".amp/settings.jsonc"), user(pathOf("$XDG_CONFIG_HOME/amp/settings.json")), user(pathOf("$XDG_CONFIG_HOME/amp/settings.jsonc"))},
		keys:      []string{"amp.mcpServers"},
		local:     commandAndArgs, remote: urlAs("url"),
		bearer: bearer(TokenPlaceholder),
	},
	{
		ID: "kilo", Program: "kilo",
		Source: "https://kilo.ai/docs/automate/mcp/using-in-cli, kilo debug paths, kilo debug skill",
		Tested: "7.7.7: kilo mcp add, kilo mcp list",
		locations: []location{
			project(".kilo/kilo.jsonc"), project(".kilo/kilo.json"), project("kilo.jsonc"), preferred(project("kilo.json")),
			user(pathOf("$XDG_CONFIG_HOME/kilo/kilo.jsonc")), user(pathOf("$XDG_CONFIG_HOME/kilo/kilo.json")),
		},
		keys:  []string{"mcp"},
		local: oneCommand, remote: typedRemote,
		bearer: bearer("{env:" + TokenVariable + "}"), tokenEnv: true,
	},
	{
		ID: "pi", Program: "pi",
		Source:    "https://pi.dev/docs/latest/mcp, npm:@earendil-works/pi-coding-agent docs/mcp.md",
		nextSteps: map[Scope][]string{Project: {"Pi reads .pi/mcp.json only in a project that is trusted: start pi here once and trust it."}},
		locations: []location{project(".pi/mcp.json"), user(pathOf("~/.pi/agent/mcp.json"))},
		dialect:   dialectPlain, keys: []string{"mcpServers"},
		local: commandAndArgs, remote: urlAs("url"),
		// Without this field, the model does not see the tools.
		newFields: func(Server) []field { return []field{{"exposure", "direct"}} },
		bearer:    bearer("${" + TokenVariable + "}"), tokenEnv: true, signIn: "pi mcp login NAME",
	},
	{
		ID: "kimi-code-cli", Program: "kimi",
		Source:    "npm:@moonshot-ai/kimi-code 2.1.0",
		locations: []location{user(pathOf("~/.kimi-code/mcp.json"))},
		dialect:   dialectPlain, keys: []string{"mcpServers"},
		local: commandAndArgs, remote: urlAs("url"),
		bearer: bearer(TokenPlaceholder),
	},
	{
		ID: "droid", Program: "droid",
		Source:    "https://docs.factory.ai/cli/configuration/mcp",
		locations: []location{project(".factory/mcp.json"), user(pathOf("~/.factory/mcp.json"))},
		dialect:   dialectPlain, keys: []string{"mcpServers"},
		local: stdio, remote: typedHTTP,
		bearer: bearer(TokenPlaceholder),
	},
	{
		ID: "augment", Program: "auggie",
		Source:    "https://docs.augmentcode.com/cli/integrations",
		locations: []location{user(pathOf("~/.augment/settings.json"))},
		dialect:   dialectPlain, keys: []string{"mcpServers"},
		local: commandAndArgs, remote: typedHTTP,
		bearer: bearer(TokenPlaceholder),
	},
}

// withAgents fills in facts from the table of agents: a client's name, the folders of skills that
// it reads and, if none is set, its own folder.
func withAgents(clients []Client) []Client {
	for i := range clients {
		c := &clients[i]
		a := agents.Find(c.ID)
		if a == nil {
			continue // it reads no skills
		}
		c.Name, c.Reads = a.Name, a.Reads
		if c.folder == nil && len(a.Detect) > 0 {
			c.folder = pathOf(a.Detect[0])
		}
	}
	return clients
}
