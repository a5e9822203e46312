package dir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
)

const secret = "SECRET-OUTSIDE"

// hostile makes a root with a skill s, and with files around s that must not be read through that
// skill.
func hostile(t testing.TB) (root string) {
	root = tree(t, map[string]string{
		"s/SKILL.md":             "main",
		"s/real/deep/a.md":       "deep",
		"s/.env":                 secret,
		"s/.git/config":          secret,
		"s/inside.md":            "->real/deep/a.md",
		"s/real/up.md":           "->../SKILL.md",
		"s/realdir":              "->real",
		"s/here":                 "->.",
		"s/here2":                "->.",
		"s/chain.md":             "->realdir/deep/a.md",
		"s/out.md":               "->../outside.txt",
		"s/abs.md":               "->/etc/passwd",
		"s/self-abs.md":          "->/proc/self/environ",
		"s/proc":                 "->/proc/self",
		"s/sibling":              "->../t",
		"s/sibling.md":           "->../t/SKILL.md",
		"s/back.md":              "->../s/SKILL.md",
		"s/chain-out.md":         "->realdir/../../outside.txt",
		"s/dangling.md":          "->nothing.md",
		"s/loop.md":              "->loop2.md",
		"s/loop2.md":             "->loop.md",
		"s/env.md":               "->.env",
		"s/gitdir":               "->.git",
		"s/folder.md/":           "",
		"s/new\nline.md":         "newline",
		"s/back\\slash.md":       "backslash",
		"s/\x01control.md":       "control",
		"s/" + longName():        "long",
		"t/SKILL.md":             secret,
		"outside.txt":            secret,
		"s/real/absent/gone.md":  "x",
		"s/bad\xffutf8.md":       "utf8",
		"s/case/Readme.MD":       "case",
		"s/real/link-to-file.md": "->./deep/../deep/./a.md",
	})
	must(t, os.RemoveAll(filepath.Join(root, "s/real/absent")))
	return root
}

func longName() string { return strings.Repeat("n", 252) + ".md" }

func TestOpen(t *testing.T) {
	cases := []struct {
		name string
		want string // content, or "" for an error
		err  error
	}{
		{"SKILL.md", "main", nil},
		{"real/deep/a.md", "deep", nil},
		{"inside.md", "deep", nil},
		{"real/up.md", "main", nil},
		{"realdir/deep/a.md", "deep", nil},
		{"here/here2/here/SKILL.md", "main", nil},
		{"chain.md", "deep", nil},
		{"real/link-to-file.md", "deep", nil},
		{"new\nline.md", "newline", nil},
		{"\x01control.md", "control", nil},
		{longName(), "long", nil},

		{"out.md", "", skill.ErrOutside},
		{"abs.md", "", skill.ErrOutside},
		{"self-abs.md", "", skill.ErrOutside},
		{"proc/environ", "", skill.ErrOutside},
		{"sibling/SKILL.md", "", skill.ErrOutside},
		{"sibling.md", "", skill.ErrOutside},
		{"back.md", "", skill.ErrOutside},
		{"chain-out.md", "", skill.ErrOutside},

		{"dangling.md", "", fs.ErrNotExist},
		{"nothing", "", fs.ErrNotExist},
		{"SKILL.md/x", "", fs.ErrNotExist},
		{"real/absent/gone.md", "", fs.ErrNotExist},
		{longName() + "x", "", fs.ErrNotExist},
		{"skill.MD", "", fs.ErrNotExist},
		{"loop.md", "", syscall.ELOOP},

		{".env", "", fs.ErrNotExist},
		{".git/config", "", fs.ErrNotExist},
		{"here/.env", "", fs.ErrNotExist},
		{"env.md", "", fs.ErrNotExist},
		{"gitdir/config", "", fs.ErrNotExist},

		{"", "", fs.ErrInvalid},
		{"..", "", fs.ErrInvalid},
		{"../outside.txt", "", fs.ErrInvalid},
		{"real/../../outside.txt", "", fs.ErrInvalid},
		{"/etc/passwd", "", fs.ErrInvalid},
		{"./SKILL.md", "", fs.ErrInvalid},
		{"real//deep", "", fs.ErrInvalid},
		{"SKILL.md/", "", fs.ErrInvalid},
		{"back\\slash.md", "", fs.ErrInvalid},
		{"..\\outside.txt", "", fs.ErrInvalid},
		{"SKILL.md\x00.txt", "", fs.ErrInvalid},
		{"bad\xffutf8.md", "", fs.ErrInvalid},
		{strings.Repeat("d/", 3000) + "x", "", fs.ErrNotExist},
	}
	root := hostile(t)
	for doorName, d := range doors() {
		fsys := &folder{location: &location{opener: d, base: root}, sub: "s"}
		for _, c := range cases {
			t.Run(doorName+"/"+shorten(c.name), func(t *testing.T) {
				got, err := readAll(fsys, c.name)
				if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
					t.Fatalf("error %v, want %v", err, c.err)
				}
				if got != c.want {
					t.Errorf("read %q, want %q", got, c.want)
				}
				checkError(t, err, root)
				if _, err := fsys.Stat(c.name); (err == nil) != (c.err == nil) {
					t.Errorf("stat says %v, open %v", err, c.err)
				}
			})
		}
	}
}

