package checks

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/skill"
)

// counted is a source that counts how often files and folders are opened.
type counted struct {
	files fstest.MapFS
	opens *atomic.Int64
}

func (s counted) Root() skill.Root { return skill.Root{Label: "r", Prefix: "r"} }

func (s counted) Scan(context.Context) (skill.Scan, error) {
	var scan skill.Scan
	for name := range s.files {
		if path.Base(name) != skill.MainFile {
			continue
		}
		sub, err := fs.Sub(s, path.Dir(name))
		if err != nil {
			return scan, err
		}
		info, err := fs.Stat(s.files, name)
		if err != nil {
			return scan, err
		}
		scan.Bundles = append(scan.Bundles, &skill.Bundle{Path: path.Dir(name), Entry: skill.MainFile, Stamp: skill.StampOf(info), FS: sub})
	}
	return scan, nil
}

func (s counted) Open(name string) (fs.File, error) {
	s.opens.Add(1)
	return s.files.Open(name)
}

// checked returns the checks of a catalogue of n skills, after their first round. Each
// skill has one warning. No round compares stamps from then on.
func checked(t *testing.T, n, most int) (counted, *catalog.Catalog, *Checks) {
	t.Helper()
	s := counted{fstest.MapFS{}, new(atomic.Int64)}
	for i := range n {
		s.files[fmt.Sprintf("s%d/SKILL.md", i)] = linked(i, "Words.")
	}
	c := catalog.New([]catalog.Source{s}, catalog.Options{})
	k := New(c, judgement.Judge{})
	k.most = most
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-k.begin(false).done
	k.mu.Lock()
	k.took, k.ended = time.Hour, time.Now().Add(time.Hour)
	for _, r := range k.results {
		r.seen = time.Now().Add(-time.Hour)
	}
	k.mu.Unlock()
	return s, c, k
}

// linked returns a skill with a dangling link.
func linked(i int, description string) *fstest.MapFile {
	text := fmt.Sprintf("---\nname: s%d\ndescription: %s Use when asked.\n---\n[x](none.md)\n", i, description)
	return &fstest.MapFile{Data: []byte(text), ModTime: time.Unix(1e9+int64(len(description)), 0)}
}

func viewOf(t *testing.T, c *catalog.Catalog) catalog.View {
	t.Helper()
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestCheckedOnce checks that requests use the results of skills that have not changed, and
// that after a change only the changed skill is read.
func TestCheckedOnce(t *testing.T) {
	s, c, k := checked(t, 50, maxFindings)
	ask := func(what string, warnings int) (opens int64) {
		t.Helper()
		before := s.opens.Load()
		v := viewOf(t, c)
		all, ok := k.Whole(t.Context(), v)
		if !ok || all.Count.Skills != 50 || all.Count.Warnings != warnings || len(all.Flawed) != warnings {
			t.Errorf("%s: complete is %v, %+v", what, ok, all.Count)
		}
		verdicts, err := k.Verdicts(t.Context(), v, v.Entries)
		if err != nil || len(verdicts) != 50 || len(verdicts[7].Findings) == 0 {
			t.Errorf("%s: %d verdicts, %v", what, len(verdicts), err)
		}
		return s.opens.Load() - before
	}
	if n := ask("at first", 50); n != 0 {
		t.Errorf("unchanged skills were opened %d times", n)
	}
	s.files["s7/SKILL.md"] = linked(7, "Other words.")
	before := s.opens.Load()
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask("after a change", 50)
	<-k.begin(false).done
	if n := s.opens.Load() - before; n == 0 || n > 20 {
		t.Errorf("after the change of one skill, files were opened %d times", n)
	}
	if n := ask("later", 50); n != 0 {
		t.Errorf("unchanged skills were opened %d times", n)
	}
}

// TestFindingsBound checks that the bound on cached findings changes no count and no answer.
func TestFindingsBound(t *testing.T) {
	for _, most := range []int{0, 3, 10} {
		_, c, k := checked(t, 10, most)
		v := viewOf(t, c)
		all, ok := k.Whole(t.Context(), v)
		if !ok || all.Count.Warnings != 10 || all.Count.Problems != 10 || len(all.Flawed) != 10 {
			t.Errorf("at most %d: complete is %v, %+v", most, ok, all.Count)
		}
		if k.findings > most {
			t.Errorf("at most %d: %d are kept", most, k.findings)
		}
		if rules := all.Rules; len(rules) != 1 || rules[0].ID != "ref-missing" || rules[0].Skills != 10 || rules[0].Findings != 10 || len(rules[0].Of) != 10 || rules[0].Severity != skill.SeverityWarning {
			t.Errorf("at most %d: by rule %+v", most, rules)
		}
		verdicts, err := k.Verdicts(t.Context(), v, v.Entries)
		for _, d := range verdicts {
			if d.Summary().Warnings != 1 {
				t.Errorf("at most %d: %s has %+v", most, d.Entry.Path, d.Findings)
			}
		}
		if err != nil || k.findings > most {
			t.Errorf("at most %d: afterwards %d are kept, %v", most, k.findings, err)
		}
	}
}
