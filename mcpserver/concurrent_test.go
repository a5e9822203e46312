package mcpserver_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/lookup"
	"github.com/knack-dev/knack/tool/profile"
)

// history has the versions of a file, with their times. A version may be seen from the moment its
// change began until the moment the next change was done.
type history struct {
	mu       sync.Mutex
	versions []version
}

type version struct {
	text        string // "" while there is no file
	from, until time.Time
}

// change records a new version and runs do, after which the file contains text.
func (h *history) change(text string, do func() error) error {
	h.mu.Lock()
	h.versions = append(h.versions, version{text: text, from: time.Now()})
	h.mu.Unlock()
	err := do()
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.versions); n > 1 {
		h.versions[n-2].until = time.Now()
	}
	return err
}

// had reports whether ok is true for some version that could be seen between two moments.
func (h *history) had(begun, ended time.Time, ok func(text string) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, v := range h.versions {
		if !v.from.After(ended) && (v.until.IsZero() || !v.until.Before(begun)) && ok(v.text) {
			return true
		}
	}
	return false
}

// lag is how long the lists may take to see a change (contract 002, "Refresh
// Cycle", grants 30 s). A call that reads a file reads its current text.
const lag = 30 * time.Second

// library is a folder of skills that keeps changing. The first half of the skills is
// always there.
type library struct {
	t       *testing.T
	root    string
	aside   string // outside the root, so that skills are added and removed with one rename
	skills  []*history
	changes [3]atomic.Int64 // rewritten, added, removed
	busy    atomic.Int64    // answers that report a busy machine

	catalog *catalog.Catalog
	tool    *tool.Tool      // the tool that lists the skills
	lists   [2]atomic.Int64 // lists compared with a snapshot, and lists during which too many snapshots were published
}

const librarySize = 12

func name(i int) string { return fmt.Sprintf("skill-%02d", i) }

func text(i, version int) string {
	return skillMD(name(i), fmt.Sprintf("Version %d of it.", version), strings.Repeat(fmt.Sprintln("line of version", version), 50+version%50))
}

func newLibrary(t *testing.T) *library {
	l := &library{t: t, root: tree(t, nil), aside: tree(t, nil)}
	for i := range librarySize {
		h := &history{}
		l.skills = append(l.skills, h)
		must(t, h.change(text(i, 0), func() error {
			put(t, l.root, map[string]string{name(i) + "/SKILL.md": text(i, 0)})
			return nil
		}))
	}
	return l
}

// churn changes skills until the context ends, each in one step of the file system.
func (l *library) churn(ctx context.Context) error {
	present := make([]bool, librarySize)
	for i := range present {
		present[i] = true
	}
	tick := time.NewTicker(3 * time.Millisecond) // readers need the processor too
	defer tick.Stop()
	for v := 1; v <= 3 || ctx.Err() == nil; v++ {
		i := rand.N(librarySize)
		if v <= 3 { // one of each kind, however few there are on a busy machine
			i = [...]int{librarySize - 1, librarySize - 1, 0}[v-1]
		}
		folder, file := filepath.Join(l.root, name(i)), filepath.Join(l.root, name(i), "SKILL.md")
		spare := filepath.Join(l.aside, fmt.Sprint(v))
		var err error
		switch {
		case !present[i]:
			put(l.t, spare, map[string]string{"SKILL.md": text(i, v)})
			err = l.skills[i].change(text(i, v), func() error { return os.Rename(spare, folder) })
			present[i] = true
			l.changes[1].Add(1)
		case i >= librarySize/2 && (v == 1 || v%3 == 0):
			err = l.skills[i].change("", func() error { return os.Rename(folder, spare) })
			present[i] = false
			l.changes[2].Add(1)
		default:
			put(l.t, l.aside, map[string]string{fmt.Sprint(v): text(i, v)})
			err = l.skills[i].change(text(i, v), func() error { return os.Rename(spare, file) })
			l.changes[0].Add(1)
		}
		if err != nil {
			return err
		}
		<-tick.C
	}
	return nil
}

