//go:build linux

package safety

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/internal/test/testwait"
)

func reloadPart() part {
	return part{name: "reload", promise: "SIGHUP with a faulty, missing or cut configuration or token file: the previous settings stay in effect, and a valid file is accepted afterwards", run: reloads}
}

func auditPart() part {
	return part{name: "audit", promise: "the audit log after kill -9, on a full disk, with names that forge lines, and under floods: complete lines of JSON, one for each request, few for a flood, and lost lines are counted", run: audits}
}

func reloads(r *trial) {
	home := r.dir()
	root, config, tokens := filepath.Join(home, "skills"), filepath.Join(home, "access.yaml"), filepath.Join(home, "tokens")
	r.write(root, map[string]string{"git/SKILL.md": skillMD("git", "x"), "vault/SKILL.md": skillMD("vault", "x")})
	const first = "knack_token-that-holds-at-first"
	rules := "limits: {rate: 0}\naccess:\n  default: allow\n  rules:\n    - subjects: [ann]\n      deny: [\"skill://vault/**\"]\n"
	line := func(token string) string { return hashOf(token) + " ann\n" }
	r.write(home, map[string]string{"access.yaml": rules, "tokens": line(first)})
	k := r.http(setting{home: home, nobody: true}, "--no-builtin", "--dir", root, "--config", config, "--token-file", tokens)
	base, client := strings.TrimSuffix(k.url, "/mcp"), r.from("")
	serves := func(what, token string) {
		for _, c := range []struct {
			at     string
			status int
		}{{"/skills/git/", 200}, {"/skills/vault/", 404}} {
			a, err := r.browse(client, "GET", base+c.at, "", "Authorization", "Bearer "+token)
			if err == nil && a.status != c.status {
				err = fmt.Errorf("%s: %d, want %d", c.at, a.status, c.status)
			}
			r.check(what, err)
		}
	}
	serves("at first", first)
	current := first
	for i, c := range []struct {
		name string
		lay  func(at, good string) error
	}{
		{"wrong", func(at, _ string) error { return os.WriteFile(at, []byte("]: {{ no: [\n"), 0o644) }},
		{"empty", func(at, _ string) error { return os.WriteFile(at, nil, 0o644) }},
		{"missing", func(string, string) error { return nil }},
		{"half written", func(at, good string) error { return os.WriteFile(at, []byte(good[:len(good)*2/3]), 0o644) }},
		{"zeros", func(at, _ string) error { return os.WriteFile(at, make([]byte, 4096), 0o644) }},
		{"of mode 000", func(at, good string) error { return os.WriteFile(at, []byte(good), 0) }},
		{"a pipe", func(at, _ string) error { return unix.Mkfifo(at, 0o644) }},
		{"a folder", func(at, _ string) error { return os.Mkdir(at, 0o755) }},
		{"a link to itself", func(at, _ string) error { return os.Symlink(at, at) }},
	} {
		for _, at := range []string{config, tokens} {
			what := filepath.Base(at) + " " + c.name
			good := map[string]string{config: rules, tokens: line(current)}[at]
			r.must(os.RemoveAll(at))
			r.must(c.lay(at, good))
			r.check(what, r.hangUp(k, notReloaded))
			serves(what+", with the old token", current)
			r.must(os.RemoveAll(at))
			current = fmt.Sprintf("knack_token-of-round-%d-%s", i, filepath.Base(at))
			r.write(home, map[string]string{"access.yaml": rules, "tokens": line(current)})
			r.check("a good one after "+what, r.hangUp(k, takenOver))
			serves("a good one after "+what, current)
		}
	}

	// Each file is cut short at every byte: rules that deny, rules that allow some skills, tokens
	// and groups in the settings, and names in the token file.
	revoked := 0
	cut := func(name, whole, token string) {
		for n := range len(whole) {
			what, before := fmt.Sprintf("%s cut after %d bytes", name, n), strings.Count(k.said(), takenOver)
			r.write(home, map[string]string{name: whole[:n]})
			err := r.hangUp(k, takenOrNot)
			taken := strings.Count(k.said(), takenOver) > before
			end := n == len(whole)-1 // only the line end of the last line may be missing
			gone := taken && !end && strings.Contains(whole, hashOf(token)) && !strings.Contains(whole[:n], hashOf(token))
			if err == nil && taken != (end || gone) {
				err = fmt.Errorf("taken over: %v, want %v", taken, end)
			}
			r.check(what, err)
			if !gone {
				serves(what, token)
				continue
			}
			// The cut lacks nothing but the whole token, so the server took it over. The next cut
			// would not be a beginning of the file in effect, so the whole file is written again
			// below.
			for _, at := range []string{"/skills/git/", "/skills/vault/"} {
				a, err := r.browse(client, "GET", base+at, "", "Authorization", "Bearer "+token)
				r.check(what+", without the token", errors.Join(err, status(a.status, 401)))
			}
			revoked++
			r.write(home, map[string]string{name: whole})
			r.check(name+" whole again", r.hangUp(k, takenOver))
		}
		r.write(home, map[string]string{name: whole})
		r.check(name+" whole again", r.hangUp(k, takenOver))
	}
	cut("access.yaml", rules, current)
	cut("tokens", line(current), current)
	const token = "knack_token-of-the-settings"
	opens := "limits: {rate: 0}\naccess:\n  default: deny\n  tokens:\n    - hash: " + hashOf(token) + "\n      subject: bob\n      groups: [staff]\n  rules:\n    - allow: [\"skill://git/**\"]\n    - allow: [\"skill://vault/**\"]\n      groups: [admins]\n"
	closes := "limits: {rate: 0}\naccess:\n  default: allow\n  rules:\n    - deny: [\"skill://vault/**\"]\n      groups: [staff]\n  tokens:\n    - hash: " + hashOf(token) + "\n      subject: bob\n      groups: [staff]\n"
	for _, text := range []string{opens, closes} {
		r.write(home, map[string]string{"access.yaml": text})
		r.check("settings with a token", r.hangUp(k, takenOver))
		cut("access.yaml", text, token)
	}
	if revoked == 0 {
		r.check("tokens that a cut takes whole", errors.New("none was met"))
	}
	r.write(home, map[string]string{"access.yaml": rules})
	r.check("the rules of before", r.hangUp(k, takenOver))
	serves("the rules of before", current)

	for what, text := range map[string]string{"blank": " \n\n", "a comment": "# " + rules[:10] + "\n", "of other sections": "limits: {rate: 0}\n", "without the default": "access:\n", "without the rules": "access: {default: allow}\n", "wrong at its end": "access: {default: allow, rules: []}\nlimits: {rat: 0}\n"} {
		r.write(home, map[string]string{"access.yaml": text})
		r.check("access.yaml "+what, r.hangUp(k, notReloaded))
		serves("access.yaml "+what, current)
	}
	r.write(home, map[string]string{"access.yaml": "limits: {rate: 0}\naccess: {default: allow, rules: []}\n"})
	r.check("no rules, in words", r.hangUp(k, takenOver))
	a, err := r.browse(client, "GET", base+"/skills/vault/", "", "Authorization", "Bearer "+current)
	r.check("no rules, in words", errors.Join(err, status(a.status, 200)))
	r.ends([]*knack{k})

	// The user's own file, which no flag names, is removed.
	own := filepath.Join(home, ".config", "knack", "knack.yaml")
	r.write(home, map[string]string{".config/knack/knack.yaml": rules})
	k = r.http(setting{home: home}, "--no-builtin", "--dir", root, "--token-file", tokens)
	base = strings.TrimSuffix(k.url, "/mcp")
	serves("by the user's own file", current)
	r.must(os.Remove(own))
	r.check("the user's own file is gone", r.hangUp(k, notReloaded))
	serves("the user's own file is gone", current)
	r.ends([]*knack{k})
}

