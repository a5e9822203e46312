package commands

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/bound"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// maxChunk limits the bytes parsed at a time. A longer script is read in chunks of whole lines.
const maxChunk = 32 << 10

// wordsOfReader is the fixed cost of reading a text of commands, in words.
const wordsOfReader = 16

// wordsOf estimates the work of reading a text. It counts the words, and the characters that
// separate commands.
func wordsOf(text string) int {
	n := 1
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t', '\n', ';', '|', '&', '(', '`':
			n++
		}
	}
	return n
}

// shellReader judges one script, block or string of commands.
type shellReader struct {
	s        *Analyzer
	p        passage.Part
	commands *commands
	from     Origin
	base     int // the position of the current chunk in the part
	// vague is set if the chunk does not parse as a whole. Then the first word of a line need not
	// be a program.
	vague bool

	vars          map[string]value      // variables with their last assigned value
	saved         map[string]value      // written files with their content
	remote        map[string]value      // descriptors open on a socket, with its address
	opened        map[string]value      // descriptors open on a file, with its content
	named         map[string]definition // functions and aliases
	functionNodes int                   // syntax nodes of the functions
	calls         int                   // depth of the current calls
	params        []value               // arguments of the current function
	arrays        map[string][]value
	stdin         value // the input that exec has redirected
	// secret is set if the commands name a path of credentials, and network if they send or fetch.
	secret  *secretUse
	network bool
	passing []urlUse
	outer   *value // the socket of the enclosing statements, or nil
}

// secretUse is a mention of credentials.
type secretUse struct {
	name     string
	from, to int
}

// Shell judges shell commands. It expands no globs and runs nothing.
func (s *Analyzer) Shell(p passage.Part, from Origin) { s.shell(p, from, map[string]value{}) }

// shell judges commands and returns their output. saved holds the content of the files that earlier
// commands have written.
func (s *Analyzer) shell(p passage.Part, from Origin, saved map[string]value) (out value) {
	if p.Depth > bound.Decoded || p.Nest > bound.Nested {
		s.TooLarge(p.File.Path, "commands within commands are too deep to be read")
		return value{}
	}
	r := s.reader(p, from, saved)
	r.takes()
	r.commands.words += wordsOfReader
	text := p.Text
	if r.inMarkdown() {
		text = withoutAngles(text)
	}
	for at := 0; at < len(text); {
		n := chunkLen(text[at:])
		if r.commands.words += wordsOf(text[at : at+n]); r.commands.words > bound.Words {
			r.tooManyWords()
			break
		}
		out = r.chunk(text[at:at+n], at)
		at += n
	}
	r.passingHosts()
	if from == Script && r.secret != nil && r.network {
		s.Find(passage.SecretNetwork, p, r.secret.from, r.secret.to, "the script names "+secrets.Quote(r.secret.name)+" and uses the network")
	}
	return out
}

// takes records the arguments of a text that sh -c runs: $0 is the first argument, and $@ contains
// the rest.
func (r *shellReader) takes() {
	args := r.s.args
	if r.s.args = nil; len(args) == 0 {
		return
	}
	all := r.combined(args[1:])
	for i, v := range args {
		v.from, v.to = 0, len(r.p.Text) // the position is in another text
		if r.assign(strconv.Itoa(i), v); i > 0 {
			r.params = append(r.params, v)
			all = all.merge(v)
		}
	}
	r.assign("@", all)
	r.assign("*", all)
}

func (r *shellReader) tooManyWords() {
	r.s.TooLarge(r.p.File.Path, "it has more than "+strconv.Itoa(bound.Words)+" words of commands")
}

func (s *Analyzer) reader(p passage.Part, from Origin, saved map[string]value) *shellReader {
	return &shellReader{s: s, p: p, commands: s.commandsOf(p.File), from: from, saved: saved,
		vars: map[string]value{}, remote: map[string]value{}, opened: map[string]value{}, named: map[string]definition{}, arrays: map[string][]value{}}
}

// inMarkdown reports whether the commands are in a document and not in a script.
func (r *shellReader) inMarkdown() bool {
	return r.from == Fence || r.from == Bare || r.from == Inline || isMarkdownName(r.p.File.Path)
}

func isMarkdownName(path string) bool {
	path = strings.ToLower(path)
	return strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".markdown") || strings.HasSuffix(path, ".mdx")
}

var angles = lazyregexp.New(`(^|[^<&>])<([A-Za-z][A-Za-z0-9 _./:-]{0,40})>`)

// withoutAngles replaces the angle brackets of placeholders such as <HOST> with braces. The shell
// parser would read them as redirections. The text keeps its length.
func withoutAngles(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	out := []byte(text)
	for _, m := range angles().FindAllStringSubmatchIndex(text, -1) {
		out[m[4]-1], out[m[5]] = '{', '}'
		for i := m[4]; i < m[5]; i++ {
			if out[i] == ' ' {
				out[i] = '_'
			}
		}
	}
	return string(out)
}

// chunkLen returns the number of bytes of a text to parse next. It cuts a long text at the end of a
// line, if possible before a line that begins a statement.
func chunkLen(text string) int {
	if len(text) <= maxChunk {
		return len(text)
	}
	end := strings.LastIndexByte(text[:maxChunk], '\n') + 1
	if end == 0 {
		if n := strings.IndexByte(text, '\n'); n >= 0 {
			return n + 1
		}
		return len(text)
	}
	for at := end; at > maxChunk/2; at = strings.LastIndexByte(text[:at-1], '\n') + 1 {
		if beginsStatement(text[:at], text[at:]) {
			return at
		}
	}
	return end
}

var continues = []string{" ", "\t", "\n", "\r", "}", ")", "fi", "done", "esac", "else", "elif", "then", "do", ";"}

func beginsStatement(before, after string) bool {
	for _, word := range continues { // this loop comes first, so that blank lines are not trimmed again and again
		if strings.HasPrefix(after, word) {
			return false
		}
	}
	before = strings.TrimRight(before, " \t\r\n")
	return !strings.HasSuffix(before, "\\") && !strings.HasSuffix(before, "|") && !strings.HasSuffix(before, "&&")
}

// chunk judges a chunk of commands as a whole if it parses, and otherwise line by line. It returns
// the output of a chunk that parses.
func (r *shellReader) chunk(text string, base int) value {
	if !tooDeep(text) && len(text) <= maxChunk {
		if file, err := r.s.parse(text, 0); err == nil {
			r.base, r.vague = base, false
			return r.statements(file.Stmts, value{})
		}
	}
	for at := 0; at < len(text); {
		n := lineLen(text[at:])
		r.line(text[at:at+n], base+at)
		at += n
	}
	return value{}
}

// line judges a single line of a chunk that does not parse.
func (r *shellReader) line(text string, base int) {
	if strings.TrimSpace(text) == "" {
		return
	}
	switch {
	case tooDeep(text):
		r.s.TooLarge(r.p.File.Path, "a line has too many brackets to be read as a command")
		return
	case !bound.Shell.Fits(text):
		r.s.TooLarge(r.p.File.Path, "a line has too many words and marks to be read as a command")
		return
	}
	r.vague = true
	if file, err := r.s.parse(text, 0); err == nil {
		r.base = base
		r.statements(file.Stmts, value{})
		return
	}
	// A syntax error must not hide the rest of the line. Zsh also has =( for a process
	// substitution.
	for piece := range strings.SplitAfterSeq(strings.ReplaceAll(text, " =(", " <("), ";") {
		if file, _ := r.s.parse(piece, 10); file != nil {
			r.base = base
			r.statements(file.Stmts, value{})
		}
		base += len(piece)
	}
}

// lineLen returns the length of the first line with its continuation lines.
func lineLen(text string) int {
	for at := 0; ; {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return len(text)
		}
		at += n + 1
		before := strings.TrimSuffix(text[:at-1], "\r")
		if !strings.HasSuffix(before, "\\") && !strings.HasSuffix(strings.TrimRight(before, " \t"), "|") && !strings.HasSuffix(strings.TrimRight(before, " \t"), "&&") {
			return at
		}
	}
}

// parse parses commands. It recovers from the given number of syntax errors.
func (s *Analyzer) parse(text string, errors int) (*syntax.File, error) {
	if s.parser == nil {
		s.parser = syntax.NewParser()
	}
	syntax.RecoverErrors(errors)(s.parser)
	return s.parser.Parse(strings.NewReader(text), "")
}

// opening lists the words that open a nested construct.
var opening = []string{"if", "while", "until", "for", "case", "select", "time", "coproc", "function"}

// tooDeep reports whether a text could make the parser recurse deeper than the stack may grow. It
// counts every opening mark and no closing one, since a quoted bracket could pretend to close.
func tooDeep(text string) bool {
	n := 0
	if len(text) <= bound.Brackets {
		return false
	}
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{', '`', '!', '"':
			n++
		}
	}
	for _, word := range opening {
		n += strings.Count(text, word)
	}
	if n > bound.Brackets {
		return true
	}
	if len(text) <= maxChunk || !strings.ContainsAny(text, "([{") && !strings.Contains(text, "let") {
		return false
	}
	for i := range len(text) { // arithmetic operators nest to the right
		switch text[i] {
		case '?', '=', '~', '-', '+', '*', ',', '<', '>', '^', '%', '|', '&':
			n++
		}
	}
	return n > bound.Brackets
}
