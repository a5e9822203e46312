package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
)

func scan(t *testing.T) []*skill.Bundle {
	t.Helper()
	got, err := builtin.New().Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Missing || len(got.Notices) > 0 {
		t.Fatalf("scan = %+v, want bundles only", got)
	}
	return got.Bundles
}

func TestRoot(t *testing.T) {
	want := skill.Root{Label: "builtin", Scope: skill.ScopeBuiltin}
	if got := builtin.New().Root(); got != want {
		t.Errorf("Root() = %+v, want %+v", got, want)
	}
}

func TestScan(t *testing.T) {
	var paths []string
	for _, b := range scan(t) {
		paths = append(paths, b.Path)
		if b.Folder() != b.Path || b.Dir() != "" || b.Link() != "" || b.Entry != "SKILL.md" || b.Fault() != nil {
			t.Errorf("%s: unexpected bundle %+v", b.Path, b)
		}
		info, err := fs.Stat(b.FS, b.Entry)
		if err != nil {
			t.Fatal(err)
		}
		if again := skill.StampOf(info); again != b.Stamp || b.Stamp.Size != info.Size() {
			t.Errorf("%s: stamp %+v, and on a second look %+v", b.Path, b.Stamp, again)
		}
		if b.Stamp.Racy(time.Now()) {
			t.Errorf("%s: the stamp is racy, so the skill would be read at every refresh", b.Path)
		}
		if err := fstest.TestFS(b.FS, b.Entry); err != nil {
			t.Errorf("%s: %v", b.Path, err)
		}
	}
	if got, want := strings.Join(paths, " "), "engage write-a-skill"; got != want {
		t.Errorf("paths = %q, want %q", got, want)
	}
}

func TestScanCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := builtin.New().Scan(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want context.Canceled", err)
	}
}

func TestContained(t *testing.T) {
	for _, b := range scan(t) {
		for _, name := range []string{"..", "../engage/SKILL.md", "/SKILL.md", "./SKILL.md", ""} {
			if f, err := b.FS.Open(name); err == nil {
				f.Close()
				t.Errorf("%s: opened %q", b.Path, name)
			}
		}
	}
}

// TestSpecification checks that the built-in skills follow their own advice: the parser and
// its rules report nothing, not even an info.
func TestSpecification(t *testing.T) {
	for _, b := range scan(t) {
		sk := skill.Load(b)
		for _, p := range sk.Problems {
			t.Errorf("%s: %s %s: %s", b.Path, p.Position, p.Rule, p.Message)
		}
		if sk.Name != b.Folder() || !skill.ValidName(sk.Name) {
			t.Errorf("%s: name %q", b.Path, sk.Name)
		}
		if n := utf8.RuneCountInString(sk.Description); n < 1 || n > skill.MaxDescription {
			t.Errorf("%s: description of %d characters", b.Path, n)
		}
		if !strings.Contains(sk.Description, "Use when") {
			t.Errorf("%s: the description does not say when to use it", b.Path)
		}
		data, err := fs.ReadFile(b.FS, b.Entry)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(data), "\n"); lines > 200 {
			t.Errorf("%s: %d lines; move detail to a file of its own", b.Path, lines)
		}
	}
}

// TestLinks checks that every relative link leads to a file of the skill, and that some link leads
// to every file.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, b := range scan(t) {
		linked := map[string]bool{b.Entry: true}
		var files []string
		err := fs.WalkDir(b.FS, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files = append(files, name)
			data, err := fs.ReadFile(b.FS, name)
			if err != nil {
				return err
			}
			if !utf8.Valid(data) || strings.ContainsRune(string(data), '\r') {
				t.Errorf("%s/%s: not UTF-8 with plain line ends", b.Path, name)
			}
			for _, m := range link.FindAllStringSubmatch(string(data), -1) {
				target := path.Join(path.Dir(name), m[1])
				linked[target] = true
				if _, err := fs.Stat(b.FS, target); err != nil {
					t.Errorf("%s/%s: broken link %s", b.Path, name, m[1])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if !linked[name] {
				t.Errorf("%s/%s: nothing links to it", b.Path, name)
			}
		}
	}
}

// TestTriggers checks that every skill has prompts, some of which should load another skill, and
// that the prompts are in no skill.
func TestTriggers(t *testing.T) {
	for _, b := range scan(t) {
		var cases []struct {
			Query         string `json:"query"`
			ShouldTrigger bool   `json:"should_trigger"`
		}
		if err := json.Unmarshal(builtin.Triggers(b.Path), &cases); err != nil {
			t.Fatalf("%s: %v", b.Path, err)
		}
		should := 0
		for _, c := range cases {
			if c.ShouldTrigger {
				should++
			}
		}
		if should < 3 || len(cases)-should < 2 {
			t.Errorf("%s: %d prompts, %d for the skill", b.Path, len(cases), should)
		}
		if _, err := fs.Stat(b.FS, "evals"); err == nil {
			t.Errorf("%s: serves its prompts", b.Path)
		}
	}
	if data := builtin.Triggers("other"); data != nil {
		t.Errorf("prompts of no skill: %s", data)
	}
}
