package dir

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// instances counts the inotify instances of this process.
func instances(t *testing.T) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, fd := range fds {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); to == "anon_inode:inotify" {
			n++
		}
	}
	return n
}

func TestWatchesAreOneInstance(t *testing.T) {
	home := tree(t, map[string]string{"r0/a/SKILL.md": "x", "r1/a/SKILL.md": "x"})
	before := instances(t)
	w := NewWatches()
	var sources []*Source
	var stops []func()
	for i := range 30 {
		s := source(pickOpener(), filepath.Join(home, fmt.Sprintf("r%d", i)), shared(w))
		_, stop := watching(t, s)
		sources, stops = append(sources, s), append(stops, stop)
	}
	for _, s := range sources {
		until(t, "a watch", isOn(s))
	}
	if n := instances(t) - before; n != 1 {
		t.Errorf("%d instances for 30 sources", n)
	}
	if folders, uses := w.Watched(); folders != 5 || uses != 32 {
		t.Errorf("%d folders, used %d times; want the home folder, 2 roots and 2 skills, used 32 times", folders, uses)
	}
	for _, stop := range stops {
		stop()
	}
	if n := instances(t) - before; n != 0 {
		t.Errorf("%d instances are left", n)
	}
}

// TestWatchesOneFolderByTwoNames checks that both sources see the changes of a folder that is
// mounted in two places, as in containers. The system has only one watch for it, under one name.
func TestWatchesOneFolderByTwoNames(t *testing.T) {
	base := tree(t, map[string]string{"one/a/SKILL.md": "x", "two/": ""})
	one, two := filepath.Join(base, "one"), filepath.Join(base, "two")
	if err := unix.Mount(one, two, "", unix.MS_BIND, ""); err != nil {
		t.Skip("mounting needs privileges: ", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(two, unix.MNT_DETACH)) })
	w := NewWatches()
	inOne, stop := watching(t, source(pickOpener(), one, shared(w)))
	t.Cleanup(stop)
	expect(t, inOne, "a")
	inTwo := watched(t, source(pickOpener(), two, shared(w)))
	expect(t, inTwo, "a")
	until(t, "2 folders, used 4 times", func() bool { f, u := w.Watched(); return f == 2 && u == 4 })
	missing := watched(t, source(pickOpener(), filepath.Join(two, "later", "skills"), shared(w)))
	expect(t, missing, "")
	add(t, base, map[string]string{"one/b/SKILL.md": "x", "one/later/skills/z/SKILL.md": "x"})
	expect(t, missing, "z")
	must(t, os.RemoveAll(filepath.Join(one, "later")))
	expect(t, missing, "")
	expect(t, inOne, "a b")
	expect(t, inTwo, "a b")
	add(t, base, map[string]string{"two/b/c/SKILL.md": "x"})
	expect(t, inOne, "a b b/c")
	expect(t, inTwo, "a b b/c")
	stop()
	add(t, base, map[string]string{"two/d/SKILL.md": "x"})
	expect(t, inTwo, "a b b/c d")
}

// TestWatchesRunOut checks that a source polls if the system's limits are reached. It sets low
// limits in a user namespace of its own.
func TestWatchesRunOut(t *testing.T) {
	if limit := os.Getenv("KNACK_TEST_INOTIFY"); limit != "" {
		runOut(t, limit)
		return
	}
	for _, limit := range []string{"max_inotify_watches", "max_inotify_instances"} {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestWatchesRunOut$", "-test.v")
		cmd.Env = append(os.Environ(), "KNACK_TEST_INOTIFY="+limit)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		switch {
		case len(out) == 0 || strings.Contains(string(out), "--- SKIP"):
			t.Skip("no user namespace: ", err)
		case err != nil || !strings.Contains(string(out), "--- PASS"):
			t.Errorf("%s: %v\n%s", limit, err, out)
		}
	}
}

func runOut(t *testing.T, limit string) {
	pollInterval = 10 * time.Millisecond
	value := map[string]string{"max_inotify_watches": "4", "max_inotify_instances": "0"}[limit]
	if err := os.WriteFile("/proc/sys/user/"+limit, []byte(value), 0o644); err != nil {
		t.Skip(err)
	}
	base := tree(t, map[string]string{"small/a/SKILL.md": "x", "big/a/SKILL.md": "x", "big/b/SKILL.md": "x"})
	w := NewWatches()
	small := source(pickOpener(), filepath.Join(base, "small"), shared(w))
	inSmall := watched(t, small)
	expect(t, inSmall, "a")
	big := source(pickOpener(), filepath.Join(base, "big"), shared(w))
	inBig := watched(t, big)
	expect(t, inBig, "a b")
	until(t, "a reason", func() bool {
		on, reason := big.Watching()
		return !on && strings.HasPrefix(reason, "the system has no watches left: ")
	})
	if on, reason := small.Watching(); on != (value != "0") {
		t.Errorf("the small one: %t %s", on, reason)
	}
	if folders, _ := w.Watched(); on(small) && folders != 2 {
		t.Errorf("%d folders are watched after the fall", folders)
	}
	add(t, base, map[string]string{"small/b/SKILL.md": "x", "big/c/SKILL.md": "x"})
	expect(t, inSmall, "a b")
	expect(t, inBig, "a b c")
}

func on(s *Source) bool { return isOn(s)() }
