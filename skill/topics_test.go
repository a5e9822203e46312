package skill

import (
	"fmt"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill/frontmatter"
)

func TestHeadings(t *testing.T) {
	const front = "---\nname: x # no heading\n# nor this\ndescription: d\n---\n"
	for body, want := range map[string][]string{
		"":                                       nil,
		"text\n":                                 nil,
		"# One\ntext\n## Two ##\r\n":             {"One", "Two"},
		"   ### Three\t\n    # code\n\t# code\n": {"Three"},
		"#tag\n#\n# \n####### seven\n# C#\n#\tTab":                          {"C#", "Tab"},
		"```sh\n# comment\n```\n# After\n":                                  {"After"},
		"````\n```\n# in\n````\n# out\n~~~\n# in\n```\n# in\n~~~~\n# out 2": {"out", "out 2"},
		"``` open\n# in\n``` not closed\n# in\n":                            nil,
		"```code``` text\n# One\n":                                          {"One"},
		"`code` text\n# One\n":                                              {"One"},
	} {
		difftest.Same(t, Headings([]byte(front+body), 10), want, body)
	}
	for data, want := range map[string]int{"# no frontmatter\n": 1, front + strings.Repeat("# h\n", 50): 10, "": 0, "\xff# x": 0} {
		if got := len(Headings([]byte(data), 10)); got != want {
			t.Errorf("%.20q has %d headings, want %d", data, got, want)
		}
	}
}

func TestBeginning(t *testing.T) {
	const front = "---\nname: x\ndescription: d\n---\n"
	for body, want := range map[string]string{
		"":                                       "",
		"# One\n\nFirst line.\n  - a *list*\r\n": "First line. - a *list* ",
		"```\ncode\n```\n    indented\n| a | table |\n<!-- no -->\n<b>no</b>\n`code`\nyes": "yes ",
		strings.Repeat("word ", 100):                           strings.Repeat("word ", 10) + " ",
		strings.Repeat("a\n", 50):                              strings.Repeat("a ", 25),
		"ünder\n" + strings.Repeat("x", 60) + "\nnot any more": "ünder " + strings.Repeat("x", 50) + " ",
	} {
		if got := Beginning([]byte(front+body), 50); got != want {
			t.Errorf("%q begins with %q, want %q", body, got, want)
		}
	}
	if got := Beginning([]byte("no frontmatter\n"), 50); got != "no frontmatter " {
		t.Errorf("without frontmatter: %q", got)
	}
	data := []byte(front + "kept")
	got := Beginning(data, 50)
	clear(data) // the caller reads the next file into it
	if got != "kept " {
		t.Errorf("the beginning has become %q", got)
	}
}

func TestTags(t *testing.T) {
	for fields, want := range map[string][]string{
		"":                                       nil,
		"tags: a":                                {"a"},
		"tags: a, 'b c' , ,d":                    {"a", "'b c'", "d"},
		"tags: [a, b c, 1, {x: y}]\ncategory: d": {"a", "b c", "d"},
		"keywords: []\ncategories: [x]":          {"x"},
		"metadata:\n  tags: a, b\n  keywords:\n    - c\ntags: z": {"z", "a", "b", "c"},
		"tags: {a: b}":   nil,
		"other: tags":    nil,
		"metadata: tags": nil,
	} {
		s := &Skill{Frontmatter: frontmatter.Parse(fmt.Appendf(nil, "---\nname: x\ndescription: d\n%s\n---\n", fields)).JSON()}
		difftest.Same(t, s.Tags(), want, fields)
	}
	if (&Skill{}).Tags() != nil {
		t.Error("a skill without frontmatter has tags")
	}
}

// FuzzTopics checks that any bytes yield at most n headings, each in one line and not blank. Any
// frontmatter yields tags without surrounding white space.
func FuzzTopics(f *testing.F) {
	f.Add([]byte("---\nname: x\ntags: [a, b]\n---\n# One\n```\n# two\n```\n"))
	f.Add([]byte("# C#\r\n## \n~~~~\n~~~\n"))
	f.Add([]byte("---\nmetadata: {tags: ', a ,'}\ncategory: - \n---"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := Headings(data, 0); len(got) > 0 {
			t.Errorf("none asked for: %q", got)
		}
		all := Headings(data, 5)
		if len(all) > 5 {
			t.Fatalf("%d headings", len(all))
		}
		for _, h := range all {
			if h == "" || strings.TrimSpace(h) != h || strings.ContainsRune(h, '\n') {
				t.Fatalf("heading %q", h)
			}
		}
		s := (&Skill{Bundle: &Bundle{}}).Parsed(data, Stamp{})
		for _, tag := range s.Tags() {
			if tag == "" || strings.TrimSpace(tag) != tag {
				t.Fatalf("tag %q", tag)
			}
		}
	})
}
