package clientconfig

import (
	"strings"
	"testing"
)

// TestAddItem checks that an entry is added to scan.accept in each notation that people use.
func TestAddItem(t *testing.T) {
	t.Parallel()
	const block = "rule: \"a\"\n      reason: \"it's \\\"b\\\"\"\n"
	const inline = `{rule: "a", reason: "it's \"b\""}`
	for name, c := range map[string]struct{ before, after string }{
		"no file":               {"", "scan:\n  accept:\n    - " + block},
		"only a comment":        {"# mine\n", "# mine\nscan:\n  accept:\n    - " + block},
		"a template":            {"# Judged.\n#scan: # on\n#  mode: enforce\n\nroots: []\n", "# Judged.\nscan: # on\n#  mode: enforce\n  accept:\n    - " + block + "\nroots: []\n"},
		"a template at the end": {"#scan:\n#  mode: enforce", "scan:\n#  mode: enforce\n  accept:\n    - " + block},
		"before a template":     {"#scan:\n#  mode: enforce\n#trust:\n#  - from: x\n", "scan:\n#  mode: enforce\n  accept:\n    - " + block + "#trust:\n#  - from: x\n"},
		"in another key":        {"a:\n  b: 1\n# scan:\n  c: 2\n", "a:\n  b: 1\n# scan:\n  c: 2\nscan:\n  accept:\n    - " + block},
		"a template in CRLF":    {"# scan:\r\n", "scan:\r\n  accept:\r\n    - " + strings.ReplaceAll(block, "\n", "\r\n")},
		"another section":       {"roots: [] # none", "roots: [] # none\nscan:\n  accept:\n    - " + block},
		"an empty section":      {"scan: # later\nroots: []\n", "scan: # later\n  accept:\n    - " + block + "roots: []\n"},
		"a section":             {"scan: # strict\n  # holds back\n  mode: enforce # yes\nroots: []\n", "scan: # strict\n  accept:\n    - " + block + "  # holds back\n  mode: enforce # yes\nroots: []\n"},
		"an empty list":         {"scan:\n  mode: review\n  accept:\n", "scan:\n  mode: review\n  accept:\n    - " + block},
		"a list":                {"scan:\n  accept: # known\n    # read by anna\n    - rule: b # old\n  mode: review\n", "scan:\n  accept: # known\n    - " + block + "    # read by anna\n    - rule: b # old\n  mode: review\n"},
		"braces":                {"scan: {mode: enforce} # strict\n", "scan: {accept: [" + inline + "], mode: enforce} # strict\n"},
		"empty braces":          {"scan: {}\n", "scan: {accept: [" + inline + "]}\n"},
		"brackets":              {"scan:\n  accept: []\n", "scan:\n  accept: [" + inline + "]\n"},
		"a list in braces":      {"scan: {accept: [{rule: b}]}\n", "scan: {accept: [" + inline + ", {rule: b}]}\n"},
		"all in braces":         {"{roots: []}\n", "{scan: {accept: [" + inline + "]}, roots: []}\n"},
		"CRLF":                  {"scan: {}\r\n", "scan: {accept: [" + inline + "]}\r\n"},
		"not a list":            {"scan: {accept: yes}\n", ""},
		"not a section":         {"scan: enforce\n", ""},
		"two documents":         {"scan: {}\n---\n", ""},
		"twice":                 {"scan: {}\nscan: {}\n", ""},
	} {
		got, err := AddItem([]byte(c.before), []string{"scan", "accept"}, []Field{{"rule", "a"}, {"reason", `it's "b"`}})
		if string(got) != c.after || (err == nil) != (c.after != "") {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.after)
		}
	}
}
