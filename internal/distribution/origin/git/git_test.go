package git

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/origintest"
)

// library commits a library with content that must arrive byte for byte: line ends, a byte-order
// mark, binary bytes, an empty file and an executable file.
func (u *upstream) library() string {
	return u.commit(map[string]string{
		"README.md":           "a library\n",
		"skills/pdf/SKILL.md": pdf, "skills/pdf/crlf.md": "a\r\nb\r\n", "skills/pdf/bom.md": "\ufeffa\n",
		"skills/pdf/data.bin": "\x00\x01\xff\xfe", "skills/pdf/empty": "", "skills/pdf/scripts/fill.py": "#!/usr/bin/python\n",
		"skills/pdf/.hidden/x": "x", "skills/doc/SKILL.md": "---\nname: doc\ndescription: Reads documents.\nmetadata:\n  github-ref: x\n---\n",
	})
}

var libraryFiles = map[string]string{
	"skills/pdf: SKILL.md": pdf, "skills/pdf: crlf.md": "a\r\nb\r\n", "skills/pdf: bom.md": "\ufeffa\n", "skills/pdf: data.bin": "\x00\x01\xff\xfe",
	"skills/pdf: empty": "", "skills/pdf: scripts/fill.py+": "#!/usr/bin/python\n",
	"skills/doc: SKILL.md": "---\nname: doc\ndescription: Reads documents.\nmetadata:\n  github-ref: x\n---\n",
}

