package frontmatter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/corpus"
)

// TestPlainWords checks the first problem of blocks that authors write and YAML refuses. A block
// begins on the file's second line.
func TestPlainWords(t *testing.T) {
	for block, want := range map[string]string{
		"description: Git: commits":          "2:17 an unquoted value contains a colon and a space | put the value in quotes: description: '…'",
		"description: Git:":                  "2:17 an unquoted value ends with a colon | put the value in quotes: description: '…'",
		"description: Use\n  when: asked":    "3:7 the value of description continues on this line, which contains a colon and a space | put the value in quotes: description: '…'; or, if this is a field, indent it as the others",
		"metadata:\n  a: b: c":               "3:7 an unquoted value contains a colon and a space | put the value in quotes: a: '…'",
		"a: b\n\tc: d":                       "3:1 there is a tab where YAML requires spaces | use spaces instead of the tab",
		"a:\n\t- b":                          "3:1 there is a tab where YAML requires spaces | use spaces instead of the tab",
		"a: |\n x\n\ty":                      "4:1 there is a tab where YAML requires spaces | use spaces instead of the tab",
		"-\ta: b":                            "2:2 there is a tab where YAML requires spaces | use spaces instead of the tab",
		"description: \"x":                   "2:14 the quote \" that begins here is never closed | write the closing \", or put the other kind of quotes around the whole value",
		"description: 'x\nlicense: MIT":      "2:14 the quote ' that begins here is never closed | write the closing ', or put the other kind of quotes around the whole value",
		"description: \"x\" y":               "2:18 there is text after the closing quote | " + fixQuotes,
		"description: 'it's'":                "2:18 there is text after the closing quote | " + fixQuotes,
		"description: \"a\": b":              "2:17 there is text after the closing quote | " + fixQuotes,
		"description: \"a\"#b":               "2:17 there is a # directly after the value | put a space before the #, or put the whole value in quotes",
		"description: \"C:\\dir\"":           "2:17 in double quotes \\d means nothing | use single quotes, or write \\\\ for each backslash",
		"description: \"a \\u12 b\"":         "2:17 in double quotes \\u must be followed by 4 hexadecimal digits | use single quotes, or write \\\\ for each backslash",
		"description: \"C:\\Users\"":         "2:17 in double quotes \\U must be followed by 8 hexadecimal digits | use single quotes, or write \\\\ for each backslash",
		"description: d\n%TAG x":             "3:1 a line that begins with % is not a field | delete the line",
		"metadata: {a: \"\\ud83d\\udce7\"}":  "2:16 \\ud83d is not a complete character | write the character itself",
		"description: [a] b":                 "2:18 there is text after the closing bracket | put the value in quotes: description: '…'",
		"description: {A}'s b":               "2:17 there is text after the closing bracket | put the value in quotes: description: '…'",
		"metadata: {a: b} c":                 "2:18 there is text after the closing bracket | delete it",
		"description: [a":                    "2:14 the [ that begins here is never closed | put the value in quotes: description: '…'",
		"metadata: {a: b":                    "2:11 the { that begins here is never closed | write the closing }",
		"tags: [a, b\nlicense: MIT":          "2:7 the [ that begins here is never closed | write the closing ]",
		"tags: [":                            "2:7 the [ that begins here is never closed | write the closing ]",
		"metadata: {\"a\":\\[1]}":            "2:17 a comma or the closing } is missing before this | write the missing character",
		"tags: [a: b: c]":                    "2:12 a comma or the closing ] is missing before this | write the missing character",
		"metadata: {a: {[b]: c}}":            "2:16 there is a list or mapping where a key is expected | write a key, or delete the brackets",
		"description: *all* of it":           "2:14 a value that begins with * must be quoted | put the value in quotes: description: '…'",
		"description: **全** 部":               "2:14 a value that begins with * must be quoted | put the value in quotes: description: '…'",
		"description: & more":                "2:14 a value that begins with & must be quoted | put the value in quotes: description: '…'",
		"description: @all":                  "2:14 a value that begins with @ must be quoted | put the value in quotes: description: '…'",
		"description: `x` y":                 "2:14 a value that begins with ` must be quoted | put the value in quotes: description: '…'",
		"description: , and":                 "2:14 a value that begins with , must be quoted | put the value in quotes: description: '…'",
		"description: !!":                    "2:14 a value that begins with ! must be quoted | put the value in quotes: description: '…'",
		"description: ? who":                 "2:14 a value that begins with ? must be quoted | put the value in quotes: description: '…'",
		"description: - one":                 "2:14 a value that begins with - must be quoted | put the value in quotes: description: '…'",
		"allowed-tools: - Read\n  - Write":   "2:16 a list begins on the line of its key | write each entry on a line of its own, below the key",
		"description: > text":                "2:16 there is text after > on the same line | put the text on the next line, indented, or delete the >",
		"description: |0\n  x":               "2:15 there is text after | on the same line | put the text on the next line, indented, or delete the |",
		"a: b\nstray":                        "3:1 the line is not a field and is not indented under one | indent the lines that continue the value, or quote it",
		"stray\na: b":                        "2:1 the line is not a field and is not indented under one | write it as a field, name: value, or delete it",
		"a: b\n- c":                          "3:1 there is a list entry where a field is expected | put the value in quotes: a: '…', or indent its lines",
		"a:\n  - b\n  c: d":                  "4:3 the line is not indented as the entries of the list above it | indent it as they are, or begin it with -",
		"a:\n  b: c\n d: e":                  "4:2 the line is not indented as the fields around it | indent it as they are",
		" a: b\nc: d":                        "3:1 the line is not indented as the fields around it | indent it as they are",
		"a: b\n```":                          "3:1 a line that begins with ` is not a field | indent the lines that continue the value, or quote it",
		"**name: a**":                        "2:1 a line that begins with * is not a field | write each field on a line of its own, as name: value",
		"%YAML 1.1\n---\na: b":               "2:1 a line that begins with % is not a field | delete the line",
		"description:Use it\nlicense: MIT":   "2:12 there is no space after the colon of description | put a space after description:",
		"description:\u00a0Use it\nname: a":  "2:13 after the colon of description there is the space U+00A0, which YAML does not accept as a space | replace it with an ordinary space",
		"<<<<<<< HEAD\na: b\n=======\nc: d":  "2:1 the frontmatter contains a merge conflict marker | resolve the conflict and delete its markers",
		"description: a\u0007":               "2:15 the character U+0007 is not allowed here | delete the character",
		"a: b\n...\nc: d":                    "4:1 a second YAML document begins here | indent lines that belong to the field above, or delete them",
		strings.Repeat("[", 30) + "\na: 1":   "2:17 more than 16 levels deep | nest it less deeply",
		"a: &x b":                            "2:4 an anchor (&x) is not supported | put the value in quotes: a: '…'",
		"a: !!str b":                         "2:4 a tag (!!str) is not supported | put the value in quotes: a: '…'",
		"description: \"one\n  two\" three":  "3:8 there is text after the closing quote | " + fixQuotes,
		"x: 1\ndescription: 'a\n---\nb'\n":   "3:14 the quote ' that begins here is never closed | write the closing ', or put the other kind of quotes around the whole value",
		"a:\n  - b: c: d":                    "3:9 an unquoted value contains a colon and a space | put the value in quotes: b: '…'",
		"{\n":                                "2:2 the text ends here, in the middle of a value | write the rest",
		"a: 1\nb: [\n\n":                     "3:4 the [ that begins here is never closed | write the closing ]",
		"allowed-tools: *":                   "2:16 a value that begins with * must be quoted | put the value in quotes: allowed-tools: '…'",
		"\u00e9\u00e9: \"a\" b":              "2:9 there is text after the closing quote | " + fixQuotes,
		"description: \"a\" \"b\"\nx: [1] 2": "2:18 there is text after the closing quote | " + fixQuotes,
	} {
		got := "nothing"
		for _, p := range Parse(fenced(block)).Problems {
			if p.Rule == YAMLSyntax {
				got = p.Position.String() + " " + p.Message + " | " + p.Fix
				break
			}
		}
		if got != want {
			t.Errorf("%q:\n got %s\nwant %s", block, got, want)
		}
	}
}

// TestPlainWordsCorpus checks that every fault in 15,418 real blocks, the edge cases and the real
// skills has a text of knack's own, a position and a fix.
func TestPlainWordsCorpus(t *testing.T) {
	n := 0
	look := func(name string, d *Document) {
		for _, p := range d.Problems {
			if p.Rule != YAMLSyntax && p.Rule != NameSyntax {
				continue
			}
			n++
			if strings.Contains(p.Message, lastResort) || p.Fix == "" || p.Position.Line == 0 {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
	for _, part := range []string{"edge", "skills"} {
		err := filepath.WalkDir(filepath.Join(corpus.Dir(t), part), func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || !strings.EqualFold(e.Name(), "SKILL.md") {
				return err
			}
			data, err := os.ReadFile(path)
			look(path, Parse(data))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	realBlocks(t, func(block string) { look(block, Parse(fenced(block))) })
	if n < 200 {
		t.Errorf("only %d faults were met", n)
	}
}
