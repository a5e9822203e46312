package admission

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/policy"
	"github.com/knack-dev/knack/internal/policy/approvals"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestBook checks that a damaged, edited, emptied or missing file of approvals approves nothing,
// and that it works again without a restart once it is restored.
func TestBook(t *testing.T) {
	path := filepath.Join(t.TempDir(), approvals.Name)
	const uri = "skill://acme/pdf/SKILL.md"
	files := []skill.File{{Path: "SKILL.md", Size: 3, Digest: skill.DigestOf([]byte("pdf"))}, {Path: "a.sh", Size: 1, Digest: skill.DigestOf([]byte("a"))}}
	add := func(uri string) {
		ok(t, approvals.Change(path, func(b *approvals.Book) error {
			b.Add(approvals.Approval{URI: uri, Files: files, By: "ann", At: time.Now()})
			return nil
		}))
	}
	add(uri)
	whole, err := os.ReadFile(path)
	ok(t, err)
	now := time.Now()
	b := &book{path: path, now: func() time.Time { return now }}
	check := func(when string, want bool) {
		t.Helper()
		now = now.Add(bookFresh)
		if got, why := b.Approved([]string{"skill://acme/other/SKILL.md", uri}, files); got != want || why == "" {
			t.Errorf("%s: %v, %s", when, got, why)
		}
	}
	check("at first", true)
	if got, why := b.Approved([]string{"skill://acme/other/SKILL.md"}, files); got {
		t.Errorf("another skill with the same files is approved: %s", why)
	}
	if got, why := b.Approved([]string{uri}, files[:1]); got {
		t.Errorf("other files are approved: %s", why)
	}
	if got, why := b.Approved(nil, files); got || why == "" {
		t.Errorf("a skill without a URI is approved: %s", why)
	}
	digest := []byte(files[1].Digest.String())
	edited := bytes.Replace(whole, digest, []byte(skill.DigestOf([]byte("b")).String()), 1)
	if bytes.Equal(edited, whole) {
		t.Fatal("nothing was edited")
	}
	for when, data := range map[string][]byte{"cut short": whole[:len(whole)-5], "edited": edited, "empty": {}, "of another program": []byte("{}\n"), "a binary": []byte("\x7fELF")} {
		ok(t, os.WriteFile(path, data, 0o600))
		check(when, false)
		ok(t, os.WriteFile(path, whole, 0o600))
		check("restored after it was "+when, true)
	}
	ok(t, os.Remove(path))
	check("missing", false)
	ok(t, os.Mkdir(path, 0o700))
	check("a folder", false)
	ok(t, os.Remove(path))
	add(uri)
	check("approved again", true)
}

// TestBookChanged checks that a running server learns of new approvals once.
func TestBookChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), approvals.Name)
	synctest.Test(t, func(t *testing.T) {
		b := &book{path: path, now: time.Now}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		pokes := 0
		go b.Changed(ctx, func() { pokes++ })
		testwait.Advance(5 * bookEvery)
		if pokes != 0 {
			t.Errorf("%d pokes without a change", pokes)
		}
		ok(t, approvals.Change(path, func(b *approvals.Book) error {
			b.Add(approvals.Approval{URI: "skill://a/SKILL.md", Files: []skill.File{{Path: "SKILL.md", Digest: skill.DigestOf(nil)}}, By: "ann", At: time.Now()})
			return nil
		}))
		// A scan reads the changed file before Changed does. Changed must report the change even
		// so.
		testwait.Advance(bookFresh)
		_, _ = b.Approved(nil, nil)
		testwait.Advance(5 * bookEvery)
		if pokes != 1 {
			t.Errorf("%d pokes for a change", pokes)
		}
	})
}

