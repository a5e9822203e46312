package oci

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

func TestImage(t *testing.T) {
	registrytest.Each(t, func(t *testing.T, host string) {
		p := publisher{t: t, host: host}
		// Carriage returns, a byte order mark, binary bytes, and an empty file arrive unchanged.
		digest := p.image("acme/skills", "v1.2.0",
			gz(tarOf(t, "skills/", "", "skills/pdf/SKILL.md", skillMD("pdf"), "skills/pdf/a.txt", "old", "README.md", "x")),
			tarOf(t, "./skills/pdf/a.txt", "\ufeffnew\r\n", "+skills/pdf/run.sh", "#!/bin/sh\n", "skills/pdf/empty", "", "skills/pdf/b.bin", "\x00\xff\xfe", "skills/pdf/.env", "secret"),
			gz(tarOf(t, "skills/xls/SKILL.md", skillMD("xls"), "skills/pdf/deep/SKILL.md", skillMD("deep"))),
		)
		opts, _ := options(t)
		o := New(opts)
		source := "oci://" + host + "/acme/skills:v1.2.0"
		got, skills, err := install(t, o, source)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, s := range skills {
			found = append(found, fmt.Sprintf("%s %s %q %d %v", s.Path, s.Name, s.Description, s.Left, s.Fault))
		}
		if diff := cmp.Diff([]string{
			`skills/pdf pdf "Does what pdf is for." 1 <nil>`,
			`skills/pdf/deep deep "Does what deep is for." 0 <nil>`,
			`skills/xls xls "Does what xls is for." 0 <nil>`,
		}, found); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]string{
			"skills/pdf: SKILL.md": skillMD("pdf"), "skills/pdf: a.txt": "\ufeffnew\r\n", "skills/pdf: run.sh+": "#!/bin/sh\n", "skills/pdf: empty": "", "skills/pdf: b.bin": "\x00\xff\xfe",
			"skills/pdf: deep/SKILL.md": skillMD("deep"), "skills/pdf/deep: SKILL.md": skillMD("deep"), "skills/xls: SKILL.md": skillMD("xls"),
		}, got.Files); diff != "" || len(got.Failed) > 0 {
			t.Error(diff, got.Failed)
		}

		ref, _ := origin.Parse(source, "", "")
		at, err := o.Resolve(t.Context(), ref)
		if want := (origin.Revision{ID: "oci:" + digest, Version: "1.2.0"}); at != want || err != nil {
			t.Errorf("resolved to %v, %v; want %v", at, err, want)
		}
		// If the tag moves, the revision and the digest still have the old content.
		p.image("acme/skills", "v1.2.0", gz(tarOf(t, "SKILL.md", skillMD("other"))))
		old, err := o.Open(t.Context(), ref, at)
		if err != nil {
			t.Fatal(err)
		}
		defer old.Close()
		if list, err := old.Skills(t.Context()); len(list) != 3 || err != nil {
			t.Errorf("the old revision has %v, %v", list, err)
		}
		if _, list, err := install(t, o, source); len(list) != 1 || err != nil {
			t.Errorf("the new revision has %v, %v", list, err)
		}
		if _, list, err := install(t, o, source+"@"+digest); len(list) != 3 || err != nil {
			t.Errorf("the digest has %v, %v", list, err)
		}
	})
}

func TestVersions(t *testing.T) {
	registrytest.Each(t, func(t *testing.T, host string) {
		p := publisher{t: t, host: host}
		layer := gz(tarOf(t, "SKILL.md", skillMD("pdf")))
		want := []string{}
		for i := range 3 {
			want = append(want, fmt.Sprintf("v1.%d.0", i))
			p.image("acme/pdf", want[i], layer)
		}
		p.image("acme/pdf", "sha256-"+strings.Repeat("0", 64)+".sig", layer)
		opts, _ := options(t)
		ref, _ := origin.Parse("oci://"+host+"/acme/pdf", "", "")
		got, err := New(opts).Versions(t.Context(), ref)
		slices.Sort(got)
		if !slices.Equal(got, want) || err != nil {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	})
}

// TestPages checks that a list of tags is read page by page, from one host only.
func TestPages(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	layer := gz(tarOf(t, "SKILL.md", skillMD("pdf")))
	want := []string{}
	for i := range 5 {
		want = append(want, fmt.Sprintf("v1.%d.0", i))
		publisher{t: t, host: host}.image("acme/pdf", want[i], layer)
	}
	elsewhere := false
	p := newProxy(t, host, func(w http.ResponseWriter, r *http.Request, _ int) bool {
		query := r.URL.Query()
		query.Set("n", "2")
		r.URL.RawQuery = query.Encode()
		if elsewhere {
			w.Header().Set("Link", `<https://169.254.169.254/v2/acme/pdf/tags/list?last=x>; rel="next"`)
			io.WriteString(w, `{"tags":["v1.0.0"]}`)
		}
		return elsewhere
	})
	opts, _ := options(t)
	o := New(opts)
	ref, _ := origin.Parse("oci://"+p.host()+"/acme/pdf", "", "")
	got, err := o.Versions(t.Context(), ref)
	if slices.Sort(got); !slices.Equal(got, want) || err != nil || len(p.log) != 3 {
		t.Errorf("%v, %v after %v; want %v", got, err, p.log, want)
	}
	elsewhere = true
	if got, err := o.Versions(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "the list of tags goes on at another host") {
		t.Errorf("%v, %v", got, err)
	}
}

// TestEndlessTags checks that a list of tags that does not end is given up, even if it has only
// signatures.
func TestEndlessTags(t *testing.T) {
	for name, atOnce := range map[string]int{"small pages": 1, "large pages": 2000} {
		pages := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if pages++; pages > 2*1000 {
				return
			}
			w.Header().Set("Link", fmt.Sprintf(`</v2/acme/pdf/tags/list?last=%d>; rel="next"`, pages))
			fmt.Fprintf(w, `{"tags":["sha256-0"%s]}`, strings.Repeat(`,"sha256-1"`, atOnce-1))
		}))
		opts, _ := options(t)
		ref, _ := origin.Parse("oci://"+strings.TrimPrefix(server.URL, "http://")+"/acme/pdf", "", "")
		got, err := New(opts).Versions(t.Context(), ref)
		server.Close()
		if err == nil || !strings.Contains(err.Error(), "has more than 100,000 tags, or 1,000 pages of them: name the one you want") || pages != min(1000, 100_000/atOnce+1) {
			t.Errorf("%s: %d tags, %v after %d pages", name, len(got), err, pages)
		}
	}
}

