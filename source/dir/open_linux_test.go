package dir

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSpecialIsNeverOpened checks that a device or a pipe is refused without being opened, since
// opening a device can have effects. inotify reports opens, but not stats.
func TestSpecialIsNeverOpened(t *testing.T) {
	root := tree(t, map[string]string{"s/SKILL.md": "x"})
	special(t, filepath.Join(root, "s"))
	for doorName, d := range doors() {
		fsys := &folder{location: &location{opener: d, base: root}, sub: "s"}
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

// TestRaceExchange checks containment during the fastest swap: one system call exchanges the
// skill's folder and a link.
func TestRaceExchange(t *testing.T) {
	race(t, "SKILL.md", func(root string, i int) error {
		if i == 0 {
			if err := os.Symlink("out", filepath.Join(root, "link")); err != nil {
				return err
			}
		}
		return exchange(filepath.Join(root, "s"), filepath.Join(root, "link"))
	})
}

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// TestWatchReplacedFolder checks that a folder that is replaced is watched again, although its path
// stays the same.
func TestWatchReplacedFolder(t *testing.T) {
	base := tree(t, map[string]string{"r/a/SKILL.md": "x", "new/SKILL.md": "x"})
	root := filepath.Join(base, "r")
	found := watched(t, source(pickOpener(), root))
	expect(t, found, "a")
	must(t, exchange(filepath.Join(root, "a"), filepath.Join(base, "new")))
	settled(found)
	add(t, root, map[string]string{"a/n/SKILL.md": "x"})
	expect(t, found, "a a/n")
}

// device makes a file like /dev/zero.
func device(at string) { unix.Mknod(at, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))) }
