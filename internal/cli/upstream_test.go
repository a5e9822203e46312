package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skillsext"
)

// person is a user's machine: a home folder, a variable with a token, and a server over stdio.
type person struct {
	t     *testing.T
	home  string
	token atomic.Pointer[string] // the variable ACME
	typed string                 // the variable KNACK_TOKEN
	log   lockedBuffer
	in    io.Writer
	out   *bufio.Reader
	calls int
	stop  func()
}

// newPerson returns a machine with one skill, own, and the user's settings.
func newPerson(t *testing.T, settings string) *person {
	p := &person{t: t, home: t.TempDir()}
	p.setToken("")
	p.write(".agents/skills/own/SKILL.md", "---\nname: own\ndescription: Use own.\n---\nOwn.\n")
	p.write(".config/knack/knack.yaml", settings)
	return p
}

func (p *person) setToken(text string) { p.token.Store(&text) }

func (p *person) write(name, text string) {
	put(p.t, filepath.Join(p.home, filepath.FromSlash(name)), text)
}

func (p *person) env() console.Env {
	return console.Env{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &p.log, Dir: filepath.Join(p.home, "work"), Home: p.home,
		Getenv: func(name string) string {
			switch name {
			case "ACME":
				return *p.token.Load()
			case "KNACK_TOKEN":
				return p.typed
			case "XDG_CACHE_HOME":
				return filepath.Join(p.home, "cache")
			}
			return ""
		},
	}
}

// run runs a command and returns its output on both streams.
func (p *person) run(args ...string) string {
	var out strings.Builder
	env := p.env()
	env.Stdout, env.Stderr = &out, &out
	cli.Main(p.t.Context(), env, args)
	return out.String()
}

// serve starts a server over stdio and initializes a session.
func (p *person) serve(args ...string) {
	p.t.Helper()
	env := p.env()
	from, in := io.Pipe()
	out, to := io.Pipe()
	env.Stdin, env.Stdout = from, to
	p.in, p.out = in, bufio.NewReaderSize(out, 1<<20)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		cli.Main(ctx, env, append([]string{"serve", "--no-builtin"}, args...))
		to.Close()
	}()
	p.stop = func() {
		in.Close()
		go io.Copy(io.Discard, out)
		<-ended
		cancel()
		p.stop = func() {}
	}
	p.t.Cleanup(func() { p.stop() })
	p.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
}

// ask sends a request and returns the answer.
func (p *person) ask(method, params string) string {
	p.t.Helper()
	p.calls++
	id := fmt.Sprintf(`"id":%d,`, p.calls)
	fmt.Fprintf(p.in, `{"jsonrpc":"2.0",%s"method":"%s","params":%s}`+"\n", id, method, params)
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.t.Fatalf("%s: %v\n%s", method, err, p.log.String())
		}
		if strings.Contains(line, id) {
			return line
		}
	}
}

func (p *person) load(name string) string {
	return p.ask("tools/call", `{"name":"skill","arguments":{"name":"`+name+`"}}`)
}

// loads waits until the answer for a skill contains a text.
func (p *person) loads(name, text string) {
	p.t.Helper()
	var answer string
	testwait.Until(p.t, func() bool { answer = p.load(name); return strings.Contains(answer, text) }, name, func() string { return answer + p.log.String() })
}

// reports waits until the output of a command contains all texts. Commands read the store, to which
// the server writes a failure soon after it is in the log.
func (p *person) reports(command string, texts ...string) {
	p.t.Helper()
	var out string
	testwait.Until(p.t, func() bool {
		out = p.run(strings.Fields(command)...)
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(out, text) })
	}, command, texts, func() string { return out + p.log.String() })
}

