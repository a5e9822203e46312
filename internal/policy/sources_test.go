package policy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/release"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/policy"
	"github.com/knack-dev/knack/internal/policy/provenance"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// TestRelease checks that the skills of a source's releases are judged like the skills of a folder.
func TestRelease(t *testing.T) {
	shelf, err := store.Open(filepath.Join(t.TempDir(), "knack"), store.Options{})
	must(t, err)
	t.Cleanup(func() { shelf.Close() })
	source := release.New(release.Options{Root: skill.Root{Label: "acme", Prefix: "acme", Scope: skill.ScopeProject}, Store: shelf})
	put := func(files map[string]map[string]string) {
		b, err := shelf.Batch(t.Context())
		must(t, err)
		defer b.Close()
		r := store.Release{Digest: skill.DigestOf(fmt.Append(nil, files)).String()}
		for _, folder := range []string{"doc", "pdf"} {
			for at, text := range files[folder] {
				must(t, b.File(folder, origin.File{Path: at, Size: -1}, strings.NewReader(text)))
			}
			s, err := b.Finish(folder)
			must(t, err)
			r.Skills = append(r.Skills, s.Member(folder))
		}
		must(t, shelf.Record(r))
		source.Set(r)
	}
	k := &tree{t: t, decider: newReader()}
	set := func(script string) map[string]map[string]string {
		return map[string]map[string]string{"doc": {"SKILL.md": md("doc", "")}, "pdf": {"SKILL.md": md("pdf", ""), "run.sh": script}}
	}
	put(set(bad))
	v := k.view(k.decider.source(source))
	k.want("a bad one", v, "acme/doc doc: available", "acme/pdf pdf: held back: it is bad")
	put(set("echo"))
	v = k.view()
	k.want("the next is good", v, "acme/doc doc: available", "acme/pdf pdf: available")
	e := v.Named("pdf")
	if _, _, err := e.ReadServed("run.sh", 100); err != nil {
		t.Error(err)
	}
	put(set(bad + bad))
	k.want("bad again", k.view(), "acme/doc doc: available", "acme/pdf pdf: held back: it is bad")
	if data, _, err := e.ReadServed("run.sh", 100); err == nil && strings.Contains(string(data), bad) {
		t.Error("the skill of the release before reads what is bad now")
	}
}

// TestLockToo checks that enforced locks work together with another decider. A skill is served only
// if both accept it, and a difference from the lock is reported first.
func TestLockToo(t *testing.T) {
	k := newTree(t, map[string]string{".git/HEAD": "ref: refs/heads/main\n", "skills/pdf/SKILL.md": md("pdf", ""), "skills/pdf/run.sh": "echo"})
	lock := func(script string) {
		files := []lockfile.File{}
		for at, text := range map[string]string{"SKILL.md": md("pdf", ""), "run.sh": script} {
			files = append(files, lockfile.File{Path: at, Size: int64(len(text)), Digest: skill.DigestOf([]byte(text))})
		}
		l := &lockfile.Lock{Skills: map[string]lockfile.Skill{"skills/pdf": {Name: "pdf", Source: "github.com/acme/skills", Path: "x", Version: "1.2.0", Revision: "git:9f2b", Digest: lockfile.Digest(files), Files: files}}}
		k.write(map[string]string{lockfile.Name: string(l.Bytes())})
	}
	now := time.Now()
	locks := provenance.New(provenance.Options{Enforce: true, Now: func() time.Time { now = now.Add(time.Minute); return now }})
	root := skill.Root{Label: "a", Scope: skill.ScopeProject, Dir: filepath.Join(k.root, "skills"), Shown: "skills"}
	source := policy.Guarded(dir.New(dir.Options{Root: root, Load: true}), locks.Decider(), &policy.Decider{Decide: k.decider.decide})
	for _, step := range []struct{ name, script, locked, want string }{
		{"as locked, and good", "echo", "echo", "available"},
		{"as locked, and bad", bad, bad, "held back: it is bad"},
		{"mended, and not as locked", "echo 2", bad, "changed since it was locked: 'run.sh' differs"},
		{"bad, and not as locked", bad + bad, "echo", "changed since it was locked: 'run.sh' differs"},
		{"good again", "echo", "echo", "available"},
	} {
		lock(step.locked)
		k.write(map[string]string{"skills/pdf/run.sh": step.script})
		v := k.view([]catalog.Source{source}...)
		name := "pdf"
		if strings.Contains(step.want, "lock") { // the fault is found before SKILL.md is read
			name = ""
		}
		k.want(step.name, v, "a/pdf "+name+": "+step.want)
		if _, _, err := v.Entries[0].ReadServed("run.sh", 100); (err == nil) != (step.want == "available") {
			t.Errorf("%s: read: %v", step.name, err)
		}
	}
}

