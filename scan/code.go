package scan

import (
	"strings"

	"github.com/knack-dev/knack/internal/lazyregexp"
	"github.com/knack-dev/knack/scan/internal/passage"
	"github.com/knack-dev/knack/scan/internal/secrets"
)

// codeReader judges Python, JavaScript or TypeScript by its calls and strings.
type codeReader struct {
	*shellReader // for what code and commands have in common
	tokens       []lexeme
	python       bool
	vars         map[string]value // of the last assignment
	processes    bool             // JavaScript's child_process is named
	looked       int              // at so many tokens of expressions
	minified     bool             // a name of one letter stands for many things
	// A shell on a socket is made in several steps.
	socket  bool
	address string
	joins   *lexeme // the call that gives a shell the socket
}

// code judges Python, JavaScript or TypeScript.
func (s *scanner) code(p passage.Part, kind fileKind) { s.readCode(p, kind, fromScript) }

// codeWithin judges code within a command.
func (s *scanner) codeWithin(p passage.Part, kind fileKind) { s.readCode(p, kind, fromString) }

func (s *scanner) readCode(p passage.Part, kind fileKind, from origin) {
	if p.Depth > maxDepth || p.Nest > maxNest {
		s.notRead(p.File.Path, "commands within commands are too deep to be read")
		return
	}
	tokens, whole := tokensOf(p.Text, kind)
	if !whole {
		s.unread = s.unread || matters(p.File.Path)
		s.notRead(p.File.Path, "it has too many words of code")
	}
	c := &codeReader{
		shellReader: &shellReader{s: s, p: p, of: s.commandsOf(p.File), from: from, saved: map[string]value{}},
		tokens:      tokens, python: kind == kindPython, vars: map[string]value{},
		minified:  kind == kindJavaScript && isMinified(p.Text),
		processes: kind == kindJavaScript && strings.Contains(p.Text, "child_process"),
	}
	for i := range tokens {
		c.token(i)
	}
	if c.socket && c.joins != nil {
		s.networkFind(ruleReverseShell, p, int(c.joins.from), int(c.joins.to), c.address, "a shell is connected with "+connected(c.address))
	}
	c.passingHosts()
	if from == fromScript && c.secret != nil && c.network && !c.inMarkdown() {
		s.find(ruleSecretNetwork, p, c.secret.from, c.secret.to, "the script names "+secrets.Quote(c.secret.name)+" and uses the network")
	}
}

// isMinified reports whether JavaScript was packed by a program: its lines are long. Names are not
// followed in it.
func isMinified(text string) bool {
	return len(text) > 4096 && len(text)/(1+strings.Count(text, "\n")) > 200
}

// token judges what begins at a token.
func (c *codeReader) token(i int) {
	t := c.tokens[i]
	switch {
	case t.kind == tokenString:
		v := c.literal(t)
		if strings.Contains(v.text, "://") && len(v.text) < 4096 {
			c.urls([]value{v})
		}
		c.credential(v)
	case t.kind == tokenName && c.isMark(i+1, "(") && !c.defines(i):
		c.call(i, c.dotted(i))
	case t.kind == tokenName && t.text == "$" && !c.python && i+1 < len(c.tokens) && c.tokens[i+1].kind == tokenString:
		c.shellText(c.literal(c.tokens[i+1]), i, "$") // of zx and Bun
	case t.kind == tokenName && c.isMark(i+1, "=") && !c.isMark(i+2, "=") && !c.isMark(i-1, "."):
		if len(c.vars) < maxVariables && !c.minified {
			v := c.eval(i+2, c.statementEnd(i+2), 0)
			if !v.known && len(v.text) > maxUnknown {
				v.text = ""
			}
			c.vars[t.text] = v
		}
	case t.kind == tokenName && (t.text == "environ" || t.text == "env"):
		c.environment(i)
	}
}

func (c *codeReader) isMark(i int, text string) bool {
	return i >= 0 && i < len(c.tokens) && c.tokens[i].kind == tokenMark && c.tokens[i].text == text
}

