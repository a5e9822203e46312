package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// small returns the files of a signed release, by name. Its program is a script that prints its
// version.
func small(t *testing.T, version, key string) map[string][]byte {
	t.Helper()
	r := &release{version: version, time: time.Unix(0, 0), out: t.TempDir(), digests: map[string]string{}, docs: []file{{"man/knack.1", 0o644, nil}}}
	for _, s := range targets {
		data, err := r.archive(s, []byte("#!/bin/sh\necho knack "+version+" \"$@\"\n"))
		if err == nil {
			err = r.put(r.archiveName(s), data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := r.put("knack_"+version+".cdx.json", nil); err != nil {
		t.Fatal(err)
	}
	if err := r.manifests(); err != nil {
		t.Fatal(err)
	}
	if err := r.sums(key); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for name := range r.digests {
		files[name] = read(t, filepath.Join(r.out, name))
	}
	return files
}

// page serves the files of a release as GitHub would, and returns the URL.
func page(t *testing.T, files map[string][]byte) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// checkout returns a folder with this repository's scripts and, if public is not nil, the public
// key.
func checkout(t *testing.T, public []byte) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "deploy/release")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"download.sh", "hook.sh"} {
		write(t, filepath.Join(dir, name), read(t, name))
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, ".pre-commit-hooks.yaml"), read(t, "../../.pre-commit-hooks.yaml"))
	if public != nil {
		write(t, filepath.Join(dir, "knack.pub"), public)
	}
	return root
}

// downloadCase is the page of a release, and the expected outcome of a download from it.
type downloadCase struct {
	name, version string
	public        []byte
	files         map[string][]byte
	env           []string
	status        int
	says          string
}

