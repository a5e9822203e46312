package tool

import (
	"context"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/lookup"
	"github.com/knack-dev/knack/tool/profile"
)

// unreadRoot is a root that cannot be read, or whose scan blocks until held is closed.
type unreadRoot struct {
	*skilltest.Memory
	err     error
	notices []skill.Notice
	gate    chan struct{}
}

func (u *unreadRoot) Scan(ctx context.Context) (skill.Scan, error) {
	if u.gate != nil {
		select {
		case <-u.gate:
		case <-ctx.Done():
			return skill.Scan{}, ctx.Err()
		}
	}
	if u.err != nil {
		return skill.Scan{}, u.err
	}
	scan, err := u.Memory.Scan(ctx)
	scan.Notices = u.notices
	return scan, err
}

const (
	deniedWhy = "permission denied (let the user who runs knack read the folder)"
	reading   = "the skills are still being read; try again in a moment"
	lateWhy   = "it is still being read (ask again in a while; if it stays so, see whether its disk answers)"
)

// TestUnreadRoots checks that a model gets the label of every unread root and the reason, and no
// path: in the instructions, from find_skills with and without a query, and when a skill is not
// found.
func TestUnreadRoots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, remote := range []bool{false, true} {
			late := &unreadRoot{Memory: skilltest.New("dir-1", skill.ScopeProject, map[string]string{"git/SKILL.md": md("git", "Git")}), gate: make(chan struct{})}
			denied := &unreadRoot{Memory: global(nil), err: fmt.Errorf("scan /home/ana/.claude/skills: %w", &fs.PathError{Op: "open", Path: "/home/ana/.claude/skills", Err: fs.ErrPermission})}
			c := catalog.New([]catalog.Source{late, denied}, catalog.Options{Patience: time.Millisecond})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go func() { _ = c.Run(ctx) }()
			h := &Host{Finder: lookup.Finder{Catalog: c, Remote: remote}}
			v := viewOf(t, h)
			tools, err := ParseSets("default")
			if err != nil {
				t.Fatal(err)
			}
			difftest.Same(t, Instructions(v, tools, profile.Client{}), "The skills of this server, instructions for particular tasks, are still being read. Before a task, see with `find_skills` which there are,"+
				" and load the one that fits with this server's tool `skill`.\n\nSkills of the root 'dir-1' may be missing: "+lateWhy+"\n\nSkills of the root 'claude-user' may be missing: "+deniedWhy)
			lines := "\nSkills of the root 'dir-1' may be missing: " + lateWhy + "\nSkills of the root 'claude-user' may be missing: " + deniedWhy
			marked := map[string]any{MetaIncomplete: reading}
			difftest.Same(t, call(t, h, "default", "find_skills", args{}), Result{Text: "No skill can be listed now: " + reading + "." + lines, Meta: marked})
			difftest.Same(t, call(t, h, "default", "find_skills", args{"query": "git"}), Result{
				Text: "No skill that was read so far matches 'git': " + reading + "." + lines, Meta: marked})
			for _, set := range []string{"default", "universal"} {
				difftest.Same(t, call(t, h, set, "skill", args{"name": "git"}), Result{Text: "Skill 'git' cannot be read: " + reading + "." + lines, IsError: true})
			}
			difftest.Same(t, call(t, h, "uri", "list_skills", args{}), Result{Text: "No skill can be listed now: " + reading + "." + lines, Object: skillList{Skills: []listedSkill{}}, Meta: marked})

			close(late.gate)
			testwait.Until(t, func() bool { return viewOf(t, h).Named("git") != nil }, "the late root never joins")
			difftest.Same(t, call(t, h, "default", "find_skills", args{}).Text,
				"Skills 1 to 1 of 1:\n- git (project, skill://dir-1/git/SKILL.md): Git\nSkills of the root 'claude-user' may be missing: "+deniedWhy)
		}
	})
}

// TestPassedOver checks that find_skills reports skipped folders, without a query and for a query
// that names them, and never a path of the host.
func TestPassedOver(t *testing.T) {
	c := catalog.New([]catalog.Source{&unreadRoot{Memory: project(map[string]string{"git/SKILL.md": md("git", "Git")}), notices: []skill.Notice{
		{Path: "x/secret", Message: "the folder cannot be read: permission denied", Fix: "let it be read", Err: fs.ErrPermission},
		{Path: "loop", Message: "the link leads nowhere"},
	}}}, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := NewHost(c)
	const (
		git    = "Skills 1 to 1 of 1:\n- git (project, skill://claude-project/git/SKILL.md): Git"
		secret = "\n'secret' was skipped: claude-project/x/secret: the folder cannot be read: permission denied (let it be read)"
		loop   = "\n'loop' was skipped: claude-project/loop: the link leads nowhere"
	)
	difftest.Same(t, call(t, h, "default", "find_skills", args{}), Result{Text: git + secret + loop})
	difftest.Same(t, call(t, h, "default", "find_skills", args{"query": "git Secret"}), Result{Text: git + secret})
	difftest.Same(t, call(t, h, "default", "find_skills", args{"query": "git"}), Result{Text: git})
}

// TestPassedOverIsSaid checks that the answer to the name of a skipped folder has the reason, and
// that the answer to any other name has none.
func TestPassedOverIsSaid(t *testing.T) {
	root := &unreadRoot{Memory: skilltest.New("claude-project", skill.ScopeProject, map[string]string{"git/SKILL.md": md("git", "Git")}), notices: []skill.Notice{
		{Path: "team/deploy", Rule: "near-miss", Message: "the folder is not a skill: it has SKILLS.md and no SKILL.md", Fix: "rename SKILLS.md to SKILL.md"},
	}}
	c := catalog.New([]catalog.Source{root}, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := NewHost(c)
	inBoth(t, func(t *testing.T, set string) {
		sameIn(t, set, call(t, h, set, "skill", args{"name": "Deploy"}), missing("Deploy", "- git: Git",
			"'deploy' was skipped: claude-project/team/deploy: the folder is not a skill: it has SKILLS.md and no SKILL.md (rename SKILLS.md to SKILL.md)"))
		sameIn(t, set, call(t, h, set, "skill", args{"name": "team"}), missing("team", "- git: Git"))
	})
}
