//go:build unix

package archive

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
)

// TestPipe checks that a pipe is refused immediately, without waiting for data.
func TestPipe(t *testing.T) {
	at := filepath.Join(t.TempDir(), "pipe.zip")
	if err := syscall.Mkfifo(at, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := New(Options{Spool: opened(t).Spool}).Open(t.Context(), origin.Ref{Source: at, Location: at}, origin.Revision{}); err == nil {
		t.Error("a pipe is an archive")
	}
}
