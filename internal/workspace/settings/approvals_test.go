package settings

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestApprovals checks which file of approvals applies, and that a project's file cannot name one.
func TestApprovals(t *testing.T) {
	env := environment(t)
	user := filepath.Join(env.Home, ".config", "knack")
	at := func(config, want string) {
		t.Helper()
		if got, err := New(env, config).Approvals(); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	write(t, filepath.Join(env.Dir, "knack.yaml"), "check: {strict: true}\napprovals: mine.json\n")
	at("", filepath.Join(user, "approvals.json"))
	write(t, filepath.Join(user, "knack.yaml"), "approvals: git/a.json\n")
	at("", filepath.Join(user, "git", "a.json"))
	write(t, filepath.Join(env.Dir, "etc", "k.yaml"), "lock: warn\n")
	at("etc/k.yaml", filepath.Join(env.Dir, "etc", "approvals.json"))
	absolute := filepath.Join(env.Dir, "elsewhere.json")
	write(t, filepath.Join(env.Dir, "etc", "k.yaml"), "approvals: '"+absolute+"'\n")
	at("etc/k.yaml", absolute)

	f, err := New(env, "").project(env.Dir)
	if err != nil || len(f.Problems) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	if p := f.Problems[0]; p.Position.String() != "2:1" || p.Field != "approvals" || !strings.Contains(p.Message, "a clone could otherwise approve its own") || p.Fix == "" {
		t.Errorf("%+v", p)
	}
	write(t, filepath.Join(user, "knack.yaml"), "aprovals: x\n")
	if got, err := New(env, "").Approvals(); got != "" || err == nil {
		t.Errorf("of a damaged file %q, %v", got, err)
	}
}