func shorten(s string) string { return s[:min(len(s), 40)] }

// checkError requires that an error names the path in the skill and does not reveal the
// skill's location.
func checkError(t *testing.T, err error, root string) {
	t.Helper()
	if err == nil {
		return
	}
	var p *fs.PathError
	if !errors.As(err, &p) {
		t.Errorf("%T is no *fs.PathError", err)
	}
	if strings.Contains(err.Error(), root) {
		t.Errorf("%q tells where the skill lies", err)
	}
}

func readAll(fsys fs.FS, name string) (string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20)) // a device may have no end
	return string(b), err
}

// TestOpenSpecial checks that pipes, sockets and devices are refused without delay. Opening a pipe
// can block, and opening a device may do anything.
func TestOpenSpecial(t *testing.T) {
	root := hostile(t)
	special(t, filepath.Join(root, "s"))
	for doorName, d := range doors() {
		fsys := &folder{location: &location{opener: d, base: root}, sub: "s"}
		for _, name := range []string{"pipe.md", "socket.md", "pipelink.md", "zero.md"} {
			t.Run(doorName+"/"+name, func(t *testing.T) {
				if _, err := os.Lstat(filepath.Join(root, "s", name)); err != nil {
					t.Skip("cannot be made here")
				}
				done := make(chan error, 1)
				go func() {
					_, err := readAll(fsys, name)
					done <- err
				}()
				select {
				case err := <-done:
					if !errors.Is(err, skill.ErrNotRegular) {
						t.Errorf("error %v, want %v", err, skill.ErrNotRegular)
					}
				case <-time.After(patience):
					t.Fatal("open blocks")
				}
			})
		}
	}
}

func TestReadDir(t *testing.T) {
	want := map[string][]string{
		".": {
			"d case", "f chain.md", "d folder.md", "f inside.md", "f new\nline.md",
			"f " + longName(), "d real", "d realdir", "f SKILL.md", "f \x01control.md",
			"f back\\slash.md", "f bad\xffutf8.md", // listed, but cannot be opened
		},
		"real":    {"d deep", "f link-to-file.md", "f up.md"},
		"realdir": {"d deep", "f link-to-file.md", "f up.md"},
	}
	root := hostile(t)
	for doorName, d := range doors() {
		fsys := &folder{location: &location{opener: d, base: root}, sub: "s"}
		for dir, want := range want {
			t.Run(doorName+"/"+dir, func(t *testing.T) {
				entries, err := fsys.ReadDir(dir)
				must(t, err)
				got := map[string]bool{}
				for _, e := range entries {
					kind := map[bool]string{true: "d ", false: "f "}[e.IsDir()]
					got[kind+e.Name()] = true
					if _, err := e.Info(); errors.Is(err, fs.ErrInvalid) != (skill.CleanPath(e.Name()) != nil) || err != nil && !errors.Is(err, fs.ErrInvalid) {
						t.Errorf("info of %q: %v", e.Name(), err)
					}
					if skill.CleanPath(e.Name()) != nil {
						if _, err := fsys.Open(e.Name()); !errors.Is(err, fs.ErrInvalid) {
							t.Errorf("open of %q: %v", e.Name(), err)
						}
					}
				}
				wanted := map[string]bool{}
				for _, w := range want {
					wanted[w] = true
				}
				difftest.Same(t, got, wanted)
			})
		}
	}
}

