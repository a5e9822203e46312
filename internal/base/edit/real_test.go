package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLinksOfClones checks that nothing is written, moved or removed through a link in the place of
// one of this package's own files or folders.
func TestLinksOfClones(t *testing.T) {
	temp := tempPrefix + strings.Repeat("A", 26)
	for _, at := range []string{"", temp, temp + "/" + heldFile, temp + "/" + newFolder, temp + "/" + swapFolder, temp + "/" + asideWas} {
		for _, target := range []string{"there", "none"} {
			dir := t.TempDir()
			parent, outside := filepath.Join(dir, "project", ".knack"), filepath.Join(dir, "outside")
			link := filepath.Join(parent, filepath.FromSlash(at))
			err := errors.Join(
				Create(filepath.Join(outside, "there", temp, "mine"), nil, 0o600),
				Create(filepath.Join(outside, "there", tempPrefix+strings.Repeat("B", 26)), nil, 0o600),
				Create(filepath.Join(dir, "mine", "file"), nil, 0o600),
				os.MkdirAll(filepath.Dir(link), 0o755))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(outside, target), link); err != nil {
				t.Skip(err)
			}
			before := files(t, outside)
			keep := func(path string) error { t.Errorf("%s is kept", path); return nil }
			swept := Sweep(parent, keep)
			tree, made := NewTree(parent)
			spool, spooled := NewSpool(parent)
			if at == "" {
				gone := Discard(filepath.Join(dir, "mine"), parent)
				for _, err := range []error{swept, made, spooled, gone} {
					if !errors.Is(err, errReal) {
						t.Errorf("%q: %v, want %v", at, err, errReal)
					}
				}
				if _, err := os.Lstat(link); err != nil {
					t.Error(err)
				}
			} else if made != nil || spooled != nil {
				t.Errorf("%q: %v, %v", at, made, spooled)
			}
			if tree != nil {
				tree.Remove()
			}
			if spool != nil {
				spool.Close()
			}
			if diff := cmp.Diff(before, files(t, outside)) + cmp.Diff([]string{"there"}, names(t, outside)); diff != "" {
				t.Errorf("%q to %s: %s", at, target, diff)
			}
		}
	}
}

// TestLinkMeanwhile checks that sweeps and writes stay in the folder that was opened, even if
// another folder replaces it.
func TestLinkMeanwhile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no folder moves while it is open")
	}
	dir := t.TempDir()
	parent, outside := filepath.Join(dir, ".knack"), filepath.Join(dir, "outside")
	temp := tempPrefix + strings.Repeat("A", 26)
	err := errors.Join(
		Create(filepath.Join(outside, temp, swapFolder, "mine"), nil, 0o600),
		Create(filepath.Join(parent, temp, swapFolder, "theirs"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	before := files(t, outside)
	err = Sweep(parent, func(string) error {
		return errors.Join(os.Rename(parent, filepath.Join(dir, "moved")), os.Symlink(outside, parent))
	})
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, files(t, outside)) + cmp.Diff(map[string]string{}, files(t, filepath.Join(dir, "moved"))); diff != "" {
		t.Error(diff)
	}
}

// TestSweptMeanwhile checks that work in a folder does not fail while other goroutines remove the
// folder whenever it is empty.
func TestSweptMeanwhile(t *testing.T) {
	dir := t.TempDir()
	parent := filepath.Join(dir, ".knack")
	var stop atomic.Bool
	var sweeps sync.WaitGroup
	for range 2 {
		sweeps.Go(func() {
			for !stop.Load() {
				if err := Sweep(parent, nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 100 {
		tree, err := NewTree(parent)
		if err == nil {
			err = tree.Remove()
		}
		spool, spooled := NewSpool(parent)
		if spooled == nil {
			spooled = spool.Close()
		}
		old := filepath.Join(dir, "old")
		if err := errors.Join(err, spooled, os.Mkdir(old, 0o755), Discard(old, parent)); err != nil {
			t.Errorf("%d: %v", i, err)
			break
		}
	}
	stop.Store(true)
	sweeps.Wait()
}

// TestSweepsAtOnce checks that exactly one of several concurrent sweeps handles a folder
// completely.
func TestSweepsAtOnce(t *testing.T) {
	const entries = 60
	for range 20 {
		parent := filepath.Join(t.TempDir(), ".knack")
		swap := filepath.Join(parent, tempPrefix+strings.Repeat("A", 26), swapFolder)
		for i := range entries {
			if err := Create(filepath.Join(swap, fmt.Sprint(i), "file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var looks atomic.Int64
		var sweeps sync.WaitGroup
		for range 4 {
			sweeps.Go(func() {
				err := Sweep(parent, func(at string) error {
					looks.Add(1)
					if n := len(names(t, at)); n != entries {
						t.Errorf("%d entries of %d are left", n, entries)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		sweeps.Wait()
		if n := looks.Load(); n != 1 {
			t.Fatalf("%d looked at it", n)
		}
	}
}

// TestDiscardNothing checks that discarding a missing folder fails and creates nothing.
func TestDiscardNothing(t *testing.T) {
	dir := t.TempDir()
	if err := Discard(filepath.Join(dir, "none"), filepath.Join(dir, ".knack")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Error(left)
	}
}
