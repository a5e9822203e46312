package agents

import (
	"fmt"
	"path/filepath"
)

// agent is one real client: how it is told about a model server and how it is run.
type agent struct {
	name    string // folder below clients, and in the table
	title   string
	id      string // of knack connect; "" where connect does not know the client
	program string // below its node_modules/.bin
	// script is whether the program is a script that Node runs.
	// prepare writes the client's settings before the entry is added.
	prepare func(r *session) error
	// enter adds the entry where connect does not know the client.
	enter func(r *session) error
	env   func(r *session) []string
	args  func(r *session, prompt string) []string
	// list is the client's own command that lists servers; nil where there is none.
	list []string
	// connected is what its output says once for each server that works.
	connected string
	// tool is how the client names the tool skill.
	tool string
	// skills is the folder below the home in which the client looks for skills of its own.
	skills string
}

const key = "no-key"

var all = []agent{
	claude("claude-code"),
	claude("claude-code-2.1.197"),
	codex("codex", "gpt-5.5"),
	{
		name: "gemini-cli", title: "Gemini CLI", id: "gemini-cli", program: "gemini", tool: "mcp_knack_skill", skills: ".gemini/skills",
		list: []string{"mcp", "list"}, connected: "Connected",
		prepare: func(r *session) error {
			return r.settings(".gemini/settings.json", map[string]any{
				"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
				"privacy":  map[string]any{"usageStatisticsEnabled": false},
				"general":  map[string]any{"enableAutoUpdate": false},
			})
		},
		env: func(r *session) []string {
			return []string{"GEMINI_API_KEY=" + key, "GOOGLE_GEMINI_BASE_URL=" + r.model.URL(), "GEMINI_CLI_TRUST_WORKSPACE=true"}
		},
		args: func(_ *session, prompt string) []string { return []string{"-p", prompt, "-y", "-m", "gemini-2.5-pro"} },
	},
	{
		name: "opencode", title: "OpenCode", id: "opencode", program: "opencode", tool: "knack_skill", skills: ".config/opencode/skills",
		list: []string{"mcp", "list"}, connected: "connected",
		prepare: func(r *session) error {
			return r.settings(".config/opencode/opencode.json", map[string]any{
				"autoupdate": false, "share": "disabled",
				"provider": map[string]any{"suite": map[string]any{
					"npm": "@ai-sdk/openai-compatible", "name": "suite",
					"options": map[string]any{"baseURL": r.model.URL() + "/v1", "apiKey": key},
					"models":  map[string]any{"suite": map[string]any{"name": "suite", "limit": map[string]any{"context": 200000, "output": 8000}}},
				}},
			})
		},
		env: func(*session) []string {
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_SHARE=1"}
		},
		args: func(_ *session, prompt string) []string { return []string{"run", "-m", "suite/suite", prompt} },
	},
	{
		name: "qwen-code", title: "Qwen Code", id: "qwen-code", program: "qwen", tool: "mcp__knack__skill", skills: ".qwen/skills",
		list: []string{"mcp", "list"}, connected: "Connected",
		prepare: func(r *session) error {
			return r.settings(".qwen/settings.json", map[string]any{
				"security": map[string]any{"auth": map[string]any{"selectedType": "openai"}},
				"privacy":  map[string]any{"usageStatisticsEnabled": false},
				"general":  map[string]any{"enableAutoUpdate": false},
			})
		},
		env: func(r *session) []string {
			return []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + r.model.URL() + "/v1", "OPENAI_MODEL=qwen3-coder-plus"}
		},
		args: func(_ *session, prompt string) []string { return []string{"-p", prompt, "-y"} },
	},
	{
		name: "copilot-cli", title: "Copilot CLI", id: "copilot-cli", program: "copilot", tool: "knack-skill", skills: ".copilot/skills",
		list: []string{"mcp", "list"}, connected: "knack",
		env: func(r *session) []string {
			return []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + r.model.URL() + "/v1", "COPILOT_MODEL=gpt-5.4",
				"COPILOT_PROVIDER_API_KEY=" + key, "COPILOT_PROVIDER_WIRE_API=responses", "COPILOT_AUTO_UPDATE=false"}
		},
		args: func(_ *session, prompt string) []string {
			return []string{"-p", prompt, "--allow-all-tools", "--no-color"}
		},
	},
	{
		name: "cline", title: "Cline CLI", program: "cline", tool: "knack__skill", skills: ".cline/skills",
		prepare: func(r *session) error {
			return r.client("auth", "-p", "openai", "-k", key, "-m", "suite", "-b", r.model.URL()+"/v1")
		},
		enter: func(r *session) error {
			return r.settings(".cline/data/settings/cline_mcp_settings.json", map[string]any{"mcpServers": map[string]any{
				"knack": map[string]any{"command": r.recorder, "args": []string{"serve"}}}})
		},
		args: func(_ *session, prompt string) []string { return []string{"--auto-approve", "true", prompt} },
	},
	{
		name: "continue", title: "Continue CLI", program: "cn", tool: "skill", skills: ".continue/skills",
		enter: func(r *session) error {
			return r.file(".continue/config.yaml", fmt.Sprintf(`name: suite
version: 0.0.1
schema: v1
models:
  - name: suite
    provider: openai
    model: suite
    apiBase: %s/v1
    apiKey: %s
mcpServers:
  - name: knack
    command: %s
    args: [serve]
`, r.model.URL(), key, r.recorder))
		},
		env: func(r *session) []string {
			return []string{"CONTINUE_TELEMETRY_ENABLED=0", "CONTINUE_CLI_AUTO_UPDATED=1"}
		},
		args: func(r *session, prompt string) []string {
			return []string{"-p", prompt, "--auto", "--config", filepath.Join(r.home, ".continue/config.yaml")}
		},
	},
}

func claude(name string) agent {
	return agent{
		name: name, title: "Claude Code", id: "claude-code", program: "claude", tool: "mcp__knack__skill", skills: ".claude/skills",
		list: []string{"mcp", "list"}, connected: "Connected",
		prepare: func(r *session) error {
			return r.settings(".claude/settings.json", map[string]any{
				"permissions":                map[string]any{"allow": []string{"mcp__knack"}},
				"enableAllProjectMcpServers": true,
			})
		},
		env: func(r *session) []string {
			return []string{"ANTHROPIC_BASE_URL=" + r.model.URL(), "ANTHROPIC_API_KEY=" + key, "DISABLE_AUTOUPDATER=1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1"}
		},
		args: func(_ *session, prompt string) []string { return []string{"-p", prompt} },
	}
}

func codex(name, model string) agent {
	return agent{
		name: name, title: "Codex", id: "codex", program: "codex", tool: "mcp__knack.skill", skills: ".codex/skills",
		list: []string{"mcp", "list"}, connected: "enabled",
		prepare: func(r *session) error {
			return r.file(".codex/config.toml", fmt.Sprintf(`model = %q
model_provider = "suite"
check_for_update_on_startup = false

[model_providers.suite]
name = "suite"
base_url = "%s/v1"
wire_api = "responses"
env_key = "SUITE_KEY"

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
