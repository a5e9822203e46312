package publish_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"io"

	"github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/publish"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// tree reads the files of a folder, without the index of a release.
func tree(t *testing.T, dir string) library {
	t.Helper()
	got := library{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, ".knack/") {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if info, bad := d.Info(); bad == nil && info.Mode()&0o111 != 0 {
			name = "+" + name
		}
		got[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// installed returns the path of a program, or skips the test.
func installed(t *testing.T, program string) string {
	t.Helper()
	at, err := exec.LookPath(program)
	if err != nil {
		registrytest.Missing(t, "%s is not installed: %v", program, err)
	}
	return at
}

func execute(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestTools checks that common programs unpack a release to the folder that was published, byte for
// byte.
func TestTools(t *testing.T) {
	testwait.Slow(t)
	registrytest.Each(t, unpackedByTools)
}

func unpackedByTools(t *testing.T, host string) {
	m := newMachine(t)
	l := skills(20)
	m.publish(l, m.target(host, "acme/skills", "prod"))
	ref := host + "/acme/skills:prod"
	same := func(t *testing.T, dir string) {
		t.Helper()
		if diff := cmp.Diff(l, tree(t, dir)); diff != "" {
			t.Error(diff)
		}
	}
	t.Run("oras 1.3.0", func(t *testing.T) {
		dir, to := t.TempDir(), t.TempDir()
		execute(t, dir, registrytest.Program(t, "oras"), "pull", "--plain-http", ref)
		files, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
		if err != nil || len(files) < 3 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, file := range files {
			unpack(t, file, to)
		}
		same(t, to)
	})
	t.Run("skopeo and umoci", func(t *testing.T) {
		dir := t.TempDir()
		execute(t, dir, installed(t, "skopeo"), "copy", "--insecure-policy", "--src-tls-verify=false", "docker://"+ref, "oci:image:prod")
		execute(t, dir, installed(t, "umoci"), "unpack", "--rootless", "--image", "image:prod", "bundle")
		same(t, filepath.Join(dir, "bundle", "rootfs"))
	})
	t.Run("COPY --from, by buildah", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("buildah needs more than this user has")
		}
		dir := t.TempDir()
		for name, text := range map[string]string{
			"Containerfile": "FROM scratch\nCOPY --from=" + ref + " / /skills/\n",
			"policy.json":   `{"default":[{"type":"insecureAcceptAnything"}]}`,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		base := []string{installed(t, "buildah"), "--root", dir + "/root", "--runroot", dir + "/run", "--storage-driver", "vfs"}
		execute(t, dir, append(base[:len(base):len(base)], "bud", "--isolation", "chroot", "--tls-verify=false", "--signature-policy", "policy.json", "-t", "test", ".")...)
		execute(t, dir, append(base[:len(base):len(base)], "push", "--signature-policy", "policy.json", "localhost/test", "oci:image:test")...)
		execute(t, dir, installed(t, "umoci"), "unpack", "--rootless", "--image", "image:test", "bundle")
		same(t, filepath.Join(dir, "bundle", "rootfs", "skills"))
	})
}

// unpack unpacks a layer into a folder.
func unpack(t *testing.T, file, to string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	err = archive.Walk(t.Context(), bytes.NewReader(data), int64(len(data)), func(e origin.Node, content io.Reader) error {
		at, mode := filepath.Join(to, e.Path), os.FileMode(0o644)
		if e.Type == origin.Exec {
			mode = 0o755
		}
		data, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		return os.WriteFile(at, data, mode)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCopy checks that a copy in another registry has the digest and the signatures of its source,
// even if one of the registries has no list of referrers. Within one registry, blobs are mounted.
func TestCopy(t *testing.T) {
	registrytest.Each(t, func(t *testing.T, from string) {
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		registrytest.Each(t, func(t *testing.T, to string) {
			m := newMachine(t)
			m.Sign = func(digest string) ([]byte, error) { return trust.Sign(crypto.Signer(key), digest) }
			l := skills(4)
			source, ctx := m.target(from, "acme/skills", "v1.0.0"), t.Context()
			first := m.publish(l, source)
			m.Sign = nil
			// cosign 2 finds signatures by a tag made of the digest.
			data := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`)
			old := strings.Replace(first.Digest, ":", "-", 1) + ".sig"
			if _, err := source.Repository.Put(ctx, old, "application/vnd.oci.image.index.v1+json", data); err != nil {
				t.Fatal(err)
			}
			for _, target := range []struct{ host, repo string }{{to, "other/skills"}, {from, "mirror/skills"}, {to, "near/" + to[len(to)-3:]}} {
				at := m.target(target.host, target.repo, "prod")
				r, err := m.Copy(ctx, source.Repository, "v1.0.0", at)
				if err != nil || r.Digest != first.Digest || r.Manifests != 3 {
					t.Fatalf("%+v, %v", r, err)
				}
				if diff := cmp.Diff(l, m.read(target.host+"/"+target.repo+":prod")); diff != "" {
					t.Error(diff)
				}
				found, err := at.Repository.Referrers(ctx, first.Digest, nil)
				if err != nil || len(found) != 1 {
					t.Errorf("%d signatures, %v", len(found), err)
				}
				if _, err := at.Repository.Resolve(ctx, old); err != nil {
					t.Error(err)
				}
				if target.host == from && r.Sent > 0 {
					t.Errorf("%d blobs were sent within one registry", r.Sent)
				}
				if again, err := m.Copy(ctx, source.Repository, first.Digest, at); err != nil || !again.Unchanged || again.Sent != 0 {
					t.Errorf("the same again: %+v, %v", again, err)
				}
			}
			tagged, err := m.Copy(ctx, source.Repository, "v1.0.0", m.target(from, "acme/skills", "canary-"+to[len(to)-5:], "prod"))
			if err != nil || tagged.Kind != "tag" || tagged.Unchanged || tagged.Sent != 0 {
				t.Errorf("%+v, %v", tagged, err)
			}
			if at, err := source.Repository.Resolve(ctx, "canary-"+to[len(to)-5:]); at != first.Digest || err != nil {
				t.Errorf("canary leads to %s, %v", at, err)
			}
		})
	})
}

// TestCopySigned checks that a repeated copy does not count as unchanged if its source has been
// signed since.
func TestCopySigned(t *testing.T) {
	registrytest.Each(t, func(t *testing.T, host string) {
		m, l := newMachine(t), skills(2)
		source := m.target(host, "acme/skills", "v1.0.0")
		m.publish(l, source)
		for i, to := range []publish.Target{m.target(host, "mirror/skills", "prod"), m.target(registrytest.Start(t).Host, "other/skills", "prod")} {
			expect := func(when string, unchanged bool, statements int) {
				t.Helper()
				r, err := m.Copy(t.Context(), source.Repository, "v1.0.0", to)
				if err != nil || r.Unchanged != unchanged || r.Statements != statements {
					t.Errorf("%d, %s: %+v, %v", i, when, r, err)
				}
			}
			m.DryRun = true
			expect("would be copied", false, i)
			m.DryRun = false
			expect("copied", false, i)
			expect("again", true, 0)
			_, key, err := ed25519.GenerateKey(nil)
			if err != nil {
				t.Fatal(err)
			}
			m.Sign = func(digest string) ([]byte, error) { return trust.Sign(crypto.Signer(key), digest) }
			m.publish(l, source)
			m.Sign, m.DryRun = nil, true
			expect("the signature would be copied", false, 1)
			m.DryRun = false
			expect("the signature", false, 1)
			expect("nothing more", true, 0)
		}
	})
}

// TestSingle checks that each skill of a library can also be published by itself, and that a folder
// that is a skill is published as one skill.
func TestSingle(t *testing.T) {
	registrytest.Each(t, func(t *testing.T, host string) {
		m, l := newMachine(t), skills(3)
		ctx := t.Context()
		near := m.target(host, "acme/skills", "v1.0.0")
		m.publish(l, near)
		all, err := m.Each(ctx, open(t, l.write(t)), func(name string) (publish.Target, error) {
			return m.target(host, "acme/skills/"+name, "v1.0.0"), nil
		}, near.Repository)
		if err != nil || len(all) != 3 {
			t.Fatalf("%v, %v", all, err)
		}
		got := m.read(host + "/acme/skills/skill-001:v1.0.0")
		if len(got) != 3 || got["skill-001/SKILL.md"] != l["team1/skill-001/SKILL.md"] || got["+skill-001/scripts/run.sh"] == "" {
			t.Errorf("%d files", len(got))
		}
		one := library{}
		for name, content := range l {
			if rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "+"), "team1/skill-001/"); ok {
				if name[0] == '+' {
					rest = "+" + rest
				}
				one[rest] = content
			}
		}
		one[".DS_Store"] = "x"
		r := m.publish(one, m.target(host, "acme/one", "v1.0.0"))
		if r.Kind != "skill" || r.Digest != all[1].Digest || r.Left != 1 {
			t.Errorf("%+v, want the digest %s", r, all[1].Digest)
		}
		manifest, err := m.target(host, "acme/one").Repository.Manifest(ctx, "v1.0.0")
		if err != nil || manifest.ArtifactType != "application/vnd.agentskills.skill.v1" || manifest.Annotations["io.agentskills.skill.name"] != "skill-001" || manifest.Annotations["org.opencontainers.image.version"] != "1.0.0" {
			t.Errorf("%+v, %v", manifest, err)
		}
		twice := library{"a/pdf/SKILL.md": registrytest.Skill("pdf", ""), "b/pdf/SKILL.md": registrytest.Skill("pdf", "")}
		if _, err := m.Each(ctx, open(t, twice.write(t)), func(name string) (publish.Target, error) {
			return m.target(host, "acme/"+name, "v1"), nil
		}, nil); err == nil || !strings.Contains(err.Error(), "are both called 'pdf', so they would have one repository") {
			t.Errorf("%v", err)
		}
	})
}

// TestLock checks that a release records the source of each skill that is unchanged since its
// installation.
func TestLock(t *testing.T) {
	host := registrytest.Open(t, registrytest.DockerRegistry, "")
	m, l := newMachine(t), skills(3)
	ctx, to := t.Context(), m.target(host, "acme/skills", "prod")
	first := m.publish(l, to)
	entry := func(at string, digest skill.Digest) lockfile.Skill {
		text := l[at+"/SKILL.md"]
		return lockfile.Skill{Name: "x", Source: "github.com/acme/skills", Path: at, Digest: digest, Files: []lockfile.File{
			{Path: "SKILL.md", Digest: skill.DigestOf([]byte(text)), Size: int64(len(text))},
		}}
	}
	lock := map[string]lockfile.Skill{
		first.Skills[0].Path: entry(first.Skills[0].Path, first.Skills[0].Digest),
		first.Skills[1].Path: entry(first.Skills[1].Path, skill.DigestOf(nil)), // changed since
		"gone":               entry("gone", skill.DigestOf(nil)),
	}
	if _, _, err := m.Library(ctx, open(t, l.write(t)), lock, to); err != nil {
		t.Fatal(err)
	}
	manifest, err := to.Repository.Manifest(ctx, "prod")
	if err != nil {
		t.Fatal(err)
	}
	var packed writer
	if err := to.Repository.Fetch(ctx, manifest.Layers[0], "the index", &packed, func(int64) {}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	err = archive.Walk(ctx, bytes.NewReader(packed.Bytes()), int64(packed.Len()), func(e origin.Node, content io.Reader) error {
		data, err := io.ReadAll(content)
		got[e.Path] = string(data)
		return err
	})
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	// The lock has no entry for changed or missing skills.
	if text := got[lockfile.Name]; !strings.Contains(text, first.Skills[0].Path) || strings.Contains(text, first.Skills[1].Path) || strings.Contains(text, "gone") {
		t.Errorf("the lock is %s", text)
	}
	var index struct {
		Version int
		Skills  []struct {
			Path, Name, Digest string
			Layer              int
		}
	}
	if err := json.Unmarshal([]byte(got[".knack/index.json"]), &index); err != nil || index.Version != 1 || len(index.Skills) != 3 {
		t.Fatalf("%+v, %v", index, err)
	}
	for i, s := range index.Skills {
		if s.Path != first.Skills[i].Path || s.Digest != first.Skills[i].Digest.String() || s.Layer < 1 || s.Layer >= len(manifest.Layers) {
			t.Errorf("%+v", s)
		}
	}
}
