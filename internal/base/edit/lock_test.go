package edit

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLock checks that Lock refuses a locked file until the lock ends, and that the holder of the
// lock can write the file.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "a")
	unlock, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("x"), 0o600); err != nil {
		t.Error(err)
	}
	if _, err := Lock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("%v, want %v", err, ErrLocked)
	}
	if err := Replace(path, []byte("x"), []byte("y")); err != nil {
		t.Error(err)
	}
	unlock()
	again, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	again()
	if data, err := os.ReadFile(path); err != nil || string(data) != "y" {
		t.Errorf("%s %v", data, err)
	}
	if err := os.Mkdir(filepath.Join(filepath.Dir(path), "b.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(filepath.Join(filepath.Dir(path), "b")); !errors.Is(err, ErrIrregular) {
		t.Errorf("%v, want %v", err, ErrIrregular)
	}
}

// TestShare checks that several callers can share a lock, and that meanwhile Lock refuses the file.
func TestShare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	first, err := Share(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Share(path)
	if err != nil {
		t.Fatal(err)
	}
	first()
	if _, err := Lock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("%v, want %v", err, ErrLocked)
	}
	second()
	unlock, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
