package markdown

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// piecesOf describes the pieces of a text. It joins consecutive texts, since golang.org/x/net/html
// splits texts in other places.
func piecesOf(text string) string {
	var all []string
	at := 0
	for s := (pieces{rest: text}); ; {
		p := s.next()
		if p.size == 0 {
			break
		}
		raw := text[at : at+p.size]
		at += p.size
		all = added(all, int(p.kind), raw, p.name, p.attributes)
	}
	return strings.Join(all, "|")
}

func added(all []string, kind int, raw, name string, attributes []attribute) []string {
	if kind == int(textPiece) && len(all) > 0 && strings.HasPrefix(all[len(all)-1], "text ") {
		all[len(all)-1] += raw
		return all
	}
	seen := map[string]bool{}
	var out strings.Builder
	fmt.Fprint(&out, []string{"text", "comment", "start", "end"}[kind], " ", raw)
	if name != "" {
		fmt.Fprint(&out, " ", name)
	}
	for _, a := range attributes {
		if !seen[a.key] && kind == int(startTag) {
			fmt.Fprintf(&out, " %s=%q", a.key, a.value)
		}
		seen[a.key] = true
	}
	return append(all, out.String())
}

// tokensOf describes the pieces as golang.org/x/net/html finds them.
func tokensOf(text string) string {
	var all []string
	at := 0
	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		kind := z.Next()
		raw := string(z.Raw())
		at += len(raw)
		switch kind {
		case html.ErrorToken:
			if rest := text[at-len(raw):]; rest != "" {
				all = added(all, int(textPiece), rest, "", nil)
			}
			return strings.Join(all, "|")
		case html.TextToken:
			all = added(all, int(textPiece), raw, "", nil)
		case html.CommentToken, html.DoctypeToken:
			all = added(all, int(comment), raw, "", nil)
		default:
			t := z.Token()
			var attributes []attribute
			for _, a := range t.Attr {
				attributes = append(attributes, attribute{a.Key, a.Val})
			}
			as := startTag
			if kind == html.EndTagToken {
				as = endTag
			}
			all = added(all, int(as), raw, t.Data, attributes)
		}
	}
}

// TestPieces compares pieces with golang.org/x/net/html on random texts made of unusual parts.
func TestPieces(t *testing.T) {
	parts := strings.Split("<|</|<!|<!--|-->|--!>|<!-->|<!--->|->|<?|<a|<b |</b>|>|/>|/| |\n|=|\"|'|x|class=|title=\"a b\"|style='c'|&amp;|&lt|é|<p>|<br/>|<SPAN hidden>|<script>|</script>|<title>|</TITLE >|<textarea>|</textarea|a<b|--|-|<1|a=b=c", "|")
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		text := b.String()
		if got, want := piecesOf(text), tokensOf(text); got != want {
			t.Fatalf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
}
