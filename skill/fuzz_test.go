package skill

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill/frontmatter"
)

func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"---\nname: a\ndescription: b\n---\n# B\n", "\ufeff\n<!-- c -->\r\n---\r\nname: a\r\n---# T", "```\n---\nname: \"a\ndescription: b: c\n---\n", "---\nname: a\rx: [1, {b: *c}]\n...\nd: &e f\n---\n",
		"---\nname: > a\n<<<<<<< x\ndescription:b\n? [k]\n: v\n---\n", "---\nname: A b\nmetadata:\n  k k: 1\ndescription: [x, 'y\"z']\nallowed: {x: 1}\n---\n", "---\nname: n\nname: m\n1: x\ndescription: \"a\\nb\"\ncompatibility: 1\n---\n", "---\nk k: a: b\n\"q\": 'x' y\nname: 012\n\tx\n---\n", "---\nx: !!str \"\\0\\x9f\"\ny: 0x1e400\nz: 1e999\n---\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := frontmatter.Parse(data)
		checkRules(t, d)
		buffer := bytes.Clone(data)
		s := (&Skill{Bundle: &Bundle{Path: "a", Entry: MainFile}}).Parsed(buffer, Stamp{})
		was := fmt.Sprintf("%+v %s", s, s.Frontmatter)
		for i := range buffer { // a scan reads the next file into it
			buffer[i] = 'X'
		}
		if now := fmt.Sprintf("%+v %s", s, s.Frontmatter); now != was {
			t.Errorf("parts of the buffer are kept: %s, was %s", now, was)
		}
		if s.Available && (display.OneLine(s.Name) == "" || display.OneLine(s.Description) == "" || !utf8.ValidString(s.Name)) {
			t.Errorf("available as %q: %q", s.Name, s.Description)
		}
		if _, why := s.SkipReason(); why == s.Available {
			t.Errorf("available %v, reason to skip %v", s.Available, why)
		}
		if s.Publishable && (d.Repaired || !ValidName(s.Name)) {
			t.Errorf("publishable as %q, repaired %v", s.Name, d.Repaired)
		}
	})
}

func FuzzURI(f *testing.F) {
	for _, s := range uriTricks {
		f.Add(s)
	}
	f.Add("skill://a/SKILL.md")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseURI(s)
		if err != nil {
			if !errors.Is(err, errURI) || u != (URI{}) {
				t.Errorf("%q: %v, %v", s, u, err)
			}
		} else {
			again, err := ParseURI(u.String())
			if err != nil || again != u {
				t.Errorf("%q: %q does not come back: %v", s, u, err)
			}
			if !fs.ValidPath(u.Path()) || u.Path() == "." || strings.ContainsAny(u.Path(), "\\\x00") {
				t.Errorf("%q: the path %q leaves", s, u.Path())
			}
		}
		if isPlainPath(s) {
			for seg := range strings.SplitSeq(s, "/") {
				if seg == "" || seg[0] == '.' || url.PathEscape(seg) != seg || strings.ContainsAny(seg, ":$&+=@") {
					t.Errorf("%q is no plain path", s)
				}
			}
		}
		if u, err := NewURI(s); err == nil {
			back, err := ParseURI(u.String())
			if err != nil || back.Path() != s {
				t.Errorf("%q: %q comes back as %q: %v", s, u, back.Path(), err)
			}
		}
	})
}

func FuzzFilePath(f *testing.F) {
	for _, s := range []string{"a/b", "../a", "a\\..\\..\\b", "C:x", "./C:/x", "//h/s", "a/./../b//", "\x00", ".", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := FilePath(s)
		if err != nil {
			if !errors.Is(err, ErrOutside) || p != "" {
				t.Errorf("%q: %q, %v", s, p, err)
			}
			return
		}
		if again, err := FilePath(p); err != nil || again != p {
			t.Errorf("%q: %q is not stable: %q, %v", s, p, again, err)
		}
		if utf8.ValidString(s) && !fs.ValidPath(p) || strings.ContainsAny(p, "\\\x00") || hasDrive(p) {
			t.Errorf("%q: %q", s, p)
		}
	})
}
