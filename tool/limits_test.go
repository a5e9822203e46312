package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/alloctest"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool/profile"
	"github.com/knack-dev/knack/tool/wave"
)

// These tests check the promises of contracts 000, 001 and 003 about time and memory, on a real
// disk.

// onDisk writes skills to a disk and serves them: skill-00000 and so on, each with the size of a
// real skill, and calculator with a file and a document of 1 MiB.
func onDisk(t testing.TB, skills int) (*Host, []catalog.Source) {
	t.Helper()
	root := t.TempDir()
	put := func(name, text string) {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range skills {
		name := fmt.Sprintf("skill-%05d", i)
		put(name+"/SKILL.md", md(name, strings.Repeat("Works on all the words. ", 11))+strings.Repeat("A line of what to do.\n", 264))
	}
	mb := strings.Repeat("0123456789abcde\n", 1<<16)
	put("calculator/mb.txt", mb)
	put("calculator/SKILL.md", md("calculator", "Adds")+mb[:1<<20-64])
	sources := []catalog.Source{dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: root}})}
	c := catalog.New(sources, catalog.Options{})
	if err := c.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	return NewHost(c), sources
}

// limited lists the calls for which the contracts set a time limit.
var limited = []struct {
	name, set, tool, args string
	limit                 time.Duration
	isError               bool
}{
	{"000/1MB", "runner", "get_skill", `{"skill_name":"calculator"}`, 500 * time.Millisecond, false},
	{"001/1MB", "runner", "read_file_in_skill", `{"skill_name":"calculator","file_path":"mb.txt"}`, 500 * time.Millisecond, false},
	{"001/path", "runner", "read_file_in_skill", `{"skill_name":"calculator","file_path":"../../etc/passwd"}`, 10 * time.Millisecond, true},
	{"001/error", "runner", "read_file_in_skill", `{"skill_name":"calculator","file_path":"none"}`, 100 * time.Millisecond, true},
	{"001/no-skill", "runner", "read_file_in_skill", `{"skill_name":"none","file_path":"x"}`, 100 * time.Millisecond, true},
	{"003/load", "wave", "Skill", `{"skill_name":"skill-00042"}`, 100 * time.Millisecond, false},
	{"003/load-1MB", "wave", "Skill", `{"skill_name":"calculator"}`, 100 * time.Millisecond, false},
	{"003/not-found", "wave", "Skill", `{"skill_name":"none"}`, 10 * time.Millisecond, true},
}

func BenchmarkGetSkill(b *testing.B) { benchLimited(b, "000/") }

func BenchmarkReadFileOnDisk(b *testing.B) { benchLimited(b, "001/") }

func BenchmarkWave(b *testing.B) {
	benchLimited(b, "003/")
	h, _ := onDisk(b, 1000)
	v, t := viewOf(b, h), toolOf(b, "wave", "Skill")
	b.Run("003/description", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t.Define(v, profile.Client{})
		}
	})
}

func benchLimited(b *testing.B, prefix string) {
	h, _ := onDisk(b, 1000)
	for _, l := range limited {
		if !strings.HasPrefix(l.name, prefix) {
			continue
		}
		b.Run(l.name, func(b *testing.B) {
			b.ReportAllocs()
			t := toolOf(b, l.set, l.tool)
			for b.Loop() {
				if r, err := t.Call(b.Context(), h, json.RawMessage(l.args)); err != nil || r.IsError != l.isError {
					b.Fatalf("%v, %.200s", err, r.Text)
				}
			}
		})
	}
}

func BenchmarkWaveDiscovery(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, sources := onDisk(b, n)
			b.ReportAllocs()
			for b.Loop() {
				h := NewHost(catalog.New(sources, catalog.Options{}))
				if err := h.Catalog.Refresh(b.Context()); err != nil {
					b.Fatal(err)
				}
				if got := len((&wave.SkillManager{Finder: &h.Finder}).AvailableSkills()); got != n+1 {
					b.Fatalf("%d skills", got)
				}
			}
		})
	}
}

// waveHeap returns the live heap of 1,000 skills' metadata, and of 100 loaded skills, in
// bytes.
func waveHeap(t testing.TB) (metadata, loaded int64) {
	_, sources := onDisk(t, 1000)
	before := alive()
	h := NewHost(catalog.New(sources, catalog.Options{}))
	if err := h.Catalog.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	m := wave.SkillManager{Finder: &h.Finder}
	all := m.AvailableSkills()
	metadata = int64(alive()) - int64(before)
	var keep []*wave.Skill
	for _, s := range all[len(all)-100:] {
		one, err := m.LoadSkill(context.Background(), s.Name)
		if err != nil || one == nil {
			t.Fatal(s.Name, err)
		}
		keep = append(keep, one)
	}
	loaded = int64(alive()) - int64(before) - metadata
	runtime.KeepAlive(keep)
	runtime.KeepAlive(m)
	runtime.KeepAlive(all)
	return metadata, loaded
}

