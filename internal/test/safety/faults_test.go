//go:build linux

package safety

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/internal/test/testwait"
)

func faultParts() []part {
	return []part{
		reloadPart(), auditPart(),
		{name: "disk-full", promise: "a full disk: --fix, --write and new fail with a reason, old files whole; serving goes on", run: diskFull},
		{name: "read-only", promise: "a read-only file system: the same", run: readOnly},
		{name: "eio", promise: "a disk that fails to read: that file's answer says so, all others are served, the last good text where contract 004 has one", run: badDisk},
		{name: "emfile", promise: "no descriptor left: errors, no crash, and answers again once there are some", run: noDescriptors},
		{name: "eacces", promise: "a root without permission: the last good skills stay listed, and are read again once it is back", run: rootShut},
		{name: "unmounted", promise: "a root unmounted and back: its skills go, others stay, and it is served again", run: rootUnmounted, slow: true},
		{name: "clock", promise: "the wall clock jumps by years, both ways, and files have impossible times: every change is seen, every answer is current", run: clockJumps, slow: true},
		{name: "sigterm", promise: "SIGTERM with calls in flight, over stdio and HTTP: each accepted call is answered completely, status 0", run: termination},
		{name: "kill", promise: "kill -9 during --fix and --write: the old or the new file, complete", run: kills},
	}
}

// mount mounts a small tmpfs for the part. If it cannot, it records why and returns false.
func (r *trial) mount(at string, size string) bool {
	r.Helper()
	r.must(os.MkdirAll(at, 0o755))
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "size="+size+",mode=0755"); err != nil {
		r.untry("mounting a tmpfs: %v", err)
		return false
	}
	r.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	return true
}

// faulty returns a SKILL.md that --fix repairs. It is large, so that writing it takes time.
func faulty() string {
	return "---\nname: git\ndescription: Does: things\n---\n" + strings.Repeat("A line of the text.\n", 10_000)
}

// unwritable checks that commands keep their promises on a file system that refuses writes.
func (r *trial) unwritable(at string) {
	old := faulty()
	settings := "{\n  // comment\n  \"mcpServers\": {}\n}\n" + strings.Repeat(" \n", 40_000)
	file, config := filepath.Join(at, "skills/git/SKILL.md"), filepath.Join(at, ".cursor/mcp.json")
	for _, c := range []struct {
		name string
		args []string
		file string
		old  string
	}{
		{"check --fix", []string{"check", "--fix", filepath.Join(at, "skills")}, file, old},
		{"connect --write", []string{"connect", "cursor", "--write"}, config, settings},
		{"new", []string{"new", "fresh", "--dir", filepath.Join(at, "skills")}, filepath.Join(at, "skills/fresh/SKILL.md"), ""},
	} {
		o := r.run(setting{home: at}, c.args...)
		now, err := os.ReadFile(c.file)
		switch {
		case o.status == 0:
			err = fmt.Errorf("status 0: %s", excerpt(o.all()))
		case o.status < 0:
			err = fmt.Errorf("status %d", o.status)
		case c.old == "" && err == nil && len(now) == 0:
			err = errors.New("an empty file is left")
		case c.old == "":
			err = nil
		case err == nil && string(now) != c.old:
			err = fmt.Errorf("the old file is not whole: %d bytes", len(now))
		}
		if err == nil && !strings.Contains(o.errout, "no space left on device") && !strings.Contains(o.errout, " is full: ") && !strings.Contains(o.errout, "read-only file system") {
			err = fmt.Errorf("does not say why: %s", excerpt(o.errout))
		}
		r.check(c.name, err)
	}
	k := r.stdio(setting{}, "--no-builtin", "--dir", filepath.Join(at, "skills"))
	line, err := k.call("tools/call", tool("skill", map[string]any{"name": "git"}))
	if err == nil && !bytes.Contains(line, []byte("A line of the text.")) {
		err = fmt.Errorf("is not served: %s", excerpt(string(line)))
	}
	r.check("serve", err)
	r.check("the end", status(k.end(), 0))
}

func status(got, want int) error {
	if got != want {
		return fmt.Errorf("status %d, want %d", got, want)
	}
	return nil
}

func (r *trial) unwritableFiles(at string) {
	r.write(at, map[string]string{"skills/git/SKILL.md": faulty(), ".cursor/mcp.json": "{\n  // comment\n  \"mcpServers\": {}\n}\n" + strings.Repeat(" \n", 40_000)})
}

