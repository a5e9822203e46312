package store

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// storeChild is the variable that makes TestKilled run as the process to be killed. Its value is
// the store's folder.
const storeChild = "KNACK_TEST_STORE_CHILD"

// TestKilled kills processes that store skills, at random moments. It checks that all remaining
// skills are whole, and that the next process removes everything else. KNACK_KILLS is the number of
// processes to kill.
func TestKilled(t *testing.T) {
	if dir := os.Getenv(storeChild); dir != "" {
		storeForever(t, dir)
		return
	}
	kills := 40
	if testing.Short() {
		kills = 4
	}
	if n, err := strconv.Atoi(os.Getenv("KNACK_KILLS")); err == nil {
		kills = n
	}
	dir := filepath.Join(t.TempDir(), "knack")
	left, whole := 0, 0
	for range kills / 2 {
		// Two processes use one store, and die one after the other.
		first, second := begunChild(t, dir), begunChild(t, dir)
		first.killAfter(rand.IntN(60))
		second.killAfter(rand.IntN(60))
		entries, _ := os.ReadDir(filepath.Join(dir, tmpFolder))
		left += len(entries)
		whole = checkWhole(t, dir)
		s := open(t, dir, Options{})
		b := begin(t, s)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		s.Close()
		if entries, _ := os.ReadDir(filepath.Join(dir, tmpFolder)); len(entries) > 0 {
			t.Errorf("the next process left %v", entries)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d processes were killed; they left %d temporary folders, and %d skills are whole", kills, left, whole)
	if kills > 100 && left == 0 {
		t.Error("no process was killed at work")
	}
}

// checkWhole compares each skill of a store with its digest, and returns the number of skills.
func checkWhole(t *testing.T, dir string) (n int) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(dir, skillsFolder, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		files, err := hashed(folder)
		d := lockfile.Digest(files)
		if name := filepath.Base(filepath.Dir(folder)) + filepath.Base(folder); err != nil || hex.EncodeToString(d[:]) != name {
			t.Errorf("%s is torn: %d files, %v", folder, len(files), err)
		}
		n++
	}
	return n
}

type child struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Scanner
}

func begunChild(t *testing.T, dir string) child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), storeChild+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return child{t, cmd, bufio.NewScanner(out)}
}

// killAfter kills the process after it has printed this number of lines.
func (c child) killAfter(lines int) {
	c.t.Helper()
	for range lines {
		if !c.out.Scan() {
			c.t.Fatal("the process ended by itself")
		}
	}
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Error(err)
	}
	_ = c.cmd.Wait()
}

// storeForever stores skills, looks for them and damages some, until the process is killed. It
// prints a line for each file.
func storeForever(t *testing.T, dir string) {
	s := open(t, dir, Options{})
	for {
		b := begin(t, s)
		for n := range 3 {
			name := fmt.Sprint("skill", n)
			seed := rand.IntN(40)
			for i := range 1 + seed%7 {
				data := bytes.Repeat([]byte{byte(seed), byte(i)}, 1+seed*seed*20)
				if err := b.File(name, origin.File{Path: fmt.Sprint(i%2, "/", i), Size: -1}, bytes.NewReader(data)); err != nil {
					t.Fatal(err)
				}
				fmt.Println("file")
			}
			k, err := b.Finish(name)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = s.Find(k.Digest) // the other process may have removed it
		}
		b.Close()
		_, _ = s.Find(skill.Digest{})
		if p, err := s.Spool(); err == nil {
			_, _ = p.Write([]byte("x"))
			p.Close()
		}
		// Remove a skill now and then, so that further skills are stored.
		folders, _ := fs.Glob(os.DirFS(dir), skillsFolder+"/*/*")
		if len(folders) > 20 {
			_ = edit.Discard(filepath.Join(dir, folders[rand.IntN(len(folders))]), s.path(tmpFolder))
		}
	}
}
