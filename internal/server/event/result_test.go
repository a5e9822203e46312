package event

import (
	"context"
	"testing"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/policy"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/skill"
)

// holds is a decider that holds back every skill except the one with the name fine.
var holds = &policy.Decider{Decide: func(ctx context.Context, c *policy.Candidate) policy.Ruling {
	if c.Read(ctx, 0, 0); c.Name == "fine" {
		return policy.Ruling{}
	}
	return policy.Ruling{Held: &skill.HeldError{Name: c.Name, Message: "held back: run.sh:3:1: it is run [run-decoded]"}}
}}

// TestHeldReason checks that a request for a skill that the operator's policy holds back is denied
// with the reason. The request can refer to the skill by name, by folder or by URI. If rules hide
// the skill from the subject, the event has no reason.
func TestHeldReason(t *testing.T) {
	files := map[string]string{}
	for folder, name := range map[string]string{"fine": "fine", "bad": "bad", "old": "renamed"} {
		files[folder+"/SKILL.md"] = "---\nname: " + name + "\ndescription: Does it.\n---\n"
	}
	c := catalog.New([]catalog.Source{policy.Guarded(skilltest.New("s", skill.ScopeProject, files), holds)}, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	deny, err := access.ParsePattern("skill://s/bad")
	if err != nil {
		t.Fatal(err)
	}
	hidden := access.NewPolicy(true, []access.Rule{{Deny: []access.Pattern{deny}}}).Filter(access.Subject{})
	const why = "held back: run.sh:3:1: it is run [run-decoded]"
	for _, tt := range []struct {
		asked, file string
		filter      *catalog.Filter
		want        Result
		why         string
	}{
		{"bad", "", nil, Denied, why},
		{"renamed", "", nil, Denied, why},
		{"old", "", nil, Denied, why},
		{"skill://s/bad/SKILL.md", "", nil, Denied, why},
		{"skill://s/bad/run.sh", "", nil, Denied, why},
		{"skill://s/renamed/SKILL.md", "", nil, Denied, why},
		{"skill://s/badly/SKILL.md", "", nil, NotFound, ""},
		{"none", "", nil, NotFound, ""},
		{"fine", "none.md", nil, NotFound, ""},
		{"bad", "", hidden, Denied, ""},
		{"skill://s/bad/SKILL.md", "", hidden, Denied, ""},
	} {
		v, ready := c.Now(tt.filter)
		if !ready {
			t.Fatal("not ready")
		}
		for _, method := range []string{"tools/call", "resources/read", "GET"} {
			e := Event{Method: method, Asked: tt.asked, File: tt.file, View: v}
			if e.Explain(c, nil); e.Result != tt.want || e.Reason != tt.why {
				t.Errorf("%s %s: %s, %q", method, tt.asked, e.Result, e.Reason)
			}
		}
	}
}
