package commands

import (
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/bound"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/lexer"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// codeReader judges Python, JavaScript or TypeScript by its function calls and string literals.
type codeReader struct {
	*shellReader // shared with the reader of shell commands
	tokens       []lexer.Token
	python       bool
	vars         map[string]value // variables with their last assigned value
	processes    bool             // the code names JavaScript's child_process
	looked       int              // tokens examined in expressions so far
	minified     bool             // then a one-letter name stands for many variables
	imported     map[string]string
	lists        map[string][]value
	files        map[string]string // variables open for writing, and the path of each file
	got          value             // the last fetched value
	args         value             // the program's arguments, combined into one value
	// The steps that connect a shell with a socket. They are judged together at the end of the
	// code.
	socket  bool
	address string
	sockets map[string]bool // the variables that contain a socket
	joins   *lexer.Token    // the call that passes the socket to a shell
}

// Code judges Python if python is set, and otherwise JavaScript or TypeScript.
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

// isMinified reports whether JavaScript is minified, judging by its size and its average line
// length. The variables of minified code are not tracked.
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
		c.runs(c.literal(c.tokens[i+1]), c.placeOf(i), "$") // $`…` of zx and Bun
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

// defines reports whether the name at a token is the name of a definition.
func (c *codeReader) defines(i int) bool {
	before := c.name(i - 1)
	return before == "def" || before == "function" || before == "class"
}

// dotted returns the name of a call with its receiver, such as "os.path.join". It resolves import
// aliases. A receiver that is not a name becomes "?".
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

// maxExpression limits the tokens of an expression that are examined.
const maxExpression = 400

// maxUnknown limits the text of a variable whose value is partly unknown. A longer text is dropped.
// Without this limit, the texts of variables that are assigned from one another grow without end.
const maxUnknown = 1024

// looks counts n more examined tokens, and reports whether the limit allows them.
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

// arguments returns the token ranges of a call's arguments. open is the token of the opening
// bracket.
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

// literal returns the value of a string literal. An interpolated expression is replaced with its
// text if it is a variable with a known text, and otherwise with a shell variable.
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
			if w.text != "" && c.commands.spend(len(w.text)) {
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

// environmentVariable records a variable that code reads from the environment as a fact.
func (c *codeReader) environmentVariable(name string) {
	if isEnvironment(name) {
		c.s.Fact(passage.FactVariable, name)
	}
}

// environment records the environment variable that the code reads at a token.
func (c *codeReader) environment(i int) {
	name := c.dotted(i)
	if name != "os.environ" && name != "process.env" && name != "environ" && name != "Deno.env" {
		return
	}
	switch {
	case c.isMark(i+1, "[") && c.isMark(i+3, "]") && c.isMark(i+4, "=") && !c.isMark(i+5, "="): // this sets the variable
	case c.isMark(i+1, "[") && i+2 < len(c.tokens) && c.tokens[i+2].Kind == lexer.String:
		c.environmentVariable(c.tokens[i+2].Text)
	case c.isMark(i+1, ".") && c.name(i+2) == "get" && c.isMark(i+3, "(") && i+4 < len(c.tokens) && c.tokens[i+4].Kind == lexer.String:
		c.environmentVariable(c.tokens[i+4].Text)
	case c.isMark(i+1, ".") && name == "process.env":
		c.environmentVariable(c.name(i + 2))
	}
}
