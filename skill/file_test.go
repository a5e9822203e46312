package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/knack-dev/knack/internal/test/difftest"
)

func TestFilePath(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a", "a/b.md": "a/b.md", "a\\b.md": "a/b.md", "./a": "a", "a/./b": "a/b", "a//b/": "a/b", "a/../b": "b", "a\\..\\b": "b", "a/b/../../c": "c", "": ".", ".": ".", "a/..": ".", ".\\": ".",
		"...": "...", "..a/b..": "..a/b..", "%2e%2e/a": "%2e%2e/a", "a:b": "", "aa:b": "aa:b", "x/C:y": "x/C:y", "é ü/ ": "é ü/ ", "~/a": "~/a", "1:x": "1:x",
		"/a": "", "\\a": "", "//h/s/a": "", "\\\\h\\s": "", "\\\\?\\C:\\a": "", "..": "", "../a": "", "..\\a": "", "a/../../b": "", "a\\../..\\b": "", "./../a": "", "a/b/../../..": "",
		"C:": "", "c:a": "", "C:/a": "", "C:\\a": "", "./C:/a": "", "a/../z:b": "", "a\x00": "", "\x00": "",
	} {
		got, err := FilePath(in)
		if got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, ErrOutside) {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestHidden(t *testing.T) {
	for p, want := range map[string]bool{"a": false, ".": false, "a/b.c": false, "a/.": false, ".env": true, "a/.git/b": true, "..a": true, "a/b/.DS_Store": true, "": false} {
		if Hidden(p) != want {
			t.Errorf("%q: %v", p, !want)
		}
	}
}

// changing is a file system whose file changes with each read, until no steps are left.
type changing struct {
	fstest.MapFS
	name  string
	steps []string
}

type changingFile struct {
	fs.File
	owner *changing
}

func (c *changing) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	if err != nil || name != c.name {
		return f, err
	}
	return changingFile{f, c}, nil
}

func (f changingFile) Read(p []byte) (int, error) {
	if len(f.owner.steps) > 0 { // the file is written while it is read
		f.owner.MapFS[f.owner.name] = &fstest.MapFile{Data: []byte(f.owner.steps[0]), ModTime: time.Unix(int64(len(f.owner.steps)), 0)}
		f.owner.steps = f.owner.steps[1:]
	}
	return f.File.Read(p)
}

// Stat describes the current file, like fstat for a file that is being rewritten.
func (f changingFile) Stat() (fs.FileInfo, error) { return fs.Stat(f.owner.MapFS, f.owner.name) }

func changes(steps ...string) *changing {
	return &changing{fstest.MapFS{"f": {Data: []byte("first")}}, "f", steps}
}

func TestReadFile(t *testing.T) {
	plain := fstest.MapFS{"f": {Data: []byte("12345")}, "empty": {}, "d/x": {}, "pipe": {Mode: fs.ModeNamedPipe}}
	for _, c := range []struct {
		what, name string
		fsys       fs.FS
		limit      int64
		want       string
		err        error
	}{
		{"at the limit", "f", plain, 5, "12345", nil},
		{"over the limit", "f", plain, 4, "", ErrTooLarge},
		{"empty", "empty", plain, 0, "", nil},
		{"a folder", "d", plain, 9, "", ErrNotRegular},
		{"a pipe", "pipe", plain, 9, "", ErrNotRegular},
		{"absent", "g", plain, 9, "", fs.ErrNotExist},
		{"grows once", "f", changes("second and longer"), 99, "second and longer", nil},
		{"shrinks once", "f", changes("2"), 99, "2", nil},
		{"same length", "f", changes("other"), 99, "other", nil},
		{"grows over the limit", "f", changes("123456"), 5, "", ErrTooLarge},
		{"changes three times", "f", changes("a", "bb", "ccc"), 99, "ccc", nil},
		{"never stands still", "f", changes(strings.Split(strings.Repeat("a bb ", 9), " ")...), 99, "", ErrUnstable},
	} {
		data, stamp, err := ReadFile(c.fsys, c.name, c.limit)
		if string(data) != c.want || !errors.Is(err, c.err) || err == nil && stamp.Size != int64(len(data)) {
			t.Errorf("%s: %q, %+v, %v, want %q, %v", c.what, data, stamp, err, c.want, c.err)
		}
	}
}