// upstream starts a knack over HTTP that requires a token. It returns the address and the folder of
// its skills.
func upstream(t *testing.T, skills map[string]string, token string) (address, dir string) {
	dir = t.TempDir()
	for name, text := range skills {
		put(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	tokens := filepath.Join(t.TempDir(), "tokens")
	put(t, tokens, fmt.Sprintf("sha256:%x anna\n", sha256.Sum256([]byte(token))))
	return startServer(t, "--dir", dir, "--token-file", tokens), dir
}

const (
	token      = "canary-token-0123456789-0123456789"
	otherToken = "canary-other-0123456789-0123456789"
)

// TestOwnSources checks that a server in the user's settings is followed with its token. Its skills
// come after the user's skills, and knack does not wait for it at the start.
func TestOwnSources(t *testing.T) {
	t.Parallel()
	at, dir := upstream(t, map[string]string{
		"pdf/SKILL.md": "---\nname: pdf\ndescription: Use pdf.\n---\nOf acme.\n", "pdf/run.sh": "echo pdf\n",
		"own/SKILL.md": "---\nname: own\ndescription: Use the other own.\n---\nOwn of acme.\n",
	}, token)
	p := newPerson(t, "sources:\n  - {name: acme, from: 'mcp:"+at+"', token-env: ACME}\npoll: 1s\n")

	// Without the token, the answer names the keys that give one, and the log, list and doctor name
	// the unset variable.
	p.serve()
	p.loads("pdf", "it refuses access since")
	if answer := p.load("pdf"); !strings.Contains(answer, "token-env or token-file") || !strings.Contains(answer, "acme") {
		t.Error(answer)
	}
	const names = "the variable ACME, which has its token, is not set"
	testwait.Until(t, func() bool { return strings.Contains(p.log.String(), names) }, "the log", p.log.String)
	for _, command := range []string{"list", "doctor"} {
		p.reports(command, names, "knack.yaml")
	}

	// A wrong token, and then the right one, take effect without a restart.
	p.setToken(otherToken)
	p.reports("doctor", "it refuses the token of the variable ACME")
	p.setToken(token)
	p.loads("pdf", "Of acme.")
	for name, want := range map[string]string{"own": "Own.", "acme:own": "Own of acme.", "acme:pdf": "Of acme."} {
		if answer := p.load(name); !strings.Contains(answer, want) {
			t.Errorf("%s: %s", name, answer)
		}
	}
	// A script of the source can be run from the verified copy, which is read-only.
	_, at, _ = strings.Cut(p.load("pdf"), "Base directory: ")
	at, _, _ = strings.Cut(at, `\n`)
	if info, err := os.Stat(filepath.Join(at, "run.sh")); err != nil || info.Mode().Perm()&0o222 != 0 || !strings.HasPrefix(at, p.home) {
		t.Error(at, info, err)
	}
	if answer := p.ask("tools/call", `{"name":"read_file_in_skill","arguments":{"skill_name":"pdf","file_path":"`+at+`/run.sh"}}`); !strings.Contains(answer, "echo pdf") {
		t.Error(answer)
	}
	if answer := p.ask("tools/call", `{"name":"find_skills","arguments":{"query":"pdf"}}`); !strings.Contains(answer, "pdf (global, skill://acme/pdf/SKILL.md)") {
		t.Error(answer)
	}
	if out := p.run("list", "--all"); strings.Index(out, "agents-user") > strings.Index(out, "acme") || !strings.Contains(out, "pdf") {
		t.Error(out)
	}
	put(t, filepath.Join(dir, "pdf", "SKILL.md"), "---\nname: pdf\ndescription: Use pdf.\n---\nChanged.\n")
	p.loads("pdf", "Changed.")
	p.stop()

	// No file of this machine and no output contains a token.
	if strings.Contains(p.log.String(), "canary") {
		t.Error(p.log.String())
	}
	if out := p.run("doctor", "--json") + p.run("config", "check"); strings.Contains(out, "canary") {
		t.Error(out)
	}
	_ = filepath.WalkDir(filepath.Join(p.home, "cache"), func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if data, _ := os.ReadFile(path); strings.Contains(string(data), "canary") {
				t.Error(path)
			}
		}
		return err
	})
}

