package commands

import "github.com/knack-dev/knack/scan/internal/words"

// lang is the language of a text that an interpreter runs.
type lang int

const (
	langNone lang = iota
	langShell
	langPython
	langJavaScript
	langOther // one that no reader is for
)

// languages has the programs that run a text, and its language. Source: MITRE ATT&CK T1059 and its parts.
var languages = map[string]lang{
	"sh": langShell, "bash": langShell, "zsh": langShell, "dash": langShell, "ksh": langShell, "mksh": langShell, "ash": langShell, "fish": langShell, "su": langShell,
	"python": langPython, "pypy": langPython, "pypy3": langPython, "node": langJavaScript, "bun": langJavaScript, "deno": langJavaScript, "nodejs": langJavaScript,
	"perl": langOther, "ruby": langOther, "php": langOther, "lua": langOther, "osascript": langOther, "pwsh": langOther, "powershell": langOther, "tclsh": langOther,
}

// fetchers has the programs that write what a URL delivers. Source: MITRE ATT&CK T1105; the last two
// rows are the commands of PowerShell and their aliases.
var fetchers = words.Set{Rows: "curl wget fetch aria2c http https xh lynx w3m lwp-request httpie axel " +
	"iwr irm invoke-webrequest invoke-restmethod"}

// filters has the programs that write what they read, as it is or changed. Source: POSIX, and the
// manuals of GNU coreutils, gzip, xz, zstd, zip, openssl and jq.
var filters = words.Set{Rows: "cat tac nl head tail sed awk gawk grep egrep fgrep sort uniq cut tr rev fold fmt pr expand column strings less more dd pv sponge ts " +
	"gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat zstd zstdcat lz4 brotli tar zip unzip openssl gpg age jq yq base64 base32 basenc xxd od hexdump uuencode iconv dos2unix"}

// senders has the programs that send a file or their input to a host. Source: MITRE ATT&CK T1048.
// curl and wget send too: see fetch.
var senders = words.Set{Rows: "nc ncat netcat socat telnet scp rsync"}

// writers has the programs that write the file which their last argument names.
var writers = words.Set{Rows: "cp mv ln install rsync"}

// keychains has the programs that write out secrets of a keychain, with the commands that do. Source:
// MITRE ATT&CK T1555.001 (security) and T1555 (secret-tool of libsecret).
var keychains = map[string]string{
	"security":    "find-generic-password find-internet-password dump-keychain",
	"secret-tool": "lookup search",
}

const wholeEnvironment = "the whole environment"

// credentialPaths has the ends of paths that hold credentials, in a person's home folder. A row that
// ends with / has all below it. Sources: MITRE ATT&CK T1552.001, T1552.004 and T1555.003; the manual
// of each program for where it keeps them.
var credentialPaths = []string{
	".ssh/id_", ".ssh/", // OpenSSH; see publicPaths
	".aws/credentials", ".aws/sso/cache/", ".azure/accesstokens.json", ".azure/msal_token_cache", ".config/gcloud/", // AWS, Azure, Google
	".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh/hosts.yml", ".npmrc", ".pypirc", ".gem/credentials", ".cargo/credentials", // curl, git, gh, registries
	".docker/config.json", ".kube/config", ".vault-token", ".terraform.d/credentials", ".pgpass", ".my.cnf", ".gnupg/", ".password-store/", // tools
	".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", // agents
	"library/keychains/", ".local/share/keyrings/", // systems
	"library/application support/google/chrome/", ".config/google-chrome/", ".mozilla/firefox/", "library/application support/firefox/", "library/cookies/", // browsers
	".bitcoin/", ".ethereum/keystore/", ".electrum/wallets/", ".config/solana/id.json", "library/application support/exodus/", // wallets
}

// systemCredentials has whole paths of a system. Source: shadow(5), proc(5).
var systemCredentials = []string{"/etc/shadow", "/etc/gshadow", "/proc/self/environ", "/etc/krb5.keytab"}

// publicPaths has names in those folders that hold nothing secret. Source: ssh(1), FILES.
var publicPaths = []string{".pub", "known_hosts", ".ssh/config", "authorized_keys", ".ssh/rc", ".ssh/environment"}

// startPaths has the files and folders whose content starts by itself: MITRE ATT&CK T1546.004 (shell
// start files), T1053.003 (cron), T1543.001 and .004 (launchd), T1543.002 (systemd), T1547.013
// (autostart), T1037 (rc scripts), T1098.004 (authorized_keys), T1548.003 (sudoers); githooks(5).
var startPaths = []string{
	"/.bashrc", "/.bash_profile", "/.bash_login", "/.bash_logout", "/.profile", "/.zshrc", "/.zprofile", "/.zshenv", "/.zlogin", "/.kshrc", "/.config/fish/config.fish", "/.config/fish/conf.d/",
	"/etc/profile", "/etc/bash.bashrc", "/etc/zshrc", "/etc/zsh/", "/etc/rc.local", "/etc/init.d/", "/etc/cron", "/var/spool/cron/", "/etc/anacrontab",
	"/library/launchagents/", "/library/launchdaemons/", "/etc/systemd/system/", "/lib/systemd/system/", "/.config/systemd/user/", "/.config/autostart/", "/etc/xdg/autostart/",
	"/.git/hooks/", "/.ssh/authorized_keys", "/.ssh/rc", "/etc/sudoers", "/start menu/programs/startup/", "/etc/ld.so.preload",
}

// agentPaths has the files that agents read as settings or instructions: the documentation of Claude
// Code, Codex, Gemini CLI, Cursor, Copilot, Windsurf, Cline and OpenClaw.
var agentPaths = []string{
	"/claude.md", "/claude.local.md", "/agents.md", "/agents.override.md", "/gemini.md", "/soul.md", "/memory.md", "/heartbeat.md", "/.mcp.json", "/.claude.json",
	"/.claude/settings.json", "/.claude/settings.local.json", "/.claude/hooks/", "/.claude/agents/", "/.claude/commands/", "/.claude/skills/", "/.claude/plugins/",
	"/.codex/config.toml", "/.codex/skills/", "/.agents/skills/", "/.gemini/settings.json", "/.gemini/skills/", "/.cursor/rules", "/.cursor/mcp.json", "/.cursorrules", "/.cursor/skills/",
	"/.github/copilot-instructions.md", "/.windsurfrules", "/.windsurf/rules", "/.clinerules", "/.openclaw/", "/.config/opencode/",
}

// builtins has the words of shells that start no program. Source: POSIX, and the manual of bash.
var builtins = words.Set{Rows: "alias bg bind break builtin caller cd command compgen complete continue declare dirs disown echo enable eval exec exit export false fc fg getopts hash help history jobs let local logout " +
	"mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait . : [ ]"}
