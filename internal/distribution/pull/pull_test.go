package pull_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/archive"
	"github.com/knack-dev/knack/internal/distribution/origin/folder"
	"github.com/knack-dev/knack/internal/distribution/origin/oci"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

// replica is a store, and a puller that fills it.
type replica struct {
	*pull.Puller
	t       *testing.T
	dir     string
	store   *store.Store
	servers *httpfetch.Fetcher

	mu    sync.Mutex
	waits []time.Duration
}

func newReplica(t *testing.T, dir string) *replica {
	t.Helper()
	s, err := store.Open(dir, store.Options{Setting: "store.dir"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	servers := httpfetch.New(httpfetch.Options{})
	t.Cleanup(servers.Close)
	r := &replica{t: t, dir: dir, store: s, servers: servers}
	kinds := map[origin.Kind]origin.Origin{
		origin.Folder:  folder.Origin{},
		origin.Archive: archive.New(archive.Options{Spool: s.Spool}),
		origin.OCI: oci.New(oci.Options{Spool: s.Spool, Options: registry.Options{Fetcher: servers, Read: os.ReadFile, Wait: func(ctx context.Context, d time.Duration) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.waits = append(r.waits, d)
			return ctx.Err()
		}}}),
	}
	r.Puller = &pull.Puller{Store: s, Origins: func(k origin.Kind) (origin.Origin, error) { return kinds[k], nil }}
	return r
}

// get resolves and pulls a source.
func (r *replica) get(source string) (store.Release, pull.Report, error) {
	r.t.Helper()
	ref, err := origin.Parse(source, "/", "/")
	if err != nil {
		r.t.Fatal(err)
	}
	at, err := r.Resolve(r.t.Context(), ref)
	if err != nil {
		return store.Release{}, pull.Report{}, err
	}
	return r.Pull(r.t.Context(), ref, at)
}

func (r *replica) must(source string) (store.Release, pull.Report) {
	r.t.Helper()
	got, report, err := r.get(source)
	if err != nil {
		r.t.Fatal(err)
	}
	return got, report
}

// files returns the files of a release that the store has.
func (r *replica) files(release store.Release) registrytest.Skills {
	r.t.Helper()
	all := registrytest.Skills{}
	for _, m := range release.Skills {
		if m.Fault != "" {
			all[m.Path] = "fault: " + m.Fault
			continue
		}
		if _, err := r.store.Find(m.Skill); err != nil {
			r.t.Error(err)
		}
		root := os.DirFS(r.store.Folder(m.Skill))
		err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(root, path)
			all[m.Path+"/"+path] = string(data)
			return err
		})
		if err != nil {
			r.t.Error(err)
		}
	}
	return all
}

// left lists the entries of a folder of the store.
func (r *replica) left(folder string) (names []string) {
	entries, _ := os.ReadDir(filepath.Join(r.dir, folder))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// library returns n skills with two files each.
func library(n int, text string) registrytest.Skills {
	all := registrytest.Skills{}
	for i := range n {
		name := fmt.Sprint("skill-", i)
		all["skills/"+name+"/SKILL.md"] = registrytest.Skill(name, text)
		all["skills/"+name+"/data/x.txt"] = strings.Repeat(name+"\n", i)
	}
	return all
}

// flat moves skills from the folder skills to the root, so that they are in several packs.
func flat(all registrytest.Skills) registrytest.Skills {
	out := registrytest.Skills{}
	for path, content := range all {
		out[strings.TrimPrefix(path, "skills/")] = content
	}
	return out
}

// TestPullRelease checks that a release is pulled layer by layer, and the next release only by its
// changed layers.
func TestPullRelease(t *testing.T) {
	proxy := registrytest.NewProxy(t, registrytest.Start(t).Host)
	skills := flat(library(40, "One."))
	digest := registrytest.Release(t, proxy.Host, "acme/skills", "prod", 8, skills, map[string]string{"org.opencontainers.image.version": "1.0.0"})
	r := newReplica(t, filepath.Join(t.TempDir(), "knack"))
	source := "oci://" + proxy.Host + "/acme/skills:prod"

	proxy.Set(nil)
	got, report := r.must(source)
	if diff := cmp.Diff(skills, r.files(got)); diff != "" {
		t.Error(diff)
	}
	if got.Digest != digest || got.Version != "1.0.0" || len(got.Layers) != 8 || len(got.Skills) != 40 || got.Revision != "oci:"+digest {
		t.Errorf("%+v", got)
	}
	if report.Layers != 8 || report.Done != 8 || report.Fetched != 8 || report.Bytes != report.Total || report.Skills != 40 {
		t.Errorf("%+v", report)
	}
	if n := len(proxy.Log()); n > 9+4 { // the release has 9 layers, of which a replica needs 8
		t.Errorf("%d requests:\n%s", n, strings.Join(proxy.Log(), "\n"))
	}
	recorded, err := r.store.Release(digest)
	recorded.Judged = got.Judged // the source's judgement is not part of the release
	if diff := cmp.Diff(got, recorded); diff != "" || err != nil {
		t.Error(diff, err)
	}

	skills["skill-7/SKILL.md"] = registrytest.Skill("skill-7", "Two.")
	registrytest.Release(t, proxy.Host, "acme/skills", "prod", 8, skills, nil)
	proxy.Set(nil)
	got, report = r.must(source)
	if diff := cmp.Diff(skills, r.files(got)); diff != "" {
		t.Error(diff)
	}
	if report.Fetched != 1 || report.Done != 8 {
		t.Errorf("%+v", report)
	}
	want := []string{"HEAD manifests", "GET manifests", "GET referrers", "GET manifests", "GET manifests", "GET blobs"} // two requests are for signatures, since the registry has no list of referrers
	var log []string
	for _, line := range proxy.Log() {
		method, path, _ := strings.Cut(line, " ")
		log = append(log, method+" "+strings.Split(path, "/")[4])
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Error(diff)
	}

	// A return to the first release fetches no layer.
	registrytest.Tag(t, proxy.Host, "acme/skills", digest, "prod")
	if back, report := r.must(source); back.Digest != digest || report.Fetched != 0 {
		t.Errorf("%+v", report)
	}
	if left := r.left("tmp"); len(left) > 0 {
		t.Error(left)
	}
}

// TestPullNested checks that a skill within a skill is also a skill of the release. Its files
// belong to both skills.
func TestPullNested(t *testing.T) {
	host := registrytest.Start(t).Host
	registrytest.Release(t, host, "a/b", "prod", 2, registrytest.Skills{"a/SKILL.md": registrytest.Skill("a", ""), "a/b/SKILL.md": registrytest.Skill("b", ""), "a/b/x": "x", "a/z": ""}, nil)
	r := newReplica(t, filepath.Join(t.TempDir(), "knack"))
	got, _ := r.must("oci://" + host + "/a/b:prod")
	var counts []int
	for _, m := range got.Skills {
		k, err := r.store.Find(m.Skill)
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, len(k.Files))
	}
	if diff := cmp.Diff([]int{4, 2}, counts); diff != "" {
		t.Error(diff)
	}
}

