package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	packed "github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/test/origintest"
)

const document = "\ufeff---\r\nname: pdf\r\ndescription: Reads files.\r\nmetadata:\r\n  github-ref: v1\r\n---\r\n"

// files lists the files of a library: a skill with another skill in it.
var files = []struct{ path, content string }{
	{"lib/README.md", "no skill"},
	{"lib/pdf/SKILL.md", document},
	{"lib/pdf/.env", "hidden"},
	{"lib/pdf/data.bin", "\x00\xff\r\n"},
	{"lib/pdf/empty", ""},
	{"lib/pdf/run.sh", "#!/bin/sh\n"},
	{"lib/pdf/sub/SKILL.md", "---\nname: sub\ndescription: Within.\n---\n"},
	{"lib/pdf/sub/x", "x"},
}

func tarball(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := packed.NewWriter(&b)
	for _, f := range files {
		if err := w.Add(f.path, strings.HasSuffix(f.path, ".sh"), []byte(f.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.path, Method: zip.Deflate}
		h.SetMode(0o644)
		if strings.HasSuffix(f.path, ".sh") {
			h.SetMode(0o755)
		}
		out, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(out, f.content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func opened(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "store"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// install fetches all skills of a source into a store.
func install(ctx context.Context, s *store.Store, o origin.Origin, ref origin.Ref) (map[string]string, error) {
	l, err := o.Open(ctx, ref, origin.Revision{})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return origintest.Store(ctx, s, l)
}

var want = map[string]string{
	"lib/pdf":     "pdf Reads files.: SKILL.md 80 false data.bin 4 false empty 0 false run.sh 10 true sub/SKILL.md 39 false sub/x 1 false",
	"lib/pdf/sub": "sub Within.: SKILL.md 39 false x 1 false",
}

// TestOpen checks that the same skills are read from a zip and a tar.gz, from the disk and over
// https.
func TestOpen(t *testing.T) {
	at := t.TempDir()
	archives := map[string][]byte{"lib.zip": zipped(t), "lib.skill": zipped(t), "lib.tar.gz": tarball(t), "lib.tgz": tarball(t)}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/old/") {
			http.Redirect(w, r, strings.TrimPrefix(r.URL.Path, "/old"), http.StatusFound)
			return
		}
		_, _ = w.Write(archives[strings.TrimPrefix(r.URL.Path, "/")])
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	s := opened(t)
	o := New(Options{Fetch: httpfetch.New(httpfetch.Options{Roots: roots}), Spool: s.Spool})
	for name, data := range archives {
		path := filepath.Join(at, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(at, "link-"+name)); err != nil {
			t.Skip(err)
		}
		revision := ""
		for _, location := range []string{path, filepath.Join(at, "link-"+name), server.URL + "/" + name, server.URL + "/old/" + name} {
			ref, err := origin.Parse(location, "", "")
			if err != nil {
				t.Fatal(err)
			}
			got, err := install(t.Context(), s, o, ref)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %v\n%s", location, err, diff)
			}
			r, err := o.Resolve(t.Context(), ref)
			if revision == "" {
				revision = r.ID
			}
			if err != nil || r.ID != revision || !strings.HasPrefix(r.ID, "http:") || len(r.ID) != 5+64 {
				t.Errorf("%s: revision %q, %v", location, r.ID, err)
			}
		}
	}
}

// sink refuses the files of one skill, and lists the other files.
type sink struct {
	refuse string
	got    []string
}

func (s *sink) File(skill string, f origin.File, _ io.Reader) error {
	if skill == s.refuse {
		return errors.New("refused")
	}
	s.got = append(s.got, skill+": "+f.Path)
	return nil
}

func (s *sink) Fail(skill string, err error) { s.got = append(s.got, skill+" failed: "+err.Error()) }

// TestRefusedOuter checks that the refusal of a skill affects neither the skill inside it nor the
// skill around it.
func TestRefusedOuter(t *testing.T) {
	data := tarball(t)
	for refuse, want := range map[string][]string{
		"lib/pdf":     {"lib/pdf/sub: SKILL.md", "lib/pdf/sub: x"},
		"lib/pdf/sub": {"lib/pdf: SKILL.md", "lib/pdf: data.bin", "lib/pdf: empty", "lib/pdf: run.sh", "lib/pdf: sub/SKILL.md", "lib/pdf: sub/x"},
	} {
		to := &sink{refuse: refuse}
		r := bytes.NewReader(data)
		if err := Send(t.Context(), r, r.Size(), []origin.Skill{{Path: "lib/pdf"}, {Path: "lib/pdf/sub"}}, to); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, to.got); diff != "" {
			t.Errorf("%s is refused: %s", refuse, diff)
		}
	}
	to := &sink{}
	r := bytes.NewReader(data)
	err := Send(t.Context(), r, r.Size(), []origin.Skill{{Path: "lib/pdf", Fault: errors.New("faulty")}}, to)
	if diff := cmp.Diff([]string{"lib/pdf failed: faulty"}, to.got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestErrors(t *testing.T) {
	at := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(at, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := zipped(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page.zip":
			_, _ = io.WriteString(w, "<!DOCTYPE html>")
		case "/large.zip":
			w.Header().Set("Content-Length", fmt.Sprint(MaxRemote+1))
		case "/endless.zip":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		case "/cut.zip":
			w.Header().Set("Content-Length", fmt.Sprint(len(good)))
			_, _ = w.Write(good[:len(good)/2])
		case "/inside.zip":
			http.Redirect(w, r, "https://169.254.169.254/?canary", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	s := opened(t)
	o := New(Options{Fetch: httpfetch.New(httpfetch.Options{Roots: roots}), Spool: s.Spool})
	var none bytes.Buffer
	_ = packed.NewWriter(&none).Close()
	for location, want := range map[string]string{
		filepath.Join(at, "none.zip"):      "there is no file",
		at:                                 "cannot be read",
		file("text.zip", []byte("text")):   "neither a zip nor a tar.gz",
		file("cut.zip", good[:100]):        "the archive is refused",
		file("empty.tar.gz", none.Bytes()): "there is no skill in the archive",
		server.URL + "/none.zip":           "/none.zip: there is no such file (404)",
		server.URL + "/page.zip":           "it is a web page",
		server.URL + "/large.zip":          "larger than 64 MiB",
		server.URL + "/endless.zip":        "larger than 64 MiB",
		server.URL + "/cut.zip":            "cut.zip",
		server.URL + "/inside.zip":         "private network",
		"https://127.0.0.1:1/x.zip":        "refused",
	} {
		got, err := install(t.Context(), s, o, origin.Ref{Kind: origin.Archive, Source: location, Location: location})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, %v, want %q", location, got, err, want)
		}
	}
	offline := New(Options{Spool: s.Spool, Offline: true})
	if _, err := offline.Open(t.Context(), origin.Ref{Source: server.URL + "/x.zip", Location: server.URL + "/x.zip"}, origin.Revision{}); !errors.Is(err, origin.ErrOffline) {
		t.Error(err)
	}
	path := file("good.zip", good)
	if _, err := install(t.Context(), s, offline, origin.Ref{Source: path, Location: path}); err != nil {
		t.Errorf("an archive on the disk is read offline: %v", err)
	}
}
