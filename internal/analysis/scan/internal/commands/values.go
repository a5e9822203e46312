package commands

import (
	"cmp"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/decode"
	"mvdan.cc/sh/v3/syntax"
)

// value describes the content of a word, a variable, a file or a command's output, as far as it is
// known without running anything.
type value struct {
	text     string
	known    bool // text is complete
	from, to int  // the bytes of the part from which the value comes
	fetched  []string
	decoder  string // the program that decoded the content
	escapes  int    // characters that were numeric escapes
	secret   string // the credentials in the content
	mild     bool   // the credentials are one value of a file, and the key of that value names no secret
	stream   bool   // a process substitution <(…): a file with this content
	session  bool   // the output of a shell that takes commands
}

// maxFetched limits the URLs of a value.
const maxFetched = 8

// empty reports whether nothing is known about a value.
func (v value) empty() bool {
	return !v.known && v.text == "" && len(v.fetched) == 0 && v.decoder == "" && v.secret == "" && !v.session
}

// merge returns v with the properties of o, but without the text of o.
func (v value) merge(o value) value {
	for _, u := range o.fetched {
		if len(v.fetched) < maxFetched && !slices.Contains(v.fetched, u) {
			v.fetched = append(slices.Clip(v.fetched), u)
		}
	}
	v.decoder = cmp.Or(v.decoder, o.decoder)
	if v.secret == "" || v.mild && o.secret != "" {
		v.secret, v.mild = o.secret, o.mild
	}
	v.escapes += o.escapes
	v.session = v.session || o.session
	return v
}

// joined returns the concatenation of values.
func (r *shellReader) joined(all []value) value {
	if len(all) == 1 {
		return all[0]
	}
	out := value{known: true}
	var text strings.Builder
	for _, v := range all {
		out = out.merge(v)
		out.known = out.known && v.known
		out.stream = out.stream || v.stream
		if len(v.text) > 64 && !r.commands.spend(len(v.text)) { // the number of short texts bounds their size
			r.s.TooLarge(r.p.File.Path, "its commands hold too much text to be followed")
			out.known = false
			return out
		}
		text.WriteString(v.text)
	}
	out.text = text.String()
	return out
}

// offset returns the offset in the part of a position in the syntax tree.
func (r *shellReader) offset(p syntax.Pos) int {
	return min(r.base+int(p.Offset()), len(r.p.Text))
}

func (r *shellReader) offsets(n syntax.Node) (from, to int) {
	from = r.offset(n.Pos())
	return from, max(from, r.offset(n.End()))
}

// word returns the value of a word, and judges the commands inside the word.
func (r *shellReader) word(w *syntax.Word) value {
	if w == nil {
		return value{}
	}
	v := r.parts(w.Parts, false)
	v.from, v.to = r.offsets(w)
	return v
}

func (r *shellReader) parts(parts []syntax.WordPart, quoted bool) value {
	all := make([]value, 0, 4)
	if len(parts) > cap(all) {
		all = make([]value, 0, len(parts))
	}
	for _, part := range parts {
		all = append(all, r.part(part, quoted))
	}
	if len(all) == 0 {
		return value{known: true}
	}
	return r.joined(all)
}

func (r *shellReader) part(part syntax.WordPart, quoted bool) value {
	switch x := part.(type) {
	case *syntax.Lit:
		return value{text: unescaped(x.Value, quoted), known: true}
	case *syntax.SglQuoted:
		if x.Dollar {
			text, n := decode.Escapes(x.Value)
			return value{text: text, known: true, escapes: n}
		}
		return value{text: x.Value, known: true}
	case *syntax.DblQuoted:
		return r.parts(x.Parts, true)
	case *syntax.ParamExp:
		return r.parameter(x)
	case *syntax.CmdSubst:
		v := r.statements(x.Stmts, value{})
		v.text = strings.TrimRight(v.text, "\n")
		v.stream = false
		return v
	case *syntax.ProcSubst:
		v := r.statements(x.Stmts, value{})
		v.stream = true
		return v
	case *syntax.ExtGlob:
		return value{text: x.Pattern.Value}
	default:
		r.commandsIn(part)
		return value{}
	}
}

// parameter returns the value of a parameter expansion: of a variable assigned before, or its
// default.
func (r *shellReader) parameter(x *syntax.ParamExp) value {
	if x.Param == nil {
		r.commandsIn(x)
		return value{}
	}
	name := x.Param.Value
	var other value
	if x.Exp != nil && x.Exp.Word != nil {
		other = r.word(x.Exp.Word)
	}
	if x.Slice != nil || x.Repl != nil || x.Index != nil {
		r.commandsIn(x)
	}
	if v, ok := r.vars[name]; ok {
		if target, ok := r.vars[v.text]; ok && x.Excl {
			return target
		}
		if v.empty() {
			v.text = "$" + name // the variable names an unknown file
		}
		if x.Exp != nil || x.Slice != nil || x.Repl != nil || x.Length || x.Excl {
			v.known = false
		}
		return v
	}
	switch {
	case name == "IFS":
		return value{text: " ", known: true}
	case name == "@" || name == "*":
		return value{known: true}
	case x.Exp != nil && (x.Exp.Op == syntax.DefaultUnset || x.Exp.Op == syntax.DefaultUnsetOrNull || x.Exp.Op == syntax.AssignUnset || x.Exp.Op == syntax.AssignUnsetOrNull):
		r.variable(name)
		return other
	}
	r.variable(name)
	return value{text: "$" + name}.merge(other)
}

// commandsIn judges the commands anywhere below a syntax node.
func (r *shellReader) commandsIn(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.CmdSubst:
			r.statements(x.Stmts, value{})
			return false
		case *syntax.ProcSubst:
			r.statements(x.Stmts, value{})
			return false
		}
		return true
	})
}

// unescaped removes the backslash escapes of a shell. In double quotes, a backslash before most
// characters stays.
func unescaped(text string, quoted bool) string {
	if !strings.Contains(text, "\\") {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		switch next := text[i+1]; {
		case next == '\n':
			i++
		case quoted && !strings.ContainsRune("$`\"\\", rune(next)):
			out.WriteByte('\\')
		default:
			out.WriteByte(next)
			i++
		}
	}
	return out.String()
}
