package words

// credentials lists paths below a home folder that contain credentials. A row that ends with /
// covers everything below it. Sources: MITRE ATT&CK T1552.001, T1552.004 and T1555.003; each
// program's manual.
var credentials = []string{
	".ssh/id_", ".ssh/", // OpenSSH; see public
	".aws/credentials", ".aws/sso/cache/", ".azure/accesstokens.json", ".azure/msal_token_cache", ".config/gcloud/", // AWS, Azure, Google
	".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh/hosts.yml", ".npmrc", ".pypirc", ".gem/credentials", ".cargo/credentials", // curl, git, gh, registries
	".docker/config.json", ".kube/config", ".vault-token", ".terraform.d/credentials", ".pgpass", ".my.cnf", ".gnupg/", ".password-store/", // tools
	".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", // agents
	"library/keychains/", ".local/share/keyrings/", // systems
	"library/application support/google/chrome/", ".config/google-chrome/", ".mozilla/firefox/", "library/application support/firefox/", "library/cookies/", // browsers
	".bitcoin/", ".ethereum/keystore/", ".electrum/wallets/", ".config/solana/id.json", "library/application support/exodus/", // wallets
}

// system lists the full paths of system files with secrets. Source: shadow(5), proc(5).
var system = []string{"/etc/shadow", "/etc/gshadow", "/proc/self/environ", "/etc/krb5.keytab"}

// public lists the ends of paths of files that are not secret, although they are in folders of
// credentials. Source: ssh(1), FILES.
var public = []string{".pub", "known_hosts", ".ssh/config", "authorized_keys", ".ssh/rc", ".ssh/environment"}

// starting lists the files and folders whose content the system or a program starts automatically.
// Sources: MITRE ATT&CK T1546.004 (shell start files), T1053.003 (cron), T1543.001 and .004
// (launchd), T1543.002 (systemd), T1547.013 (autostart), T1037 (rc scripts), T1098.004
// (authorized_keys), T1548.003 (sudoers); githooks(5).
var starting = []string{
	"/.bashrc", "/.bash_profile", "/.bash_login", "/.bash_logout", "/.profile", "/.zshrc", "/.zprofile", "/.zshenv", "/.zlogin", "/.kshrc", "/.config/fish/config.fish", "/.config/fish/conf.d/",
	"/etc/profile", "/etc/bash.bashrc", "/etc/zshrc", "/etc/zsh/", "/etc/rc.local", "/etc/init.d/", "/etc/cron", "/var/spool/cron/", "/etc/anacrontab",
	"/library/launchagents/", "/library/launchdaemons/", "/etc/systemd/system/", "/lib/systemd/system/", "/.config/systemd/user/", "/.config/autostart/", "/etc/xdg/autostart/",
	"/.git/hooks/", "/.ssh/authorized_keys", "/.ssh/rc", "/etc/sudoers", "/start menu/programs/startup/", "/etc/ld.so.preload",
}

// agents lists the files that agents read as settings or instructions. Sources: the documentation
// of Claude Code, Codex, Gemini CLI, Cursor, Copilot, Windsurf, Cline and OpenClaw.
var agents = []string{
	"/claude.md", "/claude.local.md", "/agents.md", "/agents.override.md", "/gemini.md", "/soul.md", "/memory.md", "/heartbeat.md", "/.mcp.json", "/.claude.json",
	"/.claude/settings.json", "/.claude/settings.local.json", "/.claude/hooks/", "/.claude/agents/", "/.claude/commands/", "/.claude/skills/", "/.claude/plugins/",
	"/.codex/config.toml", "/.codex/skills/", "/.agents/skills/", "/.gemini/settings.json", "/.gemini/skills/", "/.cursor/rules", "/.cursor/mcp.json", "/.cursorrules", "/.cursor/skills/",
	"/.github/copilot-instructions.md", "/.windsurfrules", "/.windsurf/rules", "/.clinerules", "/.openclaw/", "/.config/opencode/",
}

// systemFolders lists the folders at the top of a system. Sources: the Filesystem Hierarchy
// Standard 3.0; Apple, File System Programming Guide.
var systemFolders = Set{Rows: "bin boot dev etc home lib lib64 media mnt opt proc root run sbin srv sys tmp usr var Applications Library Network System Users Volumes private cores"}
