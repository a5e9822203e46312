//go:build unix

package distcmd_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// TestPullKilled kills knack pull at random moments. It checks that each skill in the store is then
// complete, that each release has all of its skills, and that the head names a release. The next
// pull must succeed, and leave no temporary files. KNACK_KILLS is the number of killed commands.
func TestPullKilled(t *testing.T) {
	testwait.Slow(t)
	registry := registrytest.Start(t)
	kills := 20
	if n, err := strconv.Atoi(os.Getenv("KNACK_KILLS")); err == nil {
		kills = n
	}
	dir := t.TempDir()
	binary := registrytest.Knack(t)
	var releases []string
	skills := registrytest.Skills{}
	for i := range 6 {
		for n := range 60 {
			if name := fmt.Sprint("skill-", n); i == 0 || n%6 == i {
				skills[name+"/SKILL.md"] = registrytest.Skill(name, strings.Repeat(fmt.Sprintln(i, n), 1+n*20))
				skills[name+"/data/x"] = strings.Repeat(fmt.Sprint(i, n), 1+n*n)
			}
		}
		releases = append(releases, registrytest.Release(t, registry.Host, "a/b", "prod", 16, skills, nil))
	}
	source := "oci://" + registry.Host + "/a/b:prod"
	at := filepath.Join(dir, "knack-cache", "knack")
	command := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), binary, "pull", source)
		cmd.Env = []string{"HOME=" + dir, "XDG_CACHE_HOME=" + filepath.Dir(at), "PATH=" + os.Getenv("PATH")}
		return cmd
	}
	took := 100 * time.Millisecond
	left, whole, killed := 0, 0, 0
	for i := range kills {
		switch rand.IntN(3) {
		case 0: // start with an empty store
			remove(t, at)
		case 1: // start without the records of layers
			remove(t, filepath.Join(at, "layers"))
		}
		want := releases[rand.IntN(len(releases))]
		registrytest.Tag(t, registry.Host, "a/b", want, "prod")
		cmd := command()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(rand.N(took), func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		if cmd.Wait() != nil {
			killed++
		}
		kill.Stop()
		entries, _ := os.ReadDir(filepath.Join(at, "tmp"))
		left += len(entries)
		whole += checkStore(t, at, source, "")

		began := time.Now()
		if out, err := command().CombinedOutput(); err != nil {
			t.Errorf("after a kill: %v: %s", err, out)
		}
		took = (3*took + time.Since(began)) / 4
		checkStore(t, at, source, want)
		if entries, _ := os.ReadDir(filepath.Join(at, "tmp")); len(entries) > 0 {
			t.Errorf("the next pull left %v", entries)
		}
		if t.Failed() {
			t.Fatalf("the %d. command", i+1)
		}
	}
	t.Logf("%d of %d were killed; they left %d temporary folders and files, and %d skills, all whole", killed, kills, left, whole)
	if kills >= 100 && (left == 0 || killed < kills/3) {
		t.Error("few were killed at work")
	}
}

func remove(t *testing.T, at string) {
	t.Helper()
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
}

// checkStore compares each skill of a store with its digest, and the release records with the
// skills. want is the release that the head of the source must name, or "" for any release. It
// returns the number of skills.
func checkStore(t *testing.T, at, source, want string) int {
	t.Helper()
	whole := map[skill.Digest]bool{}
	folders, _ := filepath.Glob(filepath.Join(at, "skills", "*", "*"))
	for _, folder := range folders {
		digest := lockfile.Digest(filesOf(t, folder))
		if name := filepath.Base(filepath.Dir(folder)) + filepath.Base(folder); hex.EncodeToString(digest[:]) != name {
			t.Errorf("%s is torn", folder)
		}
		whole[digest] = true
	}
	recorded := map[string]bool{}
	records, _ := filepath.Glob(filepath.Join(at, "releases", "*.json"))
	for _, file := range records {
		var r store.Release
		data, err := os.ReadFile(file)
		if err == nil {
			_, data, _ = bytes.Cut(data, []byte("\n")) // after its digest
			head, lines, _ := strings.Cut(string(data), "\n")
			err = json.Unmarshal([]byte(head), &r)
			_, lines, _ = strings.Cut(lines, "\n") // after the number of lines
			for line := range strings.Lines(lines) {
				m := store.Member{Path: strings.Split(line, "\t")[3]}
				_, bad := hex.Decode(m.Skill[:], []byte(line[:64]))
				err = errors.Join(err, bad)
				r.Skills = append(r.Skills, m)
			}
		}
		if err != nil || len(r.Skills) != 60 {
			t.Errorf("%s: %d skills, %v", file, len(r.Skills), err)
		}
		for _, m := range r.Skills {
			if !whole[m.Skill] {
				t.Errorf("the release %s lacks %s", r.Digest, m.Path)
			}
		}
		recorded[r.Digest] = true
	}
	heads, _ := filepath.Glob(filepath.Join(at, "heads", "*.json"))
	for _, file := range heads {
		var h store.Head
		data, err := os.ReadFile(file)
		if err == nil {
			_, data, _ = bytes.Cut(data, []byte("\n")) // after its digest
			err = json.Unmarshal(data, &h)
		}
		if err != nil || h.Source != source || !recorded[h.Release] || want != "" && h.Release != want {
			t.Errorf("%s: %+v, %v", file, h, err)
		}
	}
	if want != "" && len(heads) != 1 {
		t.Errorf("%d heads", len(heads))
	}
	return len(folders)
}

func filesOf(t *testing.T, folder string) (files []lockfile.File) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		below, _ := filepath.Rel(folder, path)
		files = append(files, lockfile.File{Path: filepath.ToSlash(below), Size: int64(len(data)), Digest: skill.DigestOf(data)})
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return files
}
