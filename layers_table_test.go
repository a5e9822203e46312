package knack_test

// This file has the tables of the rules in layers_test.go.

// foundations lists the packages that every package may import: they know texts and lists, and no
// skills. They may import one another in this order.
var foundations = []string{"internal/base/sorting", "internal/base/lazyregexp", "internal/base/display", "internal/base/typo"}

// directions lists, for each package, the packages of this module that it may import beside
// the foundations. Every package may import the standard library. Other modules are in
// outside.
var directions = map[string][]string{
	"internal/base/sorting":                  {},
	"internal/base/lazyregexp":               {},
	"internal/base/display":                  {"internal/base/lazyregexp"},
	"internal/base/typo":                     {"internal/base/lazyregexp", "internal/base/display"},
	"internal/base/ruleid":                   {},
	"internal/base/naming":                   {"skill/frontmatter"},
	"lockfile":                               {"internal/base/jsonfile", "skill"},
	"internal/base/jsonfile":                 {"skill"},                                   // JSON files that people may edit, with the place of a fault
	"approve":                                {"edit", "internal/base/jsonfile", "skill"}, // which sets of files the operator has approved
	"internal/distribution/lockfile/foreign": {"origin", "skill", "skill/frontmatter"},    // what other installers recorded
	"origin":                                 {"trust", "skill/frontmatter", "skill"},
	"internal/distribution/origin/folder":    {"internal/base/realpath", "origin", "skill", "source/dir"}, // kinds of sources never import each other
	"internal/base/realpath":                 {},                                                          // links of every kind, in paths
	"store":                                  {"edit", "lockfile", "origin", "skill"},                     // verified skills by digest
	"internal/base/httpfetch":                {},                                                          // the https client for sources
	"archive":                                {"origin"},                                                  // zip and tar
	"trust":                                  {},                                                          // signatures of releases, and rules about them
	// A library as one release of the store.
	"publish": {"archive", "internal/distribution/registry", "internal/base/semver", "lockfile", "origin", "skill", "trust"}, // skills as releases and artifacts of a registry
	"pull":    {"archive", "origin", "skill", "store", "edit", "lockfile", "source/dir", "trust"},
	// Skills compared with the locks of their folders.
	"internal/policy/provenance":       {"catalog", "internal/base/realpath", "lockfile", "skill", "source/dir"},
	"internal/distribution/origin/oci": {"trust", "archive", "internal/distribution/registry", "origin", "skill"},
	// The client of OCI registries, and what docker's configuration says about one.
	"internal/distribution/registry":                {"internal/base/httpfetch", "internal/distribution/registry/internal/login", "origin", "skill"},
	"internal/distribution/registry/internal/login": {},
	"internal/distribution/origin/archive":          {"archive", "internal/base/httpfetch", "internal/base/realpath", "origin", "skill", "source/dir"},
	"internal/distribution/origin/wellknown":        {"archive", "internal/base/httpfetch", "origin", "skill"},

	"internal/distribution/origin/git": {"internal/base/httpfetch", "origin", "skill"}, // starts git

	"internal/distribution/origin/mcp": {"internal/base/httpfetch", "lockfile", "origin", "skill", "skillsext"}, // servers of the Skills extension

	// The servers whose tools a model may call: a client of MCP, by HTTP or a program's pipes.
	"peer": {"internal/base/httpfetch", "internal/llm/reach", "skillsext"},

	"skill":             {"skill/frontmatter", "internal/base/naming", "internal/base/ruleid"},
	"skill/frontmatter": {"internal/base/ruleid"},
	"source/dir":        {"skill/frontmatter", "skill", "source/dir/internal/watch", "internal/base/realpath"}, // sources never import each other
	// The folders of roots, watched through one watcher of the system.
	"source/dir/internal/watch":     {"internal/base/realpath"},
	"source/builtin":                {"skill"},
	"internal/distribution/release": {"lockfile", "skill", "source/dir", "store"}, // the skills of a release, through the doors of source/dir
	"skillsext":                     {"internal/base/rawjson", "skill/frontmatter", "skill"},
	"client":                        {"edit", "internal/base/realpath"}, // one place knows how a file is replaced whole
	"edit":                          {"internal/base/realpath"},
	"scan":                          {"skill", "skill/frontmatter", "internal/analysis/scan/internal/archive", "internal/analysis/scan/internal/characters", "internal/analysis/scan/internal/commands", "internal/analysis/scan/internal/found", "internal/analysis/scan/internal/markdown", "internal/analysis/scan/internal/passage", "internal/analysis/scan/internal/paths", "internal/analysis/scan/internal/phrase", "internal/analysis/scan/internal/picture", "internal/analysis/scan/internal/secrets", "internal/analysis/scan/internal/words"}, // what a skill would do
	// What a scan knows apart from skills: sets of words, hosts by their names, secrets, and
	// the texts in images.
	"internal/analysis/scan/internal/words":          {},
	"internal/analysis/scan/internal/hosts":          {"internal/analysis/scan/internal/words"},
	"internal/analysis/scan/internal/paths":          {}, // what a path holds, by its name
	"internal/analysis/scan/internal/secrets":        {},
	"internal/analysis/scan/internal/passage":        {"skill"},                                            // texts that know where they stand in a file
	"internal/analysis/scan/internal/phrase":         {"internal/analysis/scan/internal/words"},            // what sentences say
	"internal/analysis/scan/internal/found":          {"internal/analysis/scan/internal/passage", "skill"}, // what readers report
	"internal/analysis/scan/internal/decode":         {"internal/analysis/scan/internal/words"},
	"internal/analysis/scan/internal/lexer":          {"internal/analysis/scan/internal/decode"},                                                                                                                                                                                                                                                                                                             // Python, JavaScript and TypeScript as words
	"internal/analysis/scan/internal/commands":       {"internal/analysis/scan/internal/decode", "internal/analysis/scan/internal/found", "internal/analysis/scan/internal/hosts", "internal/analysis/scan/internal/lexer", "internal/analysis/scan/internal/passage", "internal/analysis/scan/internal/paths", "internal/analysis/scan/internal/secrets", "internal/analysis/scan/internal/words", "skill"}, // what commands do
	"internal/analysis/scan/internal/characters":     {"internal/analysis/scan/internal/found", "internal/analysis/scan/internal/passage", "internal/analysis/scan/internal/secrets"},                                                                                                                                                                                                                        // those that people do not see
	"internal/analysis/scan/internal/markdown":       {"internal/analysis/scan/internal/commands", "internal/analysis/scan/internal/found", "internal/analysis/scan/internal/hosts", "internal/analysis/scan/internal/passage", "internal/analysis/scan/internal/phrase", "internal/analysis/scan/internal/secrets", "internal/analysis/scan/internal/words", "skill", "skill/frontmatter"},                  // what people see and do not see of a text
	"internal/analysis/scan/internal/archive":        {"internal/analysis/scan/internal/secrets", "skill"},                                                                                                                                                                                                                                                                                                   // zip, tar and gzip in memory
	"internal/analysis/scan/internal/secrets/canary": {"internal/analysis/scan/internal/secrets"},                                                                                                                                                                                                                                                                                                            // for tests: invented secrets
	"internal/analysis/scan/internal/picture":        {"internal/analysis/scan/internal/secrets"},
	"internal/analysis/baseline":                     {"scan", "skill"}, // findings of a scan that are known
	"check":                                          {"internal/base/naming", "skill/frontmatter", "internal/base/ruleid", "scan", "skill"},
	"config":                                         {"internal/base/semver", "origin", "skill/frontmatter", "skill", "check", "scan", "access", "internal/server/openid", "limit", "internal/base/hosts", "trust"}, // the sections' types and keys; a rule is named by its table
	"search":                                         {},
	// The measurement of search; another module measures another engine with it.
	"internal/tools/knownitem": {"catalog"},
	"reads":                    {"skill"}, // what one request read, for the audit log
	"catalog":                  {"catalog/internal/digests", "internal/base/ruleid", "skill", "search", "reads", "limit"},
	"catalog/internal/digests": {"skill"},
	"access":                   {"catalog", "skill"},
	"internal/server/openid":   {"access"}, // a sign-in's provider
	// A server's record of its answers, and limit on their rate: concerns of the server alone.
	"audit": {},
	"limit": {"skill"}, // its errors
	"tool":  {"internal/base/rawjson", "internal/base/ruleid", "catalog", "limit", "skill", "tool/internal/listing", "tool/lookup", "tool/profile", "tool/wave"},
	// What the tools are made of: what clients show, lists that fit, finding, and contract 003.
	"tool/profile":          {},
	"tool/internal/listing": {"catalog", "skill", "tool/profile"},
	"tool/lookup":           {"catalog", "reads", "skill", "tool/profile"},
	"tool/wave":             {"catalog", "internal/base/ruleid", "skill", "skill/frontmatter", "tool/internal/listing", "tool/lookup"},
	"function":              {"tool", "tool/profile"},
	// Whether the right skill is taken for a prompt, and the command for that.
	"eval":                 {"catalog", "chat", "internal/base/jsonfile", "model", "search", "skill", "tool"},
	"internal/cli/evalcmd": {"catalog", "eval", "internal/cli/command", "internal/base/console", "internal/workspace/settings", "internal/cli/chatcmd", "model", "skill", "source/builtin", "tool", "tool/profile"},
	// A conversation of a user, a model and the skills, and the command for it.
	"chat":                 {"function", "model", "reads", "tool", "tool/profile"},
	"internal/cli/chatcmd": {"catalog", "chat", "config", "edit", "function", "internal/base/buildinfo", "internal/cli/command", "internal/base/console", "internal/base/httpfetch", "internal/cli/listing", "internal/workspace/settings", "model", "peer", "tool"},
	"model":                {}, // a turn of a conversation with a language model
	"mcpserver": {"skill/frontmatter", "reads", "tool", "tool/lookup", "tool/profile", "access", "audit", "catalog", "limit", "skillsext", "skill", "internal/server/httpguard", "mcpserver/internal/publication", "internal/base/rawjson", "mcpserver/internal/subscription", "internal/server/callstats", "internal/server/trail",
		"mcpserver/internal/wire", "mcpserver/internal/stdio", "mcpserver/internal/httpd", "mcpserver/internal/notify"},
	// How the server speaks: messages as bytes, as lines, and over HTTP.
	"mcpserver/internal/wire":   {"internal/base/rawjson"},
	"mcpserver/internal/stdio":  {"mcpserver/internal/wire"},
	"mcpserver/internal/httpd":  {"mcpserver/internal/wire", "internal/server/httpguard", "internal/base/rawjson", "limit", "skillsext"},
	"mcpserver/internal/notify": {"access", "catalog", "mcpserver/internal/subscription", "skill"},
	"internal/base/rawjson":     {},
	// What every HTTP request passes, to MCP and to pages alike.
	"internal/base/hosts":       {}, // the hosts and origins that a server answers to
	"internal/server/httpguard": {"access", "audit", "catalog", "internal/base/hosts", "internal/base/rawjson", "internal/server/trail", "limit", "reads"},
	// Requests in words of the audit log.
	"internal/server/trail": {"access", "audit", "catalog", "reads", "skill"},
	// Entries of the Skills extension.
	"mcpserver/internal/publication": {"catalog", "skill", "skill/frontmatter", "skillsext"},
	// How often methods were called, and how long that took.
	"internal/server/callstats": {},
	// Files that sessions wait for.
	"mcpserver/internal/subscription": {"catalog", "limit", "skill"},
	// The one place that counts problems, for commands and pages alike; it asks the sources
	// which files are beside the skills.
	"doctor": {"internal/base/console", "internal/base/naming", "internal/base/ruleid", "catalog", "check", "edit", "scan", "skill", "source/dir", "tool"},
	// How often skills are used, and the file that keeps the counts.
	"usage":                            {"catalog", "skill", "tool"},
	"internal/workspace/usagefile":     {"edit", "internal/workspace/settings", "skill", "usage"},
	"web":                              {"skill/frontmatter", "internal/base/ruleid", "reads", "limit", "access", "internal/server/openid", "catalog", "tool", "tool/lookup", "usage", "check", "client", "doctor", "skill", "internal/server/httpguard", "internal/web/internal/markdown", "internal/web/internal/checks", "internal/web/internal/latest", "internal/web/internal/parcels", "internal/web/internal/exposition", "internal/web/internal/sources", "internal/web/internal/scans", "internal/distribution/follow", "internal/base/diff"},
	"internal/web/internal/markdown":   {"internal/web/internal/gfm"}, // of skills, as HTML that cannot do anything
	"internal/web/internal/checks":     {"internal/base/ruleid", "catalog", "check", "doctor", "skill", "internal/web/internal/latest"},
	"internal/web/internal/parcels":    {"archive", "catalog", "limit", "reads", "skill"},                                             // skills of several files as archives
	"internal/web/internal/sources":    {"internal/base/display", "internal/distribution/follow", "internal/web/internal/exposition"}, // the sources that a server follows
	"internal/web/internal/scans":      {"catalog", "doctor", "scan", "skill", "internal/web/internal/exposition"},                    // what scans found
	"internal/web/internal/exposition": {"internal/base/display"},                                                                     // metrics as text, and the count of responses
	"internal/web/internal/latest":     {"catalog"}, "internal/web/internal/gfm": {},                                                  // what is kept for a snapshot; what Markdown has beyond CommonMark
	"internal/workspace/certificate": {"internal/workspace/settings"},                                           // a server's own, read again when it changes
	"internal/cli/help":              {},                                                                        // the form of help, and topics
	"internal/cli/overview":          {"catalog", "client", "internal/clientconfig/connection", "skill"},        // what knack finds, in five lines
	"internal/cli/listing":           {"catalog", "doctor", "internal/base/console", "search", "skill", "tool"}, // the text of list and search
	"internal/base/buildinfo":        {}, "internal/cli/memory": {},                                             // which build this is, and the memory of a server
	"internal/cli/stored":     {"doctor", "store"},                                                                                                                                                                          // what the store of a server has of a source, for commands beside it
	"internal/cli/observe":    {"audit", "catalog", "doctor", "internal/policy/quarantine", "internal/server/callstats", "internal/distribution/follow", "internal/policy/admission", "mcpserver", "skill", "usage", "web"}, // metrics, usage, audit log
	"internal/cli/completion": {"catalog", "check", "internal/base/console"},                                                                                                                                                // words that a shell offers
	"internal/cli": {"internal/cli/approvecmd", "internal/cli/chatcmd", "internal/cli/evalcmd", "internal/analysis/baseline", "scan", "internal/policy/admission",
		"skill", "source/dir", "source/builtin", "skillsext", "client", "edit", "catalog",
		"access", "internal/server/openid", "audit", "limit", "tool", "tool/lookup", "tool/profile", "function", "mcpserver", "web", "check", "config", "doctor", "search", "internal/base/ruleid", "internal/base/naming", "internal/clientconfig/connection", "internal/base/console", "internal/base/diff", "internal/workspace/accesscheck", "internal/llm/reach", "internal/cli/report", "internal/cli/command", "internal/workspace/project", "internal/base/buildinfo", "internal/workspace/certificate", "internal/cli/help", "internal/cli/listing", "internal/cli/memory", "internal/cli/observe", "internal/cli/overview", "internal/cli/completion", "internal/base/realpath", "internal/workspace/settings", "internal/workspace/usagefile", "internal/cli/distcmd", "internal/distribution/follow", "internal/cli/replica", "usage",
		"access", "internal/server/openid", "audit", "limit", "tool", "tool/lookup", "tool/profile", "function", "mcpserver", "web", "check", "config", "doctor", "search", "internal/base/ruleid", "internal/base/naming", "internal/clientconfig/connection", "internal/base/console", "internal/base/diff", "internal/workspace/accesscheck", "internal/llm/reach", "internal/cli/report", "internal/cli/command", "internal/workspace/project", "internal/base/buildinfo", "internal/workspace/certificate", "internal/cli/help", "internal/cli/listing", "internal/cli/memory", "internal/cli/observe", "internal/cli/overview", "internal/cli/completion", "internal/base/realpath", "internal/workspace/settings", "internal/workspace/usagefile", "usage",
		"access", "internal/server/openid", "audit", "limit", "tool", "tool/lookup", "tool/profile", "function", "mcpserver", "web", "check", "config", "doctor", "search", "internal/base/ruleid", "internal/base/naming", "internal/clientconfig/connection", "internal/base/console", "internal/base/diff", "internal/workspace/accesscheck", "internal/llm/reach", "internal/cli/report", "internal/base/buildinfo", "internal/workspace/certificate", "internal/cli/help", "internal/cli/listing", "internal/cli/memory", "internal/cli/observe", "internal/cli/overview", "internal/cli/completion", "internal/base/realpath", "internal/workspace/settings", "internal/workspace/usagefile", "internal/policy/provenance", "usage",
	},
	// The sources of a server, kept current.
	"internal/distribution/follow": {"internal/base/semver", "origin", "pull", "skill", "internal/distribution/release", "store"},
	"internal/cli/replica":         {"doctor", "internal/cli/stored", "catalog", "config", "internal/cli/command", "internal/base/console", "internal/base/httpfetch", "internal/distribution/follow", "internal/workspace/settings", "internal/cli/distcmd", "origin", "pull", "skill", "internal/distribution/release", "store", "trust"},
	// Skills that are served only if a judge lets them pass, and the judge by the operator's policy.
	"internal/policy/quarantine": {"catalog", "skill"},
	"internal/policy/admission":  {"access", "approve", "catalog", "config", "edit", "internal/base/buildinfo", "internal/base/console", "internal/policy/quarantine", "internal/workspace/settings", "scan", "skill"},
	"internal/base/semver":       {},                                              // versions of tags and releases
	"internal/workspace/project": {"edit", "internal/base/console", "source/dir"}, // which folder is a command's project
	"internal/cli/command":       {},                                              // how commands fail, and count their arguments
	// Skills from elsewhere, put where agents read them, and the commands for that.
	"install":              {"archive", "trust", "edit", "internal/base/realpath", "lockfile", "internal/distribution/lockfile/foreign", "origin", "skill", "source/dir", "store", "internal/base/semver"},
	"internal/cli/distcmd": {"config", "trust", "install", "internal/cli/command", "internal/base/console", "internal/base/httpfetch", "internal/workspace/project", "internal/base/realpath", "internal/distribution/registry", "internal/workspace/settings", "lockfile", "internal/distribution/lockfile/foreign", "origin", "internal/distribution/origin/archive", "internal/distribution/origin/folder", "internal/distribution/origin/git", "internal/distribution/origin/oci", "internal/distribution/origin/wellknown", "skill", "source/dir", "store", "internal/distribution/origin/mcp", "pull", "publish", "check", "internal/cli/report"},
	// The commands approve and revoke, and scan --against.
	"internal/cli/approvecmd":          {"approve", "edit", "catalog", "internal/cli/command", "internal/base/console", "internal/base/diff", "internal/cli/report", "internal/base/buildinfo", "internal/workspace/settings", "internal/cli/distcmd", "scan", "skill"},
	"internal/cli/report":              {"scan", "check", "doctor", "internal/base/console", "internal/workspace/settings", "skill", "skillsext"}, // what check found, in each form
	"internal/base/console":            {},                                                                                                        // what a command takes from its process, and how it writes to it
	"internal/clientconfig/connection": {"client", "edit", "internal/base/diff"},                                                                  // how a client is connected, in words
	// Whether access rules fit the roots of a server.
	"internal/workspace/accesscheck": {"access", "catalog", "config", "internal/workspace/settings", "skill"},
	"internal/workspace/settings":    {"approve", "edit", "access", "internal/server/openid", "catalog", "config", "internal/base/console", "internal/base/realpath", "skill", "source/builtin", "source/dir", "tool", "trust"}, // knack.yaml, the user's and the projects'
	"internal/base/diff":             {},                                                                                                                                                                                        // the difference of two texts, as patch and people read it
	"internal/llm/reach":             {"skillsext"},                                                                                                                                                                             // why a server cannot be reached, in words
	"cmd/knack":                      {"internal/cli", "internal/base/console"},
	// Skills for benchmarks, and the command that writes them.
	"internal/tools/genskills":       {},
	"internal/tools/genskills/write": {"internal/tools/genskills"},
	// Measurements are separate from what they measure.
	"bench":                      {"internal/tools/genskills", "tool", "skill", "source/dir", "catalog", "origin", "internal/distribution/origin/folder", "pull", "store"},
	"internal/tools/bench/floor": {},
	"internal/tools/sbom":        {},                   // a program of the release, no part of knack
	"interop/agents/model":       {},                   // for tests: a model server that follows a script
	"internal/test/corpus":       {},                   // for tests: where the corpus of real skills is
	"internal/test/alloctest":    {},                   // for tests: what a function asks of the heap
	"internal/test/skilltest":    {"catalog", "skill"}, // for tests: skills in memory
	"internal/test/testwait":     {},                   // for tests: waits for events, and moves the clock of a bubble
	"internal/tools/prose":       {},                   // the command that lists odd phrases; its test keeps them rare
	// For tests: registries, and faults on the way to them.
	"internal/test/registrytest": {},
}

