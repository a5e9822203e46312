//go:build unix

package distcmd_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// secrets creates secrets, and checks that texts do not contain them.
type secrets struct {
	t      *testing.T
	made   []string
	places map[string]int // number of searched texts by kind
	own    string         // a lock to which the test added secrets
}

// next returns a new secret.
func (s *secrets) next() string {
	secret := fmt.Sprintf("zq7secret%02d", len(s.made))
	s.made = append(s.made, secret)
	return secret
}

// absent checks that a text contains no secret, either plain or encoded for HTTP. kind is the kind
// of text.
func (s *secrets) absent(kind, where, text string) {
	s.t.Helper()
	s.places[kind]++
	for _, secret := range s.made {
		encoded := base64.StdEncoding.EncodeToString([]byte("user:" + secret))
		if strings.Contains(text, secret) || strings.Contains(text, encoded) {
			s.t.Errorf("%s tells %s:\n%.1000s", where, secret, text)
		}
	}
}

// tellTale starts a server that requires credentials and repeats them in bodies, headers and
// redirects.
func tellTale(t *testing.T) (host string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := r.Header.Get("Authorization") + r.Header.Get("Proxy-Authorization")
		if _, encoded, ok := strings.Cut(got, " "); ok {
			plain, _ := base64.StdEncoding.DecodeString(encoded)
			got += " " + string(plain)
		}
		switch {
		case r.Method == http.MethodConnect:
			w.Header().Set("Proxy-Authenticate", "Basic realm="+strings.ReplaceAll(got, " ", "-"))
			http.Error(w, got, http.StatusProxyAuthRequired)
		case got == "":
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you"}]}`, http.StatusUnauthorized)
		case strings.Contains(r.URL.Path, "redirect") && r.URL.RawQuery == "":
			http.Redirect(w, r, r.URL.Path+"?token="+strings.ReplaceAll(got, " ", "-"), http.StatusFound)
		case strings.Contains(r.URL.Path, "broken"):
			http.Error(w, got, http.StatusInternalServerError)
		default:
			w.Header().Set("WWW-Authenticate", `Basic realm="`+got+`"`)
			http.Error(w, `{"errors":[{"code":"DENIED","message":"`+got+`"}]}`, http.StatusForbidden)
		}
	}))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