// TestFS runs the test suite of the standard library on a tree that the suite can walk.
func TestFS(t *testing.T) {
	root := tree(t, map[string]string{
		"s/SKILL.md": "main", "s/a/b/c.md": "c", "s/a/link.md": "->b/c.md", "s/d": "->a",
	})
	for doorName, d := range doors() {
		t.Run(doorName, func(t *testing.T) {
			fsys := &folder{location: &location{opener: d, base: root}, sub: "s"}
			if err := fstest.TestFS(fsys, "SKILL.md", "a/b/c.md", "a/link.md", "d/b/c.md"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestWalkIsFinite checks that a walk of a small tree ends, although links to directories could
// make it endless.
func TestWalkIsFinite(t *testing.T) {
	files := map[string]string{"s/SKILL.md": "x", "s/p": "->.", "s/q": "->."}
	for i := range 25 {
		at := "s/d" + string(rune('a'+i))
		next := "->../d" + string(rune('a'+i+1))
		files[at+"/x"], files[at+"/y"] = next, next
	}
	files["s/dz/end.md"] = "end"
	root := tree(t, files)
	for doorName, d := range doors() {
		t.Run(doorName, func(t *testing.T) {
			steps := 0
			err := fs.WalkDir(&folder{location: &location{opener: d, base: root}, sub: "s"}, ".", func(string, fs.DirEntry, error) error {
				if steps++; steps > 1000 {
					return errors.New("no end in sight")
				}
				return nil
			})
			must(t, err)
		})
	}
}

// TestHardLinkIsAFile checks that a hard link can be read, since nothing distinguishes it from a
// file of the skill.
func TestHardLinkIsAFile(t *testing.T) {
	root := tree(t, map[string]string{"s/SKILL.md": "x", "other.md": "shared"})
	if err := os.Link(filepath.Join(root, "other.md"), filepath.Join(root, "s/hard.md")); err != nil {
		t.Skip(err)
	}
	got, err := readAll(&folder{location: &location{opener: pickOpener(), base: root}, sub: "s"}, "hard.md")
	if got != "shared" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestFolderSwappedForLink checks that a skill's folder is not followed if it, or a folder on the
// way to it, becomes a link after the scan.
func TestFolderSwappedForLink(t *testing.T) {
	for doorName, d := range doors() {
		t.Run(doorName, func(t *testing.T) {
			root := tree(t, map[string]string{
				"a/s/SKILL.md": "mine", "b/s/SKILL.md": secret, "s/SKILL.md": "mine",
			})
			beneath := &folder{location: &location{opener: d, base: root}, sub: "a/s"}
			linked := &folder{location: &location{opener: d, base: filepath.Join(root, "a/s"), plain: true}, sub: "."}
			for _, f := range []*folder{beneath, linked} {
				if got, err := readAll(f, "SKILL.md"); got != "mine" {
					t.Fatal(got, err)
				}
			}
			must(t, os.Rename(filepath.Join(root, "a"), filepath.Join(root, "c")))
			must(t, os.Symlink("b", filepath.Join(root, "a")))
			for _, f := range []*folder{beneath, linked} {
				got, err := readAll(f, "SKILL.md")
				if got != "" || !errors.Is(err, skill.ErrOutside) {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
}

// TestErrorsKeepPathsToThemselves checks that the error for a missing folder does not contain its
// absolute path, unlike the system's error.
func TestErrorsKeepPathsToThemselves(t *testing.T) {
	root := tree(t, map[string]string{"file": "x"})
	for doorName, d := range doors() {
		for _, f := range []*folder{
			{location: &location{opener: d, base: filepath.Join(root, "gone")}, sub: "s"},
			{location: &location{opener: d, base: filepath.Join(root, "gone"), plain: true}, sub: "."},
			{location: &location{opener: d, base: filepath.Join(root, "file")}, sub: "."},
			{location: &location{opener: d, base: root}, sub: "gone"},
		} {
			_, err := f.Open("SKILL.md")
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", doorName, err)
			}
			checkError(t, err, root)
		}
	}
}

// TestStatAgain checks that Stat of an open file is current: a reader notices a write of
// the same size into the file that it is reading.
func TestStatAgain(t *testing.T) {
	root := tree(t, map[string]string{"s/a.txt": "one"})
	for doorName, d := range doors() {
		f, err := (&folder{location: &location{opener: d, base: root}, sub: "s"}).Open("a.txt")
		must(t, err)
		var seen []skill.Stamp
		for range 3 {
			info, err := f.Stat()
			must(t, err)
			seen = append(seen, skill.StampOf(info))
			if info.Name() != "a.txt" || len(seen) != 2 {
				continue
			}
			name := filepath.Join(root, "s", "a.txt")
			must(t, os.WriteFile(name, []byte("two"), 0o644))
			must(t, os.Chtimes(name, time.Time{}, time.Unix(0, seen[0].MTime).Add(time.Second)))
		}
		f.Close()
		if seen[0] != seen[1] || seen[2].Inode != seen[0].Inode || seen[2].MTime == seen[0].MTime {
			t.Errorf("%s: %+v", doorName, seen)
		}
	}
}

// TestIsAlias checks which names Windows would read as another name. They are refused there.
func TestIsAlias(t *testing.T) {
	for name, want := range map[string]bool{
		"SKILL.md": false, "a b": false, "a.b.c": false, "SKILL.md.": true, "SKILL.md ": true, "ref. .": true, "SKILL.md::$DATA": true, "a:b": true,
	} {
		if isAlias(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