// TestFetch checks that every file of a skill arrives byte for byte. The repository is on the disk,
// or on a server with or without partial fetches.
func TestFetch(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	commit := u.library()
	for name, c := range map[string]struct {
		filter string
		old    bool // the server speaks the first version of the protocol
		http   bool
	}{
		"file":                         {filter: "true"},
		"http":                         {filter: "true", http: true},
		"http without filter":          {filter: "false", http: true},
		"http, old protocol":           {filter: "true", http: true, old: true},
		"http, old without filter":     {filter: "false", http: true, old: true},
		"file without partial fetches": {filter: "false"},
	} {
		t.Run(name, func(t *testing.T) {
			u.t = t
			u.git("config", "uploadpack.allowFilter", c.filter)
			ref := u.ref("")
			var server *backend
			if c.http {
				server = u.serve(func(_ http.ResponseWriter, r *http.Request) bool {
					if c.old {
						r.Header.Del("Git-Protocol")
					}
					return false
				})
				ref = server.ref("")
			}
			g := u.origin(nil)
			skills, got := take(t, g, ref, origin.Revision{})
			if diff := cmp.Diff(libraryFiles, got.Files); diff != "" || len(got.Failed) != 0 {
				t.Error(diff, got.Failed)
			}
			want := []origin.Skill{
				{Path: "skills/doc", Main: "SKILL.md", Name: "doc", Description: "Reads documents.", Extent: edit.Extent{Entries: 2}},
				{Path: "skills/pdf", Main: "SKILL.md", Name: "pdf", Description: "Reads PDF files.", Left: 1, Extent: edit.Extent{Entries: 8}},
			}
			if diff := cmp.Diff(want, skills); diff != "" {
				t.Error(diff)
			}
			if c.http {
				t.Log(server.asked())
			}
			// Again, from the store.
			g.opts.Offline = true
			_, got = take(t, New(g.opts), ref, origin.Revision{ID: "git:" + commit})
			if diff := cmp.Diff(libraryFiles, got.Files); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFetchOne checks that only the files of the wanted skill in the named folder are fetched.
func TestFetchOne(t *testing.T) {
	u := newUpstream(t)
	u.library()
	g := u.origin(nil)
	ref := u.ref("")
	ref.Sub = "skills/doc"
	skills, got := take(t, g, ref, origin.Revision{})
	if len(skills) != 1 || skills[0].Path != "skills/doc" || len(got.Files) != 1 {
		t.Errorf("%+v %v", skills, got.Files)
	}
	lib, err := g.Open(t.Context(), ref, origin.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	to := origintest.NewSink()
	if err := lib.Fetch(t.Context(), []origin.Skill{{Path: "skills/gone"}, {Path: "skills/bad", Fault: errors.New("a fault")}}, to); err != nil || len(to.Failed) != 2 {
		t.Error(err, to.Failed)
	}
	dir, err := g.opts.Dir("file://" + strings.ReplaceAll(u.dir, " ", "%20"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"HEAD:skills/doc/SKILL.md": true, "HEAD:skills/pdf/SKILL.md": false} {
		b := &bare{git: g, dir: dir}
		missing, err := b.read(t.Context(), []string{u.git("rev-parse", name)}, func(int, int64, io.Reader) error { return nil })
		if err != nil || (len(missing) == 0) != want {
			t.Errorf("%s: missing %v, %v", name, missing, err)
		}
	}
}

// TestResolve checks the references to tags, branches and full commits, and that one request
// resolves all references of a repository.
func TestResolve(t *testing.T) {
	u := newUpstream(t)
	first := u.commit(map[string]string{"a/SKILL.md": pdf})
	u.git("tag", "v1.2.0")
	u.git("tag", "-a", "-m", "annotated", "v1.3.0-rc.1")
	u.git("branch", "deadbee")
	second := u.commit(map[string]string{"a/SKILL.md": pdf + "more\n"})
	u.git("tag", "both")
	u.git("branch", "both", first)
	u.git("branch", "feature/x")
	server := u.serve(nil)
	g := u.origin(nil)
	for want, rev := range map[string]origin.Revision{
		"":                 {ID: "git:" + second},
		"HEAD":             {ID: "git:" + second},
		"main":             {ID: "git:" + second},
		"feature/x":        {ID: "git:" + second},
		"refs/heads/both":  {ID: "git:" + first},
		"both":             {ID: "git:" + second},
		"v1.2.0":           {ID: "git:" + first, Version: "1.2.0"},
		"refs/tags/v1.2.0": {ID: "git:" + first, Version: "1.2.0"},
		"v1.3.0-rc.1":      {ID: "git:" + first, Version: "1.3.0-rc.1"},
		"deadbee":          {ID: "git:" + first},
		first:              {ID: "git:" + first},
	} {
		if got, err := g.Resolve(t.Context(), server.ref(want)); err != nil || got != rev {
			t.Errorf("%q: %+v, %v; want %+v", want, got, err, rev)
		}
	}
	for want, says := range map[string]string{
		"manin":           " has no branch or tag 'manin'; it has 'main'",
		first[:10]:        `if it is a commit, write all of its digits`,
		"refs/heads/v1":   `has no branch or tag`,
		"--upload-pack=x": "has no branch or tag '--upload-pack=x'; it has 'both', 'deadbee', 'feature/x', 'main', 'both' and 2 more",
	} {
		if got, err := g.Resolve(t.Context(), server.ref(want)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v", want, got, err)
		}
	}
	slash := server.ref("feature") // as in the address of a page
	slash.Sub = "x/skills/pdf"
	if got, err := g.Resolve(t.Context(), slash); err == nil || !strings.Contains(err.Error(), "its name has a slash, so write "+slash.Source+"//skills/pdf@feature/x") {
		t.Error(got, err)
	}
	if tags, err := g.Versions(t.Context(), server.ref("")); err != nil || !slices.Equal(tags, []string{"both", "v1.2.0", "v1.3.0-rc.1"}) {
		t.Error(tags, err)
	}
	if got := server.asked(); len(got) > 2 {
		t.Errorf("%d requests: %q", len(got), got)
	}
	// A commit that is on no branch any more is fetched by its hash.
	u.git("reset", "--hard", "--quiet", first)
	u.git("branch", "-D", "feature/x")
	u.git("tag", "-d", "both")
	if _, got := take(t, g, server.ref("main"), origin.Revision{ID: "git:" + second}); got.Files["a: SKILL.md"] != pdf+"more\n" {
		t.Error(got.Files)
	}
	u.git("reflog", "expire", "--expire=now", "--all")
	u.git("gc", "--quiet", "--prune=now")
	_, err := u.origin(nil).Open(t.Context(), server.ref("main"), origin.Revision{ID: "git:" + second})
	if err == nil || !strings.Contains(err.Error(), "the server does not have this commit any more") {
		t.Error(err)
	}
}

// TestSHA256 checks that a repository with SHA-256 hashes is read like any other.
func TestSHA256(t *testing.T) {
	u := newUpstream(t)
	if err := os.RemoveAll(u.dir); err != nil {
		t.Fatal(err)
	}
	u.git("init", "--quiet", "--object-format=sha256", "--initial-branch=main", u.dir)
	u.library()
	skills, got := take(t, u.origin(nil), u.ref("main"), origin.Revision{})
	if diff := cmp.Diff(libraryFiles, got.Files); diff != "" || len(skills) != 2 {
		t.Error(diff, skills)
	}
}

// TestConcurrentCommands checks that commands that fetch concurrently from one repository all get
// every file. A command that finds the remains of a killed command gets every file too.
func TestConcurrentCommands(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.library()
	first := u.origin(nil)
	done := make(chan *origintest.Sink, 4)
	const commands = 4
	for range commands {
		go func() {
			got := origintest.NewSink()
			defer func() { done <- got }()
			_, got = take(t, New(first.opts), u.ref(""), origin.Revision{})
		}()
	}
	for range commands {
		if diff := cmp.Diff(libraryFiles, (<-done).Files); diff != "" {
			t.Error(diff)
		}
	}
	u.commit(map[string]string{"skills/pdf/SKILL.md": pdf + "more\n"})
	dir, err := first.opts.Dir("file://" + strings.ReplaceAll(u.dir, " ", "%20"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shallow.lock", "config.lock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, got := take(t, New(first.opts), u.ref(""), origin.Revision{}); got.Files["skills/pdf: SKILL.md"] != pdf+"more\n" {
		t.Error("with a lock that was left behind:", got.Files)
	}
}

// TestDamage checks that knack fetches everything again if the repository in the store is damaged.
func TestDamage(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.library()
	for name, spoil := range map[string]func(path string) error{
		"cut":     func(path string) error { return os.Truncate(path, 20) },
		"removed": os.Remove,
		"flipped": func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[len(data)-30] ^= 0xff
			return os.WriteFile(path, data, 0o600)
		},
	} {
		for _, suffix := range []string{"pack", "idx"} {
			t.Run(name+" "+suffix, func(t *testing.T) {
				g := u.origin(nil)
				take(t, g, u.ref(""), origin.Revision{})
				dir, _ := g.opts.Dir("file://" + strings.ReplaceAll(u.dir, " ", "%20"))
				packs, err := filepath.Glob(filepath.Join(dir, "objects/pack/*."+suffix))
				if err != nil || len(packs) == 0 {
					t.Fatal(packs, err)
				}
				for _, pack := range packs {
					if err := errors.Join(os.Chmod(pack, 0o600), spoil(pack)); err != nil {
						t.Fatal(err)
					}
				}
				_, got := take(t, New(g.opts), u.ref(""), origin.Revision{})
				if diff := cmp.Diff(libraryFiles, got.Files); diff != "" {
					t.Error(diff, got.Failed)
				}
			})
		}
	}
}
