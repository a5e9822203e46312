package knack_test

// This file has the tables of the rules in layers_test.go.

// foundations lists the packages that every package may import: they know texts and lists, and no
// skills. They may import one another in this order.
var foundations = []string{"internal/sorting", "internal/lazyregexp", "internal/display", "internal/typo"}

// directions lists, for each package, the packages of this module that it may import beside
// the foundations. Every package may import the standard library. Other modules are in
// outside.
var directions = map[string][]string{
	"internal/sorting":    {},
	"internal/lazyregexp": {},
	"internal/display":    {"internal/lazyregexp"},
	"internal/typo":       {"internal/lazyregexp", "internal/display"},
	"internal/ruleid":     {},
	"internal/naming":     {"skill/frontmatter"},
	"lockfile":            {"internal/jsonfile", "skill"},
	"internal/jsonfile":   {"skill"},                                // JSON files that people may edit, with the place of a fault
	"approve":             {"edit", "internal/jsonfile", "skill"},   // which sets of files the operator has approved
	"lockfile/foreign":    {"origin", "skill", "skill/frontmatter"}, // what other installers recorded
	"origin":              {"trust", "skill/frontmatter", "skill"},
	"origin/folder":       {"internal/realpath", "origin", "skill", "source/dir"}, // kinds of sources never import each other
	"internal/realpath":   {},                                                     // links of every kind, in paths
	"store":               {"edit", "lockfile", "origin", "skill"},                // verified skills by digest
	"internal/fetch":      {},                                                     // the https client for sources
	"archive":             {"origin"},                                             // zip and tar
	"trust":               {},                                                     // signatures of releases, and rules about them
	// A library as one release of the store.
	"publish": {"archive", "internal/registry", "internal/semver", "lockfile", "origin", "skill", "trust"}, // skills as releases and artifacts of a registry
	"pull":    {"archive", "origin", "skill", "store", "edit", "lockfile", "source/dir", "trust"},
	// Skills compared with the locks of their folders.
	"internal/provenance": {"catalog", "internal/realpath", "lockfile", "skill", "source/dir"},
	"origin/oci":          {"trust", "archive", "internal/registry", "origin", "skill"},
	// The client of OCI registries, and what docker's configuration says about one.
	"internal/registry":                {"internal/fetch", "internal/registry/internal/login", "origin", "skill"},
	"internal/registry/internal/login": {},
	"origin/archive":                   {"archive", "internal/fetch", "internal/realpath", "origin", "skill", "source/dir"},
	"origin/wellknown":                 {"archive", "internal/fetch", "origin", "skill"},

	"origin/git": {"internal/fetch", "origin", "skill"}, // starts git

	"origin/peer": {"internal/fetch", "lockfile", "origin", "skill", "skillsext"}, // servers of the Skills extension

	// The servers whose tools a model may call: a client of MCP, by HTTP or a program's pipes.
	"peer": {"internal/fetch", "internal/reach", "skillsext"},

	"skill":             {"skill/frontmatter", "internal/naming", "internal/ruleid"},
	"skill/frontmatter": {"internal/ruleid"},
	"source/dir":        {"skill/frontmatter", "skill", "source/dir/internal/watch", "internal/realpath"}, // sources never import each other
	// The folders of roots, watched through one watcher of the system.
	"source/dir/internal/watch": {"internal/realpath"},
	"source/builtin":            {"skill"},
	"source/release":            {"lockfile", "skill", "source/dir", "store"}, // the skills of a release, through the doors of source/dir
	"skillsext":                 {"internal/rawjson", "skill/frontmatter", "skill"},
	"client":                    {"edit", "internal/realpath"}, // one place knows how a file is replaced whole
	"edit":                      {"internal/realpath"},
	"scan":                      {"skill", "skill/frontmatter", "scan/internal/archive", "scan/internal/characters", "scan/internal/commands", "scan/internal/found", "scan/internal/markdown", "scan/internal/passage", "scan/internal/paths", "scan/internal/phrase", "scan/internal/picture", "scan/internal/secrets", "scan/internal/words"}, // what a skill would do
	// What a scan knows apart from skills: sets of words, hosts by their names, secrets, and
	// the texts in images.
	"scan/internal/words":          {},
	"scan/internal/hosts":          {"scan/internal/words"},
	"scan/internal/paths":          {}, // what a path holds, by its name
	"scan/internal/secrets":        {},
	"scan/internal/passage":        {"skill"},                          // texts that know where they stand in a file
	"scan/internal/phrase":         {"scan/internal/words"},            // what sentences say
	"scan/internal/found":          {"scan/internal/passage", "skill"}, // what readers report
	"scan/internal/decode":         {"scan/internal/words"},
	"scan/internal/lexer":          {"scan/internal/decode"},                                                                                                                                                                                // Python, JavaScript and TypeScript as words
	"scan/internal/commands":       {"scan/internal/decode", "scan/internal/found", "scan/internal/hosts", "scan/internal/lexer", "scan/internal/passage", "scan/internal/paths", "scan/internal/secrets", "scan/internal/words", "skill"},  // what commands do
	"scan/internal/characters":     {"scan/internal/found", "scan/internal/passage", "scan/internal/secrets"},                                                                                                                               // those that people do not see
	"scan/internal/markdown":       {"scan/internal/commands", "scan/internal/found", "scan/internal/hosts", "scan/internal/passage", "scan/internal/phrase", "scan/internal/secrets", "scan/internal/words", "skill", "skill/frontmatter"}, // what people see and do not see of a text
	"scan/internal/archive":        {"scan/internal/secrets", "skill"},                                                                                                                                                                      // zip, tar and gzip in memory
	"scan/internal/secrets/canary": {"scan/internal/secrets"},                                                                                                                                                                               // for tests: invented secrets
	"scan/internal/picture":        {"scan/internal/secrets"},
	"internal/baseline":            {"scan", "skill"}, // findings of a scan that are known
	"check":                        {"internal/naming", "skill/frontmatter", "internal/ruleid", "scan", "skill"},
	"config":                       {"internal/semver", "origin", "skill/frontmatter", "skill", "check", "scan", "access", "access/openid", "limit", "internal/hosts", "trust"}, // the sections' types and keys; a rule is named by its table
	"search":                       {},
	// The measurement of search; another module measures another engine with it.
	"search/internal/knownitem": {"catalog"},
	"reads":                     {"skill"}, // what one request read, for the audit log
	"catalog":                   {"catalog/internal/digests", "internal/ruleid", "skill", "search", "reads", "limit"},
	"catalog/internal/digests":  {"skill"},
	"access":                    {"catalog", "skill"},
	"access/openid":             {"access"}, // a sign-in's provider
	// A server's record of its answers, and limit on their rate: concerns of the server alone.
	"audit": {},
	"limit": {"skill"}, // its errors
	"tool":  {"internal/rawjson", "internal/ruleid", "catalog", "limit", "skill", "tool/internal/listing", "tool/lookup", "tool/profile", "tool/wave"},
	// What the tools are made of: what clients show, lists that fit, finding, and contract 003.
	"tool/profile":          {},
	"tool/internal/listing": {"catalog", "skill", "tool/profile"},
	"tool/lookup":           {"catalog", "reads", "skill", "tool/profile"},
	"tool/wave":             {"catalog", "internal/ruleid", "skill", "skill/frontmatter", "tool/internal/listing", "tool/lookup"},
	"function":              {"tool", "tool/profile"},
	// Whether the right skill is taken for a prompt, and the command for that.
	"eval":           {"catalog", "chat", "internal/jsonfile", "model", "search", "skill", "tool"},
	"internal/trial": {"catalog", "eval", "internal/command", "internal/console", "internal/settings", "internal/talk", "model", "skill", "source/builtin", "tool", "tool/profile"},
	// A conversation of a user, a model and the skills, and the command for it.
	"chat":          {"function", "model", "reads", "tool", "tool/profile"},
	"internal/talk": {"catalog", "chat", "config", "edit", "function", "internal/build", "internal/command", "internal/console", "internal/fetch", "internal/listing", "internal/settings", "model", "peer", "tool"},
	"model":         {}, // a turn of a conversation with a language model
	"mcpserver": {"skill/frontmatter", "reads", "tool", "tool/lookup", "tool/profile", "access", "audit", "catalog", "limit", "skillsext", "skill", "internal/guard", "internal/publication", "internal/rawjson", "internal/subscription", "internal/tally", "internal/trail",
		"mcpserver/internal/wire", "mcpserver/internal/stdio", "mcpserver/internal/httpd", "mcpserver/internal/notify"},
	// How the server speaks: messages as bytes, as lines, and over HTTP.
	"mcpserver/internal/wire":   {"internal/rawjson"},
	"mcpserver/internal/stdio":  {"mcpserver/internal/wire"},
	"mcpserver/internal/httpd":  {"mcpserver/internal/wire", "internal/guard", "internal/rawjson", "limit", "skillsext"},
	"mcpserver/internal/notify": {"access", "catalog", "internal/subscription", "skill"},
	"internal/rawjson":          {},
	// What every HTTP request passes, to MCP and to pages alike.
	"internal/hosts": {}, // the hosts and origins that a server answers to
	"internal/guard": {"access", "audit", "catalog", "internal/hosts", "internal/rawjson", "internal/trail", "limit", "reads"},
	// Requests in words of the audit log.
	"internal/trail": {"access", "audit", "catalog", "reads", "skill"},
	// Entries of the Skills extension.
	"internal/publication": {"catalog", "skill", "skill/frontmatter", "skillsext"},
	// How often methods were called, and how long that took.
	"internal/tally": {},
	// Files that sessions wait for.
	"internal/subscription": {"catalog", "limit", "skill"},
	// The one place that counts problems, for commands and pages alike; it asks the sources
	// which files are beside the skills.
	"doctor": {"internal/console", "internal/naming", "internal/ruleid", "catalog", "check", "edit", "scan", "skill", "source/dir", "tool"},
	// How often skills are used, and the file that keeps the counts.
	"usage":                   {"catalog", "skill", "tool"},
	"internal/ledger":         {"edit", "internal/settings", "skill", "usage"},
	"web":                     {"skill/frontmatter", "internal/ruleid", "reads", "limit", "access", "access/openid", "catalog", "tool", "tool/lookup", "usage", "check", "client", "doctor", "skill", "internal/guard", "web/internal/markdown", "web/internal/checks", "web/internal/latest", "web/internal/parcels", "web/internal/exposition", "web/internal/sources", "web/internal/scans", "internal/follow", "internal/diff"},
	"web/internal/markdown":   {"web/internal/gfm"}, // of skills, as HTML that cannot do anything
	"web/internal/checks":     {"internal/ruleid", "catalog", "check", "doctor", "skill", "web/internal/latest"},
	"web/internal/parcels":    {"archive", "catalog", "limit", "reads", "skill"},                  // skills of several files as archives
	"web/internal/sources":    {"internal/display", "internal/follow", "web/internal/exposition"}, // the sources that a server follows
	"web/internal/scans":      {"catalog", "doctor", "scan", "skill", "web/internal/exposition"},  // what scans found
	"web/internal/exposition": {"internal/display"},                                               // metrics as text, and the count of responses
	"web/internal/latest":     {"catalog"}, "web/internal/gfm": {},                                // what is kept for a snapshot; what Markdown has beyond CommonMark
	"internal/certificate": {"internal/settings"},                                                // a server's own, read again when it changes
	"internal/help":        {},                                                                   // the form of help, and topics
	"internal/overview":    {"catalog", "client", "internal/connection", "skill"},                // what knack finds, in five lines
	"internal/listing":     {"catalog", "doctor", "internal/console", "search", "skill", "tool"}, // the text of list and search
	"internal/build":       {}, "internal/memory": {},                                            // which build this is, and the memory of a server
	"internal/stored":    {"doctor", "store"},                                                                                                                        // what the store of a server has of a source, for commands beside it
	"internal/observe":   {"audit", "catalog", "doctor", "internal/hold", "internal/tally", "internal/follow", "internal/vet", "mcpserver", "skill", "usage", "web"}, // metrics, usage, audit log
	"internal/candidate": {"catalog", "check", "internal/console"},                                                                                                   // words that a shell offers
	"internal/cli": {"internal/approval", "internal/talk", "internal/trial", "internal/baseline", "scan", "internal/vet",
		"skill", "source/dir", "source/builtin", "skillsext", "client", "edit", "catalog",
		"access", "access/openid", "audit", "limit", "tool", "tool/lookup", "tool/profile", "function", "mcpserver", "web", "check", "config", "doctor", "search", "internal/ruleid", "internal/naming", "internal/connection", "internal/console", "internal/diff", "internal/fit", "internal/reach", "internal/report", "internal/command", "internal/locate", "internal/build", "internal/certificate", "internal/help", "internal/listing", "internal/memory", "internal/observe", "internal/overview", "internal/candidate", "internal/realpath", "internal/settings", "internal/ledger", "internal/supply", "internal/follow", "internal/replica", "usage",
		"access", "access/openid", "audit", "limit", "tool", "tool/lookup", "tool/profile", "function", "mcpserver", "web", "check", "config", "doctor", "search", "internal/ruleid", "internal/naming", "internal/connection", "internal/console", "internal/diff", "internal/fit", "internal/reach", "internal/report", "internal/command", "internal/locate", "internal/build", "internal/certificate", "internal/help", "internal/listing", "internal/memory", "internal/observe", "internal/overview", "internal/candidate", "internal/realpath", "internal/settings", "internal/ledger", "usage",
		"access", "access/openid", "audit", "limit", "tool", "tool/lookup", "tool/profile", "function", "mcpserver", "web", "check", "config", "doctor", "search", "internal/ruleid", "internal/naming", "internal/connection", "internal/console", "internal/diff", "internal/fit", "internal/reach", "internal/report", "internal/build", "internal/certificate", "internal/help", "internal/listing", "internal/memory", "internal/observe", "internal/overview", "internal/candidate", "internal/realpath", "internal/settings", "internal/ledger", "internal/provenance", "usage",
	},
	// The sources of a server, kept current.
	"internal/follow":  {"internal/semver", "origin", "pull", "skill", "source/release", "store"},
	"internal/replica": {"doctor", "internal/stored", "catalog", "config", "internal/command", "internal/console", "internal/fetch", "internal/follow", "internal/settings", "internal/supply", "origin", "pull", "skill", "source/release", "store", "trust"},
	// Skills that are served only if a judge lets them pass, and the judge by the operator's policy.
	"internal/hold":    {"catalog", "skill"},
	"internal/vet":     {"access", "approve", "catalog", "config", "edit", "internal/build", "internal/console", "internal/hold", "internal/settings", "scan", "skill"},
	"internal/semver":  {},                                         // versions of tags and releases
	"internal/locate":  {"edit", "internal/console", "source/dir"}, // which folder is a command's project
	"internal/command": {},                                         // how commands fail, and count their arguments
	// Skills from elsewhere, put where agents read them, and the commands for that.
	"install":         {"archive", "trust", "edit", "internal/realpath", "lockfile", "lockfile/foreign", "origin", "skill", "source/dir", "store", "internal/semver"},
	"internal/supply": {"config", "trust", "install", "internal/command", "internal/console", "internal/fetch", "internal/locate", "internal/realpath", "internal/registry", "internal/settings", "lockfile", "lockfile/foreign", "origin", "origin/archive", "origin/folder", "origin/git", "origin/oci", "origin/wellknown", "skill", "source/dir", "store", "origin/peer", "pull", "publish", "check", "internal/report"},
	// The commands approve and revoke, and scan --against.
	"internal/approval":   {"approve", "edit", "catalog", "internal/command", "internal/console", "internal/diff", "internal/report", "internal/build", "internal/settings", "internal/supply", "scan", "skill"},
	"internal/report":     {"scan", "check", "doctor", "internal/console", "internal/settings", "skill", "skillsext"}, // what check found, in each form
	"internal/console":    {},                                                                                         // what a command takes from its process, and how it writes to it
	"internal/connection": {"client", "edit", "internal/diff"},                                                        // how a client is connected, in words
	// Whether access rules fit the roots of a server.
	"internal/fit":      {"access", "catalog", "config", "internal/settings", "skill"},
	"internal/settings": {"approve", "edit", "access", "access/openid", "catalog", "config", "internal/console", "internal/realpath", "skill", "source/builtin", "source/dir", "tool", "trust"}, // knack.yaml, the user's and the projects'
	"internal/diff":     {},                                                                                                                                                                     // the difference of two texts, as patch and people read it
	"internal/reach":    {"skillsext"},                                                                                                                                                          // why a server cannot be reached, in words
	"cmd/knack":         {"internal/cli", "internal/console"},
	// Skills for benchmarks, and the command that writes them.
	"internal/genskills":       {},
	"internal/genskills/write": {"internal/genskills"},
	// Measurements are separate from what they measure.
	"bench":                {"internal/genskills", "tool", "skill", "source/dir", "catalog", "origin", "origin/folder", "pull", "store"},
	"bench/floor":          {},
	"internal/sbom":        {},                   // a program of the release, no part of knack
	"interop/agents/model": {},                   // for tests: a model server that follows a script
	"internal/corpus":      {},                   // for tests: where the corpus of real skills is
	"internal/alloctest":   {},                   // for tests: what a function asks of the heap
	"internal/skilltest":   {"catalog", "skill"}, // for tests: skills in memory
	"internal/testwait":    {},                   // for tests: waits for events, and moves the clock of a bubble
	"internal/prose":       {},                   // the command that lists odd phrases; its test keeps them rare
	// For tests: registries, and faults on the way to them.
	"internal/registrytest": {},
}