func TestReason(t *testing.T) {
	for want, err := range map[string]error{
		"":                                 nil,
		"no such file":                     &fs.PathError{Op: "open", Path: "/home/me/x", Err: fs.ErrNotExist},
		"permission denied":                &fs.PathError{Op: "open", Path: "/home/me/x", Err: fs.ErrPermission},
		"too large":                        fmt.Errorf("/home/me/x: %w", ErrTooLarge),
		"not valid UTF-8":                  &fs.PathError{Op: "read", Path: "/home/me/x", Err: ErrNotUTF8},
		"leads outside the skill's folder": fmt.Errorf("open: %w", ErrOutside),
		"cannot be read":                   errors.New("/home/me/x: something"),
	} {
		difftest.Same(t, Reason(err), want, "Reason")
	}
}

func TestStamp(t *testing.T) {
	now := time.Unix(1000, 0)
	for age, racy := range map[time.Duration]bool{-time.Hour: true, 0: true, StampRacy - 1: true, StampRacy: false, time.Hour: false} {
		s := Stamp{MTime: now.Add(-age).UnixNano()}
		if s.Racy(now) != racy {
			t.Errorf("%v old: %v", age, !racy)
		}
	}
	info, _ := fs.Stat(fstest.MapFS{"f": {Data: []byte("abc")}}, "f")
	difftest.Same(t, StampOf(info), Stamp{Size: 3}, "without a time")
}

// skillOf returns a skill with files in memory.
func skillOf(entry string, files fstest.MapFS) *Skill {
	return &Skill{Bundle: &Bundle{Path: "s", Entry: entry, FS: files}}
}

func namesOf(t *testing.T, s *Skill, limit int) (names []string, more bool) {
	t.Helper()
	files, more, err := s.List(context.Background(), limit)
	if err != nil && !errors.Is(err, ErrIncomplete) {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Path)
	}
	return names, more
}