func downloadCases(t *testing.T) []downloadCase {
	has(t, "openssl")
	has(t, "curl")
	key, public := newKey(t)
	wrong, _ := newKey(t)
	good := small(t, "1.2.3", key)
	with := func(name string, data []byte) map[string][]byte {
		files := maps.Clone(good)
		if files[name] = data; data == nil {
			delete(files, name)
		}
		return files
	}
	// A uname that reports another system.
	other := t.TempDir()
	write(t, filepath.Join(other, "uname"), []byte("#!/bin/sh\necho Plan9\n"))
	if err := os.Chmod(filepath.Join(other, "uname"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := &release{version: "1.2.3"}
	cut, swapped, changed := maps.Clone(good), maps.Clone(good), maps.Clone(good)
	for _, s := range targets {
		name := r.archiveName(s)
		cut[name] = good[name][:len(good[name])/2]
		swapped[name] = good[r.archiveName(target{"windows", "amd64"})]
		changed[name] = append(bytes.Clone(good[name]), 0)
	}
	return []downloadCase{
		{"good", "v1.2.3", public, good, nil, 0, "installed"},
		{"cut", "v1.2.3", public, cut, nil, 1, "its SHA-256 is"},
		{"swapped", "v1.2.3", public, swapped, nil, 1, "its SHA-256 is"},
		{"changed", "v1.2.3", public, changed, nil, 1, "its SHA-256 is"},
		{"unsigned", "v1.2.3", public, with("SHA256SUMS.sig", nil), nil, 1, "no signature"},
		{"garbage as signature", "v1.2.3", public, with("SHA256SUMS.sig", []byte("?")), nil, 1, "not by the key"},
		{"wrong key", "v1.2.3", public, small(t, "1.2.3", wrong), nil, 1, "not by the key"},
		{"changed sums", "v1.2.3", public, with("SHA256SUMS", append(bytes.Clone(good["SHA256SUMS"]), '\n')), nil, 1, "not by the key"},
		{"changed script", "v1.2.3", public, with("install.sh", []byte("touch here\n")), nil, 1, "SHA-256 of install.sh"},
		{"no script", "v1.2.3", public, with("install.sh", nil), nil, 1, "no install.sh"},
		{"older release", "v1.2.3", public, small(t, "1.2.2", key), nil, 1, "not of v1.2.3"},
		{"no release", "v1.2.3", public, nil, nil, 3, "there is no release"},
		{"no version", "main", public, good, nil, 3, "no version"},
		{"two lines", "v1.2.3\n../x", public, good, nil, 3, "no version"},
		{"no key", "v1.2.3", nil, good, nil, 3, "knack.pub"},
		{"another system", "v1.2.3", public, good, []string{"PATH=" + other + ":" + os.Getenv("PATH")}, 3, "no knack for Plan9"},
	}
}

// TestDownload checks that a download gives knack only if it is signed with the key in the
// repository.
func TestDownload(t *testing.T) {
	for _, c := range downloadCases(t) {
		t.Run(c.name, func(t *testing.T) {
			bin := filepath.Join(t.TempDir(), "bin")
			cmd := exec.CommandContext(t.Context(), "sh", "deploy/release/download.sh", c.version, bin)
			cmd.Dir, cmd.Env = checkout(t, c.public), append(append(os.Environ(), "KNACK_DOWNLOAD="+page(t, c.files)), c.env...)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != c.status || !strings.Contains(string(out), c.says) {
				t.Errorf("status %d, want %d: %s", code, c.status, out)
			}
			entries, err := os.ReadDir(bin)
			if err != nil || (len(entries) > 0) != (c.status == 0) {
				t.Errorf("installed %v, %v", entries, err)
			}
		})
	}
}

// TestAction checks that the steps of the action download knack, request a build, or fail.
func TestAction(t *testing.T) {
	has(t, "bash")
	var action struct {
		Runs struct {
			Steps []struct {
				ID, Run string
				Env     map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(read(t, "../../action.yml"), &action); err != nil {
		t.Fatal(err)
	}
	first, last := action.Runs.Steps[0], action.Runs.Steps[len(action.Runs.Steps)-1]
	if first.ID != "download" || first.Env["VERSION"] != "${{ github.action_ref }}" {
		t.Fatalf("%+v", first)
	}
	for _, c := range downloadCases(t) {
		t.Run(c.name, func(t *testing.T) {
			temp := t.TempDir()
			env := append([]string{
				"VERSION=" + c.version, "KNACK_DOWNLOAD=" + page(t, c.files), "GITHUB_ACTION_PATH=" + checkout(t, c.public),
				"RUNNER_TEMP=" + temp, "GITHUB_OUTPUT=" + filepath.Join(temp, "outputs"),
			}, c.env...)
			out, ok := do(t, temp, env, "bash", "-e", "-o", "pipefail", "-c", first.Run)
			outputs, _ := os.ReadFile(filepath.Join(temp, "outputs"))
			if ok != (c.status != 1) || string(outputs) != map[int]string{3: "build=true\n"}[c.status] {
				t.Errorf("%t %s %s", ok, outputs, out)
			}
			if c.status != 0 {
				return
			}
			out, ok = do(t, temp, append(env, "INPUT_PATH=.", "INPUT_FORMAT=github"), "bash", "-e", "-o", "pipefail", "-c", last.Run)
			if !ok || out != "knack 1.2.3 check --format github -- .\n" {
				t.Errorf("%t %s", ok, out)
			}
		})
	}
}

// TestHook checks that pre-commit runs the hook with the knack of the release whose tag it checks
// out. Without such a release, the hook builds a knack.
func TestHook(t *testing.T) {
	has(t, "pre-commit")
	fakeGo := t.TempDir()
	write(t, filepath.Join(fakeGo, "go"), []byte("#!/bin/sh\nmkdir -p \"$5\"\nprintf '#!/bin/sh\\necho built \"$@\"\\n' >\"$5/knack\"\nchmod 755 \"$5/knack\"\n"))
	if err := os.Chmod(filepath.Join(fakeGo, "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	git := func(dir string, args ...string) string {
		out, ok := do(t, dir, nil, "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "protocol.file.allow=always"}, args...)...)
		if !ok {
			t.Fatal(out)
		}
		return strings.TrimSpace(out)
	}
	for _, c := range downloadCases(t) {
		if c.version == "v1.2.3\n../x" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			hooks := checkout(t, c.public)
			git(hooks, "init", "-q")
			git(hooks, "add", "-A")
			git(hooks, "commit", "-qm", "x")
			git(hooks, "tag", c.version+map[bool]string{true: "-branch"}[c.version == "main"])
			rev := c.version
			if rev == "main" {
				rev = git(hooks, "rev-parse", "HEAD")
			}
			user := t.TempDir()
			git(user, "init", "-q")
			write(t, filepath.Join(user, ".pre-commit-config.yaml"), []byte(fmt.Sprintf("repos:\n- repo: %s\n  rev: %s\n  hooks:\n  - id: knack-check\n    verbose: true\n", hooks, rev)))
			write(t, filepath.Join(user, "SKILL.md"), nil)
			git(user, "add", "-A")
			path := fakeGo + ":" + os.Getenv("PATH")
			for _, e := range c.env {
				path, _ = strings.CutPrefix(e, "PATH=")
				path = fakeGo + ":" + path
			}
			env := []string{"HOME=" + t.TempDir(), "PRE_COMMIT_HOME=" + t.TempDir(), "KNACK_DOWNLOAD=" + page(t, c.files), "PATH=" + path, "GIT_DIR=" + filepath.Join(user, ".git")}
			// The second run does not download again.
			for range 2 {
				out, ok := do(t, user, env, "pre-commit", "run", "--all-files")
				want := map[int]string{0: "knack 1.2.3 check -- SKILL.md", 1: c.says, 3: "built check -- SKILL.md"}[c.status]
				if ok != (c.status != 1) || !strings.Contains(out, want) {
					t.Errorf("%t %s", ok, out)
				}
				env[2] = "KNACK_DOWNLOAD=http://127.0.0.1:9"
				if c.status == 1 {
					break
				}
			}
		})
	}
}

// TestWorkflows checks that the workflows pin actions to commits, and that each job has only the
// rights that it needs.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)
	for _, file := range files {
		var workflow struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				Permissions map[string]string
				Steps       []struct {
					Uses, Run string
					With      map[string]any
				}
			}
		}
		if err := yaml.Unmarshal(read(t, file), &workflow); err != nil {
			t.Fatal(err)
		}
		for name, right := range workflow.Permissions {
			if right != "read" {
				t.Errorf("%s: every job may %s %s", file, right, name)
			}
		}
		for name, job := range workflow.Jobs {
			if workflow.Permissions == nil || len(workflow.Permissions)+len(job.Permissions) == 0 {
				t.Errorf("%s: the job %s has the rights of the token", file, name)
			}
			for _, s := range job.Steps {
				if s.Uses != "" && !pinned.MatchString(s.Uses) {
					t.Errorf("%s: %s can become another action: name the commit", file, s.Uses)
				}
				if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != false {
					t.Errorf("%s: the job %s leaves the token in the clone", file, name)
				}
				if strings.Contains(s.Run, "${{") {
					t.Errorf("%s: a value becomes part of a script of the job %s", file, name)
				}
			}
		}
	}
}
