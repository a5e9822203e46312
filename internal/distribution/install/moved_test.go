package install_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/install"
)

// TestMovedTag checks that update warns if the tag of a version has moved to another commit. It
// warns with --check, and when it installs that commit. It does not warn about a higher version.
func TestMovedTag(t *testing.T) {
	w := newWorld(t, "git")
	tag := func(files map[string]string, name string) {
		t.Helper()
		w.publish(files)
		if out, err := exec.Command("git", "-C", filepath.Join(w.dir, "source"), "-c", "tag.gpgSign=false", "tag", "-f", name).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	warned := func(q install.UpdateRequest, want install.Action, moved string) {
		t.Helper()
		p, err := w.planUpdate(w.options(), q)
		must(t, err)
		s := p.Steps[0]
		isWarned := slices.ContainsFunc(s.Warnings, func(text string) bool { return moved != "" && strings.Contains(text, "the tag "+moved+" was moved") })
		if s.Do != want || isWarned != (moved != "") || !isWarned && len(s.Warnings) > 0 {
			t.Errorf("%s %v, want %s and a warning about %q", s.Do, s.Warnings, want, moved)
		}
	}
	tag(old, "v0.1.5")
	w.source += "@v0.1.5"
	_, err := w.add(w.options())
	must(t, err)
	warned(install.UpdateRequest{}, install.Nothing, "")
	tag(newer, "v0.1.5")
	warned(install.UpdateRequest{Check: true}, install.Newer, "v0.1.5")
	warned(install.UpdateRequest{}, install.Replace, "v0.1.5")
	tag(old, "v0.1.6")
	warned(install.UpdateRequest{}, install.Replace, "")
	tag(newer, "v0.1.6")
	warned(install.UpdateRequest{}, install.Replace, "v0.1.6")
}