func BenchmarkWaveHeap(b *testing.B) {
	for b.Loop() {
		metadata, loaded := waveHeap(b)
		b.ReportMetric(float64(metadata), "metadata-bytes")
		b.ReportMetric(float64(loaded), "loaded-bytes")
	}
}

func TestWaveHeap(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures thousands of skills")
	}
	metadata, loaded := waveHeap(t)
	if metadata > 10<<20 || loaded > 50<<20 {
		t.Errorf("1,000 skills hold %d bytes, 100 loaded ones %d more", metadata, loaded)
	}
}

// TestContractTimes checks that the fastest of a few calls keeps each limit; the others may be slow
// because the machine is busy. An ordinary test must not fail on a slow machine, so this one runs
// only with the benchmarks: make bench-go.
func TestContractTimes(t *testing.T) {
	if os.Getenv("KNACK_TIMES") == "" {
		t.Skip("times are held by make bench-go, which sets KNACK_TIMES")
	}
	h, sources := onDisk(t, 1000)
	within := func(name string, limit time.Duration, do func()) {
		t.Helper()
		best := time.Hour
		for range 5 {
			begun := time.Now()
			do()
			best = min(best, time.Since(begun))
		}
		if best > limit {
			t.Errorf("%s: %v, the limit is %v", name, best, limit)
		}
	}
	for _, l := range limited {
		tl := toolOf(t, l.set, l.tool)
		within(l.name, l.limit, func() {
			if r, err := tl.Call(t.Context(), h, json.RawMessage(l.args)); err != nil || r.IsError != l.isError {
				t.Fatalf("%s: %v, %.200s", l.name, err, r.Text)
			}
		})
	}
	v, wave := viewOf(t, h), toolOf(t, "wave", "Skill")
	within("003/description", 50*time.Millisecond, func() { wave.Define(v, profile.Client{}) })
	within("003/discovery", 500*time.Millisecond, func() {
		if err := catalog.New(sources, catalog.Options{}).Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestContractWork checks that calls do no unnecessary work, on which the promised times depend. It
// counts allocations, which do not depend on the machine's speed. A call for one skill costs the
// same among 100 and among 1,000 skills. A call that names all skills costs ten times as much. A
// scan opens each file once.
func TestContractWork(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures thousands of skills")
	}
	few, sources := onDisk(t, 100)
	many, _ := onDisk(t, 1000)
	work := func(h *Host, set, name, in string, isError bool) float64 {
		tl := toolOf(t, set, name)
		return alloctest.Least(1, func() {
			if r, err := tl.Call(t.Context(), h, json.RawMessage(in)); err != nil || r.IsError != isError {
				t.Fatalf("%s: %v, %.200s", in, err, r.Text)
			}
		})
	}
	rows := append(slices.Clone(limited), limited[0], limited[0])
	rows[len(rows)-2].name, rows[len(rows)-2].set, rows[len(rows)-2].tool, rows[len(rows)-2].args = "002/hit", "universal", "skill", `{"name":"SKILL-00042"}`
	rows[len(rows)-1].name, rows[len(rows)-1].set, rows[len(rows)-1].tool, rows[len(rows)-1].args = "002/miss", "universal", "skill", `{"name":"none"}`
	for _, l := range rows {
		one, ten := work(few, l.set, l.tool, l.args, l.isError), work(many, l.set, l.tool, l.args, l.isError)
		most, within := 1.2*one+20, 500.0
		if l.name == "002/miss" || l.name == "003/not-found" || l.name == "001/no-skill" { // the call lists all names, or a root's folders
			// Depending on the age of its folder, one host may have listed it again and the other
			// not.
			most, within = max(12*one+20, 4000), 5000
		}
		t.Logf("%s: %v allocations among 100 skills, %v among 1,000", l.name, one, ten)
		if ten > most || one > within {
			t.Errorf("%s: %v allocations among 100 skills, %v among 1,000; at most %v", l.name, one, ten, most)
		}
	}
	counted := &opens{Source: sources[0]}
	if err := catalog.New([]catalog.Source{counted}, catalog.Options{}).Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := counted.n.Load(); got != 101 {
		t.Errorf("a scan of 101 skills opens %d files", got)
	}
}

// opens counts the files that are opened.
type opens struct {
	catalog.Source
	n atomic.Int64
}

func (o *opens) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := o.Source.Scan(ctx)
	scan.Bundles = slices.Clone(scan.Bundles)
	for i := range scan.Bundles {
		b := *scan.Bundles[i]
		b.FS, scan.Bundles[i] = countedFS{b.FS, &o.n}, &b
	}
	return scan, err
}

type countedFS struct {
	fs.FS
	n *atomic.Int64
}

func (c countedFS) Open(name string) (fs.File, error) {
	c.n.Add(1)
	return c.FS.Open(name)
}

// TestURISecrets checks that no answer and no event has the parts of a caller's URI outside the
// path, a value of the environment, or a stack trace.
func TestURISecrets(t *testing.T) {
	t.Setenv("KNACK_CANARY", "CANARY-in-the-environment")
	h := hostOf(t, project(map[string]string{"engage/SKILL.md": md("engage", "d")}))
	var events []string
	h.Observe = func(e Event) { events = append(events, e.String()) }
	uris := []string{
		"skill://CANARY:CANARY@x/SKILL.md", "skill://x/SKILL.md?CANARY=CANARY", "skill://x/SKILL.md#CANARY", "https://CANARY:CANARY@example.com",
		"skill://user:CAN/CANARY@engage/SKILL.md", "skill:///CANARY:CANARY@nope/x", "skill://CANARY#CANARY@x/SKILL.md", "skill://x/SKILL.md?a@CANARY",
		"skill://CANARY:" + strings.Repeat("x", 9000) + "@engage/SKILL.md", "CANARY:CANARY@engage", "skill:CANARY@engage", "CANARY@x://engage",
		"skill://x/gh%70_CANARY/SKILL.md",
	}
	for _, prefix := range []string{"ghp_", "gho_", "github_pat_", "sk-", "sk-proj-", "hf_", "npm_", "ya29.", "AIza", "AKIA", "xoxb-", "glpat-", "eyJ"} {
		uris = append(uris, "skill://x/"+prefix+"CANARY/SKILL.md", "skill://"+prefix+"CANARY", prefix+"CANARY", "skill://x/a:"+prefix+"C~CANARY-CANARY.CANARY0123456789/SKILL.md")
	}
	calls := []string{
		`{"uri":"skill://engage/SKILL.md","token":"CANARY"}`, `{"CANARY0":"x"`, `["CANARY"]`, `"CANARY"`, `{"uri":{"CANARY":1}}`, `{"uri":["CANARY"]}`,
		`{"uri":"skill://engage/SKILL.md","ghp_CANARY":1}`, `{"sk-CANARY":1}`, `{"uri":"CANARY`, `{"uri":1} CANARY`,
	}
	for _, uri := range uris {
		calls = append(calls, `{"uri":"`+uri+`"}`)
	}
	for _, in := range calls {
		events = nil
		r := call(t, h, "uri", "get_skill", in)
		if !r.IsError || strings.Contains(r.Text, "CANARY") || strings.Contains(r.Text, "goroutine") {
			t.Errorf("%s: %s", in, r.Text)
		}
		if len(events) != 1 || strings.Contains(events[0], "CANARY") {
			t.Errorf("shown: %s", events)
		}
		if e := (Event{Tool: "get_skil", Arguments: json.RawMessage(in)}).String(); e != "[Tool Call] get_skil(…)\n[Tool Result] " {
			t.Errorf("shown of an unknown tool: %s", e)
		}
	}
}

func TestRedactURI(t *testing.T) {
	for in, want := range map[string]string{
		"skill://user:pa/ss@engage/SKILL.md":   "skill://engage/SKILL.md",
		"skill:///user:pw@nope/x":              "skill://nope/x",
		"skill://x/sk-abc/SKILL.md":            "skill://x/[redacted]/SKILL.md",
		"skill://x/my.ya29.abc/SKILL.md":       "skill://x/[redacted]/SKILL.md",
		"skill://x/desk-task-risk-9/shf_npm":   "skill://x/desk-task-risk-9/shf_npm",
		"skill://x/a?b@c":                      "skill://[redacted]",
		"skill://x/größe%20%zz":                "skill://x/größe%20%zz",
		"skill://api_key:s3cr3tvalue/SKILL.md": "skill://[redacted]/SKILL.md",
		"skill://password=hunter2/SKILL.md":    "skill://[redacted]/SKILL.md",
		"skill://x/Bearer%20abc123xyz789/y":    "skill://x/[redacted]/y",
		"skill://x/X-API-Key%3Aabc%zz/y":       "skill://x/[redacted]/y",
		"skill://x/authorization: basic abc":   "skill://x/[redacted]",
		"skill://x/token/secret-santa/bearer":  "skill://x/token/secret-santa/bearer",
		"skill://claude-user:basic/SKILL.md":   "skill://claude-user:basic/SKILL.md",
		"token":                                "token",
		"":                                     "",
		// Tokens of knack are random, so hyphens may leave no long run of other characters.
		"skill://a/bknack_P5-hj-zh-2u-D_TU-wE-X0-dy-M-CxK4-Vk-x1-IlvQ-aa": "skill://a/[redacted]", "knack_notes": "knack_notes",
	} {
		difftest.Same(t, display.RedactURI(in), want)
	}
}
