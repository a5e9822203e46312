// Package plugin reads the files that describe plugins of agents, and lists of them: plugin.json and
// mcp.json of Agent Plugins 1.0.0, the manifests of single clients, and marketplaces. It is the only
// parser of these files. It opens no file, knows no skills, and follows nothing that it reads.
//
// Each parser returns the useful part of a file, and the faults in it. A fault names the clause or
// client that it offends, the client's reaction, and the fix. A path in a result stays below the
// folder that it belongs to: a path that leads out is a fault, and is left out.
package plugin

// The sizes of files that are read. The specification has no bound. The largest marketplace in
// use has 0.2 MiB.
const (
	MaxManifest    = 1 << 20
	MaxMarketplace = 8 << 20
)

// The identifiers of the schemas of Agent Plugins 1.0.0 (§5.2, §7.2.1).
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

// File is the place of a file below a plugin or a marketplace, and the client whose file it is.
type File struct {
	Path   string
	Client Client
}

// Manifests are the manifests of plugins. The first is the only one of Agent Plugins.
var Manifests = []File{
	{"plugin.json", Portable},
	{".claude-plugin/plugin.json", Claude},
	{".codex-plugin/plugin.json", Codex},
	{".cursor-plugin/plugin.json", Cursor},
	{".github/plugin/plugin.json", Copilot},
	{"gemini-extension.json", Gemini},
	{"qwen-extension.json", Qwen},
}

// Marketplaces are the lists of plugins. Claude's is read by Codex and Copilot too.
var Marketplaces = []File{
	{".claude-plugin/marketplace.json", Claude},
	{".agents/plugins/marketplace.json", Codex},
	{".cursor-plugin/marketplace.json", Cursor},
	{".github/plugin/marketplace.json", Copilot},
}

// The fixed places of the components of a plugin (§6.1).
const (
	SkillsFolder = "skills"
	ServersFile  = "mcp.json"
)

// Effect is the consequence of a fault for a client.
type Effect int

// The effects, from the least to the worst.
const (
	Notes    Effect = iota // nothing: it is worth knowing
	Ignores                // the field, or a client may differ
	Skips                  // the entry: a skill, a server, a plugin of a marketplace
	Disables               // the component type
	Rejects                // the plugin or the marketplace
)

// Fault is one place in a file that breaks a rule.
type Fault struct {
	Rule   string // its ID in [Rules]
	Effect Effect
	// At and End are the bytes of the value or name in the file; both are zero for the whole file.
	At, End int
	Field   string // such as author.email or plugins[3].source, if any
	Message string
	Fix     string
}

// Rule is a row of the table of rules.
type Rule struct {
	ID     string
	Worst  Effect // the usual effect
	Source string // the clause, or the client
	Title  string // the requirement
}

// The rules of files.
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

// The rules of folders, which package plugins applies.
const (
	RuleManifest     = "plugin-manifest"
	RuleSkills       = "plugin-skills"
	RulePlace        = "plugin-skill-place"
	RuleOutside      = "plugin-skill-outside"
	RuleMCPSecret    = "mcp-secret"
	RuleMarketStrict = "marketplace-strict"
)
