package provenance

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
)

// TestNested checks that a skill within a locked skill counts as locked, unless it was put there by
// hand.
func TestNested(t *testing.T) {
	for _, enforce := range []bool{false, true} {
		p := newProject(t)
		p.skill(".agents/skills/outer")
		p.skill(".agents/skills/outer/more/inner")
		p.skill(".agents/skills/outer/more/deep/er")
		p.lock(".agents/skills/outer")
		c, _ := p.catalog(Options{Enforce: enforce}, p.root(".agents/skills"))
		v := p.refresh(c)
		for _, folder := range []string{"outer", "inner", "er"} {
			e := in(t, v, folder)
			if got := v.Locked(t.Context(), e); got.State != catalog.AsLocked || got.Source != "github.com/acme/skills" || got.Reason != "" {
				t.Errorf("enforce %v: %s: %+v", enforce, folder, got)
			}
			if _, err := e.Manifest(t.Context(), nil); err != nil {
				t.Errorf("enforce %v: %s: %v", enforce, folder, err)
			}
		}
		p.write(".agents/skills/outer/more/inner/scripts/run.py", "print(2)\n")
		p.skill(".agents/skills/outer/own")
		v = p.refresh(c)
		for folder, want := range map[string]catalog.LockState{
			"outer": catalog.Changed, "inner": catalog.Changed, "er": catalog.AsLocked, "own": catalog.NotLocked,
		} {
			got := v.Locked(t.Context(), in(t, v, folder))
			if got.State != want || want == catalog.NotLocked && !strings.HasPrefix(got.Fix, "move it out of .agents/skills/outer") {
				t.Errorf("enforce %v: %s: %+v", enforce, folder, got)
			}
			if want == catalog.Changed && !strings.Contains(got.Fix, "'knack sync .agents/skills/outer --overwrite --project DIR'") {
				t.Errorf("enforce %v: %s: %s", enforce, folder, got.Fix)
			}
			if refused := got.Refused != nil; refused != (enforce && want != catalog.AsLocked) {
				t.Errorf("enforce %v: %s: refused %v", enforce, folder, refused)
			}
		}
	}
}

// TestFixes checks that the fix for a skill that is not locked or was changed contains a command
// that works in a shell, or general advice.
func TestFixes(t *testing.T) {
	for _, c := range []struct{ folder, label, key, add, restore string }{
		{"/p", ".", ".agents/skills/own", "knack add ./.agents/skills/own records", "knack sync .agents/skills/own --overwrite"},
		{"/p", "", ".agents/skills/own", "knack add DIR/.agents/skills/own --project DIR records", "knack sync .agents/skills/own --overwrite --project DIR"},
		{"/p", "sub", ".agents/skills/own", "knack add ./sub/.agents/skills/own --project sub records", "knack sync .agents/skills/own --overwrite --project sub"},
		{"/h/p", "~/p", ".claude/skills/own", "knack add ~/p/.claude/skills/own --to ~/p/.claude/skills --project ~/p records", "knack sync .claude/skills/own --overwrite --project ~/p"},
		{"/h/.agents", "~/.agents", "skills/own", "knack add ~/.agents/skills/own --global records", "knack sync skills/own --overwrite --global"},
		{"/h/.agents", "~/.agents", "skills/deep/own", "knack add ~/.agents/skills/deep/own --to ~/.agents/skills/deep --global records", "knack sync skills/deep/own --overwrite --global"},
		{"/p/.agents", ".agents", "own", "knack add ./.agents/own --to ./.agents --project .agents records", "knack sync own --overwrite --project .agents"},
		{"/p", ".", ".agents/skills/own; rm -r x", "knack add './.agents/skills/own; rm -r x' records", "knack sync '.agents/skills/own; rm -r x' --overwrite"},
		{"/p", ".", "-x/own", "knack add ./-x/own --to ./-x records", "knack sync --overwrite"},
		{"/p", ".", "~x/own", "knack add './~x/own' --to './~x' records", "knack sync --overwrite"},
		{"/p q", "/p q", ".agents/skills/own", "knack add '/p q/.agents/skills/own' --project '/p q' records", "knack sync .agents/skills/own --overwrite --project '/p q'"},
		{"/p", ".", "../own", "add it with knack add", "knack sync ../own --overwrite"},
	} {
		l := &lock{folder: c.folder, label: c.label, command: New(Options{}).o.Command, global: c.folder == "/h/.agents"}
		if got := New(Options{}).addFix(l, &skill.Bundle{In: &skill.Root{Dir: c.folder}, Path: c.key}, c.key); !strings.HasPrefix(got, c.add) {
			t.Errorf("%q %q %q: %s", c.folder, c.label, c.key, got)
		}
		if got := l.restoreFix(c.key); !strings.HasPrefix(got, "restore it with "+console.Quoted(c.restore)+";") {
			t.Errorf("%q %q %q: %s", c.folder, c.label, c.key, got)
		}
	}
	own := &lock{label: ".", command: New(Options{}).o.Command, skills: map[string]lockfile.Skill{".agents/skills/own": {Source: "./.agents/skills/own", Path: "."}}}
	if got := own.restoreFix(".agents/skills/own"); !strings.HasPrefix(got, "'knack update .agents/skills/own' keeps the change;") {
		t.Errorf("a skill that is its own source: %s", got)
	}
}
