package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// made returns the folder of a release, which make packages made, and its version.
func made(t *testing.T) (dir, version string) {
	t.Helper()
	dir = os.Getenv("KNACK_RELEASE")
	if dir == "" {
		t.Skip("KNACK_RELEASE names no release; use make packages")
	}
	var server struct{ Version string }
	if err := json.Unmarshal(read(t, filepath.Join(dir, "server.json")), &server); err != nil {
		t.Fatal(err)
	}
	return dir, server.Version
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// do runs a program and returns its output and whether it succeeded.
func do(t *testing.T, dir string, env []string, name string, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out), err == nil
}

// has skips the test if a program is missing. With KNACK_RELEASE_ALL it fails the test instead.
func has(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("KNACK_RELEASE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// TestReproducible checks that a second clone of the commit gives the same bytes.
func TestReproducible(t *testing.T) {
	dir, version := made(t)
	again := filepath.Join(t.TempDir(), "again")
	source := filepath.Join(t.TempDir(), "clone")
	if out, ok := do(t, "", nil, "git", "clone", "--quiet", "--no-hardlinks", "../..", source); !ok {
		t.Fatal(out)
	}
	if err := run(t.Context(), options{source: source, out: again, version: "v" + version}); err != nil {
		t.Fatal(err)
	}
	compared := 0
	err := filepath.WalkDir(again, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(again, path)
		compared++
		if !bytes.Equal(read(t, path), read(t, filepath.Join(dir, name))) {
			t.Errorf("%s differs", name)
		}
		return nil
	})
	if err != nil || compared < 30 {
		t.Errorf("%d files: %v", compared, err)
	}
}

func TestSums(t *testing.T) {
	dir, _ := made(t)
	if out, ok := do(t, dir, nil, "sha256sum", "--check", "--strict", "SHA256SUMS"); !ok {
		t.Error(out)
	}
}

// newKey writes a new private key into a file. It returns the file, and the public key.
func newKey(t *testing.T) (file string, public []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	other, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "knack.key")
	write(t, file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	return file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: other})
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSign checks that the commands in SECURITY.md verify a release, and refuse a changed one. The
// same key must give the same signature.
func TestSign(t *testing.T) {
	has(t, "openssl")
	_, text, _ := strings.Cut(string(read(t, "../../SECURITY.md")), "## Checking a release")
	_, text, _ = strings.Cut(text, "```sh\n")
	commands, _, ok := strings.Cut(text, "```")
	if !ok {
		t.Fatal("SECURITY.md has no commands")
	}
	key, public := newKey(t)
	_, another := newKey(t)
	for _, c := range []struct {
		name         string
		public, file []byte
		want         bool
	}{
		{"good", public, []byte("a file\n"), true},
		{"another key", another, []byte("a file\n"), false},
		{"another file", public, []byte("another\n"), false},
	} {
		r := &release{out: t.TempDir(), digests: map[string]string{}}
		for range 2 {
			if err := r.put("file", []byte("a file\n")); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(filepath.Join(r.out, "SHA256SUMS.sig"))
			r.digests = map[string]string{"file": r.digests["file"]}
			if err := r.sums(key); err != nil {
				t.Fatal(err)
			}
			if after := read(t, filepath.Join(r.out, "SHA256SUMS.sig")); before != nil && !bytes.Equal(before, after) {
				t.Error("another signature of the same bytes")
			}
		}
		write(t, filepath.Join(r.out, "file"), c.file)
		write(t, filepath.Join(r.out, "knack.pub"), c.public)
		if out, ok := do(t, r.out, nil, "sh", "-e", "-c", commands); ok != c.want {
			t.Errorf("%s: %t %s", c.name, ok, out)
		}
	}
	write(t, key, []byte("no key"))
	if _, err := sign(key, nil); err == nil {
		t.Error("signed without a key")
	}
}

// installer is an empty home, and a script that installs into it from the server at url.
type installer struct {
	home, script, url string
}

func (i installer) run(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	env := []string{"HOME=" + i.home, "KNACK_DOWNLOAD=" + i.url, "KNACK_BIN=", "KNACK_MAN="}
	return do(t, i.home, env, "sh", append([]string{i.script}, args...)...)
}

// empty reports whether no file was installed.
func (i installer) empty(t *testing.T) bool {
	entries, err := os.ReadDir(i.home)
	return err == nil && len(entries) == 0
}

