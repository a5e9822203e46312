package pull_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

// flaky is a source whose skills are fetched one by one. It calls fetched for each skill, which may
// change the source.
type flaky struct {
	mu      sync.Mutex
	skills  []string
	bad     map[string]bool // the skills that it never sends
	opened  int
	closed  int
	seen    map[string]bool              // the skills that fetched has seen
	down    bool                         // it cannot be opened again
	fetched func(f *flaky, skill string) // may be nil
}

func (f *flaky) Resolve(context.Context, origin.Ref) (origin.Revision, error) {
	return f.Revision(), nil
}
func (f *flaky) Versions(context.Context, origin.Ref) ([]string, error) { return nil, nil }
func (f *flaky) Open(context.Context, origin.Ref, origin.Revision) (origin.Library, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened++; f.opened > 1 && f.down {
		return nil, errors.New("it is down")
	}
	return f, nil
}
func (f *flaky) Revision() origin.Revision { return origin.Revision{ID: "http:one"} }
func (f *flaky) Separate()                 {}
func (f *flaky) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	return nil
}
func (f *flaky) Skills(context.Context) (all []origin.Skill, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range f.skills {
		all = append(all, origin.Skill{Path: name, Name: name, Main: "SKILL.md"})
	}
	return all, nil
}

func (f *flaky) Fetch(_ context.Context, skills []origin.Skill, to origin.Sink) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range skills {
		if f.fetched != nil {
			f.fetched(f, s.Path)
		}
		if f.bad[s.Path] {
			to.Fail(s.Path, &origin.Outage{Err: errors.New("status 500")})
			continue
		}
		_ = to.File(s.Path, origin.File{Path: "SKILL.md", Size: -1}, strings.NewReader(registrytest.Skill(s.Path, "")))
	}
	return nil
}

// TestOneSkillFails checks that only the skill that a source never sends is left out, as long as
// the source answers other requests.
func TestOneSkillFails(t *testing.T) {
	for name, c := range map[string]struct {
		source *flaky
		faults string // the faults in the release
		want   string // the text of the error, or ""
		again  bool   // the next poll must pull the same revision again
	}{
		"one of two":                   {&flaky{skills: []string{"a", "b"}, bad: map[string]bool{"b": true}}, "b: status 500", "", true},
		"the only one":                 {&flaky{skills: []string{"a"}, bad: map[string]bool{"a": true}}, "", "status 500", true},
		"the source is down":           {&flaky{skills: []string{"a", "b"}, bad: map[string]bool{"b": true}, down: true}, "", "the skill 'b': status 500", true},
		"once":                         {&flaky{skills: []string{"a"}, bad: map[string]bool{"a": true}, fetched: func(f *flaky, _ string) { f.bad["a"] = f.opened < 2 }}, "", "", false},
		"it is not in the list then":   {&flaky{skills: []string{"a"}, bad: map[string]bool{"a": true}, fetched: func(f *flaky, _ string) { f.skills = nil }}, "", "the skill 'a': status 500", true},
		"all of more than are retried": {&flaky{skills: many(80), bad: everything(80)}, "", "status 500", true},
		"each once, as behind a proxy that ends sessions": {&flaky{skills: many(80), bad: everything(80), fetched: func(f *flaky, name string) { f.bad[name] = !f.seen[name]; f.seen[name] = true }, seen: map[string]bool{}}, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.source
			r := newReplica(t, filepath.Join(t.TempDir(), "knack"))
			r.Origins = func(origin.Kind) (origin.Origin, error) { return f, nil }
			got, _, err := r.Pull(t.Context(), origin.Ref{Kind: origin.MCP, Source: "mcp:x"}, f.Revision())
			faults := ""
			for _, m := range got.Skills {
				if m.Fault != "" {
					faults += m.Path + ": " + m.Fault
				}
			}
			if faults != c.faults || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, %v", faults, err)
			}
			if again := got.Revision == "" && pull.ReasonOf(err) == ""; again != c.again || err != nil && !errors.As(err, new(*origin.Outage)) {
				t.Errorf("the revision %q, %v", got.Revision, err)
			}
			if open := f.opened - f.closed; open != 0 && !f.down || f.opened > 66 && c.want != "" {
				t.Errorf("opened %d times, closed %d", f.opened, f.closed)
			}
		})
	}
}

func many(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("s%02d", i))
	}
	return all
}

func everything(n int) map[string]bool {
	all := map[string]bool{}
	for _, name := range many(n) {
		all[name] = true
	}
	return all
}
