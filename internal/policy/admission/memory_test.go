package admission

import (
	"bytes"
	"context"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/policy/quarantine"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/internal/workspace/approvals"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/skill"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestBook: what a damaged, edited, emptied or missing file of approvals says approves nothing, and the
// whole file again does, without a restart.
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
	is := func(when string, want bool) {
		t.Helper()
		now = now.Add(bookFresh)
		if got, why := b.Approved([]string{"skill://acme/other/SKILL.md", uri}, files); got != want || why == "" {
			t.Errorf("%s: %v, %s", when, got, why)
		}
	}
	is("at first", true)
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
		is(when, false)
		ok(t, os.WriteFile(path, whole, 0o600))
		is("restored after it was "+when, true)
	}
	ok(t, os.Remove(path))
	is("missing", false)
	ok(t, os.Mkdir(path, 0o700))
	is("a folder", false)
	ok(t, os.Remove(path))
	add(uri)
	is("approved again", true)
}

// TestBookChanged: a server that runs is told of new approvals, once.
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
		// A scan reads the file before the next look at it: the poke must not be lost.
		testwait.Advance(bookFresh)
		_, _ = b.Approved(nil, nil)
		testwait.Advance(5 * bookEvery)
		if pokes != 1 {
			t.Errorf("%d pokes for a change", pokes)
		}
	})
}

// TestCache: what was kept is known to the next run of the same build and lanes, and a damaged file is
// as good as none.
func TestCache(t *testing.T) {
	path := filepath.Join(t.TempDir(), "knack", "verdicts")
	now := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	stamp := skill.Stamp{Size: 3, MTime: 1 << 60, CTime: -1, Dev: 1 << 63, Inode: 7}
	files := quarantine.Files{Main: stamp, Set: skill.DigestOf([]byte("set")), Files: []skill.File{{Path: "SKILL.md", Size: 3, Digest: skill.DigestOf([]byte("pdf")), Stamp: stamp}}}
	c := NewCache(path, "v1", clock)
	c.Remember("acme\x00pdf", files)
	ok(t, c.keep(files.Set, &scan.Report{Enforce: 1, Review: 2, Unread: true, Findings: []scan.Finding{{Rule: "b", File: "a.sh"}, {Rule: "a"}, {Rule: "b"}}}))
	ok(t, c.keep(skill.DigestOf([]byte("of no skill")), &scan.Report{}))
	ok(t, c.Save())
	whole, err := os.ReadFile(path)
	ok(t, err)
	again := NewCache(path, "v1", clock)
	got, known := again.Recall("acme\x00pdf")
	if !known || got.Main != files.Main || got.Set != files.Set || len(got.Files) != 1 || got.Files[0] != files.Files[0] {
		t.Errorf("recalled %v %+v", known, got)
	}
	if k := again.report(files.Set); k == nil || k.enforce != 1 || k.review != 2 || !k.unread || k.rules != "a b" || k.report().Findings[0].File != "a.sh" {
		t.Errorf("%+v", k)
	}
	if again.report(skill.DigestOf([]byte("of no skill"))) != nil {
		t.Error("a report of no skill is kept on the disk")
	}
	empty := func(when string, c *Cache) {
		t.Helper()
		if len(c.skills)+len(c.reports)+len(c.days) > 0 {
			t.Errorf("%s: %d skills and %d reports are known", when, len(c.skills), len(c.reports))
		}
	}
	empty("another build", NewCache(path, "v2", clock))
	empty("no build", NewCache(path, "", clock))
	for n := range whole {
		ok(t, os.WriteFile(path, whole[:n], 0o600))
		empty("cut short", NewCache(path, "v1", clock))
		damaged := bytes.Clone(whole)
		damaged[n] ^= 0x10
		ok(t, os.WriteFile(path, damaged, 0o600))
		empty("damaged", NewCache(path, "v1", clock))
	}
	ok(t, os.WriteFile(path, whole, 0o600))
	if runtime.GOOS != "windows" {
		for _, mode := range []fs.FileMode{0o620, 0o602} {
			ok(t, os.Chmod(path, mode))
			empty("written by another user", NewCache(path, "v1", clock))
		}
		ok(t, os.Chmod(path, 0o644))
		if os.Chown(path, 12345, -1) == nil {
			empty("of another user", NewCache(path, "v1", clock))
			ok(t, os.Chown(path, os.Geteuid(), -1))
		}
		if len(NewCache(path, "v1", clock).skills) != 1 {
			t.Error("a file that all may read is not read")
		}
	}
	now = now.AddDate(0, 0, keepDays+1)
	late := NewCache(path, "v1", clock)
	late.Remember("acme\x00doc", files)
	ok(t, late.Save())
	if _, known := NewCache(path, "v1", clock).Recall("acme\x00pdf"); known {
		t.Error("a skill that was not seen for a month is kept")
	}
}

// FuzzCache reads any file with a right sum: it takes what it reads whole, or nothing.
func FuzzCache(f *testing.F) {
	c := NewCache("", "v1", time.Now)
	c.Remember("a", quarantine.Files{Files: []skill.File{{Path: "SKILL.md"}}})
	data := c.append(nil)
	f.Add(data[len(magic) : len(data)-4])
	f.Fuzz(func(t *testing.T, data []byte) {
		b := append([]byte(magic), data...)
		c := NewCache("", "v1", func() time.Time { return time.Unix(0, 0) })
		c.parse(binary.LittleEndian.AppendUint32(b, sumOf(b)))
		again := NewCache("", "", c.now)
		again.engine = c.engine
		again.parse(c.append(nil))
		if len(again.skills) != len(c.skills) || len(again.reports) != len(c.reports) {
			t.Errorf("%d skills and %d reports, and again %d and %d", len(c.skills), len(c.reports), len(again.skills), len(again.reports))
		}
	})
}

// changing has files that change all at once, while others read them.
type changing struct{ atomic.Pointer[fstest.MapFS] }

// Open implements [fs.FS].
func (c *changing) Open(name string) (fs.File, error) { return c.Load().Open(name) }

// TestReview: with the mode review everything is served, and scanned in the background; a script that
// changes is scanned again.
func TestReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := skilltest.Project(map[string]string{"pdf/SKILL.md": skilltest.Document("pdf", "d"), "pdf/a.sh": "echo aGVsbG8gd29ybGQgaGVsbG8= | base64 -d | sh\n"})
		files := &changing{}
		files.Store(&m.Files)
		m.FS = files
		j := New(Options{Policy: config.Scan{Mode: config.ScanReview}})
		c := catalog.New([]catalog.Source{j.Source(m, false)}, catalog.Options{})
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
