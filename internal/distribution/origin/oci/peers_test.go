package oci

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/internal/test/origintest"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/skill"
)

const (
	skillType     = "application/vnd.agentskills.skill.v1"
	skillConfig   = "application/vnd.agentskills.skill.config.v1+json"
	skillContent  = "application/vnd.agentskills.skill.content.v1.tar+gzip"
	containerConf = "application/vnd.oci.image.config.v1+json"
)

// TestPeers checks that artifacts in the layouts of other tools can be installed from each registry
// that accepts them. The layouts are from the sources of the tools in these versions.
func TestPeers(t *testing.T) {
	tree := []string{"SKILL.md", skillMD("pdf"), "references/a.md", "# A\r\n", "+scripts/fill.py", "print()\n"}
	packed := func(prefix string) []byte {
		var files []string
		for i := 0; i < len(tree); i += 2 {
			name, exec := strings.CutPrefix(tree[i], "+")
			name = prefix + name
			if exec {
				name = "+" + name
			}
			files = append(files, name, tree[i+1])
		}
		return tarOf(t, files...)
	}
	want := map[string]string{"SKILL.md": skillMD("pdf"), "references/a.md": "# A\r\n", "scripts/fill.py+": "print()\n"}
	type layers = []any
	for name, c := range map[string]struct {
		path string // of the skill
		push func(p publisher) map[string]any
		// noExec is set if the layout has no executable bit.
		noExec  bool
		version string
	}{
		"skills-oci 0344beb": {path: "pdf", version: "1.4.0", push: func(p publisher) map[string]any {
			return map[string]any{
				"artifactType": skillType,
				"config":       p.blob("x", skillConfig, []byte(`{"name":"pdf","version":"1.4.0"}`)),
				"layers":       layers{p.blob("x", skillContent, gz(append(tarOf(t, "pdf/", "", "pdf/scripts/", "")[:1024], packed("pdf/")...)))},
				"annotations":  map[string]string{registry.TitleKey: "pdf", registry.SkillNameKey: "pdf", registry.VersionKey: "1.4.0"},
			}
		}},
		// Arconia inlines its config, and the layer has no version.
		"Arconia CLI 4f266d2": {path: "pdf", version: "1.4.0", push: func(p publisher) map[string]any {
			config := p.blob("x", skillConfig, []byte(`{"schemaVersion":"1","name":"pdf","version":"1.4.0"}`))
			config["data"] = []byte(`{"schemaVersion":"1","name":"pdf","version":"1.4.0"}`)
			return map[string]any{
				"artifactType": skillType, "config": config,
				"layers":      layers{with(p.blob("x", skillContent, gz(packed("pdf/"))), registry.TitleKey, "pdf.tar.gz")},
				"annotations": map[string]string{registry.TitleKey: "pdf", registry.SkillNameKey: "pdf", registry.VersionKey: "1.4.0"},
			}
		}},
		"acr-skill, April 2026": {path: ".", push: func(p publisher) map[string]any {
			return map[string]any{
				"artifactType": "application/vnd.agent.skill.v1+json",
				"layers":       layers{with(p.blob("x", "application/vnd.agent.skill.content.v1.tar+gzip", gz(packed("./"))), registry.TitleKey, "skill.tar.gz")},
				"annotations":  map[string]string{"org.agent.skill.name": "pdf", "org.agent.skill.version": "1.4.0"},
			}
		}},
		"Flux 2 artifact": {path: "skills/pdf", push: func(p publisher) map[string]any {
			return map[string]any{
				"config": p.blob("x", "application/vnd.cncf.flux.config.v1+json", []byte("{}")),
				"layers": layers{p.blob("x", "application/vnd.cncf.flux.content.v1.tar+gzip", gz(packed("skills/pdf/")))},
			}
		}},
		"Chainguard, chainctl 0.2.282": {path: ".", push: func(p publisher) map[string]any {
			return map[string]any{"config": p.blob("x", "application/vnd.oci.image.config.v1+json", []byte("{}")), "layers": layers{p.blob("x", "application/vnd.oci.image.layer.v1.tar", packed(""))}}
		}},
		// Each layer is a file, so an archive among the layers is a file too.
		"agentskills-oci raw layers": {path: ".", noExec: true, push: func(p publisher) map[string]any {
			list := layers{with(p.blob("x", "application/octet-stream", gz(tarOf(t, "SKILL.md", skillMD("evil")))), registry.TitleKey, "assets/more.tar.gz")}
			for i := 0; i < len(tree); i += 2 {
				list = append(list, with(p.blob("x", "text/plain", []byte(tree[i+1])), registry.TitleKey, strings.TrimPrefix(tree[i], "+")))
			}
			return map[string]any{"artifactType": skillType, "layers": list}
		}},
		// The result of oras push for a folder.
		"oras 1.3 folder": {path: "pdf", push: func(p publisher) map[string]any {
			layer := with(p.blob("x", gzipLayer, gz(packed("pdf/"))), registry.TitleKey, "pdf")
			return map[string]any{"artifactType": "application/x", "layers": layers{with(layer, unpackKey, "true")}}
		}},
		"FROM scratch, several layers": {path: "skills/pdf", push: func(p publisher) map[string]any {
			return map[string]any{
				"config": p.blob("x", containerConf, []byte(`{"architecture":"amd64","os":"linux"}`)),
				"layers": layers{p.blob("x", gzipLayer, gz(tarOf(t, "skills/", "", "skills/pdf/SKILL.md", "old"))), p.blob("x", gzipLayer, gz(packed("skills/pdf/")))},
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			registrytest.Each(t, func(t *testing.T, host string) {
				p := publisher{t: t, host: host}
				p.manifest("x", "stable", c.push(p))
				checkSkill(t, "oci://"+host+"/x:stable", c.path, c.version, want, c.noExec)
			})
		})
	}
	// ToolHive packs one index for all platforms. The files are at the top of the layer.
	t.Run("ToolHive 0.0.40 layout", func(t *testing.T) {
		registrytest.Each(t, func(t *testing.T, host string) {
			p := publisher{t: t, host: host}
			layer := with(p.blob("x", gzipLayer, gz(packed(""))), registry.TitleKey, "skill.tar.gz")
			var children []any
			for _, arch := range []string{"amd64", "arm64"} {
				child := p.manifest("x", "", map[string]any{
					"artifactType": "dev.toolhive.skills.v1", "layers": layers{layer},
					"config":      p.blob("x", containerConf, []byte(`{"os":"linux","architecture":"`+arch+`"}`)),
					"annotations": map[string]string{toolHiveKey: "0.3.1"},
				})
				child["platform"] = map[string]string{"os": "linux", "architecture": arch}
				children = append(children, child)
			}
			p.manifest("x", "stable", map[string]any{"mediaType": indexType, "artifactType": "dev.toolhive.skills.v1", "manifests": children, "annotations": map[string]string{toolHiveKey: "0.3.1"}})
			checkSkill(t, "oci://"+host+"/x:stable", ".", "0.3.1", want, false)
		})
	})
}

// checkSkill installs the only skill of a source and compares its files.
func checkSkill(t *testing.T, source, path, version string, want map[string]string, noExec bool) {
	t.Helper()
	opts, _ := options(t)
	o := New(opts)
	got, skills, err := install(t, o, source)
	if err != nil || len(skills) != 1 || len(got.Failed) > 0 {
		t.Fatalf("%v, %v, %v", skills, got, err)
	}
	if s := skills[0]; s.Name != "pdf" || s.Path != path || s.Description == "" || s.Fault != nil {
		t.Errorf("the skill is %+v", s)
	}
	files := map[string]string{}
	for key, content := range got.Files {
		files[strings.TrimPrefix(key, path+": ")] = content
	}
	expect := map[string]string{}
	if noExec { // the raw layers contain an archive, too
		expect["assets/more.tar.gz"] = string(gz(tarOf(t, "SKILL.md", skillMD("evil"))))
	}
	for key, content := range want {
		if noExec {
			key = strings.TrimSuffix(key, "+")
		}
		expect[key] = content
	}
	if diff := cmp.Diff(expect, files); diff != "" {
		t.Error(diff)
	}
	l, err := open(t, o, source)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Revision().Version; got != version {
		t.Errorf("version %q, want %q", got, version)
	}
}

// TestCollections checks that the skills of a collection are installed if the collection refers to
// other repositories by digests. The sizes in the collection do not matter.
func TestCollections(t *testing.T) {
	for name, refKey := range map[string]string{"skills-oci 0344beb": refNameKey, "Arconia CLI 4f266d2": skillRefKey} {
		t.Run(name, func(t *testing.T) {
			// docker-registry accepts no index over other repositories, unlike some registries.
			// Therefore a proxy answers with such an index.
			host := registrytest.Open(t, registrytest.Distribution, "")
			push := publisher{t: t, host: host}
			child := func(repo string, files ...string) map[string]any {
				layer := push.blob(repo, skillContent, gz(tarOf(t, files...)))
				m := push.manifest(repo, "1.0.0", map[string]any{"artifactType": skillType, "layers": []any{layer}})
				m["size"] = 0
				return m
			}
			entry := func(m map[string]any, host, repo, name string) map[string]any {
				if host != "" {
					m = with(m, refKey, host+"/"+repo+":1.0.0")
				}
				return with(with(m, registry.SkillNameKey, name), registry.DescriptionKey, "About "+name+".")
			}
			index := map[string]any{}
			p := newProxyWithIndex(t, host, "acme/all", index)
			pdf := child("acme/pdf", "pdf/SKILL.md", skillMD("pdf"), "pdf/a", "1")
			index["schemaVersion"], index["mediaType"], index["artifactType"] = 2, indexType, collectionType
			gone := map[string]any{"mediaType": imageType, "digest": "sha256:" + strings.Repeat("1", 64), "size": 0}
			index["manifests"] = []any{
				entry(pdf, p.host(), "acme/pdf", "pdf"),
				entry(child("acme/all", "SKILL.md", skillMD("here")), "", "", "here"),
				entry(child("acme/liar", "SKILL.md", skillMD("liar")), p.host(), "acme/liar", "honest"),
				entry(child("acme/two", "a/SKILL.md", skillMD("a"), "b/SKILL.md", skillMD("b")), p.host(), "acme/two", "two"),
				entry(gone, p.host(), "acme/pdf", "gone"),
				entry(child("acme/same", "SKILL.md", skillMD("same")), p.host(), "acme/same", "same"),
				entry(child("acme/same2", "SKILL.md", skillMD("same")), p.host(), "acme/same2", "same"),
				entry(child("acme/odd", "SKILL.md", skillMD("odd")), p.host(), "acme/../odd", "odd"),
			}
			opts, _ := options(t)
			l, err := open(t, New(opts), "oci://"+p.host()+"/acme/all:1.0.0")
			if err != nil {
				t.Fatal(err)
			}
			before := len(p.log)
			skills, err := l.Skills(t.Context())
			if err != nil || len(skills) != 8 {
				t.Fatalf("%v, %v", skills, err)
			}
			if len(p.log) != before {
				t.Errorf("a list asked for %v", p.log[before:])
			}
			if s := skills[len(skills)-1]; s.Path != "two" || s.Name != "two" || s.Description != "About two." {
				t.Errorf("%+v", s)
			}
			to := origintest.NewSink()
			if err := l.Fetch(t.Context(), skills, to); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]string{"pdf: SKILL.md": skillMD("pdf"), "pdf: a": "1", "here: SKILL.md": skillMD("here")}, to.Files); diff != "" {
				t.Error(diff)
			}
			for name, want := range map[string]string{
				"honest": "the collection calls the skill honest, and its SKILL.md 'liar': add it by itself, as oci://",
				"two":    "the artifact that the collection names holds 2 skills: add it by itself, as oci://",
				"gone":   "the collection's skill cannot be fetched: HOST/acme/pdf has no manifest sha256:111",
				"same":   "the collection has 2 skills of this name: add the one you mean by itself, as oci://",
				"odd":    "the collection says that the skill is in 'HOST/acme/../odd:1.0.0': this is not the name of a repository",
			} {
				if err := to.Failed[name]; err == nil || !strings.HasPrefix(strings.ReplaceAll(err.Error(), p.host(), "HOST"), want) {
					t.Errorf("%s: %v, want %s", name, err, want)
				}
			}
		})
	}
}

