package agents

import (
	"os"
	"slices"
	"strings"
	"testing"
)

type table struct{}

func (table) close(bool) error { return nil }

var seen table

func TestAgents(t *testing.T) {
	chosen := os.Getenv(which)
	if chosen == "" {
		t.Skipf("real clients run by make agents, or with %s=all; see doc/clients.md", which)
	}
	for _, a := range all {
		t.Run(a.name, func(t *testing.T) {
			if chosen != "all" && !slices.Contains(strings.Split(chosen, ","), a.name) {
				t.Skipf("%s does not name it", which)
			}
			p := &play{steps: []*step{{tool: "skill", args: map[string]any{"name": "terraform-style-guide"}},
				{tool: "read_file_in_skill", args: map[string]any{"skill_name": "terraform-stacks", "file_path": "SKILL.md"}}}}
			r, err := open(a, "names", p.next)
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			if err := os.CopyFS(r.home+"/.agent/skills", os.DirFS("/work/shared/corpus/skills/hashicorp+agent-skills")); err != nil {
				t.Fatal(err)
			}
			if err := r.connect(); err != nil {
				t.Fatal(err)
			}
			if a.list != nil {
				if err := r.client(a.list...); err != nil {
					t.Error(err)
				}
				t.Logf("list: %s %s", r.stdout, r.stderr)
			}
			if err := r.client(a.args(r, "Please read the skills that fit, SUITE-PROMPT.")...); err != nil {
				t.Error(err)
			}
			t.Logf("stdout %s\nstderr %s\nerrands %s", tail(r.stdout), tail(r.stderr), strings.Join(r.model.Errands(), "\n"))
			for _, s := range p.steps {
				t.Logf("%s %q %v", s.tool, s.name, s.found)
				for _, a := range s.answers {
					t.Logf("%d: %.300s", len(a), a)
				}
			}
			t.Log(p.trouble)
			for _, q := range r.model.Requests() {
				var names []string
				for _, tool := range q.Tools {
					names = append(names, shownName(tool)+" "+string(tool.Kind))
				}
				t.Logf("%s %s tools %q", q.API, q.Model, names)
			}
		})
	}
}
