package gfm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSpecification has a case for each example of the specification's four sections, by the
// example's number, and cases for sentences without one.
func TestSpecification(t *testing.T) {
	m := ours()
	for _, c := range []struct{ name, source, want string }{
		{"198 table", "| a | b |\n| --- | --- |\n| c | d |", table("<th>a</th> <th>b</th>", "<td>c</td> <td>d</td>")},
		{"199 table: alignment", "| a | bc |\n:-: | -----------:\nd | e", table(`<th align="center">a</th> <th align="right">bc</th>`, `<td align="center">d</td> <td align="right">e</td>`)},
		{"200 table: escaped pipes", "| a\\|b  |\n| ------ |\n| c `\\|` d |\n| e **\\|** f |", table("<th>a|b</th>", "<td>c_<code>|</code>_d</td>", "<td>e_<strong>|</strong>_f</td>")},
		{"201 table: another block ends it", "| a | b |\n| --- | --- |\n| c | d |\n> e", table("<th>a</th> <th>b</th>", "<td>c</td> <td>d</td>") + "<blockquote>\n<p>e</p>\n</blockquote>\n"},
		{"202 table: an empty line ends it", "| a | b |\n| --- | --- |\n| c | d |\ne\n\nf", table("<th>a</th> <th>b</th>", "<td>c</td> <td>d</td>", "<td>e</td> <td></td>") + "<p>f</p>\n"},
		{"203 table: too few delimiters", "| a | b |\n| --- |\n| c |", "<p>| a | b |\n| --- |\n| c |</p>\n"},
		{"204 table: cells missing and too many", "| a | b |\n| --- | --- |\n| c |\n| d | e | f |", table("<th>a</th> <th>b</th>", "<td>c</td> <td></td>", "<td>d</td> <td>e</td>")},
		{"205 table: no rows", "| a | b |\n| --- | --- |", table("<th>a</th> <th>b</th>")},
		{"table: below a paragraph", "a\n| b\n| :-", "<p>a</p>\n" + table(`<th align="left">b</th>`)},
		{"table: an indented delimiter row", "a\n    -|", "<p>a\n-|</p>\n"},
		{"table: a header row with too few cells", "a\n-|:-", table(`<th>a</th> <th></th>`)},
		{"table: spans", "a|b\n-|-\n`c\\|\\|d` *`\\|`*|~~e~~", table("<th>a</th> <th>b</th>", "<td><code>c||d</code>_<em><code>|</code></em></td> <td><del>e</del></td>")},

		{"279 task list", "- [ ] a\n- [x] b", "<ul>\n<li><input disabled=\"\" type=\"checkbox\" /> a</li>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\" /> b</li>\n</ul>\n"},
		{"280 task list in a task list", "1. [X] a\n   - [ ] b", "<ol>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\" /> a\n<ul>\n<li><input disabled=\"\" type=\"checkbox\" /> b</li>\n</ul>\n</li>\n</ol>\n"},
		{"task list: no item, not first, not one character", "[x] a\n\n- a [x]\n- [] b\n- [xx] c", "<p>[x] a</p>\n<ul>\n<li>a [x]</li>\n<li>[] b</li>\n<li>[xx] c</li>\n</ul>\n"},

		{"491 strikethrough", "~~a~~ b, ~c~!", "<p><del>a</del> b, <del>c</del>!</p>\n"},
		{"492 strikethrough: no paragraph end within", "a ~~b\n\nc d~~.", "<p>a ~~b</p>\n<p>c d~~.</p>\n"},
		{"strikethrough: three tildes", "a ~~~b~~~ c", "<p>a ~~~b~~~ c</p>\n"},

		{"621 www", "www.a.example", `<p><a href="http://www.a.example">www.a.example</a></p>` + "\n"},
		{"622 www with a path", "b www.a.example/c d", `<p>b <a href="http://www.a.example/c">www.a.example/c</a> d</p>` + "\n"},
		{"623 punctuation", "b www.a.example.\nwww.a.example/c.d!?", `<p>b <a href="http://www.a.example">www.a.example</a>.` + "\n" + `<a href="http://www.a.example/c.d">www.a.example/c.d</a>!?</p>` + "\n"},
		{"624 parentheses", "www.a.b/c+(d)\nwww.a.b/c+(d)))\n(www.a.b/c+(d))\n(www.a.b/c+(d)", `<p><a href="http://www.a.b/c+(d)">www.a.b/c+(d)</a>` + "\n" + `<a href="http://www.a.b/c+(d)">www.a.b/c+(d)</a>))` + "\n" + `(<a href="http://www.a.b/c+(d)">www.a.b/c+(d)</a>)` + "\n" + `(<a href="http://www.a.b/c+(d)">www.a.b/c+(d)</a></p>` + "\n"},
		{"625 parentheses within", "www.a.b/?c=(d))+e", `<p><a href="http://www.a.b/?c=(d))+e">www.a.b/?c=(d))+e</a></p>` + "\n"},
		{"626 references", "www.a.b?c=d&ef=g\nwww.a.b?c=d&ef;", `<p><a href="http://www.a.b?c=d&amp;ef=g">www.a.b?c=d&amp;ef=g</a>` + "\n" + `<a href="http://www.a.b?c=d">www.a.b?c=d</a>&amp;ef;</p>` + "\n"},
		{"627 less-than sign", "www.a.b/c<d", `<p><a href="http://www.a.b/c">www.a.b/c</a>&lt;d</p>` + "\n"},
		{"628 schemes", "http://a.b:80\n(c https://a.b.c/d=(e))\n*ftp://a.b.*", `<p><a href="http://a.b:80">http://a.b:80</a>` + "\n" + `(c <a href="https://a.b.c/d=(e)">https://a.b.c/d=(e)</a>)` + "\n" + `<em><a href="ftp://a.b">ftp://a.b</a>.</em></p>` + "\n"},
		{"629 e-mail", "a@b.c", `<p><a href="mailto:a@b.c">a@b.c</a></p>` + "\n"},
		{"630 e-mail: a plus sign", "a@b+c.example, a+b@c.example.", `<p>a@b+c.example, <a href="mailto:a+b@c.example">a+b@c.example</a>.</p>` + "\n"},
		{"631 e-mail: its end", "a.b-c_d@e.f\na.b-c_d@e.f.\na.b-c_d@e.f-\na.b-c_d@e.f_", `<p><a href="mailto:a.b-c_d@e.f">a.b-c_d@e.f</a>` + "\n" + `<a href="mailto:a.b-c_d@e.f">a.b-c_d@e.f</a>.` + "\na.b-c_d@e.f-\na.b-c_d@e.f_</p>\n"},
		{"e-mail: www", "www.!a@b.c", `<p><a href="mailto:www.!a@b.c">www.!a@b.c</a></p>` + "\n"},
		{"autolinks: what is before", "awww.a.b \"www.a.b ~www.a.b", `<p>awww.a.b &quot;www.a.b ~<a href="http://www.a.b">www.a.b</a></p>` + "\n"},
		{"autolinks: in the text of a link", "[www.a.b](c)", `<p><a href="c">www.a.b</a></p>` + "\n"},
		{"autolinks: no host", "http://a www. ftp://.b http:// a@b", "<p>http://a www. ftp://.b http:// a@b</p>\n"},
	} {
		if diff := cmp.Diff(c.want, convert(t, m, []byte(c.source))); diff != "" {
			t.Errorf("%s: %q: -want +got\n%s", c.name, c.source, diff)
		}
	}
}

// table returns the HTML of a table. In a row, a space ends a line, and _ stands for a space.
func table(header string, rows ...string) string {
	cells := strings.NewReplacer(" <", "\n<", "_", " ").Replace
	out := "<table>\n<thead>\n<tr>\n" + cells(header) + "\n</tr>\n</thead>\n"
	for i, row := range rows {
		if i == 0 {
			out += "<tbody>\n"
		}
		out += "<tr>\n" + cells(row) + "\n</tr>\n"
	}
	if len(rows) > 0 {
		out += "</tbody>\n"
	}
	return out + "</table>\n"
}

// TestWide checks that a table has no more cells than its rows times the columns that its
// delimiter row announces, and that a row of pipes alone makes no cells beyond them.
func TestWide(t *testing.T) {
	out := convert(t, ours(), []byte("a|b\n-|-\n"+strings.Repeat("|", 10_000)+"\n|\n"))
	if got := strings.Count(out, "<td"); got != 4 {
		t.Errorf("%d cells", got)
	}
	out = convert(t, ours(), []byte(strings.Repeat("|a", 10_000)+"\n|-|\n"))
	if strings.Contains(out, "<table") {
		t.Error("a header row longer than the delimiter row makes a table")
	}
}