// TestOwnSourcesReplaced checks that the user's sources are reported but not used if flags choose
// the skills. The sources of a project must be reported and ignored.
func TestOwnSourcesReplaced(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "sources:\n  - {name: acme, from: 'mcp:http://127.0.0.1:1/mcp'}\n")
	p.write("named/pdf/SKILL.md", "---\nname: pdf\ndescription: Use pdf.\n---\n")
	p.write("knack.yaml", "roots:\n  - {label: named, dir: named}\n")
	for _, args := range [][]string{{"--config", filepath.Join(p.home, "knack.yaml")}, {"--dir", filepath.Join(p.home, "named")}} {
		if out := p.run(append([]string{"list"}, args...)...); strings.Contains(out, "acme") || !strings.Contains(out, "pdf") {
			t.Errorf("%s: %s", args, out)
		}
	}
	if out := p.run("doctor", "--all", "--config", filepath.Join(p.home, "knack.yaml")); !strings.Contains(out, "its roots and sources are read, and not the folders of this machine") {
		t.Error(out)
	}
	p.write("work/.git/HEAD", "ref: refs/heads/main\n")
	p.write("work/knack.yaml", "sources:\n  - {name: evil, from: 'mcp:http://127.0.0.1:2/mcp'}\n")
	p.serve()
	if answer := p.load("own"); !strings.Contains(answer, "Own.") {
		t.Error(answer)
	}
	if log := p.log.String(); !strings.Contains(log, "knack.yaml:1:1: a project's file names no sources") || strings.Contains(log, "evil") {
		t.Error(log)
	}
	p.stop()
	p.write(".config/knack/knack.yaml", "sources:\n  - {name: acme, from: 'mcp:http://127.0.0.1:1/mcp', token-env: ACME}\nlimits: nonsense\n")
	p.serve()
	if answer := p.load("own"); !strings.Contains(answer, "Own.") || !strings.Contains(p.log.String(), "the sources of your own file are not followed: ~/.config/knack/knack.yaml:3") {
		t.Error(answer, p.log.String())
	}
}

// TestTokenStays checks that the token of a source is sent only to the origin of that source.
func TestTokenStays(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	seen := func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(fmt.Sprint(r.Header), "canary") || strings.Contains(r.URL.String(), "canary") {
			elsewhere.Add(1)
		}
		http.NotFound(w, r)
	}
	other := httptest.NewServer(http.HandlerFunc(seen))
	t.Cleanup(other.Close)
	at, _ := upstream(t, map[string]string{"pdf/SKILL.md": "---\nname: pdf\ndescription: Use pdf.\n---\nOf acme.\n"}, token)
	target, _ := url.Parse(at)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: target.Host})
	var asked, keys atomic.Int32
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/away"):
			http.Redirect(w, r, other.URL+"/?x", http.StatusTemporaryRedirect)
		case strings.HasPrefix(r.URL.Path, "/echo"):
			http.Error(w, "wrong: "+r.Header.Get("Authorization"), http.StatusInternalServerError)
		default:
			asked.Add(1)
			if r.Header.Get("X-Key") == token && r.Header.Get("X-Team") == "billing" {
				keys.Add(1)
			}
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	p := newPerson(t, strings.NewReplacer("URL", front.URL, "OTHER", other.URL).Replace(`sources:
  - {name: acme, from: 'mcp:URL/mcp', token-file: token, headers: {X-Team: billing, X-Key: $ACME}}
  - {name: away, from: 'mcp:URL/away/mcp', token-env: ACME}
  - {name: echo, from: 'mcp:URL/echo/mcp', token-env: ACME}
  - {name: other, from: 'mcp:OTHER/mcp'}
  - {name: site, from: 'URL/away', token-env: ACME}
poll: 1s
`))
	p.write(".config/knack/token", otherToken+"\n")
	p.setToken(token)
	p.serve()
	p.reports("doctor", "it refuses the token of the file")
	p.write(".config/knack/token", token+"\n")
	p.loads("acme:pdf", "Of acme.")
	testwait.Until(t, func() bool {
		return strings.Count(p.run("doctor"), "nothing of it is here yet") == 4 && strings.Contains(p.run("doctor"), "elsewhere")
	}, "the others", func() string { return p.run("doctor") })
	if elsewhere.Load() > 0 || asked.Load() == 0 || keys.Load() != asked.Load() {
		t.Errorf("elsewhere %d, asked %d, with a key %d", elsewhere.Load(), asked.Load(), keys.Load())
	}
	p.stop()
	if all := p.log.String() + p.run("doctor") + p.run("doctor", "--json"); strings.Contains(all, "canary") {
		t.Error(all)
	}
}

