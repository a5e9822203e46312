package distcmd_test

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/internal/test/testwait"
)

const asKnack = "KNACK_TEST_AS_KNACK"

// TestMain makes the test binary run as knack.
func TestMain(m *testing.M) {
	if os.Getenv(asKnack) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := console.UntilSignal()
	code := cli.Main(ctx, console.System(), os.Args[1:])
	stop()
	os.Exit(code)
}

// formed is the skill that each form of a source delivers. It has two kinds of line endings, a
// byte-order mark, binary bytes, an empty file, a file in a folder, an executable file, and fields
// that another installer wrote.
var formed = map[string]string{
	"SKILL.md":        "---\r\nname: pdf\r\ndescription: Reads PDF files.\r\nmetadata:\r\n  github-repo: https://github.com/acme/skills\r\n  github-ref: refs/heads/main\r\n---\r\nText.\r\n",
	"bom.md":          "\ufeffa\nb\r\n",
	"data/x.bin":      "\x00\x01\xff\xfe\r\n",
	"empty":           "",
	"scripts/fill.py": "#!/usr/bin/python3\n",
}

// TestForms checks that each form of a source installs the same skill byte for byte, with the same
// digest.
func TestForms(t *testing.T) {
	if testing.Short() {
		t.Skip("starts programs")
	}
	testForms(t, formed)
}

// TestFormsOfCorpus does the same as [TestForms] with a real skill.
func TestFormsOfCorpus(t *testing.T) {
	testwait.Slow(t)
	dir := corpus.Dir(t, "skills/anthropics+skills/skills/pdf")
	real := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		real[filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator)))] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	testForms(t, real)
}

func testForms(t *testing.T, formed map[string]string) {
	library := t.TempDir()
	write(t, filepath.Join(library, "skills/pdf"), formed)
	write(t, library, map[string]string{"README.md": "no skill\n"})
	zipped, tarred := zipOf(t, formed), tarOf(t, "pdf/", formed)
	files := t.TempDir()
	write(t, files, map[string]string{"pdf.zip": zipped, "pdf.skill": zipped, "pdf.tar.gz": tarred})
	mux := http.NewServeMux()
	mux.Handle("/files/", http.StripPrefix("/files/", http.FileServer(http.Dir(files))))
	site(mux, tarOf(t, "", formed))
	registry(mux, tarred)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		mux.ServeHTTP(w, r)
	}))
	defer server.Close()
	var want lockfile.Skill
	for _, c := range []struct {
		name, source string
		noExec       bool // the form does not mark executable files
	}{
		{"folder", library, false},
		{"folder as an address", "file://" + library, false},
		{"archive zip", filepath.Join(files, "pdf.zip"), false},
		{"archive skill", filepath.Join(files, "pdf.skill"), false},
		{"archive as an address", "file:" + filepath.Join(files, "pdf.zip"), false},
		{"archive tar", filepath.Join(files, "pdf.tar.gz"), false},
		{"archive https", server.URL + "/files/pdf.zip", false},
		{"git", repository(t, library), false},
		{"oci", "oci://" + strings.TrimPrefix(server.URL, "http://") + "/acme/skills:v1.0.0", false},
		{"well-known", server.URL + "/site", false},
		{"mcp", serve(t, library), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			project := t.TempDir()
			if err := os.Mkdir(filepath.Join(project, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := knack(t, project, "add", c.source, "--skill", "pdf")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
			for name, text := range formed {
				data, err := os.ReadFile(filepath.Join(project, ".agents/skills/pdf", name))
				if err != nil || string(data) != text {
					t.Errorf("%s: %q, %v", name, data, err)
				}
			}
			data, err := os.ReadFile(filepath.Join(project, lockfile.Name))
			if err != nil {
				t.Fatal(err)
			}
			lock, err := lockfile.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			got := lock.Skills[".agents/skills/pdf"]
			if c.name == "folder" {
				want = got
			}
			if c.noExec {
				for i := range got.Files {
					got.Files[i].Exec = want.Files[i].Exec
				}
			}
			if diff := cmp.Diff(want.Files, got.Files); diff != "" || got.Digest != want.Digest || len(got.Files) != len(formed) {
				t.Errorf("%s %s: %s", got.Digest, want.Digest, diff)
			}
			// Verify and update find no changes.
			if out, err := knack(t, project, "verify").CombinedOutput(); err != nil {
				t.Errorf("verify: %v\n%s", err, out)
			}
			if out, err := knack(t, project, "update").CombinedOutput(); err != nil {
				t.Errorf("update: %v\n%s", err, out)
			}
			if after, err := os.ReadFile(filepath.Join(project, lockfile.Name)); err != nil || string(after) != string(data) {
				t.Errorf("update without news wrote the lock: %v\n%s", err, after)
			}
			// Sync restores deleted skills offline, and sends no request to the server or a proxy.
			if err := os.RemoveAll(filepath.Join(project, ".agents")); err != nil {
				t.Fatal(err)
			}
			before := asked.Load()
			for _, args := range [][]string{{"sync", "--offline"}, {"verify"}, {"update", "--offline"}, {"add", c.source, "--all", "--offline"}} {
				cmd := knack(t, project, args...)
				for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
					cmd.Env = append(cmd.Env, name+"="+server.URL)
				}
				if out, err := cmd.CombinedOutput(); err != nil && (args[0] == "sync" || args[0] == "verify") {
					t.Errorf("%s: %v\n%s", args, err, out)
				}
			}
			if n := asked.Load() - before; n != 0 {
				t.Errorf("offline, servers were asked %d times", n)
			}
			if data, err := os.ReadFile(filepath.Join(project, ".agents/skills/pdf/SKILL.md")); err != nil || string(data) != formed["SKILL.md"] {
				t.Errorf("offline: %q, %v", data, err)
			}
		})
	}
}