func TestAbsent(t *testing.T) {
	registrytest.Each(t, func(t *testing.T, host string) {
		publisher{t: t, host: host}.image("acme/pdf", "v1", gz(tarOf(t, "SKILL.md", skillMD("pdf"))))
		opts, _ := options(t)
		o := New(opts)
		nowhere := "sha256:" + strings.Repeat("0", 64)
		for source, want := range map[string]string{
			"/acme/pdf:v9":            host + "/acme/pdf has no tag 'v9'",
			"/acme/pdf":               host + "/acme/pdf has no tag 'latest'",
			"/acme/none:v1":           host + "/acme/none has no tag 'v1'",
			"/acme/pdf@" + nowhere:    host + "/acme/pdf has no manifest " + nowhere,
			"/acme/pdf:v1@" + nowhere: host + "/acme/pdf has no manifest " + nowhere,
		} {
			_, _, err := install(t, o, "oci://"+host+source)
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", source, err, want)
			}
			ref, _ := origin.Parse("oci://"+host+source, "", "")
			if _, err := o.Resolve(t.Context(), ref); ref.Digest == "" && (err == nil || err.Error() != want) {
				t.Errorf("resolve %s: %v, want %s", source, err, want)
			}
		}
	})
}

// TestHostileLayers checks that no entry of a hostile layer gets out of its skill, and that a bad
// skill does not affect the others.
func TestHostileLayers(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	p := publisher{t: t, host: host}
	good := []string{"good/SKILL.md", skillMD("good")}
	layers := func(l ...[]byte) [][]byte { return l }
	more := func(files ...string) [][]byte { return layers(gz(tarOf(t, slices.Concat(good, files)...))) }
	opts, _ := options(t)
	o := New(opts)
	for name, c := range map[string]struct {
		layers [][]byte
		want   string // the error, or the fault of the skill "bad"
	}{
		"link":            {more("bad/SKILL.md", skillMD("bad"), "bad/x", "->/etc/passwd"), ""},
		"link elsewhere":  {more("bin", "->usr/bin", "bad/SKILL.md", skillMD("bad")), ""},
		"link replaced":   {layers(more("bad/SKILL.md", skillMD("bad"), "bad/x", "->/etc/passwd")[0], tarOf(t, "bad/x", "y")), ""},
		"link in a layer": {layers(more("bad/SKILL.md", skillMD("bad"), "bad/x", "y")[0], tarOf(t, "bad/x", "->/etc/passwd")), ""},
		"up":              {more("../evil", "x"), "leads out of the folder"},
		"up inside":       {more("bad/../../evil", "x"), "leads out of the folder"},
		"absolute":        {more("/etc/evil", "x"), "absolute path"},
		"whiteout":        {layers(more("bad/SKILL.md", skillMD("bad"))[0], tarOf(t, "bad/.wh.x", "")), "layer 2 of 2 of LABEL has 'bad/.wh.x': it removes files of the layers below (a whiteout), which knack does not do: ask the publisher for a single layer"},
		"opaque":          {layers(more("bad/SKILL.md", skillMD("bad"))[0], tarOf(t, "bad/.wh..wh..opq", "")), "a whiteout"},
		"twice":           {more("bad/SKILL.md", skillMD("bad"), "bad/x", "1", "bad/x", "2"), "is there twice"},
		"case":            {layers(more("bad/SKILL.md", skillMD("bad"), "bad/x", "1")[0], tarOf(t, "bad/X", "2")), "only in case"},
		"file and folder": {layers(more("bad/SKILL.md", skillMD("bad"), "bad/x", "1")[0], tarOf(t, "bad/x/y", "2")), "is both a file and a folder"},
		"backslash":       {more("bad/SKILL.md", skillMD("bad"), `bad/a\b`, "1"), "backslash"},
		"skill's name":    {more("b\nad/SKILL.md", skillMD("bad")), "control character"},
		"cut":             {layers(gz(tarOf(t, good...)[:540])), "cut off"},
		"bomb":            {layers(gz(tarOf(t, "SKILL.md", skillMD("x"), "zeros", strings.Repeat("\x00", 100<<20)))), "times its size"},
		"zstd":            {layers([]byte("\x28\xb5\x2f\xfd and more")), "layer 1 of 1 of LABEL: it is packed with zstd, which knack does not read: ask the publisher for gzip"},
		"no skill":        {layers(gz(tarOf(t, "bin/sh", "x")), tarOf(t, ".wh.bin", "")), "LABEL has no skills: no file of its 2 layers is called SKILL.md"},
		"nothing":         {nil, "LABEL has no skills: no file of its 0 layers is called SKILL.md"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := "hostile/" + strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "'", "")
			p.image(repo, "latest", c.layers...)
			source := "oci://" + host + "/" + repo
			got, skills, err := install(t, o, source)
			text := ""
			if err != nil {
				text = strings.ReplaceAll(err.Error(), source, "LABEL")
			}
			for _, s := range skills {
				if s.Fault != nil {
					text = s.Fault.Error()
				}
			}
			if (c.want == "") != (text == "") || !strings.Contains(text, c.want) {
				t.Errorf("%q, want %q", text, c.want)
			}
			if err != nil {
				return
			}
			if got.Files["good: SKILL.md"] == "" {
				t.Errorf("the good skill is not installed: %v", slices.Sorted(maps.Keys(got.Files)))
			}
			if c.want != "" && len(got.Files) != 1 {
				t.Errorf("more than the good skill is installed: %v", slices.Sorted(maps.Keys(got.Files)))
			}
		})
	}
}

