package commands

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// applied returns the result of calling a method of a text, such as '{}'.format(x) or ' '.join([x,
// y]). open is the token of the opening bracket.
func (c *codeReader) applied(method string, text value, open, depth int) value {
	args := c.arguments(open)
	if len(args) == 0 {
		return text
	}
	var items []value
	if method == "join" {
		if items = c.list(args[0]); items == nil {
			return text.merge(c.eval(args[0][0], args[0][1], depth+1))
		}
	} else {
		for _, a := range args {
			items = append(items, c.eval(a[0], a[1], depth+1))
		}
	}
	out := text
	if method == "join" {
		out.text = strings.Join(texts(items), text.text)
	}
	for _, v := range items {
		if method == "format" {
			out.text = strings.Replace(out.text, "{}", v.text, 1)
		}
		out.known = out.known && v.known
		out = out.merge(v)
	}
	return c.spent(out)
}

// filledIn returns a Python format string with its first %s replaced by a value.
func (c *codeReader) filledIn(text, v value) value {
	text.text = strings.Replace(text.text, "%s", v.text, 1)
	text.known = text.known && v.known
	return c.spent(text.merge(v))
}

// spent returns v, without its text if the limit on derived text is exceeded.
func (c *codeReader) spent(v value) value {
	if len(v.text) > 64 && !c.commands.spend(len(v.text)) {
		v.text, v.known = "", false
	}
	return v
}

// expandList returns the words to which "$@" and "${name[@]}" expand.
func (r *shellReader) expandList(w *syntax.Word) ([]value, bool) {
	if len(w.Parts) != 1 {
		return nil, false
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	x, ok := part.(*syntax.ParamExp)
	if !ok || x.Param == nil || x.Exp != nil || x.Slice != nil {
		return nil, false
	}
	if x.Index == nil {
		return r.params, r.params != nil && (x.Param.Value == "@" || x.Param.Value == "*")
	}
	index, ok := x.Index.(*syntax.Word)
	if !ok || index.Lit() != "@" && index.Lit() != "*" {
		return nil, false
	}
	all, ok := r.arrays[x.Param.Value]
	return all, ok
}

// split returns the words of a brace expansion such as {a,b}.
func split(v value) []value {
	inner, opens := strings.CutPrefix(v.text, "{")
	inner, closes := strings.CutSuffix(inner, "}")
	if !opens || !closes || !v.known || !strings.Contains(inner, ",") {
		return []value{v}
	}
	var all []value
	for word := range strings.SplitSeq(inner, ",") {
		all = append(all, v.cut(word))
	}
	return all
}

// disguises lists the programs that undisguised recognizes. A command can start them through a
// glob, or through a name with unset variables in it.
const disguises = "curl wget sh bash zsh dash base64 python python3 perl node nc ncat openssl xxd eval"

// undisguised returns the first word of a command. It replaces a disguised program name with the
// real one.
func (r *shellReader) undisguised(v value, w *syntax.Word) value {
	name := path.Base(v.text)
	isPattern := strings.ContainsAny(name, "?*[")
	if !isPattern && v.known {
		return v
	}
	if !isPattern {
		name = ""
		for _, part := range w.Parts {
			switch x := part.(type) {
			case *syntax.Lit:
				name += unescaped(x.Value, false)
			case *syntax.SglQuoted:
				name += x.Value
			case *syntax.ParamExp:
				if x.Param != nil {
					name += r.vars[x.Param.Value].text
				}
			default:
				return v
			}
		}
	} else if len(strings.Trim(name, "?*[]")) < 2 && !strings.Contains(v.text, "/") {
		return v // a list item in Markdown
	}
	for program := range strings.FieldsSeq(disguises) {
		if ok, err := path.Match(name, program); ok && err == nil {
			v.text, v.known = program, true
			break
		}
	}
	return v
}
