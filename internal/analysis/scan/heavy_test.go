//go:build linux

package scan

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/heavy"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// heavyFolder is the environment variable with the folder that a child process of [TestHeavyFiles]
// judges.
const heavyFolder = "KNACK_HEAVY_FOLDER"

// TestHeavyFiles checks that judging a file of 2 MB needs at most 128 MiB more than judging a small
// one, whatever the file contains.
func TestHeavyFiles(t *testing.T) {
	if dir := os.Getenv(heavyFolder); dir != "" {
		judgeFolder(t, dir)
		return
	}
	testwait.Slow(t)
	peak := func(f heavy.File) int { // in MiB
		dir := t.TempDir()
		if f.Path == "SKILL.md" && !strings.HasPrefix(f.Text, "---") {
			f.Text = heavy.Head("a") + f.Text
		}
		at := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(f.Text), 0o644)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestHeavyFiles$")
		cmd.Env = append(os.Environ(), heavyFolder+"="+dir, "GOGC=", "GOMEMLIMIT=")
		out, err := cmd.CombinedOutput()
		_, rest, ok := strings.Cut(string(out), "VmHWM:")
		if err != nil || !ok {
			t.Fatalf("%s: %v\n%s", f.Name, err, out)
		}
		kb, _ := strconv.Atoi(strings.Fields(rest)[0])
		return kb >> 10
	}
	calm := peak(heavy.File{Name: "calm", Path: "SKILL.md", Text: plainMain})
	for _, f := range heavy.Files(2_000_000) {
		if !f.Quick() && !testwait.Full() {
			continue
		}
		took := peak(f) - calm
		if t.Logf("%s: %d MiB", f.Name, took); took > 128 {
			t.Errorf("%s: %d MiB", f.Name, took)
		}
	}
}

// judgeFolder judges the files below a folder, and prints the status of the process, which includes
// its peak memory.
func judgeFolder(t *testing.T, dir string) {
	fsys := os.DirFS(dir)
	var files []skill.File
	err := fs.WalkDir(fsys, ".", func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, skill.File{Path: at})
		}
		return err
	})
	if err == nil {
		_, err = Skill(t.Context(), fsys, files, Options{})
	}
	status, failed := os.ReadFile("/proc/self/status")
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	os.Stdout.Write(status)
}
