package markdown

import (
	"context"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// here resolves links in a file of the skill a, which has the neighbour b.
func here(file string) Links {
	return func(u *url.URL) Inside {
		at := path.Join("/r/a", path.Dir(file), u.Path)
		if u.Scheme != "" {
			at = "/" + u.Host + u.Path
		}
		for _, own := range []string{"/r/a", "/r/b"} {
			switch in, ok := strings.CutPrefix(at, own); {
			case !ok:
			case in == "" || in == "/SKILL.md":
				return Inside{Href: "/skills" + own + "/", File: "SKILL.md"}
			case in[0] == '/':
				p := (&url.URL{Path: at}).EscapedPath()
				return Inside{"/skills" + p, "/raw" + p, in[1:]}
			}
		}
		return Inside{}
	}
}

func TestRender(t *testing.T) {
	m := New()
	at, below := here("SKILL.md"), here("docs/x.md")
	for _, c := range []struct {
		at           Links
		source, want string
	}{
		{at, "# A *b*\n\n## A b\n", `<h1 id="md-a-b">A <em>b</em></h1>` + "\n" + `<h2 id="md-a-b-1">A b</h2>` + "\n"},
		{at, "[x](docs/y.md)", `<p><a href="/skills/r/a/docs/y.md">x</a></p>` + "\n"},
		{at, "[x](./docs/../z%20z.md#part)", `<p><a href="/skills/r/a/z%20z.md#md-part">x</a></p>` + "\n"},
		{below, "[x](y.md) [up](../SKILL.md)", `<p><a href="/skills/r/a/docs/y.md">x</a> <a href="/skills/r/a/">up</a></p>` + "\n"},
		{at, "[x](#part)", `<p><a href="#md-part">x</a></p>` + "\n"},
		{at, "[x](skill://r/b/SKILL.md) [y](skill://r/b/f.md) [z](skill://r/none)", `<p><a href="/skills/r/b/">x</a> <a href="/skills/r/b/f.md">y</a> <em class="nowhere">z<span class="sr"> (a link that leads nowhere from here)</span></em></p>` + "\n"},
		{at, "[x](https://a.example/?a=1&b=2 \"t\")", `<p><a href="https://a.example/?a=1&amp;b=2" title="t" class="out" rel="noopener noreferrer nofollow">x<span class="sr"> (leads elsewhere)</span></a></p>` + "\n"},
		{at, "https://a.example <b@a.example>", `<p><a href="https://a.example" class="out" rel="noopener noreferrer nofollow">https://a.example</a> <a href="mailto:b@a.example" class="out" rel="noopener noreferrer nofollow">b@a.example</a></p>` + "\n"},
		{at, "![x](i.png) ![y](i.svg) ![z](https://a.example/i.png)", `<p><img src="/raw/r/a/i.png" alt="x" loading="lazy"> <a href="/skills/r/a/i.svg">y [image]</a> <a href="https://a.example/i.png" class="out" rel="noopener noreferrer nofollow">z [image]<span class="sr"> (leads elsewhere)</span></a></p>` + "\n"},
		{at, "![a [b](https://a.example) ![c](d.png) https://a.example [e](nowhere:x) *f*](i.png)", `<p><img src="/raw/r/a/i.png" alt="a b c [image] https://a.example e f" loading="lazy"></p>` + "\n"},
		{at, "![a [b](https://b.example) ![c](d.png)](https://a.example/i.png)", `<p><a href="https://a.example/i.png" class="out" rel="noopener noreferrer nofollow">a b c [image] [image]<span class="sr"> (leads elsewhere)</span></a></p>` + "\n"},
		{at, "[![a](https://a.example/i.png) b](y.md) [![c](i.png)](y.md)", `<p><a href="/skills/r/a/y.md">a [image] b</a> <a href="/skills/r/a/y.md"><img src="/raw/r/a/i.png" alt="c" loading="lazy"></a></p>` + "\n"},
		{at, "<b onclick=x>y</b>\n\n<div>\n<!-- c -->\n</div>\n", `<p><code class="raw">&lt;b onclick=x&gt;</code>y<code class="raw">&lt;/b&gt;</code></p>` + "\n" + `<pre class="raw" tabindex="0"><code>&lt;div&gt;` + "\n&lt;!-- c --&gt;\n&lt;/div&gt;\n</code></pre>\n"},
		{at, "```js\nlet a = \"<b>\";\n```", `<pre tabindex="0"><code>let a = &#34;&lt;b&gt;&#34;;` + "\n</code></pre>\n"},
		{at, "|a|\n|-:|\n|b|", "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead>\n<tr>\n<th align=\"right\">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"right\">b</td>\n</tr>\n</tbody>\n</table></div>\n"},
		{at, "- [x] a\n", "<ul>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\" aria-label=\"task\"> a</li>\n</ul>\n"},
	} {
		got, whyNot := m.Render(t.Context(), c.source, c.at)
		if diff := cmp.Diff(c.want, string(got.HTML)); whyNot != "" || diff != "" {
			t.Errorf("%q: -want +got\n%s", c.source, diff)
		}
	}
}

// TestNowhere checks that unusable links lead nowhere.
func TestNowhere(t *testing.T) {
	links := here("docs/x.md")
	for _, dest := range []string{
		"", "javascript:x", "JAVASCRIPT:x", " javascript:x", "java\tscript:x", "&#106;avascript:x", "java&#x09;script:x", "javascript&colon;x", "data:text/html,x",
		"vbscript:x", "file:///etc/passwd", "//evil.example/x", "/etc/passwd", "/skills/r/b/", "../../../x",
		"http:", "http:///x", "https:evil.example", "skill://r/../x", "skill:///x", "ftp://a.example/x", "blob:x", "about:blank", "x\x00y", "C:\\x", "..",
	} {
		if got := links.target(dest); got.kind != nowhere && !(dest == ".." && got.href == "/skills/r/a/") {
			t.Errorf("%q leads to %q", dest, got.href)
		}
	}
}

// TestHostileText checks that text that would take seconds to parse is not parsed, but
// ordinary text is.
func TestHostileText(t *testing.T) {
	testwait.Slow(t)
	m := New()
	at := here("SKILL.md")
	for _, unit := range []string{"*a_ ", "[a](", "**a~~_ ", "> ", ">", "- + ", "1. ", "+\t* ", "1) ", "=\n", "a\n=\n", "a\n-\n", "# a\n", "> #\n"} {
		if _, whyNot := m.Render(t.Context(), strings.Repeat(unit, 200_000/len(unit)), at); whyNot != tooMuch {
			t.Errorf("a text of %q alone is rendered", unit)
		}
	}
	for _, source := range []string{
		strings.Repeat("a **b** `c_d` [e](f) ", 200), strings.Repeat("|a|[b](c)|\n", 400), strings.Repeat("-", 300), strings.Repeat("* ", 100) + "\n",
		strings.Repeat("A paragraph with *one* mark.\n\n", 3000), "    " + strings.Repeat("-", 40) + "> text",
	} {
		if _, whyNot := m.Render(t.Context(), source, at); whyNot != "" {
			t.Errorf("%.40q… is not rendered", source)
		}
	}
	for _, size := range [][2]int{{100, 1000}, {1000, 10_000}, {10, 30_000}} {
		table := strings.Repeat("|a", size[0]) + "\n" + strings.Repeat("|-", size[0]) + "\n" + strings.Repeat("|\n", size[1])
		if _, whyNot := m.Render(t.Context(), table, at); whyNot != tooMuch {
			t.Errorf("a table of %d columns and %d rows is rendered", size[0], size[1])
		}
		if _, whyNot := m.Render(t.Context(), "> "+strings.ReplaceAll(table, "\n", "\n> "), at); whyNot != tooMuch {
			t.Errorf("a table of %d columns and %d rows in a quote is rendered", size[0], size[1])
		}
	}
	for _, blank := range []string{"\u00a0", "\u0085", "\v", "\f", "\u2003"} { // blank to people, but not to the parser
		table := strings.Repeat("|a", 300) + "|\n" + strings.Repeat("|-", 300) + "|\n" + strings.Repeat(blank+"\n", 700)
		if _, whyNot := m.Render(t.Context(), table, at); whyNot != tooMuch {
			t.Errorf("a table with rows of %q is rendered", blank)
		}
		if _, whyNot := m.Render(t.Context(), strings.Repeat("*a_ [\n"+blank+"\n", 10_000), at); whyNot != tooMuch {
			t.Errorf("marks with lines of %q between them are rendered", blank)
		}
	}
	for _, definition := range []string{
		"[a]: https://e.example/" + strings.Repeat("a", 190_000), "[a]: " + strings.Repeat("a", 190_000) + ".md", "[a]: b.md '" + strings.Repeat("a", 190_000) + "'",
		"[a]: https://e.example/" + strings.Repeat("a", 1500), // a link that leads somewhere
	} {
		for _, use := range []string{"[a]\n\n", "![a]\n\n"} {
			if _, whyNot := m.Render(t.Context(), definition+"\n\n"+strings.Repeat(use, 190_000/len(use)), at); whyNot != tooMuch {
				t.Errorf("%.30q… is rendered for each %q", definition, use)
			}
		}
	}
	deep := func(u *url.URL) Inside { // the skill's address is longer than the links to it
		return Inside{Href: "/skills/r/" + strings.Repeat("a", 1000) + u.Path}
	}
	short := []byte(strings.Repeat("[a](b)\n\n", 40_000))
	if rewrite(m.md.Parser().Parse(text.NewReader(short)), short, deep) {
		t.Error("links grow without end")
	}
	// A single link of that length is removed, and the text around it is shown.
	got, whyNot := m.Render(t.Context(), "[x](https://e.example/"+strings.Repeat("a", maxDestination)+")", at)
	if want := `<p><em class="nowhere">x<span class="sr"> (a link that leads nowhere from here)</span></em></p>` + "\n"; string(got.HTML) != want || whyNot != "" {
		t.Errorf("%.100s %s", got.HTML, whyNot)
	}
	var out markup
	if _, err := out.Write(make([]byte, maxMarkup+1)); err == nil {
		t.Error("endless markup is taken")
	}
	if _, whyNot := m.Render(t.Context(), strings.Repeat("a\n\n", maxRendered), at); whyNot != tooMuch {
		t.Error("an endless text is rendered")
	}
}

// TestBusy checks that a page does not wait long for other renderings, and says why it
// shows the source.
func TestBusy(t *testing.T) {
	at := here("SKILL.md")
	synctest.Test(t, func(t *testing.T) {
		m := New()
		for range cap(m.slots) {
			m.slots <- struct{}{}
		}
		begun := time.Now()
		out, whyNot := m.Render(t.Context(), "a", at)
		if out.HTML != "" || whyNot != tooBusy || time.Since(begun) != renderWait {
			t.Errorf("%q %q after %s", out.HTML, whyNot, time.Since(begun))
		}
		go func() { <-m.slots }()
		if out, whyNot := m.Render(t.Context(), "a", at); out.HTML != "<p>a</p>\n" || whyNot != "" {
			t.Errorf("%q %q", out.HTML, whyNot)
		}
	})
}

// TestRealText checks that Markdown files of real skills are rendered and contain only
// elements that the table allows.
func TestRealText(t *testing.T) {
	testwait.Slow(t)
	m, at, n := New(), here("SKILL.md"), 0
	err := filepath.WalkDir(corpus.Dir(t, "skills"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".md", ".markdown", ".mdx"}, strings.ToLower(filepath.Ext(p))) {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return nil // a link that leads nowhere
		}
		if n++; n%4 != 0 { // a quarter is a sufficient sample
			return nil
		}
		out, whyNot := m.Render(t.Context(), strings.ToValidUTF8(string(data), "?"), at)
		if whyNot != "" {
			t.Errorf("%s is not rendered", p)
		}
		for _, fault := range faults(string(out.HTML)) {
			t.Errorf("%s: %s", p, fault)
		}
		return nil
	})
	if err != nil || n < 1000 {
		t.Errorf("%d files, %v", n, err)
	}
}

