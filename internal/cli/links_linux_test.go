package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestExchangedLinks runs commands that write, while this process replaces the folders to which
// they write with links that lead out of the project. It checks that nothing changes outside,
// although the files there are the ones that the commands look for. KNACK_LINKS is the number of
// commands, and KNACK_BINARY the path of the binary.
func TestExchangedLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs some hundred commands")
	}
	t.Parallel()
	n := 25
	if more, err := strconv.Atoi(os.Getenv("KNACK_LINKS")); err == nil {
		n = more
	}
	knack := os.Getenv("KNACK_BINARY")
	if knack == "" {
		var err error
		if knack, err = exec.LookPath("knack"); err != nil {
			t.Fatal(err)
		}
	}
	const each = 25 // number of commands in each project
	counts, failures, changes := map[string]int{}, 0, 0
	for done := 0; done < n; {
		p := newLinkedProject(t)
		before := p.outside()
		stop := p.exchange()
		for range min(each, n-done) {
			args := p.command(done)
			done++
			cmd := exec.Command(knack, args...)
			cmd.Dir, cmd.Env = p.project, append(os.Environ(), "HOME="+p.home, "XDG_CACHE_HOME="+filepath.Join(p.home, ".cache"), "KNACK_DIRS=")
			out, err := cmd.CombinedOutput()
			if errors.As(err, new(*exec.ExitError)) {
				failures++
			} else if err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			if bytes.Contains(out, []byte("panic:")) || bytes.Contains(out, []byte("goroutine ")) {
				t.Errorf("%v:\n%s", args, out)
			}
			counts[args[0]]++
			if diff := cmp.Diff(before, p.outside()); diff != "" {
				changes++
				t.Errorf("%v changed the outside folder:\n%s\n%s", args, diff, out)
				before = p.outside()
			}
		}
		stop()
		if n := p.exchanged.Load(); n < each {
			t.Errorf("only %d exchanges", n)
		}
		if err := os.RemoveAll(p.dir); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d commands, of which %d failed: %v; %d changed something outside", n, failures, counts, changes)
}

// linkedProject is a project, with a folder outside it that has the same files.
type linkedProject struct {
	t                  *testing.T
	dir, home, project string
	exchanged          atomic.Int64
}

func newLinkedProject(t *testing.T) *linkedProject {
	t.Helper()
	dir, err := os.MkdirTemp("", "links-")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	p := &linkedProject{t: t, dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}
	fixable := "---\nname: hand\ndescription: Use: it. Use when asked.\n---\ntext\n"
	nameless := "---\ndescription: Use it. Use when asked.\n---\ntext\n"
	entry := `{"mcpServers":{"other":{"command":"x"}}}` + "\n"
	inProject := map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".agents/skills/hand/SKILL.md": fixable, ".agents/skills/near/skill.md": nameless,
		".cursor/mcp.json": entry, "vendor/mine": "mine\n", ".agents/.knack/x": "x",
	}
	all := map[string]string{"home/x": "x"}
	for name, text := range inProject {
		all["project/"+name] = text
	}
	for _, name := range []string{"a", "b"} {
		text := fmt.Sprintf("---\nname: %s\ndescription: Does %s. Use when asked.\n---\nold\n", name, name)
		all["source/"+name+"/SKILL.md"] = text
		for _, below := range []string{"agents/skills/", "vendor/lib/"} {
			all["outside/"+below+name+"/SKILL.md"] = text
		}
	}
	all["outside/agents/skills/hand/SKILL.md"], all["outside/agents/skills/near/skill.md"] = fixable, nameless
	all["outside/agents/.knack/x"] = "x"
	all["outside/cursor/mcp.json"], all["outside/vendor/mine"] = entry, "mine\n"
	for name, text := range all {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// command returns the n-th command. For some of the commands it changes the source.
func (p *linkedProject) command(n int) []string {
	source := filepath.Join(p.dir, "source")
	if n%7 == 3 {
		at := filepath.Join(source, "a", "SKILL.md")
		text := fmt.Sprintf("---\nname: a\ndescription: Does a. Use when asked.\n---\nnew %d\n", n)
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			p.t.Error(err)
		}
	}
	all := [][]string{
		{"add", source, "--skill", "a", "--skill", "b"},
		{"update"},
		{"check", "--fix", "."},
		{"remove", "a"},
		{"sync"},
		{"connect", "cursor", "--write", "--scope", "project", "--", "--tools", []string{"runner", "wave"}[n/12%2]},
		{"add", source, "--all"},
		{"new", "fresh-" + strconv.Itoa(n)},
		{"pull", source, "--to", filepath.Join(p.project, "vendor", "lib")},
		{"update", "--overwrite"},
		{"check", "--fix=guess"},
		{"remove", "b"},
	}
	return all[(n+n/len(all))%len(all)]
}

// outside returns the state of the files in the folder outside.
func (p *linkedProject) outside() map[string]string {
	all := map[string]string{}
	root := filepath.Join(p.dir, "outside")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data := []byte(nil)
		if info.Mode().IsRegular() {
			data, err = os.ReadFile(path)
		}
		all[strings.TrimPrefix(path, root)] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), " ", string(data))
		return err
	})
	if err != nil {
		p.t.Error(err)
	}
	return all
}

// exchange swaps folders of the project with links, back and forth, until the caller calls stop.
func (p *linkedProject) exchange() (stop func()) {
	var ended atomic.Bool
	var each sync.WaitGroup
	var all []func()
	i := 0
	for at, target := range maps.All(map[string]string{
		".agents": "agents", ".agents/skills": "agents/skills", ".agents/skills/a": "agents/skills/a", ".agents/.knack": "agents/.knack",
		".agents/skills/hand": "agents/skills/hand", ".agents/skills/near": "agents/skills/near", ".cursor": "cursor", "vendor": "vendor", "vendor/lib": "vendor/lib",
	}) {
		i++
		at, link := filepath.Join(p.project, filepath.FromSlash(at)), filepath.Join(p.dir, fmt.Sprint("link-", i))
		if err := errors.Join(os.Symlink(filepath.Join(p.dir, "outside", filepath.FromSlash(target)), link), os.MkdirAll(at, 0o755)); err != nil {
			p.t.Fatal(err)
		}
		in, err := os.Open(filepath.Dir(at)) // the path itself may lead out
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, func() {
			defer in.Close()
			fd, name := int(in.Fd()), filepath.Base(at)
			for turn := 0; !ended.Load(); turn++ {
				if unix.Renameat2(fd, name, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE) == nil {
					p.exchanged.Add(1)
				}
				pause := unix.Timespec{Nsec: int64(turn*7919%40) * 20_000} // pauses differ in length
				_ = unix.Nanosleep(&pause, nil)
				var now unix.Stat_t
				if unix.Fstatat(fd, name, &now, unix.AT_SYMLINK_NOFOLLOW) == nil && now.Mode&unix.S_IFMT == unix.S_IFLNK {
					_ = unix.Renameat2(fd, name, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
				}
				pause.Nsec = int64(turn*104729%80) * 200_000
				_ = unix.Nanosleep(&pause, nil)
			}
		})
	}
	for _, one := range all { // start once all folders are open
		each.Go(one)
	}
	return func() { ended.Store(true); each.Wait() }
}