// TestManyLayers checks that an artifact may have more layers than a process can have open files.
func TestManyLayers(t *testing.T) {
	host := registrytest.Open(t, registrytest.Distribution, "")
	layers := [][]byte{gz(tarOf(t, "pdf/SKILL.md", skillMD("pdf")))}
	for i := range 60 {
		layers = append(layers, tarOf(t, fmt.Sprintf("pdf/%d", i), fmt.Sprint(i)))
	}
	publisher{t: t, host: host}.image("acme/pdf", "v1", layers...)
	opts, _ := options(t)
	spools, spool := 0, opts.Spool
	opts.Spool = func() (origin.Spool, error) {
		spools++
		return spool()
	}
	got, _, err := install(t, New(opts), "oci://"+host+"/acme/pdf:v1")
	if err != nil || len(got.Files) != 61 || got.Files["pdf: 59"] != "59" || spools != 1 {
		t.Errorf("%d files, %d spools, %v", len(got.Files), spools, err)
	}
}

// FuzzManifest checks that any bytes can be read as a manifest, and that the skills of a collection
// have valid paths and repositories.
func FuzzManifest(f *testing.F) {
	digest := "sha256:" + strings.Repeat("0", 64)
	for _, text := range []string{
		`{"schemaVersion":2,"layers":[{"digest":"` + digest + `","size":5,"annotations":{"org.opencontainers.image.title":"SKILL.md"}}]}`,
		`{"schemaVersion":2,"artifactType":"` + collectionType + `","manifests":[{"digest":"` + digest + `","size":0,"annotations":{"io.agentskills.skill.ref":"ghcr.io/a/b:1","io.agentskills.skill.name":"b"}}]}`,
		`{"schemaVersion":2,"artifactType":"` + collectionType + `","manifests":[{"digest":"` + digest + `","annotations":{"org.opencontainers.image.ref.name":"a@b/../c?d"}}]}`,
		`{"schemaVersion":2,"manifests":[{"digest":"` + digest + `"}]}`,
	} {
		f.Add([]byte(text))
	}
	o := New(Options{Options: registry.Options{Fetcher: httpfetch.New(httpfetch.Options{})}})
	here := o.registries.Repository("r.example", "r.example", "acme/all")
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := registry.ParseManifest(data, digest)
		if err != nil {
			return
		}
		children, err := o.children(here, m)
		if err != nil {
			return
		}
		if l := (&library{children: children}); len(children) > 0 {
			if skills, err := l.Skills(t.Context()); err != nil || len(skills) != len(children) {
				t.Fatalf("%d skills of %d, %v", len(skills), len(children), err)
			}
		}
		for _, c := range children {
			if origin.CheckPath(c.path) != nil {
				t.Errorf("the path %q", c.path)
			}
			if c.fault == nil && (c.repo.Check() != nil || c.repo.Named() != "r.example") {
				t.Errorf("the repository %s, reached as of %s", c.repo, c.repo.Named())
			}
		}
	})
}
