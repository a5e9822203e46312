package foreign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/knack-dev/knack/internal/distribution/origin"
)

const (
	commit = "9f2b1e4c0d1a2b3c4d5e6f708192a3b4c5d6e7f8"
	tree   = "0123456789abcdef0123456789abcdef01234567"
	digest = "sha256:bc6708cbbc37adb919157f04d31e601e68f4b9c24b35c655079da87ad0e30f86"
)

func git(source, want string) origin.Ref {
	return origin.Ref{Kind: origin.Git, Source: source, Want: want, Location: "https://" + source}
}

// folders returns the folders in which npx skills may have put a skill.
func folders(name string) []string {
	return []string{".agents/skills/" + name, ".claude/skills/" + name}
}

// TestParse checks that the locks of other installers in testdata are parsed. npx skills wrote its
// locks. Entries of kinds that need a network were added by hand.
func TestParse(t *testing.T) {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	lib := origin.Ref{Kind: origin.Folder, Source: filepath.ToSlash(filepath.Join(dir, "lib")), Location: filepath.Join(dir, "lib")}
	for name, want := range map[string]struct {
		format  Format
		entries []Skill
	}{
		"skills-lock.json": {Project, []Skill{
			{Name: "company", Line: 4, Folders: folders("company"), Ref: origin.Ref{Kind: origin.WellKnown, Source: "https://skills.example.com", Location: "https://skills.example.com"}},
			{Name: "deploy", Line: 11, Folders: folders("deploy"), Ref: git("gitlab.com/acme/tools/skills", "main"), Path: "."},
			{Name: "My Notes", Line: 19, Folders: folders("my-notes"), Ref: lib},
			{Name: "npm-skill", Line: 24, Folders: folders("npm-skill"), Path: "skills/npm-skill", Err: errors.New("it came from 'node_modules', which is not a source of knack")},
			{Name: "pdf", Line: 30, Folders: folders("pdf"), Ref: git("github.com/acme/skills", "v1.2.0"), Path: "skills/pdf"},
			{Name: "secret", Line: 37, Folders: folders("secret"), Path: ".", Err: errors.New("the source has a user name or a password in it, and sources are written into logs and locks")},
		}},
		".skill-lock.json": {Global, []Skill{
			{Name: "pdf", Line: 4, Folders: folders("pdf"), Ref: git("github.com/acme/skills", ""), Path: "skills/pdf", Tree: tree},
			{Name: "xlsx", Line: 13, Folders: folders("xlsx"), Ref: origin.Ref{Kind: origin.Folder, Source: "/srv/lib", Location: filepath.FromSlash("/srv/lib")}},
		}},
		"skills.lock.json": {OCI, []Skill{
			{Name: "manage-pulls", Line: 5, Folders: []string{".agents/skills/manage-pulls"}, Ref: origin.Ref{Kind: origin.OCI, Source: "oci://registry.example.com/acme/manage-pulls", Want: "1.0.0", Location: "oci://registry.example.com/acme/manage-pulls"}, Revision: "oci:" + digest, Version: "1.0.0"},
			{Name: "other", Line: 17, Folders: []string{"custom/other", ".agents/skills/other"}, Ref: origin.Ref{Kind: origin.OCI, Source: "oci://127.0.0.1:5000/other", Want: "latest", Location: "oci://127.0.0.1:5000/other"}, Revision: "oci:" + digest, Version: "latest"},
		}},
		"toolhive.lock.yaml": {ToolHive, []Skill{
			{Name: "from-git", Line: 3, Folders: []string{".claude/skills/from-git", ".agents/skills/from-git"}, Ref: git("github.com/acme/skills", "main"), Path: "skills/from-git", Revision: "git:" + commit, Version: "1.0.0"},
			{Name: "from-registry", Line: 10, Folders: []string{".claude/skills/from-registry", ".agents/skills/from-registry"}, Ref: origin.Ref{Kind: origin.OCI, Source: "oci://ghcr.io/acme/from-registry", Want: "v2", Location: "oci://ghcr.io/acme/from-registry"}, Revision: "oci:" + digest},
			{Name: "unresolved", Line: 14, Folders: []string{".claude/skills/unresolved", ".agents/skills/unresolved"}, Err: errors.New("its source 'unresolved' is a name in a registry of ToolHive")},
		}},
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		format, entries, err := Parse(data, dir, home)
		if err != nil || format != want.format {
			t.Errorf("%s: %s, %v", name, format, err)
		}
		sameText := cmp.Comparer(func(a, b error) bool { return a == nil && b == nil || a != nil && b != nil && a.Error() == b.Error() })
		if diff := cmp.Diff(want.entries, entries, sameText, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestParseRefuses checks that a damaged lock does not count as empty, and that the error has the
// position of the fault.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "line 1, column 1: the file is not a lock: it does not begin with fields",
		"hello":                                "line 1, column 1: the file is not a lock: it does not begin with fields",
		"{}":                                   "line 1, column 1: the file is not a lock that knack knows: it has no skills",
		`{"skills": {}}`:                       "line 1, column 1: the file is not a lock that knack knows: it has no version",
		`{"version": 1, "skills": {"a": {`:     "line 1, column 33: the file is damaged: the text ends here, in the middle of a value",
		"{\n\"version\": 2, \"skills\": {}}":   "line 2, column 12: version '2' of skills-lock.json is not known; knack reads version 1",
		`{"lockfileVersion": 2, "skills": []}`: "version '2' of skills.lock.json",
		`{"lockfileVersion": 1, "skills": {}}`: "skills is not a list",
		`{"lockfileVersion": 1, "skills": [{"name": "x"}]}`:                                                             "the skill 'x' has no source",
		`{"lockfileVersion": 1, "skills": [{"source": {}}]}`:                                                            "a skill has no name",
		"version: 9\nskills: []\n":                                                                                      "line 1, column 10: version '9' of toolhive.lock.yaml",
		"{\"version\": 1, \"skills\": {\n\"a\": 1}}":                                                                    "line 2, column 6: a skill of the lock has no fields",
		"{\"version\": 1, \"skills\": {\n\"a\": {\"source\": []}}}":                                                     "line 2, column 17: source is not a short text",
		"{\"version\": 1, \"skills\": {\n\"a\": {\"source\": \"x/y\"}}}":                                                "the skill 'a' has no sourceType",
		`{"version": 1, "skills": {"a": {"sourceType": "github", "source": "x/y", "skillPath": "../../etc/SKILL.md"}}}`: "leads out of the folder",
		"{\"version\": 1, \"skills\": {\n\"a\": {\"sourceType\": \"local\"},\n\"a\": {}}}":                              "line 3",
		"{\n<<<<<<< HEAD\n\"version\": 1\n=======\n\"version\": 1\n>>>>>>> x\n}":                                        "line 2, column 1: the file has the conflict markers",
		strings.Repeat("x", MaxSize+1):                                                                                  "the limit is 8 MiB",
	} {
		_, entries, err := Parse([]byte(text), "/p", "")
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || e.Fix == "" || e.Line == 0 || entries != nil {
			t.Errorf("%.80q: %v, want %s", text, err, want)
		}
	}
}

const author = `---
name: pdf
description: >-
  Reads
  PDF files
metadata:
  version: "1.0"
---
# PDF
`

// installed is the author's SKILL.md as gh skill 2.97 rewrites it.
const installed = `---
description: Reads PDF files
metadata:
    github-path: skills/pdf
    github-pinned: v1.2.0
    github-ref: refs/tags/v1.2.0
    github-repo: https://github.com/acme/skills
    github-tree-sha: ` + tree + `
    version: "1.0"
name: pdf
---
# PDF
`

func TestInstalled(t *testing.T) {
	e, ok := Installed(".agents/skills/pdf", []byte(installed))
	want := Skill{Name: "pdf", Line: 3, Folders: []string{".agents/skills/pdf"}, Ref: git("github.com/acme/skills", "v1.2.0"), Path: "skills/pdf", Tree: tree, Version: "v1.2.0", Pinned: true}
	if diff := cmp.Diff(want, e); diff != "" || !ok {
		t.Errorf("%v, %s", ok, diff)
	}
	other := strings.NewReplacer("refs/tags/v1.2.0", commit, "skills/pdf", "skills/pdf/SKILL.md", "    github-pinned: v1.2.0\n", "").Replace(installed)
	want.Version, want.Pinned, want.Ref.Want, want.Revision = "", false, commit, "git:"+commit
	if e, ok = Installed(".agents/skills/pdf", []byte(other)); cmp.Diff(want, e) != "" || !ok {
		t.Errorf("%v, %s", ok, cmp.Diff(want, e))
	}
	for _, text := range []string{author, "", "---\nmetadata: x\n---\n"} {
		if _, ok := Installed("x", []byte(text)); ok {
			t.Errorf("gh installed %q", text)
		}
	}
	for _, text := range []string{strings.Replace(installed, "https://github.com/acme", "https://user:key@github.com/acme", 1), strings.Replace(installed, "path: skills/pdf", "path: ../pdf", 1)} {
		if e, ok := Installed("x", []byte(text)); !ok || e.Err == nil || strings.Contains(e.Err.Error(), "key") {
			t.Errorf("%v, %v", ok, e.Err)
		}
	}
}

func TestSameButGitHub(t *testing.T) {
	if !SameButGitHub([]byte(installed), []byte(author)) {
		t.Error("they differ")
	}
	bare := strings.Replace(author, "metadata:\n  version: \"1.0\"\n", "", 1)
	if !SameButGitHub([]byte(strings.Replace(installed, "    version: \"1.0\"\n", "", 1)), []byte(bare)) {
		t.Error("they differ without metadata of the author's")
	}
	for _, changed := range []string{
		strings.Replace(author, "# PDF", "# PDF!", 1), strings.Replace(author, "1.0", "1.1", 1), strings.Replace(author, `"1.0"`, "1.0", 1),
		strings.Replace(author, "name: pdf", "name: pdf\nlicense: MIT", 1), bare, "# PDF\n", strings.Replace(author, "PDF files", "PDF file", 1),
	} {
		if SameButGitHub([]byte(installed), []byte(changed)) {
			t.Errorf("no difference to %q", changed)
		}
	}
}

func TestSanitized(t *testing.T) {
	for name, want := range map[string]string{"pdf": "pdf", "My  Notes!": "my-notes", "../x": "x", "日本": "unnamed-skill", "a--b": "a-b", "-a_b.c-": "a_b.c"} {
		if got := sanitized(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"skills-lock.json", ".skill-lock.json", "skills.lock.json", "toolhive.lock.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, entries, err := Parse(data, "/p", "/home/x")
		for _, e := range entries {
			if err != nil {
				t.Error("entries beside an error")
			}
			for _, at := range append(e.Folders, e.Path) {
				if at != "" && at != "." && origin.CheckPath(at) != nil {
					t.Errorf("%q is not a plain path", at)
				}
			}
			if e.Err == nil && e.Ref.Kind == "" {
				t.Errorf("%s has no source", e.Name)
			}
		}
		Installed("x", data)
	})
}

// TestLocalSources checks that a local source is a folder of the project, however its path begins.
func TestLocalSources(t *testing.T) {
	dir := t.TempDir()
	for source, want := range map[string]string{
		"lib": "lib", "./lib": "lib", ".agents/skills/lib": ".agents/skills/lib", "a:b": "a:b", "~x": "~x",
	} {
		_, entries, err := Parse(fmt.Appendf(nil, `{"version": 1, "skills": {"pdf": {"source": %q, "sourceType": "local"}}}`, source), dir, dir)
		if err != nil || len(entries) != 1 || entries[0].Err != nil || entries[0].Ref.Location != filepath.Join(dir, filepath.FromSlash(want)) {
			t.Errorf("%s: %+v, %v", source, entries, err)
		}
	}
}
