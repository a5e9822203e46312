//go:build unix

package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill"
)

// special makes the kinds of files that only Unix has.
func special(t testing.TB, dir string) {
	t.Helper()
	must(t, unix.Mkfifo(filepath.Join(dir, "pipe.md"), 0o644))
	must(t, os.Symlink("pipe.md", filepath.Join(dir, "pipelink.md")))
	// A socket's path is bounded to about 100 bytes, so it is made elsewhere.
	short, err := os.MkdirTemp("", "k")
	must(t, err)
	defer os.RemoveAll(short)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short + "/s"})
	must(t, err)
	t.Cleanup(func() { l.Close() })
	l.SetUnlinkOnClose(false)
	must(t, os.Rename(short+"/s", filepath.Join(dir, "socket.md")))
	// This needs privileges; the test skips the device if it is missing.
	device(filepath.Join(dir, "zero.md"))
}

// race reads a file while swap exchanges it, or a folder on the way, with something that leads out
// of the skill. It checks that no read yields a byte from outside, and that none blocks.
func race(t *testing.T, name string, swap func(dir string, i int) error) {
	turns := 10_000
	if testing.Short() {
		turns = 400 // the swapping keeps both processors busy
	}
	for doorName, d := range doors() {
		t.Run(doorName, func(t *testing.T) {
			root := tree(t, map[string]string{
				"s/SKILL.md": "main", "s/in/f.md": "inside", "s/.env": secret,
				"out/f.md": secret, "out/SKILL.md": secret,
			})
			fsys := &folder{location: &location{opener: d, base: root}, sub: "s"}
			var stop atomic.Bool
			done := make(chan error, 1)
			go func() {
				var err error
				for i := 0; !stop.Load() && err == nil; i++ {
					err = swap(root, i)
					// The allowed state must last a moment, or no read would meet it.
					for end := time.Now().Add(20 * time.Microsecond); time.Now().Before(end); {
					}
				}
				done <- err
			}()
			blocked := time.AfterFunc(2*patience, func() { panic("a read blocks") })
			defer blocked.Stop()
			good := 0
			end := time.Now().Add(patience)
			for i := 0; i < turns || good == 0 && time.Now().Before(end); i++ {
				switch got, _ := readAll(fsys, name); {
				case strings.Contains(got, "SECRET"):
					t.Error("read bytes from outside")
					stop.Store(true)
				case got != "":
					good++
				}
			}
			stop.Store(true)
			must(t, <-done)
			if good == 0 {
				t.Error("no read succeeded: the race was none")
			}
		})
	}
}

// put replaces an entry with one of several kinds, in rotation. It makes an entry of each kind once
// and then makes hard links to it, since ext4 searches long for an inode after many were freed.
func put(root, name string, i int, makes ...func(at string) error) error {
	made, tmp := filepath.Join(root, fmt.Sprint("made", i%len(makes))), filepath.Join(root, "tmp")
	if i < len(makes) {
		if err := makes[i](made); err != nil {
			return err
		}
	}
	if err := again(made, tmp, makes[i%len(makes)]); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(root, name))
}

// again makes a hard link to the made file, or makes another file if the system cannot link it.
func again(made, at string, makes func(at string) error) error {
	if unix.Linkat(unix.AT_FDCWD, made, unix.AT_FDCWD, at, 0) == nil {
		return nil
	}
	return makes(at)
}

func aLink(target string) func(at string) error {
	return func(at string) error { return os.Symlink(target, at) }
}

func aFile(at string) error { return os.WriteFile(at, []byte("file"), 0o644) }

func aPipe(at string) error { return unix.Mkfifo(at, 0o644) }

func TestRaceFile(t *testing.T) {
	race(t, "f.md", func(root string, i int) error {
		return put(root, "s/f.md", i, aLink("in/f.md"), aLink("../out/f.md"), aLink("SKILL.md"), aLink("/proc/self/environ"))
	})
}

// TestRaceFileAndLink checks that a file that becomes a link between the check and the open is not
// followed, not even within the skill, since the link could lead to a dot-entry.
func TestRaceFileAndLink(t *testing.T) {
	race(t, "f.md", func(root string, i int) error { return put(root, "s/f.md", i, aLink(".env"), aFile) })
}

func TestRaceFolder(t *testing.T) {
	race(t, "in/f.md", func(root string, i int) error { return putLink(root, i, "s/in", "../out") })
}

func TestRaceSkillFolder(t *testing.T) {
	race(t, "SKILL.md", func(root string, i int) error { return putLink(root, i, "s", "out") })
}

// putLink replaces a folder with a link to target, and puts it back.
func putLink(root string, i int, name, target string) error {
	at, aside, made := filepath.Join(root, name), filepath.Join(root, "aside"), filepath.Join(root, "made")
	if i == 0 {
		if err := os.Symlink(target, made); err != nil {
			return err
		}
	}
	if err := os.Rename(at, aside); err != nil {
		return err
	}
	if err := again(made, at, aLink(target)); err != nil {
		return err
	}
	if err := os.Remove(at); err != nil {
		return err
	}
	return os.Rename(aside, at)
}

// TestRacePipe checks that a read does not block if a pipe replaces the file at the worst moment.
func TestRacePipe(t *testing.T) {
	race(t, "f.md", func(root string, i int) error { return put(root, "s/f.md", i, aPipe, aFile) })
}

