package cli_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// person is somebody's machine: a home folder, a variable with a token, and a server over stdio.
type person struct {
	t     *testing.T
	home  string
	token atomic.Pointer[string] // of the variable ACME
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
			case "XDG_CACHE_HOME":
				return filepath.Join(p.home, "cache")
			}
			return ""
		},
	}
}

// run runs a command, and returns its output.
func (p *person) run(args ...string) string {
	var out strings.Builder
	env := p.env()
	env.Stdout, env.Stderr = &out, &out
	cli.Main(p.t.Context(), env, args)
	return out.String()
}

// serve starts the server, and initializes a session.
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

// ask returns the answer to a request.
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

// loads waits until a skill is loaded with a text.
func (p *person) loads(name, text string) {
	p.t.Helper()
	var answer string
	testwait.Until(p.t, func() bool { answer = p.load(name); return strings.Contains(answer, text) }, name, func() string { return answer + p.log.String() })
}

// upstream starts a knack over HTTP that wants a token, and returns its address.
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

// TestOwnSources follows a server with a token from the user's own settings: after the user's
// skills, and without waiting for it.
func TestOwnSources(t *testing.T) {
	t.Parallel()
	at, dir := upstream(t, map[string]string{
		"pdf/SKILL.md": "---\nname: pdf\ndescription: Use pdf.\n---\nOf acme.\n",
		"own/SKILL.md": "---\nname: own\ndescription: Use the other own.\n---\nOwn of acme.\n",
	}, token)
	p := newPerson(t, "sources:\n  - {name: acme, from: 'mcp:"+at+"', token-env: ACME}\npoll: 1s\n")

	// Without the token, the key is named everywhere.
	p.serve()
	p.loads("pdf", "it refuses access since")
	if answer := p.load("pdf"); !strings.Contains(answer, "token-env or token-file") || !strings.Contains(answer, "acme") {
		t.Error(answer)
	}
	const names = "the variable ACME, which has its token, is not set"
	testwait.Until(t, func() bool { return strings.Contains(p.log.String(), names) }, "the log", p.log.String)
	for _, args := range [][]string{{"list"}, {"doctor"}} {
		if out := p.run(args...); !strings.Contains(out, names) || !strings.Contains(out, "knack.yaml") {
			t.Errorf("%s: %s", args, out)
		}
	}

	// A wrong one, and then the right one, count without a restart.
	p.setToken(otherToken)
	testwait.Until(t, func() bool { return strings.Contains(p.run("doctor"), "it refuses the token of the variable ACME") }, "doctor", func() string { return p.run("doctor") })
	p.setToken(token)
	p.loads("pdf", "Of acme.")
	for name, want := range map[string]string{"own": "Own.", "acme:own": "Own of acme.", "acme:pdf": "Of acme."} {
		if answer := p.load(name); !strings.Contains(answer, want) {
			t.Errorf("%s: %s", name, answer)
		}
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

	// No text of this machine has a token.
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

// TestOwnSourcesReplaced has no sources of the user beside named skills, and says so; a project's
// are reported, and do not count.
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
	if out := p.run("doctor", "--config", filepath.Join(p.home, "knack.yaml")); !strings.Contains(out, "its roots and sources are read, and not the folders of this machine") {
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

// TestTokenStays sends a source's token to its own origin, and nowhere else.
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
	testwait.Until(t, func() bool { return strings.Contains(p.run("doctor"), "it refuses the token of the file") }, "the refusal", func() string { return p.run("doctor") })
	p.write(".config/knack/token", token+"\n")
	p.loads("acme:pdf", "Of acme.")
	testwait.Until(t, func() bool {
		return strings.Count(p.run("doctor"), "nothing of it is in the store") == 4 && strings.Contains(p.run("doctor"), "elsewhere")
	}, "the others", func() string { return p.run("doctor") })
	if elsewhere.Load() > 0 || asked.Load() == 0 || keys.Load() != asked.Load() {
		t.Errorf("elsewhere %d, asked %d, with a key %d", elsewhere.Load(), asked.Load(), keys.Load())
	}
	p.stop()
	if all := p.log.String() + p.run("doctor") + p.run("doctor", "--json"); strings.Contains(all, "canary") {
		t.Error(all)
	}
}
