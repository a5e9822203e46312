package dir

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/knack-dev/knack/skill"
)

// doors returns the openers that this system has. Every test of containment runs with each of them.
func doors() map[string]opener {
	out := map[string]opener{"root": rootOpener{}}
	if _, ok := pickOpener().(rootOpener); !ok {
		out["kernel"] = pickOpener()
	}
	return out
}

// tree makes files below a fresh folder and returns the folder's real path. A name that
// ends in "/" is a folder, a value that begins with "->" a link, any other value the
// file's content.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	add(t, root, files)
	return root
}

func add(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		at := filepath.Join(root, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		switch {
		case name[len(name)-1] == '/':
			must(t, os.MkdirAll(at, 0o755))
		case len(content) > 2 && content[:2] == "->":
			must(t, os.Symlink(content[2:], at))
		default:
			must(t, os.WriteFile(at, []byte(content), 0o644))
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// scanned scans root through d.
func scanned(t testing.TB, d opener, root string, change ...func(*Options)) skill.Scan {
	t.Helper()
	scan, err := source(d, root, change...).Scan(context.Background())
	must(t, err)
	return scan
}

func source(d opener, root string, change ...func(*Options)) *Source {
	opt := Options{Root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: root}}
	for _, c := range change {
		c(&opt)
	}
	s := New(opt)
	s.opener = d
	return s
}

// paths lists the bundles' paths.
func paths(scan skill.Scan) []string {
	out := []string{}
	for _, b := range scan.Bundles {
		out = append(out, b.Path)
	}
	return out
}

// rules lists the notices as "path rule".
func rules(scan skill.Scan) []string {
	out := []string{}
	for _, n := range scan.Notices {
		out = append(out, n.Path+" "+string(n.Rule))
	}
	return out
}
