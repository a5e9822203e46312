package lockfile

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/knack-dev/knack/skill"
)

func TestDigest(t *testing.T) {
	a := File{Path: "SKILL.md", Size: 3, Digest: skill.DigestOf([]byte("abc"))}
	b := File{Path: "a/b.py", Size: 0, Digest: skill.DigestOf(nil), Exec: true}
	want := skill.Digest(sha256.Sum256(fmt.Appendf(nil, "sha256:%x 3 SKILL.md\nsha256:%x 0 a/b.py\n", sha256.Sum256([]byte("abc")), sha256.Sum256(nil))))
	if got := Digest([]File{b, a}); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	files := []File{b, a}
	Digest(files)
	if files[0].Path != b.Path {
		t.Error("Digest sorted its argument")
	}
	b.Exec = false
	if Digest([]File{a, b}) != want {
		t.Error("the executable bit is in the digest")
	}
}
