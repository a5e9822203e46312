package skill

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

func TestNewURI(t *testing.T) {
	for path, want := range map[string]string{
		"engage/SKILL.md":             "skill://engage/SKILL.md",
		"a/b c/d+e&f.md":              "skill://a/b%20c/d+e&f.md",
		"kradleverse:act/SKILL.md":    "skill://kradleverse%3Aact/SKILL.md",
		"x/kradleverse:act/a@b;c,d=e": "skill://x/kradleverse:act/a@b;c,d=e",
		"a@b/SKILL.md":                "skill://a%40b/SKILL.md",
		"技能/é.md":                     "skill://%E6%8A%80%E8%83%BD/%C3%A9.md",
		"Git/--help/100%.md":          "skill://Git/--help/100%25.md",
		"a/?#[]\"<>^`{|}\n":           "skill://a/%3F%23%5B%5D%22%3C%3E%5E%60%7B%7C%7D%0A",
		"!*'()~_.-$/!$&'()*+,;=:@":    "skill://!*'()~_.-%24/!$&'()*+,;=:@",
		"a/...":                       "skill://a/...",
		"aa:b":                        "skill://aa%3Ab",
	} {
		u, err := NewURI(path)
		if err != nil || u.String() != want || u.Path() != path {
			t.Errorf("%q: %q, %q, %v, want %q", path, u, u.Path(), err, want)
		}
		back, err := ParseURI(u.String())
		if err != nil || back != u {
			t.Errorf("%q: comes back as %q, %v", path, back, err)
		}
	}
	for _, path := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/.", "a/../b", "a\\b", "a\x00", "\xff/a", "C:/x", "c:", "%2e%2e/a", "a/%2E", "a%2fb", "a/b%5Cc", "a/%00", "a/%252e%252e", "a/%25252F", "%2525252525252541/a"} {
		if u, err := NewURI(path); !errors.Is(err, ErrOutside) || u != (URI{}) {
			t.Errorf("%q: %q, %v, want %v", path, u, err, ErrOutside)
		}
	}
}

func TestMainURI(t *testing.T) {
	for _, c := range [][3]string{
		{"", "git", "skill://git/SKILL.md"}, {"user", "git", "skill://user/git/SKILL.md"}, {"", "a/b.c/d_e-f~", "skill://a/b.c/d_e-f~/SKILL.md"},
		{"a b", "é", "skill://a%20b/%C3%A9/SKILL.md"}, {"", "ab:c", "skill://ab%3Ac/SKILL.md"}, {"x", "ab:c", "skill://x/ab:c/SKILL.md"}, {"x", "...", "skill://x/.../SKILL.md"},
	} {
		u, err := MainURI(c[0], c[1])
		back, wrong := ParseURI(c[2])
		if err != nil || wrong != nil || u.String() != c[2] || u != back {
			t.Errorf("%q: %q of %q, %v", c, u, u.Path(), err)
		}
	}
	for _, path := range []string{"", "/", "a/", "/a", "a//b", ".", "..", "a/../b", "a\\b", "a\x00", "\xff", "%2e%2e"} {
		for _, prefix := range []string{"", "x"} {
			if u, err := MainURI(prefix, path); !errors.Is(err, ErrOutside) || u != (URI{}) {
				t.Errorf("%q, %q: %q, %v, want %v", prefix, path, u, err, ErrOutside)
			}
		}
	}
}