func (c *codeReader) name(i int) string {
	if i >= 0 && i < len(c.tokens) && c.tokens[i].kind == tokenName {
		return c.tokens[i].text
	}
	return ""
}

// defines reports whether a name is that of a function which is defined here.
func (c *codeReader) defines(i int) bool {
	before := c.name(i - 1)
	return before == "def" || before == "function" || before == "class"
}

// dotted returns the name of a call with what stands before it: "os.path.join". What is no name
// before a dot is "?".
func (c *codeReader) dotted(i int) string {
	name := c.tokens[i].text
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

// The bounds of what is looked at of expressions, which may be within one another: maxExpression
// tokens of each, and maxLooks in a file.
const (
	maxExpression = 400
	maxLooks      = 1 << 24
)

// maxUnknown is the most text that a name keeps of a value with unknown parts: text of names that are
// assigned from one another grows without end.
const maxUnknown = 1024

// looks takes room for looking at so many tokens.
func (c *codeReader) looks(n int) bool {
	if c.looked += max(n, 0); c.looked <= maxLooks {
		return true
	}
	c.s.notRead(c.p.File.Path, "its expressions are too many within one another")
	return false
}

// statementEnd returns where a statement ends that goes on at a token.
func (c *codeReader) statementEnd(i int) int {
	for n := i; n < len(c.tokens) && n < i+maxExpression; n++ {
		t := c.tokens[n]
		if t.kind == tokenLine && n > i || t.kind == tokenMark && (t.text == ";" || t.text == ")" || t.text == "]" || t.text == "}") {
			return n
		}
		if t.match > 0 {
			n = int(t.match)
		}
	}
	return min(i+maxExpression, len(c.tokens))
}

// arguments returns the ranges of the arguments of a call whose bracket is a token.
func (c *codeReader) arguments(open int) [][2]int {
	var all [][2]int
	end := min(int(c.tokens[open].match), open+maxExpression)
	start := open + 1
	for n := start; n < end; n++ {
		if c.isMark(n, ",") {
			all = append(all, [2]int{start, n})
			start = n + 1
		}
		if m := int(c.tokens[n].match); m > n {
			n = m
		}
	}
	if start < end {
		all = append(all, [2]int{start, end})
	}
	return all
}

var codeParts = lazyregexp.New(`\$?\{([^{}]{0,60})\}`)

// literal returns what a string holds. Its computed parts are filled in if they are names of
// strings, and are variables of a shell if not.
func (c *codeReader) literal(t lexeme) value {
	v := value{text: t.text, known: true, from: int(t.from), to: int(t.to)}
	if !t.open || len(t.text) > 64<<10 {
		v.known = !t.open
		return v
	}
	v.text = codeParts().ReplaceAllStringFunc(t.text, func(m string) string {
		name := strings.Trim(m, "${} ")
		if w, ok := c.vars[name]; ok {
			v = v.with(w)
			v.known = v.known && w.known
			if w.text != "" && c.of.spend(len(w.text)) {
				return w.text
			}
		}
		v.known = false
		return "$" + strings.Trim(strings.Map(func(r rune) rune {
			if isNameByte(byte(r)) && r < 0x80 {
				return r
			}
			return '_'
		}, name), "_")
	})
	return v
}

// environment notes a variable of the environment that is read.
func (c *codeReader) environment(i int) {
	name := c.dotted(i)
	if name != "os.environ" && name != "process.env" && name != "environ" && name != "Deno.env" {
		return
	}
	switch {
	case c.isMark(i+1, "[") && i+2 < len(c.tokens) && c.tokens[i+2].kind == tokenString:
		c.variable(c.tokens[i+2].text)
	case c.isMark(i+1, ".") && c.name(i+2) == "get" && c.isMark(i+3, "(") && i+4 < len(c.tokens) && c.tokens[i+4].kind == tokenString:
		c.variable(c.tokens[i+4].text)
	case c.isMark(i+1, ".") && name == "process.env":
		c.variable(c.name(i + 2))
	}
}
