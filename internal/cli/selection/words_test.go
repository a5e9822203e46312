package selection

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestInTime checks that a shell does not wait for a disk that does not answer.
func TestInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		begun := time.Now()
		words, ok := InTime(t.Context(), func(context.Context) string { <-answer; return "late" })
		if took := time.Since(begun); took != Patience || words != "" || ok {
			t.Errorf("%q, %t after %s", words, ok, took)
		}
		close(answer)
		if words, ok := InTime(t.Context(), func(context.Context) string { return "x" }); words != "x" || !ok {
			t.Errorf("%q, %t, want x", words, ok)
		}
	})
}

// TestPlainWords checks which words are unsafe. A shell could evaluate them, now or at the next
// completion, or read them as two lines or as a description.
func TestPlainWords(t *testing.T) {
	for _, word := range []string{"review", "claude-user:review", "dir-1:b:review", "a b", "references/style.md", "icon@2x.png", "c++", "überprüfen", "审查", "हिन्दी", "_partials/x.md", "v1.2,3"} {
		if !isPlain(word) {
			t.Errorf("%q is not offered", word)
		}
	}
	for _, word := range []string{
		"", "a$(touch x)", "a`touch x`", "a;b", "a&b", "a|b", "a<b", "a>b", "a(b)", "(a)", "a{b,c}", "a*", "a?", "a[b]", "$HOME", "${x}", "~root", "!x", "a!x", "a#b", "#a", "a^b", "a=b", "=ls", "%1", "a%b", `a\b`, `a"b`, "a'b",
		"--write", "-x", ":4", "@x", ".x", " a", "a ", "a  b", "a\tb", "a\nb", "a\x00b", "a\x1b[31m", "a\u202eb", "a\u200bb", "a\u3164", "a\xff", "_activeHelp_ x", "\u0301a",
	} {
		if isPlain(word) {
			t.Errorf("%q is offered", word)
		}
	}
}

func TestDescriptions(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"Reviews code. Use it often.":        "Reviews code.",
		"Reviews\n code\tv1.2":               "Reviews code v1.2",
		"What? That.":                        "What?",
		"\x1b[31mred\x1b[0m\u202e x":         "[31mred [0m x",
		strings.Repeat("word ", 40):          strings.TrimSpace(strings.Repeat("word ", 12)) + "…",
		"Deploys. And\nanother\tline, more…": "Deploys.",
	} {
		if got := firstSentence(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestWords checks that a word is offered once, with a tab before its description. If there are
// many words, only words with the typed prefix must be offered.
func TestWords(t *testing.T) {
	var l list
	l.add("a", "One.\tTwo.")
	l.add("a", "again")
	l.add("b", "")
	if got := strings.Join(l.offered("x"), "|"); got != "a\tOne.|b" {
		t.Errorf("got %q", got)
	}
	for i := range 4 * most {
		l.add(fmt.Sprint("n", i), "")
	}
	if got := l.offered("n1999"); len(got) != 1 || got[0] != "n1999" {
		t.Errorf("got %q", got)
	}
	l.words = nil
	for i := range 4 * most {
		l.add(fmt.Sprint("m", i), "")
	}
	if got := l.offered(""); len(got) != most {
		t.Errorf("got %d words, want %d", len(got), most)
	}
}