// newProxyWithIndex returns a proxy before a registry. It answers with an index that the registry
// would not accept.
func newProxyWithIndex(t *testing.T, host, repo string, index map[string]any) *proxy {
	return newProxy(t, host, func(w http.ResponseWriter, r *http.Request, _ int) bool {
		data, err := json.Marshal(index)
		if err != nil {
			t.Error(err)
		}
		digest := skill.DigestOf(data).String()
		at := "/v2/" + repo + "/manifests/"
		if r.URL.Path != at+"1.0.0" && r.URL.Path != at+digest {
			return false
		}
		w.Header().Set("Content-Type", indexType)
		w.Header().Set("Docker-Content-Digest", digest)
		w.Write(data)
		return true
	})
}

func TestOddManifests(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	body := ""
	p := newProxy(t, host, func(w http.ResponseWriter, r *http.Request, _ int) bool {
		w.Write([]byte(body))
		return true
	})
	digest := "sha256:" + strings.Repeat("0", 64)
	for text, want := range map[string]string{
		"<html>":              " is not JSON as OCI has it",
		`{"schemaVersion":1}`: " is of an old format (schema 1)",
		`{"schemaVersion":2,"layers":[],"manifests":[]}`:                                                                                             " is both an image and an index",
		`{"schemaVersion":2,"layers":[{"digest":"md5:x"}]}`:                                                                                          " has no SHA-256 digest",
		`{"schemaVersion":2,"layers":[{"digest":"` + digest + `","size":268435457}]}`:                                                                " has 256 MiB, and knack reads at most 256",
		`{"schemaVersion":2,"layers":[{"digest":"` + digest + `","size":-1}]}`:                                                                       "layer 1 of ",
		`{"schemaVersion":2,"layers":[` + strings.Repeat(`{},`, 10_000) + `{}]}`:                                                                     " has 10,001 layers, and knack reads at most 10,000",
		`{"schemaVersion":2,"manifests":[]}`:                                                                                                         " is empty, so there are no skills in it",
		`{"schemaVersion":2,"manifests":[{"digest":"x"}]}`:                                                                                           " has no SHA-256 digest",
		`{"schemaVersion":2,"artifactType":"` + collectionType + `","manifests":[]}`:                                                                 " is empty",
		`{"schemaVersion":2}` + strings.Repeat(" ", registry.MaxManifest):                                                                            " has more than 4 MiB",
		`{"schemaVersion":2,"layers":[` + strings.Repeat(`{"digest":"`+digest+`","size":268435456},`, 16) + `{"digest":"` + digest + `","size":1}]}`: " have more than 4 GiB together",
	} {
		body = text
		opts, _ := options(t)
		if _, _, err := install(t, New(opts), "oci://"+p.host()+"/x:v1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
}

// TestPublishers checks that artifacts that the packages of other tools push can be installed.
func TestPublishers(t *testing.T) {
	registrytest.Each(t, func(t *testing.T, host string) {
		folder := filepath.Join(t.TempDir(), "pdf")
		if err := os.MkdirAll(filepath.Join(folder, "scripts"), 0o755); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"SKILL.md": skillMD("pdf"), "a.txt": "\ufeffa\r\n", "empty": "", "scripts/fill.py+": "print()\n"}
		for name, content := range want {
			mode := os.FileMode(0o644)
			if strings.HasSuffix(name, "+") {
				mode = 0o755
			}
			if err := os.WriteFile(filepath.Join(folder, strings.TrimSuffix(name, "+")), []byte(content), mode); err != nil {
				t.Fatal(err)
			}
		}
		for name, c := range map[string]struct{ kind, path string }{
			"toolhive-core 0.0.40": {"toolhive", "."}, "Flux, pkg/oci 0.68.1": {"flux", "."}, "oras-go 2.6.4": {"oras", "pdf"},
		} {
			if out, err := exec.CommandContext(t.Context(), registrytest.Program(t, "publish"), c.kind, folder, host+"/"+c.kind, "v1").CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
			opts, _ := options(t)
			got, skills, err := install(t, New(opts), "oci://"+host+"/"+c.kind+":v1")
			if err != nil || len(skills) != 1 || skills[0].Path != c.path || skills[0].Name != "pdf" {
				t.Errorf("%s: %+v, %v", name, skills, err)
				continue
			}
			for file, content := range want {
				// Tools that give all files the same mode lose the executable bit.
				text, ok := got.Files[c.path+": "+file]
				if plain, found := got.Files[c.path+": "+strings.TrimSuffix(file, "+")]; found && !ok {
					t.Logf("%s: %s is not executable", name, file)
					text, ok = plain, true
				}
				if !ok || text != content {
					t.Errorf("%s: %s is %q", name, file, text)
				}
			}
			if len(got.Files) != len(want) {
				t.Errorf("%s: %d files", name, len(got.Files))
			}
		}
	})
}

// TestPrograms checks that artifacts that skopeo and umoci push can be installed.
func TestPrograms(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	for _, program := range []string{"skopeo", "umoci"} {
		if _, err := exec.LookPath(program); err != nil {
			registrytest.Missing(t, "%s is not installed: %v", program, err)
		}
	}
	dir := t.TempDir()
	files := filepath.Join(dir, "pdf")
	if err := os.MkdirAll(files, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "SKILL.md"), []byte(skillMD("pdf")), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"umoci", "init", "--layout", filepath.Join(dir, "image")},
		{"umoci", "new", "--image", filepath.Join(dir, "image") + ":v1"},
		{"umoci", "insert", "--rootless", "--image", filepath.Join(dir, "image") + ":v1", files, "/skills/pdf"},
		{"skopeo", "copy", "--insecure-policy", "--dest-tls-verify=false", "oci:" + filepath.Join(dir, "image") + ":v1", "docker://" + host + "/acme/image:v1"},
		{"skopeo", "copy", "--insecure-policy", "--format=v2s2", "--dest-tls-verify=false", "oci:" + filepath.Join(dir, "image") + ":v1", "docker://" + host + "/acme/docker:v1"},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	for _, repo := range []string{"image", "docker"} {
		opts, _ := options(t)
		got, _, err := install(t, New(opts), "oci://"+host+"/acme/"+repo+":v1")
		if err != nil || got.Files["skills/pdf: SKILL.md"] != skillMD("pdf") {
			t.Errorf("%s: %v, %v", repo, got, err)
		}
	}
}

var _ origin.Origin = (*Origin)(nil)
