package mcpserver_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver"
)

// TestListChanged checks that clients are notified once of exactly the lists that have changed.
func TestListChanged(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			root := tree(t, map[string]string{"git/SKILL.md": skillMD("git", "Git.", "one")})
			c := catalog.New([]catalog.Source{folder(root)}, catalog.Options{})
			server := serve(t, c) // before the first scan, as in a program
			must(t, c.Refresh(t.Context()))
			var tools, resources, prompts atomic.Int32
			connect(t, server, era, &mcp.ClientOptions{
				ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { tools.Add(1) },
				ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { resources.Add(1) },
				PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { prompts.Add(1) },
			})
			for _, step := range []struct {
				what                      string
				do                        func()
				tools, resources, prompts int32
			}{
				{"nothing", func() {}, 0, 0, 0},
				{"a body changed first", func() { put(t, root, map[string]string{"git/SKILL.md": skillMD("git", "Git.", "another")}) }, 0, 1, 0},
				{"a skill added", func() { put(t, root, map[string]string{"tar/SKILL.md": skillMD("tar", "Tar.", "")}) }, 1, 1, 1},
				{"a description changed", func() { put(t, root, map[string]string{"tar/SKILL.md": skillMD("tar", "Archives.", "")}) }, 1, 1, 1},
				{"a body changed", func() { put(t, root, map[string]string{"git/SKILL.md": skillMD("git", "Git.", "two and more")}) }, 0, 1, 0},
				{"a file touched", func() {
					at := time.Now().Add(-time.Hour)
					must(t, os.Chtimes(filepath.Join(root, "git/SKILL.md"), at, at))
				}, 0, 0, 0},
				{"another file added", func() { put(t, root, map[string]string{"git/notes.md": "notes"}) }, 0, 0, 0},
				{"a faulty skill added", func() { put(t, root, map[string]string{"bad/SKILL.md": "text"}) }, 0, 0, 0},
				{"it became a skill", func() { put(t, root, map[string]string{"bad/SKILL.md": skillMD("good", "Good.", "")}) }, 1, 1, 1},
				{"and faulty again", func() { put(t, root, map[string]string{"bad/SKILL.md": "text"}) }, 1, 1, 1},
				{"it was removed", func() { must(t, os.RemoveAll(filepath.Join(root, "bad"))) }, 0, 0, 0},
				{"a shadowed skill added", func() { put(t, root, map[string]string{"x/tar/SKILL.md": skillMD("Tar", "Another.", "")}) }, 0, 1, 0},
				{"a skill kept from models", func() {
					put(t, root, map[string]string{"mine/SKILL.md": "---\nname: mine\ndescription: Mine.\ndisable-model-invocation: true\n---\n"})
				}, 0, 1, 1},
				{"a skill that is no prompt", func() { put(t, root, map[string]string{"sed/SKILL.md": userMD("sed", "user-invocable: false\n")}) }, 1, 1, 0},
				{"it is one", func() { put(t, root, map[string]string{"sed/SKILL.md": userMD("sed", "")}) }, 0, 1, 1},
				{"it is none again", func() { put(t, root, map[string]string{"sed/SKILL.md": userMD("sed", "user-invocable: false\n")}) }, 0, 1, 1},
				{"a skill removed", func() { must(t, os.RemoveAll(filepath.Join(root, "git"))) }, 1, 1, 1},
				{"nothing again", func() {}, 0, 0, 0},
			} {
				tools.Store(0)
				resources.Store(0)
				prompts.Store(0)
				step.do()
				must(t, c.Refresh(t.Context()))
				testwait.Within(testwait.Patience, func() bool {
					return tools.Load() >= step.tools && resources.Load() >= step.resources && prompts.Load() >= step.prompts
				})
				differ := func() bool {
					return tools.Load() != step.tools || resources.Load() != step.resources || prompts.Load() != step.prompts
				}
				if testwait.Within(60*time.Millisecond, differ) { // changes are joined for 10 ms
					t.Errorf("%s: told %d times of tools, %d of resources and %d of prompts, want %d, %d and %d",
						step.what, tools.Load(), resources.Load(), prompts.Load(), step.tools, step.resources, step.prompts)
				}
			}
		})
	}
}

// TestResourcesPages checks that the pages of a list have every resource once, in order, even if
// the list changes between two pages.
func TestResourcesPages(t *testing.T) {
	if testing.Short() {
		t.Skip("it lays out thousands of files")
	}
	t.Parallel()
	const n = 1200
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("skill-%04d", i)
		files[name+"/SKILL.md"] = skillMD(name, "One of many.", "")
	}
	files["bad/SKILL.md"] = "no frontmatter"
	root := tree(t, files)
	c := scanned(t, folder(root))
	for _, era := range eras {
		client := connect(t, serve(t, c), era, nil)
		pages := 0
		var got []string
		for cursor := ""; ; pages++ {
			res, err := client.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: cursor})
			must(t, err)
			for _, r := range res.Resources {
				got = append(got, r.URI)
			}
			if cursor = res.NextCursor; cursor == "" {
				break
			}
			if len(res.Resources) != 500 {
				t.Errorf("%s: a page of %d", era, len(res.Resources))
			}
		}
		want := make([]string, n)
		for i := range n {
			want[i] = fmt.Sprintf("skill://skill-%04d/SKILL.md", i)
		}
		if !slices.Equal(got, want) || pages != 2 {
			t.Errorf("%s: %d resources on %d pages", era, len(got), pages+1)
		}
	}

	// Between the first page and the second, a skill before the cursor is removed, and so is the
	// skill of the cursor itself. Other skills are added before and after the cursor.
	client := connect(t, serve(t, c), eras[0], nil)
	first, err := client.ListResources(t.Context(), nil)
	must(t, err)
	must(t, os.RemoveAll(filepath.Join(root, "skill-0003")))
	must(t, os.RemoveAll(filepath.Join(root, "skill-0499")))
	put(t, root, map[string]string{
		"aaa/SKILL.md": skillMD("aaa", "Early.", ""), "skill-0499b/SKILL.md": skillMD("skill-0499b", "Between.", ""), "zzz/SKILL.md": skillMD("zzz", "Late.", ""),
	})
	must(t, c.Refresh(t.Context()))
	var rest []string
	for cursor := first.NextCursor; cursor != ""; {
		res, err := client.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: cursor})
		must(t, err)
		for _, r := range res.Resources {
			rest = append(rest, r.URI)
		}
		cursor = res.NextCursor
	}
	want := []string{"skill://skill-0499b/SKILL.md"}
	for i := 500; i < n; i++ {
		want = append(want, fmt.Sprintf("skill://skill-%04d/SKILL.md", i))
	}
	if want = append(want, "skill://zzz/SKILL.md"); !slices.Equal(rest, want) {
		t.Errorf("after a change: %d resources, from %s to %s", len(rest), rest[0], rest[len(rest)-1])
	}
}

// TestNoTools checks that a server without tools works too, and sends notifications of changes.
func TestNoTools(t *testing.T) {
	root := tree(t, map[string]string{"git/SKILL.md": skillMD("git", "Git.", "")})
	c := scanned(t, folder(root))
	told := make(chan struct{}, 8)
	client := connect(t, mcpserver.New(mcpserver.Options{Catalog: c}), legacy, &mcp.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { told <- struct{}{} },
	})
	put(t, root, map[string]string{"tar/SKILL.md": skillMD("tar", "Tar.", "")})
	must(t, c.Refresh(t.Context()))
	<-told
	if _, err := client.ListTools(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