// knack returns a command that runs knack in dir. Its home folder is beside dir.
func knack(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	home := filepath.Join(filepath.Dir(dir), "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = []string{asKnack + "=1", "HOME=" + home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "XDG_CACHE_HOME=" + filepath.Join(home, "cache")}
	return cmd
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), modeOf(name)); err != nil {
			t.Fatal(err)
		}
	}
}

func modeOf(name string) os.FileMode {
	if strings.HasPrefix(name, "scripts/") {
		return 0o755
	}
	return 0o644
}

func zipOf(t *testing.T, formed map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(formed)) {
		h := &zip.FileHeader{Name: "pdf/" + name, Method: zip.Deflate}
		h.SetMode(modeOf(name))
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write([]byte(formed[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func tarOf(t *testing.T, folder string, formed map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(formed)) {
		err := w.WriteHeader(&tar.Header{Name: folder + name, Mode: int64(modeOf(name)), Size: int64(len(formed[name])), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write([]byte(formed[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// repository commits a folder to a new repository and returns its git+file source.
func repository(t *testing.T, dir string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	bare := filepath.Join(t.TempDir(), "up")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", bare}, {"--work-tree=" + dir, "add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "1"},
	} {
		cmd := exec.Command("git", append([]string{"--git-dir=" + filepath.Join(bare, ".git"), "-c", "core.autocrlf=false"}, args...)...)
		if args[0] == "init" {
			cmd = exec.Command("git", args...)
		}
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	return "git+file://" + filepath.ToSlash(bare)
}

// serve starts a knack that serves a folder and returns its mcp source.
func serve(t *testing.T, dir string) string {
	t.Helper()
	cmd := knack(t, t.TempDir(), "serve", "--no-builtin", "--dir", dir, "--http", "127.0.0.1:0")
	errs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	lines := bufio.NewScanner(errs)
	for lines.Scan() {
		if m := address.FindString(lines.Text()); m != "" {
			go func() { _, _ = io.Copy(io.Discard, errs) }()
			return "mcp:" + m
		}
	}
	t.Fatal("knack serve names no address")
	return ""
}

var address = regexp.MustCompile(`http://[^ ]+/mcp`)

func sumOf(data string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(data))) }

// site serves a site with an index of skills, version 0.2.0.
func site(mux *http.ServeMux, archive string) {
	mux.HandleFunc("/site/.well-known/agent-skills/index.json", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
			"skills":  []any{map[string]any{"name": "pdf", "type": "archive", "description": "Reads PDF files.", "url": "pdf.tar.gz", "digest": sumOf(archive)}},
		})
	})
	mux.HandleFunc("/site/.well-known/agent-skills/pdf.tar.gz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, archive) })
}

// registry serves a minimal registry with one image.
func registry(mux *http.ServeMux, layer string) {
	manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":%q,"size":2},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":%q,"size":%d}]}`,
		sumOf("{}"), sumOf(layer), len(layer))
	answer := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Docker-Content-Digest", sumOf(body))
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = io.WriteString(w, body)
		}
	}
	mux.HandleFunc("/v2/{$}", answer("application/json", "{}"))
	for _, name := range []string{"v1.0.0", sumOf(manifest)} {
		mux.HandleFunc("/v2/acme/skills/manifests/"+name, answer("application/vnd.oci.image.manifest.v1+json", manifest))
	}
	for _, blob := range []string{layer, "{}"} {
		mux.HandleFunc("/v2/acme/skills/blobs/"+sumOf(blob), answer("application/octet-stream", blob))
	}
	mux.HandleFunc("/v2/acme/skills/tags/list", answer("application/json", `{"name":"acme/skills","tags":["v1.0.0"]}`))
}
