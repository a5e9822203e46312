package git

import (
	"bytes"
	"crypto/sha256"
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
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/origintest"
)

// This file has the shared helpers of the tests: real repositories and a real server.

// upstream is a repository that a test makes.
type upstream struct {
	t    *testing.T
	dir  string
	home string
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	if testing.Short() {
		t.Skip("starts git")
	}
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("git is not installed")
		}
		t.Skip("git is not installed")
	}
	u := &upstream{t, filepath.Join(t.TempDir(), "up stream"), t.TempDir()}
	u.git("init", "--quiet", "--initial-branch=main", u.dir)
	u.git("config", "uploadpack.allowFilter", "true")
	return u
}

// environ returns an environment without settings of the machine that runs the test.
func (u *upstream) environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + u.home, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z",
	}
}

func (u *upstream) git(args ...string) string { return u.gitIn("", args...) }

func (u *upstream) gitIn(stdin string, args ...string) string {
	u.t.Helper()
	cmd := exec.Command("git", args...)
	if _, err := os.Stat(u.dir); err == nil {
		cmd.Dir = u.dir
	}
	cmd.Env = u.environ()
	cmd.Stdin = strings.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		u.t.Fatalf("git %q: %v\n%s", args, err, errs.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// commit writes files and commits them. It returns the commit.
func (u *upstream) commit(files map[string]string) string {
	u.t.Helper()
	for name, text := range files {
		path := filepath.Join(u.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			u.t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			u.t.Fatal(err)
		}
	}
	u.git("add", "--all", "--force")
	u.git("commit", "--quiet", "--allow-empty", "-m", "a change")
	return u.git("rev-parse", "HEAD")
}

// tree commits a tree that is made without a working tree. Each entry is a line for git mktree.
func (u *upstream) tree(entries ...string) string {
	u.t.Helper()
	tree := u.gitIn(strings.Join(entries, "\x00")+"\x00", "mktree", "-z")
	commit := u.git("commit-tree", "-m", "a tree", tree)
	u.git("update-ref", "refs/heads/main", commit)
	return commit
}

func (u *upstream) blob(text string) string {
	u.t.Helper()
	return u.gitIn(text, "hash-object", "-w", "--stdin")
}

// ref returns the repository as a source on this machine.
func (u *upstream) ref(want string) origin.Ref {
	return origin.Ref{Kind: origin.Git, Source: "git+file://" + u.dir, Location: u.dir, Want: want}
}

// origin returns an Origin with a store of its own.
func (u *upstream) origin(change func(*Options)) *Origin {
	u.t.Helper()
	store := u.t.TempDir()
	o := Options{Env: u.environ(), Dir: func(key string) (string, error) {
		return filepath.Join(store, "git", fmt.Sprintf("%x", sha256.Sum256([]byte(key)))), nil
	}}
	if change != nil {
		change(&o)
	}
	return New(o)
}

// backend is git http-backend, which serves the repository at its address.
type backend struct {
	url      string
	mu       sync.Mutex
	requests []string
}

func (b *backend) asked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests
}

// serve starts the server. guard, if set, answers a request and reports whether it did.
func (u *upstream) serve(guard func(http.ResponseWriter, *http.Request) bool) *backend {
	u.t.Helper()
	path := u.git("--exec-path")
	b := &backend{}
	h := &cgi.Handler{
		Path: filepath.Join(path, "git-http-backend"), Dir: u.dir, Stderr: io.Discard,
		Env: append(u.environ(), "GIT_PROJECT_ROOT="+filepath.Dir(u.dir), "GIT_HTTP_EXPORT_ALL=1"),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.requests = append(b.requests, r.Method+" "+r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
		b.mu.Unlock()
		if guard != nil && guard(w, r) {
			return
		}
		served := *h
		if version := r.Header.Get("Git-Protocol"); version != "" {
			served.Env = append(served.Env[:len(served.Env):len(served.Env)], "GIT_PROTOCOL="+version)
		}
		served.ServeHTTP(w, r)
	}))
	u.t.Cleanup(server.Close)
	b.url = server.URL + "/up%20stream"
	return b
}

func (b *backend) ref(want string) origin.Ref {
	return origin.Ref{Kind: origin.Git, Source: b.url, Location: b.url, Want: want}
}

// setting is a text that a test sets and its server reads.
type setting struct{ text atomic.Value }

func (s *setting) to(text string) { s.text.Store(text) }

func (s *setting) now() string {
	text, _ := s.text.Load().(string)
	return text
}

// take opens a source and fetches all of its available skills.
func take(t *testing.T, g *Origin, ref origin.Ref, at origin.Revision) ([]origin.Skill, *origintest.Sink) {
	t.Helper()
	lib, err := g.Open(t.Context(), ref, at)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	skills, to, err := origintest.Take(t.Context(), lib)
	if err != nil {
		t.Fatal(err)
	}
	return skills, to
}

const pdf = "---\nname: pdf\ndescription: Reads PDF files.\n---\nText.\n"
