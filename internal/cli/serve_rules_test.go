package cli

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
)

// stalled is a root whose disk answers once opened is closed.
type stalled struct {
	*skilltest.Memory
	opened chan struct{}
}

func (s stalled) Scan(ctx context.Context) (skill.Scan, error) {
	for {
		select {
		case <-s.opened:
			return s.Memory.Scan(ctx)
		case <-time.After(10 * time.Millisecond): // slow, but not silent
			skill.Progress(ctx).Add(1)
		}
	}
}

// denying returns a configuration with a rule that denies patterns.
func denying(t *testing.T, patterns ...string) config.Access {
	t.Helper()
	var rule access.Rule
	for _, text := range patterns {
		p, err := access.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		rule.Deny = append(rule.Deny, p)
	}
	return config.Access{Policy: access.NewPolicy(true, []access.Rule{rule})}
}

// ruling has rules over roots, and their log.
type ruling struct {
	rules
	roots  []catalog.Source
	gate   access.Gate
	logged bytes.Buffer
}

func newRuling(t *testing.T, c *catalog.Catalog, pattern string) *ruling {
	r := &ruling{}
	r.rules = rules{catalog: c, log: slog.New(slog.NewTextHandler(&r.logged, nil)), file: "knack.yaml", given: denying(t, pattern)}
	r.gate.Set(new(admission).state(nil, r.given.Policy))
	t.Cleanup(r.watch())
	return r
}

// put applies rules, as a reload does.
func (r *ruling) put(given config.Access) {
	r.gate.Set(new(admission).state(nil, given.Policy))
	r.set("knack.yaml", given)
}

// sees reports whether a client sees the skill.
func (r *ruling) sees(t *testing.T, uri string) bool {
	t.Helper()
	at, err := skill.ParseURI(uri)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := r.catalog.Now(r.gate.Now().PrincipalOf(access.Subject{}).Filter)
	e, _ := v.At(at)
	return e != nil
}

