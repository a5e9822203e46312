//go:build unix

package distcmd_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// installed installs a skill from a repository whose password comes from git's credential helper.
// This creates a lock, a store and a skill for other commands to print. It then adds to the lock a
// skill whose source has a secret after ?, as if another program had written the lock.
func (s *secrets) installed(binary, home, project string, write func(at, text string)) {
	t := s.t
	t.Helper()
	password := s.next()
	repositories := filepath.Join(home, "repositories")
	at := filepath.Join(repositories, "up")
	write(filepath.Join(at, "pdf", "SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", at}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skip(err)
	}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + repositories, "GIT_HTTP_EXPORT_ALL=1"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, got, _ := r.BasicAuth(); got != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	write(filepath.Join(home, ".gitconfig"), fmt.Sprintf("[credential]\n\thelper = \"!f() { echo username=user; echo password=%s; }; f\"\n[http]\n\textraHeader = X-Token: %s\n[safe]\n\tdirectory = *\n", password, s.next()))
	cmd := exec.CommandContext(t.Context(), binary, "add", "git+"+server.URL+"/up", "--all", "--json")
	cmd.Dir = project
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.absent("JSON of commands", "knack add", string(out))
	file := filepath.Join(project, lockfile.Name)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s.absent("lock", "after an installation", string(data))
	lock, err := lockfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	content := "---\nname: other\ndescription: Reads others.\n---\n"
	for _, name := range []string{"other", "gone"} {
		files := []lockfile.File{{Path: "SKILL.md", Size: int64(len(content)), Digest: skill.DigestOf([]byte(content))}}
		lock.Skills[".agents/skills/"+name] = lockfile.Skill{Name: name, Source: "https://x.example/a.zip?token=" + s.next(), Path: ".", Digest: lockfile.Digest(files), Files: files}
	}
	write(file, string(lock.Bytes()))
	write(filepath.Join(project, ".agents", "skills", "other", "SKILL.md"), content)
	s.own = file
}

// served starts a server with the skills of the project, and with sources at a host that repeats
// the credentials it gets. It sends the server secrets in headers and queries. Then it searches the
// whole output of the server for the secrets.
func (s *secrets) served(binary, home, project, host string) {
	t := s.t
	t.Helper()
	audit, config := filepath.Join(home, "audit.log"), filepath.Join(home, "config.yaml")
	text := "roots:\n  - {label: project, dir: " + filepath.Join(project, ".agents", "skills") + "}\nsources:\n" +
		"  - {name: denied, from: \"oci://" + host + "/a\"}\n  - {name: broken, from: \"git+http://" + host + "/a/b\"}\n  - {name: file, from: \"http://" + host + "/a.zip\"}\n" +
		"store: {dir: " + filepath.Join(home, "store") + "}\npoll: 1s\naudit: {to: " + audit + "}\nlog: {level: debug}\n"
	docker := fmt.Sprintf(`{"auths": {"%s": {"username": "user", "password": "%s"}}}`, host, s.next())
	for at, text := range map[string]string{config: text, filepath.Join(home, "config.json"): docker} {
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), binary, "serve", "--config", config, "--http", "127.0.0.1:0")
	cmd.Dir = project
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "DOCKER_CONFIG=" + home}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var log strings.Builder
	said := func() string { mu.Lock(); defer mu.Unlock(); return log.String() }
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			mu.Lock()
			log.WriteString(lines.Text() + "\n")
			mu.Unlock()
		}
	}()
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Signal(os.Interrupt)
			<-ended
			_ = cmd.Wait()
		}
	}
	defer stop()
	base := ""
	testwait.Until(t, func() bool {
		_, rest, ok := strings.Cut(said(), "knack serves MCP at ")
		rest, _, line := strings.Cut(rest, "\n")
		base = strings.TrimSuffix(strings.TrimSpace(rest), "/mcp")
		return ok && line
	}, "the address in", said)
	get := func(kind, method, path, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "application/json, text/event-stream, text/html, */*")
		r.Header.Set("Content-Type", "application/json")
		for _, h := range []string{"Authorization", "Cookie", "X-Api-Key", "Proxy-Authorization"} {
			r.Header.Set(h, map[string]string{"Authorization": "Bearer ", "Cookie": "knack="}[h]+s.next())
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		header := fmt.Sprint(resp.Header)
		s.absent(kind, method+" "+path, header+string(data))
		return string(data)
	}
	for _, path := range []string{"/", "/health", "/usage", "/skills/project/pdf/", "/skills/project/other/", "/nothing"} {
		get("pages", "GET", path, "")
	}
	all := get("API", "GET", "/api/v1/skills", "")
	for _, path := range []string{"/api/v1/problems", "/api/v1/usage", "/api/v1/skills/project%2Fpdf", "/api/v1/skills/project%2Fother", "/api/v1/nothing", "/.well-known/agent-skills/index.json", "/readyz"} {
		all += get("API", "GET", path, "")
	}
	if !strings.Contains(all, "x.example/a.zip") || !strings.Contains(all, "/up") {
		t.Errorf("the API shows no sources: %.2000s", all)
	}
	// A secret that a client sends in a query or a skill name may be in the answer to that client,
	// but nowhere else.
	for _, path := range []string{"/?token=", "/api/v1/skills?token=", "/mcp?token=", "/skills/project/pdf/?token="} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path+s.next(), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	call := func(method string, params any) string {
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		return get("MCP", "POST", "/mcp", string(body))
	}
	call("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "x", "version": "1"}})
	call("tools/list", map[string]any{})
	call("tools/call", map[string]any{"name": "skill", "arguments": map[string]any{"name": "pdf"}})
	testwait.Until(t, func() bool {
		return strings.Contains(said(), "denied") && strings.Contains(said(), "broken") && strings.Contains(said(), "a.zip")
	}, "the failures of the sources in", said)
	get("pages", "GET", "/health", "")
	get("metrics", "GET", "/metrics", "")
	stop()
	s.absent("log", "of serve", said())
	data, err := os.ReadFile(audit)
	if err != nil || len(data) == 0 {
		t.Errorf("the audit log: %v, %d bytes", err, len(data))
	}
	s.absent("audit log", audit, string(data))
	for _, args := range [][]string{{"list", "--all"}, {"doctor", "--json"}, {"doctor", "pdf"}, {"verify"}, {"sync", "--json"}} {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir, cmd.Env = project, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, _ := cmd.CombinedOutput()
		s.absent("errors of commands", strings.Join(args, " "), string(out))
	}
}
