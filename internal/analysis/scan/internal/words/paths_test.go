package words

import "testing"

func TestHoldsCredentials(t *testing.T) {
	for path, want := range map[string]bool{
		"~/.aws": true, "$HOME/.ssh/": true, "/home/me/.kube": true, "~/.config/gh": true,
		"~": false, "~/": false, "~/.config": false, "~/Library/Application Support": false, "~/src": false, ".aws": false, "/etc": false,
	} {
		if got := HoldsCredentials(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestTables(t *testing.T) {
	for path, want := range map[string][2]bool{
		"~/.zshrc": {true, false}, "/etc/cron.d/x": {true, false}, "~/Library/LaunchAgents/x.plist": {true, false}, ".git/hooks/pre-commit": {true, false},
		"CLAUDE.md": {false, true}, "~/.claude/skills/x/SKILL.md": {false, true}, ".cursor/rules/x.mdc": {false, true}, "/tmp/CLAUDE.md": {false, false},
		"docs/zshrc": {}, "NOTCLAUDE.md": {}, "a.md": {},
	} {
		if got := [2]bool{Starts(path), IsOfAgents(path)}; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
