package lockfile

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

var update = flag.Bool("update", false, "rewrite testdata/damaged.txt")

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestGood checks that a lock that knack wrote is read, and written again with the same bytes.
func TestGood(t *testing.T) {
	data := read(t, "testdata/good.lock")
	lock, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	e := lock.Skills[".agents/skills/pdf"]
	if len(lock.Skills) != 2 || e.Want != "v1.2.0" || len(e.Files) != 2 || !e.Files[1].Exec || e.Files[0].Exec || e.Files[1].Size != 9 {
		t.Errorf("read %+v", lock)
	}
	if got := lock.Bytes(); !bytes.Equal(got, data) {
		t.Errorf("written as\n%s", got)
	}
	crlf, err := Parse(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	if err != nil || !reflect.DeepEqual(crlf, lock) {
		t.Errorf("with the line ends of Windows: %v", err)
	}
}

// TestBytes checks the bytes of a lock with each field, and of an empty lock.
func TestBytes(t *testing.T) {
	if got := string((&Lock{}).Bytes()); got != "{\n  \"lockVersion\": 1,\n  \"skills\": {}\n}\n" {
		t.Errorf("an empty lock is %q", got)
	}
	files := []File{{Path: "SKILL.md", Size: 1}, {Path: "<&>\u2028é.sh", Exec: true}}
	e := Skill{Name: "a \"b\"\n", Source: "oci://x.example/y", Want: "main", Path: ".", Revision: "oci:sha256:0", Version: "1",
		Pinned: true, Signer: "key:0", Clients: map[string]Form{"claude-code": Link, "a.b": Copy}, Digest: Digest(files), Files: slices.Clone(files)}
	slices.Reverse(e.Files) // Bytes sorts them
	text := (&Lock{Skills: map[string]Skill{"b": e, "a/c": e}}).Bytes()
	lock, err := Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	e.Files = lock.Skills["b"].Files
	if !reflect.DeepEqual(lock.Skills["b"], e) || e.Files[0].Path != "<&>\u2028é.sh" {
		t.Errorf("read %+v", lock.Skills["b"])
	}
	if !bytes.Contains(text, []byte("\"version\": \"1\",\n      \"pinned\": true,\n      \"signer\": \"key:0\",\n      \"clients\": {\"a.b\": \"copy\", \"claude-code\": \"link\"},\n")) || !bytes.Contains(text, []byte("\"<&>\u2028é.sh\"")) {
		t.Errorf("written as\n%s", text)
	}
}

// TestDamaged checks that each damaged lock is refused with the position, the fault and a fix.
// testdata/damaged.txt has a line for each lock.
func TestDamaged(t *testing.T) {
	paths, err := filepath.Glob("testdata/damaged/*.lock")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d damaged locks, %v", len(paths), err)
	}
	var got strings.Builder
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".lock")
		lock, err := Parse(read(t, path))
		e, ours := errors.AsType[*jsonfile.Error](err)
		if !ours || lock != nil {
			t.Errorf("%s: read as %v, %v", name, lock, err)
			continue
		}
		if e.Fix == "" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		fmt.Fprintf(&got, "%s: %v\n", name, err)
	}
	const golden = "testdata/damaged.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(read(t, golden)); got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestLarge checks that a lock above the limit is refused, and that a lock below it takes bounded
