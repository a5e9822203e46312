package usagefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/knack-dev/knack/internal/server/usage"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestFullDisk checks that the previous file stays whole while the disk is full, and that the
// counts are written when there is room again.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=0700"); err != nil {
		t.Skip("no small disk can be mounted here: ", err)
	}
	defer func() { _ = syscall.Unmount(dir, 2) }()
	synctest.Test(t, func(t *testing.T) {
		file, ballast := filepath.Join(dir, "usage.json"), filepath.Join(dir, "ballast")
		s := start(t, file)
		before := read(t, file)
		if err := os.WriteFile(ballast, make([]byte, 128<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal("the disk is not full: ", err)
		}
		s.use()
		testwait.Advance(2 * interval)
		s.said(usage.Failing, "no space left on device")
		if got := read(t, file); got != before {
			t.Errorf("the file is %q, and was %q", got, before)
		}
		must(t, os.Remove(ballast))
		testwait.Advance(interval)
		s.said(usage.InFile, "the usage file is written again")
		if !strings.Contains(read(t, file), `"loaded":1`) {
			t.Error(read(t, file))
		}
		left, err := os.ReadDir(dir)
		if s.ledger.Close(); err != nil || len(left) != 2 {
			t.Errorf("beside the file and its lock there is more: %v %v", left, err)
		}
	})
}
