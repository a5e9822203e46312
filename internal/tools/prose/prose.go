package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// longSentence is the number of words above which a sentence of a page is reported.
const longSentence = 45

// pattern is a kind of phrase to avoid.
type pattern struct {
	name   string
	expr   *regexp.Regexp
	better string // the words to use instead
}

// patterns are the phrases to count. In the comments of cobra, fsnotify, go-cmp and the MCP SDK for
// Go, each of these has at most two marks in 1,000 sentences.
var patterns = []pattern{
	{"who", regexp.MustCompile(`(?i)\bwhoever\b|\b(?:the one|those|one|him|that one|all|everyone) who\b|(?-i:(?:^|[.;:] )Who [a-z]+)|\bwho (?:asks|sends|reads|calls|waits|has|is|was|may|sees|knows|comes|writes)\b`), "the caller, the client or the user"},
	{"what", regexp.MustCompile(`(?:^|[.;:] )What [a-z]+(?:s|n|d)? (?:[a-z]+ ){0,6}(?:is|are|was|has|have|does|goes|stays)\b`), "the thing's name"},
	{"somebody", regexp.MustCompile(`(?i)\b(?:some|no|any|every)body\b`), "a caller, no client or each user"},
	{"where", regexp.MustCompile(`(?i)\bwhere (?:it|that|there|one|they|none|nothing|both|several|this)\b`), "if or when"},
	{"none", regexp.MustCompile(`(?i)\b(?:is|are|was|were|be) none\b`), "no X, or not an X"},
	{"lies", regexp.MustCompile(`(?i)\b(?:lies|lie) (?:in|below|beside|behind|under|on|at|there|above|between)\b|\b(?:stands|stand) (?:in|there|for itself|beside|behind|below|at)\b`), "is"},
	{"stiff", regexp.MustCompile(`(?i)\bbe it\b|\bhas it (?:read|done|made)\b|\bpasse[sd] over\b|\bas it (?:came|comes|was given)\b|\bwithout a word\b|\bof its own accord\b`), "plain words"},
}

// nounless matches pronouns in whose place a noun is clearer. Comments cannot avoid them entirely:
// a quotation or the name of a parameter may contain one.
var nounless = pattern{"noun", regexp.MustCompile(`(?i)\b(?:what|that of|those of)\b`), "the noun"}

// sentence is one sentence and its position.
type sentence struct {
	file string
	line int
	text string
}

// mark is a phrase in a sentence that matches a pattern.
type mark struct {
	file     string
	line     int
	pattern  pattern
	match    string
	sentence string
}

// count is the number of sentences, and of marks in them.
type count struct{ sentences, marks int }

// rate returns the number of marks per 1,000 sentences.
func (c count) rate() float64 { return 1000 * float64(c.marks) / float64(max(c.sentences, 1)) }

// report has the results of [read] for a folder.
type report struct {
	comments count
	folders  map[string]count // the counts of comments, by folder
	marks    []mark           // in comments
	nounless []mark           // in comments, for the pattern [nounless]
	words    int              // in the sentences of comments
	files    []string         // Markdown pages
	pages    []sentence       // sentences of pages, without tables
	inPages  []mark           // in pages, including tables
	sleeps   []string         // calls of time.Sleep in tests, as file:line
}

// nounlessRate returns the number of marks of [nounless] in 10,000 words of comments.
func (r *report) nounlessRate() float64 {
	return 10_000 * float64(len(r.nounless)) / float64(max(r.words, 1))
}

// percentile returns the length in words that p percent of the pages' sentences do not exceed.
func (r *report) percentile(p int) int {
	var counts []int
	for _, s := range r.pages {
		counts = append(counts, words(s.text))
	}
	if len(counts) == 0 {
		return 0
	}
	slices.Sort(counts)
	return counts[min(len(counts)-1, len(counts)*p/100)]
}

