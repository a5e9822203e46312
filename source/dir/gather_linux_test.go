package dir

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/knack-dev/knack/skill"
)

// handed are the manifests that a visit hands over, by the skill's path.
type handed struct {
	mu    sync.Mutex
	files map[string][]skill.File
	twice []string
}

// handedOver visits a root and has each skill hashed that want names; met is called with
// each on the way.
func handedOver(t *testing.T, root string, want func(path string) bool, met func(path string)) (skill.Scan, *handed) {
	t.Helper()
	return handedOverUntil(t, root, time.Now().Add(time.Hour), want, met)
}

func handedOverUntil(t *testing.T, root string, until time.Time, want func(path string) bool, met func(path string)) (skill.Scan, *handed) {
	t.Helper()
	got := &handed{files: map[string][]skill.File{}}
	s := source(pickDoor(), root)
	begun := time.Now()
	scan, err := s.Visit(context.Background(), func(b *skill.Bundle, _ ReadMain) (Hashed, time.Time) {
		if met != nil {
			met(b.Path)
		}
		if !want(b.Path) {
			return nil, time.Time{}
		}
		return func(files []skill.File, at time.Time) {
			got.mu.Lock()
			defer got.mu.Unlock()
			if _, ok := got.files[b.Path]; ok || at.Before(begun) {
				got.twice = append(got.twice, b.Path)
			}
			got.files[b.Path] = files
		}, until
	}, nil)
	must(t, err)
	return scan, got
}

func all(string) bool { return true }

// old waits until all that was laid out is old enough for its stamps to prove
// something.
func old(t *testing.T, root string) {
	t.Helper()
	if len(scanned(t, pickDoor(), root).Bundles) > 0 && !keepsStamps(t, root) {
		t.Skip("this file system, or this kernel, keeps no stamps")
	}
	time.Sleep(skill.StampRacy + 100*time.Millisecond)
}

func keepsStamps(t *testing.T, root string) bool {
	h, err := pickDoor().folder(root, false)
	must(t, err)
	defer h.close()
	look, ok := h.(lookHandle)
	return ok && look.keepsTimes()
}

// TestVisitHashes: what a visit hands over is the manifest that the long way makes; of
// what is unusual it hands over nothing, and of what is not asked for.
func TestVisitHashes(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"plain/SKILL.md": main,
		"rich/SKILL.md":  main, "rich/skill.md": "another spelling", "rich/empty": "", "rich/a/b/c.txt": "deep", "rich/a.txt": "sorted before a/",
		"rich/big": strings.Repeat("x", 3*skill.HashBuffer+5), "rich/just": strings.Repeat("y", skill.HashBuffer), "rich/none/": "",
		"rich/.hidden": "no", "rich/.venv/lib/x": "no", "rich/a/.x": "no", "rich/ü b.md": "name", "rich/.git/config": "no",
		"group/one/SKILL.md": main, "group/one/x/y": "1", "group/two/SKILL.md": main, "group/two/x/y": "2",
		"outer/SKILL.md": main, "outer/file": "", "outer/in/inner/SKILL.md": main, "outer/in/inner/x": "both's", "outer/in/inner/y/z": "",
		"modules/SKILL.md": main, "modules/node_modules/m/index.js": "not visited",
		"link/SKILL.md": main, "link/l": "->SKILL.md", "deeplink/SKILL.md": main, "deeplink/a/b/l": "->../../SKILL.md",
		"folderlink/SKILL.md": main, "folderlink/a/x": "", "folderlink/l": "->a",
		"lower/skill.md": main, "lower/x": "",
		"odd/SKILL.md": main, `odd/a\b`: "",
		"large/SKILL.md": main, "large/a/big": strings.Repeat("x", skill.MaxSkillSize/2), "large/b/big": strings.Repeat("x", skill.MaxSkillSize/2),
		"many/SKILL.md": main, "wide/SKILL.md": main, "unwanted/SKILL.md": main, "unwanted/a/b": "",
		"deep/SKILL.md": main, "deep/" + strings.Repeat("d/", maxDepth+1) + "f": "",
		"young/SKILL.md": main, "young/a/b": "", "youngmain/SKILL.md": main,
	}
	for i := range skill.MaxFiles {
		files[fmt.Sprintf("many/%d/%d", i%10, i)] = ""
		if i > 0 {
			files[fmt.Sprintf("wide/%04d-%s", i, strings.Repeat("n", 100))] = "" // more than is read of a folder at once
		}
	}
	root := tree(t, files)
	old(t, root)
	add(t, root, map[string]string{"young/a/b": "other", "youngmain/SKILL.md": main})
	scan, got := handedOver(t, root, func(path string) bool { return path != "unwanted" }, nil)
	want := []string{"group/one", "group/two", "outer/in/inner", "plain", "rich"}
	if have := slices.Sorted(maps.Keys(got.files)); !slices.Equal(have, want) || got.twice != nil {
		t.Fatalf("handed over: %q, twice or too early %q; want %q", have, got.twice, want)
	}
	for _, b := range scan.Bundles {
		have := got.files[b.Path]
		if have == nil {
			continue
		}
		whole, err := skill.Load(b).Manifest(t.Context())
		must(t, err)
		for i := range whole {
			if whole[i].Path == skill.MainFile {
				whole[i].Digest = skill.Digest{} // whoever reads it has that
			}
		}
		if !slices.Equal(have, whole) {
			t.Errorf("%s:\n got %+v\nwant %+v", b.Path, have, whole)
		}
	}
}

