package skill

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/alloctest"
	"github.com/knack-dev/knack/internal/test/difftest"
)

func TestKeyOf(t *testing.T) {
	for _, same := range [][]string{
		{"git", "GIT", " Git\t", "\ngit\n", "g\u200eit"},
		{"CI/CD Pipeline", "ci/cd pipeline", "ci/cd  Pipeline", "CI/CD\nPipeline"},
		{"Straße", "STRASSE", "straẞe"},
		{"é", "e\u0301", "É", "E\u0301"},
		{"İ", "i\u0307"},
		{"\u0390", "\u0399\u0308\u0301", "\u03aa\u0301"},
		{"ΣΑΣ", "σας", "σασ"},
		{"\u1fb3", "\u03b1\u0345", "\u0391\u0399", "αι"},
	} {
		for _, s := range same {
			if KeyOf(s) != KeyOf(same[0]) {
				t.Errorf("%q is %q, %q is %q", s, KeyOf(s), same[0], KeyOf(same[0]))
			}
			if again := KeyOf(string(KeyOf(s))); again != KeyOf(s) {
				t.Errorf("%q: the key %q has the key %q", s, KeyOf(s), again)
			}
		}
	}
	for _, two := range [][2]string{{"a", "b"}, {"i", "ı"}, {"e", "é"}, {"a-b", "a_b"}, {"a b", "ab"}} {
		if KeyOf(two[0]) == KeyOf(two[1]) {
			t.Errorf("%q and %q are the same", two[0], two[1])
		}
	}
}

// TestKeyOfLongNames checks that a name is its own key if its one-line form is too long to fold.
// Spaces and invisible characters do not count.
func TestKeyOfLongNames(t *testing.T) {
	for _, unit := range []string{"A", "\u0301", "İ", "\xff"} {
		long := "A" + strings.Repeat(unit, 5000)
		if got := KeyOf(long); got != Key(display.OneLine(long)) {
			t.Errorf("%q…: is %.20q…", long[:10], got)
		}
	}
	for _, pad := range []string{" ", "\x00", "\n", "\u202e"} {
		short := "Git" + strings.Repeat(pad, 5000) + " hub"
		if got := KeyOf(short); got != "git hub" {
			t.Errorf("%q…: is %.20q…", short[:10], got)
		}
	}
	if n := alloctest.Least(10, func() { KeyOf(strings.Repeat("A", 5000)) }); n > 1 { // the text
		t.Errorf("%.0f allocations", n)
	}
	edge := strings.Repeat("A", maxFolded)
	if got := KeyOf(edge); got != Key(strings.ToLower(edge)) {
		t.Errorf("a name of %d bytes is not folded: %.20q…", len(edge), got)
	}
}

func TestValidName(t *testing.T) {
	for _, s := range []string{"a", "0", "a-b", "a1-2b", strings.Repeat("a", 64)} {
		if !ValidName(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{"", "A", "-a", "a-", "a--b", "a_b", "a b", "é", "a\n", "a/b", "..", "--help", strings.Repeat("a", 65)} {
		if ValidName(s) {
			t.Errorf("%q is accepted", s)
		}
	}
}

func TestDigest(t *testing.T) {
	const empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	d := DigestOf(nil)
	difftest.Same(t, d.String(), empty, "of nothing")
	if back, err := ParseDigest(empty); err != nil || back != d {
		t.Errorf("%v, %v", back, err)
	}
	for _, s := range []string{"", "sha256:", empty[7:], empty + "0", empty[:70], strings.ToUpper(empty), "sha256:" + strings.ToUpper(empty[7:]), "sha512:" + empty[7:], "sha256:" + strings.Repeat("g", 64), empty + "\n", " " + empty} {
		if got, err := ParseDigest(s); !errors.Is(err, errDigest) {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}

// FuzzNamePattern checks that inPattern agrees with the regular expression.
func FuzzNamePattern(f *testing.F) {
	re := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, s := range []string{"", "a", "-", "a-", "-a", "a--b", "a-b", "A", "0-9", "a\n", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if inPattern(s) != re.MatchString(s) {
			t.Errorf("%q: %v", s, inPattern(s))
		}
	})
}
