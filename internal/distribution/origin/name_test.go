package origin

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckPath(t *testing.T) {
	for _, path := range []string{"SKILL.md", "a/b/c.txt", "naïve.md", "日本/語", "a b", "a:b", "CON", "x.", "...", "..a", ".env", strings.Repeat("n", MaxName)} {
		if err := checkPath(path, false); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	for path, why := range map[string]string{
		"": "empty", "/": "absolute", "/etc/passwd": "absolute", "..": "out of", "../x": "out of", "a/../../x": "out of", "a/..": "out of",
		".": "plain", "./a": "plain", "a//b": "plain", "a/": "plain", "a/./b": "plain",
		`a\b`: "backslash", `..\x`: "backslash", `C:\x`: "backslash", "a\x00b": "control", "a\nb": "control", "a\x7f": "control", "a\u0085b": "control", "\xff": "UTF-8", "a\xc0\xaf": "UTF-8",
		strings.Repeat("n", MaxName+1): "255 bytes", strings.Repeat("a/", MaxPath/2) + "b": "1,024 bytes",
	} {
		if err := checkPath(path, false); !errors.Is(err, ErrName) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want something about %q", path, err, why)
		}
	}
	for _, path := range []string{"CON", "con.txt", "a/NUL", "nul .x", "LPT1", "com9.tar.gz", "COM¹", "a:b", "a/b.", "b ", "a?b", "C:/x"} {
		if err := checkPath(path, true); err == nil || !strings.Contains(err.Error(), "Windows") {
			t.Errorf("%q on Windows: %v", path, err)
		}
	}
	for _, path := range []string{"CONSOLE", "COM", "COM0", "com10", "a.CON"} {
		if err := checkPath(path, true); err != nil {
			t.Errorf("%q on Windows: %v", path, err)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, tt := range []struct{ paths, why string }{
		{"a b a/b", "a file and a folder"},
		{"a/b a", "a file and a folder"},
		{"a/b a/c b", ""},
		{"a a", "twice"},
		{"README.md readme.md", "only in case"},
		{"Lib/a lib/b", "only in case"},
		{"caf\u00e9 cafe\u0301", "only in case"},
		{"stra\u00dfe STRASSE", "only in case"},
		{"\u212a k", "only in case"},
		{"a ../a", "leads out"},
	} {
		var p Paths
		var err error
		for path := range strings.FieldsSeq(tt.paths) {
			if err = p.Add(path); err != nil {
				break
			}
		}
		if (tt.why == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), tt.why) || !errors.Is(err, ErrName)) {
			t.Errorf("%s: %v, want %q", tt.paths, err, tt.why)
		}
	}
}
