// Package lexer splits Python, JavaScript and TypeScript into words, strings and marks.
package lexer

import (
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/bound"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/decode"
)

// Token is a name, a number, a string, a mark or a line end.
type Token struct {
	Kind     Kind
	Open     bool   // a string with interpolated parts: f"{x}", `${x}`
	Coded    bool   // a string that consists mostly of numeric escapes: "\x61\x62"
	From, To int32  // byte offsets in the text
	Text     string // the name or mark, or the content of a string
	Match    int32  // for an opening bracket, the index of the closing one, or the number of tokens if there is none
}

// Kind is the kind of a token.
type Kind int8

// The kinds.
const (
	Name Kind = iota
	Number
	String
	Mark // one byte
	Line // the end of a line outside of brackets
)

// lexer splits code into tokens. It does not parse the grammar.
type lexer struct {
	text   string
	at     int
	python bool
	tokens []Token
	stack  []int32 // indices of the open brackets
	counts bool    // count the tokens, and keep only the last one
	count  int
}

// large is the length in bytes above which a text is read twice. The first time, its tokens are
// counted, so that the slice of tokens need not grow.
const large = 128 << 10

// Tokens returns the tokens of a text. whole is false if the text has too many tokens.
func Tokens(text string, python bool) (tokens []Token, whole bool) {
	l := &lexer{text: text, python: python}
	if len(text) > large {
		c := &lexer{text: text, python: python, counts: true}
		c.read()
		l.tokens = make([]Token, 0, c.count)
	}
	l.read()
	for _, i := range l.stack {
		l.tokens[i].Match = int32(len(l.tokens))
	}
	return l.tokens, l.at >= len(l.text)
}

func (l *lexer) read() {
	for l.at < len(l.text) && l.count < bound.Code.Most() {
		l.next()
	}
}

func (l *lexer) add(kind Kind, from int, text string) {
	if l.count++; l.counts {
		l.tokens = l.tokens[:0]
	}
	l.tokens = append(l.tokens, Token{Kind: kind, From: int32(from), To: int32(l.at), Text: text})
}

func (l *lexer) next() {
	start := l.at
	c := l.text[start]
	rest := l.text[start:]
	switch {
	case c == '\n':
		l.at++
		if len(l.stack) == 0 {
			l.add(Line, start, "\n")
		}
	case c == ' ' || c == '\t' || c == '\r' || c == '\f':
		l.at++
	case c == '\\' && len(rest) > 1 && (rest[1] == '\n' || rest[1] == '\r'):
		l.at += 2
	case l.python && c == '#' || !l.python && strings.HasPrefix(rest, "//") || start == 0 && strings.HasPrefix(rest, "#!"):
		l.at = l.until("\n")
	case !l.python && strings.HasPrefix(rest, "/*"):
		l.at += 2
		l.at = min(l.until("*/")+2, len(l.text))
	case c == '"' || c == '\'':
		l.quoted(start, "")
	case c == '`' && !l.python:
		l.template(start)
	case c == '/' && !l.python && l.beginsPattern():
		l.pattern()
	case IsNameByte(c):
		for l.at < len(l.text) && IsNameByte(l.text[l.at]) {
			l.at++
		}
		word := l.text[start:l.at]
		if l.python && len(word) <= 2 && l.at < len(l.text) && (l.text[l.at] == '"' || l.text[l.at] == '\'') && strings.Trim(strings.ToLower(word), "rbfut") == "" {
			l.quoted(start, strings.ToLower(word))
			return
		}
		kind := Name
		if '0' <= c && c <= '9' {
			kind = Number
		}
		l.add(kind, start, word)
	default:
		l.at++
		l.add(Mark, start, l.text[start:l.at])
		l.bracket(c)
	}
}