// programs lists the packages that may start other programs: of the product, those that start
// git, the credential helpers that the user configured for docker, and the servers that the user
// names.
var programs = []string{"bench", "internal/distribution/origin/git", "peer", "internal/distribution/registry/internal/login", "internal/test/registrytest"}

// outside lists, for each other module, the packages that may import it. A module without a
// row needs one, and a decision.
var outside = map[string][]string{
	"go.yaml.in/yaml/v4":                     {"skill/frontmatter", "client"},
	"github.com/modelcontextprotocol/go-sdk": {"skillsext", "peer", "mcpserver", "mcpserver/internal/wire", "mcpserver/internal/stdio", "mcpserver/internal/httpd", "mcpserver/internal/notify"},
	"github.com/fsnotify/fsnotify":           {"source/dir/internal/watch"},
	"github.com/tailscale/hujson":            {"client"},
	"github.com/spf13/cobra":                 {"internal/cli/approvecmd", "internal/cli", "internal/cli/command", "internal/cli/help", "internal/cli/distcmd", "internal/cli/chatcmd", "internal/cli/evalcmd"},
	"github.com/spf13/pflag":                 {"internal/cli"}, // of cobra
	"golang.org/x/sys":                       {"source/dir", "internal/base/console", "edit", "bench"},
	"golang.org/x/term":                      {"internal/base/console"},
	"golang.org/x/text":                      {"skill", "internal/base/display", "internal/base/naming", "search", "catalog"},
	"github.com/coreos/go-oidc/v3":           {"internal/server/openid"},
	"golang.org/x/oauth2":                    {"internal/server/openid"},
	"golang.org/x/sync":                      {"internal/distribution/origin/oci", "publish", "pull", "internal/cli"},
	"github.com/yuin/goldmark":               {"internal/web/internal/markdown", "internal/web/internal/gfm", "internal/analysis/scan/internal/markdown"},
	"mvdan.cc/sh/v3":                         {"internal/analysis/scan/internal/commands"},
}