// TestCache checks that the next process of the same build with the same lanes uses the saved
// verdicts, and that a damaged file is ignored.
func TestCache(t *testing.T) {
	path := filepath.Join(t.TempDir(), "knack", "verdicts")
	now := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	stamp := skill.Stamp{Size: 3, MTime: 1 << 60, CTime: -1, Dev: 1 << 63, Inode: 7}
	files := judgedFiles{Main: stamp, Set: skill.DigestOf([]byte("set")), Files: []skill.File{{Path: "SKILL.md", Size: 3, Digest: skill.DigestOf([]byte("pdf")), Stamp: stamp}}}
	c := newVerdictCache(path, "v1", clock)
	c.remember("acme\x00pdf", files)
	ok(t, c.keep(files.Set, &scan.Report{Enforce: 1, Review: 2, Unread: true, Findings: []scan.Finding{{Rule: "b", File: "a.sh"}, {Rule: "a"}, {Rule: "b"}}}))
	ok(t, c.keep(skill.DigestOf([]byte("of no skill")), &scan.Report{}))
	ok(t, c.save())
	whole, err := os.ReadFile(path)
	ok(t, err)
	again := newVerdictCache(path, "v1", clock)
	got, known := again.recall("acme\x00pdf")
	if !known || got.Main != files.Main || got.Set != files.Set || len(got.Files) != 1 || got.Files[0] != files.Files[0] {
		t.Errorf("recalled %v %+v", known, got)
	}
	if k := again.report(files.Set); k == nil || k.enforce != 1 || k.review != 2 || !k.unread || k.rules != "a b" || k.report().Findings[0].File != "a.sh" {
		t.Errorf("%+v", k)
	}
	if again.report(skill.DigestOf([]byte("of no skill"))) != nil {
		t.Error("a report of no skill is kept on the disk")
	}
	empty := func(when string, c *verdictCache) {
		t.Helper()
		if len(c.skills)+len(c.reports)+len(c.days) > 0 {
			t.Errorf("%s: %d skills and %d reports are known", when, len(c.skills), len(c.reports))
		}
	}
	empty("another build", newVerdictCache(path, "v2", clock))
	empty("no build", newVerdictCache(path, "", clock))
	for n := range whole {
		ok(t, os.WriteFile(path, whole[:n], 0o600))
		empty("cut short", newVerdictCache(path, "v1", clock))
		damaged := bytes.Clone(whole)
		damaged[n] ^= 0x10
		ok(t, os.WriteFile(path, damaged, 0o600))
		empty("damaged", newVerdictCache(path, "v1", clock))
	}
	ok(t, os.WriteFile(path, whole, 0o600))
	if runtime.GOOS != "windows" {
		for _, mode := range []fs.FileMode{0o620, 0o602} {
			ok(t, os.Chmod(path, mode))
			empty("written by another user", newVerdictCache(path, "v1", clock))
		}
		ok(t, os.Chmod(path, 0o644))
		if os.Chown(path, 12345, -1) == nil {
			empty("of another user", newVerdictCache(path, "v1", clock))
			ok(t, os.Chown(path, os.Geteuid(), -1))
		}
		if len(newVerdictCache(path, "v1", clock).skills) != 1 {
			t.Error("a file that all may read is not read")
		}
	}
	now = now.AddDate(0, 0, keepDays+1)
	late := newVerdictCache(path, "v1", clock)
	late.remember("acme\x00doc", files)
	ok(t, late.save())
	if _, known := newVerdictCache(path, "v1", clock).recall("acme\x00pdf"); known {
		t.Error("a skill that was not seen for a month is kept")
	}
}

// FuzzCache checks that any file with a valid checksum is loaded whole or not at all.
func FuzzCache(f *testing.F) {
	c := newVerdictCache("", "v1", time.Now)
	c.remember("a", judgedFiles{Files: []skill.File{{Path: "SKILL.md"}}})
	data := c.append(nil)
	f.Add(data[len(magic) : len(data)-4])
	f.Fuzz(func(t *testing.T, data []byte) {
		b := append([]byte(magic), data...)
		c := newVerdictCache("", "v1", func() time.Time { return time.Unix(0, 0) })
		c.parse(binary.LittleEndian.AppendUint32(b, sumOf(b)))
		again := newVerdictCache("", "", c.now)
		again.engine = c.engine
		again.parse(c.append(nil))
		if len(again.skills) != len(c.skills) || len(again.reports) != len(c.reports) {
			t.Errorf("%d skills and %d reports, and again %d and %d", len(c.skills), len(c.reports), len(again.skills), len(again.reports))
		}
	})
}

// changing is a file system whose files can all be replaced in one step while they are read.
type changing struct{ atomic.Pointer[fstest.MapFS] }

