package publish_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/folder"
	"github.com/knack-dev/knack/internal/distribution/origin/oci"
	"github.com/knack-dev/knack/internal/distribution/publish"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/test/origintest"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// machine is a computer that publishes skills.
type machine struct {
	t       *testing.T
	options registry.Options
	*publish.Publisher
}

func newMachine(t *testing.T) *machine {
	fetcher := httpfetch.New(httpfetch.Options{})
	t.Cleanup(fetcher.Close)
	o := registry.Options{Fetcher: fetcher, Read: os.ReadFile, Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	return &machine{t, o, &publish.Publisher{Registries: registry.New(o), Spool: origintest.Spools(t)}}
}

func (m *machine) target(host, repo string, tags ...string) publish.Target {
	return publish.Target{Repository: m.Registries.Repository(host, host, repo).Writable(), Tags: tags}
}

// library maps paths to contents of files. A + before a path makes the file executable.
type library map[string]string

func (l library) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range l {
		mode := os.FileMode(0o644)
		if rest, exec := strings.CutPrefix(name, "+"); exec {
			name, mode = rest, 0o755
		}
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, dir string) origin.Library {
	t.Helper()
	ref, err := origin.Parse(dir, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := folder.Origin{}.Open(t.Context(), ref, origin.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func (m *machine) try(l library, to publish.Target) (*publish.Result, error) {
	m.t.Helper()
	r, _, err := m.Library(m.t.Context(), open(m.t, l.write(m.t)), nil, to)
	return r, err
}

func (m *machine) publish(l library, to publish.Target) *publish.Result {
	m.t.Helper()
	r, err := m.try(l, to)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// sink stores the files that are sent to it, by path. The path of an executable file begins with +.
type sink map[string]string

func (s sink) File(skillPath string, f origin.File, content io.Reader) error {
	data, err := io.ReadAll(content)
	name := strings.TrimPrefix(skillPath+"/"+f.Path, "./")
	if f.Exec {
		name = "+" + name
	}
	s[name] = string(data)
	return err
}

func (s sink) Fail(skillPath string, err error) { s["FAILED "+skillPath] = err.Error() }

// read fetches all skills of a source.
func (m *machine) read(source string) library {
	m.t.Helper()
	ref, err := origin.Parse("oci://"+source, "", "")
	if err != nil {
		m.t.Fatal(err)
	}
	l, err := oci.New(oci.Options{Options: m.options, Spool: m.Spool}).Open(m.t.Context(), ref, origin.Revision{})
	if err != nil {
		m.t.Fatal(err)
	}
	defer l.Close()
	skills, err := l.Skills(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	got := sink{}
	if err := l.Fetch(m.t.Context(), skills, got); err != nil {
		m.t.Fatal(err)
	}
	return library(got)
}

// skills returns a library of n skills, each with a few files.
func skills(n int) library {
	l := library{}
	for i := range n {
		at := fmt.Sprintf("team%d/skill-%03d", i%3, i)
		l[at+"/SKILL.md"] = registrytest.Skill(fmt.Sprintf("skill-%03d", i), strings.Repeat(fmt.Sprintf("Line %d.\r\n", i), 10_000))
		l["+"+at+"/scripts/run.sh"] = fmt.Sprint("echo ", i)
		l[at+"/empty"] = ""
	}
	return l
}

// TestRelease checks that two machines publish the same digest from equal skills, even if the files
// have different times. One changed skill causes at most three new blobs, and the published files
// equal the local ones.
func TestRelease(t *testing.T) {
	registrytest.Each(t, func(t *testing.T, host string) {
		one, two := newMachine(t), newMachine(t)
		l := skills(20)
		l["team1/note.txt"] = "not part of a skill"
		l["team0/skill-000/.hidden"] = "not published"
		first := one.publish(l, one.target(host, "acme/one", "v1.2.3", "prod"))
		if first.Kind != publish.Release || first.Unchanged || len(first.Skills) != 20 || first.Left != 1 || first.Sent != first.Layers+1 {
			t.Errorf("%+v", first)
		}
		second := two.publish(l, two.target(host, "acme/two", "v1.2.3"))
		if first.Digest != second.Digest {
			t.Errorf("two machines made %s and %s", first.Digest, second.Digest)
		}
		again := two.publish(l, two.target(host, "acme/one", "v1.2.3", "prod"))
		if !again.Unchanged || again.Digest != first.Digest || again.Sent != 0 {
			t.Errorf("the same again: %+v", again)
		}
		want := maps.Clone(l)
		delete(want, "team1/note.txt")
		delete(want, "team0/skill-000/.hidden")
		if diff := cmp.Diff(want, one.read(host+"/acme/one:prod")); diff != "" {
			t.Error(diff)
		}
		changed := maps.Clone(l)
		changed["team1/skill-001/SKILL.md"] += "More.\n"
		third := one.publish(changed, one.target(host, "acme/one", "v1.2.4", "prod"))
		if third.Digest == first.Digest || third.Sent > 3 {
			t.Errorf("one changed skill was %d new blobs", third.Sent)
		}
		ctx := t.Context()
		for tag, digest := range map[string]string{"v1.2.3": first.Digest, "v1.2.4": third.Digest, "prod": third.Digest} {
			if at, err := one.target(host, "acme/one").Repository.Resolve(ctx, tag); at != digest || err != nil {
				t.Errorf("%s leads to %s, %v; want %s", tag, at, err, digest)
			}
		}
		m, err := one.target(host, "acme/one").Repository.Manifest(ctx, "v1.2.4")
		if err != nil || m.Annotations["org.opencontainers.image.version"] != "1.2.4" || m.Annotations["io.github.knack-dev.release"] != "1" || m.ArtifactType != "" {
			t.Errorf("%+v, %v", m, err)
		}
		// The number of packs stays while the size of the library stays about the same.
		few := skills(6)
		if r := one.publish(few, one.target(host, "acme/one", "prod")); r.Layers < 3 || len(r.Skills) != 6 {
			t.Errorf("%d skills in %d layers", len(r.Skills), r.Layers)
		}
		if r := one.publish(few, one.target(host, "acme/one", "v1.3.0")); r.Layers < 3 {
			t.Errorf("%d skills in %d layers of a new version", len(r.Skills), r.Layers)
		}
		if r := one.publish(few, one.target(host, "acme/few", "prod")); r.Layers != 2 {
			t.Errorf("%d skills in %d layers of a new repository", len(r.Skills), r.Layers)
		}
	})
}

// recompress stores the layers of a release with another compression, as another version of Go may.
// It returns the digest of the new manifest. alter changes the manifest and the config.
func recompress(t *testing.T, m *machine, to publish.Target, alter func(image, config map[string]any)) string {
	t.Helper()
	ctx, repo := t.Context(), to.Repository
	now, err := repo.Manifest(ctx, to.Tags[0])
	if err != nil {
		t.Fatal(err)
	}
	var image, config map[string]any
	if err := json.Unmarshal(now.Data, &image); err != nil {
		t.Fatal(err)
	}
	fetchBlob := func(d registry.Descriptor) []byte {
		var b writer
		if err := repo.Fetch(ctx, d, "a blob", &b, func(int64) {}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	send := func(data []byte) (digest string) {
		d := registry.Descriptor{Digest: skill.DigestOf(data).String(), Size: int64(len(data))}
		if _, err := repo.Upload(ctx, d, "a blob", bytes.NewReader(data), nil, func(int64) {}); err != nil {
			t.Fatal(err)
		}
		return d.Digest
	}
	for i, d := range now.Layers {
		data := registrytest.Stored(t, fetchBlob(d))
		l := image["layers"].([]any)[i].(map[string]any)
		l["digest"], l["size"] = send(data), len(data)
	}
	if err := json.Unmarshal(fetchBlob(*now.Config), &config); err != nil {
		t.Fatal(err)
	}
	alter(image, config)
	data, _ := json.Marshal(config)
	image["config"].(map[string]any)["digest"], image["config"].(map[string]any)["size"] = send(data), len(data)
	data, _ = json.Marshal(image)
	if _, err := repo.Put(ctx, to.Tags[0], registry.ImageType, data); err != nil {
		t.Fatal(err)
	}
	return skill.DigestOf(data).String()
}

type writer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (w *writer) WriteAt(p []byte, at int64) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at != int64(w.Len()) {
		return 0, fmt.Errorf("at %d of %d", at, w.Len())
	}
	return w.Write(p)
}

// TestTakeOver checks that layers that another version compressed are reused if their content is
// right.
func TestTakeOver(t *testing.T) {
	host := registrytest.Open(t, registrytest.DockerRegistry, "")
	m := newMachine(t)
	l := skills(20)
	to := m.target(host, "acme/one", "prod")
	first := m.publish(l, to)
	other := recompress(t, m, to, func(map[string]any, map[string]any) {})
	if other == first.Digest {
		t.Fatal("the other compression is the same")
	}
	were, err := to.Repository.Manifest(t.Context(), "prod")
	if err != nil {
		t.Fatal(err)
	}
	if r := m.publish(l, to); r.Sent > 0 || len(r.Skills) != 20 {
		t.Errorf("%d blobs were sent", r.Sent)
	}
	current, err := to.Repository.Manifest(t.Context(), "prod")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(were.Layers, current.Layers); diff != "" {
		t.Error(diff)
	}
	l["team1/skill-001/SKILL.md"] += "More.\n"
	if r := m.publish(l, to); r.Sent > 3 {
		t.Errorf("one changed skill was %d new blobs", r.Sent)
	}
	after, err := to.Repository.Manifest(t.Context(), "prod")
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for i := range after.Layers {
		if after.Layers[i].Digest == current.Layers[i].Digest {
			same++
		}
	}
	if same != len(after.Layers)-2 {
		t.Errorf("%d of %d layers are as they were", same, len(after.Layers))
	}
}

// TestHostileLast checks that false statements in the last release do not change the next release.
// It also checks a last release that knack did not make.
func TestHostileLast(t *testing.T) {
	host := registrytest.Open(t, registrytest.DockerRegistry, "")
	m := newMachine(t)
	l := skills(8)
	want := m.publish(l, m.target(host, "acme/clean", "prod")).Digest
	for name, alter := range map[string]func(image, config map[string]any){
		"layers swapped": func(_, config map[string]any) {
			ids := config["rootfs"].(map[string]any)["diff_ids"].([]any)
			config["rootfs"].(map[string]any)["diff_ids"] = append(ids[1:], ids[0])
		},
		"too few": func(_, config map[string]any) {
			config["rootfs"].(map[string]any)["diff_ids"] = []any{}
		},
		"no config": func(_, config map[string]any) { config["rootfs"] = "evil" },
		"packs": func(image, _ map[string]any) {
			image["annotations"].(map[string]any)["io.github.knack-dev.packs"] = "1000000"
		},
		"not a number": func(image, _ map[string]any) {
			image["annotations"].(map[string]any)["io.github.knack-dev.packs"] = "-4"
		},
		"not ours": func(image, _ map[string]any) { image["annotations"] = map[string]any{} },
		"layer types": func(image, _ map[string]any) {
			for _, l := range image["layers"].([]any) {
				l.(map[string]any)["mediaType"] = "application/evil"
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			to := m.target(host, "acme/"+strings.ReplaceAll(name, " ", "-"), "prod")
			m.publish(l, to)
			recompress(t, m, to, alter)
			r := m.publish(l, to)
			// Layers of the last release may be taken over. In that case the digest differs, but
			// the files are the same.
			if r.Digest != want && name != "packs" && name != "not a number" {
				t.Errorf("it made %s, want %s", r.Digest, want)
			}
			if diff := cmp.Diff(l, m.read(host+"/"+to.Repository.Path()+":prod")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRefused checks that one skill that cannot be published stops the release, and that the tag
// does not change.
func TestRefused(t *testing.T) {
	host := registrytest.Open(t, registrytest.DockerRegistry, "")
	m := newMachine(t)
	to := m.target(host, "acme/one", "prod")
	first := m.publish(skills(2), to)
	for name, c := range map[string]struct {
		l    library
		link bool
		want string
	}{
		"no skills":   {l: library{"README.md": "Nothing."}, want: "the library has no skills"},
		"case":        {l: library{"pdf/SKILL.md": registrytest.Skill("pdf", ""), "PDF/SKILL.md": registrytest.Skill("pdf", "")}, want: "the folders 'PDF' and 'pdf' differ only by case, and macOS and Windows have one folder for both"},
		"a link":      {l: library{"pdf/SKILL.md": registrytest.Skill("pdf", "")}, link: true, want: "the skill 'pdf' cannot be published: 'link': the link leads out of the skill's folder and is not followed"},
		"a huge file": {l: library{"pdf/SKILL.md": registrytest.Skill("pdf", ""), "pdf/huge": strings.Repeat("x", origin.MaxSize)}, want: "the skill 'pdf' cannot be published: the skill has more than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := c.l.write(t)
			if c.link {
				if err := os.Symlink("/etc/passwd", filepath.Join(dir, "pdf", "link")); err != nil {
					t.Skip(err)
				}
			}
			_, _, err := m.Library(t.Context(), open(t, dir), nil, to)
			if fmt.Sprint(err) != c.want {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if at, err := to.Repository.Resolve(t.Context(), "prod"); at != first.Digest || err != nil {
				t.Errorf("the tag leads to %s, %v", at, err)
			}
		})
	}
}

// TestOrder checks that a tag is set only after all other content, and after the signatures.
func TestOrder(t *testing.T) {
	proxy := registrytest.NewProxy(t, registrytest.Open(t, registrytest.DockerRegistry, ""))
	m := newMachine(t)
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Sign = func(digest string) ([]byte, error) { return trust.Sign(crypto.Signer(key), digest) }
	proxy.Set(nil)
	r := m.publish(skills(3), m.target(proxy.Host, "acme/one", "v1.0.0", "prod"))
	var puts []string
	for _, line := range proxy.Log() {
		if rest, ok := strings.CutPrefix(line, "PUT /v2/acme/one/"); ok {
			kind, name, _ := strings.Cut(rest, "/")
			if kind == "blobs" || strings.HasPrefix(name, "sha256:") && name != r.Digest {
				name = kind
			}
			puts = append(puts, strings.NewReplacer(r.Digest, "DIGEST", strings.Replace(r.Digest, ":", "-", 1), "FALLBACK").Replace(name))
		}
	}
	want := []string{"blobs", "blobs", "blobs", "DIGEST", "blobs", "blobs", "manifests", "FALLBACK", "v1.0.0", "prod"}
	if diff := cmp.Diff(want, puts); diff != "" || !r.Signed {
		t.Errorf("%s\nsigned: %v", diff, r.Signed)
	}
	if again := m.publish(skills(3), m.target(proxy.Host, "acme/one", "v1.0.0", "prod")); !again.Unchanged || !again.Signed {
		t.Errorf("%+v", again)
	}
	// If the registry fails in between, the tag leads to a complete release.
	step := 3
	if testwait.SecondLane() {
		step = 1
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodHead} {
		for n := 0; n < 12; n += step {
			var seen atomic.Int64
			proxy.Set(func(w http.ResponseWriter, req *http.Request, _ *registrytest.Proxy, _ int) bool {
				if req.Method != method || seen.Add(1) <= int64(n) {
					return false
				}
				w.WriteHeader(http.StatusForbidden)
				return true
			})
			changed := skills(3)
			changed["team0/skill-000/new"] = fmt.Sprint(method, n)
			made, err := m.try(changed, m.target(proxy.Host, "acme/one", "v1.0.0", "prod"))
			proxy.Set(nil)
			at, resolved := m.target(proxy.Host, "acme/one").Repository.Resolve(t.Context(), "prod")
			if err == nil {
				if at != made.Digest || resolved != nil {
					t.Errorf("%s %d: the tag leads to %s, %v", method, n, at, resolved)
				}
				if seen.Load() <= int64(n) {
					break // fewer than n requests were sent, so a greater n refuses nothing either
				}
				continue
			}
			if resolved != nil {
				t.Fatal(resolved)
			}
			got := m.read(proxy.Host + "/acme/one:prod")
			if got["team0/skill-000/SKILL.md"] == "" || len(got) < 9 {
				t.Errorf("%s %d: the tag leads to %d files", method, n, len(got))
			}
		}
	}
}