// TestTypedToken checks that each command that reads a server on its command line sends it the
// token in KNACK_TOKEN. A server in a lock, which may come from a clone, must not get it.
func TestTypedToken(t *testing.T) {
	t.Parallel()
	at, _ := upstream(t, map[string]string{"pdf/SKILL.md": "---\nname: pdf\ndescription: Use pdf.\n---\nOf acme.\n"}, token)
	target, _ := url.Parse(at)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: target.Host})
	var given atomic.Int32
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			given.Add(1)
		}
		if r.URL.Path == "/echo/mcp" {
			http.Error(w, r.Header.Get("Authorization"), http.StatusInternalServerError)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	p := newPerson(t, "")
	p.write("work/.git/HEAD", "")
	source := "mcp:" + front.URL + "/mcp"
	commands := map[string]string{
		"list " + source:                      "Use pdf.",
		"show " + source + "//pdf":            "Of acme.",
		"scan " + source:                      "1 skill",
		"pull " + source:                      "1 skill",
		"add " + source + " --skill pdf":      "pdf",
		"check " + front.URL + "/mcp":         "1 skill, 1 file verified",
		"list " + source + " --json":          "Use pdf.",
		"add " + source + " --all --to other": "pdf",
	}
	for command := range commands {
		if out := p.run(strings.Fields(command)...); !strings.Contains(out, "KNACK_TOKEN") {
			t.Errorf("%s without a token: %s", command, out)
		}
	}
	p.typed = otherToken
	if out := p.run("list", source); !strings.Contains(out, "it refuses the token in KNACK_TOKEN") {
		t.Error(out)
	}
	p.typed = "two words"
	if out := p.run("list", source); !strings.Contains(out, "KNACK_TOKEN: its token is empty, too long, or has characters") {
		t.Error(out)
	}
	p.typed = token
	for command, want := range commands {
		if out := p.run(strings.Fields(command)...); !strings.Contains(out, want) {
			t.Errorf("%s: %s", command, out)
		}
	}
	if out := p.run("list", "mcp:"+front.URL+"/echo/mcp"); strings.Contains(out, token) {
		t.Error(out)
	}
	given.Store(0)
	if out := p.run("update"); !strings.Contains(out, "is sent only to a server that you type") || given.Load() > 0 {
		t.Errorf("update: %d requests with a token: %s", given.Load(), out)
	}
}

// front is a proxy in front of a server that counts the files that are read.
type front struct {
	*httptest.Server
	mu     sync.Mutex
	reads  map[string]int // by URI
	lists  int
	change func(request, answer string) string // changes an answer; may be nil
	status func(request string) int            // status of an answer; 0 keeps it; may be nil
	down   bool
	host   string // the host of the server
}

