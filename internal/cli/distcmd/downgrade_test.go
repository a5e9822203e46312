package distcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/registrytest"
)

// version pushes a signed release under a tag. The manifest of the release gives it this version.
func (s *signing) version(tag, version string) (digest string) {
	s.t.Helper()
	digest = registrytest.Release(s.t, s.host, "acme/skills", tag, 1, registrytest.Skills{"pdf/SKILL.md": registrytest.Skill("pdf", version)}, map[string]string{"org.opencontainers.image.version": version})
	s.sign(digest, digest, "a")
	return digest
}

// locked checks that the lock and the installed skill have the given version.
func (s *signing) locked(version string) {
	s.t.Helper()
	data, _ := os.ReadFile(filepath.Join(s.dir, "p", "knack.lock"))
	if !strings.Contains(string(data), `"version": "`+version+`"`) || s.skill() != version {
		s.t.Errorf("want version %s, have the skill %q and the lock\n%s", version, s.skill(), data)
	}
}

// TestDowngrade checks that the version in the signed manifest counts and not the tag, which anyone
// who can push can move.
func TestDowngrade(t *testing.T) {
	s := newSigning(t)
	s.rule("a.pub", true)
	old := s.version("v1.0.0", "1.0.0")
	s.version("v2.0.0", "2.0.0")
	at := "oci://" + s.host + "/acme/skills"
	s.expect(0, "signed by key-a\n", "KEY-a", "add", at+":v2.0.0")
	s.locked("2.0.0")

	// A tag with a higher version now names the old release.
	registrytest.Tag(t, s.host, "acme/skills", old, "v2.9.9")
	const misnamed = "the tag v2.9.9 names a release that says it is version 1.0.0"
	for _, args := range [][]string{{"update"}, {"update", "--check"}, {"update", "--latest"}, {"update", "--accept-signer"}} {
		s.expect(1, misnamed, "KEY-a", args...)
		s.locked("2.0.0")
	}
	s.expect(0, "1.0.0", "KEY-a", "update", "--allow-downgrade")
	s.locked("1.0.0")
	fresh := filepath.Join(s.dir, "p", "knack.lock")
	if err := os.Remove(fresh); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, "p", ".agents")); err != nil {
		t.Fatal(err)
	}
	s.expect(1, misnamed, "", "add", at+":v2.9.9")
	s.expect(1, misnamed, "", "verify", at+":v2.9.9")
	s.expect(1, misnamed, "", "pull", at+":v2.9.9")
	s.expect(0, "1.0.0, 1 skill", "", "pull", at+":v2.9.9", "--allow-downgrade")
	s.expect(0, "signed by key-a\n", "KEY-a", "add", at+":v2.9.9@"+old)
	s.locked("1.0.0")
}

// TestFrozenTag checks that a tag of a higher version on the locked release hides no update.
func TestFrozenTag(t *testing.T) {
	s := newSigning(t)
	s.rule("a.pub", true)
	old := s.version("v2.0.0", "2.0.0")
	s.expect(0, "signed by key-a\n", "KEY-a", "add", "oci://"+s.host+"/acme/skills:v2.0.0")
	registrytest.Tag(t, s.host, "acme/skills", old, "v2.9.9")
	const misnamed = "the tag v2.9.9 names a release that says it is version 2.0.0"
	for _, args := range [][]string{{"update"}, {"update", "--check"}, {"update", "--latest"}} {
		s.expect(1, misnamed, "KEY-a", args...)
		s.locked("2.0.0")
	}

	s.version("v2.1.0", "2.1.0")
	for _, want := range []string{misnamed, "2.0.0 to 2.1.0"} {
		s.expect(1, want, "KEY-a", "update", "--check")
	}
	s.expect(0, misnamed, "KEY-a", "update")
	s.locked("2.1.0")
	s.expect(1, misnamed, "KEY-a", "update")
	s.locked("2.1.0")
}

// TestMovedTag checks that a tag that names no version is not followed to a lower version without
// --allow-downgrade.
func TestMovedTag(t *testing.T) {
	s := newSigning(t)
	s.rule("a.pub", false)
	old := s.version("prod", "1.0.0")
	s.expect(0, "signed by key-a\n", "KEY-a", "add", "SOURCE")
	s.locked("1.0.0")
	s.version("prod", "1.1.0")
	s.expect(0, "1.0.0 to 1.1.0", "KEY-a", "update")
	s.locked("1.1.0")
	registrytest.Tag(t, s.host, "acme/skills", old, "prod")
	const lower = "the version 1.0.0 is lower than 1.1.0, which is locked"
	s.expect(1, lower, "KEY-a", "update")
	s.expect(1, lower, "KEY-a", "update", "--check")
	s.expect(1, lower, "KEY-a", "add", "SOURCE")
	s.expect(0, "1 skill as locked", "KEY-a", "verify")
	s.locked("1.1.0")
	s.expect(0, "1.1.0 to 1.0.0", "KEY-a", "update", "--allow-downgrade")
	s.locked("1.0.0")

	// A release without a version cannot be compared, so it does not replace one with a version.
	s.release("none", "a")
	s.expect(1, "has no version, and 1.0.0 is locked", "KEY-a", "update")
	s.locked("1.0.0")
	if got := fmt.Sprint(s.skill()); got != "1.0.0" {
		t.Error(got)
	}
}
