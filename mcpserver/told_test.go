package mcpserver_test

//lint:file-ignore SA1019 roots are deprecated by the specification and spoken by the clients in use

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/tool"
)

// layTopics writes the skills topic-FIRST to topic-(TO-1), which are a month old.
func layTopics(t *testing.T, root string, first, to int) {
	t.Helper()
	for i := first; i < to; i++ {
		name := fmt.Sprintf("topic-%03d", i)
		put(t, root, map[string]string{name + "/SKILL.md": skillMD(name, strings.Repeat("Handles the files of one more topic. ", 1+i%9), "")})
		month := time.Now().Add(-30 * 24 * time.Hour)
		must(t, os.Chtimes(filepath.Join(root, name, "SKILL.md"), month, month))
	}
}

var (
	topicName = regexp.MustCompile(`\btopic-\d{3}\b`)
	omitted   = regexp.MustCompile(`(\d+) (?:more )?skills?, not shown to fit`)
)

// topics returns the skills of [layTopics] that a text names, and how many further skills it
// mentions without a name.
func topics(text string) (names map[string]bool, more int) {
	names = map[string]bool{}
	for _, name := range topicName.FindAllString(text, -1) {
		names[name] = true
	}
	if m := omitted.FindStringSubmatch(text); m != nil {
		more, _ = strconv.Atoi(m[1])
	}
	return names, more
}

// TestNamesAfterAChange checks that each skill is named after a change either in a session's
// instructions, which are sent only once, or in the description of the tool, but not in both. The
// description has the number of skills for whose names there is no room.
func TestNamesAfterAChange(t *testing.T) {
	t.Parallel()
	for what, row := range map[string]struct {
		client, version, entry    string
		limit, before, after, cut int
		touch                     []int
		roots, sessionless        bool
	}{
		"no change":             {client: "claude-code", version: "2.1.332", before: 60, after: 60},
		"an entry, no change":   {client: "opencode", version: "1.18.33", entry: "the-skills-of-our-whole-team", limit: 4000, before: 400, after: 400},
		"an entry, no session":  {client: "claude-code", version: "2.1.332", entry: "a", before: 149, after: 149, sessionless: true},
		"a long entry":          {client: "claude-code", version: "2.1.332", entry: "the-skills-of-our-whole-team", before: 149, after: 149, sessionless: true},
		"three touched":         {client: "claude-code", version: "2.1.332", before: 60, after: 60, touch: []int{20, 40, 59}},
		"twenty more":           {client: "claude-code", version: "2.1.332", before: 120, after: 140},
		"many more":             {client: "claude-code", version: "2.1.332", before: 150, after: 900},
		"fewer":                 {client: "claude-code", version: "2.1.332", before: 60, after: 60, cut: 50},
		"all of the first":      {client: "claude-code", version: "2.1.332", before: 60, after: 60, cut: -1},
		"a few become many":     {client: "claude-code", version: "2.1.332", before: 5, after: 100},
		"an older client":       {client: "claude-code", version: "2.1.200", before: 60, after: 70, touch: []int{30, 50}},
		"roots":                 {client: "claude-code", version: "2.1.332", before: 60, after: 72, roots: true},
		"a limit, no change":    {client: "opencode", version: "1.18.33", limit: 4000, before: 150, after: 150},
		"a limit, many touched": {client: "opencode", version: "1.18.33", limit: 4000, before: 150, after: 160, touch: []int{70, 90, 120, 149}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			root, project := tree(t, nil), tree(t, nil)
			layTopics(t, root, 0, row.before)
			c := scanned(t, folder(root))
			s := serve(t, c, func(o *mcpserver.Options) {
				var err error
				o.Tools, err = tool.Limit(o.Tools, row.limit)
				must(t, err)
				o.Entry = row.entry
				if row.roots {
					o.Roots = func(ctx context.Context, _ []string) {
						c.SetSources([]catalog.Source{folder(root), folder(project)})
						_ = c.Refresh(ctx)
					}
				}
			})
			agent := mcp.NewClient(&mcp.Implementation{Name: row.client, Version: row.version}, nil)
			if row.roots {
				s.WaitForRoots(30 * time.Second)
				layTopics(t, project, row.before, row.after)
				agent.AddRoots(&mcp.Root{URI: "file://" + filepath.ToSlash(project)})
			}
			session, err := agent.Connect(t.Context(), pipes(t, s), &mcp.ClientSessionOptions{ProtocolVersion: map[bool]string{false: legacy, true: modern}[row.sessionless]})
			must(t, err)
			defer session.Close()
			instructions := session.InitializeResult().Instructions
			told, uncounted := topics(instructions)

			if !row.roots {
				layTopics(t, root, row.before, row.after)
			}
			for _, i := range row.touch {
				f, err := os.OpenFile(filepath.Join(root, fmt.Sprintf("topic-%03d/SKILL.md", i)), os.O_APPEND|os.O_WRONLY, 0)
				must(t, err)
				_, err = f.WriteString("One more line.\n")
				must(t, err)
				must(t, f.Close())
			}
			for i := range row.before {
				if name := fmt.Sprintf("topic-%03d", i); row.cut > 0 && i < row.cut || row.cut < 0 && !told[name] {
					must(t, os.RemoveAll(filepath.Join(root, name)))
				}
			}
			must(t, c.Refresh(t.Context()))
			res, err := session.ListTools(t.Context(), nil)
			must(t, err)
			description := res.Tools[0].Description
			inList, more := topics(description)
			v, err := c.View(t.Context())
			must(t, err)
			neither, both := 0, 0
			for _, e := range v.Listed {
				switch {
				case told[e.Name] && inList[e.Name]:
					both++
				case !told[e.Name] && !inList[e.Name]:
					neither++
				}
			}
			if more == 0 && row.before == row.after {
				more = uncounted
			}
			if both > 0 || neither != more {
				t.Errorf("of %d skills %d are in both places and %d in neither, where %d are counted\n%s\n%s", len(v.Listed), both, neither, more, instructions, description)
			}
			t.Logf("%d skills: %d told, %d listed, %d in neither, %d counted", len(v.Listed), len(told), len(inList), neither, more)
			if strings.Contains(description, "(none)") {
				t.Errorf("%s", description)
			}
		})
	}
}
