package interop

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
)

// TestInteropUpstreams checks a knack that follows another knack, the TypeScript SDK's own server,
// a site, a release and a repository. Every file must arrive unchanged, and third-party clients
// must find the result conformant.
func TestInteropUpstreams(t *testing.T) {
	if !complete() {
		t.Skip("five sources are for make interop")
	}
	t.Parallel()
	whole := corpus()
	if whole == nil {
		t.Skip("no corpus")
	}
	binary, program := knack(t), node(t, "server")
	folder := func(name string) string { return filepath.Join(whole.dir, name) }
	serving := func(dir string) string {
		at, stop, err := serve(binary, "serve", "--no-builtin", "--dir", dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		return at
	}
	run := func(name string, args ...string) {
		t.Helper()
		if r := start(t, name, args...); r.code != 0 {
			t.Fatalf("%s %q: %s%s", name, args, r.stdout, r.stderr)
		}
	}
	dirs := map[string]string{
		"peer": folder("anthropics+skills"), "reference": folder("obra+superpowers"), "site": folder("mattpocock+skills"),
		"release": folder("cloudflare+skills"), "repository": filepath.Join(t.TempDir(), "repository"),
	}
	reference := exec.Command(program, script(t, "reference_server.mjs"), dirs["reference"])
	stdin, err := reference.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := reference.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reference.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = reference.Wait() })
	line := make([]byte, 200)
	n, err := stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	host := registrytest.Start(t).Host
	run(binary, "publish", dirs["release"], "oci://"+host+"/acme/skills:prod")
	if err := os.CopyFS(dirs["repository"], os.DirFS(folder("vercel-labs+agent-skills"))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a"}} {
		run("git", append([]string{"-C", dirs["repository"]}, args...)...)
	}
	settings := filepath.Join(t.TempDir(), "knack.yaml")
	sources := fmt.Sprintf(`store: {dir: store}
sources:
  - {name: peer, from: 'mcp:%s'}
  - {name: reference, from: 'mcp:%s'}
  - {name: site, from: '%s'}
  - {name: release, from: 'oci://%s/acme/skills:prod'}
  - {name: repository, from: 'git+file://%s'}
`, serving(dirs["peer"]), strings.TrimSpace(string(line[:n])), strings.TrimSuffix(serving(dirs["site"]), "/mcp"), host, dirs["repository"])
	if err := os.WriteFile(settings, []byte(sources), 0o600); err != nil {
		t.Fatal(err)
	}
	through := &tree{name: "upstreams", flags: []string{"--config", settings}}
	at, stop, err := serve(binary, through.args()...) // it writes into the test's folder, so it must end with the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	through.once.Do(func() { through.url = at })
	testwait.Until(t, func() bool {
		resp, err := http.Get(strings.TrimSuffix(at, "/mcp") + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, "the sources")

	client, err := skillsext.Dial(t.Context(), "test", at, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Session.Close()
	found, disks := map[string]int{}, map[string]map[pathless]bool{}
	for label, dir := range dirs {
		disks[label] = filesBelow(t, dir)
	}
	for s, err := range client.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		label, _, _ := strings.Cut(strings.TrimPrefix(s.URI, "skill://"), "/")
		found[label]++
		through.skills++
		for _, r := range s.Resources.List() {
			through.files++
			data, err := client.Read(t.Context(), s, r.URI)
			if err != nil {
				t.Errorf("%s: %v", r.URI, err)
				continue
			}
			if !disks[label][pathless{path.Base(r.URI), skill.DigestOf(data)}] {
				t.Errorf("%s: no such file of %s has these %d bytes", r.URI, label, len(data))
			}
		}
	}
	for label, dir := range dirs {
		if want := listedBy(t, binary, dir); found[label] != want || want == 0 {
			t.Errorf("%s: %d skills of %d", label, found[label], want)
		}
	}
	program = filepath.Join(t.TempDir(), "serve")
	if err := os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\nexec '%s' serve --no-builtin --config '%s'\n", binary, settings), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, transport := range []string{stdio, web} {
		for _, version := range []string{legacy, modern} {
			era := map[string]string{legacy: "legacy", modern: "modern"}[version]
			r := inspect(t, transport, era, program, at, &tree{dir: "."}) // the tree's own arguments contain the --config
			if want := fmt.Sprintf("Verified %d skills and %d files: no conformance errors.", through.skills, through.files); r.code != 0 || !strings.Contains(r.stderr, want) {
				t.Errorf("Inspector, %s, %s: exit status %d, want %q: %s", transport, era, r.code, want, tail(r.stderr))
			}
			var got walked
			typescript(t, &got, "skills_client.mjs", transport, through, era)
			if len(got.Problems) > 0 || len(got.Skills) != through.skills || got.Files != through.files {
				t.Errorf("TypeScript, %s, %s: %d skills and %d files, want %d and %d: %q", transport, era, len(got.Skills), got.Files, through.skills, through.files, got.Problems[:min(10, len(got.Problems))])
			}
		}
	}
}

// pathless is a file without its folder, since the folder of a fetched skill is named after the
// skill.
type pathless struct {
	name   string
	digest skill.Digest
}

// filesBelow returns all files below a folder.
func filesBelow(t *testing.T, dir string) map[pathless]bool {
	t.Helper()
	all := map[pathless]bool{}
	err := filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(at)
		all[pathless{url.PathEscape(e.Name()), skill.DigestOf(data)}] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// listedBy returns the number of skills of a folder that a knack serving the folder lists.
func listedBy(t *testing.T, binary, dir string) (n int) {
	t.Helper()
	at, stop, err := serve(binary, "serve", "--no-builtin", "--dir", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	client, err := skillsext.Dial(t.Context(), "test", at, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Session.Close()
	for _, err := range client.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
