package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/knack-dev/knack/internal/server/event"
)

// TestFullStream checks that all lines are lost if a stream accepts no data, and that Close returns
// how many.
func TestFullStream(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer full.Close()
	var heard troubles
	l := OnWriter(full, Options{Trouble: heard.hear})
	for range 5 {
		l.Record(&event.Event{Time: at, Result: event.OK})
	}
	if err := l.Close(); err == nil || err.Error() != "5 lines of the audit log could not be written" {
		t.Error(err)
	}
	if said := heard.said(); len(said) != 1 || !strings.Contains(said[0], "no space left on device") {
		t.Errorf("%q", said)
	}
}

// TestFullDisk checks that no line is cut while a disk is full, and that the file reports how many
// lines were lost.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=0700"); err != nil {
		t.Skip("no small disk can be mounted here: ", err)
	}
	defer func() { _ = syscall.Unmount(dir, 2) }()
	path, ballast := filepath.Join(dir, "audit.log"), filepath.Join(dir, "ballast")
	var heard troubles
	l, err := Open(path, Options{Trouble: heard.hear})
	must(t, err)
	if err := os.WriteFile(ballast, make([]byte, 128<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal("the disk is not full: ", err)
	}
	if err := os.Truncate(ballast, 56<<10); err != nil { // room for two pages
		t.Fatal(err)
	}
	const n = 1000
	for range n {
		l.Record(&event.Event{Time: at, Asked: "a-skill", Result: event.OK})
	}
	// Wait until each event is written or lost. A reader can see half of a line that is being
	// written.
	decided(t, l, n)
	if l.Lost() == 0 {
		t.Fatal("nothing is lost on a full disk")
	}
	text := read(t, path)
	if written, lost := sums(t, text); written == 0 || written+lost > n || !strings.HasSuffix(text, "\n") {
		t.Errorf("on the full disk: %d lines, %d lost", written, lost)
	}
	must(t, os.Remove(ballast))
	l.Record(&event.Event{Time: at, Asked: "a-skill", Result: event.OK})
	must(t, l.Close())
	if written, lost := sums(t, read(t, path)); written+lost != n+1 || lost == 0 {
		t.Errorf("%d written and %d said to be lost, of %d", written, lost, n+1)
	}
	if said := heard.said(); len(said) != 2 || !strings.Contains(said[0], "no space left on device") || said[1] != "<nil>" {
		t.Errorf("%q", said)
	}
}
