package edit

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestUnlockForked checks that unlock frees a lock whose file a child has inherited. A child that
// was forked and has not started its program yet has such a file.
func TestUnlockForked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	unlock, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	inherited := -1
	for _, link := range fds {
		if to, err := os.Readlink(link); err == nil && to == path+".lock" {
			n := 0
			for _, c := range filepath.Base(link) {
				n = n*10 + int(c-'0')
			}
			if inherited, err = syscall.Dup(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	if inherited < 0 {
		t.Fatal("the lock's file is not open")
	}
	defer syscall.Close(inherited)
	unlock()
	if unlock, err = Lock(path); err != nil {
		t.Fatal(err)
	}
	unlock()
}
