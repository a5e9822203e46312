package dir

import (
	"fmt"
	"testing"

	"github.com/knack-dev/knack/skill"
)

func TestHidden(t *testing.T) {
	root := tree(t, map[string]string{
		"a/SKILL.md": "x", "a/.env": "SECRET", "a/.git/config": "x", "a/.git/HEAD": "x", "a/sub/.DS_Store": "x",
		"a/out": "->/etc", "a/sub/deep/.x/y/.z": "x", "a/sub/plain.md": "x",
	})
	for name, d := range doors() {
		f := &folder{location: &location{opener: d, base: root}, sub: "a"}
		paths, n, err := f.Hidden(t.Context(), 3)
		if got := fmt.Sprint(paths, n, err); len(paths) != 3 || n != 4 {
			t.Errorf("%s: %s", name, got)
		}
		all, n, err := f.Hidden(t.Context(), 10)
		if got := fmt.Sprint(all, n, err); got != "[.env .git sub/.DS_Store sub/deep/.x] 4 <nil>" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestNames(t *testing.T) {
	root := tree(t, map[string]string{"a/README.md": "x", "a/.env": "x", "a/skill.mdx": "x", "b/": "", "c": "x"})
	s := New(Options{Root: skill.Root{Label: "x", Dir: root}})
	for name, want := range map[string]string{
		"a": "[README.md skill.mdx] true", "b": "[] true", "c": "[] false", "..": "[] false", "none": "[] false",
	} {
		names, ok := s.Names(name, 20)
		if got := fmt.Sprint(names, ok); got != want {
			t.Errorf("Names(%q) = %s, want %s", name, got, want)
		}
	}
	if names, _ := s.Names("a", 1); len(names) != 1 {
		t.Errorf("no limit: %v", names)
	}
}
