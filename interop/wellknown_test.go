package interop

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pdf contains the files of a skill, some of them binary.
var pdf = map[string]string{
	"SKILL.md": "---\nname: pdf\ndescription: Reads PDF files.\n---\n\n# pdf\n", "run.sh": "#!/bin/sh\n", "ref/data.bin": "\x00\xff\r\n", "ref/notes.md": "\r\n", "empty": "",
}

// installed returns the files of the skill pdf that a command installed below a folder.
func installed(t *testing.T, below string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(below, func(p string, e fs.DirEntry, err error) error {
		if _, file, ok := strings.Cut(filepath.ToSlash(p), "/pdf/"); ok && err == nil && e.Type().IsRegular() {
			data, err := os.ReadFile(p)
			found[file] = string(data)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// knackAdd installs all skills of a site with knack, and returns the files of the skill pdf.
func knackAdd(t *testing.T, site string) map[string]string {
	t.Helper()
	at := t.TempDir()
	cmd := exec.CommandContext(t.Context(), knack(t), "add", site, "--all", "--to", filepath.Join(at, "skills"))
	cmd.Env = append(os.Environ(), "HOME="+at, "XDG_CACHE_HOME=", "XDG_STATE_HOME=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("knack add %s: %v\n%s", site, err, out)
	}
	return installed(t, filepath.Join(at, "skills"))
}

// TestInteropIndexSkills_1_7_4 installs a skill of several files from knack's index, with npx
// skills 1.7.4 and with knack. It checks that all files arrive.
func TestInteropIndexSkills_1_7_4(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"alone/SKILL.md": "---\nname: alone\ndescription: One file.\n---\n"}
	for name, text := range pdf {
		files["team/pdf/"+name] = text
	}
	if err := put(dir, files); err != nil {
		t.Fatal(err)
	}
	url, stop, err := serve(knack(t), "serve", "--no-builtin", "--dir", dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	site := strings.TrimSuffix(url, "/mcp")
	project := t.TempDir()
	skillsCLI(t, project, t.TempDir(), "add", site, "--skill", "pdf", "--agent", "claude-code", "-y")
	if diff := cmp.Diff(pdf, installed(t, project)); diff != "" {
		t.Errorf("npx skills: %s", diff)
	}
	if diff := cmp.Diff(pdf, knackAdd(t, site)); diff != "" {
		t.Errorf("knack: %s", diff)
	}
}

// TestInteropSitesSkills_1_7_4 installs a skill from a site in each form of the index that npx
// skills 1.7.4 reads. It checks that knack installs the same files.
func TestInteropSitesSkills_1_7_4(t *testing.T) {
	dir := t.TempDir()
	if err := put(dir, pdf); err != nil {
		t.Fatal(err)
	}
	tarball, err := exec.CommandContext(t.Context(), "tar", "-C", dir, "-cz", "SKILL.md", "run.sh", "ref/data.bin", "ref/notes.md", "empty").Output()
	if err != nil {
		missing(t, "no tar: %v", err)
	}
	var zipped bytes.Buffer
	w := zip.NewWriter(&zipped)
	for name, text := range pdf {
		out, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(out, text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	index2 := func(url string, data []byte) string {
		return fmt.Sprintf(`{"$schema":"https://schemas.agentskills.io/discovery/0.2.0/schema.json","skills":[{"name":"pdf","type":"archive","description":"Reads.","url":%q,"digest":"sha256:%x"}]}`, url, sha256.Sum256(data))
	}
	var names []string
	for name := range pdf {
		names = append(names, name)
	}
	list, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	index1 := `{"skills":[{"name":"pdf","description":"Reads.","files":` + string(list) + `}]}`
	const newer, older = "/.well-known/agent-skills/", "/.well-known/skills/"
	for name, files := range map[string]map[string]string{
		"0.2.0 tar": {newer + "index.json": index2("pdf.tar.gz", tarball), newer + "pdf.tar.gz": string(tarball)},
		"0.2.0 zip": {newer + "index.json": index2("/d/pdf.zip", zipped.Bytes()), "/d/pdf.zip": zipped.String()},
		"0.1.0":     {older + "index.json": index1},
	} {
		t.Run(name, func(t *testing.T) {
			for file, text := range pdf {
				files[older+"pdf/"+file] = text
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, ok := files[r.URL.Path]
				if !ok {
					http.NotFound(w, r)
					return
				}
				_, _ = io.WriteString(w, text)
			}))
			t.Cleanup(server.Close)
			project := t.TempDir()
			skillsCLI(t, project, t.TempDir(), "add", server.URL, "--skill", "pdf", "--agent", "claude-code", "-y")
			theirs, ours := installed(t, project), knackAdd(t, server.URL)
			if diff := cmp.Diff(pdf, ours); diff != "" {
				t.Errorf("knack: %s", diff)
			}
			if diff := cmp.Diff(theirs, ours); diff != "" {
				t.Errorf("-npx skills +knack: %s", diff)
			}
		})
	}
}
