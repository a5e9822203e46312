package agents

import (
	"fmt"
	"path/filepath"
	"strings"
)

// agent is a real client, with its configuration for a model server and its command line.
type agent struct {
	name    string // the name of the test and of the row in the tables
	title   string
	folder  string // below the folder clients
	program string // below the folder's node_modules/.bin
	// id is the client's name in knack connect, and flags are passed to connect beside --write. For
	// a client without an id, entry adds knack to the client's servers.
	id    string
	flags []string
	entry func(r *session) error
	// prepare writes the client's settings before knack is added.
	prepare func(r *session) error
	env     func(r *session) []string
	args    func(r *session, prompt string) []string
	// tool is the client's name for knack's tool skill.
	tool string
	// list is the client's own command that lists servers, and working is its word for a server
	// that works. add is its own command that adds a server, and team the command that adds a
	// server to the project's file. approve is the command that makes the client start the
	// project's server. A command that the client lacks is nil.
	list    []string
	working string
	add     []string
	team    []string
	approve []string

	// own is the folder below the home in which the client looks for its own skills.
	own string
	// namesAlone is set if the client lists its own skills without their descriptions.
	namesAlone bool

	// scripted is set if the model calls tools from a script, which prints results as JSON.
	scripted bool

	want want
}

// want is the least that the model must see.
type want struct {
	names, descriptions int
	// described is the least number of descriptions for 200 skills, for a client that shows too
	// little for all of them. 0 means all of them, with 50 characters each, and -1 means none.
	described int
	// line is set if the model sees a single line with the names that fit and the topics of the
	// other skills, see [checkLine].
	line bool
}

// all17 is the want of clients that show everything.
var all17 = want{names: 17, descriptions: 17}

// key is a key for the model server, which does not check it.
const key = "no-key"

// object is a JSON object.
type object = map[string]any

