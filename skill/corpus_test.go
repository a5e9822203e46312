package skill

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/corpus"
)

// loadAll loads every folder below dir that has a SKILL.md in any spelling.
func loadAll(t testing.TB, dir string) []*Skill {
	t.Helper()
	var all []*Skill
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		entries, err := os.ReadDir(p)
		if err != nil {
			return err
		}
		b := &Bundle{Path: filepath.Base(p), FS: os.DirFS(p)}
		rel, _ := filepath.Rel(dir, p)
		b.Path = filepath.ToSlash(rel)
		for _, want := range EntryNames {
			for _, c := range entries {
				if c.Name() == want && b.Entry == "" {
					b.Entry = want
				}
			}
		}
		var others []string
		for _, c := range entries {
			if strings.EqualFold(c.Name(), MainFile) && c.Name() != b.Entry {
				others = append(others, c.Name())
			}
		}
		if b.Extra = (&Extra{Others: others}); b.Entry != "" || others != nil {
			all = append(all, Load(b))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCorpusAvailable checks that each of the 776 real skills is available, since missing skills
// are the most frequent complaint about clients.
func TestCorpusAvailable(t *testing.T) {
	all := loadAll(t, filepath.Join(corpus.Dir(t), "skills"))
	if len(all) != 776 {
		t.Errorf("found %d skills, want 776", len(all))
	}
	published := 0
	for _, s := range all {
		if s.Publishable {
			published++
		}
		if !s.Available {
			t.Errorf("%s is skipped: %+v", s.Path, s.Problems)
		} else if !s.Publishable {
			t.Logf("%s: not publishable: %+v", s.Path, s.Problems)
		}
	}
	t.Logf("%d publishable", published)
}
