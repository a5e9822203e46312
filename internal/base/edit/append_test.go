package edit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestAppend checks that lines are added to a file of whole lines, and to one that a killed process
// left with a part of a line.
func TestAppend(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for before, want := range map[string]string{
		"":                                   "",
		"{\"t\":1}\n":                        "{\"t\":1}\n",
		"{\"t\":1}\n{\"t\":\"half a":         "{\"t\":1}\n",
		"{\"t\":1}\n{":                       "{\"t\":1}\n",
		"{\"t":                               "",
		"{\"t\":\"" + long:                   "",
		"\n{\"t\":\"" + long:                 "\n",
		long + "\n{\"t\":1}\n{\"t\":" + long: long + "\n{\"t\":1}\n",
		"a list\nof":                         "!",
		long:                                 "!",
		"{\"t\":1}\n {\"t\":":                "!",
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := Append(path, `{"t":`)
		if want == "!" {
			if got, _ := os.ReadFile(path); !errors.Is(err, errTorn) || string(got) != before {
				t.Errorf("%.20q: %v, %.20q", before, err, got)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		second, err := Append(path, `{"t":`)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range []*Lines{l, second, l} {
			if err := l.Add([]byte("{\"t\":2}\n")); err != nil {
				t.Error(err)
			}
		}
		l.Close()
		second.Close()
		if got, _ := os.ReadFile(path); string(got) != want+strings.Repeat("{\"t\":2}\n", 3) {
			t.Errorf("%.20q: %.40q", before, got)
		}
		if err := l.Add([]byte("x\n")); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
}

// TestAppendRefuses checks which files Append refuses, and the mode of a new file.
func TestAppendRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Append(dir, "x"); !errors.Is(err, ErrIrregular) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Append(filepath.Join(dir, "no", "f"), "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if _, err := Append(os.DevNull, "x"); !errors.Is(err, ErrIrregular) {
		t.Errorf("a device: %v", err)
	}
	path := filepath.Join(dir, "f")
	l, err := Append(path, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestAppendUndo checks that Add removes the part of a line that it wrote before a failure. It must
// not remove a line that another process has appended behind it.
func TestAppendUndo(t *testing.T) {
	for behind, want := range map[string]string{"": "a\n", "b\n": "a\npartb\n"} {
		path := filepath.Join(t.TempDir(), "f")
		l, err := Append(path, "")
		if err != nil {
			t.Fatal(err)
		}
		other, err := Append(path, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.f.WriteString("a\npart")
		if err := errors.Join(err, other.Add([]byte(behind))); err != nil {
			t.Fatal(err)
		}
		l.undo(int64(len("part")))
		l.Close()
		other.Close()
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%q is left, not %q", got, want)
		}
	}
}