// surroundings lists the names that read arguments, the environment or the home folder.
// Other packages get these values from their callers.
var surroundings = use{
	names: map[string][]string{
		"os":      {"Args", "Getenv", "LookupEnv", "Environ", "ExpandEnv", "UserHomeDir", "UserConfigDir", "UserCacheDir"},
		"os/user": {"Current", "Lookup", "LookupId"},
		"syscall": {"Getenv", "Environ"},
		"flag":    {"Parse", "Args", "Arg", "NArg", "CommandLine"},
	},
	allowed: []string{"internal/base/console", "cmd/knack", "internal/tools/genskills/write", "internal/tools/sbom", "internal/tools/prose", "internal/test/corpus", "internal/test/registrytest", "internal/test/testwait", "bench", "internal/tools/bench/floor"},
}

// files lists the names that access a disk by path. A source opens skills; edit and client
// change files that the user named; store reads its own; internal/workspace/settings reads configuration, and internal/workspace/certificate
// looks whether such a file has changed. audit reopens its own
// file; doctor lists folders and opens no file; console opens the pipe of an output once more.
var files = use{
	names: map[string][]string{
		"os": {
			"Open", "OpenFile", "OpenInRoot", "OpenRoot", "ReadFile", "ReadDir", "DirFS", "CopyFS", "Stat", "Lstat", "Readlink",
			"Remove", "RemoveAll",
		},
		"io/ioutil":             {"ReadFile", "ReadDir", "WriteFile", "TempFile", "TempDir"},
		"path/filepath":         {"Walk", "WalkDir", "Glob", "EvalSymlinks"},
		"syscall":               {"Open", "Openat", "Stat", "Lstat"},
		"golang.org/x/sys/unix": {"Open", "Openat", "Openat2", "Stat", "Lstat", "Fstatat"},
	},
	allowed: []string{"source/dir", "source/dir/internal/watch", "internal/base/realpath", "source/builtin", "edit", "store", "client", "doctor", "internal/cli", "internal/workspace/settings", "internal/workspace/certificate", "audit", "internal/base/console", "internal/tools/genskills/write", "internal/tools/prose", "internal/test/corpus", "internal/test/registrytest", "bench", "internal/tools/bench/floor"},
}