// TestRace checks that no reader gets a bad byte while files become bad and good again.
func TestRace(t *testing.T) {
	good := strings.ToLower(bad) // of the same length
	k := newTree(t, map[string]string{"pdf/SKILL.md": md("pdf", good), "pdf/run.sh": good, "pdf/in/SKILL.md": md("in", good), "two/pdf/SKILL.md": md("pdf", good)})
	k.view()
	ctx, cancel := context.WithCancel(t.Context())
	var served atomic.Int64
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			_ = k.c.Refresh(ctx)
		}
	})
	for range 2 {
		all.Go(func() {
			for ctx.Err() == nil {
				v, err := k.c.View(ctx)
				if err != nil {
					return
				}
				for _, e := range v.Entries {
					if text := e.Name + e.Description + string(e.Frontmatter); !e.HeldBack() && strings.Contains(text, bad) {
						t.Errorf("%s is listed with %q", e.Path, text)
					}
					data, _, err := v.Read(ctx, e)
					more, _, moreErr := e.ReadServed("run.sh", 1000)
					if strings.Contains(string(data)+string(more), bad) {
						t.Errorf("%s is read: %q, %q", e.Path, data, more)
					}
					if err == nil && moreErr == nil {
						served.Add(1)
					}
				}
			}
		})
	}
	files := map[string][2]string{"pdf/SKILL.md": {md("pdf", good), strings.ToUpper(md("pdf", bad))}, "pdf/run.sh": {good, bad}, "pdf/in/SKILL.md": {md("in", good), md(bad, bad)}, "two/pdf/SKILL.md": {md("pdf", good), md("pdf", bad)}}
	for range 100 {
		for at, text := range files {
			file := filepath.Join(k.root, filepath.FromSlash(at))
			info, err := os.Stat(file)
			must(t, err)
			k.write(map[string]string{at: text[1]})
			must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
			k.write(map[string]string{at + ".new": text[0]})
			must(t, os.Rename(file+".new", file))
		}
		was := served.Load()
		testwait.Until(t, func() bool { return served.Load() > was }, "the good files")
	}
	cancel()
	all.Wait()
}

// between is a source that loads its skills and then changes their files, before they are judged.
type between struct {
	*skilltest.Memory
	change func()
}

func (b between) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := b.Memory.Scan(ctx)
	for _, found := range scan.Bundles {
		scan.Skills = append(scan.Skills, skill.Load(found))
	}
	b.change()
	return scan, err
}

// TestLoadedBefore checks that the text of a SKILL.md that was read before the judgement is listed
// only if the same bytes were judged.
func TestLoadedBefore(t *testing.T) {
	m := skilltest.Project(map[string]string{"pdf/SKILL.md": md(bad, bad)})
	k := &tree{t: t, decider: newReader()}
	v := k.view(k.decider.source(between{m, func() { m.Put("pdf/SKILL.md", md("pdf", "")) }}))
	k.want("good when it is judged", v, "claude-project/pdf pdf: available")
	if e := v.Entries[0]; strings.Contains(string(e.Frontmatter)+e.Description, bad) {
		t.Errorf("listed is what was not judged: %s", e.Frontmatter)
	}
}
