package commands

import (
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/lexer"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
)

// nodeModules lists the modules of Node.js whose functions are recognised by their module's name.
var nodeModules = words.Set{Rows: "child_process vm net"}

// aliased returns a dotted name with its first part replaced by the imported name.
func (c *codeReader) aliased(name string) string {
	first, rest, more := strings.Cut(name, ".")
	real, ok := c.imported[first]
	if !ok {
		return name
	}
	if more {
		return real + "." + rest
	}
	return real
}

// alias records that a name stands for another name.
func (c *codeReader) alias(name, original string) {
	if c.imported == nil {
		c.imported = map[string]string{}
	}
	if name != "" && c.room(len(c.imported)) {
		c.imported[name] = original
	}
}

// imports records the names that an import statement defines: "import a.b as c", "from a import b
// as c", and JavaScript's imports.
func (c *codeReader) imports(i int) {
	end := min(c.statementEnd(i+1), i+maxNames)
	if !c.looks(8 * (end - i)) { // each token is examined several times
		return
	}
	module := ""
	if c.python && c.isFrom(i) {
		module = strings.TrimPrefix(c.rawName(i-1)+".", "?.")
	}
	for n := i + 1; n < end; n++ {
		if t := c.tokens[n]; !c.python && t.Kind == lexer.String {
			if module = strings.TrimPrefix(t.Text, "node:"); nodeModules.Has(module) {
				module += "."
			} else {
				module = ""
			}
		}
	}
	for n := i + 1; n < end; n++ {
		name := c.name(n)
		switch {
		case name == "" || name == "as" || name == "from" || c.name(n-1) == "as":
		case c.name(n+1) == "as" && c.name(n+2) != "":
			c.alias(c.name(n+2), module+c.rawName(n))
		case module != "" && (c.python || c.tokens[n-1].Kind == lexer.Mark):
			c.alias(name, module+name)
		case module != "": // import p from 'child_process'
			c.alias(name, strings.TrimSuffix(module, "."))
		}
		if c.isMark(n, "*") && c.name(n+1) == "as" && module != "" {
			c.alias(c.name(n+2), strings.TrimSuffix(module, "."))
		}
	}
}

// isFrom reports whether the word import belongs to a statement "from module import" of Python.
func (c *codeReader) isFrom(i int) bool {
	for n := i - 1; n >= 0 && n > i-20 && c.tokens[n].Kind != lexer.Line; n-- {
		if c.name(n) == "from" {
			return true
		}
	}
	return false
}

// requires records the names assigned from a Node.js module, as in "p = require('child_process')"
// or "{ exec: r } = require(…)".
func (c *codeReader) requires(i int) {
	if i+2 >= len(c.tokens) || c.tokens[i+2].Kind != lexer.String || !c.isMark(i-1, "=") {
		return
	}
	module := strings.TrimPrefix(c.tokens[i+2].Text, "node:")
	if !nodeModules.Has(module) {
		return
	}
	if name := c.name(i - 2); name != "" {
		if c.isMark(i+4, ".") {
			module += "." + c.name(i+5)
		}
		c.alias(name, module)
	}
	if !c.isMark(i-2, "}") {
		return
	}
	for n := i - 3; n > 0 && n > i-maxNames && !c.isMark(n, "{"); n-- {
		switch name := c.name(n); {
		case name == "":
		case c.isMark(n-1, ":"):
			c.alias(name, module+"."+c.name(n-2))
			n -= 2
		default:
			c.alias(name, module+"."+name)
		}
	}
}

// maxNames limits the tokens of one import that are examined for names.
const maxNames = 200

// renames records a name to which a function is assigned, as in "run = os.system".
func (c *codeReader) renames(i int) {
	delete(c.imported, c.tokens[i].Text)
	n := i + 2
	for c.name(n) != "" && c.isMark(n+1, ".") {
		n += 2
	}
	if c.name(n) == "" || c.statementEnd(i+2) != n+1 {
		return
	}
	if name := c.dotted(n); runners.Has(name) || shellRunners.Has(name) || decodingCalls.Has(last(name)) {
		c.alias(c.tokens[i].Text, name)
	}
}
