package access

import (
	"strings"
	"testing"
	"time"
)

func match(p Pattern, base string) bool { return matchAll(p.segments, strings.Split(base, "/")) }

func TestPattern(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{"skill://git", "git", "git/x gi gitt Git x/git"},
		{"skill://a/git/SKILL.md", "a/git", "a/git/SKILL.md a"},
		{"skill://a/*", "a/x a/y", "a a/x/y b/x"},
		{"skill://a/**", "a a/x a/x/y", "ab ab/x b/a"},
		{"skill://**", "a a/x a/x/y", ""},
		{"skill://**/x", "x a/x a/b/x", "x/a a/xx"},
		{"skill://a/**/x", "a/x a/b/x a/b/c/x a/x/x", "a x a/x/b b/x"},
		{"skill://a/**/x/**/y", "a/x/y a/b/x/c/y a/x/x/y", "a/y a/x a/y/x"},
		{"skill://**/x/**", "x a/x x/a a/x/b", "a/b"},
		{"skill://a/**/**/x", "a/x a/b/c/x", "a"},
		{"skill://a/x-*", "a/x- a/x-y", "a/x a/x-y/z"},
		{"skill://a/*-x", "a/-x a/y-x", "a/x a/y-xx"},
		{"skill://a/x*x", "a/xx a/xyx", "a/x a/xy"},
		{"skill://a/x*y*z", "a/xyz a/x1y2z a/xyyz", "a/xz a/xzy"},
		{"skill://a/*y*", "a/y a/xyz", "a/xz"},
		{"skill://gr%C3%B6%C3%9Fe/%2A", "größe/*", "größe/x"},
		{"skill://a/größe", "a/größe", "a/gr%C3%B6%C3%9Fe"},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if p.String() != c.pattern {
			t.Errorf("%s is %s", c.pattern, p)
		}
		for _, base := range strings.Fields(c.yes) {
			if !match(p, base) {
				t.Errorf("%s does not stand for %s", c.pattern, base)
			}
		}
		for _, base := range strings.Fields(c.no) {
			if match(p, base) {
				t.Errorf("%s stands for %q", c.pattern, base)
			}
		}
	}
}

func TestParsePatternRefuses(t *testing.T) {
	for pattern, want := range map[string]string{
		"":                 "it does not begin with skill://",
		"a/**":             "it does not begin with skill://",
		"SKILL://a":        "it does not begin with skill://",
		"skill://":         "it has an empty segment, or ends in /; /** at its end means a folder and all in it",
		"skill://a/":       "it has an empty segment, or ends in /; /** at its end means a folder and all in it",
		"skill://a//b":     "it has an empty segment, or ends in /; /** at its end means a folder and all in it",
		"skill://a/b**":    "** is next to other text; it must be a segment of its own",
		"skill://a/***":    "** is next to other text; it must be a segment of its own",
		"skill://a/../b":   "a segment is . or .., which no URI of a skill has",
		"skill://a/%2e%2E": "a segment is . or .., which no URI of a skill has",
		"skill://a?x":      "it has a query or a fragment; a literal ? is written %3F, a literal # %23",
		"skill://a#x":      "it has a query or a fragment; a literal ? is written %3F, a literal # %23",
		"skill://a/%zz":    "invalid URL escape \"%zz\"; a literal % is written %25",
	} {
		if _, err := ParsePattern(pattern); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", pattern, err, want)
		}
	}
}

// TestPatternIsNotTriedForAges checks that no pattern makes matching slow. Its pattern would take
// very long if the matcher backtracked to every *.
func TestPatternIsNotTriedForAges(t *testing.T) {
	p, err := ParsePattern("skill://" + strings.Repeat("**/a/", 40) + strings.Repeat("*a", 40) + "b")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool, 1)
	go func() { done <- match(p, strings.Repeat("a/", 2000)+strings.Repeat("a", 20000)) }()
	select {
	case matched := <-done:
		if matched {
			t.Error("it matches")
		}
	case <-time.After(time.Minute):
		t.Fatal("it is still being tried")
	}
}
