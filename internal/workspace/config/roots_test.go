package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/skill"
)

func TestRoots(t *testing.T) {
	c, problems := Parse([]byte(`roots:
  - {dir: acme, label: acme-1, title: " Acme Inc.", owner: platform, url: "HTTPS://acme.example/<a>?q#f"}
  - dir: /srv/../srv/tools
    label: "42"
`))
	want := []Root{
		{Dir: Word{"acme", at(2, 11)}, Label: Word{"acme-1", at(2, 24)}, Publisher: skill.Publisher{Title: "Acme Inc.", Owner: "platform", URL: "https://acme.example/%3Ca%3E?q#f"}, Position: at(2, 5)},
		{Dir: Word{"/srv/../srv/tools", at(3, 10)}, Label: Word{"42", at(4, 12)}, Position: at(3, 5)},
	}
	if diff := cmp.Diff(want, c.Roots); diff != "" || len(problems) > 0 {
		t.Error(problems, diff)
	}
	if got := []string{c.Roots[0].Folder("/etc"), c.Roots[1].Folder("/etc")}; !slices.Equal(got, []string{"/etc/acme", "/srv/tools"}) {
		t.Error(got)
	}
	other, _ := Parse([]byte("roots: [{dir: acme, label: acme-1}]\n"))
	if got := other.NeedRestart(c); !slices.Equal(got, []string{"roots"}) || c.NeedRestart(c) != nil {
		t.Error(got)
	}
}

// TestRootsRefuses checks that each wrong root has a position and a fix.
func TestRootsRefuses(t *testing.T) {
	const list = "write a list: each item on its own line after a hyphen and a space, or all in [ ]"
	const label = " | " + aLabel
	const dir = " | write the path of a folder, for example /srv/skills/acme"
	const url = "roots[0].url is not an address that begins with http:// or https:// | write an address such as https://example.com/skills"
	for text, want := range map[string]string{
		"{}":                            "config-value@1:8 roots: roots is not a list | " + list,
		"[]":                            "config-value@1:8 roots: roots is empty | name a folder, or leave the key out",
		"[a]":                           "config-value@1:9 roots[0]: roots[0] does not consist of keys with values | write each key on its own line, indented, followed by a colon and a space",
		"[{}]":                          "config-value@1:9 roots[0].dir: roots[0] has no dir | write dir: and the path of a folder\nconfig-value@1:9 roots[0].label: roots[0] has no label | write label: and a word for its URIs, for example acme",
		"[{dir: a}]":                    "config-value@1:9 roots[0].label: roots[0] has no label | write label: and a word for its URIs, for example acme",
		"[{dri: a, label: a}]":          "config-key@1:10 roots[0].dri: there is no key 'dri' in roots[0] | did you mean dir?",
		"[{dir: '', label: a}]":         "config-value@1:15 roots[0].dir: roots[0].dir is not text" + dir,
		"[{dir: 7, label: a}]":          "config-value@1:15 roots[0].dir: roots[0].dir is not text" + dir,
		"[{dir: ~/a, label: a}]":        "config-value@1:15 roots[0].dir: roots[0].dir begins with ~, which no shell replaces here | write the whole path; for a folder of this name ./~/a",
		`[{dir: "a\u0000b", label: a}]`: "config-value@1:15 roots[0].dir: roots[0].dir has a control character" + dir,
		"[{dir: a, label: A}]":          "config-value@1:25 roots[0].label: roots[0].label is not a label" + label,
		"[{dir: a, label: a/b}]":        "config-value@1:25 roots[0].label: roots[0].label is not a label" + label,
		"[{dir: a, label: 7}]":          "config-value@1:25 roots[0].label: roots[0].label is not a label" + label,
		"[{dir: a, label: ''}]":         "config-value@1:25 roots[0].label: roots[0].label is not a label" + label,
		"[{dir: a, label: ö}]":          "config-value@1:25 roots[0].label: roots[0].label is not a label" + label,
		"[{dir: a, label: " + strings.Repeat("a", 33) + "}]":            "config-value@1:25 roots[0].label: roots[0].label is not a label" + label,
		"[{dir: a, label: x}, {dir: b, label: x}]":                      "config-value@1:45 roots[1].label: x is the label of the root on line 1 | give each root its own label",
		"[{dir: a, dir: b, label: x}]":                                  "yaml-duplicate-key@1:18 : the key 'dir' occurs twice; the first is on line 1 | delete one of the two",
		"[{dir: a, label: a, title: [a]}]":                              "config-value@1:35 roots[0].title: roots[0].title is not text | write a text; put it in quotes if YAML reads it as something else",
		`[{dir: a, label: a, title: "a\nb"}]`:                           "config-value@1:35 roots[0].title: roots[0].title is too long, or has more than one line | write one line of at most 100 characters",
		"[{dir: a, label: a, owner: " + strings.Repeat("ö", 101) + "}]": "config-value@1:35 roots[0].owner: roots[0].owner is too long, or has more than one line | write one line of at most 100 characters",
		"[{dir: a, label: a, url: 'javascript:alert(1)'}]":              "config-value@1:33 roots[0].url: " + url,
		"[{dir: a, label: a, url: 'data:text/html,x'}]":                 "config-value@1:33 roots[0].url: " + url,
		"[{dir: a, label: a, url: 'https://acme.example/a b'}]":         "config-value@1:33 roots[0].url: " + url,
		"[{dir: a, label: a, url: //evil.example}]":                     "config-value@1:33 roots[0].url: " + url,
		"[{dir: a, label: a, url: 'https:evil.example'}]":               "config-value@1:33 roots[0].url: " + url,
		"[{dir: a, label: a, url: 'https://user:secret@acme.example'}]": "config-value@1:33 roots[0].url: " + url,
		"[{dir: a, label: a, url: \"https://acme.example/\\u202E\"}]":   "config-value@1:33 roots[0].url: " + url,
		"[{dir: a, label: a, url: \"java\\tscript://acme.example/\"}]":  "config-value@1:33 roots[0].url: " + url,
	} {
		c, problems := Parse([]byte("roots: " + text + "\n"))
		if diff := cmp.Diff(want, linesOf(problems)); diff != "" || len(c.Roots) > 0 {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	var many strings.Builder
	for i := range maxRoots + 1 {
		fmt.Fprintf(&many, "- {dir: a, label: a%d}\n", i)
	}
	if _, problems := Parse([]byte("roots:\n" + many.String())); linesOf(problems) != "config-value@258:3 roots: roots has more than 256 folders | name a folder above them instead" {
		t.Error(linesOf(problems))
	}
}
