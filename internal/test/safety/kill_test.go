//go:build linux

package safety

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// kills kills check --fix and connect --write at many moments, and checks that each file is the old
// or the new one.
func kills(r *trial) {
	home := r.dir()
	file, config := filepath.Join(home, "skills/git/SKILL.md"), filepath.Join(home, ".cursor/mcp.json")
	settings := "{\n  // comment\n  \"mcpServers\": {}\n}\n" + strings.Repeat(" \n", 100_000)
	for _, c := range []struct {
		name, file, old string
		args            []string
	}{
		{"check --fix", file, faulty(), []string{"check", "--fix", filepath.Join(home, "skills")}},
		{"connect --write", config, settings, []string{"connect", "cursor", "--write"}},
	} {
		r.write(filepath.Dir(c.file), map[string]string{filepath.Base(c.file): c.old})
		begin := time.Now()
		o := r.run(setting{home: home}, c.args...)
		whole := time.Since(begin)
		fresh, err := os.ReadFile(c.file)
		r.must(err)
		if o.status != 0 && c.name != "check --fix" || string(fresh) == c.old {
			r.Fatalf("%s changed nothing: %s", c.name, o.all())
		}
		n, kills, olds, news := r.pick(50, 600), 0, 0, 0
		// On a machine that has become busy, the command takes longer than on its first run.
		for i := 0; i < n || news == 0 && i < 4*n; i++ {
			// A process that is killed while it writes leaves its temporary file. Its name begins
			// with a dot, and it is never served.
			r.must(os.RemoveAll(filepath.Dir(c.file)))
			r.write(filepath.Dir(c.file), map[string]string{filepath.Base(c.file): c.old})
			cmd := r.command(setting{home: home}, c.args...)
			r.must(cmd.Start())
			// The kill comes between the start and shortly after the end, in steps that differ
			// between rounds.
			pause(whole * time.Duration(i) * 13 / time.Duration(n) / 10)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			kills++
			now, err := os.ReadFile(c.file)
			switch {
			case err != nil:
			case string(now) == c.old:
				olds++
			case bytes.Equal(now, fresh):
				news++
			default:
				err = fmt.Errorf("neither the old nor the new file: %d bytes of %d or %d", len(now), len(c.old), len(fresh))
			}
			r.check(c.name, err)
		}
		if olds == 0 || news == 0 {
			r.check(c.name, fmt.Errorf("the kills missed: %d old, %d new", olds, news))
		}
		r.note("%s: %d kills, %d old, %d new", c.name, kills, olds, news)
	}
}

// replace gives a file a new content in one step, as editors do. A file that is truncated and then
// written is not a skill in between, and an answer may report that.
func (r *trial) replace(at, text string) {
	r.must(os.WriteFile(at+"~", []byte(text), 0o644))
	r.must(os.Rename(at+"~", at))
}

// jumping makes the clock of a process jump years ahead and back, once a second. The clock of its
// timers runs normally.
var jumping = change{"std:time/time.go", "func Now() Time {\n	sec, nsec, mono := runtimeNow()\n", `func Now() Time {
	sec, nsec, mono := runtimeNow()
	sec += [4]int64{0, 10 * 365 * 86400, -20 * 365 * 86400, -3600}[mono/1e9%4]
`}

// untilJump waits until the clock is the given time before the jump from its latest year to its
// earliest. A negative time is after the jump. The clock jumps when the machine's uptime, modulo 4
// seconds, passes 2 seconds.
func untilJump(before time.Duration) {
	const cycle = 4 * time.Second
	var since unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &since) // cannot fail
	pause((2*time.Second - before - time.Duration(since.Nano())%cycle + 2*cycle) % cycle)
}

// clockJumps edits files below a server whose clock jumps, and sets modification times that no
// clock shows. It checks that each answer has the new text.
func clockJumps(r *trial) {
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err != nil || len(out) == 0 {
		r.untry("no source of the standard library: %v", err)
		return
	}
	r.changes = append([]change{jumping}, r.changes...)
	root := filepath.Join(r.dir(), "skills")
	text := func(i int) string { return skillMD("git", fmt.Sprintf("INSIDE %06d", i)) }
	r.write(root, map[string]string{"git/SKILL.md": text(0), "git/a.md": "INSIDE 000000"})
	k := r.stdio(setting{}, "--no-builtin", "--dir", root)
	w := r.pick(40, 120)
	for i := 1; i <= w; i++ {
		at := filepath.Join(root, "git/SKILL.md")
		if i%10 == 0 { // the first results get times in the latest year, and the next ones in the earliest
			untilJump(50 * time.Millisecond)
		}
		r.replace(at, text(i))
		r.replace(filepath.Join(root, "git/a.md"), fmt.Sprintf("INSIDE %06d", i))
		when := []time.Time{time.Unix(0, 0), time.Unix(-1<<31, 0), time.Unix(1<<33, 0), time.Now().AddDate(50, 0, 0), time.Now()}[i%5]
		_ = os.Chtimes(at, when, when)
		want := []byte(fmt.Sprintf("INSIDE %06d", i))
		for _, q := range []map[string]any{
			tool("skill", map[string]any{"name": "git"}), tool("read_file_in_skill", map[string]any{"skill_name": "git", "file_path": "a.md"}),
		} {
			line, err := k.call("tools/call", q)
			if err == nil && !bytes.Contains(line, want) {
				err = fmt.Errorf("still the old text: %s", excerpt(string(line)))
			}
			r.check(fmt.Sprint(q["name"], " after a change"), err)
		}
		// Lists show the change, too.
		if i%10 == 0 {
			untilJump(-20 * time.Millisecond)
		}
		r.replace(at, strings.Replace(text(i), "About git", fmt.Sprintf("Edition %06d", i), 1))
		_ = os.Chtimes(at, when, when)
		if i%10 == 0 {
			edition := []byte(fmt.Sprintf("Edition %06d", i))
			err := fmt.Errorf("still the old description after %v", r.every())
			testwait.Within(r.every(), func() bool {
				if line, failed := k.call("tools/call", tool("find_skills", map[string]any{})); failed != nil || bytes.Contains(line, edition) {
					err = failed
				}
				return err == nil
			})
			r.check("the list after a change", err)
		}
		pause(25 * time.Millisecond)
	}
	r.check("the end", status(k.end(), 0))
}