// TestInstall checks that the script installs only the archive of its own release.
func TestInstall(t *testing.T) {
	dir, version := made(t)
	mine := (&release{version: version}).archiveName(target{runtime.GOOS, runtime.GOARCH})
	other := (&release{version: version}).archiveName(target{"darwin", "arm64"})
	good := read(t, filepath.Join(dir, mine))
	var served []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/"+mine || served == nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(served)
	}))
	defer srv.Close()
	for _, c := range []struct {
		name, want string
		served     []byte
	}{
		{"none", "the download failed", nil},
		{"cut", "its SHA-256 is", good[:len(good)/2]},
		{"swapped", "its SHA-256 is", read(t, filepath.Join(dir, other))},
		{"changed", "its SHA-256 is", append(bytes.Clone(good), 0)},
	} {
		served = c.served
		i := installer{t.TempDir(), filepath.Join(dir, "install.sh"), srv.URL}
		if out, ok := i.run(t); ok || !strings.Contains(out, c.want) || !i.empty(t) {
			t.Errorf("%s: %t %s", c.name, ok, out)
		}
	}
	served = good
	for _, args := range [][]string{nil, {filepath.Join(dir, mine)}} {
		i := installer{t.TempDir(), filepath.Join(dir, "install.sh"), srv.URL}
		out, ok := i.run(t, args...)
		bin := filepath.Join(i.home, ".local/bin")
		if !ok || !strings.Contains(out, `export PATH="`+bin) {
			t.Fatalf("%v: %s", args, out)
		}
		checkBuiltins(t, i.home, filepath.Join(bin, "knack"))
		if out, ok := do(t, i.home, []string{"HOME=" + i.home}, filepath.Join(bin, "knack"), "--version"); !ok || !strings.Contains(out, "knack v"+version+" ") {
			t.Errorf("knack --version: %s", out)
		}
		if _, err := os.Stat(filepath.Join(i.home, ".local/share/man/man1/knack.1")); err != nil {
			t.Error(err)
		}
	}
}

// TestCutScript checks that a script that was cut short by a failed download installs nothing.
func TestCutScript(t *testing.T) {
	dir, version := made(t)
	mine := (&release{version: version}).archiveName(target{runtime.GOOS, runtime.GOARCH})
	script := read(t, filepath.Join(dir, "install.sh"))
	last := bytes.LastIndex(script, []byte("main \"$@\""))
	if last < 0 || last+len("main \"$@\"\n") != len(script) {
		t.Fatal("the last line does not call main")
	}
	i := installer{t.TempDir(), filepath.Join(t.TempDir(), "install.sh"), "http://127.0.0.1:9"}
	for at := 0; at <= last; at += 97 {
		if err := os.WriteFile(i.script, script[:at], 0o644); err != nil {
			t.Fatal(err)
		}
		i.run(t, filepath.Join(dir, mine))
		if !i.empty(t) {
			t.Fatalf("installed by the first %d bytes", at)
		}
	}
}

// checkBuiltins checks that the list command of a program lists the built-in skills in an empty home.
func checkBuiltins(t *testing.T, home, name string, args ...string) {
	t.Helper()
	out, ok := do(t, home, []string{"HOME=" + home}, name, append(args, "list")...)
	if !ok || !strings.Contains(out, "engage") {
		t.Errorf("%s list: %t %s", name, ok, out)
	}
}

// registry serves the npm packages of a release. It returns its URL, and how often each package was
// requested.
func registry(t *testing.T, dir, version string) (url string, asked map[string]int) {
	t.Helper()
	names := []string{npmName}
	for _, s := range targets {
		names = append(names, s.npm())
	}
	asked = map[string]int{}
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range names {
			file := npmFile(name, version)
			switch r.URL.Path {
			case "/" + name:
				data := read(t, filepath.Join(dir, file))
				sum := sha1.Sum(data)
				manifest := packageJSON(t, data)
				manifest["dist"] = map[string]string{"tarball": srv.URL + "/-/" + file, "shasum": hex.EncodeToString(sum[:])}
				_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: manifest}})
				return
			case "/-/" + file:
				asked[name]++
				_, _ = w.Write(read(t, filepath.Join(dir, file)))
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, asked
}