// agents lists the clients of the tables, in their order.
var agents = []agent{
	claude("Claude Code", "claude-code", want{names: 17, descriptions: 17, described: 70}),
	claude("Claude Code, older", "claude-code-2.1.197", want{names: 17, descriptions: 17, described: -1}),
	codex("Codex", "gpt-6.1-sol", "mcp__knack__skill", want{line: true}),
	codex("Codex, tool search", "gpt-5.5", "mcp__knack.skill", want{line: true}),
	codex("Codex, other models", "suite", "mcp__knack.skill", all17),
	{
		name: "Gemini CLI", title: "Gemini CLI", folder: "gemini-cli", own: ".gemini/skills", program: "gemini", id: "gemini-cli", flags: []string{"--trust"}, tool: "mcp_knack_skill", want: all17,
		list: []string{"mcp", "list"}, working: "Connected", add: []string{"mcp", "add", "-s", "user", "knack", "KNACK", "serve"}, team: []string{"mcp", "add", "knack", "KNACK", "serve"},
		prepare: func(r *session) error {
			return r.settings(".gemini/settings.json", object{
				"security": object{"auth": object{"selectedType": "gemini-api-key"}},
				"privacy":  object{"usageStatisticsEnabled": false},
				"general":  object{"enableAutoUpdate": false},
			})
		},
		env: func(r *session) []string {
			return []string{"GEMINI_API_KEY=" + key, "GOOGLE_GEMINI_BASE_URL=" + r.model.URL(), "GEMINI_CLI_TRUST_WORKSPACE=true"}
		},
		args: func(_ *session, prompt string) []string { return []string{"-m", "gemini-2.5-pro", "-p", prompt} },
	},
	{
		name: "OpenCode", title: "OpenCode", folder: "opencode", own: ".config/opencode/skills", program: "opencode", id: "opencode", tool: "knack_skill", want: all17,
		list: []string{"mcp", "list"}, working: "connected", add: []string{"mcp", "add", "knack", "--", "KNACK", "serve"},
		prepare: func(r *session) error {
			return r.settings(".config/opencode/opencode.json", object{
				"autoupdate": false, "share": "disabled",
				"provider": object{"suite": object{
					"npm": "@ai-sdk/openai-compatible", "name": "suite",
					"options": object{"baseURL": r.model.URL() + "/v1", "apiKey": key},
					"models":  object{"suite": object{"name": "suite", "limit": object{"context": 200_000, "output": 8_000}}},
				}},
			})
		},
		env: func(*session) []string {
			return []string{"OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_SHARE=1"}
		},
		args: func(_ *session, prompt string) []string { return []string{"run", "-m", "suite/suite", prompt} },
	},
	{
		name: "Qwen Code", title: "Qwen Code", folder: "qwen-code", own: ".qwen/skills", program: "qwen", id: "qwen-code", flags: []string{"--trust"}, tool: "mcp__knack__skill", want: want{names: 17, descriptions: 17, described: 150},
		list: []string{"mcp", "list"}, working: "Connected", add: []string{"mcp", "add", "-s", "user", "knack", "KNACK", "serve"}, team: []string{"mcp", "add", "-s", "project", "knack", "KNACK", "serve"},
		approve: []string{"mcp", "approve", "knack"},
		prepare: func(r *session) error {
			return r.settings(".qwen/settings.json", object{
				"security": object{"auth": object{"selectedType": "openai"}},
				"privacy":  object{"usageStatisticsEnabled": false},
				"general":  object{"enableAutoUpdate": false},
			})
		},
		env: func(r *session) []string {
			return []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + r.model.URL() + "/v1", "OPENAI_MODEL=qwen3-coder-plus"}
		},
		args: func(_ *session, prompt string) []string { return []string{"-p", prompt} },
	},
	{
		name: "Copilot CLI", title: "Copilot CLI", folder: "copilot-cli", own: ".copilot/skills", program: "copilot", id: "copilot-cli", tool: "knack-skill", want: all17,
		list: []string{"mcp", "list"}, working: "(local)", add: []string{"mcp", "add", "knack", "--", "KNACK", "serve"},
		env: func(r *session) []string {
			return []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + r.model.URL() + "/v1", "COPILOT_MODEL=gpt-5.4",
				"COPILOT_PROVIDER_API_KEY=" + key, "COPILOT_PROVIDER_WIRE_API=responses", "COPILOT_AUTO_UPDATE=false"}
		},
		args: func(_ *session, prompt string) []string { return []string{"--allow-all-tools", "-p", prompt} },
	},
	{
		name: "Cline CLI", title: "Cline CLI", folder: "cline", own: ".cline/skills", program: "cline", id: "cline", tool: "knack__skill", namesAlone: true, want: all17,
		list: []string{"config", "mcp"}, working: "[stdio]", add: []string{"mcp", "add", "knack", "--yes", "--", "KNACK", "serve"},
		prepare: func(r *session) error {
			err := r.settings(".cline/data/settings/global-settings.json", object{"telemetryOptOut": true, "autoUpdateEnabled": false})
			if err != nil {
				return err
			}
			return r.client("auth", "-p", "openai", "-k", key, "-m", "suite", "-b", r.model.URL()+"/v1")
		},
		// Without this variable, Cline starts a daemon that stays, and the Cline of the next test
		// finds it by its port.
		env:  func(*session) []string { return []string{"CLINE_SESSION_BACKEND_MODE=local"} },
		args: func(_ *session, prompt string) []string { return []string{"--auto-approve", "true", prompt} },
	},
	{
		name: "Continue CLI", title: "Continue CLI", folder: "continue", own: ".continue/skills", program: "cn", id: "continue", tool: "skill", want: all17,
		prepare: func(r *session) error {
			return r.file(continueFile, fmt.Sprintf(`name: suite
version: 0.0.1
schema: v1
models:
  - name: suite
    provider: openai
    model: suite
    apiBase: %s/v1
    apiKey: %s
    defaultCompletionOptions:
      contextLength: 400000
`, r.model.URL(), key))
		},
		env: func(*session) []string { return []string{"CONTINUE_TELEMETRY_ENABLED=0"} },
		args: func(r *session, prompt string) []string {
			return []string{"--auto", "--config", filepath.Join(r.home, continueFile), "-p", prompt}
		},
	},
	{
		name: "Kilo", title: "Kilo Code", folder: "kilo", own: ".kilo/skills", program: "kilo", id: "kilo", tool: "knack_skill", want: all17,
		list: []string{"mcp", "list"}, working: "connected",
		prepare: func(r *session) error {
			return r.settings(".config/kilo/kilo.json", object{
				"autoupdate": false, "share": "disabled",
				"provider": object{"suite": object{
					"npm": "@ai-sdk/openai-compatible", "name": "suite",
					"options": object{"baseURL": r.model.URL() + "/v1", "apiKey": key},
					"models":  object{"suite": object{"name": "suite", "limit": object{"context": 200_000, "output": 8_000}}},
				}},
			})
		},
		env: func(*session) []string {
			return []string{"KILO_DISABLE_DEFAULT_PLUGINS=1", "KILO_DISABLE_AUTOUPDATE=1", "KILO_DISABLE_MODELS_FETCH=1", "KILO_DISABLE_LSP_DOWNLOAD=1", "KILO_DISABLE_SHARE=1", "KILO_TELEMETRY_LEVEL=off"}
		},
		args: func(_ *session, prompt string) []string {
			return []string{"run", "--auto", "-m", "suite/suite", prompt}
		},
	},
	{
		name: "Kimi", title: "Kimi Code", folder: "kimi", own: ".kimi-code/skills", program: "kimi", tool: "mcp__knack__skill", want: all17,
		entry: func(r *session) error {
			return r.settings(".kimi-code/mcp.json", object{"mcpServers": object{"knack": object{"command": r.recorder, "args": []string{"serve"}}}})
		},
		env: func(r *session) []string {
			return []string{"KIMI_MODEL_NAME=suite", "KIMI_MODEL_API_KEY=" + key, "KIMI_MODEL_BASE_URL=" + r.model.URL() + "/v1", "KIMI_MODEL_PROVIDER_TYPE=openai",
				"KIMI_MODEL_MAX_CONTEXT_SIZE=400000", "KIMI_CODE_NO_AUTO_UPDATE=1"}
		},
		args: func(_ *session, prompt string) []string { return []string{"-p", prompt} },
	},
	{
		name: "Pi", title: "Pi", folder: "pi", own: ".pi/agent/skills", program: "pi", tool: "mcp__knack__skill", want: all17,
		list: []string{"mcp", "list"}, working: "connected",
		prepare: func(r *session) error {
			return r.settings(".pi/agent/models.json", object{"providers": object{"suite": object{
				"baseUrl": r.model.URL() + "/v1", "api": "openai-completions", "apiKey": key,
				"models": []object{{"id": "suite", "contextWindow": 400_000}},
			}}})
		},
		entry: func(r *session) error {
			return r.client("mcp", "add", "knack", "--exposure", "direct", "--", r.recorder, "serve")
		},
		env: func(*session) []string { return []string{"PI_OFFLINE=1"} },
		args: func(_ *session, prompt string) []string {
			return []string{"--approve", "--provider", "suite", "--model", "suite", "-p", prompt}
		},
	},
}

