package install_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/archive"
	"github.com/knack-dev/knack/internal/distribution/origin/folder"
	"github.com/knack-dev/knack/internal/distribution/origin/git"
	peers "github.com/knack-dev/knack/internal/distribution/origin/mcp"
	"github.com/knack-dev/knack/internal/distribution/origin/oci"
	"github.com/knack-dev/knack/internal/distribution/origin/wellknown"
	registries "github.com/knack-dev/knack/internal/distribution/registry"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/skill"
)

// world is a project, a store and a source with the skill pdf in the folder skills/pdf.
type world struct {
	t       *testing.T
	dir     string
	source  string
	publish func(files map[string]string) // makes these the skill's files in the source
	clock   time.Time
	wrap    func(origin.Origin) origin.Origin                              // wraps the origin of folders, or is nil
	settle  func(context.Context, *install.Installer, *install.Plan) error // after the plan is done, or nil
}

// asked counts the requests to the sites of all tests.
var asked atomic.Int64

// kinds has a function for each kind of source that makes such a source in a folder.
var kinds = map[string]func(t *testing.T, dir string) (source string, publish func(map[string]string)){
	"folder": func(t *testing.T, dir string) (string, func(map[string]string)) {
		at := filepath.Join(dir, "source")
		return at, func(files map[string]string) { fill(t, filepath.Join(at, "skills", "pdf"), files) }
	},
	"archive": func(t *testing.T, dir string) (string, func(map[string]string)) {
		at := filepath.Join(dir, "skills.zip")
		return at, func(files map[string]string) { must(t, os.WriteFile(at, zipped(t, "skills/pdf/", files), 0o644)) }
	},
	"registry": registry,
	"mcp":      peer,
	"well-known": func(t *testing.T, _ string) (string, func(map[string]string)) {
		var data []byte
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			switch r.URL.Path {
			case "/.well-known/agent-skills/index.json":
				fmt.Fprintf(w, `{"$schema":"https://schemas.agentskills.io/discovery/0.2.0/schema.json","skills":[{"name":"pdf","type":"archive","description":"Reads PDF files.","url":"/pdf.zip","digest":"%s"}]}`, skill.DigestOf(data))
			case "/pdf.zip":
				_, _ = w.Write(data)
			default:
				http.NotFound(w, r)
			}
		}))
		t.Cleanup(server.Close)
		return server.URL, func(files map[string]string) { data = zipped(t, "", files) }
	},
	"git": func(t *testing.T, dir string) (string, func(map[string]string)) {
		if testing.Short() {
			t.Skip("git is started many times")
		}
		if _, err := exec.LookPath("git"); err != nil {
			t.Skip(err)
		}
		at := filepath.Join(dir, "source")
		run := func(args ...string) {
			t.Helper()
			cmd := exec.Command("git", append([]string{"-C", at, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.autocrlf=false"}, args...)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %s: %v %s", args, err, out)
			}
		}
		must(t, os.MkdirAll(at, 0o755))
		run("init", "-q")
		return "git+file://" + filepath.ToSlash(at), func(files map[string]string) {
			fill(t, filepath.Join(at, "skills", "pdf"), files)
			run("add", "-A")
			run("commit", "-q", "--allow-empty", "-m", "x")
		}
	},
}

// zipped returns a zip of files below a folder.
func zipped(t *testing.T, below string, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &zip.FileHeader{Name: below + name, Method: zip.Deflate}
		h.SetMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			h.SetMode(0o755)
		}
		w, err := z.CreateHeader(h)
		must(t, err)
		_, err = w.Write([]byte(files[name]))
		must(t, err)
	}
	must(t, z.Close())
	return b.Bytes()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fill makes a folder contain exactly these files.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	must(t, os.RemoveAll(dir))
	put(t, dir, files)
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		must(t, os.WriteFile(path, []byte(text), mode))
	}
}

