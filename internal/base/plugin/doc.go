// Package plugin reads the files that describe plugins of agents and lists of plugins: plugin.json
// and mcp.json of Agent Plugins 1.0.0, the manifests of single clients, and marketplaces. It is the
// only parser of these files. It opens no file, does not depend on skills, and follows no reference
// in a file.
//
// Each parser returns the useful part of a file, and its faults. A fault states the rule that is
// broken, the client's reaction, and the fix. Each path in a result is below the folder of its
// plugin or marketplace. A path that leads out is a fault, and is left out.
package plugin

// Bounds on the sizes of files to read. The specification has no bounds. The largest marketplace in
// use has 0.2 MiB.
const (
	MaxManifest    = 1 << 20
	MaxMarketplace = 8 << 20
)

// Identifiers of the schemas of Agent Plugins 1.0.0 (§5.2, §7.2.1).
const (
	Schema        = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
	ServersSchema = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
	schemas       = "https://agent-plugins.org/schemas/"
)

// Client is a program that reads a file, or [Portable] for every client that conforms to Agent
// Plugins.
type Client string

// The clients.
const (
	Portable Client = "Agent Plugins"
	Claude   Client = "Claude Code"
	Codex    Client = "Codex"
	Cursor   Client = "Cursor"
	Copilot  Client = "Copilot"
	Gemini   Client = "Gemini CLI"
	Qwen     Client = "Qwen Code"
)

// File is the path of a file below a plugin or a marketplace, and the client that reads it.
type File struct {
	Path   string
	Client Client
}

// Manifests are the manifests of plugins. Agent Plugins defines only the first.
var Manifests = []File{
	{"plugin.json", Portable},
	{".claude-plugin/plugin.json", Claude},
	{".codex-plugin/plugin.json", Codex},
	{".cursor-plugin/plugin.json", Cursor},
	{".github/plugin/plugin.json", Copilot},
	{"gemini-extension.json", Gemini},
	{"qwen-extension.json", Qwen},
}

// Marketplaces are the lists of plugins. Codex and Copilot also read Claude's list.
var Marketplaces = []File{
	{".claude-plugin/marketplace.json", Claude},
	{".agents/plugins/marketplace.json", Codex},
	{".cursor-plugin/marketplace.json", Cursor},
	{".github/plugin/marketplace.json", Copilot},
}

// Fixed paths of the components of a plugin (§6.1).
const (
	SkillsFolder = "skills"
	ServersFile  = "mcp.json"
)

// Effect is the consequence of a fault for a client.
type Effect int

// The effects, from the least to the most serious.
const (
	Notes    Effect = iota // nothing, but it is worth knowing
	Ignores                // the client ignores the field, or clients may differ
	Skips                  // the client skips one entry: a skill, a server, a plugin in a list
	Disables               // the client ignores all components of the type
	Rejects                // the client rejects the plugin or the marketplace
)

// Fault is a place in a file that breaks a rule.
type Fault struct {
	Rule   string // the ID of a rule in [Rules]
	Effect Effect
	// At and End are the byte range of the value or name in the file. Both are zero for the whole
	// file.
	At, End int
	Field   string // such as author.email or plugins[3].source, or ""
	Message string
	Fix     string
}

// Rule is a row of the table of rules.
type Rule struct {
	ID     string
	Worst  Effect // the usual effect of a fault
	Source string // the clause of the specification, or the client
	Title  string // the requirement
}

// The rules that the content of a file can break.
const (
	RuleFile       = "plugin-file"
	RuleJSON       = "plugin-json"
	RuleKeys       = "plugin-duplicate-key"
	RuleSchema     = "plugin-schema"
	RuleName       = "plugin-name"
	RuleType       = "plugin-field-type"
	RuleAuthor     = "plugin-author"
	RuleUnknown    = "plugin-field-unknown"
	RuleExtensions = "plugin-extensions"
	RulePath       = "plugin-path"

	RuleMCPFile   = "mcp-file"
	RuleMCPJSON   = "mcp-json"
	RuleMCPSchema = "mcp-schema"
	RuleMCPField  = "mcp-field"
	RuleMCPServer = "mcp-server"
	RuleMCPPath   = "mcp-path"
	RuleMCPURL    = "mcp-url"
	RuleMCPHeader = "mcp-header"
	RuleMCPEnv    = "mcp-env"

	RuleMarket        = "marketplace-file"
	RuleMarketJSON    = "marketplace-json"
	RuleMarketField   = "marketplace-field"
	RuleMarketEntry   = "marketplace-entry"
	RuleMarketTwice   = "marketplace-duplicate"
	RuleMarketSource  = "marketplace-source"
	RuleMarketPath    = "marketplace-path"
	RuleMarketCommand = "marketplace-command"
	RuleMarketPin     = "marketplace-pin"
)

// The rules that folders can break, which package plugins applies.
const (
	RuleManifest     = "plugin-manifest"
	RuleSkills       = "plugin-skills"
	RulePlace        = "plugin-skill-place"
	RuleOutside      = "plugin-skill-outside"
	RuleMCPSecret    = "mcp-secret"
	RuleMarketStrict = "marketplace-strict"
)