// TestRulesAreJudgedAgain checks that a misspelt deny rule hides a skill that appears later,
// whether the rule is from the start or from a reload. Replaced rules must have no effect.
func TestRulesAreJudgedAgain(t *testing.T) {
	const secret = "skill://two/secret"
	doc := skilltest.Document("secret", "d")
	begin := func(t *testing.T, pattern string) (*ruling, *skilltest.Memory, func()) {
		one := skilltest.New("one", skill.ScopeProject, map[string]string{"open/SKILL.md": skilltest.Document("open", "d")})
		two := skilltest.New("two", skill.ScopeProject, nil)
		c := skilltest.Catalog(t, one, two)
		r := newRuling(t, c, pattern)
		r.roots = []catalog.Source{one, two}
		return r, two, func() {
			t.Helper()
			if err := c.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect := func(t *testing.T, r *ruling, sees, says bool) {
		t.Helper()
		const line = "no skill of these roots matches the pattern"
		if got := r.sees(t, secret); got != sees {
			t.Errorf("the skill is visible: %v, want %v", got, sees)
		}
		if !r.sees(t, "skill://one/open") {
			t.Error("another skill is hidden")
		}
		if strings.Contains(r.logged.String(), line) != says {
			t.Errorf("the log is %q, want the line: %v", r.logged.String(), says)
		}
	}
	t.Run("of the start", func(t *testing.T) {
		r, two, refresh := begin(t, "skill://secret/**")
		expect(t, r, false, false)
		two.Put("secret/SKILL.md", doc)
		refresh()
		expect(t, r, false, true)
		two.Put("secret/more/SKILL.md", skilltest.Document("more", "d"))
		refresh()
		if n := strings.Count(r.logged.String(), "an access rule is misspelt"); n != 1 || r.sees(t, "skill://two/secret/more") {
			t.Errorf("%d lines, or a further skill is visible", n)
		}
	})
	t.Run("before it is judged", func(t *testing.T) {
		r, two, refresh := begin(t, "skill://closed")
		r.gate.Set(new(admission).state(nil, denying(t, "skill://secret/**").Policy))
		two.Put("secret/SKILL.md", doc)
		refresh()
		expect(t, r, false, false)
	})
	t.Run("of a reload", func(t *testing.T) {
		r, two, refresh := begin(t, "skill://one/closed")
		r.put(denying(t, "skill://secret"))
		two.Put("secret/SKILL.md", doc)
		refresh()
		expect(t, r, false, true)
	})
	t.Run("replaced", func(t *testing.T) {
		r, two, refresh := begin(t, "skill://secret/**")
		r.put(denying(t, "skill://two/closed"))
		two.Put("secret/SKILL.md", doc)
		refresh()
		expect(t, r, true, false)
	})
	t.Run("corrected", func(t *testing.T) {
		r, two, refresh := begin(t, "skill://secret/**")
		two.Put("secret/SKILL.md", doc)
		refresh()
		r.put(denying(t, "skill://two/closed"))
		expect(t, r, true, true)
	})
	t.Run("moved to another root", func(t *testing.T) {
		r, two, refresh := begin(t, "skill://dir-7/closed")
		three := skilltest.New("dir-3", skill.ScopeProject, map[string]string{"secret/SKILL.md": doc})
		r.catalog.SetSources(append(r.roots, three))
		r.put(denying(t, "skill://dir-3/secret", "skill://dir-3/never"))
		refresh()
		delete(three.Files, "secret/SKILL.md")
		two.Put("secret/SKILL.md", doc)
		refresh()
		expect(t, r, false, true)
	})
	t.Run("late root", func(t *testing.T) {
		one := skilltest.New("one", skill.ScopeProject, map[string]string{"open/SKILL.md": skilltest.Document("open", "d")})
		two := stalled{skilltest.New("two", skill.ScopeProject, map[string]string{"secret/SKILL.md": doc}), make(chan struct{})}
		c := catalog.New([]catalog.Source{one, two}, catalog.Options{Patience: time.Millisecond})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var ended atomic.Bool
		go func() { _ = c.Run(ctx); ended.Store(true) }()
		if _, err := c.View(ctx); err != nil {
			t.Fatal(err)
		}
		r := newRuling(t, c, "skill://closed")
		var reloads atomic.Int64
		hangups, file := make(chan os.Signal), filepath.Join(t.TempDir(), "knack.yaml")
		if err := os.WriteFile(file, []byte("access: {default: allow, rules: [deny: [\"skill://secret\", \"skill://never\"]]}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		h, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c}), mcpserver.HTTPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		reload := reloader{
			op: &serveConfig{}, config: file, admission: &admission{env: &console.Env{Getenv: func(string) string { return "" }}}, catalog: c, rules: &r.rules,
			enforce: func(s access.State) { r.gate.Set(s); reloads.Add(1) }, http: h, log: slog.New(slog.DiscardHandler),
		}
		go reload.run(ctx, hangups, nil)
		for n := range int64(3) { // while the root does not answer
			select {
			case hangups <- os.Interrupt:
			case <-time.After(testwait.Patience):
				t.Fatal("a reload waits for the late root")
			}
			testwait.Until(t, func() bool { return reloads.Load() > n }, "the file is not read again")
		}
		close(two.opened)
		at, _ := skill.ParseURI(secret)
		testwait.Until(t, func() bool {
			v, _ := c.Now(nil)
			e, _ := v.At(at)
			return e != nil
		}, "the late root is not read")
		testwait.Until(t, func() bool { return !r.sees(t, secret) }, "the skill of a late root is visible")
		stop()
		testwait.Until(t, ended.Load, "the catalogue does not end")
		expect(t, r, false, true)
		if n := strings.Count(r.logged.String(), "no skill matches a pattern of the access rules"); n != 2 {
			t.Errorf("%d of 2 patterns that no skill matches are named: %s", n, r.logged.String())
		}
	})
}
