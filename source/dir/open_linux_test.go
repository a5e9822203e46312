package dir

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Opening a device can have effects, so it is not even opened to be refused. The
// kernel tells who opens: of a look it says nothing.
func TestSpecialIsNeverOpened(t *testing.T) {
	root := tree(t, map[string]string{"s/SKILL.md": "x"})
	special(t, filepath.Join(root, "s"))
	for doorName, d := range doors() {
		fsys := &folder{door: d, base: root, sub: "s"}
		for name, want := range map[string]bool{"SKILL.md": true, "pipe.md": false, "zero.md": false} {
			w, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
			must(t, err)
			if _, err := unix.InotifyAddWatch(w, filepath.Join(root, "s", name), unix.IN_OPEN); err == nil {
				readAll(fsys, name)
				var buf [4096]byte
				n, _ := unix.Read(w, buf[:])
				if got := n > 0; got != want {
					t.Errorf("%s: %s opened: %v", doorName, name, got)
				}
			}
			unix.Close(w)
		}
	}
}
