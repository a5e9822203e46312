package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"debug/elf"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// work is a temporary folder for all tests.
var work string

func TestMain(m *testing.M) {
	var err error
	if work, err = os.MkdirTemp("", "knack-image-test"); err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	os.RemoveAll(work)
	os.Exit(code)
}

// sources makes a repository with one commit of the present sources, and a clone of it. It returns
// their folders.
var sources = sync.OnceValues(func() (both [2]string, err error) {
	both = [2]string{filepath.Join(work, "first"), filepath.Join(work, "elsewhere", "second")}
	out, err := exec.Command("git", "-c", "safe.directory=*", "-C", "../..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return both, fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, but the deletion is not committed yet
		}
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(filepath.Join(both[0], name)), 0o755), os.WriteFile(filepath.Join(both[0], name), data, 0o644)); err != nil {
			return both, err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", both[0]},
		{"-C", both[0], "add", "-A"},
		{"-C", both[0], "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "all"},
		{"clone", "-q", both[0], both[1]},
	} {
		cmd := exec.Command("git", args...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-11-05T06:07:08Z", "GIT_COMMITTER_DATE=2026-11-05T06:07:08Z", "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			return both, fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return both, nil
})

// first is the image that is built from the first folder, as a layout and in a registry.
type first struct {
	layout, pushed, said string
}

// image builds the image only once, and pushes it to a registry in memory.
var image = sync.OnceValues(func() (first, error) {
	both, err := sources()
	if err != nil {
		return first{}, err
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	f := first{layout: filepath.Join(work, "layout"), pushed: strings.TrimPrefix(server.URL, "http://") + "/team/knack:1.0"}
	var said bytes.Buffer
	err = run(context.Background(), options{source: both[0], out: f.layout, tag: "latest", push: f.pushed}, &said)
	f.said = said.String()
	return f, err
})

func theImage(t *testing.T) first {
	t.Helper()
	if testing.Short() {
		t.Skip("builds knack for two architectures")
	}
	os.Setenv("GOFLAGS", "-buildvcs=true") // for every test: the image is built once
	os.Unsetenv("SOURCE_DATE_EPOCH")
	f, err := image()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// programs skips the test if one of these Debian programs is absent, or fails it in continuous
// integration.
func programs(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is absent; .ci/programs installs it", name)
		}
		t.Skipf("%s is absent; on Debian: apt-get install %[1]s", name)
	}
}

func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, errs.Bytes())
	}
	return string(out)
}

