package knack_test

// The tables of the rules in rules_test.go.

// programs lists the packages that may start other programs. Packages of the product start git, the
// credential helpers that the user configured for docker, and the servers that the user names.
var programs = []string{"internal/tools/bench", "internal/distribution/origin/git", "internal/llm/mcpclient", "internal/distribution/registry/internal/login", "internal/test/registrytest"}

// outside lists, for each other module, the packages that may import it. A new module needs a row
// here, and a decision.
var outside = map[string][]string{
	"go.yaml.in/yaml/v4":                     {"skill/frontmatter", "internal/clientconfig"},
	"github.com/modelcontextprotocol/go-sdk": {"skillsext", "internal/workspace/login", "internal/llm/mcpclient", "mcpserver", "mcpserver/internal/wire", "mcpserver/internal/stdio", "mcpserver/internal/httpd", "mcpserver/internal/notify"},
	"github.com/fsnotify/fsnotify":           {"source/dir/internal/watch"},
	"github.com/tailscale/hujson":            {"internal/clientconfig"},
	"github.com/pelletier/go-toml/v2":        {"internal/clientconfig"},
	"github.com/google/go-cmp":               {"internal/test/difftest"},
	"github.com/aymanbagabas/go-udiff":       {"internal/base/diff"},
	"github.com/spf13/cobra":                 {"internal/cli/approvecmd", "internal/cli", "internal/cli/command", "internal/cli/help", "internal/cli/distcmd", "internal/cli/chatcmd", "internal/cli/evalcmd", "internal/cli/selection"},
	"github.com/spf13/pflag":                 {"internal/cli", "internal/cli/help"}, // of cobra
	"golang.org/x/mod":                       {"internal/base/semver"},
	"golang.org/x/sys":                       {"source/dir", "internal/base/console", "internal/base/edit", "internal/tools/bench"},
	"golang.org/x/term":                      {"internal/base/console"},
	"golang.org/x/tools":                     {"internal/tools/typecheck"},
	"golang.org/x/text":                      {"skill", "internal/base/display", "internal/base/search", "catalog"},
	"github.com/coreos/go-oidc/v3":           {"internal/server/openid"},
	"golang.org/x/oauth2":                    {"internal/server/openid", "internal/workspace/login"},
	"golang.org/x/sync":                      {"internal/analysis/scan/internal/bound", "internal/distribution/origin/oci", "internal/distribution/publish", "internal/distribution/pull", "internal/cli"},
	"github.com/yuin/goldmark":               {"internal/web/internal/markdown", "internal/analysis/scan/internal/markdown"},
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
	allowed: []string{"internal/base/console", "cmd/knack", "internal/tools/genskills/write", "internal/tools/sbom", "internal/tools/prose", "internal/tools/typecheck", "internal/test/corpus", "internal/test/registrytest", "internal/test/testwait", "internal/tools/bench", "internal/tools/bench/floor"},
}

// files lists the names that access a disk by path. A source opens skills. Packages edit and
// clientconfig change files that the user named, and store reads its own. In internal/workspace,
// settings reads configuration, plugins lists folders of plugins, and certificate checks whether a
// file has changed. Package buildinfo reads the running program, and audit opens its own file
// again. Package doctor lists folders and opens no file, and console opens the pipe of an output
// once more.
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
	allowed: []string{"source/dir", "source/dir/internal/watch", "internal/base/buildinfo", "internal/base/realpath", "source/builtin", "internal/base/edit", "internal/distribution/store", "internal/clientconfig", "internal/analysis/doctor", "internal/cli", "internal/cli/selection", "internal/policy/approvals", "internal/workspace/settings", "internal/workspace/plugins", "internal/workspace/certificate", "internal/server/audit", "internal/base/console", "internal/tools/genskills/write", "internal/tools/prose", "internal/test/corpus", "internal/test/registrytest", "internal/tools/bench", "internal/tools/bench/floor"},
}

// writes lists the names that make or replace a file. Package edit writes files through the open
// folder, whole or not at all, and never overwrites another program's change. Package audit appends
// to its log.
var writes = use{
	names: map[string][]string{
		"os":        {"Create", "CreateTemp", "WriteFile", "Mkdir", "MkdirAll", "MkdirTemp", "Rename", "Link", "Symlink", "Chmod", "Truncate"},
		"io/ioutil": {"WriteFile", "TempFile", "TempDir"},
		"syscall":   {"Rename", "Link", "Symlink", "Mkdir"},
	},
	allowed: []string{"internal/base/edit", "internal/server/audit", "internal/tools/genskills/write", "internal/tools/bench", "internal/test/registrytest"},
}

// guards lists the functions that create sources of skills, and those that bypass the operator's
// policy. Few packages may use them, so that no command can forget the guard; see [workspace.Open].
var guards = use{
	names: map[string][]string{
		module + "/source/builtin":             {"New"},
		module + "/internal/policy/admission":  {"Open", "New"},
		module + "/internal/policy/provenance": {"New"},
		module + "/internal/policy":            {"Guarded"},
		module + "/internal/workspace/replica": {"Open"},
		module + "/internal/workspace":         {"OpenUnguarded"},
	},
	allowed: []string{"internal/workspace", "internal/workspace/settings", "internal/cli/selection"},
}

// vague lists package names without a meaning, which attract unrelated code.
var vague = []string{"utils", "util", "common", "helpers", "helper", "pkg", "shared", "misc"}
