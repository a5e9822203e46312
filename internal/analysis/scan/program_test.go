package scan

import (
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/skill"
)

func TestProgram(t *testing.T) {
	const (
		class = "\xca\xfe\xba\xbe\x00\x00\x00\x41"
		wasm  = "\x00asm\x01\x00\x00\x00"
		pyc   = "\xcb\r\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe3"
		// Python does not check the hash of the source in unchecked, and checks the hash in
		// checked.
		unchecked = "\xcb\r\r\n\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe3"
		checked   = "\xcb\r\r\n\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe3"
	)
	for _, test := range []struct {
		what  string
		files []string // pairs of a path and a content; the first is judged
		rule  skill.RuleID
	}{
		{"disguised as an image", []string{"logo.png", elf}, passage.ProgramDisguise},
		{"disguised as a text", []string{"notes.md", elf}, passage.ProgramDisguise},
		{"disguised as a script", []string{"run.sh", peOf()}, passage.ProgramDisguise},
		{"disguised as a font", []string{"a.WOFF2", "\xcf\xfa\xed\xfe\x07\x00\x00\x01"}, passage.ProgramDisguise},
		{"wasm disguised", []string{"a.txt", wasm}, passage.ProgramDisguise},
		{"with its own name", []string{"tool.exe", peOf()}, passage.Program},
		{"without a name", []string{"bin/tool", elf}, passage.Program},
		{"library", []string{"lib/a.so", elf}, passage.Program},
		{"wasm", []string{"a.wasm", wasm}, passage.Program},
		{"wasm in an archive", []string{"a.tgz", gzipOf(tarOf(regular("a.wasm", wasm)))}, passage.Program},
		{"compiled without a source", []string{"a.pyc", pyc}, passage.Bytecode},
		{"compiled with a source", []string{"a.pyc", pyc, "a.py", "x = 1\n"}, ""},
		{"cached with a source", []string{"x/__pycache__/a.cpython-312.pyc", pyc, "x/a.py", "x = 1\n"}, ""},
		{"cached with a source elsewhere", []string{"x/__pycache__/a.cpython-312.pyc", pyc, "a.py", "x = 1\n"}, passage.Bytecode},
		{"not compared with its source", []string{"a.pyc", unchecked, "a.py", "x = 1\n"}, passage.Bytecode},
		{"compared with its source", []string{"a.pyc", checked, "a.py", "x = 1\n"}, ""},
		{"cached by name only", []string{"a.pyc", "\x00\x01", "a.py", "x = 1\n"}, passage.Bytecode},
		{"cached in an archive", []string{"a.zip", zipOf("__pycache__/a.cpython-312.pyc", pyc, "a.py", "x = 1\n")}, ""},
		{"cached in an archive without a source", []string{"a.zip", zipOf("__pycache__/a.cpython-312.pyc", pyc)}, passage.Bytecode},
		{"class", []string{"A.class", class}, passage.Bytecode},
		{"class with a source", []string{"A$B.class", class, "A.java", "class A {}\n"}, ""},
		{"font", []string{"a.woff2", "wOF2\x00"}, ""},
		{"document", []string{"a.pdf", "%PDF-1.7\n\x00"}, ""},
		{"database", []string{"a.db", "SQLite format 3\x00"}, ""},
		{"film", []string{"a.mp4", "\x00\x00\x00\x20ftypisom"}, ""},
		{"old document", []string{"a.doc", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"}, passage.NotRead},
		{"pickle", []string{"a.pkl", "\x80\x04\x95\x00"}, passage.NotRead},
		{"no image", []string{"a.png", "\x00\x01"}, passage.NotRead},
	} {
		t.Run(test.what, func(t *testing.T) {
			contents := map[string]string{}
			for i := 0; i < len(test.files); i += 2 {
				contents[test.files[i]] = test.files[i+1]
			}
			r := scanOf(t, contents)
			if test.rule == "" && len(r.Findings) == 0 {
				return
			}
			if len(r.Findings) != 1 || r.Findings[0].Rule != test.rule {
				t.Fatalf("want %s: %+v", test.rule, r.Findings)
			}
			if f := r.Findings[0]; !strings.HasPrefix(f.File, test.files[0]) || f.Message == "" {
				t.Errorf("%+v", f)
			}
			if binary := test.rule != passage.NotRead; binary != slices.Equal(r.Facts.Binaries, []string{r.Findings[0].File}) {
				t.Errorf("binaries: %q", r.Facts.Binaries)
			}
		})
	}
}