// TestPermissions checks the faults and notices for files and folders that may not be read. The
// user root ignores file modes, so the test runs itself again as the user nobody.
func TestPermissions(t *testing.T) {
	if dir := os.Getenv("KNACK_TEST_MODE_DIR"); dir != "" {
		checkPermissions(t, dir)
		return
	}
	root := tree(t, map[string]string{
		"open/SKILL.md": "x", "noread/SKILL.md": "x", "closed/SKILL.md": "x", "within/SKILL.md": "x",
		"within/closed/f.md": "x",
	})
	for name, mode := range map[string]fs.FileMode{
		"noread/SKILL.md": 0, "closed": 0, "within/closed": 0,
	} {
		at := filepath.Join(root, name)
		must(t, os.Chmod(at, mode))
		t.Cleanup(func() { os.Chmod(at, 0o755) })
	}
	if os.Getuid() != 0 {
		checkPermissions(t, root)
		return
	}
	must(t, os.Chmod(filepath.Dir(root), 0o755))
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip("cannot run this test as somebody else: ", err)
	}
	exe := filepath.Join(filepath.Dir(root), "test")
	must(t, os.WriteFile(exe, binary, 0o755))
	cmd := exec.Command(exe, "-test.run=^TestPermissions$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = []string{"KNACK_TEST_MODE_DIR=" + root}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

func checkPermissions(t *testing.T, root string) {
	for doorName, d := range doors() {
		scan := scanned(t, d, root)
		faults := map[string]error{}
		for _, b := range scan.Bundles {
			faults[b.Path] = b.Fault()
			if _, err := readAll(b.FS, "SKILL.md"); !errors.Is(err, fs.ErrPermission) && b.Path == "noread" {
				t.Errorf("%s: reading gives %v", doorName, err)
			}
		}
		if len(faults) != 3 || faults["open"] != nil || !errors.Is(faults["noread"], fs.ErrPermission) {
			t.Errorf("%s: %v", doorName, faults)
		}
		want := "[closed folder-unreadable within/closed folder-unreadable]"
		if got := fmt.Sprint(rules(scan)); got != want {
			t.Errorf("%s: notices %s, want %s", doorName, got, want)
		}
		if _, err := source(d, filepath.Join(root, "closed")).Scan(context.Background()); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: an unreadable root gives %v", doorName, err)
		}
	}
}

// TestDescriptors checks that a scan of many folders, and many idle skills, use only a few file
// descriptors.
func TestDescriptors(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures thousands of skills")
	}
	if runtime.GOOS != "linux" {
		t.Skip("counts in /proc")
	}
	files := map[string]string{}
	for i := range 500 {
		files[fmt.Sprintf("g%d/s%d/SKILL.md", i%20, i)] = "x"
		files[fmt.Sprintf("l%d", i)] = fmt.Sprintf("->g%d/s%d", i%20, i)
	}
	root := tree(t, files)
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(entries)
	}
	before, most := count(), atomic.Int64{}
	var stop atomic.Bool
	done := make(chan bool)
	go func() {
		defer close(done)
		for !stop.Load() {
			most.Store(max(most.Load(), int64(count())))
		}
	}()
	var keep []skill.Scan
	for range 5 {
		for _, d := range doors() {
			keep = append(keep, scanned(t, d, root))
		}
	}
	stop.Store(true)
	<-done
	if n := len(keep[0].Bundles); n != 500 {
		t.Errorf("%d skills", n)
	}
	limit := int64(before + 8*runtime.GOMAXPROCS(0) + 8)
	if most.Load() > limit || count() > before+2 {
		t.Errorf("%d descriptors before, at most %d during, %d after", before, most.Load(), count())
	}
}

// TestScanSpecialEntry checks that a SKILL.md that is a pipe, a socket or a device is a fault, and
// never blocks the scan.
func TestScanSpecialEntry(t *testing.T) {
	kinds := map[string]string{"pipe": "pipe.md", "socket": "socket.md", "device": "zero.md"}
	root := tree(t, map[string]string{"x/": ""})
	special(t, filepath.Join(root, "x"))
	for kind, file := range kinds {
		must(t, os.MkdirAll(filepath.Join(root, kind), 0o755))
		os.Rename(filepath.Join(root, "x", file), filepath.Join(root, kind, "SKILL.md"))
	}
	for doorName, d := range doors() {
		for _, b := range scanned(t, d, root).Bundles {
			if !errors.Is(b.Fault(), skill.ErrNotRegular) {
				t.Errorf("%s: %s: %v", doorName, b.Path, b.Fault())
			}
		}
	}
}

// TestSpecialFilesAreNoticed checks that a scan reports a pipe in a skill, which is not one of the
// skill's files. A pipe beside the skills gets no notice.
func TestSpecialFilesAreNoticed(t *testing.T) {
	for name, d := range doors() {
		root := tree(t, map[string]string{"a/SKILL.md": "", "a/b/": "", "c/": ""})
		for _, p := range []string{"a/pipe", "a/b/pipe", "a/.pipe", "c/pipe", "pipe"} {
			must(t, unix.Mkfifo(filepath.Join(root, p), 0o644))
		}
		scan := scanned(t, d, root)
		difftest.Same(t, rules(scan), []string{"a/b/pipe file-special", "a/pipe file-special"}, name)
	}
}
