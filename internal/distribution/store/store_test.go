package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func begin(t *testing.T, s *Store) *Batch {
	t.Helper()
	b, err := s.Batch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// send sends files. Each is given as "path", or as "path*" if it is executable, and has its path as
// content.
func send(b *Batch, skill string, paths ...string) (err error) {
	for _, p := range paths {
		p, exec := strings.CutSuffix(p, "*")
		err = errors.Join(err, b.File(skill, origin.File{Path: p, Exec: exec, Size: int64(len(p))}, strings.NewReader(p)))
	}
	return err
}

// put stores a skill with these files.
func put(t *testing.T, s *Store, paths ...string) Skill {
	t.Helper()
	b := begin(t, s)
	defer b.Close()
	err := send(b, "x", paths...)
	k, finished := b.Finish("x")
	if err := errors.Join(err, finished); err != nil {
		t.Fatal(err)
	}
	return k
}

// tree lists the files below a folder with their modes, and its empty folders.
func tree(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if below, _ := filepath.Rel(dir, path); !d.IsDir() {
			all = append(all, fmt.Sprint(info.Mode(), " ", filepath.ToSlash(below)))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	return all
}

func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache", "knack")
	s := open(t, dir, Options{})
	if _, err := s.Find(skill.Digest{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a search made the folder: %v", err)
	}
	k := put(t, s, "SKILL.md", "scripts/run*")
	want := []lockfile.File{{Path: "SKILL.md", Size: 8, Digest: skill.DigestOf([]byte("SKILL.md"))}, {Path: "scripts/run", Size: 11, Digest: skill.DigestOf([]byte("scripts/run")), Exec: true}}
	if diff := cmp.Diff(Skill{lockfile.Digest(want), want}, k); diff != "" {
		t.Error(diff)
	}
	h := strings.TrimPrefix(k.Digest.String(), "sha256:")
	if diff := cmp.Diff([]string{"-r--r--r-- SKILL.md", "-r-xr-xr-x scripts/run"}, tree(t, filepath.Join(dir, "skills", h[:2], h[2:]))); diff != "" && runtime.GOOS != "windows" {
		t.Error(diff)
	}
	again := open(t, dir, Options{})
	if found, err := again.Find(k.Digest); err != nil || runtime.GOOS != "windows" && !cmp.Equal(found, k) {
		t.Errorf("%v, %v", found, err)
	}
	f, err := again.Open(k.Digest, "scripts/run")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, err := io.ReadAll(f); err != nil || string(data) != "scripts/run" {
		t.Errorf("%s, %v", data, err)
	}
	if _, err := again.Open(k.Digest, "../../../store.lock"); err == nil {
		t.Error("a file outside of the skill")
	}
	if second := put(t, s, "scripts/run", "SKILL.md"); second.Digest != k.Digest || second.Files[1].Exec {
		t.Errorf("the same skill without its executable bit: %v", second)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if _, err := Open("knack", Options{}); err == nil {
		t.Error("a relative path")
	}
}

// TestBatchRefuses checks that a skill is stored whole or not at all, and that a fault of one
// skill does not affect another.
func TestBatchRefuses(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	b := begin(t, s)
	file := func(path string, size int64, r io.Reader) func(string) {
		return func(name string) {
			if err := b.File(name, origin.File{Path: path, Size: size}, r); err == nil {
				t.Errorf("%s: the file was taken", name)
			}
		}
	}
	broken := errors.New("the source broke")
	cases := map[string]struct {
		send func(name string)
		want string
	}{
		"broken":   {file("b", -1, iotest.ErrReader(broken)), "read 'b': the source broke"},
		"short":    {file("b", 3, strings.NewReader("xx")), "'b' has 2 bytes, and the source said 3"},
		"long":     {file("b", 3, strings.NewReader("xxxx")), "'b' has 4 bytes, and the source said 3"},
		"large":    {file("b", origin.MaxSize, strings.NewReader("x")), "the skill has more than 64 MiB"},
		"endless":  {file("b", -1, &endless{}), "the skill has more than 64 MiB"},
		"outside":  {file("../b", 1, strings.NewReader("x")), "'../b' leads out of the folder"},
		"absolute": {file("/b", 1, strings.NewReader("x")), "'/b' is an absolute path"},
		"twice":    {file("a", 1, strings.NewReader("a")), "'a' is there twice"},
		"case":     {file("A", 1, strings.NewReader("x")), "'A' differs from 'a' only in case or in Unicode's normal form"},
		"below":    {file("a/b", 1, strings.NewReader("x")), "'a' is both a file and a folder"},
		"failed":   {func(name string) { b.Fail(name, broken); b.Fail(name, errors.New("again")) }, "the source broke"},
	}
	if testing.Short() {
		delete(cases, "endless") // it writes 64 MiB
	}
	for name, c := range cases {
		if err := send(b, name, "a"); err != nil {
			t.Error(err)
		}
		c.send(name)
		if err := b.File(name, origin.File{Path: "later", Size: 1}, strings.NewReader("x")); err == nil {
			t.Errorf("%s: a later file was taken", name)
		}
		if _, err := b.Finish(name); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := b.Finish("none"); err == nil {
		t.Error("a skill without files")
	}
	b.received("many").count = origin.MaxFiles - 1
	if err := send(b, "many", "last"); err != nil {
		t.Error(err)
	}
	if err := send(b, "many", "one more"); err == nil || err.Error() != origin.TooManyFiles().Error() {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if left := append(tree(t, s.path(tmpFolder)), tree(t, s.path(skillsFolder))...); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

type endless struct{}

func (*endless) Read(p []byte) (int, error) { return len(p), nil }

// TestBatchCancelled checks that a batch stores nothing after its context has ended.
func TestBatchCancelled(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	b, err := s.Batch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := send(b, "x", "a"); err != nil {
		t.Error(err)
	}
	cancel()
	if err := send(b, "x", "b"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := b.Finish("x"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestClean checks that the store removes, once a day, skills and repositories that were not used
// for long. It removes nothing while another process uses the store.
func TestClean(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	const day = 24 * time.Hour
	at := func(d time.Duration) *Store {
		s, err := Open(dir, Options{Now: func() time.Time { return now.Add(d) }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := at(0)
	used, unused := put(t, s, "used"), put(t, s, "unused")
	old, err := s.GitDir("old")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if s = at(20 * day); true { // the skill is used at this time
		if _, err := s.Find(used.Digest); err != nil {
			t.Error(err)
		}
		s.Close()
	}
	has := func(s *Store, want bool) {
		t.Helper()
		_, err := os.Stat(s.Folder(unused.Digest))
		_, gitErr := os.Stat(old)
		if (err == nil) != want || (gitErr == nil) != want {
			t.Errorf("the unused skill: %v, the repository: %v; want them there: %v", err, gitErr, want)
		}
	}
	s = at(29 * day)
	put(t, s, "new")
	has(s, true)
	s.Close()
	other := at(29 * day)
	if _, err := other.Find(used.Digest); err != nil {
		t.Error(err)
	}
	s = at(31 * day)
	put(t, s, "new") // another process still uses the store
	has(s, true)
	s.Close()
	other.Close()
	s = at(31*day + time.Minute)
	put(t, s, "new")
	has(s, false)
	if _, err := s.Find(used.Digest); err != nil {
		t.Errorf("the skill that was used: %v", err)
	}
	s.Close()
}

// TestCleanThroughLinks checks that a store in which the user has replaced folders with links
// works, and removes only its own files.
func TestCleanThroughLinks(t *testing.T) {
	dir, mine, now := t.TempDir(), t.TempDir(), time.Now()
	for _, folder := range []string{skillsFolder, gitFolder} {
		if err := os.Symlink(mine, filepath.Join(dir, folder)); err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{"photos/2020", "ab/cd", "notes"} {
		if err := os.MkdirAll(filepath.Join(mine, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(dir, Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "old")
	s.Close()
	if s, err = Open(dir, Options{Now: func() time.Time { return now.Add(40 * 24 * time.Hour) }}); err != nil {
		t.Fatal(err)
	}
	k := put(t, s, "new")
	if _, err := s.Find(k.Digest); err != nil {
		t.Error(err)
	}
	s.Close()
	for _, name := range []string{"photos/2020", "ab/cd", "notes"} {
		if _, err := os.Stat(filepath.Join(mine, name)); err != nil {
			t.Error(err)
		}
	}
	for _, folder := range []string{skillsFolder, gitFolder} {
		if _, err := os.Readlink(filepath.Join(dir, folder)); err != nil {
			t.Error(err)
		}
	}
}

// TestStoreAtOnce checks that several concurrent users of one folder store and find the same
// skills.
func TestStoreAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := Open(dir, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for i := range 20 {
				b, err := s.Batch(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				err = send(b, "x", "SKILL.md", fmt.Sprint(i))
				k, finished := b.Finish("x")
				_, found := s.Find(k.Digest)
				if err := errors.Join(err, finished, found, b.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(tree(t, filepath.Join(dir, "skills"))); n != 40 {
		t.Errorf("%d files, want 40", n)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}