// memory.
func TestLarge(t *testing.T) {
	if _, err := Parse(make([]byte, 100<<20)); err == nil || !strings.Contains(err.Error(), "the limit is 32 MiB") {
		t.Errorf("100 MB: %v", err)
	}
	hostile := []byte(`{"lockVersion": 1, "skills": {` + strings.Repeat(`"`+strings.Repeat("a", 4000)+`": {}, `, 1000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Parse(hostile)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > uint64(4*len(hostile)) {
		t.Errorf("%d bytes for %d, %v", took, len(hostile), err)
	}
}

// sample returns a lock of n skills with five files each.
func sample(n int) *Lock {
	lock := &Lock{Skills: map[string]Skill{}}
	for i := range n {
		name := fmt.Sprintf("skill-%05d", i)
		files := []File{{Path: "SKILL.md", Size: int64(4000 + i), Digest: skill.DigestOf([]byte(name))}}
		for j := range 4 {
			files = append(files, File{Path: fmt.Sprintf("scripts/part-%d.py", j), Size: int64(i), Digest: skill.DigestOf([]byte{byte(i), byte(j)}), Exec: true})
		}
		lock.Skills[".agents/skills/"+name] = Skill{Name: name, Source: "github.com/acme/skills", Want: "v1.2.0", Path: "skills/" + name,
			Revision: "git:9f2b1e4c0a6d8e7f5b3a1c9d2e4f6a8b0c1d3e5f", Version: "1.2.0", Digest: Digest(files), Files: files}
	}
	return lock
}

// TestMerge checks that git merges branches that add different skills to one lock, in 18 of 20
// cases without a conflict. Only additions next to each other collide.
func TestMerge(t *testing.T) {
	if testing.Short() {
		t.Skip("starts git")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	git := func(args ...string) error {
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("git %v: %w: %s", args, err, out)
		}
		return err
	}
	must := func(args ...string) {
		t.Helper()
		if err := git(args...); err != nil {
			t.Fatal(err)
		}
	}
	write := func(lock *Lock) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, Name), lock.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		must("add", Name)
		must("commit", "-q", "-m", "x")
	}
	with := func(lock *Lock, n int) *Lock {
		more := sample(n + 1)
		key := fmt.Sprintf(".agents/skills/skill-%05d", n)
		merged := maps.Clone(lock.Skills)
		merged[key] = more.Skills[key]
		return &Lock{Skills: merged}
	}
	base := sample(400)
	for key := range base.Skills { // every 20th of the 400 skills stays
		if !strings.HasSuffix(key, "0") || (key[len(key)-2]-'0')%2 != 0 {
			delete(base.Skills, key)
		}
	}
	must("init", "-q")
	write(base)
	random := rand.New(rand.NewPCG(1, 2))
	merged, all := 0, 6
	if testwait.SecondLane() {
		all = 20
	}
	for range all {
		ours, theirs := 1+20*random.IntN(20)+random.IntN(9), 11+20*random.IntN(20)+random.IntN(9)
		must("checkout", "-q", "-B", "theirs", "main")
		write(with(base, theirs))
		must("checkout", "-q", "-B", "ours", "main")
		write(with(base, ours))
		if err := git("merge", "-q", "-m", "x", "theirs"); err != nil {
			if _, err := Parse(read(t, filepath.Join(dir, Name))); err == nil || !strings.Contains(err.Error(), "conflict markers") {
				t.Errorf("a conflict is read: %v", err)
			}
			must("checkout", "--ours", Name) // as the fix says
			if lock, err := Parse(read(t, filepath.Join(dir, Name))); err != nil || !reflect.DeepEqual(lock, with(base, ours)) {
				t.Errorf("one side of a conflict: %v", err)
			}
			must("merge", "--abort")
			continue
		}
		merged++
		data := read(t, filepath.Join(dir, Name))
		if lock, err := Parse(data); err != nil || !reflect.DeepEqual(lock, with(with(base, ours), theirs)) {
			t.Errorf("merged wrongly: %v", err)
		} else if !bytes.Equal(lock.Bytes(), data) {
			t.Error("the merged lock is not canonical")
		}
	}
	if merged < all*9/10 {
		t.Errorf("%d of %d merged", merged, all)
	}
}

// FuzzParse checks that each fault has a position in the text, and that a parsed lock is written
// and read again unchanged.
func FuzzParse(f *testing.F) {
	f.Add(read(f, "testdata/good.lock"))
	f.Add(sample(2).Bytes())
	f.Add([]byte("{\"skills\":{},\"lockVersion\":1}"))
	paths, _ := filepath.Glob("testdata/damaged/*.lock")
	for _, path := range paths {
		f.Add(read(f, path))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := Parse(data)
		if err != nil {
			e, ours := errors.AsType[*jsonfile.Error](err)
			if !ours || e.Line < 1 || e.Line > 1+bytes.Count(data, []byte("\n")) || e.Column < 1 || e.Column > 1+len(data) || e.Message == "" || e.Fix == "" {
				t.Errorf("fault %#v", err)
			}
			return
		}
		text := lock.Bytes()
		again, err := Parse(text)
		if err != nil || !reflect.DeepEqual(again, lock) {
			t.Errorf("written as something else: %v\n%s", err, text)
		}
		if !bytes.Equal(again.Bytes(), text) {
			t.Error("not canonical")
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		data := sample(n).Bytes()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBytes(b *testing.B) {
	lock := sample(10_000)
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(lock.Bytes())))
	}
}

// TestSpelled checks that Parse normalizes the source in an older lock.
func TestSpelled(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "good.lock"))
	if err != nil {
		t.Fatal(err)
	}
	good, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for key, e := range good.Skills {
		e.Source = "oci://R.Example:0443/acme/skills"
		good.Skills[key] = e
	}
	again, err := Parse(good.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for key, e := range again.Skills {
		if e.Source != "oci://r.example/acme/skills" {
			t.Errorf("%s: %s", key, e.Source)
		}
	}
}