func TestList(t *testing.T) {
	s := skillOf("skill.md", fstest.MapFS{
		"skill.md": {Data: []byte("x")}, "SKILL.MD": {}, "a-b/c": {}, "a/c": {}, "a/empty": {}, "nested/SKILL.md": {}, "nested/x.md": {}, ".env": {}, ".git/config": {}, "a/.hidden/x": {},
		"pipe": {Mode: fs.ModeNamedPipe}, "b\\c": {}, "%2e%2e": {}, "C:x": {}, "100%.md": {}, strings.Repeat("d/", MaxDepth) + "in": {}, strings.Repeat("d/", MaxDepth+1) + "out": {},
	})
	names, more := namesOf(t, s, 100)
	difftest.Same(t, names, []string{"100%.md", "SKILL.MD", "SKILL.md", "a-b/c", "a/c", "a/empty", strings.Repeat("d/", MaxDepth) + "in", "nested/SKILL.md", "nested/x.md"}, "files")
	if more {
		t.Error("says there are more")
	}
	for _, n := range names {
		if _, err := NewURI("s/" + n); err != nil {
			t.Errorf("%s: no URI: %v", n, err)
		}
		if _, _, err := s.ReadServed(n, 9); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
	if names, more := namesOf(t, s, 2); len(names) != 2 || !more {
		t.Errorf("limit 2: %q, more %v", names, more)
	}
	if _, more := namesOf(t, s, 9); more {
		t.Error("limit 9 of 9 says there are more")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := s.List(ctx, 9); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// failing is a file system in which files named "fails" cannot be opened.
type failing struct {
	fs.FS
	err error
}

func (f failing) Open(name string) (fs.File, error) {
	if path.Base(name) == "fails" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	return f.FS.Open(name)
}

// TestListIncomplete checks that a manifest that would lack a file is an error, because a folder is
// too deep or unreadable or because a disk fails. Unreadable or deep dot-entries are no error,
// since they do not belong to the skill.
func TestListIncomplete(t *testing.T) {
	main := &fstest.MapFile{Data: []byte("x")}
	deepest, tooDeep := strings.Repeat("d/", MaxDepth), strings.Repeat("d/", MaxDepth+1)
	for name, tt := range map[string]struct {
		fsys fs.FS
		want error
	}{
		"deepest":       {fstest.MapFS{"SKILL.md": main, deepest + "in": {}}, nil},
		"too deep":      {fstest.MapFS{"SKILL.md": main, tooDeep + "out": {}}, ErrIncomplete},
		"deep hidden":   {fstest.MapFS{"SKILL.md": main, ".x/" + tooDeep + "out": {}}, nil},
		"closed":        {refusing{fstest.MapFS{"SKILL.md": main, "closed/x": {}}}, ErrIncomplete},
		"broken disk":   {failing{fstest.MapFS{"SKILL.md": main, "fails/x": {}}, syscall.EIO}, syscall.EIO},
		"broken file":   {failing{fstest.MapFS{"SKILL.md": main, "a/fails": {}}, syscall.EIO}, syscall.EIO},
		"too many open": {failing{fstest.MapFS{"SKILL.md": main, "fails/x": {}}, syscall.EMFILE}, syscall.EMFILE},
		"for all users": {failing{fstest.MapFS{"SKILL.md": main, "a/fails": {}}, syscall.ENFILE}, syscall.ENFILE},
		"backslash":     {fstest.MapFS{"SKILL.md": main, "a\\b.md": {}}, ErrIncomplete},
		"in a folder":   {fstest.MapFS{"SKILL.md": main, "a\\b/c.md": {}}, ErrIncomplete},
		"not UTF-8":     {fstest.MapFS{"SKILL.md": main, "\xff.md": {}}, ErrIncomplete},
		"pipe named so": {fstest.MapFS{"SKILL.md": main, "a\\b": {Mode: fs.ModeNamedPipe}}, nil},
		"a pipe aside":  {fstest.MapFS{"SKILL.md": main, "pipe": {Mode: fs.ModeNamedPipe}}, nil},
	} {
		s := skillOf(MainFile, nil)
		s.FS = tt.fsys
		_, _, err := s.List(context.Background(), 9)
		if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: List: %v", name, err)
		}
		if _, err := s.Manifest(context.Background(), nil); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: Manifest: %v", name, err)
		}
	}
}

func TestListUnreadableFolder(t *testing.T) {
	if os.Getuid() == 0 {
		s := skillOf(MainFile, nil)
		s.FS = refusing{fstest.MapFS{"SKILL.md": {}, "closed/x": {}, "open/y": {}}}
		names, _ := namesOf(t, s, 9)
		difftest.Same(t, names, []string{"SKILL.md", "open/y"}, "files")
		return
	}
	dir := t.TempDir()
	for _, f := range []string{"SKILL.md", "closed/x", "open/y"} {
		if err := errors.Join(os.MkdirAll(path.Join(dir, path.Dir(f)), 0o755), os.WriteFile(path.Join(dir, f), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path.Join(dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(path.Join(dir, "closed"), 0o755) })
	s := skillOf(MainFile, nil)
	s.FS = os.DirFS(dir)
	names, _ := namesOf(t, s, 9)
	difftest.Same(t, names, []string{"SKILL.md", "open/y"}, "files")
}

// refusing is a file system with a folder that no user can read.
type refusing struct{ fstest.MapFS }

func (r refusing) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, "closed") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return r.MapFS.Open(name)
}

// ReadDir implements [fs.ReadDirFS], and refuses closed folders.
func (r refusing) ReadDir(name string) ([]fs.DirEntry, error) {
	if strings.HasPrefix(name, "closed") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return r.MapFS.ReadDir(name)
}

func TestManifestLimits(t *testing.T) {
	files := func(n int, size int) fstest.MapFS {
		m := fstest.MapFS{"SKILL.md": {Data: []byte("x")}}
		for i := range n - 1 {
			m[fmt.Sprintf("f%03d", i)] = &fstest.MapFile{Data: make([]byte, size)}
		}
		return m
	}
	for _, c := range []struct {
		what string
		fs   fstest.MapFS
		err  error
	}{
		{"512 files", files(MaxFiles, 0), nil},
		{"513 files", files(MaxFiles+1, 0), ErrTooLarge},
		{"16 MiB", files(2, MaxSkillSize-1), nil},
		{"16 MiB and a byte", files(2, MaxSkillSize), ErrTooLarge},
		{"over 16 MiB in three", files(3, MaxSkillSize/2), ErrTooLarge},
	} {
		got, err := skillOf(MainFile, c.fs).Manifest(context.Background(), nil)
		if !errors.Is(err, c.err) || err == nil && len(got) != len(c.fs) {
			t.Errorf("%s: %d files, %v", c.what, len(got), err)
		}
	}
	// Dot-entries do not count towards the limit of 512.
	with := files(MaxFiles, 0)
	with[".env"] = &fstest.MapFile{Data: []byte("secret")}
	if got, err := skillOf(MainFile, with).Manifest(context.Background(), nil); err != nil || len(got) != MaxFiles {
		t.Errorf("%d files, %v", len(got), err)
	}
}

func TestManifestDigests(t *testing.T) {
	s := skillOf("skill.md", fstest.MapFS{"skill.md": {Data: []byte("main")}, "empty": {}})
	got, err := s.Manifest(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	difftest.Same(t, got, []File{
		{Path: MainFile, Size: 4, Digest: DigestOf([]byte("main")), Stamp: Stamp{Size: 4}},
		{Path: "empty", Digest: DigestOf(nil)},
	}, "manifest")
}

// TestManifestWhileFilesChange checks that a manifest describes one state of the files, and keeps
// its limits while files grow.
func TestManifestWhileFilesChange(t *testing.T) {
	changed := skillOf("f", nil)
	changed.FS = changes("second")
	got, err := changed.Manifest(context.Background(), nil)
	if err != nil || len(got) != 1 || got[0].Digest != DigestOf([]byte("second")) || got[0].Size != 6 {
		t.Errorf("changed once: %+v, %v", got, err)
	}
	never := skillOf("f", nil)
	never.FS = changes("a", "bb", "c", "dd", "e", "ff", "g", "hh")
	if _, err := never.Manifest(context.Background(), nil); !errors.Is(err, ErrUnstable) {
		t.Errorf("never stands still: %v", err)
	}
	for what, size := range map[string]int{"one over the limit": MaxSkillSize + 2, "both together": MaxSkillSize} {
		grown := skillOf("f", nil)
		files := changes(strings.Repeat("x", size))
		files.MapFS["other"] = &fstest.MapFile{Data: []byte("y")}
		grown.FS = files
		if _, err := grown.Manifest(context.Background(), nil); !errors.Is(err, ErrTooLarge) {
			t.Errorf("grown, %s: %v", what, err)
		}
	}
}

func TestContains(t *testing.T) {
	for _, c := range []struct {
		p, folder string
		want      bool
	}{{"a/b", "a", true}, {"a", "a", false}, {"ab", "a", false}, {"a", ".", true}, {".", ".", false}, {"a/b/c", "a/b", true}} {
		if (&Bundle{Path: c.folder}).Contains(c.p) != c.want {
			t.Errorf("%q below %q: %v", c.p, c.folder, !c.want)
		}
	}
}