// TestReproducible checks that two clones of a commit in different folders give the same layout,
// byte for byte.
func TestReproducible(t *testing.T) {
	f := theImage(t)
	both, _ := sources()
	again := filepath.Join(work, "again")
	if err := run(t.Context(), options{source: both[1], out: again, tag: "latest"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	one, two := tree(t, f.layout), tree(t, again)
	if !slices.Equal(one, two) || len(one) < 10 {
		t.Errorf("two builds differ:\n%q\n%q", one, two)
	}
	if !strings.Contains(f.said, " is knack v0.0.0-20261105060708-") || strings.Contains(f.said, "dirty") || !strings.Contains(f.said, "\npushed 127.0.0.1:") {
		t.Errorf("said: %s", f.said)
	}
	if err := run(t.Context(), options{source: both[1], out: again, tag: "latest"}, io.Discard); err == nil || !strings.Contains(err.Error(), "again is not empty: delete it") {
		t.Errorf("a second time: %v", err)
	}
}

// tree lists the files of a folder with their digests.
func tree(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		h, _, _ := v1.SHA256(bytes.NewReader(data))
		out = append(out, strings.TrimPrefix(path, dir)+" "+h.String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestConfig checks that the image has a program for each architecture, and a configuration that
// runs it.
func TestConfig(t *testing.T) {
	f := theImage(t)
	programs(t, "skopeo")
	var index struct {
		MediaType   string
		Manifests   []struct{ Platform v1.Platform }
		Annotations map[string]string
	}
	if err := json.Unmarshal([]byte(output(t, "skopeo", "inspect", "--raw", "oci:"+f.layout+":latest")), &index); err != nil {
		t.Fatal(err)
	}
	if len(index.Manifests) != 2 || index.MediaType != "application/vnd.oci.image.index.v1+json" {
		t.Errorf("%+v", index)
	}
	both, _ := sources()
	commit := strings.TrimSpace(output(t, "git", "-C", both[0], "rev-parse", "HEAD"))
	for i, arch := range []string{"amd64", "arm64"} {
		if p := index.Manifests[i].Platform; p.String() != "linux/"+arch {
			t.Errorf("platform %s", p)
		}
		var c v1.ConfigFile
		if err := json.Unmarshal([]byte(output(t, "skopeo", "inspect", "--config", "--override-arch", arch, "oci:"+f.layout+":latest")), &c); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintln(c.Architecture, c.OS, c.Config.User, c.Config.Entrypoint, c.Config.Cmd, c.Config.ExposedPorts, c.Config.WorkingDir, c.Config.Env, c.Created.UTC())
		if want := arch + " linux 65532:65532 [/knack] [serve --http 0.0.0.0:8080 --config /etc/knack/knack.yaml --dir /skills] map[8080/tcp:{}] / [] 2026-11-05 06:07:08 +0000 UTC\n"; got != want {
			t.Errorf("config\n got %s\nwant %s", got, want)
		}
		for _, labels := range []map[string]string{c.Config.Labels, index.Annotations} {
			if labels[vendor+"revision"] != commit || !strings.HasPrefix(labels[vendor+"version"], "v0.0.0-20261105060708-") || labels[vendor+"licenses"] != "Apache-2.0" {
				t.Errorf("labels %v", labels)
			}
		}
	}
	// Convert the image to the format that docker load reads.
	output(t, "skopeo", "--insecure-policy", "copy", "-q", "oci:"+f.layout+":latest", "docker-archive:"+filepath.Join(t.TempDir(), "knack.tar")+":knack:latest")
}

// TestMaterials checks that a registry returns the bill of materials of an image, given the digest
// of the image. The bill must list the modules linked into the program of that image, and the
// certificates.
func TestMaterials(t *testing.T) {
	f := theImage(t)
	ref, err := name.ParseReference(f.pushed)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	layout, err := os.ReadFile(filepath.Join(f.layout, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range manifest.Manifests {
		found, err := remote.Referrers(ref.Context().Digest(image.Digest.String()), remote.WithContext(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		all, err := found.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(all.Manifests) != 1 || !bytes.Contains(layout, []byte(all.Manifests[0].Digest.String())) {
			t.Fatalf("%s: referrers %+v", image.Platform, all.Manifests)
		}
		artifact, err := remote.Image(ref.Context().Digest(all.Manifests[0].Digest.String()), remote.WithContext(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := artifact.Manifest(); err != nil || m.ArtifactType != "application/vnd.cyclonedx+json" || m.Subject.Digest != image.Digest {
			t.Errorf("%s: %+v %v", image.Platform, m, err)
		}
		layers, err := artifact.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%v %v", layers, err)
		}
		content, err := layers[0].Compressed()
		if err != nil {
			t.Fatal(err)
		}
		var bom struct {
			BomFormat string
			Metadata  struct {
				Component struct {
					Properties []struct{ Name, Value string }
				}
			}
			Components []struct{ Name, Version string }
		}
		if err := json.NewDecoder(content).Decode(&bom); err != nil {
			t.Fatal(err)
		}
		names := fmt.Sprint(bom.Components)
		for _, want := range []string{"{std 1.", "{github.com/spf13/cobra v", "{golang.org/x/crypto/x509roots/fallback v0.0.0-"} {
			if !strings.Contains(names, want) {
				t.Errorf("%s: no %s in %s", image.Platform, want, names)
			}
		}
		if p := fmt.Sprint(bom.Metadata.Component.Properties); bom.BomFormat != "CycloneDX" || !strings.Contains(p, "{go:GOARCH "+image.Platform.Architecture+"}") {
			t.Errorf("%s: %s %s", image.Platform, bom.BomFormat, p)
		}
	}
}

// unpacked returns the files of the image for an architecture. skopeo pulls the image from the
// registry, and umoci unpacks it.
func unpacked(t *testing.T, arch string) (root string) {
	t.Helper()
	f := theImage(t)
	programs(t, "skopeo", "umoci")
	dir := t.TempDir()
	output(t, "skopeo", "--insecure-policy", "--override-arch", arch, "copy", "-q", "--src-tls-verify=false", "docker://"+f.pushed, "oci:"+dir+"/pulled:it")
	output(t, "umoci", "unpack", "--rootless", "--image", dir+"/pulled:it", dir+"/bundle")
	return filepath.Join(dir, "bundle", "rootfs")
}

// TestFiles checks the list of files in the image. There is no shell, no file that grants rights,
// and no file that the server's user can write.
func TestFiles(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		root := unpacked(t, arch)
		var got []string
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || path == root {
				return err
			}
			info, err := d.Info()
			got = append(got, fmt.Sprint(info.Mode(), strings.TrimPrefix(path, root)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"drwxr-xr-x/etc",
			"-rw-r--r--/etc/group",
			"drwxr-xr-x/etc/knack",
			"-rw-r--r--/etc/passwd",
			"drwxr-xr-x/etc/ssl",
			"drwxr-xr-x/etc/ssl/certs",
			"-rw-r--r--/etc/ssl/certs/ca-certificates.crt",
			"-rwxr-xr-x/knack",
			"drwxr-xr-x/skills",
			"drwxr-xr-x/var",
			"drwxr-xr-x/var/lib",
			"drwx------/var/lib/knack",
		}
		if !slices.Equal(got, want) {
			t.Errorf("files\n got %q\nwant %q", got, want)
		}
		program, err := elf.Open(filepath.Join(root, "knack"))
		if err != nil {
			t.Fatal(err)
		}
		if machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; program.Machine != machine {
			t.Errorf("%s: a program for %s", arch, program.Machine)
		}
		for _, p := range program.Progs {
			if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
				t.Errorf("%s: the program needs %s", arch, p.Type)
			}
		}
		program.Close()
		data, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
			if c, err := x509.ParseCertificate(block.Bytes); err != nil || !c.IsCA {
				t.Errorf("certificate %d: %v", n, err)
			}
			n++
		}
		if n < 100 {
			t.Errorf("only %d certificates", n)
		}
	}
	if t.Failed() || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return
	}
	if said := output(t, filepath.Join(unpacked(t, runtime.GOARCH), "knack"), "--version"); !strings.Contains(said, "v0.0.0-20261105060708-") {
		t.Errorf("--version: %s", said)
	}
}

// TestToolchain checks that both modules name the same toolchain, since the toolchain determines
// the bytes of the program and of the layers.
func TestToolchain(t *testing.T) {
	line := regexp.MustCompile(`(?m)^toolchain go.*$`)
	var named [2]string
	for i, dir := range []string{".", "../.."} {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		named[i] = line.FindString(string(data))
	}
	if named[0] == "" || named[0] != named[1] {
		t.Errorf("%q", named)
	}
}

func TestMoment(t *testing.T) {
	for _, c := range [][3]string{
		{"", "2026-11-05T06:07:08+01:00", "2026-11-05 05:07:08 +0000 UTC"},
		{"86400", "2026-11-05T06:07:08Z", "1970-01-02 00:00:00 +0000 UTC"},
		{"0", "", "1970-01-01 00:00:00 +0000 UTC"},
		{"", "", "-buildvcs=false: give the time in the image with SOURCE_DATE_EPOCH"},
		{"yesterday", "", `SOURCE_DATE_EPOCH is "yesterday": give the seconds since 1970`},
		{"-1", "", `SOURCE_DATE_EPOCH is "-1": give the seconds`},
	} {
		got, err := moment(c[0], c[1])
		if said := fmt.Sprint(got, err); !strings.Contains(said, c[2]) {
			t.Errorf("%q: %s", c, said)
		}
	}
	for _, push := range []string{"knack", "registry.example.com/Knack:1.0"} {
		if err := run(t.Context(), options{out: t.TempDir(), push: push}, io.Discard); err == nil || !strings.Contains(err.Error(), "-push: ") || !strings.Contains(err.Error(), "write registry/name:tag") {
			t.Errorf("-push %s: %v", push, err)
		}
	}
}