func newFront(t *testing.T, address string) *front {
	f := &front{reads: map[string]int{}, host: hostOf(address)}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var call struct {
			Method string
			Params struct{ URI string }
		}
		_ = json.Unmarshal(body, &call)
		f.mu.Lock()
		switch call.Method {
		case "resources/read":
			f.reads[call.Params.URI]++
		case "skills/list":
			f.lists++
		}
		down, change, status, host := f.down || f.host == "", f.change, f.status, f.host
		f.mu.Unlock()
		if status != nil {
			if code := status(string(body)); code != 0 {
				http.Error(w, "no", code)
				return
			}
		}
		if down {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		out, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+host+r.URL.Path, bytes.NewReader(body))
		if err != nil {
			return
		}
		out.Header = r.Header.Clone()
		out.Header.Del("Accept-Encoding")
		resp, err := http.DefaultClient.Do(out)
		if err != nil {
			http.Error(w, "", http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		answer, _ := io.ReadAll(resp.Body)
		text := string(answer)
		if change != nil {
			text = change(string(body), text)
		}
		for name, values := range resp.Header {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(f.Close)
	return f
}

// hostOf returns the host and port of an address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// set changes the proxy while it holds the lock.
func (f *front) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// seen returns the number of lists, and the number of reads of URIs that contain a text.
func (f *front) seen(text string) (lists, reads int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for uri, n := range f.reads {
		if strings.Contains(uri, text) {
			reads += n
		}
	}
	return f.lists, reads
}

// TestUpstreamReads checks that new content of a server is read only once, and that a faulty skill
// is left out.
func TestUpstreamReads(t *testing.T) {
	testwait.Slow(t)
	t.Parallel()
	skills := map[string]string{}
	for i := range 30 {
		name := fmt.Sprintf("s-%02d", i)
		skills[name+"/SKILL.md"], skills[name+"/a.txt"] = "---\nname: "+name+"\ndescription: Use it.\n---\nOne.\n", name
	}
	at, dir := upstream(t, skills, token)
	f := newFront(t, at)
	p := newPerson(t, "sources:\n  - {name: acme, from: 'mcp:"+f.URL+"/mcp', token-env: ACME}\npoll: 1s\n")
	p.setToken(token)

	// The server goes down during a fetch. The files that arrived before are not read again.
	f.change = func(request, answer string) string {
		if strings.Contains(request, "s-17/a.txt") {
			f.set(func() { f.down = true })
		}
		return answer
	}
	p.serve()
	p.reports("doctor", "status 502")
	p.stop()
	_, before := f.seen("s-0")
	if log := p.log.String(); strings.Contains(log, "skill skipped") {
		t.Errorf("a release without all of its skills: %s", log)
	}
	f.set(func() { f.down, f.change = false, nil })
	p.serve()
	p.loads("s-29", "One.")
	if _, reads := f.seen("s-0"); before == 0 || reads > 20+8 { // skills that were under way
		t.Errorf("%d reads before the end, %d after it", before, reads)
	}

	// While nothing changes, no file is read. After a change, only changed files are.
	lists, before := f.seen("")
	testwait.Until(t, func() bool { n, _ := f.seen(""); return n >= lists+6 }, "further polls")
	if _, reads := f.seen(""); reads != before {
		t.Errorf("%d reads without a change", reads-before)
	}
	put(t, filepath.Join(dir, "s-03", "a.txt"), "other")
	testwait.Until(t, func() bool { _, reads := f.seen("s-03/"); return reads >= 3 }, "the change")
	p.stop()
	if _, reads := f.seen(""); reads > before+2 {
		t.Errorf("%d reads after a change of one skill", reads-before)
	}

	// Skills that cannot be fetched are left out with a reason, and tried again. The others are
	// served and updated. Some of these answers end the session in which other skills are read.
	faults := map[string]struct {
		status int
		change func(answer string) string
		want   string
	}{
		"s-04": {0, func(answer string) string { return strings.ReplaceAll(answer, "bad", "wrong") }, "the server sends a file that is not the one of its own list"},
		"s-07": {http.StatusInternalServerError, nil, "status 500"},
		"s-08": {http.StatusForbidden, nil, "status 403"},
		"s-09": {0, func(string) string { return "{" }, "unexpected EOF"},
		"s-10": {0, func(string) string { return strings.Repeat(" ", 33<<20) }, "the answer is larger than 32 MiB"},
	}
	f.set(func() {
		f.status = func(request string) int {
			for name, c := range faults {
				if strings.Contains(request, name+"/a.txt") {
					return c.status
				}
			}
			return 0
		}
		f.change = func(request, answer string) string {
			for name, c := range faults {
				if strings.Contains(request, name+"/a.txt") && c.change != nil {
					return c.change(answer)
				}
			}
			return answer
		}
	})
	for name := range faults {
		put(t, filepath.Join(dir, name, "a.txt"), "bad")
	}
	put(t, filepath.Join(dir, "s-05", "SKILL.md"), "---\nname: s-05\ndescription: Use it.\n---\nTwo.\n")
	p.serve()
	p.loads("s-05", "Two.")
	for name, c := range faults {
		p.loads(name, "could not be fetched")
		p.reports("doctor --all", c.want)
	}
	put(t, filepath.Join(dir, "s-06", "SKILL.md"), "---\nname: s-06\ndescription: Use it.\n---\nThree.\n")
	p.loads("s-06", "Three.")
	f.set(func() { f.change, f.status = nil, nil })
	for name := range faults {
		p.loads(name, "One.") // the skill is tried again
	}
	lists, before = f.seen("")
	testwait.Until(t, func() bool { n, _ := f.seen(""); return n >= lists+3 }, "a poll")
	if _, reads := f.seen(""); reads != before {
		t.Errorf("%d reads without a fault", reads-before)
	}
	p.stop()

	// Without the network, the server serves the same as before.
	f.set(func() { f.down = true })
	p.serve()
	for name, text := range map[string]string{"s-29": "One.", "s-05": "Two.", "s-06": "Three."} {
		if answer := p.load(name); !strings.Contains(answer, text) {
			t.Error(answer)
		}
	}
}

// TestUpstreamNews checks that a server gets a change of its upstream immediately, long before the
// next poll, because the upstream notifies it.
func TestUpstreamNews(t *testing.T) {
	t.Parallel()
	at, dir := upstream(t, map[string]string{"pdf/SKILL.md": "---\nname: pdf\ndescription: Use pdf.\n---\nPdf.\n"}, token)
	p := newPerson(t, "sources:\n  - {name: acme, from: 'mcp:"+at+"', token-env: ACME}\npoll: 1h\n")
	p.setToken(token)
	p.serve()
	p.loads("pdf", "Pdf.")
	n := 0 // the stream may open only after the first change
	testwait.Until(t, func() bool {
		if n++; n%64 == 1 {
			put(t, filepath.Join(dir, "docx", "SKILL.md"), fmt.Sprintf("---\nname: docx\ndescription: Use docx %d.\n---\nDocx.\n", n))
		}
		return strings.Contains(p.load("docx"), "Docx.")
	}, "the news", p.log.String)
}

// TestUpstreamProgress checks that the first fetch of a source is shown in one line of a terminal,
// and not elsewhere.
func TestUpstreamProgress(t *testing.T) {
	t.Parallel()
	at, _ := upstream(t, map[string]string{"docx/SKILL.md": "---\nname: docx\ndescription: Use docx.\n---\nDocx.\n", "pdf/SKILL.md": "---\nname: pdf\ndescription: Use pdf.\n---\nPdf.\n"}, token)
	for _, terminal := range []bool{true, false} {
		f := newFront(t, at)
		lineShown, ended := make(chan bool), make(chan int, 1)
		show := sync.OnceFunc(func() { close(lineShown) })
		t.Cleanup(show)
		f.change = func(request, answer string) string {
			if strings.Contains(request, "resources/read") && strings.Contains(request, "pdf") {
				<-lineShown
			}
			return answer
		}
		p := newPerson(t, "sources:\n  - {name: acme, from: 'mcp:"+f.URL+"/mcp', token-env: ACME}\n")
		p.setToken(token)
		env := p.env()
		env.StderrTerminal = terminal
		ctx, stop := context.WithCancel(t.Context())
		t.Cleanup(stop)
		go func() { ended <- cli.Main(ctx, env, []string{"serve", "--no-builtin", "--http", "127.0.0.1:0"}) }()
		const line = "\rfetching acme: 1 of 2"
		testwait.Until(t, func() bool {
			_, reads := f.seen("pdf")
			return reads > 0 && strings.Contains(p.log.String(), line) == terminal && strings.Contains(p.log.String(), "serves MCP at")
		}, "the line", p.log.String, func() string { a, b := f.seen(""); return fmt.Sprint(a, b, p.run("doctor")) })
		show()
		testwait.Until(t, func() bool { return strings.Contains(p.run("list"), "pdf") }, "the skills")
		stop()
		<-ended
		if log := p.log.String(); !terminal && strings.Contains(log, "fetching acme") || strings.Contains(log[strings.LastIndex(log, "\r")+1:], "fetching") {
			t.Errorf("terminal %t: %q", terminal, log)
		}
	}
}

// TestTokenRepeated checks that a token, whole or cut, is removed from an error in which the server
// repeats it. A reason that differs each time must not count as a change of the release.
func TestTokenRepeated(t *testing.T) {
	t.Parallel()
	text := "---\nname: %s\ndescription: Use it.\n---\nOne.\n"
	at, _ := upstream(t, map[string]string{"pdf/SKILL.md": fmt.Sprintf(text, "pdf"), "bad/SKILL.md": fmt.Sprintf(text, "bad"), "bad/a.txt": "a"}, token)
	f := newFront(t, at)
	var refused atomic.Int32
	f.change = func(request, answer string) string {
		if !strings.Contains(request, "bad/a.txt") {
			return answer
		}
		var call struct{ ID json.RawMessage }
		_ = json.Unmarshal([]byte(request), &call)
		refusal := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"%d: %s or %s%s"}}`, call.ID, refused.Add(1), token, strings.Repeat("x", 140), token)
		if strings.HasPrefix(answer, "{") {
			return refusal
		}
		return "event: message\ndata: " + refusal + "\n\n"
	}
	p := newPerson(t, "sources:\n  - {name: acme, from: 'mcp:"+f.URL+"/mcp', token-env: ACME}\npoll: 1s\n")
	p.setToken(token)
	p.serve("--log-level", "info")
	p.loads("pdf", "One.")
	testwait.Until(t, func() bool { return refused.Load() >= 4 }, "further polls", p.log.String)
	all := p.run("doctor") + p.run("doctor", "--json") + p.load("bad")
	p.stop()
	if all += p.log.String(); strings.Contains(all, "another release is served") {
		t.Error(all)
	}
	err := filepath.WalkDir(filepath.Join(p.home, "cache"), func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, _ := os.ReadFile(name)
			all += string(data)
		}
		return err
	})
	if err != nil || !strings.Contains(all, "[redacted] or xxx") || strings.Contains(all, "canary-t") {
		t.Error(err, all)
	}
}

// TestServersFollowEachOther checks that each of three servers that follow one another has each
// skill once, during many polls and after a change.
func TestServersFollowEachOther(t *testing.T) {
	testwait.Slow(t)
	t.Parallel()
	names := []string{"a", "b", "c"}
	fronts, dirs, addresses := map[string]*front{}, map[string]string{}, map[string]string{}
	for _, name := range names {
		fronts[name], dirs[name] = newFront(t, ""), t.TempDir()
		put(t, filepath.Join(dirs[name], "skills", name, "SKILL.md"), "---\nname: "+name+"\ndescription: Use it.\n---\nOne.\n")
	}
	for _, name := range names {
		settings := "roots: [{dir: skills, label: own}]\npoll: 1s\nstore: {dir: store}\nsources:\n"
		for _, other := range names {
			if other != name {
				settings += "  - {name: from-" + other + ", from: 'mcp:" + fronts[other].URL + "/mcp'}\n"
			}
		}
		put(t, filepath.Join(dirs[name], "knack.yaml"), settings)
		addresses[name] = startServer(t, "--config", filepath.Join(dirs[name], "knack.yaml"))
		fronts[name].set(func() { fronts[name].host = hostOf(addresses[name]) })
	}
	// all returns the skills that a server offers, and the content of the skill a.
	all := func(name string) string {
		session, err := skillsext.Dial(t.Context(), "test", addresses[name], http.DefaultClient)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Session.Close()
		var found []string
		for s, err := range session.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			if strings.HasSuffix(s.URI, "/a/SKILL.md") {
				data, err := session.Read(t.Context(), s, s.URI)
				if err != nil { // the skill has just changed
					return err.Error()
				}
				text = " " + string(data[bytes.LastIndexByte(bytes.TrimSpace(data), '\n')+1:])
			}
			found = append(found, strings.TrimPrefix(s.URI, "skill://")+strings.TrimSpace(text))
		}
		return strings.Join(found, " ")
	}
	settled := func(text string) {
		t.Helper()
		want := map[string]string{
			"a": "from-b/own/b/SKILL.md from-c/own/c/SKILL.md own/a/SKILL.md" + text,
			"b": "from-a/own/a/SKILL.md" + text + " from-c/own/c/SKILL.md own/b/SKILL.md",
			"c": "from-a/own/a/SKILL.md" + text + " from-b/own/b/SKILL.md own/c/SKILL.md",
		}
		for _, name := range names {
			testwait.Until(t, func() bool { return all(name) == want[name] }, name, func() string { return all(name) })
		}
		before := map[string]int{}
		for _, name := range names {
			before[name], _ = fronts[name].seen("")
		}
		for _, name := range names { // two other servers poll it
			testwait.Until(t, func() bool { n, _ := fronts[name].seen(""); return n >= before[name]+8 }, "further polls of "+name)
			if got := all(name); got != want[name] {
				t.Errorf("%s has %s after further polls", name, got)
			}
		}
	}
	settled("One.")
	put(t, filepath.Join(dirs["a"], "skills", "a", "SKILL.md"), "---\nname: a\ndescription: Use it.\n---\nTwo.\n")
	settled("Two.")
}

// TestUpstreamEmpty checks that the removal of a skill is followed, but that skills stay if the
// server suddenly has none.
func TestUpstreamEmpty(t *testing.T) {
	t.Parallel()
	at, dir := upstream(t, map[string]string{
		"pdf/SKILL.md": "---\nname: pdf\ndescription: Use pdf.\n---\nPdf.\n", "docx/SKILL.md": "---\nname: docx\ndescription: Use docx.\n---\nDocx.\n",
	}, token)
	p := newPerson(t, "sources:\n  - {name: acme, from: 'mcp:"+at+"', token-env: ACME}\npoll: 1s\n")
	p.setToken(token)
	p.serve()
	p.loads("pdf", "Pdf.")
	if err := os.RemoveAll(filepath.Join(dir, "docx")); err != nil {
		t.Fatal(err)
	}
	p.loads("docx", "not found")
	p.loads("pdf", "Pdf.")
	if err := os.RemoveAll(filepath.Join(dir, "pdf")); err != nil {
		t.Fatal(err)
	}
	p.reports("doctor", "has no skills", "not up to date (1)", "its last release is served, with 1 skill", "not up to date since 2")
	p.loads("pdf", "Pdf.")
	put(t, filepath.Join(dir, "xlsx", "SKILL.md"), "---\nname: xlsx\ndescription: Use xlsx.\n---\nXlsx.\n")
	p.loads("xlsx", "Xlsx.")
	p.loads("pdf", "not found")
	if out := p.run("doctor", "--all"); strings.Contains(out, "not up to date since") {
		t.Error(out)
	}
}

// TestUpstreamHeldBack checks that a skill of a source is held back if it has a finding to enforce,
// and that the others are served. Once its server has corrected the skill, it is served too.
func TestUpstreamHeldBack(t *testing.T) {
	t.Parallel()
	const runs = "echo aGVsbG8gd29ybGQgaGVsbG8gd29ybGQK | base64 -d | sh\n"
	at, dir := upstream(t, map[string]string{
		"pdf/SKILL.md": "---\nname: pdf\ndescription: Use pdf.\n---\nPdf.\n", "docx/SKILL.md": "---\nname: docx\ndescription: Use docx.\n---\nDocx.\n", "docx/run.sh": runs,
	}, token)
	p := newPerson(t, "scan: {mode: enforce}\nsources:\n  - {name: acme, from: 'mcp:"+at+"', token-env: ACME}\npoll: 1s\n")
	p.setToken(token)
	p.serve()
	p.loads("pdf", "Pdf.")
	p.loads("docx", "was held back by the operator's policy")
	p.reports("doctor", "held back by the operator's policy", "acme/docx/SKILL.md: run.sh:1:53", "[run-decoded]")
	put(t, filepath.Join(dir, "docx", "run.sh"), "echo hello\n")
	p.loads("docx", "Docx.")
	put(t, filepath.Join(dir, "docx", "run.sh"), runs)
	p.loads("docx", "was held back by the operator's policy")
	p.loads("pdf", "Pdf.")
}