// TestVisitHashesARootThatIsASkill: its paths begin at the root.
func TestVisitHashesARootThatIsASkill(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"SKILL.md": main, "a/b/c": "1", "a/d": "2"})
	old(t, root)
	_, got := handedOver(t, root, all, nil)
	var names []string
	for _, f := range got.files["."] {
		names = append(names, f.Path)
	}
	if want := []string{"SKILL.md", "a/b/c", "a/d"}; !slices.Equal(names, want) {
		t.Errorf("%q, not %q", names, want)
	}
}

// TestVisitHashesOneState: of a skill that changes between the visit to its folder and
// those to the folders in it nothing is handed over, be it that other folders, as old
// and unchanged themselves, lie where they did.
func TestVisitHashesOneState(t *testing.T) {
	t.Parallel()
	changes := map[string]func(at func(string) string) error{
		"stays": func(func(string) string) error { return nil },
		"its group gives way to another": func(at func(string) string) error {
			if err := os.Rename(at("group"), at("away")); err != nil {
				return err
			}
			return os.Rename(at(".decoy"), at("group"))
		},
		"its folder gives way to another": func(at func(string) string) error {
			if err := os.Rename(at("group/s"), at("away")); err != nil {
				return err
			}
			return os.Rename(at(".decoy/s"), at("group/s"))
		},
		"a folder in it gives way to another": func(at func(string) string) error {
			if err := os.Rename(at("group/s/sub"), at("away")); err != nil {
				return err
			}
			return os.Rename(at(".decoy/s/sub"), at("group/s/sub"))
		},
		"a folder in it gives way to a link": func(at func(string) string) error {
			if err := os.Rename(at("group/s/sub"), at("away")); err != nil {
				return err
			}
			return os.Symlink(at("away"), at("group/s/sub"))
		},
		"a file is written": func(at func(string) string) error {
			return os.WriteFile(at("group/s/sub/x"), []byte("other"), 0o644)
		},
		"a file is added": func(at func(string) string) error { return os.WriteFile(at("group/s/sub/new"), nil, 0o644) },
		"a file goes":     func(at func(string) string) error { return os.Remove(at("group/s/sub/x")) },
		"a folder goes":   func(at func(string) string) error { return os.RemoveAll(at("group/s/sub")) },
	}
	roots := map[string]string{}
	var last string
	for name := range changes {
		last = tree(t, map[string]string{
			"group/s/SKILL.md": main, "group/s/sub/x": "right",
			".decoy/s/SKILL.md": main, ".decoy/s/sub/x": "wrong", // dot-folders are searched too, and this one is not asked for
		})
		roots[name] = last
	}
	old(t, last)
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			at := func(path string) string { return filepath.Join(roots[name], filepath.FromSlash(path)) }
			_, got := handedOver(t, roots[name], func(path string) bool { return path == "group/s" }, func(path string) {
				if path == "group/s" {
					must(t, change(at))
				}
			})
			files := got.files["group/s"]
			if name != "stays" {
				if files != nil {
					t.Errorf("handed over: %+v", files)
				}
				return
			}
			if len(files) != 2 || files[1].Digest != skill.DigestOf([]byte("right")) {
				t.Errorf("handed over: %+v", files)
			}
		})
	}
}

// TestVisitHashesUntil: what is not hashed in time is not handed over, be it begun, so
// that no scan is held up by what a few skills hold.
func TestVisitHashesUntil(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a/SKILL.md": main, "b/SKILL.md": main, "b/in/x": "1", "c/SKILL.md": main, "c/x": "1", "d/SKILL.md": main, "d/big": strings.Repeat("x", 4*skill.HashBuffer)})
	old(t, root)
	if _, got := handedOver(t, root, all, nil); len(got.files) != 4 {
		t.Fatalf("handed over: %v", got.files)
	}
	// Not even SKILL.md alone, which has been read: the time is over.
	if scan, got := handedOverUntil(t, root, time.Now().Add(-time.Second), all, nil); len(got.files) != 0 || len(scan.Bundles) != 4 {
		t.Errorf("handed over when the time was over: %v, of %d skills", got.files, len(scan.Bundles))
	}
	until := time.Now().Add(time.Hour)
	p := newPass(t.Context(), 1, time.Now())
	defer p.end()
	for _, c := range []struct {
		until time.Time
		over  bool
	}{{time.Time{}, false}, {until, false}, {time.Now().Add(-1), true}} {
		if p.until = c.until; p.over() != c.over {
			t.Errorf("until %v: over %t", c.until, !c.over)
		}
	}
}
