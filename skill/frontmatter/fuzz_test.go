package frontmatter

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/test/difftest"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"---\nname: a\ndescription: b\n---\n# B\n", "\ufeff\n<!-- c -->\r\n---\r\nname: a\r\n---# T", "```\n---\nname: \"a\ndescription: b: c\n---\n", "---\nname: a\rx: [1, {b: *c}]\n...\nd: &e f\n---\n",
		"---\nname: > a\n<<<<<<< x\ndescription:b\n? [k]\n: v\n---\n", "---\nname: A b\nmetadata:\n  k k: 1\ndescription: [x, 'y\"z']\nallowed: {x: 1}\n---\n", "---\nname: n\nname: m\n1: x\ndescription: \"a\\nb\"\ncompatibility: 1\n---\n", "---\nk k: a: b\n\"q\": 'x' y\nname: 012\n\tx\n---\n", "---\nx: !!str \"\\0\\x9f\"\ny: 0x1e400\nz: 1e999\n---\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := Parse(data)
		checkDocument(t, data, d)
		buffer := bytes.Clone(data)
		shared := ParseShared(buffer, make([]Field, 0, 16))
		difftest.Same(t, shared, d, "shared")
	})
}

func FuzzRepair(f *testing.F) {
	for _, s := range []string{"x: a: b", "x: \"a\" b", "when to: x: y", "x: {a,\nb: [", "<<<<<<< a\nx: 1", "x: > a\n\n#c\nstray", "'k' : 'v", "descr:x", "- a", "é: é: \"", "x: |\n  a\n b", "name2: *a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, fault string) { recoversBeside(t, fault) })
}

// recoversBeside checks that a faulty field before, between or after name and description does not
// change how these are read.
func recoversBeside(t *testing.T, fault string) {
	t.Helper()
	if strings.ContainsAny(fault, "\x00\r") || !utf8.ValidString(fault) || !isField(fault) {
		return
	}
	const name, description = "name: the-name\n", "description: \"Does a: thing,\n  and 'more'\"\n"
	fault = strings.TrimRight(fault, "\n") + "\n"
	for _, block := range []string{name + description + fault, fault + name + description, name + fault + description} {
		file := fenced(block)
		d := Parse(file)
		checkDocument(t, file, d)
		n, _ := d.Field("name")
		desc, _ := d.Field("description")
		if n.Value.Text != "the-name" || desc.Value.Text != "Does a: thing, and 'more'" {
			t.Errorf("beside %q:\n%s\nread %q and %q: %q", fault, block, n.Value.Text, desc.Value.Text, said(d.Problems))
		}
	}
}

// isField reports whether text is one field with its own key that cannot extend into the
// next, as an open quote or bracket does.
func isField(text string) bool {
	lines := strings.Split(text, "\n")
	key, colon, ok := matchKey(lines[0])
	value := ""
	if ok {
		value = strings.TrimLeft(lines[0][colon:], " \t")
	} else if m := reLooseKey().FindStringSubmatch(lines[0]); m != nil {
		key, value = m[1], strings.TrimLeft(lines[0][len(m[0]):], " \t")
	}
	if key == "" || key == "name" || key == "description" || strings.ContainsAny(value, "\"'[{") || strings.TrimSpace(value) == "" {
		return false
	}
	for _, l := range lines[1:] {
		if l != "" && l[0] != ' ' || strings.ContainsAny(l, "\"'[{\t") || strings.HasPrefix(l, "---") {
			return false
		}
	}
	return !strings.HasPrefix(text, "---")
}

func TestRepairBesides(t *testing.T) {
	keys := []string{"license: ", "x: ", "when to use: ", "描述: ", "\"quoted\" : ", "allowed-tools:", "a.b-c: "}
	values := []string{"a: b", "> text", "| text", "*bold*", "&co", "@me", "`code`", "%p", "!tag x", "a # b: c", "a\n  b: c", "a: b\n   - c\n  d: e", "- x", "? y", "\u0085", "a\u2028b", "x\n\n  y: z: q"}
	for _, k := range keys {
		for _, v := range values {
			recoversBeside(t, k+v)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct{ name, block string }{
		{"sound", "name: a\ndescription: Does a thing. Use it when the thing is to be done, or somebody asks for it.\nlicense: MIT\nmetadata:\n  version: \"1.0\"\n  author: me\n"},
		{"repaired", "name: a\ndescription: Does a thing. Use it: when the thing is to be done, or somebody asks for it.\nlicense: MIT\nmetadata:\n  version: \"1.0\"\n  author: me\n"},
	} {
		data := append(fenced(c.block), strings.Repeat("A line of the body of the skill.\n", 180)...)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				Parse(data)
			}
		})
	}
}