// programs lists the packages that may start other programs: of the product, those that start
// git, the credential helpers that the user configured for docker, and the servers that the user
// names.
var programs = []string{"bench", "origin/git", "peer", "internal/registry/internal/login", "internal/registrytest"}

// outside lists, for each other module, the packages that may import it. A module without a
// row needs one, and a decision.
var outside = map[string][]string{
	"go.yaml.in/yaml/v4":                     {"skill/frontmatter", "client"},
	"github.com/modelcontextprotocol/go-sdk": {"skillsext", "peer", "mcpserver", "mcpserver/internal/wire", "mcpserver/internal/stdio", "mcpserver/internal/httpd", "mcpserver/internal/notify"},
	"github.com/fsnotify/fsnotify":           {"source/dir/internal/watch"},
	"github.com/tailscale/hujson":            {"client"},
	"github.com/spf13/cobra":                 {"internal/approval", "internal/cli", "internal/command", "internal/help", "internal/supply", "internal/talk", "internal/trial"},
	"github.com/spf13/pflag":                 {"internal/cli"}, // of cobra
	"golang.org/x/sys":                       {"source/dir", "internal/console", "edit", "bench"},
	"golang.org/x/term":                      {"internal/console"},
	"golang.org/x/text":                      {"skill", "internal/display", "internal/naming", "search", "catalog"},
	"github.com/coreos/go-oidc/v3":           {"access/openid"},
	"golang.org/x/oauth2":                    {"access/openid"},
	"golang.org/x/sync":                      {"origin/oci", "publish", "pull", "internal/cli"},
	"github.com/yuin/goldmark":               {"web/internal/markdown", "web/internal/gfm", "scan/internal/markdown"},
	"mvdan.cc/sh/v3":                         {"scan/internal/commands"},
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
	allowed: []string{"internal/console", "cmd/knack", "internal/genskills/write", "internal/sbom", "internal/prose", "internal/corpus", "internal/registrytest", "internal/testwait", "bench", "bench/floor"},
}

// files lists the names that access a disk by path. A source opens skills; edit and client
// change files that the user named; store reads its own; internal/settings reads configuration, and internal/certificate
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
	allowed: []string{"source/dir", "source/dir/internal/watch", "internal/realpath", "source/builtin", "edit", "store", "client", "doctor", "internal/cli", "internal/settings", "internal/certificate", "audit", "internal/console", "internal/genskills/write", "internal/prose", "internal/corpus", "internal/registrytest", "bench", "bench/floor"},
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
	allowed: []string{"edit", "store", "audit", "internal/genskills/write", "bench", "internal/registrytest"},
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

	"scan/internal/commands": 3900, // shells and code hold texts of one another
}

const mostLines = 3500

// suites lists the most lines that all packages below a folder may have together.
var suites = map[string]int{"mcpserver/internal/": 3350}