// TestSecrets checks that no secret gets into the output, the lock, the project or the store. The
// secrets are in sources, locks, the configurations of git and docker, credential helpers and the
// address of a proxy. Servers repeat them in their answers.
func TestSecrets(t *testing.T) {
	testwait.Slow(t)
	dir := t.TempDir()
	s := &secrets{t: t, places: map[string]int{}}
	binary, home, project := registrytest.Knack(t), filepath.Join(dir, "home"), filepath.Join(dir, "project")
	write := func(at, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(project, ".git", "x"), "")
	host := tellTale(t)
	write(filepath.Join(home, ".gitconfig"), fmt.Sprintf("[url \"http://user:%s@%s/inside\"]\n\tinsteadOf = https://git.example.com\n[credential]\n\thelper = \"!%s\"\n[http]\n\textraHeader = X-Token: %s\n", s.next(), host, filepath.Join(dir, "helper"), s.next()))
	write(filepath.Join(dir, "helper"), fmt.Sprintf("#!/bin/sh\necho username=user\necho password=%s\necho the helper says %s >&2\n", s.next(), s.next()))
	write(filepath.Join(dir, "docker", "config.json"), fmt.Sprintf(`{"auths": {"%s": {"auth": "%s"}}}`, host, base64.StdEncoding.EncodeToString([]byte("user:"+s.next()))))
	ran := 0
	run := func(env []string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir = project
		cmd.WaitDelay = 10 * time.Second
		cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "DOCKER_CONFIG=" + filepath.Join(dir, "docker")}, env...)
		out, err := cmd.CombinedOutput()
		if err == nil && args[0] != "list" {
			t.Errorf("knack %s was done", args[0])
		}
		if len(out) == 0 {
			t.Errorf("knack %s said nothing", args[0])
		}
		kind := "errors of commands"
		if slices.Contains(args, "--json") {
			kind = "JSON of commands"
		}
		s.absent(kind, "knack "+args[0]+" "+args[len(args)-1], string(out))
		ran++
	}
	add := func(env []string, source string) {
		t.Helper()
		run(env, "add", source, "--all")
		if len(env) == 0 && !strings.Contains(source, "broken") { // requests to a broken server are retried
			run(env, "add", source, "--all", "--json")
		}
	}
	// The secrets are in the source itself: as the user, after ? or #, and in an invalid source.
	for _, form := range []string{
		"https://user:%s@git.example.com/a/b.git", "https://%s@github.com/a/b", "git+https://user:%s@git.example.com/a/b", "ssh://git:%s@git.example.com/a/b",
		"user:%s@git.example.com:a/b", "git.example.com/a/b?token=%s", "https://x.example/a.zip?token=%s", "https://x.example/a.zip#%s", "https://user:%s@x.example/a.zip",
		"https://user:%s@x.example", "https://x.example/?key=%s", "oci://user:%s@reg.example/a", "mcp:https://user:%s@x.example/mcp", "mcp:https://x.example/mcp?token=%s",
		"https://user:%s\x7f@x.example/", "https://user:%s@[::1", "ftp://user:%s@x.example/a", "git+file://user:%s@x/a", "http://user:%s@x.example/a.git",
		"https://user:%%zz%s@x.example/a.zip", "file://user:%s@x/a.zip",
	} {
		add(nil, fmt.Sprintf(form, s.next()))
	}
	// The secrets come from helpers and configurations, and the servers repeat them.
	for _, source := range []string{
		"git+http://" + host + "/a/b", "git+http://" + host + "/broken/b", "git+http://" + host + "/redirect/b", "git.example.com/a/b", "oci://" + host + "/a", "oci://" + host + "/broken",
		"oci://" + host + "/redirect", "http://" + host + "/a.zip", "http://" + host + "/broken.zip", "http://" + host + "/redirect.zip", "http://" + host,
	} {
		add(nil, source)
	}
	for _, source := range []string{"https://x.example/a.zip", "https://x.example", "a/b", "oci://reg.example/a"} {
		add([]string{fmt.Sprintf("HTTPS_PROXY=http://user:%s@%s", s.next(), host)}, source)
		add([]string{fmt.Sprintf("HTTPS_PROXY=http://user:%s@127.0.0.1:bad", s.next())}, source)
	}
	// The secrets are in locks of knack and of other installers.
	for _, source := range []string{"https://user:%s@git.example.com/a/b.git", "oci://user:%s@reg.example/a", "https://x.example/a.zip?token=%s"} {
		source = fmt.Sprintf(source, s.next())
		for _, lock := range []string{
			fmt.Sprintf(`{"version": 1, "skills": {"x": {"source": "%s", "sourceUrl": "%[1]s", "sourceType": "git", "skillPath": "SKILL.md"}}}`, source),
			fmt.Sprintf(`{"version": 1, "skills": {"x": {"source": "%s", "sourceUrl": "%[1]s", "sourceType": "well-known"}}}`, source),
			fmt.Sprintf(`{"version": 1, "skills": {"x": {"source": "%s", "sourceType": "%[1]s"}}}`, source),
			fmt.Sprintf(`{"lockfileVersion": 1, "skills": [{"name": "x", "source": {"registry": "user:%s@reg.example", "repository": "a", "tag": "1"}}]}`, s.next()),
			fmt.Sprintf("version: 1\nskills:\n  - name: x\n    source: %s\n    digest: x\n", source),
			fmt.Sprintf("version: 1\nskills:\n  - name: x\n    source: git://user:%s@git.example.com/a/b\n    digest: x\n", s.next()),
		} {
			write(filepath.Join(dir, "other.lock"), lock)
			run(nil, "add", "--from", filepath.Join(dir, "other.lock"))
			run(nil, "add", "--json", "--from", filepath.Join(dir, "other.lock"))
		}
		files := []lockfile.File{{Path: "SKILL.md", Size: 1, Digest: skill.DigestOf([]byte("x"))}}
		l := lockfile.Lock{Skills: map[string]lockfile.Skill{".agents/skills/x": {Name: "x", Source: source, Path: ".", Digest: lockfile.Digest(files), Files: files}}}
		at := filepath.Join(project, lockfile.Name)
		write(at, string(l.Bytes()))
		for _, args := range [][]string{{"sync"}, {"sync", "--json"}, {"update"}, {"update", "--check"}, {"update", "--json"}, {"list", "--all"}, {"list", "--json"}} {
			run(nil, args...)
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
	}
	s.installed(binary, home, project, write)
	s.served(binary, home, project, host)
	for _, at := range []string{project, filepath.Join(home, ".cache"), filepath.Join(home, ".local"), filepath.Join(home, "store")} {
		_ = filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && path != s.own {
				data, _ := os.ReadFile(path)
				kind := "files of the project"
				switch {
				case filepath.Base(path) == lockfile.Name:
					kind = "lock"
				case at != project:
					kind = "store and state"
				}
				s.absent(kind, path, string(data))
			}
			return nil
		})
	}
	t.Logf("%d secrets, %d commands; texts searched by place: %v", len(s.made), ran, s.places)
	if len(s.made) < 50 {
		t.Error("too few secrets were tried")
	}
	for _, kind := range []string{"errors of commands", "JSON of commands", "lock", "store and state", "pages", "API", "metrics", "MCP", "log", "audit log"} {
		if s.places[kind] == 0 {
			t.Errorf("no %s was searched", kind)
		}
	}
}
