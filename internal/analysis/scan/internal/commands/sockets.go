package commands

import (
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/lexer"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// connects records the steps by which code connects a shell to a socket.
func (c *codeReader) connects(i int, name string) {
	switch l := last(name); {
	case c.python && (l == "connect" && strings.Contains(c.p.Text, "socket") || l == "create_connection"), !c.python && (l == "connect" || l == "createConnection") && usesNet().MatchString(c.p.Text):
		c.socket, c.network = true, true
		first := i
		for c.isMark(first-1, ".") {
			first -= 2
		}
		if l == "connect" {
			c.sockets[c.name(first)] = true
		} else if c.isMark(first-1, "=") {
			c.sockets[c.name(first-2)] = true
		}
		for n := i + 2; n < min(int(c.tokens[i+1].Match), i+40); n++ {
			if t := c.tokens[n]; t.Kind == lexer.String {
				c.address = t.Text
				break
			} else if v, ok := c.vars[t.Text]; ok && t.Kind == lexer.Name && v.text != "" {
				c.address = v.text
				break
			} else if t.Kind == lexer.Name {
				c.address = "$" + t.Text
			}
		}
	case c.python && l == "dup2":
		for n := i + 2; n < min(int(c.tokens[i+1].Match), i+40); n++ {
			if c.name(n) == "fileno" {
				c.joins = &c.tokens[i]
			}
		}
	}
}

// usesNet matches a use of the module net of Node.js.
var usesNet = lazyregexp.New(`\bnet\.|["'](?:node:)?net["']`)

// linked reports whether a call starts a program with a socket as its input.
func (c *codeReader) linked(args [][2]int) bool {
	for _, a := range args {
		if c.name(a[0]) == "stdin" && c.isMark(a[0]+1, "=") && c.sockets[c.name(a[0]+2)] {
			return true
		}
	}
	return false
}

// socketShell records a call that starts a shell and connects it to a socket.
func (c *codeReader) socketShell(i int, words []value, linked bool) {
	if len(words) == 0 || c.joins != nil {
		return
	}
	name := programName(strings.TrimSpace(words[0].text))
	if languages()[name] != langShell && name != "cmd" {
		return
	}
	if c.python && (c.name(i-2) == "pty" || linked) || !c.python && strings.Contains(c.p.Text, ".stdin") && strings.Contains(c.p.Text, ".pipe(") {
		c.joins = &c.tokens[i]
	}
}
