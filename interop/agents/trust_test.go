package agents

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// trusting lists the clients that call knack's tools in a headless run after knack connect --trust.
// The value is the argument that replaces --allow-all-tools, for a client without a file that
// allows tools.
var trusting = map[string]string{"Claude Code": "", "Codex": "", "Gemini CLI": "", "OpenCode": "", "Qwen Code": "", "Copilot CLI": "--allow-tool=knack"}

// TestTrust connects each client with --trust alone, and runs it without a person. It checks that
// the model gets the skill that it loads, and that without --trust Claude Code refuses the call.
func TestTrust(t *testing.T) {
	value := os.Getenv(which)
	if value == "" {
		t.Skipf("real clients run with make trust, or where %s names them", which)
	}
	for _, a := range agents {
		allow, tried := trusting[a.name]
		if !tried {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			if !a.chosen(value) {
				t.Skipf("%s=%s does not name %s", which, value, a.folder)
			}
			a.installed(t)
			t.Parallel()
			a.flags = []string{"--trust"}
			if a.id == "claude-code" {
				a.prepare = nil // the prepared settings allow the tools
			}
			args := a.args
			a.args = func(r *session, prompt string) []string {
				all := args(r, prompt)
				if i := slices.Index(all, "--allow-all-tools"); i >= 0 {
					all[i] = allow
				}
				return all
			}
			if answer := a.headless(t, "trust"); !strings.Contains(answer, inSkill) {
				t.Errorf("with --trust the model gets %q", answer)
			}
			if a.id == "claude-code" {
				a.flags = nil
				if answer := a.headless(t, "no-trust"); strings.Contains(answer, inSkill) {
					t.Errorf("without --trust the model gets the skill: the trust is not needed")
				} else {
					t.Logf("without --trust: %s", tail(answer))
				}
			}
		})
	}
}

// inSkill is a phrase in the built-in skill write-a-skill.
const inSkill = "Name one kind of task"

// headless runs a client whose model calls skill once, and returns the answer that the model gets.
func (a agent) headless(t *testing.T, scenario string) string {
	t.Helper()
	load := &step{tool: "skill", args: object{"name": "write-a-skill"}}
	p := &play{steps: []*step{load}}
	r := begin(t, a, scenario, "", p)
	if err := r.connect(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s%s", r.stdout, r.stderr)
	if err := r.client(a.args(r, prompt)...); err != nil {
		t.Log(err)
	}
	for _, trouble := range p.trouble {
		t.Log(trouble)
	}
	return plain(strings.Join(load.answers, "\n"))
}
