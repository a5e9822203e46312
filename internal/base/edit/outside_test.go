package edit

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWithin(t *testing.T) {
	top := t.TempDir()
	root, other := filepath.Join(top, "repo"), filepath.Join(top, "other")
	for _, d := range []string{root + "/real/skills", root + "/sub", other + "/skills"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"repo/.out":      other,
		"repo/.relative": "../other",
		"repo/.in":       "real",
		"repo/.gone":     "../nowhere",
		"repo/.loop":     ".loop",
		"repo/sub/back":  "../real",
		"repo/.twice":    ".out/skills",
		"repo/.round":    "../repo/real",
		"linked":         "repo",
	} {
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Skip(err)
		}
	}
	for path, want := range map[string]string{
		"repo/new/skills/x":     "",
		"repo/real/skills/x":    "",
		"repo/.in/skills/x":     "",
		"repo/.in/new/x":        "",
		"repo/sub/back/x":       "",
		"repo/.round/x":         "",
		"repo/.out/skills/x":    "repo/.out",
		"repo/.out/new/x":       "repo/.out",
		"repo/.out":             "repo/.out",
		"repo/.relative/x":      "repo/.relative",
		"repo/.twice/x":         "repo/.twice",
		"repo/.gone/x":          "repo/.gone",
		"repo/.in/../.out/x":    "repo/.out",
		"repo/.loop/x":          "", // a write through the link fails anyway
		"repo/real/../../other": "", // spelt outside
		"other/skills/x":        "",
		"linked/.out/x":         "", // the user named another spelling of the root
	} {
		_, err := Within(root, filepath.Join(top, path))
		var out *OutsideError
		got := ""
		if errors.As(err, &out) {
			got, _ = filepath.Rel(top, out.Link)
		} else if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if filepath.ToSlash(got) != want {
			t.Errorf("%s: stopped at %q, want %q", path, got, want)
		}
	}
	var out *OutsideError
	if _, err := Within(filepath.Join(top, "linked"), filepath.Join(top, "linked", ".out", "x")); !errors.As(err, &out) || out.Target != other {
		t.Errorf("a root that is a link: %v", err)
	}
}