// faults returns the disallowed parts of markup, as a browser parses it.
func faults(markup string) (out []string) {
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(strings.NewReader(markup), body)
	if err != nil {
		return []string{err.Error()}
	}
	for _, top := range nodes {
		body.AppendChild(top)
	}
	for n := range body.Descendants() {
		switch n.Type {
		case html.TextNode:
			continue
		case html.ElementNode:
		default:
			out = append(out, "a node that is neither text nor element: "+n.Data)
			continue
		}
		if n.Data == "div" && len(n.Attr) == 2 && n.Attr[0].Val == "scroll" {
			continue // the wrapper that render adds around a table
		}
		attributes, ok := allowed[n.Data]
		if !ok || n.Namespace != "" {
			out = append(out, "an element "+n.Namespace+" "+n.Data)
		}
		for _, a := range n.Attr {
			ours := n.Data == "img" && a.Key == "loading" || n.Data == "input" && a.Key == "aria-label"
			if valid := attributes[a.Key]; !ours && (valid == nil || !valid(a.Val)) {
				out = append(out, "an attribute "+n.Data+" "+a.Key+"="+a.Val)
			}
		}
	}
	return out
}

func TestSanitize(t *testing.T) {
	for in, want := range map[string]string{
		`<p>a</p>`:                                                 `<p>a</p>`,
		`<script>alert(1)</script>b`:                               `alert(1)b`,
		`<style>p{}</style>`:                                       `p{}`,
		`<p onclick="x" class="y" style="z">a`:                     `<p>a</p>`,
		`<a href="javascript:x">a</a>`:                             `<a>a</a>`,
		`<a href="/skills/x" target="_blank">a</a>`:                `<a href="/skills/x">a</a>`,
		`<a href="/metrics">a</a>`:                                 `<a>a</a>`,
		`<a href="//e">a</a>`:                                      `<a>a</a>`,
		`<img src="/raw/a.svg"><img src="x.png">`:                  ``,
		`<img src="/raw/a.png" srcset="https://e 2x" onerror="x">`: `<img src="/raw/a.png" loading="lazy">`,
		`<svg><a href="/skills/x">b</a></svg>`:                     `<a href="/skills/x">b</a>`,
		`<!-- a --><!doctype html><?x?>`:                           `&lt;!-- a --&gt;&lt;!doctype html&gt;&lt;?x?&gt;`,
		`</p></div></main><em>a</strong>`:                          `<em>a</em>`,
		`<strong><em>a</strong>b</em>`:                             `<strong><em>a</em></strong>b`,
		`<h1 id="q">a</h1><h1 id="md-q">b</h1>`:                    `<h1>a</h1><h1 id="md-q">b</h1>`,
		`<input type="text"><input type="checkbox">`:               ``,
		`<pre tabindex="1">&lt;b&gt;</pre>`:                        `<pre>&lt;b&gt;</pre>`,
		`<p title="&quot;><script>">`:                              `<p></p>`,
		`<textarea></p><script>x</script>`:                         `x`,
		`<p class=x>a<p class='x'>b`:                               `&lt;p class=x&gt;a&lt;p class=&#39;x&#39;&gt;b`,
		`<p title="a`:                                              `&lt;p title=&#34;a`,
		`<p title="a"title="b">c</p`:                               `&lt;p title=&#34;a&#34;title=&#34;b&#34;&gt;c&lt;/p`,
		`<P>a<p >b< p>c<>d</>`:                                     `&lt;P&gt;a&lt;p &gt;b&lt; p&gt;c&lt;&gt;d&lt;/&gt;`,
		`<hr/>a<br />`:                                             `&lt;hr/&gt;a<br>`,
		`<a title="&lt;b&gt; &amp;amp;" href="#md-a">b</a>`:        `<a title="&lt;b&gt; &amp;amp;" href="#md-a">b</a>`,
	} {
		if diff := cmp.Diff(want, sanitize(in)); diff != "" {
			t.Errorf("%s: -want +got\n%s", in, diff)
		}
	}
}

func FuzzSanitize(f *testing.F) {
	for _, s := range []string{"<p>a", "<a href=/skills/x>", "<table><td><svg><style><img src=x onerror=y>", "<math><mi//xlink:href=\"data:x,<script>\">", "<noscript><p title=\"</noscript><img src=x onerror=y>\">"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, markup string) {
		clean := sanitize(markup)
		if found := faults(clean); len(found) > 0 {
			t.Errorf("%q becomes %q: %q", markup, clean, found)
		}
	})
}

func FuzzRender(f *testing.F) {
	m, at := New(), here("docs/x.md")
	for _, s := range []string{"# a\n[b](javascript:x)", "<b>", "![a](i.png \"t\")", "|a|\n|-|\n|<b>|", "[a]: javascript:x\n[a]", "&#106;", "```a b\nc", "[a](skill://r/b/x)", "- [x] a", "![a [b](https://e.example) ![c](d.png)](i.png)", "[![a](https://e.example/i.png)](b)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		out, _ := m.Render(context.Background(), source, at)
		if found := faults(string(out.HTML)); len(found) > 0 {
			t.Errorf("%q becomes %q: %q", source, out.HTML, found)
		}
	})
}
