// Package prose counts turns of phrase that Go documentation does not use. It keeps
// comments, messages and pages readable for people who did not write them.
package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Mark is one odd turn of phrase.
type Mark struct {
	Pattern  string // the name of the pattern in [Patterns]
	Sentence string
	Pos      token.Position // of the comment
}

// Pattern is a turn of phrase to avoid.
type Pattern struct {
	Name   string
	Expr   *regexp.Regexp
	Better string // what to write in its place
}

// Patterns are the turns of phrase that are counted. Each is rare, at most two in a
// thousand sentences, in the comments of cobra, fsnotify, go-cmp and the MCP SDK for Go.
var Patterns = []Pattern{
	{"who", regexp.MustCompile(`(?i)\bwhoever\b|\b(?:the one|those|one|him|that one|all|everyone) who\b|(?:^|[.;:] )Who [a-z]+|\bwho (?:asks|sends|reads|calls|waits|has|is|was|may|sees|knows|comes|writes)\b`), "the caller, the client, the user"},
	{"what", regexp.MustCompile(`(?:^|[.;:] )What [a-z]+(?:s|n|d)? (?:[a-z]+ ){0,6}(?:is|are|was|has|have|does|goes|stays)\b`), "name the thing"},
	{"somebody", regexp.MustCompile(`(?i)\b(?:some|no|any|every)body\b`), "a caller, no client, each user"},
	{"where", regexp.MustCompile(`(?i)\bwhere (?:it|that|there|one|they|none|nothing|both|several|this)\b`), "if or when"},
	{"none", regexp.MustCompile(`(?i)\b(?:is|are|was|were|be) none\b`), "no X; not an X"},
	{"lies", regexp.MustCompile(`(?i)\b(?:lies|lie) (?:in|below|beside|behind|under|on|at|there|above|between)\b|\b(?:stands|stand) (?:in|there|for itself|beside|behind|below|at)\b`), "is"},
	{"beit", regexp.MustCompile(`(?i)\bbe it\b|\bhas it (?:read|done|made)\b|\bpasse[sd] over\b|\bas it (?:came|comes|was given)\b|\bwithout a word\b|\bof its own accord\b`), "plain words"},
}

var sentenceEnd = regexp.MustCompile(`[.:;!?](?:\s+|$)`)

// Sentences splits running text. Lines that are indented, as code and lists in Go
// comments are, count as a sentence each.
func Sentences(text string) []string {
	var out []string
	for _, paragraph := range strings.Split(text, "\n\n") {
		joined := strings.Join(strings.Fields(paragraph), " ")
		for _, s := range splitAfter(joined) {
			if strings.Count(s, " ") >= 2 { // a heading or a word is no sentence
				out = append(out, s)
			}
		}
	}
	return out
}

// splitAfter cuts a paragraph behind full stops.
func splitAfter(text string) []string {
	var out []string
	for text != "" {
		loc := sentenceEnd.FindStringIndex(text)
		for loc != nil && text[loc[0]] != '.' {
			next := sentenceEnd.FindStringIndex(text[loc[1]:])
			if next == nil {
				loc = nil
				break
			}
			loc = []int{loc[1] + next[0], loc[1] + next[1]}
		}
		if loc == nil {
			return append(out, strings.TrimSpace(text))
		}
		out = append(out, strings.TrimSpace(text[:loc[1]]))
		text = text[loc[1]:]
	}
	return out
}

// In finds the marks in a text.
func In(text string, pos token.Position) (sentences int, marks []Mark) {
	for _, s := range Sentences(text) {
		sentences++
		for _, p := range Patterns {
			for range p.Expr.FindAllString(s, -1) {
				marks = append(marks, Mark{p.Name, s, pos})
			}
		}
	}
	return sentences, marks
}

// Comments counts the sentences and the marks in the comments of Go files.
func Comments(files []string) (sentences int, marks []Mark, err error) {
	for _, name := range files {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return 0, nil, err
		}
		if ast.IsGenerated(f) {
			continue
		}
		for _, group := range f.Comments {
			n, found := In(group.Text(), set.Position(group.Pos()))
			sentences += n
			marks = append(marks, found...)
		}
	}
	return sentences, marks, nil
}

// Page splits a Markdown page into sentences, without code blocks, tables and headings.
func Page(markdown string) []string {
	var text strings.Builder
	fenced := false
	for line := range strings.Lines(markdown) {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
			text.WriteString("\n\n")
		case fenced, strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "#"), strings.HasPrefix(trimmed, "<!--"):
			text.WriteString("\n\n")
		case strings.HasPrefix(trimmed, "- "), strings.HasPrefix(trimmed, "* "), trimmed == "":
			text.WriteString("\n\n" + strings.TrimLeft(trimmed, "-* "))
		default:
			text.WriteString(" " + trimmed)
		}
	}
	return Sentences(text.String())
}

// Words counts the words of a sentence.
func Words(sentence string) int { return len(strings.Fields(sentence)) }

// Percentile is the value below which p of 100 values are; values is sorted in place.
func Percentile(values []int, p int) int {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(len(values)-1, len(values)*p/100)]
}

// GoFiles lists the Go files below a folder, without testdata and node_modules.
func GoFiles(root string) ([]string, error) {
	return filepath.Glob(filepath.Join(root, "*.go"))
}