// read analyses every Go file and every Markdown page below root. It skips hidden folders,
// testdata, node_modules and generated files.
func read(root string) (*report, error) {
	r := &report{folders: map[string]count{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") && name != ".." && name != "."):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case strings.HasSuffix(name, ".go"):
			return r.goFile(root, path)
		case strings.HasSuffix(name, ".md") && name != "SKILL.md":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			r.files = append(r.files, path)
			running, cells := page(string(text))
			for _, s := range running {
				s.file = path
				r.pages = append(r.pages, s)
				r.inPages = append(r.inPages, marksIn(s)...)
			}
			for _, s := range cells {
				s.file = path
				r.inPages = append(r.inPages, marksIn(s)...)
			}
		}
		return nil
	})
	return r, err
}

// goFile counts the marks in the comments of a Go file. It also records the calls of time.Sleep if
// the file imports testing.
func (r *report) goFile(root, path string) error {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(f) {
		return nil
	}
	folder, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	here := r.folders[folder]
	for _, group := range f.Comments {
		for _, s := range sentences(group.Text()) {
			s.file, s.line = path, s.line+set.Position(group.Pos()).Line
			found := marksIn(s)
			r.nounless = append(r.nounless, nounless.in(s)...)
			r.words += words(s.text)
			here.sentences++
			here.marks += len(found)
			r.comments.sentences++
			r.comments.marks += len(found)
			r.marks = append(r.marks, found...)
		}
	}
	r.folders[folder] = here
	forTests := func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` }
	if !strings.HasSuffix(path, "_test.go") && !slices.ContainsFunc(f.Imports, forTests) {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
				r.sleeps = append(r.sleeps, set.Position(n.Pos()).String())
			}
		}
		return true
	})
	return nil
}

// marksIn returns the marks in a sentence. The name of the user nobody is not a mark.
func marksIn(s sentence) (marks []mark) {
	s.text = strings.ReplaceAll(s.text, "user nobody", "user")
	for _, p := range patterns {
		marks = append(marks, p.in(s)...)
	}
	return marks
}

// in returns the marks of the pattern in a sentence.
func (p pattern) in(s sentence) (marks []mark) {
	for _, match := range p.expr.FindAllString(s.text, -1) {
		marks = append(marks, mark{s.file, s.line, p, match, s.text})
	}
	return marks
}

var sentenceEnd = regexp.MustCompile(`[.!?](?:\s+|$)`)

// sentences splits text into sentences of three or more words. Shorter ones are headings. Lines
// count from 0.
func sentences(text string) (out []sentence) {
	line := 0
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		rest := paragraph
		for at := line; rest != ""; {
			end := len(rest)
			if loc := sentenceEnd.FindStringIndex(rest); loc != nil {
				end = loc[1]
			}
			lead := rest[:len(rest)-len(strings.TrimLeft(rest, " \t\n"))]
			if s := strings.Join(strings.Fields(rest[:end]), " "); words(s) >= 3 {
				out = append(out, sentence{line: at + strings.Count(lead, "\n"), text: s})
			}
			at += strings.Count(rest[:end], "\n")
			rest = rest[end:]
		}
		line += strings.Count(paragraph, "\n") + 2
	}
	return out
}

// page splits a Markdown page into the sentences of its text and of the cells of its tables. It
// leaves out code blocks and headings. A list item ends at the next item. Lines count from 1.
func page(markdown string) (running, cells []sentence) {
	var text strings.Builder
	begin, fenced := 1, false
	flush := func(next int) {
		for _, s := range sentences(text.String()) {
			s.line += begin
			running = append(running, s)
		}
		text.Reset()
		begin = next
	}
	n := 0
	for line := range strings.Lines(markdown) {
		n++
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
			flush(n + 1)
		case !fenced && strings.HasPrefix(trimmed, "|"):
			flush(n + 1)
			for cell := range strings.SplitSeq(trimmed, "|") {
				for _, s := range sentences(cell) {
					s.line = n
					cells = append(cells, s)
				}
			}
		case fenced, trimmed == "", strings.HasPrefix(trimmed, "#"), strings.HasPrefix(trimmed, "<!--"):
			flush(n + 1)
		case strings.HasPrefix(trimmed, "- "), strings.HasPrefix(trimmed, "* "):
			flush(n)
			text.WriteString(trimmed[2:] + "\n")
		default:
			text.WriteString(trimmed + "\n")
		}
	}
	flush(n)
	return running, cells
}

// words returns the number of words in a text.
func words(text string) int { return len(strings.Fields(text)) }