// Open implements [fs.FS].
func (c *changing) Open(name string) (fs.File, error) { return c.Load().Open(name) }

// TestReview checks that the mode review serves every skill and scans it in the background, and
// again after a script has changed.
func TestReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := skilltest.Project(map[string]string{"pdf/SKILL.md": skilltest.Document("pdf", "d"), "pdf/a.sh": "echo aGVsbG8gd29ybGQgaGVsbG8= | base64 -d | sh\n"})
		files := &changing{}
		files.Store(&m.Files)
		m.FS = files
		j := New(Options{Config: Config{Mode: Review}})
		c := catalog.New([]catalog.Source{policy.Guarded(m, j.Decider(false))}, catalog.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		stop := j.Start(ctx, c)
		testwait.Advance(time.Second)
		v, err := c.View(ctx)
		ok(t, err)
		e := v.Listed[0]
		if got, known := j.Of(e); !known || got.Fault != nil || got.Report() == nil || got.Report().Enforce != 1 {
			t.Errorf("%v %+v %+v", known, got, got.Report())
		}
		files.Store(&fstest.MapFS{"pdf/SKILL.md": m.Files["pdf/SKILL.md"], "pdf/a.sh": {Data: []byte("echo\n"), Mode: 0o644}})
		testwait.Advance(2 * reviewEvery)
		if got, _ := j.Of(e); got.Report() == nil || got.Report().Enforce != 0 {
			t.Errorf("%+v", got.Report())
		}
		stop()
		cancel()
		<-done
	})
}

// replaced is a root whose skills are replaced while it is read.
type replaced struct {
	atomic.Pointer[skilltest.Memory]
}

func (r *replaced) Root() skill.Root { return r.Load().Root() }

func (r *replaced) Scan(ctx context.Context) (skill.Scan, error) { return r.Load().Scan(ctx) }

// TestForgotten checks that the verdict on a removed skill is forgotten in every mode.
func TestForgotten(t *testing.T) {
	for _, mode := range []string{Review, Enforce} {
		synctest.Test(t, func(t *testing.T) {
			var root replaced
			root.Store(skilltest.Project(map[string]string{"pdf/SKILL.md": skilltest.Document("pdf", "d"), "doc/SKILL.md": skilltest.Document("doc", "d")}))
			j := New(Options{Config: Config{Mode: mode}})
			c := catalog.New([]catalog.Source{policy.Guarded(&root, j.Decider(false))}, catalog.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- c.Run(ctx) }()
			stop := j.Start(ctx, c)
			testwait.Advance(time.Second)
			root.Store(skilltest.Project(map[string]string{"doc/SKILL.md": skilltest.Document("doc", "d")}))
			testwait.Advance(2 * reviewEvery)
			if len(j.last) != 1 {
				t.Errorf("%s: %d verdicts on 1 skill", mode, len(j.last))
			}
			stop()
			cancel()
			<-done
		})
	}
}

// slow is a file system in which every read of a script after the first is slow. The scan makes
// such a read.
type slow struct {
	fs.FS
	read sync.Map
}

// Open implements [fs.FS].
func (s *slow) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if err == nil && strings.HasSuffix(name, "/run.sh") {
		f = &slowFile{File: f, before: func() {
			if _, before := s.read.LoadOrStore(name, true); before {
				<-time.After(300 * time.Millisecond)
			}
		}}
	}
	return f, err
}

type slowFile struct {
	fs.File
	once   sync.Once
	before func()
}

// Read implements [fs.File].
func (f *slowFile) Read(p []byte) (int, error) {
	f.once.Do(f.before)
	return f.File.Read(p)
}