// bracket pairs brackets. A closing bracket of the wrong kind also closes the last open bracket,
// since the reader judges calls and not the grammar.
func (l *lexer) bracket(c byte) {
	i := int32(len(l.tokens) - 1)
	switch c {
	case '(', '[', '{':
		l.stack = append(l.stack, i)
	case ')', ']', '}':
		if n := len(l.stack); n > 0 {
			if !l.counts {
				l.tokens[l.stack[n-1]].Match = i
			}
			l.stack = l.stack[:n-1]
		}
	}
}

// until returns the offset of the next occurrence of a text, or the end.
func (l *lexer) until(text string) int {
	if i := strings.Index(l.text[l.at:], text); i >= 0 {
		return l.at + i
	}
	return len(l.text)
}

// quoted reads a string in quotes. A Python string can have a prefix of letters, and three quotes.
func (l *lexer) quoted(start int, prefix string) {
	mark := l.text[l.at : l.at+1]
	if l.python && strings.HasPrefix(l.text[l.at:], strings.Repeat(mark, 3)) {
		mark = strings.Repeat(mark, 3)
	}
	l.at += len(mark)
	from := l.at
	end := len(l.text)
	for l.at < len(l.text) {
		c := l.text[l.at]
		if c == '\\' {
			l.at = min(l.at+2, len(l.text))
			continue
		}
		if c == mark[0] && strings.HasPrefix(l.text[l.at:], mark) {
			end = l.at
			l.at += len(mark)
			break
		}
		if c == '\n' && len(mark) == 1 {
			end = l.at
			break
		}
		l.at++
	}
	text, coded := l.text[from:min(end, l.at)], false
	if !strings.Contains(prefix, "r") {
		text, coded = codeUnescaped(text)
	}
	l.add(String, start, text)
	l.tokens[len(l.tokens)-1].Coded = coded
	l.tokens[len(l.tokens)-1].Open = strings.Contains(prefix, "f") && strings.Contains(text, "{")
}

// template reads a JavaScript template literal as one string, whose text includes each ${…}.
func (l *lexer) template(start int) {
	l.at++
	from := l.at
	for l.at < len(l.text) && l.text[l.at] != '`' {
		if l.text[l.at] == '\\' {
			l.at++
		}
		l.at++
	}
	end := min(l.at, len(l.text))
	l.at = min(end+1, len(l.text))
	text, coded := codeUnescaped(l.text[from:end])
	l.add(String, start, text)
	l.tokens[len(l.tokens)-1].Coded = coded
	l.tokens[len(l.tokens)-1].Open = strings.Contains(text, "${")
}

// beginsPattern reports whether a slash begins a regular expression. After a value, it is a
// division.
func (l *lexer) beginsPattern() bool {
	if len(l.tokens) == 0 {
		return true
	}
	last := l.tokens[len(l.tokens)-1]
	switch last.Kind {
	case Name:
		return last.Text == "return" || last.Text == "typeof" || last.Text == "case" || last.Text == "in" || last.Text == "of"
	case Number, String:
		return false
	case Mark:
		return last.Text != ")" && last.Text != "]" && last.Text != "}"
	}
	return true
}

// pattern skips a regular expression. If the line has no closing slash, the slash was a division.
func (l *lexer) pattern() {
	class := false
	for i := l.at + 1; i < len(l.text) && l.text[i] != '\n' && i < l.at+2000; i++ {
		switch c := l.text[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			start := l.at
			l.at = i + 1
			l.add(Number, start, "/")
			return
		}
	}
	start := l.at
	l.at++
	l.add(Mark, start, "/")
}

// IsNameByte reports whether a byte is part of a name.
func IsNameByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '$' || c >= utf8.RuneSelf
}

// codeUnescaped resolves the escapes of a string, and reports whether the string consists mostly of
// numeric escapes.
func codeUnescaped(text string) (out string, coded bool) {
	if !strings.Contains(text, "\\") {
		return text, false
	}
	out, n := decode.Escapes(strings.ReplaceAll(text, "\\\n", ""))
	return out, n >= fewestCoded && 2*n >= len(out)
}

// fewestCoded is the smallest number of numeric escapes with which a string counts as coded.
const fewestCoded = 8
