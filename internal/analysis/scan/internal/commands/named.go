package commands

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/bound"
)

// definition is the definition of a shell function or an alias.
type definition struct {
	body  *syntax.Stmt // the body of a function
	base  int          // the position of the chunk with the body in the part
	alias string       // the text of an alias
}

// callNamed judges a call of a shell function or an alias, with the arguments and the input of the
// call. It returns the output. ok is false if there is no such function or alias.
func (r *shellReader) callNamed(args []value, io redirect, wrapped int) (out value, ok bool) {
	n, ok := r.named[args[0].text]
	if !ok || r.calls >= maxWrappers {
		return value{}, ok
	}
	r.calls++
	defer func() { r.calls-- }()
	if n.body == nil {
		var words []value
		for word := range strings.FieldsSeq(n.alias) {
			words = append(words, value{text: strings.Trim(word, "'\""), known: true, from: args[0].from, to: args[0].to})
		}
		delete(r.named, args[0].text) // an alias is not expanded inside its own expansion
		defer func() { r.named[args[0].text] = n }()
		return r.call(append(words, args[1:]...), io, wrapped+1), true
	}
	// A body is read at each call, so its words count at each call.
	if r.commands.words += wordsOfReader + int(n.body.End().Offset()-n.body.Pos().Offset())/4; r.commands.words > bound.Words {
		r.tooManyWords()
		return value{}, true
	}
	delete(r.named, args[0].text) // a recursive call would not end
	base, before, params := r.base, map[string]value{}, r.params
	set := func(name string, v value) {
		before[name] = r.vars[name]
		r.vars[name] = v
	}
	for i, v := range args[1:min(len(args), 10)] {
		set(strconv.Itoa(i+1), v)
	}
	r.base, r.params = n.base, args[1:]
	out = r.statement(n.body, io.in)
	r.base, r.params, r.named[args[0].text] = base, params, n
	for name, v := range before {
		if r.vars[name] = v; v.empty() {
			delete(r.vars, name)
		}
	}
	return out, true
}

// aliases records the aliases that the alias command defines.
func (r *shellReader) aliases(args []value) {
	for _, v := range args {
		name, words, ok := strings.Cut(v.text, "=")
		if !ok || name == "" || !r.room(len(r.named)) {
			continue
		}
		r.named[name] = definition{alias: words}
		if strings.ContainsAny(words, "|;&$`") {
			r.runs(value{text: words, known: v.known, from: v.from, to: v.to}, v, "alias")
		}
	}
}