// TestNpx checks that npx runs knack, and downloads only the main package and the one for this
// system.
func TestNpx(t *testing.T) {
	dir, version := made(t)
	has(t, "npx")
	url, asked := registry(t, dir, version)
	home := t.TempDir()
	env := []string{"HOME=" + home, "npm_config_registry=" + url, "npm_config_cache=" + filepath.Join(home, "cache"), "npm_config_update_notifier=false"}
	out, ok := do(t, home, env, "npx", "-y", npmName, "list")
	if !ok || !strings.Contains(out, "engage") {
		t.Errorf("npx: %s", out)
	}
	if len(asked) != 2 {
		t.Errorf("downloaded %v", asked)
	}
}

// packageJSON returns the decoded package.json of an npm package.
func packageJSON(t *testing.T, tgz []byte) map[string]any {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.tgz")
	if err := os.WriteFile(file, tgz, 0o600); err != nil {
		t.Fatal(err)
	}
	out, ok := do(t, "", nil, "tar", "-xzOf", file, "package/package.json")
	var fields map[string]any
	if err := json.Unmarshal([]byte(out), &fields); !ok || err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return fields
}

// TestAccepted checks that other projects' programs accept the files of a release.
func TestAccepted(t *testing.T) {
	dir, version := made(t)
	workflows, err := filepath.Abs("../../.github/workflows")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"shellcheck", []string{"shellcheck", "install.sh"}},
		{"ruby", []string{"ruby", "-c", "homebrew/knack.rb"}},
		{"lintian", []string{"lintian", "--fail-on", "error", fmt.Sprintf("knack_%s_linux_amd64.deb", version)}},
		{"dpkg-deb", []string{"dpkg-deb", "--info", fmt.Sprintf("knack_%s_linux_arm64.deb", version)}},
		{"rpm", []string{"rpm", "-qip", "--nosignature", fmt.Sprintf("knack_%s_linux_amd64.rpm", version)}},
		{"skopeo", []string{"skopeo", "inspect", "--raw", "oci:image:latest"}},
		{"actionlint", []string{"go", "run", "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12", filepath.Join(workflows, "ci.yml"), filepath.Join(workflows, "release.yml")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			has(t, c.args[0])
			out, ok := do(t, dir, []string{"GOFLAGS="}, c.args[0], c.args[1:]...)
			if !ok {
				t.Error(out)
			}
			t.Log(out)
		})
	}
}

// TestServer checks that server.json is valid by the schema of the registry of MCP servers. The
// test takes the schema from the registry's module, since the registry's own program would send the
// file there.
func TestServer(t *testing.T) {
	dir, _ := made(t)
	out, ok := do(t, t.TempDir(), []string{"GOFLAGS="}, "go", "mod", "download", "-json", "github.com/modelcontextprotocol/registry@v1.8.9")
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &module); err != nil || !ok {
		t.Fatal(out)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(read(t, filepath.Join(module.Dir, "internal/validators/schemas/2025-12-11.json")), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var server map[string]any
	if err := json.Unmarshal(read(t, filepath.Join(dir, "server.json")), &server); err != nil {
		t.Fatal(err)
	}
	if server["$schema"] != schema.ID {
		t.Errorf("server.json names %s, and the schema is %s", server["$schema"], schema.ID)
	}
	if err := resolved.Validate(server); err != nil {
		t.Error(err)
	}
	server["description"] = strings.Repeat("x", 101)
	if err := resolved.Validate(server); err == nil {
		t.Error("the schema accepts everything")
	}
}

// TestManifests checks that the manifests have the digests of the files.
func TestManifests(t *testing.T) {
	dir, version := made(t)
	for _, c := range []struct {
		manifest string
		archives []target
	}{
		{"install.sh", targets[:4]},
		{"homebrew/knack.rb", targets[:4]},
		{"scoop/knack.json", targets[4:]},
		{"winget/knack-dev.knack.installer.yaml", targets[4:]},
	} {
		text := strings.ToLower(string(read(t, filepath.Join(dir, c.manifest))))
		for _, s := range c.archives {
			name := (&release{version: version}).archiveName(s)
			if sum := fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join(dir, name)))); !strings.Contains(text, sum) {
				t.Errorf("%s does not have the digest of %s", c.manifest, name)
			}
		}
	}
}