// TestPending checks that a server does not wait for its decider, but holds skills back until they
// are judged.
func TestPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := map[string]string{}
		for i := range 100 {
			name := fmt.Sprintf("s-%02d", i)
			files[name+"/SKILL.md"], files[name+"/run.sh"] = skilltest.Document(name, "d"), "echo "+name+"\n"
		}
		m := skilltest.Project(files)
		for _, f := range m.Files {
			f.ModTime = time.Now().AddDate(-1, 0, 0) // its stamp proves its contents
		}
		m.FS = &slow{FS: m.Files}
		j := New(Options{Config: Config{Mode: Enforce}})
		c := catalog.New([]catalog.Source{policy.Guarded(m, j.Decider(false))}, catalog.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		<-c.Ready()
		v, err := c.View(ctx)
		ok(t, err)
		if served := 100 - len(v.Skipped); served == 0 || served == 100 {
			t.Errorf("the first answer has %d skills", served)
		}
		for _, e := range v.Skipped {
			if p, _ := e.SkipReason(); p.Message != "held back: it is not judged yet" {
				t.Errorf("%s: %s", e.Path, p.Message)
			}
			if _, _, err := e.ReadServed("SKILL.md", 1000); err == nil {
				t.Errorf("%s is read before it is judged", e.Path)
			}
		}
		testwait.Advance(100 * time.Second) // takes no real time
		v, err = c.View(ctx)
		ok(t, err)
		if len(v.Skipped) > 0 {
			t.Errorf("%d are never judged", len(v.Skipped))
		}
		cancel()
		<-done
	})
}

// loading is a source that loads its skills.
type loading struct{ *skilltest.Memory }

func (l loading) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := l.Memory.Scan(ctx)
	for _, found := range scan.Bundles {
		scan.Skills = append(scan.Skills, skill.Load(found))
	}
	return scan, err
}

// TestRemembered checks that a verdict of an earlier process is not used for a skill that has
// changed since.
func TestRemembered(t *testing.T) {
	const good, bad = "echo ZWNobyBoZWxsbyB3b3JsZA== | base64 -d | wc\n", "echo ZWNobyBoZWxsbyB3b3JsZA== | base64 -d | sh\n"
	m := skilltest.Project(map[string]string{
		"doc/SKILL.md": skilltest.Document("doc", "d"), "main/SKILL.md": skilltest.Document("main", "d") + "\n" + good, "pdf/SKILL.md": skilltest.Document("pdf", "d"),
		"pdf/run.sh": good, "was/SKILL.md": skilltest.Document("was", "d"), "was/run.sh": bad,
	})
	old := m.Files["doc/SKILL.md"].ModTime
	m.Put("new/SKILL.md", skilltest.Document("new", "d")) // too new for its stamp to prove its contents
	cache := newVerdictCache("", "", time.Now)
	run := func(scan Config) map[string]*catalog.Entry {
		t.Helper()
		c := catalog.New([]catalog.Source{policy.Guarded(loading{m}, New(Options{Config: scan, Cache: cache}).Decider(false))}, catalog.Options{})
		ok(t, c.Refresh(t.Context()))
		v, err := c.View(t.Context())
		ok(t, err)
		all := map[string]*catalog.Entry{}
		for _, e := range v.Entries {
			all[e.Path] = e
		}
		return all
	}
	heldBack := func(all map[string]*catalog.Entry) (paths []string) {
		for at, e := range all {
			if e.HeldBack() {
				paths = append(paths, at)
			}
		}
		slices.Sort(paths)
		return paths
	}
	enforce := Config{Mode: Enforce}
	if run(enforce); len(cache.skills) != 4 {
		t.Fatalf("%d are remembered: the test tests nothing", len(cache.skills))
	}
	for at, text := range map[string]string{"pdf/run.sh": bad, "main/SKILL.md": skilltest.Document("main", "d") + "\n```sh\n" + bad + "```\n"} {
		m.Put(at, text)
		m.Files[at].ModTime = old
	}
	reports := len(cache.reports)
	all := run(enforce)
	if got := heldBack(all); !slices.Equal(got, []string{"main", "was"}) {
		t.Errorf("held back at once are %q", got)
	}
	if n := len(cache.reports) - reports; n != 1 {
		t.Errorf("%d are judged at once, want 1", n)
	}
	for _, e := range all {
		if data, _, err := e.ReadServed("run.sh", 100); err == nil {
			t.Errorf("%s reads %q", e.Path, data)
		}
	}
	stricter, err := access.ParsePattern("skill://**/doc")
	ok(t, err)
	enforce.Approve = []access.Pattern{stricter}
	if got := heldBack(run(enforce)); !slices.Contains(got, "doc") {
		t.Errorf("what is remembered passes a stricter policy: %q", got)
	}
}