// continueFile is the file with Continue's models and servers.
const continueFile = ".continue/config.yaml"

// claude returns Claude Code in one version.
func claude(name, folder string, want want) agent {
	return agent{
		name: name, title: "Claude Code", folder: folder, own: ".claude/skills", program: "claude", id: "claude-code", tool: "mcp__knack__skill", want: want,
		list: []string{"mcp", "list"}, working: "Connected", add: []string{"mcp", "add", "-s", "user", "knack", "--", "KNACK", "serve"}, team: []string{"mcp", "add", "-s", "project", "knack", "--", "KNACK", "serve"},
		prepare: func(r *session) error {
			return r.settings(".claude/settings.json", object{
				"permissions": object{"allow": []string{"mcp__knack"}},
			})
		},
		env: func(r *session) []string {
			return []string{"ANTHROPIC_BASE_URL=" + r.model.URL(), "ANTHROPIC_API_KEY=" + key, "DISABLE_AUTOUPDATER=1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
				// On a busy machine, it would otherwise call the model while a server is still
				// connecting.
				"MCP_CONNECTION_NONBLOCKING=0"}
		},
		args: func(_ *session, prompt string) []string { return []string{"-p", prompt} },
	}
}

// codex returns Codex with one model. Codex's own list of models determines how it shows tools to
// each model.
func codex(name, model, tool string, want want) agent {
	return agent{
		name: name, title: "Codex", folder: "codex", own: ".codex/skills", scripted: name == "Codex", program: "codex", id: "codex", tool: tool, want: want,
		list: []string{"mcp", "list"}, working: "enabled", add: []string{"mcp", "add", "knack", "--", "KNACK", "serve"},
		prepare: func(r *session) error {
			return r.file(".codex/config.toml", fmt.Sprintf(`model = %q
model_provider = "suite"
check_for_update_on_startup = false

[model_providers.suite]
name = "suite"
base_url = "%s/v1"
wire_api = "responses"
env_key = "SUITE_KEY"

[features]
plugins = false

[analytics]
enabled = false
`, model, r.model.URL()))
		},
		env: func(*session) []string { return []string{"SUITE_KEY=" + key} },
		args: func(_ *session, prompt string) []string {
			return []string{"exec", "--skip-git-repo-check", prompt}
		},
	}
}

// chosen reports whether the value of KNACK_AGENTS selects the client.
func (a agent) chosen(value string) bool {
	for name := range strings.SplitSeq(value, ",") {
		if name == "all" || name == a.folder {
			return true
		}
	}
	return false
}
