package gfm

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/knack-dev/knack/internal/test/corpus"
)

func converter(extensions ...goldmark.Extender) goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extensions...), goldmark.WithRendererOptions(html.WithXHTML(), html.WithUnsafe()))
}

func ours() goldmark.Markdown { return converter(Extension{}) }

// theirs returns the oracle: goldmark with its own extensions.
func theirs() goldmark.Markdown {
	return converter(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
		extension.Strikethrough, extension.TaskList, extension.Linkify,
	)
}

func convert(t testing.TB, m goldmark.Markdown, source []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := m.Convert(source, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// compare converts a text with both. It allows one difference: an e-mail address that begins
// with "www." leads to that address here. The oracle makes "mailto:http://www.…" of it.
func compare(t testing.TB, ours, theirs goldmark.Markdown, source []byte) (got, want string) {
	t.Helper()
	want = strings.ReplaceAll(convert(t, theirs, source), `"mailto:http://www.`, `"mailto:www.`)
	return strings.ReplaceAll(convert(t, ours, source), `"mailto:http://www.`, `"mailto:www.`), want
}

// alphabet lists the words of which TestGenerated makes texts: the marks of the four parts,
// and what ends, hides or encloses them.
var alphabet = []string{
	"|", "|", "|", "-", "-", "---", ":", ":-:", "|-|", "|-|-|", "\n", "\n", "\n|", "\n\n", "\r\n", " ", " ", "    ", "\t",
	"~", "~~", "[ ]", "[x] ", "[X]", "[", "]", "- ", "- [ ] ", "1. ", "> ", "#", "a", "b c", "A",
	"http://", "https://", "ftp://", "www.", "a.b", "a.b/", "@", ".", ".c", "a@b.c", ":80", "?", "&", ";", "&amp;", "(", ")", "_", "*", "**",
	"<", ">", "\\", "\\|", "`", "``", "$", "!", "é",
}

// TestGenerated compares with the oracle on texts made of the marks.
func TestGenerated(t *testing.T) {
	texts := 30_000
	if testing.Short() {
		texts = 5_000
	}
	ours, theirs := ours(), theirs()
	random := rand.New(rand.NewPCG(1, 2))
	for failed, i := 0, 0; i < texts && failed < 20; i++ {
		var b strings.Builder
		for range 1 + random.IntN(16) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		if got, want := compare(t, ours, theirs, []byte(b.String())); got != want {
			failed++
			t.Errorf("%q:\n got %q\nwant %q", b.String(), got, want)
		}
	}
}

// TestCorpus compares with the oracle on the Markdown files of real skills.
func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of files, each converted twice")
	}
	ours, theirs, files := ours(), theirs(), 0
	err := filepath.WalkDir(corpus.Dir(t), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.EqualFold(filepath.Ext(p), ".md") {
			return err
		}
		source, err := os.ReadFile(p)
		if err != nil {
			return nil // a link that leads nowhere
		}
		files++
		if got, want := compare(t, ours, theirs, source); got != want {
			t.Errorf("%s differs", p)
		}
		return nil
	})
	if err != nil || files < 1000 {
		t.Errorf("%d files, %v", files, err)
	}
	t.Logf("%d files", files)
}

// FuzzExtensions compares with the oracle on any text.
func FuzzExtensions(f *testing.F) {
	ours, theirs := ours(), theirs()
	for _, s := range []string{
		"a\n|b|`\\|`|\n|-|:-:|\n|c|\n|d|e|f|", "> - a|b\n> :-|-:\n\tc", "~a~ ~~b~~ ~~~c~~~", "- [ ] a\n- [x]\n  - [X] b", "1. # [x] a",
		"www.a.b/(c)). (https://a.b:80/c?d=$e&amp;). _ftp://a.b_ *http://a.b*", "a@b.c a@b.c- a@b.c.", "[www.a.b](c) [http://a.b", "|\\||\n|-|\r\n||",
		"- a\n--", "- a\n--\n", "- a\n\n  [x] b", "c  \n|b|\n|-|\n===", "a\\\nb\n-|\n---", "> a `\nb\n-|\nc` d",
		"http://" + strings.Repeat("a", 256) + ".b", "http://" + strings.Repeat("a", 257) + ".b", "http://a.b" + strings.Repeat("c", 256) + ".d",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		if got, want := compare(t, ours, theirs, source); got != want {
			t.Errorf("%q:\n got %q\nwant %q", source, got, want)
		}
	})
}
