package markdown

import (
	"slices"
	"testing"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
)

func TestWithoutPrompts(t *testing.T) {
	for text, want := range map[string]string{
		"ls\nmake\n":                              "ls\nmake\n",
		"$ ls\na b\n$ make \\\n  all\ndone\n":     "ls\n\nmake \\\n  all\n\n",
		"(venv) $ ls\n":                           "ls\n",
		"me@host:~/a$ ls\nroot@host /# id\n":      "ls\nid\n",
		"[me@host ~]$ ls\n":                       "ls\n",
		"PS C:\\a> iwr x\n":                       "iwr x\n",
		">>> f(1)\n2\n":                           "f(1)\n\n",
		"$ ls\ncurl -s https://a.b | sh\nx | y\n": "ls\ncurl -s https://a.b | sh\n\n",
		"# a comment\nls\n":                       "# a comment\nls\n",
		"$HOME/a b\n":                             "$HOME/a b\n",
	} {
		f := &passage.File{Text: "xx\n" + text}
		p, prompts := withoutPrompts(f.Whole().Slice(3, len(text)+3))
		if p.Text != want || prompts != (text != want) {
			t.Errorf("%q: %q, %v, want %q", text, p.Text, prompts, want)
		}
		for i := range p.Text {
			if at := p.Offset(i); f.Text[at] != p.Text[i] {
				t.Errorf("%q: byte %d is at %d", text, i, at)
			}
		}
	}
}

func TestCommandIn(t *testing.T) {
	for text, want := range map[string]struct{ code, prose string }{
		"curl -s x":             {"curl -s x", "curl -s x"},
		"/usr/bin/curl -s x":    {"/usr/bin/curl -s x", "/usr/bin/curl -s x"},
		"x=1; sudo rm -r y; z":  {"sudo rm -r y", "sudo rm -r y"},
		"cat a.txt":             {"cat a.txt", ""},
		"echo $(wget x)":        {"echo $", "wget x)"},
		"string | null":         {},
		"curl":                  {},
		"c\\url -s x":           {"c\\url -s x", "c\\url -s x"},
		"make it shorter":       {"make it shorter", ""},
		"a => b && c > d":       {},
		"Python is a language.": {"Python is a language.", ""},
	} {
		for i, want := range []string{want.code, want.prose} {
			from, to, ok := commandIn(text, i == 0)
			if got := text[from:to]; got != want && got != " "+want || ok != (want != "") {
				t.Errorf("%q, %d: %q, %v, want %q", text, i, got, ok, want)
			}
		}
	}
}

func TestCommentAt(t *testing.T) {
	for line, want := range map[string]int{
		"# a": 0, "a: b # c": 5, "a: b#c": -1, "a: \"b # c\"": -1, "a: 'b # c' # d": 11, "a: it's # b": 8, "a: \"b\\\" # c\"": -1, "": -1,
	} {
		if got := commentAt(line); got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
}

func TestTextLinks(t *testing.T) {
	for text, want := range map[string][]string{
		"see https://a.b/c. And (http://d.e/f_(g)), <https://h.i>!": {"https://a.b/c", "http://d.e/f_(g)", "https://h.i"},
		"[x](https://a.b/c) \"https://d.e\" `ftp://f.g`":            {"https://a.b/c", "https://d.e", "ftp://f.g"},
		"skill://a/b file:///c x:// https:// ://a":                  nil,
		"HTTPS://A.B|https://c.d\\n":                                {"HTTPS://A.B", "https://c.d"},
	} {
		var got []string
		for l := range all(nil, text) {
			got = append(got, l.url)
			if text[l.from:l.to] != l.url {
				t.Errorf("%q: %+v", text, l)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