// ask makes one call and returns an error if the answer is wrong.
func (l *library) ask(ctx context.Context, s *mcp.ClientSession, n int) error {
	i := rand.N(librarySize)
	h := l.skills[i]
	begun := time.Now()
	was := func(got string) bool { return h.had(begun, time.Now(), func(text string) bool { return text == got }) }
	absent := func() bool { return h.had(begun, time.Now(), func(text string) bool { return text == "" }) }
	switch n % 5 {
	case 0, 1:
		res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "skill", Arguments: map[string]any{"name": name(i)}})
		if err != nil {
			return err
		}
		got := res.Content[0].(*mcp.TextContent).Text
		body, found := strings.CutPrefix(got, fmt.Sprintf("Loading: %s\nBase directory: %s\n\n", name(i), filepath.Join(l.root, name(i))))
		if found && was(body) || !found && absent() && strings.HasPrefix(got, "Skill '"+name(i)+"' not found.\n") || l.isBusy(i, got) {
			return nil
		}
		return fmt.Errorf("skill %s: %.200s", name(i), got)
	case 2:
		res, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "skill://" + name(i) + "/SKILL.md"})
		if err != nil {
			if absent() && strings.Contains(err.Error(), "Resource not found") || l.isBusy(i, err.Error()) {
				return nil
			}
			return err
		}
		if got := res.Contents[0].Text; !was(got) {
			return fmt.Errorf("read %s: %.200q", name(i), got)
		}
	case 3:
		res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "read_file_in_skill", Arguments: map[string]any{"skill_name": name(i), "file_path": "SKILL.md"}})
		if err != nil {
			return err
		}
		if got := res.Content[0].(*mcp.TextContent).Text; !was(got) && !(absent() && res.IsError && strings.Contains(got, "not found")) && !l.isBusy(i, got) {
			return fmt.Errorf("file of %s: %.200s", name(i), got)
		}
	case 4:
		before, err := l.catalog.View(ctx)
		if err != nil {
			return err
		}
		res, err := s.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		got := res.Tools[0].Description
		if err := l.judgeSnapshot(ctx, got, before); err != nil {
			return err
		}
		return l.judgeList(got, begun)
	}
	return nil
}

// isBusy reports whether an answer is an error for a busy machine, or for a skill that kept
// changing during the call. Both may happen on a busy machine.
func (l *library) isBusy(i int, answer string) bool {
	refused := strings.Contains(answer, lookup.ErrBusy.Error()) || i >= librarySize/2 && strings.Contains(answer, skill.ErrUnstable.Error())
	if refused {
		l.busy.Add(1)
	}
	return refused
}

// judgeSnapshot checks that a list equals, to the last character, the list of a snapshot. That
// snapshot was published during the call, or was the newest one before it.
func (l *library) judgeSnapshot(ctx context.Context, got string, before catalog.View) error {
	after, err := l.catalog.View(ctx)
	if err != nil {
		return err
	}
	for _, v := range []catalog.View{before, after} {
		if l.tool.Define(v, profile.Client{}).Description == got {
			l.lists[0].Add(1)
			return nil
		}
	}
	if after.Version > before.Version+1 {
		l.lists[1].Add(1)
		return nil
	}
	return fmt.Errorf("the list is that of neither snapshot %d nor %d:\n%s", before.Version, after.Version, got)
}

// judgeList checks that a list has every skill once, with a description that the skill had. It may
// lack only a skill that was not on disk.
func (l *library) judgeList(got string, begun time.Time) error {
	for i, h := range l.skills {
		_, row, found := strings.Cut(got, "<name>"+name(i)+"</name>\n<description>")
		row, rest, _ := strings.Cut(row, "</description>")
		if strings.Contains(rest, "<name>"+name(i)+"<") {
			return fmt.Errorf("%s is listed twice", name(i))
		}
		if !h.had(begun.Add(-lag), time.Now(), func(text string) bool {
			return !found && text == "" || found && strings.Contains(text, "\ndescription: "+row+"\n")
		}) {
			return fmt.Errorf("%s is listed as %q", name(i), row)
		}
	}
	return nil
}

// TestConcurrentCallers lets a hundred callers send calls while skills are changed, added and
// removed on disk. It checks that every answer is a version that existed during the call.
func TestConcurrentCallers(t *testing.T) {
	t.Parallel()
	const sessions, callers = 20, 100
	duration := 2 * time.Second
	if testing.Short() {
		duration = 300 * time.Millisecond
	}
	l := newLibrary(t)
	c := catalog.New([]catalog.Source{folder(l.root)}, catalog.Options{})
	running, stop := context.WithCancel(t.Context())
	defer stop()
	go c.Run(running)
	l.catalog, l.tool = c, tools(t, "default")[0]
	server := serve(t, c)
	var clients []*mcp.ClientSession
	for i := range sessions {
		clients = append(clients, connect(t, server, eras[i%2], &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}))
	}

	busy, done := context.WithTimeout(t.Context(), duration)
	defer done()
	var answers, wrong atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := l.churn(busy); err != nil {
			t.Error(err)
		}
	})
	for i := range callers {
		wg.Go(func() {
			for n := i; n == i || busy.Err() == nil; n++ {
				if err := l.ask(t.Context(), clients[i%sessions], n); err != nil && wrong.Add(1) <= 10 {
					t.Error(err)
				}
				answers.Add(1)
			}
		})
	}
	wg.Wait()
	t.Logf("%d answers, %d of them busy, %d of them wrong, %d changes, %d added, %d removed; %d lists compared with their snapshot, %d not",
		answers.Load(), l.busy.Load(), wrong.Load(), l.changes[0].Load(), l.changes[1].Load(), l.changes[2].Load(), l.lists[0].Load(), l.lists[1].Load())
	for i := range l.changes {
		if l.changes[i].Load() == 0 {
			t.Errorf("no change of kind %d", i)
		}
	}
	if l.lists[0].Load() == 0 { // on a busy machine several snapshots come and go during a call
		t.Error("no list was compared with a snapshot")
	}
	if answers.Load() < callers {
		t.Errorf("only %d answers", answers.Load())
	}
}
