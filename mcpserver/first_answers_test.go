package mcpserver_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
)

// steady is a source whose scan takes a number of steps. Each step takes one pause and counts as
// progress.
type steady struct {
	catalog.Source
	steps int
	pause time.Duration
}

func (s steady) Scan(ctx context.Context) (skill.Scan, error) {
	if err := testwait.Steps(ctx, s.steps, s.pause, func() { skill.Progress(ctx).Add(1) }); err != nil {
		return skill.Scan{}, err
	}
	return s.Source.Scan(ctx)
}

// TestFirstAnswersAreWhole checks that the first answers of a session wait for all skills while
// reading makes progress. If reading takes too long or hangs, the answers say that skills are still
// being read.
func TestFirstAnswersAreWhole(t *testing.T) {
	const hung = 1000 * time.Hour
	for name, row := range map[string]struct {
		steps  int
		pause  time.Duration
		took   time.Duration
		begins string
	}{
		"at once":                  {0, 0, 0, "1 skill: "},
		"longer than one list":     {45, 100 * time.Millisecond, 4500 * time.Millisecond, "1 skill: "},
		"longer than clients wait": {100, 100 * time.Millisecond, 5 * time.Second, "The skills of this server, instructions for particular tasks, are still being read."},
		"a disk that hangs":        {1, hung, 2500 * time.Millisecond, "The skills of this server, instructions for particular tasks, are still being read."},
	} {
		for _, era := range eras {
			root := tree(t, map[string]string{"git/SKILL.md": skillMD("git", "Git.", "")})
			t.Run(name+" "+era, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := catalog.New([]catalog.Source{steady{folder(root), row.steps, row.pause}}, catalog.Options{Patience: 2 * time.Second})
					ctx, stop := context.WithCancel(t.Context())
					ended := make(chan struct{})
					go func() { defer close(ended); _ = c.Run(ctx) }()
					defer func() { stop(); <-ended }()
					begun := time.Now()
					client := connect(t, serve(t, c), era, nil)
					if took := time.Since(begun).Round(50 * time.Millisecond); took != row.took {
						t.Errorf("the first answer took %v, not %v", took, row.took)
					}
					text := client.InitializeResult().Instructions
					if !strings.HasPrefix(text, row.begins) || strings.Contains(text, "1 skill") != strings.Contains(text, "git") {
						t.Errorf("instructions: %s", text)
					}
					if missing := strings.Contains(text, "Skills of the root 'dir-1' may be missing: it is still being read"); missing == strings.Contains(text, "git") {
						t.Errorf("instructions: %s", text)
					}
					res, err := client.ListTools(t.Context(), nil)
					must(t, err)
					if took := time.Since(begun).Round(50 * time.Millisecond); took > 5*time.Second || strings.Contains(res.Tools[0].Description, "git") != strings.Contains(text, "git") {
						t.Errorf("the first list, after %v: %s", took, res.Tools[0].Description)
					}
					must(t, client.Close())
				})
			})
		}
	}
}

// TestSkillsOfRootsAreAwaited checks that the first list waits for the skills of a client's roots
// once the client has named them.
func TestSkillsOfRootsAreAwaited(t *testing.T) {
	for name, row := range map[string]struct {
		scan  time.Duration
		named bool
	}{"in time": {4 * time.Second, true}, "too late": {8 * time.Second, false}} {
		root := tree(t, map[string]string{"git/SKILL.md": skillMD("git", "Git.", "")})
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := catalog.New(nil, catalog.Options{})
				must(t, c.Refresh(t.Context()))
				taken := make(chan struct{})
				s := serve(t, c, func(o *mcpserver.Options) {
					o.Roots = func(ctx context.Context, _ []string) {
						defer close(taken)
						c.SetSources([]catalog.Source{steady{folder(root), 1, row.scan}})
						_ = c.Refresh(ctx)
					}
				})
				agent := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
				//lint:ignore SA1019 roots are deprecated by the specification and spoken by the clients in use
				agent.AddRoots(&mcp.Root{URI: "file:///work"})
				client, err := agent.Connect(t.Context(), pipes(t, s), &mcp.ClientSessionOptions{ProtocolVersion: legacy})
				must(t, err)
				begun := time.Now()
				res, err := client.ListTools(t.Context(), nil)
				must(t, err)
				if named := strings.Contains(res.Tools[0].Description, "git"); named != row.named {
					t.Errorf("listed after %v: %v", time.Since(begun), named)
				}
				<-taken
				must(t, client.Close())
			})
		})
	}
}
