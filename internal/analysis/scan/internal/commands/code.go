package commands

import (
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/bound"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/lexer"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// codeReader judges Python, JavaScript or TypeScript by its calls and strings.
type codeReader struct {
	*shellReader // shared with the reader of shell commands
	tokens       []lexer.Token
	python       bool
	vars         map[string]value // of the last assignment
	processes    bool             // JavaScript's child_process is named
	looked       int              // at so many tokens of expressions
	minified     bool             // so a name of one letter stands for many things
	imported     map[string]string
	lists        map[string][]value
	files        map[string]string // names that are open for writing, and the file
	got          value             // the last fetched value
	args         value             // its arguments together
	// A shell on a socket is made in several steps.
	socket  bool
	address string
	sockets map[string]bool // the names that hold a socket
	joins   *lexer.Token    // the call that gives a shell the socket
}

// Code judges Python, or JavaScript and TypeScript.
func (s *Analyzer) Code(p passage.Part, python bool, from Origin) {
	if p.Depth > bound.Decoded || p.Nest > bound.Nested {
		s.TooLarge(p.File.Path, "commands within commands are too deep to be read")
		return
	}
	tokens, whole := lexer.Tokens(p.Text, python)
	if !whole {
		s.TooLarge(p.File.Path, "it has too many words of code")
	}
	c := &codeReader{
		shellReader: s.reader(p, from, map[string]value{}),
		tokens:      tokens, python: python, vars: map[string]value{}, lists: map[string][]value{}, files: map[string]string{}, sockets: map[string]bool{},
		minified:  !python && isMinified(p.Text),
		processes: !python && strings.Contains(p.Text, "child_process"),
	}
	c.args = c.combined(s.args)
	s.args = nil
	for i := range tokens {
		c.token(i)
	}
	if c.socket && c.joins != nil {
		s.networkFind(passage.ReverseShell, p, int(c.joins.From), int(c.joins.To), c.address, "a shell is connected with "+connected(c.address))
	}
	c.passingHosts()
	if from == Script && c.secret != nil && c.network && !c.inMarkdown() {
		s.Find(passage.SecretNetwork, p, c.secret.from, c.secret.to, "the script names "+secrets.Quote(c.secret.name)+" and uses the network")
	}
}

// isMinified reports whether JavaScript is minified: its lines are long. Names are not followed in
// it.
func isMinified(text string) bool {
	return len(text) > 4096 && len(text)/(1+strings.Count(text, "\n")) > 200
}

// token judges the construct that begins at a token.
func (c *codeReader) token(i int) {
	t := c.tokens[i]
	switch {
	case t.Kind == lexer.String:
		v := c.literal(t)
		if strings.Contains(v.text, "://") && len(v.text) < 4096 {
			c.urls([]value{v})
		}
		c.credential(v)
		if c.isMark(i-1, "[") && c.isMark(i+1, "]") && c.isMark(i+2, "(") && runners.Has(t.Text) {
			c.runsItself(i, i+2, t.Text) // globalThis['eval'](…)
		}
	case t.Kind == lexer.Name && runners.Has(t.Text) && c.isMark(i-1, ",") && c.isMark(i+1, ")") && c.isMark(i+2, "("):
		c.runsItself(i, i+2, t.Text) // (0, eval)(…)
	case t.Kind == lexer.Name && t.Text == "import" && !c.isMark(i-1, "."):
		c.imports(i)
	case t.Kind == lexer.Name && c.isMark(i+1, "(") && !c.defines(i):
		if t.Text == "require" {
			c.requires(i)
		}
		c.call(i, c.dotted(i))
	case t.Kind == lexer.Name && t.Text == "$" && !c.python && i+1 < len(c.tokens) && c.tokens[i+1].Kind == lexer.String:
		c.shellText(c.literal(c.tokens[i+1]), i, "$") // of zx and Bun
	case t.Kind == lexer.Name && c.isMark(i+1, "=") && !c.isMark(i+2, "=") && !c.isMark(i-1, "."):
		if !c.minified && c.room(len(c.vars)) {
			c.renames(i)
			v := c.eval(i+2, c.statementEnd(i+2), 0)
			if !v.known && len(v.text) > maxUnknown {
				v.text = ""
			}
			c.vars[t.Text] = v
			if delete(c.lists, t.Text); c.isMark(i+2, "[") {
				c.lists[t.Text] = c.list([2]int{i + 2, c.statementEnd(i + 2)})
			}
		}
	case t.Kind == lexer.Name && (t.Text == "environ" || t.Text == "env"):
		c.environment(i)
	}
}

func (c *codeReader) isMark(i int, text string) bool {
	return i >= 0 && i < len(c.tokens) && c.tokens[i].Kind == lexer.Mark && c.tokens[i].Text == text
}

func (c *codeReader) name(i int) string {
	if i >= 0 && i < len(c.tokens) && c.tokens[i].Kind == lexer.Name {
		return c.tokens[i].Text
	}
	return ""
}

// defines reports whether the name at a token is being defined there.
func (c *codeReader) defines(i int) bool {
	before := c.name(i - 1)
	return before == "def" || before == "function" || before == "class"
}

// dotted returns the name of a call with its receiver: "os.path.join". A receiver that is not a
// name becomes "?".
func (c *codeReader) dotted(i int) string { return c.aliased(c.rawName(i)) }

// rawName is like dotted, but does not resolve import aliases.
func (c *codeReader) rawName(i int) string {
	name := c.tokens[i].Text
	for n := 0; n < 4 && c.isMark(i-1, "."); n++ {
		i -= 2
		if c.isMark(i, "?") { // a?.b
			i--
		}
		before := c.name(i)
		if before == "" {
			return "?." + name
		}
		name = before + "." + name
	}
	return name
}

// maxExpression is the number of tokens of an expression that are examined.
const maxExpression = 400

// maxUnknown bounds the text that a name keeps of a value with unknown parts. Without it, the text
// of names assigned from one another grows without end.
const maxUnknown = 1024

// looks takes room for looking at so many tokens.
func (c *codeReader) looks(n int) bool {
	if c.looked += max(n, 0); c.looked <= bound.Looks {
		return true
	}
	c.s.TooLarge(c.p.File.Path, "its expressions are too many within one another")
	return false
}

// statementEnd returns the end of the statement that contains a token.
func (c *codeReader) statementEnd(i int) int {
	for n := i; n < len(c.tokens) && n < i+maxExpression; n++ {
		t := c.tokens[n]
		if t.Kind == lexer.Line && n > i || t.Kind == lexer.Mark && (t.Text == ";" || t.Text == ")" || t.Text == "]" || t.Text == "}") {
			return n
		}
		if t.Match > 0 {
			n = int(t.Match)
		}
	}
	return min(i+maxExpression, len(c.tokens))
}

// arguments returns the token ranges of a call's arguments. open is the call's bracket.
func (c *codeReader) arguments(open int) [][2]int {
	var all [][2]int
	end := min(int(c.tokens[open].Match), open+maxExpression)
	start := open + 1
	for n := start; n < end; n++ {
		if c.isMark(n, ",") {
			all = append(all, [2]int{start, n})
			start = n + 1
		}
		if m := int(c.tokens[n].Match); m > n {
			n = m
		}
	}
	if start < end {
		all = append(all, [2]int{start, end})
	}
	return all
}

var codeParts = lazyregexp.New(`\$?\{([^{}]{0,60})\}`)

// literal returns the value of a string literal. Its computed parts are filled in if they name
// strings, and otherwise become shell variables.
func (c *codeReader) literal(t lexer.Token) value {
	v := value{text: t.Text, known: true, from: int(t.From), to: int(t.To)}
	if t.Coded {
		v.escapes = minEscapes
	}
	if !t.Open || len(t.Text) > 64<<10 {
		v.known = !t.Open
		return v
	}
	v.text = codeParts().ReplaceAllStringFunc(t.Text, func(m string) string {
		name := strings.Trim(m, "${} ")
		if w, ok := c.vars[name]; ok {
			v = v.merge(w)
			v.known = v.known && w.known
			if w.text != "" && c.of.spend(len(w.text)) {
				return w.text
			}
		}
		v.known = false
		return "$" + strings.Trim(strings.Map(func(r rune) rune {
			if lexer.IsNameByte(byte(r)) && r < 0x80 {
				return r
			}
			return '_'
		}, name), "_")
	})
	return v
}

// environmentVariable notes a variable that code reads from the environment.
func (c *codeReader) environmentVariable(name string) {
	if isEnvironment(name) {
		c.s.Fact(passage.FactVariable, name)
	}
}

// environment notes a variable of the environment that is read.
func (c *codeReader) environment(i int) {
	name := c.dotted(i)
	if name != "os.environ" && name != "process.env" && name != "environ" && name != "Deno.env" {
		return
	}
	switch {
	case c.isMark(i+1, "[") && c.isMark(i+3, "]") && c.isMark(i+4, "=") && !c.isMark(i+5, "="): // sets it
	case c.isMark(i+1, "[") && i+2 < len(c.tokens) && c.tokens[i+2].Kind == lexer.String:
		c.environmentVariable(c.tokens[i+2].Text)
	case c.isMark(i+1, ".") && c.name(i+2) == "get" && c.isMark(i+3, "(") && i+4 < len(c.tokens) && c.tokens[i+4].Kind == lexer.String:
		c.environmentVariable(c.tokens[i+4].Text)
	case c.isMark(i+1, ".") && name == "process.env":
		c.environmentVariable(c.name(i + 2))
	}
}
