package dir

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// TestLinkedWorktrees checks that a scan does not search a linked worktree below a root, which has
// another state of the same skills.
func TestLinkedWorktrees(t *testing.T) {
	base := tree(t, map[string]string{
		"repo/.git/HEAD": "x", "repo/.git/index": "x", "repo/skills/deploy/SKILL.md": "",
		"repo/.claude/worktrees/feat/.git": "gitdir: ../../../.git/worktrees/feat\n", "repo/.claude/worktrees/feat/skills/deploy/SKILL.md": "",
		"repo/.git/worktrees/feat/index": "x",
		"repo/sub/.git":                  "gitdir: ../.git/modules/sub\n", "repo/sub/s/SKILL.md": "", "repo/.git/modules/sub/index": "x",
		"repo/odd/.git": "gitdir: \x00", "repo/odd/o/SKILL.md": "",
		"bare/.git/HEAD": "x", "bare/feat/.git": "gitdir: ../.git/worktrees/feat\n", "bare/feat/b/SKILL.md": "",
		"other/.git/HEAD": "x", "other/.git/index": "x", "other/wt/.git": "gitdir: ../../repo/.git/worktrees/wt\n", "other/wt/w/SKILL.md": "",
	})
	for root, skills := range map[string][]string{
		"repo":                        {"odd/o", "skills/deploy", "sub/s"},
		"repo/.claude":                nil,
		"repo/.claude/worktrees/feat": {"skills/deploy"},
		"repo/sub":                    {"s"},
		"bare":                        {"feat/b"},
		"other":                       {"wt/w"},
		".":                           {"bare/feat/b", "repo/odd/o", "repo/skills/deploy", "repo/sub/s"}, // the repository of other/wt is searched too
	} {
		for name, d := range doors() {
			scan, err := source(d, filepath.Join(base, root)).Scan(t.Context())
			must(t, err)
			var noticed []string
			for _, n := range scan.Notices {
				noticed = append(noticed, n.Path+" "+string(n.Rule))
			}
			want := map[string][]string{"repo": {".claude/worktrees/feat worktree-ignored"}, "repo/.claude": {"worktrees/feat worktree-ignored"}, ".": {"other/wt worktree-ignored", "repo/.claude/worktrees/feat worktree-ignored"}}[root]
			if diff := cmp.Diff(want, noticed); diff != "" {
				t.Errorf("%s: %s: notices: %s", name, root, diff)
			}
			var got []string
			for _, b := range scan.Bundles {
				got = append(got, b.Path)
			}
			difftest.Same(t, got, skills, name, root)
		}
	}
	if at := filepath.Join(base, "repo"); !LinkedWorktree(at, filepath.Join(at, ".claude/worktrees/feat")) || LinkedWorktree(at, filepath.Join(at, "sub")) || LinkedWorktree(at, filepath.Join(at, "gone")) {
		t.Error("the worktree is not told from the submodule")
	}
}
