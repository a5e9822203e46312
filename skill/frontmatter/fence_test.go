package frontmatter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// parses is one file and the expected result of parsing it.
type parses struct {
	in, json, rest string
	problems       []string
}

func (c parses) check(t *testing.T) {
	t.Helper()
	d := Parse([]byte(c.in))
	got := parses{c.in, string(d.JSON()), c.in[d.Body:], said(d.Problems)}
	if got.problems == nil {
		got.problems = []string{}
	}
	if d := cmp.Diff(c, got, cmp.AllowUnexported(parses{})); d != "" {
		t.Errorf("%q (-want +got):\n%s", c.in, d)
	}
}

func TestFence(t *testing.T) {
	for _, c := range []parses{
		{"---\nname: a\ndescription: b\n---\n# Body\n", "{\"name\":\"a\",\"description\":\"b\"}", "# Body\n", []string{}},
		{"---\nname: a\ndescription: b\n---", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{}},
		{"\ufeff---\nname: a\ndescription: b\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"text-bom@1:1 the file begins with a byte-order mark | save the file as UTF-8 without a byte-order mark",
		}},
		{"---\r\nname: a\r\ndescription: b\r\n---\r\nBody\r\n", "{\"name\":\"a\",\"description\":\"b\"}", "Body\r\n", []string{}},
		{"\n\n---\nname: a\ndescription: b\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"fence-late@3:1 there is a blank line before the frontmatter | let the file begin with the line ---",
		}},
		{"\ufeff\n---\nname: a\ndescription: b\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"text-bom@1:1 the file begins with a byte-order mark | save the file as UTF-8 without a byte-order mark",
			"fence-late@2:1 there is a blank line before the frontmatter | let the file begin with the line ---",
		}},
		{"<!-- c -->\n---\nname: a\ndescription: b\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"fence-late@2:1 there is an HTML comment before the frontmatter | let the file begin with the line ---",
		}},
		{"<!-- c\r\nd\r\n-->\r\n\r\n---\r\nname: a\ndescription: b\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"fence-late@5:1 there is an HTML comment before the frontmatter | let the file begin with the line ---",
		}},
		{"<!-- c\n---\nname: a\ndescription: b\n---\n", "{}", "", []string{
			"fence-missing@1:1 there is text before the frontmatter | move the frontmatter (2:1) to the beginning of the file",
		}},
		{"<!--\n---\nname: a\ndescription: b\n---\n-->\n", "{}", "", []string{
			"fence-missing@1:1 the file has no frontmatter | begin the file with ---, name:, description: and --- on lines of their own",
		}},
		{"```yaml\n---\nname: a\ndescription: b\n---\n```\n", "{\"name\":\"a\",\"description\":\"b\"}", "```\n", []string{
			"fence-late@2:1 a code fence opens before the frontmatter | let the file begin with the line ---",
		}},
		{"```\n```\n---\nname: a\ndescription: b\n---\n", "{}", "", []string{
			"fence-missing@2:1 there is text before the frontmatter | move the frontmatter (3:1) to the beginning of the file",
		}},
		{"---\nname: a\ndescription: b\n---# Title\n", "{\"name\":\"a\",\"description\":\"b\"}", "# Title\n", []string{
			"fence-glued@4:4 there is text directly after the closing --- | put the text on the next line",
		}},
		{"---\nname: a\ndescription: b\n--- # Title\n", "{\"name\":\"a\",\"description\":\"b\"}", " # Title\n", []string{
			"fence-glued@4:4 there is text directly after the closing --- | put the text on the next line",
		}},
		{"---\nname: a\ndescription: b\n--- \t\nBody", "{\"name\":\"a\",\"description\":\"b\"}", "Body", []string{}},
		{"--- \nname: a\ndescription: b\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"fence-blanks@1:4 there are spaces after the opening --- | delete the spaces",
		}},
		{"---\t\nname: a\ndescription: b\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"fence-blanks@1:4 there are spaces after the opening --- | delete the spaces",
		}},
		{"---\nname: a\n----\ndescription: b\n---\n", "{\"description\":\"b\"}", "", []string{
			"name-syntax@3:1 name: the name cannot be read: the line is not a field and is not indented under one | indent the lines that continue the value, or quote it",
		}},
		{"---\nname: a\ndescription: one --- two\nx: '---'\ny: |\n  a\n  ---\n  b\n---\n", "{\"name\":\"a\",\"description\":\"one --- two\",\"x\":\"---\",\"y\":\"a\\n---\\nb\\n\"}", "", []string{}},
		{"---\nname: a\ndescription: b\n ---\n---\n", "{\"name\":\"a\",\"description\":\"b ---\"}", "", []string{}},
		{"---\nname: a\ndescription: b\n", "{}", "", []string{
			"fence-unclosed@1:1 the frontmatter is not closed | put the line --- after the last field",
		}},
		{"---\nname: a\ndescription: b\n# Title\n\n----\n", "{}", "", []string{
			"fence-unclosed@1:1 the frontmatter is not closed | put the line --- after the last field",
		}},
		{"", "{}", "", []string{
			"file-empty@1:1 the file is empty | write frontmatter with name: and description:",
		}},
		{"\ufeff", "{}", "", []string{
			"text-bom@1:1 the file begins with a byte-order mark | save the file as UTF-8 without a byte-order mark",
			"file-empty@1:1 the file is empty | write frontmatter with name: and description:",
		}},
		{" \n\t\n", "{}", "", []string{
			"file-empty@1:1 the file is empty | write frontmatter with name: and description:",
		}},
		{"---\n---\n", "{}", "", []string{
			"yaml-mapping@2:1 the frontmatter is empty | write name: and description: between the two --- lines",
		}},
		{"---\n\n# only a comment\n---\n", "{}", "", []string{
			"yaml-mapping@2:1 the frontmatter is empty | write name: and description: between the two --- lines",
		}},
		{"---", "{}", "", []string{
			"fence-unclosed@1:1 the frontmatter is not closed | put the line --- after the last field",
		}},
		{"---\n", "{}", "", []string{
			"fence-unclosed@1:1 the frontmatter is not closed | put the line --- after the last field",
		}},
		{"../other/SKILL.md", "{}", "", []string{
			"fence-missing@1:1 the file only names another file, which is never followed | put the skill's text here, or link the skill's folder",
		}},
		{"@../other/SKILL.md\n", "{}", "", []string{
			"fence-missing@1:1 the file only names another file, which is never followed | put the skill's text here, or link the skill's folder",
		}},
		{"./x.md\nmore text\n", "{}", "", []string{
			"fence-missing@1:1 the file has no frontmatter | begin the file with ---, name:, description: and --- on lines of their own",
		}},
		{"# Title\n\nText.\n\n---\nname: a\ndescription: b\n---\n", "{}", "", []string{
			"fence-missing@1:1 there is text before the frontmatter | move the frontmatter (5:1) to the beginning of the file",
		}},
		{"# Title\n\n---\nText\n---\n", "{}", "", []string{
			"fence-missing@1:1 the file has no frontmatter | begin the file with ---, name:, description: and --- on lines of their own",
		}},
		{"name: a\ndescription: b\n---\n", "{}", "", []string{
			"fence-opener@1:1 the line --- is missing before the frontmatter | put the line --- before the first field and after the last",
		}},
		{"  name: a\n", "{}", "", []string{
			"fence-opener@1:1 the line --- is missing before the frontmatter | put the line --- before the first field and after the last",
		}},
		{"---name: a\nname: a\ndescription: b\n---\n", "{}", "", []string{
			"fence-opener@1:1 the opening --- is not alone on its line | put --- on a line of its own",
		}},
		{"--- # x\nname: a\ndescription: b\n---\n", "{}", "", []string{
			"fence-opener@1:1 the opening --- is not alone on its line | put --- on a line of its own",
		}},
		{"----\nname: a\ndescription: b\n----\n", "{}", "", []string{
			"fence-opener@1:1 the frontmatter opens with 4 hyphens, not three | write three hyphens: ---",
		}},
		{"---\rname: a\rdescription: b\r---\rBody\r", "{\"name\":\"a\",\"description\":\"b\"}", "Body\r", []string{
			"text-control@1:4 a line ends with a lone carriage return | save the file with LF line ends",
		}},
		{"---\nname: a\r\r\ndescription: b\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"text-control@2:8 a line ends with a lone carriage return | save the file with LF line ends",
		}},
		{"---\r\nname: a\rdescription: \"b\r\n---\r\n", "{\"name\":\"a\",\"description\":\"\\\"b\"}", "", []string{
			"text-control@2:8 a line ends with a lone carriage return | save the file with LF line ends",
			"yaml-syntax@3:14 description: the quote \" that begins here is never closed | write the closing \", or put the other kind of quotes around the whole value",
		}},
		{"<!-- x -->", "{}", "", []string{
			"fence-missing@1:1 the file has no frontmatter | begin the file with ---, name:, description: and --- on lines of their own",
		}},
		{"<!-- x -->\n\n", "{}", "", []string{
			"fence-missing@1:1 the file has no frontmatter | begin the file with ---, name:, description: and --- on lines of their own",
		}},
		{"---\nname: a\ndescription: b\n---\nbad \x1b text\n", "{\"name\":\"a\",\"description\":\"b\"}", "bad \x1b text\n", []string{
			"text-control@5:5 the text contains a control character | delete it",
		}},
		{"---\nname: \xff\n---\n", "{}", "", []string{
			"file-encoding@2:7 the file is not valid UTF-8 | save the file as UTF-8",
		}},
		{"---\nname: a\ndescription: b\n---\n\ufeffé\xff\n", "{}", "", []string{
			"file-encoding@5:3 the file is not valid UTF-8 | save the file as UTF-8",
		}},
		{"---js\nconsole.log(1)\n---\n", "{}", "", []string{
			"fence-opener@1:1 the opening --- is not alone on its line | put --- on a line of its own",
		}},
		{"+++\nname = \"a\"\n+++\n", "{}", "", []string{
			"fence-missing@1:1 the file has no frontmatter | begin the file with ---, name:, description: and --- on lines of their own",
		}},
	} {
		c.check(t)
	}
}

// TestFenceLimit checks that a block may have exactly 64 KiB, whether or not it is closed after
// that.
func TestFenceLimit(t *testing.T) {
	sized := func(n int) string {
		head := "name: a\ndescription: "
		return head + strings.Repeat("x", n-len(head)-1) + "\n"
	}
	tooLong := []string{"fence-too-long@1:1 the frontmatter is longer than 64 KiB | close it with the line --- after the last field, or move text into the body"}
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"---\n" + sized(MaxSize) + "---\n", nil},
		{"---\n" + sized(MaxSize+1) + "---\n", tooLong},
		{"---\n" + sized(MaxSize+1) + "text\n", tooLong},
		{"---\n" + sized(MaxSize) + "text\n", tooLong},
		{"---\n" + sized(MaxSize), []string{"fence-unclosed@1:1 the frontmatter is not closed | put the line --- after the last field"}},
	} {
		difftest.Same(t, said(Parse([]byte(c.in)).Problems), c.want, fmt.Sprintf("%d bytes", len(c.in)))
	}
}