func newWorld(t *testing.T, kind string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	if testing.Short() && kind != "folder" {
		t.Skip("a kind of source more takes seconds")
	}
	w := &world{t: t, dir: dir, clock: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	w.source, w.publish = kinds[kind](t, dir)
	must(t, os.MkdirAll(w.project(), 0o755))
	return w
}

func (w *world) project() string { return filepath.Join(w.dir, "project") }
func (w *world) place() string   { return filepath.Join(w.project(), ".agents", "skills", "pdf") }
func (w *world) backups() string { return filepath.Join(w.dir, "kept") }

func (w *world) options() install.Options {
	return install.Options{
		Root: w.project(), To: filepath.Join(w.project(), ".agents", "skills"), Dir: w.dir, Contained: true,
		Kept: w.backups(), Guard: filepath.Join(w.dir, "guard"),
		Now: func() time.Time { w.clock = w.clock.Add(time.Second); return w.clock },
	}
}

// run plans and applies one command.
func (w *world) run(o install.Options, plan func(context.Context, *install.Installer) (*install.Plan, error)) (*install.Plan, error) {
	w.t.Helper()
	shelf, err := store.Open(filepath.Join(w.dir, "store"), store.Options{})
	must(w.t, err)
	defer shelf.Close()
	repositories := git.New(git.Options{Env: os.Environ(), Dir: shelf.GitDir})
	fetcher := httpfetch.New(httpfetch.Options{})
	defer fetcher.Close()
	o.Store = shelf
	o.Origins = func(k origin.Kind) (origin.Origin, error) {
		switch k {
		case origin.Folder:
			if w.wrap != nil {
				return w.wrap(folder.Origin{}), nil
			}
			return folder.Origin{}, nil
		case origin.Git:
			return repositories, nil
		case origin.Archive:
			return archive.New(archive.Options{Fetch: fetcher, Spool: shelf.Spool}), nil
		case origin.MCP:
			return peers.New(peers.Options{HTTP: func(address string) (*http.Client, error) {
				c, err := fetcher.For(address)
				return c.HTTP(), err
			}}), nil
		case origin.OCI:
			return oci.New(oci.Options{Spool: shelf.Spool, Options: registries.Options{Fetcher: fetcher, Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}}), nil
		case origin.WellKnown:
			return wellknown.New(wellknown.Options{Fetch: fetcher, Spool: shelf.Spool}), nil
		}
		return nil, fmt.Errorf("no %s", k)
	}
	in, err := install.Open(o, true)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	p, err := plan(w.t.Context(), in)
	if err != nil {
		return nil, err
	}
	if err := in.Do(w.t.Context(), p); err != nil || w.settle == nil {
		return p, err
	}
	return p, w.settle(w.t.Context(), in, p)
}

func (w *world) planAdd(o install.Options, q install.Request) (*install.Plan, error) {
	w.t.Helper()
	return w.run(o, func(ctx context.Context, in *install.Installer) (*install.Plan, error) { return in.PlanAdd(ctx, q) })
}

func (w *world) planUpdate(o install.Options, q install.UpdateRequest) (*install.Plan, error) {
	w.t.Helper()
	return w.run(o, func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
		return in.PlanUpdate(ctx, q), nil
	})
}

func (w *world) planVerify(o install.Options, names []string) (*install.Plan, error) {
	w.t.Helper()
	return w.run(o, func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
		return in.PlanVerify(ctx, names, nil), nil
	})
}

func (w *world) add(o install.Options) (*install.Plan, error) {
	w.t.Helper()
	return w.planAdd(o, install.Request{Sources: []string{w.source}})
}

func (w *world) sync(o install.Options) (*install.Plan, error) {
	w.t.Helper()
	return w.run(o, func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
		return in.PlanSync(ctx, nil), nil
	})
}

func (w *world) update(o install.Options) (*install.Plan, error) {
	w.t.Helper()
	return w.planUpdate(o, install.UpdateRequest{})
}

func (w *world) remove(o install.Options) (*install.Plan, error) {
	w.t.Helper()
	return w.run(o, func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
		return in.PlanRemove(ctx, []string{"pdf"}), nil
	})
}

// files returns all files below a folder with their contents, and links with their targets.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.Type()&fs.ModeSymlink != 0 {
			target, _ := os.Readlink(path)
			out[filepath.ToSlash(rel)] = "-> " + target
			return nil
		}
		data, err := os.ReadFile(path)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return out
}

// stamps returns the times, modes and identities of all files and folders below a folder.
func stamps(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		out[path] = fmt.Sprintf("%v %v %+v", info.ModTime(), info.Mode(), identity(info))
		return err
	}))
	return out
}