// uriTricks lists texts that ParseURI must refuse.
var uriTricks = []string{
	"", " ", "skill", "skill:", "skill:/", "skill://", "skill:///", "skill:///SKILL.md", "skill:a/SKILL.md", "http://a/SKILL.md", "file:///etc/passwd", " skill://a", "skills://a",
	"skill://a/", "skill://a//b", "skill://./a", "skill://../a", "skill://a/..", "skill://a/../b", "skill://a/.", "skill://a/./b", "skill://..",
	"skill://%2e%2e/a", "skill://a/%2E%2e/b", "skill://a/%2e", "skill://a/.%2e", "skill://%2e", "skill://a/%2f/b", "skill://a%2fb", "skill://a%2F..%2Fb", "skill://a/%5c", "skill://a%5Cb", "skill://a\\b", "skill://a/..\\b", "skill://a/%00", "skill://a/b%00.md", "skill://a/\x00",
	"skill://a/%252e%252e/b", "skill://%252e%252e", "skill://a/%252f", "skill://a/%255c", "skill://a/%2500", "skill://a/%25252e%25252e", "skill://a/%2525252525252e", "skill://%252e./a",
	"skill://user@a/SKILL.md", "skill://user:secret@a/SKILL.md", "skill://@a/b", "skill://a/SKILL.md?x=1", "skill://a?b", "skill://a/SKILL.md#top", "skill://a#b/c",
	"skill://a/%", "skill://a/%4", "skill://a/%zz", "skill://a/%ff", "skill://%c3%28", "skill://a/\xff", "skill://C:/x", "skill://c%3A/x", "skill://c:",
}

func TestParseURIRefuses(t *testing.T) {
	for _, s := range uriTricks {
		if u, err := ParseURI(s); !errors.Is(err, errURI) || u != (URI{}) {
			t.Errorf("%q: %q, %v, want %v", s, u.Path(), err, errURI)
		}
	}
}

func TestParseURIAccepts(t *testing.T) {
	for s, want := range map[string]string{
		"SKILL://a/SKILL.md":        "skill://a/SKILL.md",
		"Skill://A/skill.md":        "skill://A/skill.md",
		"skill://%61/%53KILL.md":    "skill://a/SKILL.md",
		"skill://ns:act/SKILL.md":   "skill://ns%3Aact/SKILL.md",
		"skill://a b/é":             "skill://a%20b/%C3%A9",
		"skill://a/b%2Bc+d":         "skill://a/b+c+d",
		"skill://a%40b/x":           "skill://a%40b/x",
		"skill://a":                 "skill://a",
		"skill://a/%25":             "skill://a/%25",
		"skill://a/..a/a../.hidden": "skill://a/..a/a../.hidden",
	} {
		u, err := ParseURI(s)
		if err != nil || u.String() != want {
			t.Errorf("%q: %q, %v, want %q", s, u, err, want)
		}
	}
}

// TestEndlessURI checks that a URI of a megabyte is refused with little work, whatever its layers
// of encoding.
func TestEndlessURI(t *testing.T) {
	for _, s := range []string{strings.Repeat("a/", 1<<19), strings.Repeat("%25", 1<<18), "%" + strings.Repeat("25", 1<<19) + "41", strings.Repeat("%2e", 1<<18)} {
		// The test measures memory, not time: memory grows with every extra pass over a
		// layer or segment, and does not depend on other processes.
		const most = 64 << 20 // about 20 times the longest of these texts
		if got := allocated(func() { _, _ = ParseURI(Scheme + s + "x") }); got > most {
			t.Errorf("%.20q…: %d bytes allocated for %d", s, got, len(s))
		}
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestPlainURI(t *testing.T) {
	for in, want := range map[string][2]string{
		"skill://git/SKILL.md":               {},
		"skill://git/SKILL.md?a=b":           {"skill://git/SKILL.md", "no query"},
		"skill://git/SKILL.md?a#b@c":         {"skill://git/SKILL.md", "no query"},
		"skill://git/SKILL.md#a?b":           {"skill://git/SKILL.md", "no fragment"},
		"skill://u:p@git/SKILL.md":           {"skill://git/SKILL.md", "no user"},
		"SKILL://u@v@git/SKILL.md":           {"skill://git/SKILL.md", "no user"},
		"skill://git/a@b":                    {},
		"skill://u@git/../x":                 {},
		"https://u@git/SKILL.md":             {},
		"skill://u@git/SKILL.md?two of them": {},
		"":                                   {},
	} {
		plain, fault := PlainURI(in)
		if plain != want[0] || (fault == "") != (want[1] == "") || !strings.Contains(fault, want[1]) {
			t.Errorf("%q: %q, %q; want %q", in, plain, fault, want)
		}
	}
}