func diskFull(r *trial) {
	at := filepath.Join(r.dir(), "full")
	if !r.mount(at, "1m") {
		return
	}
	r.unwritableFiles(at)
	f, err := os.Create(filepath.Join(at, "fill"))
	r.must(err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	f.Close()
	if !errors.Is(err, unix.ENOSPC) {
		r.Fatal(err)
	}
	r.unwritable(at)
}

func readOnly(r *trial) {
	at := filepath.Join(r.dir(), "ro")
	if !r.mount(at, "4m") {
		return
	}
	r.unwritableFiles(at)
	r.must(unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	r.unwritable(at)
}

// badDisk replaces a file with one that cannot be read. It mounts the memory of this process over
// the file, whose first page is missing.
func badDisk(r *trial) {
	root := filepath.Join(r.dir(), "skills")
	r.write(root, map[string]string{
		"git/SKILL.md": skillMD("git", "INSIDE git"), "git/bad.md": "good", "git/good.md": "INSIDE good", "tar/SKILL.md": skillMD("tar", "INSIDE tar"),
	})
	uris := r.stdio(setting{}, "--tools", "uri", "--no-builtin", "--dir", root)
	get := func(skill string) (string, error) {
		line, err := uris.call("tools/call", tool("get_skill", map[string]any{"uri": "skill://" + skill + "/SKILL.md"}))
		return string(line), err
	}
	_, err := get("git") // served once while the file could be read
	r.must(err)
	memory := fmt.Sprintf("/proc/%d/mem", os.Getpid())
	bad := func(name string) bool {
		at := filepath.Join(root, name)
		if err := unix.Mount(memory, at, "", unix.MS_BIND, ""); err != nil {
			r.untry("mounting over %s: %v", name, err)
			return false
		}
		r.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
		if _, err := os.ReadFile(at); !errors.Is(err, unix.EIO) {
			r.untry("no file fails to be read: %v", err)
			return false
		}
		return true
	}
	if !bad("git/bad.md") {
		return
	}
	w := &ways{r: r, flags: []string{"--no-builtin", "--dir", root}}
	all, servers := w.start()
	says := func(what, answer string, err error, want ...string) {
		if err == nil {
			err = fmt.Errorf("does not say %q: %s", want, excerpt(answer))
			for _, one := range want {
				if strings.Contains(answer, one) {
					err = nil
				}
			}
		}
		r.check(what, err)
	}
	for _, way := range all {
		if !way.reads {
			continue
		}
		answer, err := way.ask("git", "bad.md")
		says(way.name+" of what fails", answer, err, "input/output error")
		answer, err = way.ask("git", "good.md")
		says(way.name+" of its neighbour", answer, err, "INSIDE good")
	}
	if !bad("git/SKILL.md") {
		return
	}
	answer, err := get("git")
	says("contract 004 of a failing SKILL.md", answer, err, "INSIDE git")
	answer, err = get("tar")
	says("contract 004 of its neighbour", answer, err, "INSIDE tar")
	o := r.run(setting{}, "list", "--all", "--no-builtin", "--dir", root)
	says("list --all", o.out, nil, "input/output error")
	says("list --all of its neighbour", o.out, nil, "tar")
	r.ends(append(servers, uris))
}

// noDescriptors runs a server with fewer file descriptors than its requests need.
func noDescriptors(r *trial) {
	root := filepath.Join(r.dir(), "skills")
	for i := range 200 {
		r.write(root, map[string]string{fmt.Sprintf("s-%03d/SKILL.md", i): skillMD(fmt.Sprintf("s-%03d", i), "INSIDE"), fmt.Sprintf("s-%03d/docs/a.md", i): "INSIDE a"})
	}
	k := r.http(setting{files: 40}, "--no-builtin", "--dir", root)
	w := &ways{r: r}
	ask := func() (string, error) {
		return w.post(k, modernEra, "", "tools/call", tool("read_file_in_skill", map[string]any{"skill_name": "s-100", "file_path": "docs/a.md"}))
	}
	_, err := ask()
	r.check("with descriptors", err)
	// Connections take all descriptors, and then calls use these connections.
	at := strings.TrimSuffix(strings.TrimPrefix(k.url, "http://"), "/mcp")
	for round := range r.pick(2, 6) {
		var conns []net.Conn
		for range 60 {
			c, err := net.DialTimeout("tcp", at, time.Second)
			if err != nil {
				break
			}
			conns = append(conns, c)
		}
		var wg sync.WaitGroup
		for _, c := range conns {
			wg.Go(func() {
				_ = c.SetDeadline(time.Now().Add(2 * time.Second))
				_, _ = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Protocol-Version: 2025-11-25\r\nContent-Length: 2\r\n\r\n{}")
				_, _ = c.Read(make([]byte, 4096))
			})
		}
		r.write(root, map[string]string{fmt.Sprintf("new-%02d/SKILL.md", round): skillMD("new", "x")}) // causes a refresh meanwhile
		wg.Wait()
		for _, c := range conns {
			c.Close()
		}
		err := error(nil)
		if !k.alive() {
			err = fmt.Errorf("the server has ended: %s", excerpt(k.said()))
		}
		r.check("with no descriptor left", err)
		err = errors.New("no answer")
		testwait.Within(r.patience(), func() bool {
			w.client = nil
			var answer string
			if answer, err = ask(); err == nil && !strings.Contains(answer, "INSIDE a") {
				err = fmt.Errorf("afterwards: %s", excerpt(answer))
			}
			return err == nil
		})
		if err != nil {
			err = fmt.Errorf("afterwards: %w", err)
		}
		r.check("with descriptors again", err)
	}
	// A command that has hardly any descriptors.
	for _, n := range []int{8, 10, 12, 16} {
		o := r.run(setting{files: n}, "list", "--no-builtin", "--dir", root)
		err := error(nil)
		if o.status < 0 || strings.Contains(o.errout, "panic") || o.status == 0 && !strings.Contains(o.out, "s-199") && !strings.Contains(o.out, " notice") && !strings.Contains(o.out, " skipped") {
			err = fmt.Errorf("status %d: %s", o.status, excerpt(o.all()))
		}
		r.check(fmt.Sprintf("list with %d descriptors", n), err)
	}
}

// inList reports whether find_skills lists a skill.
func inList(k *knack, name string) (bool, error) {
	line, err := k.call("tools/call", tool("find_skills", map[string]any{}))
	return bytes.Contains(line, []byte("- "+name+" (")), err
}

// becomes waits until a skill is listed, or, if want is false, until it no longer is.
func (r *trial) becomes(k *knack, name string, want bool, within time.Duration) error {
	var got bool
	var err error
	if !testwait.Within(within, func() bool {
		got, err = inList(k, name)
		return err != nil || got == want
	}) {
		return fmt.Errorf("%s listed: %v, and not %v, not within %v", name, got, want, within)
	}
	return err
}

// every bounds the time until knack notices a change, with an allowance for a loaded machine.
func (r *trial) every() time.Duration {
	if len(r.changes) > 0 {
		return 5 * time.Second
	}
	return 45 * time.Second
}

func rootShut(r *trial) {
	if os.Getuid() != 0 {
		r.untry("only root can shut out another user")
		return
	}
	base := r.dir()
	a, b := filepath.Join(base, "a"), filepath.Join(base, "b")
	r.write(a, map[string]string{"git/SKILL.md": skillMD("git", "INSIDE git")})
	r.write(b, map[string]string{"tar/SKILL.md": skillMD("tar", "INSIDE tar")})
	k := r.stdio(setting{nobody: true, home: "/"}, "--no-builtin", "--dir", a, "--dir", b)
	r.must(os.Chmod(a, 0))
	// A change elsewhere triggers a refresh.
	r.write(b, map[string]string{"sed/SKILL.md": skillMD("sed", "x")})
	r.check("the other root is looked at", r.becomes(k, "sed", true, r.every()))
	found, err := inList(k, "git")
	if err == nil && !found {
		err = errors.New("is not listed any more")
	}
	r.check("the last good skills", err)
	line, err := k.call("tools/call", tool("skill", map[string]any{"name": "git"}))
	if err == nil && bytes.Contains(line, []byte("INSIDE git")) {
		err = errors.New("was read without permission")
	}
	r.check("a call meanwhile", err)
	r.must(os.Chmod(a, 0o755))
	err = errors.New("none")
	testwait.Within(r.every(), func() bool {
		if line, err = k.call("tools/call", tool("skill", map[string]any{"name": "git"})); err == nil && !bytes.Contains(line, []byte("INSIDE git")) {
			err = fmt.Errorf("is not served again: %s", excerpt(string(line)))
		}
		return err == nil
	})
	r.check("permission again", err)
	r.check("the end", status(k.end(), 0))
}

func rootUnmounted(r *trial) {
	base := r.dir()
	a, b := filepath.Join(base, "a"), filepath.Join(base, "b")
	if !r.mount(a, "1m") {
		return
	}
	lay := func() { r.write(a, map[string]string{"git/SKILL.md": skillMD("git", "INSIDE git")}) }
	lay()
	r.write(b, map[string]string{"tar/SKILL.md": skillMD("tar", "INSIDE tar")})
	k := r.stdio(setting{}, "--no-builtin", "--dir", a, "--dir", b)
	for range r.pick(1, 3) {
		r.check("before", r.becomes(k, "git", true, r.every()))
		if err := unix.Unmount(a, unix.MNT_DETACH); err != nil {
			r.Fatal(err)
		}
		r.check("unmounted", r.becomes(k, "git", false, r.every()))
		r.check("the other root", r.becomes(k, "tar", true, r.every()))
		if !r.mount(a, "1m") {
			return
		}
		lay()
		r.check("mounted again", r.becomes(k, "git", true, r.every()))
		line, err := k.call("tools/call", tool("skill", map[string]any{"name": "git"}))
		if err == nil && !bytes.Contains(line, []byte("INSIDE git")) {
			err = fmt.Errorf("is not served: %s", excerpt(string(line)))
		}
		r.check("read again", err)
	}
	r.check("the end", status(k.end(), 0))
}

// termination sends SIGTERM to servers that have calls in flight, and checks that they answer them.
func termination(r *trial) {
	root := filepath.Join(r.dir(), "skills")
	r.write(root, map[string]string{"big/SKILL.md": skillMD("big", "x"), "big/data.txt": strings.Repeat("knack ", 200_000)})
	calls := r.pick(10, 40)
	for range r.pick(3, 12) {
		k := r.stdio(setting{}, "--no-builtin", "--dir", root)
		var answers []chan []byte
		for range calls {
			to, err := k.send("resources/read", map[string]any{"uri": "skill://big/data.txt"})
			r.must(err)
			answers = append(answers, to)
		}
		// The ping is sent last. The server answers it while the other calls run.
		_, err := k.call("ping", map[string]any{})
		r.must(err)
		r.must(k.cmd.Process.Signal(syscall.SIGTERM))
		got := 0
		for _, to := range answers {
			select {
			case line := <-to:
				if len(line) > 1_200_000 {
					got++
				}
			case <-k.ended:
				select { // the answer may have arrived just before the end
				case line := <-to:
					if len(line) > 1_200_000 {
						got++
					}
				default:
				}
			case <-time.After(r.patience()):
			}
		}
		if got != calls {
			err = fmt.Errorf("%d of %d answers", got, calls)
		}
		r.check("stdio", err)
		<-k.ended
		r.check("stdio, its status", status(k.cmd.ProcessState.ExitCode(), 0))
	}
	for range r.pick(3, 12) {
		k := r.http(setting{}, "--no-builtin", "--dir", root)
		r.endsHTTP(k, calls)
	}
}

// endsHTTP sends SIGTERM to a server when half of the calls have begun to be answered and the other
// half are on their way. It checks that the answers of the first half arrive whole. A call of the
// other half may be refused or find no server, but gets no partial answer.
func (r *trial) endsHTTP(k *knack, calls int) {
	ask := func(begun chan<- bool) error {
		req, err := request(k, modernEra, "", "resources/read", map[string]any{"uri": "skill://big/data.txt"})
		if err != nil {
			return err
		}
		client := &http.Client{Transport: &http.Transport{}, Timeout: r.patience()}
		defer client.CloseIdleConnections()
		resp, err := client.Do(req)
		if err != nil {
			if begun != nil {
				begun <- false
			}
			return nil // the request was not accepted
		}
		defer resp.Body.Close()
		if begun != nil {
			begun <- true
		}
		data, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode == http.StatusOK && len(data) < 1_200_000 || err != nil {
			return fmt.Errorf("half an answer: %d bytes, %v", len(data), err)
		}
		if begun != nil && resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	}
	early, late, begun := make(chan error, calls), make(chan error, calls), make(chan bool, calls)
	for range calls / 2 {
		go func() { early <- ask(begun) }()
	}
	for range calls / 2 {
		<-begun
	}
	for range calls / 2 {
		go func() { late <- ask(nil) }()
	}
	r.must(k.cmd.Process.Signal(syscall.SIGTERM))
	for range calls / 2 {
		r.check("http, begun", <-early)
		r.check("http, on its way", <-late)
	}
	select {
	case <-k.ended:
		r.check("http, its status", status(k.cmd.ProcessState.ExitCode(), 0))
	case <-time.After(r.patience()):
		r.check("http, its end", errors.New("it goes on"))
	}
}