// auditLines returns the lines of a file, and checks that each is a complete JSON line.
func (r *trial) auditLines(what, file string) []map[string]any {
	r.Helper()
	data, err := os.ReadFile(file)
	r.must(err)
	var all []map[string]any
	for text := range bytes.Lines(data) {
		var one map[string]any
		err := json.Unmarshal(text, &one)
		if err != nil || !bytes.HasSuffix(text, []byte("\n")) {
			err = fmt.Errorf("no JSON on a line: %v: %q", err, excerpt(string(text)))
		}
		if i := bytes.IndexFunc(text[:max(len(text)-1, 0)], func(c rune) bool { return c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c >= 0x202a && c <= 0x202e }); err == nil && i >= 0 {
			err = fmt.Errorf("a raw character: %q", excerpt(string(text)))
		}
		r.check(what, err)
		all = append(all, one)
	}
	return all
}

func audits(r *trial) {
	home := r.dir()
	root := filepath.Join(home, "skills")
	r.write(root, map[string]string{"git/SKILL.md": skillMD("git", "x")})

	// Names that end a line of the log, or that hide its rest.
	file := filepath.Join(home, "forged")
	k := r.stdio(setting{home: home}, "--no-builtin", "--dir", root, "--audit", file)
	before := 0
	forged := []string{"git\n{\"result\":\"ok\",\"subject\":\"root\"}", "git\r\n{}", "\u2028{}\u2029", "\u202egit", "\x00", "\x1b[2J", "\x7f\u0085\u009b", "\"},{\"result\":\"ok", strings.Repeat("\n{}", 4000), "\\n{}"}
	for _, name := range forged {
		for _, c := range []struct {
			method string
			params map[string]any
		}{{"tools/call", tool("skill", map[string]any{"name": name})}, {"tools/call", tool("read_file_in_skill", map[string]any{"skill_name": "git", "file_path": name})}, {"resources/read", map[string]any{"uri": "skill://" + name + "/SKILL.md"}}} {
			_, err := k.call(c.method, c.params)
			r.check(fmt.Sprintf("%s of %.20q", c.method, name), err)
			before++
		}
	}
	r.check("the end", ended(k.end()))
	lines := r.auditLines("forged names", file)
	var err error
	asked := 0
	for _, one := range lines { // counts only the lines of calls, not the lines about the session's start
		if one["method"] == "tools/call" || one["method"] == "resources/read" {
			asked++
		}
	}
	if asked != before {
		err = fmt.Errorf("%d lines of %d requests", asked, before)
	}
	r.check("a line a request", err)
	for _, one := range lines {
		var err error
		if one["subject"] == "root" {
			err = errors.New("is there")
		}
		r.check("a forged line", err)
	}

	r.tokenless()

	// The server is killed with SIGKILL while it writes lines and rotates files.
	config := filepath.Join(home, "small.yaml")
	r.write(home, map[string]string{"small.yaml": "limits: {rate: 0}\naudit: {to: " + filepath.Join(home, "killed") + ", max-size: 1, keep: 3}\n"})
	filler := []byte("{\"result\":\"ok\",\"filler\":\"" + strings.Repeat("x", 4000) + "\"}\n")
	for round := range r.pick(3, 20) {
		// The file is nearly full, so the server begins the next file around the time of the kill.
		fill, err := os.OpenFile(filepath.Join(home, "killed"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		r.must(err)
		for size := 0; size < 1<<20-2*len(filler); {
			info, err := fill.Stat()
			r.must(err)
			if size = int(info.Size()); size < 1<<20-2*len(filler) {
				_, err = fill.Write(filler)
				r.must(err)
			}
		}
		r.must(fill.Close())
		k := r.http(setting{home: home}, "--no-builtin", "--dir", root, "--config", config)
		base, end := strings.TrimSuffix(k.url, "/mcp"), make(chan struct{})
		var served atomic.Int64
		for range 4 {
			go func() {
				client := r.from("")
				for {
					if _, err := r.browse(client, "GET", base+"/skills/git/", ""); err != nil {
						end <- struct{}{}
						return
					}
					served.Add(1)
				}
			}()
		}
		// Some thirty lines are already in the next file.
		testwait.Within(r.patience(), func() bool { return served.Load() >= int64(60+37*round) })
		r.must(k.cmd.Process.Signal(syscall.SIGKILL))
		<-k.ended
		for range 4 {
			<-end
		}
	}
	k = r.http(setting{home: home}, "--no-builtin", "--dir", root, "--config", config)
	_, err = r.browse(r.from(""), "GET", strings.TrimSuffix(k.url, "/mcp")+"/skills/git/", "")
	r.check("after all", err)
	r.must(k.cmd.Process.Signal(syscall.SIGTERM))
	<-k.ended
	names, err := filepath.Glob(filepath.Join(home, "killed*"))
	r.must(err)
	whole := 0
	for _, name := range names {
		for _, one := range r.auditLines("after kill -9, "+filepath.Base(name), name) {
			if one["filler"] == nil {
				whole++
			}
		}
	}
	err = nil
	if whole < 50 || len(names) < 3 {
		err = fmt.Errorf("only %d, in %d files", whole, len(names))
	}
	r.check("lines after kill -9", err)

	// The disk is full, and then has space again.
	at := filepath.Join(home, "full")
	if !r.mount(at, "1m") {
		return
	}
	file = filepath.Join(at, "audit")
	k = r.http(setting{home: home}, "--no-builtin", "--dir", root, "--audit", file)
	base, client := strings.TrimSuffix(k.url, "/mcp"), r.from("")
	ask := func(n int) {
		for range n {
			a, err := r.browse(client, "GET", base+"/skills/git/", "")
			if err == nil && a.status != 200 {
				err = fmt.Errorf("%d", a.status)
			}
			r.check("a page while the disk is full", err)
		}
	}
	ask(5)
	fill, err := os.Create(filepath.Join(at, "fill"))
	r.must(err)
	for err == nil {
		_, err = fill.Write(make([]byte, 4096))
	}
	fill.Close()
	if !errors.Is(err, unix.ENOSPC) {
		r.Fatal(err)
	}
	ask(100)
	r.must(os.Remove(fill.Name()))
	ask(5)
	r.must(k.cmd.Process.Signal(syscall.SIGTERM))
	<-k.ended
	lost, written := 0, 0
	for _, one := range r.auditLines("on a full disk", file) {
		if one["result"] == "lost" {
			times, _ := one["times"].(float64)
			lost += int(times)
			continue
		}
		written++
	}
	err = nil
	switch {
	case lost == 0:
		err = errors.New("no count of what was lost")
	case lost+written != 110:
		err = fmt.Errorf("%d lines and %d lost, of 110 requests", written, lost)
	}
	r.check("what was lost", err)
}

// tokenless floods a server that requires tokens with requests that have no token or an unknown
// one. Each kind of request comes from an address of its own, with rate limits and without.
// tokenless checks that a client with a token is still served, and that the audit log gets only a
// few lines.
func (r *trial) tokenless() {
	const token = "knack_token-of-one-whom-a-flood-is-to-hide"
	sorts := []struct{ method, at, form, token string }{
		{method: "GET", at: "/signin"}, {method: "POST", at: "/signin", form: "token=wrong"}, {method: "GET", at: "/assets/x"}, {method: "GET", at: "/api/v1/skills"}, {method: "GET", at: "/nowhere"}, {method: "POST", at: "/mcp"}, {method: "GET", at: "/mcp", token: "knack_wrong"},
	}
	n := r.pick(700, 1500)
	for _, limits := range []string{"{rate: 100}", "{rate: 0}"} {
		home := r.dir()
		root, file := filepath.Join(home, "skills"), filepath.Join(home, "audit")
		r.write(root, map[string]string{"git/SKILL.md": skillMD("git", "x")})
		r.write(home, map[string]string{"access.yaml": admitting(limits, token)})
		k := r.http(setting{home: home}, "--no-builtin", "--dir", root, "--config", filepath.Join(home, "access.yaml"), "--audit", file)
		base := strings.TrimSuffix(k.url, "/mcp")
		for i, sort := range sorts {
			what := fmt.Sprintf("a flood of %s %s at %s", sort.method, sort.at, limits)
			client, waits := r.from(fmt.Sprintf("127.0.1.%d", i+1)), 0
			limited := limits != "{rate: 0}"
			var headers []string
			if sort.token != "" {
				headers = []string{"Authorization", "Bearer " + sort.token}
			}
			// The limit is a number of requests per second, and a busy machine answers few requests
			// per second.
			for asked := 0; asked < n || limited && waits == 0 && asked < 10*n; asked++ {
				a, err := r.browse(client, sort.method, base+sort.at, sort.form, headers...)
				if a.status == 429 {
					waits++
				}
				r.check(what, err)
			}
			var err error
			if (waits > 0) != limited {
				err = fmt.Errorf("%d of %d were told to wait", waits, n)
			}
			r.check(what, err)
			a, err := r.browse(client, "GET", base+"/api/v1/skills", "", "Authorization", "Bearer "+token)
			r.check("who has a token, in "+what, errors.Join(err, status(a.status, 200)))
		}
		r.must(k.cmd.Process.Signal(syscall.SIGTERM))
		<-k.ended
		lines, times, known := map[any]int{}, map[any]float64{}, map[any]int{}
		for _, one := range r.auditLines("floods without a token at "+limits, file) {
			from := one["address"]
			if one["subject"] == "s0" {
				known[from]++
				continue
			}
			lines[from]++
			count, _ := one["times"].(float64)
			times[from] = max(times[from], count)
		}
		for i, sort := range sorts {
			from := fmt.Sprintf("127.0.1.%d", i+1)
			var err error
			switch {
			case lines[from] < 100 || lines[from] > 200:
				err = fmt.Errorf("%d lines of a flood of %d", lines[from], n)
			case times[from] < 64:
				err = fmt.Errorf("no line says how often: %v times at most", times[from])
			case known[from] != 1:
				err = fmt.Errorf("%d lines of who has a token, not 1", known[from])
			}
			r.check(sort.method+" "+sort.at+" at "+limits, err)
		}
	}
}
