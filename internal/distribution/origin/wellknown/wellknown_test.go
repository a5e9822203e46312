package wellknown

import (
	"archive/zip"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	packed "github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/test/origintest"
	"github.com/knack-dev/knack/skill"
)

func document(name string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + ".\n---\n"
}

func tarball(files ...string) string {
	var b bytes.Buffer
	w := packed.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		if err := w.Add(files[i], strings.HasSuffix(files[i], ".sh"), []byte(files[i+1])); err != nil {
			panic(err)
		}
	}
	_ = w.Close()
	return b.String()
}

func zipped(files ...string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		out, err := w.Create(files[i])
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(out, files[i+1])
	}
	_ = w.Close()
	return b.String()
}

func digest(data string) string { return skill.DigestOf([]byte(data)).String() }

// v2 returns an entry of an index of version 0.2.0.
func v2(name, kind, at, data string) string {
	e, _ := json.Marshal(map[string]string{"name": name, "type": kind, "description": "Does " + name + ".", "url": at, "digest": digest(data)})
	return string(e)
}

func index2(entries ...string) string {
	return `{"$schema":"` + schema2 + `","more":{"x":[1]},"skills":[` + strings.Join(entries, ",") + `]}`
}

// site serves texts by path. A text that begins with "->" is a redirect.
func site(t *testing.T, files map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		switch to, redirect := strings.CutPrefix(text, "->"); {
		case !ok:
			http.NotFound(w, r)
		case redirect:
			http.Redirect(w, r, to, http.StatusFound)
		default:
			_, _ = io.WriteString(w, text)
		}
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func originOf(t *testing.T, s *httptest.Server) (*Origin, *store.Store) {
	t.Helper()
	target, err := store.Open(filepath.Join(t.TempDir(), "store"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return New(Options{Fetch: httpfetch.New(httpfetch.Options{Roots: roots}), Spool: target.Spool}), target
}

// install fetches all skills of a site into a store.
func install(t *testing.T, s *httptest.Server, path string) (map[string]string, error) {
	t.Helper()
	o, target := originOf(t, s)
	l, err := o.Open(t.Context(), origin.Ref{Kind: origin.WellKnown, Source: s.URL + path, Location: s.URL + path}, origin.Revision{})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return origintest.Store(t.Context(), target, l)
}

func TestVersions(t *testing.T) {
	files := []string{"SKILL.md", document("pdf"), "run.sh", "#!/bin/sh\n", "ref/a b.md", "\r\n"}
	whole := map[string]string{"pdf": "pdf Does pdf.: SKILL.md 41 false ref/a b.md 2 false run.sh 10 true", "one": "one Does one.: SKILL.md 41 false"}
	noExec := map[string]string{"pdf": strings.Replace(whole["pdf"], "true", "false", 1), "one": whole["one"]}
	tgz, zip := tarball(files...), zipped(files...)
	const at2, at1 = "/.well-known/agent-skills/", "/.well-known/skills/"
	entry1 := func(list string) string {
		return `{"skills":[{"name":"pdf","description":"Does pdf.","files":[` + list + `]},{"name":"one","description":"Does one.","files":["SKILL.md"]}]}`
	}
	served := func(at string) map[string]string {
		all := map[string]string{at + "one/SKILL.md": document("one")}
		for i := 0; i < len(files); i += 2 {
			all[at+"pdf/"+files[i]] = files[i+1]
		}
		return all
	}
	with := func(all map[string]string, more ...string) map[string]string {
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	for _, tt := range []struct {
		name, path string
		files      map[string]string
		want       map[string]string
	}{
		{"0.2.0, tar", "", with(served(at2), at2+"index.json", index2(v2("pdf", "archive", "pdf.tar.gz", tgz), v2("one", "skill-md", at2+"one/SKILL.md", document("one"))), at2+"pdf.tar.gz", tgz), whole},
		{"0.2.0, zip, below a path", "/docs", map[string]string{
			"/docs" + at2 + "index.json": index2(v2("pdf", "archive", "/files/x?sig=1", zip), v2("one", "skill-md", "./one.md", document("one"))),
			"/files/x":                   zip, "/docs" + at2 + "one.md": document("one"),
		}, noExec},
		{"0.1.0", "", with(served(at1), at1+"index.json", entry1(`"SKILL.md","run.sh","ref/a b.md"`)), noExec},
		{"0.1.0 at the newer path", "", with(served(at2), at2+"index.json", entry1(`"SKILL.md","run.sh","ref/a b.md"`)), noExec},
		{"a draft with digests of files", "", with(served(at2), at2+"index.json", entry1(`{"path":"SKILL.md","digest":"`+digest(document("pdf"))+`"},{"path":"run.sh","digest":"`+digest("#!/bin/sh\n")+`"},"ref/a b.md"`)), noExec},
		{"a page at the newer path", "", with(served(at1), at2+"index.json", "<!DOCTYPE html>", at1+"index.json", entry1(`"SKILL.md","run.sh","ref/a b.md"`)), noExec},
		{"redirected", "", with(served("/v2/"), at2+"index.json", "->/v2/index.json", "/v2/index.json", index2(v2("pdf", "archive", "pdf.tgz", tgz), v2("one", "skill-md", "one/SKILL.md", document("one"))), "/v2/pdf.tgz", tgz), whole},
	} {
		got, err := install(t, site(t, tt.files), tt.path)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", tt.name, err, diff)
		}
	}
}

// TestFaults checks the fault of each kind of unusable entry, and that the usable entry beside them
// is fetched.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("reads indexes and files of megabytes")
	}
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a server inside was asked") }))
	t.Cleanup(inside.Close)
	good := document("good")
	nested, link := tarball("pdf/SKILL.md", good), tarball("SKILL.md", good, "../x", "y")
	e := func(name, more string) string { return `{"name":"` + name + `","description":"d",` + more + `}` }
	sum := `"digest":"` + digest("x") + `"`
	got, err := install(t, site(t, map[string]string{
		"/.well-known/agent-skills/index.json": index2(
			v2("good", "skill-md", "/good", good), v2("changed", "skill-md", "/good", "other"), v2("changed-archive", "archive", "/nested", "other"), v2("missing", "skill-md", "/missing", good),
			v2("inside", "skill-md", inside.URL, good), v2("redirected", "skill-md", "/inside", good), v2("metadata", "archive", "https://169.254.169.254/", good), v2("plain", "skill-md", "http://example.com/", good), v2("password", "skill-md", "https://u:canary@example.com/", good),
			v2("nested", "archive", "/nested", nested), v2("leads-out", "archive", "/out", link), v2("text", "archive", "/good", good), v2("type", "wasm", "/good", good),
			e("no-url", `"type":"skill-md",`+sum), e("no-digest", `"type":"skill-md","url":"/good"`), e("short-digest", `"type":"skill-md","url":"/good","digest":"sha256:00"`), e("typed", `"type":"skill-md","url":7,`+sum),
			v2("../x", "skill-md", "/good", good), v2("Upper", "skill-md", "/good", good), v2("twice", "skill-md", "/good", good), v2("twice", "skill-md", "/good", good), v2("large", "skill-md", "/large", strings.Repeat("x", skill.MaxSkillMD+1)),
		),
		"/good": good, "/nested": nested, "/out": link, "/inside": "->" + inside.URL + "/", "/large": strings.Repeat("x", skill.MaxSkillMD+1),
	}), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"good": "SKILL.md", "changed": "other bytes than the index says", "changed-archive": "other bytes", "missing": "no such file", "inside": "private network", "redirected": "private network",
		"metadata": "private network", "plain": "only https", "password": "user name or a password", "nested": "no SKILL.md at its top", "leads-out": "leads out", "text": "neither a zip", "type": "'wasm'",
		"no-url": "no address", "no-digest": "no digest", "short-digest": "no digest", "typed": "field of another type", "../x": "no valid name", "Upper": "no valid name", "twice": "two skills", "large": "larger than",
	} {
		if !strings.Contains(got[name], want) || strings.Contains(got[name], "canary") {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("and %v", got)
	}
	list := func(files string) string { return `{"skills":[{"name":"x","description":"d","files":` + files + `}]}` }
	for files, want := range map[string]string{
		`["SKILL.md","../../x"]`: "leads out", `["a"]`: "lists no SKILL.md", `["SKILL.md","SKILL.md"]`: "twice", `["SKILL.md",7]`: "something else than files", `"SKILL.md"`: "no list of files",
		`["SKILL.md","gone"]`: "no such file", `["SKILL.md","/etc/passwd"]`: "absolute", `["SKILL.md",{"path":"other","digest":"` + digest("x") + `"}]`: "other bytes", `["SKILL.md","large"]`: "64 MiB",
		"[" + strings.Repeat(`"x",`, 5000) + `"SKILL.md"]`: "twice",
	} {
		at := "/.well-known/skills/x/"
		got, err := install(t, site(t, map[string]string{"/.well-known/skills/index.json": list(files), at + "SKILL.md": good, at + "other": "y", at + "large": strings.Repeat("x", origin.MaxSize)}), "")
		if err != nil || !strings.Contains(got["x"], want) {
			t.Errorf("%.60s: %v, %v, want %q", files, got, err, want)
		}
	}
}

func TestIndexes(t *testing.T) {
	if testing.Short() {
		t.Skip("reads indexes and files of megabytes")
	}
	const at = "/.well-known/agent-skills/index.json"
	for text, want := range map[string]string{
		``: "offers no skills", `[]`: "offers no skills", `null`: "offers no skills", `{"skills":{}}`: "offers no skills", `{"x":1}`: "offers no skills",
		`{"skills":[`:               "damaged",
		`{"skills":[],"skills":[]}`: "two lists",
		`{"$schema":"https://schemas.agentskills.io/discovery/9.0.0/schema.json","skills":[]}`: "version is not known",
		`{"$schema":7,"skills":[]}`:                                      "damaged",
		`{"skills":[` + strings.Repeat(`{},`, origin.MaxSkills) + `{}]}`: "more than 50,000 skills",
		`{"skills":[]` + strings.Repeat(" ", maxIndex) + `}`:             "larger than 16 MiB",
		`{"x":` + strings.Repeat(`[`, 20_000):                            "damaged",
		"->https://169.254.169.254/":                                     "private network",
	} {
		if got, err := install(t, site(t, map[string]string{at: text}), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, %v, want %q", text, got, err, want)
		}
	}
	// A revision changes with the index. An index without digests has no revision.
	s := site(t, map[string]string{at: index2(), "/x" + at: index2(v2("a", "skill-md", "/a", "a")), "/y" + at: `{"skills":[]}`,
		"/1" + at: index2(v2("a", "skill-md", "/a", "a"), v2("b", "skill-md", "/b", "b")), "/2" + at: " " + index2(v2("b", "skill-md", "/elsewhere", "b"), v2("a", "skill-md", "/a", "a"))})
	o, _ := originOf(t, s)
	var ids []string
	for _, path := range []string{"", "/x", "/y", "/1", "/2"} {
		r, err := o.Resolve(t.Context(), origin.Ref{Source: s.URL + path, Location: s.URL + path})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	if len(ids[0]) != 5+64 || ids[0] == ids[1] || ids[2] != "" || ids[3] == ids[1] || ids[3] != ids[4] {
		t.Error(ids)
	}
	if _, err := New(Options{Offline: true}).Resolve(t.Context(), origin.Ref{Location: s.URL}); !errors.Is(err, origin.ErrOffline) {
		t.Error(err)
	}
}

// TestIndexMemory checks that large hostile indexes take at most 64 MiB of memory.
func TestIndexMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads indexes and files of megabytes")
	}
	at, _ := url.Parse("https://example.com/.well-known/agent-skills/index.json")
	for name, text := range map[string]string{
		"files":   `{"skills":[{"name":"x","files":[` + strings.Repeat(`"",`, maxIndex/4) + `""]}]}`,
		"entries": `{"skills":[` + strings.Repeat(`{"files":[""]},`, origin.MaxSkills-1) + `{}]}`,
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		x, err := parse(strings.NewReader(text), at)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.entries {
			_ = x.fault(&x.entries[i])
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if growth := int64(after.HeapAlloc) - int64(before.HeapAlloc); growth > 64<<20 {
			t.Errorf("%s: %d MiB", name, growth>>20)
		}
		runtime.KeepAlive(x)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(index2(v2("pdf", "archive", "pdf.tar.gz", "x")))
	f.Add(`{"skills":[{"name":"x","description":"d","files":["SKILL.md",{"path":"a","digest":""}]}]}`)
	at, _ := url.Parse("https://example.com/.well-known/agent-skills/index.json")
	f.Fuzz(func(t *testing.T, text string) {
		x, err := parse(strings.NewReader(text), at)
		if err != nil {
			return
		}
		for i := range x.entries {
			e := &x.entries[i]
			if x.fault(e) != nil {
				continue
			}
			if e.at == nil || !skill.ValidName(e.Name) || x.signed && e.sum == (skill.Digest{}) {
				t.Errorf("%+v is taken", e)
			}
			if files, _ := e.files(); !x.signed {
				for _, f := range files {
					if origin.CheckPath(f.Path) != nil {
						t.Errorf("path %q", f.Path)
					}
				}
			}
		}
	})
}