// writes lists the names that make or replace a file. Package edit writes files whole or
// not at all, and never over another program's change. Package store makes its own folders.
// Package audit appends to its log.
var writes = use{
	names: map[string][]string{
		"os":        {"Create", "CreateTemp", "WriteFile", "Mkdir", "MkdirAll", "MkdirTemp", "Rename", "Link", "Symlink", "Chmod", "Truncate"},
		"io/ioutil": {"WriteFile", "TempFile", "TempDir"},
		"syscall":   {"Rename", "Link", "Symlink", "Mkdir"},
	},
	allowed: []string{"edit", "store", "audit", "internal/tools/genskills/write", "bench", "internal/test/registrytest"},
}

// vague lists package names without a meaning, which attract unrelated code.
var vague = []string{"utils", "util", "common", "helpers", "helper", "pkg", "shared", "misc"}

// Lines of a file; longer files are split. Tests may be longer, because cases are long.
const (
	longFile = 450
	longTest = 600
)

// rooms lists the most lines that the files of a package may have together, in order to
// notice that it begins to hold two ideas. Packages without a row have mostLines.
var rooms = map[string]int{
	"internal/cli": 5700, // one file a command, 40 of them
	"web":          5000, // one file a page
	"mcpserver":    2560,
	"source/dir":   3700, // what opens skills is one place
	"catalog":      3600,

	"internal/analysis/scan/internal/commands": 3900, // shells and code hold texts of one another
}

const mostLines = 3500

// suites lists the most lines that all packages below a folder may have together.
var suites = map[string]int{"mcpserver/internal/": 3350}
