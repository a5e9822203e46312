package frontmatter

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/alloctest"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

func TestYAML(t *testing.T) {
	for _, c := range []parses{
		{"---\nname: a\ndescription: b\nx: &anchor c\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"&anchor c\"}", "", []string{
			"yaml-syntax@4:4 x: an anchor (&anchor) is not supported | put the value in quotes: x: '…'",
		}},
		{"---\nname: a\ndescription: b\nx: *alias\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"*alias\"}", "", []string{
			"yaml-syntax@4:4 x: a value that begins with * must be quoted | put the value in quotes: x: '…'",
		}},
		{"---\nname: a\ndescription: b\nx: {<<: {a: b}}\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"{<<: {a: b}}\"}", "", []string{
			"yaml-syntax@4:5 x: a merge key (<<) is not supported | put the value in quotes: x: '…'",
		}},
		{"---\nname: a\ndescription: b\n<<: {a: b}\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"<<\":\"{a: b}\"}", "", []string{
			"yaml-syntax@4:1 <<: a merge key (<<) is not supported | put the value in quotes: <<: '…'",
		}},
		{"---\nname: a\ndescription: b\nx: !!str 12\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"!!str 12\"}", "", []string{
			"yaml-syntax@4:4 x: a tag (!!str) is not supported | put the value in quotes: x: '…'",
		}},
		{"---\nname: a\ndescription: b\nx: ! 12\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"! 12\"}", "", []string{
			"yaml-syntax@4:4 x: a tag (!) is not supported | put the value in quotes: x: '…'",
		}},
		{"---\nname: a\ndescription: b\nx: [1, !tag 2]\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"[1, !tag 2]\"}", "", []string{
			"yaml-syntax@4:8 x: a tag (!tag) is not supported | put the value in quotes: x: '…'",
		}},
		{"---\nname: a\ndescription: b\n...\nother: c\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"other\":\"c\"}", "", []string{
			"yaml-syntax@5:1 a second YAML document begins here | indent lines that belong to the field above, or delete them",
		}},
		{"---\nname: a\ndescription: b\n...\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{}},
		{"---\n%YAML 1.1\nname: a\ndescription: b\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"yaml-syntax@2:1 a line that begins with % is not a field | delete the line",
		}},
		{"---\nname: a\ndescription: b\nname: c\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"yaml-duplicate-key@4:1 the key 'name' occurs twice; the first, on line 2, counts | delete one of the two",
		}},
		{"---\nname: a\ndescription: b\nx:\n  y: 1\n  z: 2\n  y: 3\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":{\"y\":1,\"z\":2}}", "", []string{
			"yaml-duplicate-key@7:3 the key 'y' occurs twice; the first, on line 5, counts | delete one of the two",
		}},
		{"---\n1: a\n\"1\": b\nname: a\ndescription: b\n---\n", "{\"1\":\"a\",\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"yaml-key-type@2:1 the key '1' is not a string | quote the key",
			"yaml-duplicate-key@3:1 the key '1' occurs twice; the first, on line 2, counts | delete one of the two",
		}},
		{"---\nname: a\ndescription: b\n12: c\ntrue: d\n~: e\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"12\":\"c\",\"true\":\"d\",\"~\":\"e\"}", "", []string{
			"yaml-key-type@4:1 the key '12' is not a string | quote the key",
			"yaml-key-type@5:1 the key 'true' is not a string | quote the key",
			"yaml-key-type@6:1 the key '~' is not a string | quote the key",
		}},
		{"---\nname: a\ndescription: b\n: x\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"\":\"x\"}", "", []string{
			"yaml-key-type@4:1 there is no key before the colon | write the key, or delete the line",
		}},
		{"---\nname: a\ndescription: b\n? [k]\n: v\n---\n", "{\"name\":\"a\",\"description\":\"b ? [k] : v\"}", "", []string{
			"yaml-syntax@4:3 description: there is a list or mapping where a key is expected | write a key, or delete the brackets",
		}},
		{"---\nname: a\ndescription: b\n{k: 1}: v\n---\n", "{\"name\":\"a\",\"description\":\"b {k: 1}: v\"}", "", []string{
			"yaml-syntax@4:1 description: there is a list or mapping where a key is expected | write a key, or delete the brackets",
		}},
		{"---\nname: a\ndescription: b\nx: .inf\ny: [.nan, -.INF, 1e400]\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\".inf\",\"y\":[\".nan\",\"-.INF\",\"1e400\"]}", "", []string{
			"yaml-not-json@4:4 .inf has no JSON form | quote the value, or rename the key",
			"yaml-not-json@5:5 .nan has no JSON form | quote the value, or rename the key",
			"yaml-not-json@5:11 -.INF has no JSON form | quote the value, or rename the key",
			"yaml-not-json@5:18 1e400 has no JSON form | quote the value, or rename the key",
		}},
		{"---\nname: a\ndescription: b\n__proto__: {x: 1}\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"__proto__\":{\"x\":1}}", "", []string{
			"yaml-not-json@4:1 the key __proto__ is refused by JavaScript readers | quote the value, or rename the key",
		}},
		{"---\nname: \"é\\tb\n---\n", "{}", "", []string{
			"name-syntax@2:7 name: the name cannot be read: the quote \" that begins here is never closed | write the closing \", or put the other kind of quotes around the whole value",
		}},
		{"---\nname: a\ndescription: b\nx: [1, 2\ny: 3\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"[1, 2\",\"y\":3}", "", []string{
			"yaml-syntax@4:4 x: the [ that begins here is never closed | write the closing ]",
		}},
		{"---\nname: a\ndescription: b\nx: {y: z\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"{y: z\"}", "", []string{
			"yaml-syntax@4:4 x: the { that begins here is never closed | write the closing }",
		}},
		{"---\nname: a\ndescription: b\nx: \"\\q\"\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"\\\"\\\\q\\\"\"}", "", []string{
			"yaml-syntax@4:5 x: in double quotes \\q means nothing | use single quotes, or write \\\\ for each backslash",
		}},
		{"---\nname: a\ndescription: b\nstray\nx: 1\n---\n", "{\"name\":\"a\",\"description\":\"b stray\",\"x\":1}", "", []string{
			"yaml-syntax@4:1 description: the line is not a field and is not indented under one | indent the lines that continue the value, or quote it",
		}},
		{"---\nname: a\ndescription: b\nx:\n\t- y\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"- y\"}", "", []string{
			"yaml-syntax@5:1 x: there is a tab where YAML requires spaces | use spaces instead of the tab",
		}},
		{"---\nname: a\ndescription: b\nx: é \u0085\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"é\"}", "", []string{
			"yaml-syntax@4:6 x: the character U+0085 is not allowed here | delete the character",
		}},
		{"---\nname: a\ndescription: b\u2028c\n---\n", "{\"name\":\"a\",\"description\":\"b c\"}", "", []string{
			"yaml-syntax@3:15 description: the character U+2028 is not allowed here | delete the character",
		}},
		{"---\nname: a\ndescription: b\nx: c\u2029\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"c\"}", "", []string{
			"yaml-syntax@4:5 x: the character U+2029 is not allowed here | delete the character",
		}},
		{"---\nname: a\ndescription: b\a\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"yaml-syntax@3:15 description: the character U+0007 is not allowed here | delete the character",
		}},
		{"---\nname: a\ndescription: b\u0091\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"yaml-syntax@3:15 description: the character U+0091 is not allowed here | delete the character",
		}},
		{"---\nname: a\ndescription: b\x00\n---\n", "{}", "", []string{
			"yaml-control@3:15 the frontmatter contains a NUL character | delete it",
		}},
		{"---\nname: a\ndescription: b\ufeff\n---\n", `{"name":"a","description":"b"}`, "", []string{
			"yaml-syntax@3:15 description: the character U+FEFF is not allowed here | delete the character",
		}},
		{"---\nname: a\ndescription: b\uffff\n---\n", "{\"name\":\"a\",\"description\":\"b\uffff\"}", "", []string{
			"yaml-syntax@3:15 description: the character U+FFFF is not allowed here | delete the character",
		}},
		{"---\n- name: a\n- description: b\n---\n", "{}", "", []string{
			"yaml-mapping@2:1 the frontmatter is not a mapping of keys to values | write name: and description: between the two --- lines",
		}},
		{"---\njust text\n---\n", "{}", "", []string{
			"yaml-mapping@2:1 the frontmatter is not a mapping of keys to values | write name: and description: between the two --- lines",
		}},
		{"---\n[]\n---\n", "{}", "", []string{
			"yaml-mapping@2:1 the frontmatter is not a mapping of keys to values | write name: and description: between the two --- lines",
		}},
		{"---\n{}\n---\n", "{}", "", []string{}},
		{"---\n{name: a, description: b}\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{}},
		{"---\nnull\n---\n", "{}", "", []string{
			"yaml-mapping@2:1 the frontmatter is empty | write name: and description: between the two --- lines",
		}},
		{"---\n\"name\": a\n'description': b\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{}},
	} {
		c.check(t)
	}
}

// TestScalarJSON checks the JSON of values in the YAML 1.2 core schema.
func TestScalarJSON(t *testing.T) {
	for in, want := range map[string]string{
		"": "null", "~": "null", "null": "null", "Null": "null", `""`: `""`, "''": `""`, "nulL": `"nulL"`,
		"true": "true", "True": "true", "FALSE": "false", "tRue": `"tRue"`, "yes": `"yes"`, "no": `"no"`, "on": `"on"`, "off": `"off"`, "y": `"y"`,
		"012": "12", "0o14": "12", "0x1F": "31", "0x": `"0x"`, "0o8": `"0o8"`, "-0x1F": `"-0x1F"`, "0b11": `"0b11"`, "1_000": `"1_000"`,
		"1.10": "1.10", "+12": "12", ".5": "0.5", "-.5": "-0.5", "5.": "5", "-0": "-0", "00": "0", "1e3": "1e3", "+1.E5": "1E5", "1e": `"1e"`, ".": `"."`,
		"1.0e-400": "1.0e-400", "123456789012345678901234567890": "123456789012345678901234567890", "0xffffffffffffffffffff": "1208925819614629174706175",
		".inf": `".inf"`, "-.INF": `"-.INF"`, ".NaN": `".NaN"`, ".iNf": `".iNf"`, "1e400": `"1e400"`,
		"2026-01-02": `"2026-01-02"`, "2026-01-02T03:04:05Z": `"2026-01-02T03:04:05Z"`, "1:30": `"1:30"`, "1.2.3": `"1.2.3"`,
		`"12"`: `"12"`, `'true'`: `"true"`, "\"a\\tb\\u00e9\\\"\"": `"a\tbé\""`, `"\0\u2028</a>"`: "\"\\u0000\u2028</a>\"",
		"|\n    a\n     b\n\n    c\n": `"a\n b\n\nc\n"`, "|-\n    a\n": `"a"`, "|+\n    a\n\n": `"a\n\n"`, ">\n    a\n    b\n\n    c\n": `"a b\nc\n"`, ">-\n    12\n": `"12"`,
		"a\n    b": `"a b"`, "[1, [a, {b: ~}], '']": `[1,["a",{"b":null}],""]`, "{a: 1, b: {c: no}}": `{"a":1,"b":{"c":"no"}}`, "[]": "[]", "{}": "{}",
	} {
		d := Parse(fenced("x: " + in))
		if d.Repaired {
			t.Errorf("%q: repaired: %q", in, said(d.Problems))
		}
		difftest.Same(t, string(d.JSON()), `{"x":`+want+`}`, fmt.Sprintf("%q", in))
		if !json.Valid(d.JSON()) {
			t.Errorf("%q: not valid JSON: %s", in, d.JSON())
		}
	}
}

// TestYAMLDepth checks that 16 levels are read, and that the 17th is a fault at its bracket.
func TestYAMLDepth(t *testing.T) {
	nest := func(n int) []byte { return fenced("x: " + strings.Repeat("[", n) + strings.Repeat("]", n)) }
	// The mapping itself is the first level.
	difftest.Same(t, said(Parse(nest(maxDepth-1)).Problems), []string(nil), "16 levels")
	difftest.Same(t, said(Parse(nest(maxDepth)).Problems),
		[]string{"yaml-syntax@2:19 x: more than 16 levels deep | nest it less deeply"}, "17 levels")
	deep := "x:\n"
	for i := 1; i <= maxDepth; i++ {
		deep += strings.Repeat(" ", i) + "x:\n"
	}
	if d := Parse(fenced(deep)); len(d.Problems) != 1 || d.Problems[0].Rule != YAMLSyntax || d.Problems[0].Position.Line != 2+maxDepth {
		t.Errorf("17 levels of mappings: %q", said(d.Problems))
	}
}

// TestHostileYAML checks that hostile blocks are read in bounded memory, with a bounded number of
// problems that have positions.
func TestHostileYAML(t *testing.T) {
	testwait.Slow(t)
	fill := func(unit, tail string) string {
		return strings.Repeat(unit, (MaxSize-len(tail))/len(unit)) + tail
	}
	var many, quoted, loose strings.Builder
	for i := 0; many.Len() < MaxSize-40; i++ {
		fmt.Fprintf(&many, "k%d: a: b\n", i)
	}
	for i := 0; quoted.Len() < MaxSize-40; i++ {
		fmt.Fprintf(&quoted, "k%d: \"a\n", i)
	}
	loose.WriteString("name: a\n")
	for i := 0; loose.Len() < MaxSize-40; i++ {
		fmt.Fprintf(&loose, "k %d: a: b\n", i)
	}
	blocks := []string{
		many.String(), quoted.String(), loose.String(), fill("a:\n", "b: c: d\n"), fill("a: {", ""), fill("[", ""), fill("- ", ""), fill("? ", ""), fill("!!a ", ""), fill("&a ", ""),
		fill("a: &a [*a]\n", ""), fill("- - - - ", "\n"), fill("\"", "\n"), fill("'", "\n"), fill("{a: b}", "\n"), fill("a: |\n b\n", "x: y: z\n"), fill("# c\n", "x: y: z\n"),
		fill("%T a\n", ""), fill("a: \"\\x41\\u0041\n", ""), fill(": \n", ""), fill("\t", "\n"), fill(",", "\n"), fill("a: b\n...\n", ""), fill("<<: {a: b}\n", ""), fill("{<<: ", "\n"),
		"x: " + fill("9", "\n")[:60000] + "\n", "x: 0x" + fill("f", "")[:60000] + "\n", "x: 1e" + fill("9", "")[:60000] + "\n", fill("a b: c: d\n", ""), "x: {" + fill("a: 1, ", "")[:60000] + "\n",
		"a: [" + fill("x,", "")[:60000] + "\n", fill("a", ": b\n")[:60000] + ": c: d\n",
	}
	for _, unit := range []string{"a: b: c\n", "\"a\": \"b\" c\n", "a: *b\n", "a: [b] c\n", "a: {b} c\n", "a: > b\n", "a: @\n", "name: \"\n", "description: 'a\n", "=======\n", "---x\n", " a: b\n", "a\n", "\r", "a:\r", "é: é: é\n"} {
		blocks = append(blocks, fill(unit, ""), "name: a\n"+fill(unit, "")[:60000], fill(unit, "")[:60000]+"\ndescription: b\n")
	}
	if len(blocks) < 60 {
		t.Errorf("%d hostile blocks, want at least 60", len(blocks))
	}
	for i, block := range blocks {
		if alloctest.Raced && i%4 != 0 {
			continue // a quarter of the blocks is enough to find races
		}
		file := fenced(block)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d := Parse(file)
		runtime.ReadMemStats(&after)
		// The goal of 32 MiB is about memory in use; this is the sum of all allocations. It
		// bounds the work too. The goal of 50 ms belongs to a benchmark, since a test must
		// not fail on a slow machine.
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 && !alloctest.Raced {
			t.Errorf("block %d, %.20q…: allocated %d MiB in all", i, block, n>>20)
		}
		if len(d.Problems) > maxProblems+2 {
			t.Errorf("block %d, %.20q…: %d problems", i, block, len(d.Problems))
		}
		checkDocument(t, file, d)
	}
}

// TestNotations checks that a plain scalar is a number exactly if the expressions of the YAML 1.2
// core schema match it (yaml.org/spec/1.2.2, 10.3.2). It tries all texts of up to five characters
// of these expressions, and others.
func TestNotations(t *testing.T) {
	decimals, octals, hexadecimals := regexp.MustCompile(`^[+-]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][+-]?[0-9]+)?$`), regexp.MustCompile(`^0o[0-7]+$`), regexp.MustCompile(`^0x[0-9A-Fa-f]+$`)
	infinities := regexp.MustCompile(`^([+-]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
	check := func(s string) {
		want := noNumber
		switch {
		case decimals.MatchString(s):
			want = decimal
		case octals.MatchString(s):
			want = octal
		case hexadecimals.MatchString(s):
			want = hexadecimal
		case infinities.MatchString(s):
			want = infinite
		}
		if got := notationOf(s); got != want {
			t.Errorf("%q: %v, not %v", s, got, want)
		}
	}
	texts := []string{""}
	for range 5 {
		var longer []string
		for _, s := range texts {
			for _, c := range "08aoxe+-. _" {
				longer = append(longer, s+string(c))
			}
		}
		for _, s := range longer {
			check(s)
		}
		texts = longer
	}
	for _, s := range []string{"", ".inf", "+.Inf", "-.INF", ".iNf", ".nan", "-.nan", ".NaN", ".NAN", "inf", "1e", "1E+10", "0xFFg", "0xFF", "0o78", "0b11", "1_000", "2026-11-21", "1.2.3", "0x", "0o", "٣", "1é"} {
		check(s)
	}
}