// TestPullWhole checks that a source without packs can be pulled too.
func TestPullWhole(t *testing.T) {
	proxy := registrytest.NewProxy(t, registrytest.Start(t).Host)
	r := newReplica(t, filepath.Join(t.TempDir(), "knack"))

	// In an image, a later layer replaces files of the layers below.
	over := registrytest.Skills{"pdf/x": "2"}
	registrytest.Image(t, proxy.Host, "acme/pdf", "v1", nil,
		registrytest.Pack(t, registrytest.Skills{"pdf/SKILL.md": registrytest.Skill("pdf", ""), "pdf/x": "1", "pdf/y": "1"}), registrytest.Pack(t, over))
	got, report := r.must("oci://" + proxy.Host + "/acme/pdf:v1")
	if files := r.files(got); files["pdf/x"] != "2" || files["pdf/y"] != "1" || len(got.Skills) != 1 || got.Layers != nil || report.Layers != 0 {
		t.Errorf("%v, %+v", files, got)
	}

	dir := t.TempDir()
	for path, content := range map[string]string{"a/SKILL.md": registrytest.Skill("a", ""), "b/SKILL.md": registrytest.Skill("b", "")} {
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "b", `x\y`), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first, _ := r.must(dir)
	if len(first.Skills) != 2 || first.Skills[0].Fault != "" || !strings.Contains(first.Skills[1].Fault, "backslash") {
		t.Errorf("%+v", first.Skills)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "more"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if second, _ := r.must(dir); second.Digest == first.Digest {
		t.Error("another release has the same name")
	}
}

// TestPullRefused checks that an invalid release is refused with its reason.
func TestPullRefused(t *testing.T) {
	host := registrytest.Start(t).Host
	one := registrytest.Skills{"a/SKILL.md": registrytest.Skill("a", "")}
	release := map[string]string{"io.github.knack-dev.release": "1"}
	index := registrytest.Pack(t, registrytest.Skills{".knack/index.json": "{}"})
	for name, c := range map[string]struct {
		layers [][]byte
		want   string
		reason pull.Reason
	}{
		"a skill twice":    {[][]byte{registrytest.Pack(t, one), registrytest.Pack(t, registrytest.Skills{"a/SKILL.md": registrytest.Skill("a", "other")})}, "two layers of SOURCE have the skill 'a': ask the publisher to publish it again", pull.NoSkills},
		"a layer twice":    {[][]byte{registrytest.Pack(t, one), registrytest.Pack(t, one)}, "has the layer sha256:", pull.NoSkills},
		"a skill within":   {[][]byte{registrytest.Pack(t, one), registrytest.Pack(t, registrytest.Skills{"a/b/SKILL.md": registrytest.Skill("b", "")})}, "the skill 'a/b' of SOURCE lies within 'a', in another layer", pull.NoSkills},
		"a file elsewhere": {[][]byte{registrytest.Pack(t, one), registrytest.Pack(t, registrytest.Skills{"a/x": "", "b/SKILL.md": registrytest.Skill("b", "")})}, "has 'a/x', which is in no skill of that layer", pull.NoSkills},
		"no skills":        {[][]byte{registrytest.Pack(t, registrytest.Skills{"a/x": ""})}, "has no skills", pull.NoSkills},
		"a whiteout":       {[][]byte{registrytest.Pack(t, registrytest.Skills{"a/SKILL.md": registrytest.Skill("a", ""), "a/.wh.x": ""})}, "removes files of the layers below", pull.NoSkills},
		"no tar":           {[][]byte{[]byte("hello")}, "is no tar", pull.NoSkills},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplica(t, filepath.Join(t.TempDir(), "knack"))
			repo := strings.ReplaceAll(name, " ", "-")
			registrytest.Image(t, host, repo, "prod", release, append([][]byte{index}, c.layers...)...)
			source := "oci://" + host + "/" + repo + ":prod"
			_, _, err := r.get(source)
			if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(c.want, "SOURCE", source)) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if got := pull.ReasonOf(err); got != c.reason {
				t.Errorf("reason %q, want %q", got, c.reason)
			}
			if left := slices.Concat(r.left("tmp"), r.left("releases"), r.left("heads")); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}
