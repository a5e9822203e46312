package commands

import (
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/decode"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
	"mvdan.cc/sh/v3/syntax"
)

// callExpr judges a simple command.
func (r *shellReader) callExpr(x *syntax.CallExpr, io redirect) value {
	for _, a := range x.Assigns {
		r.assignment(a)
	}
	args := make([]value, 0, len(x.Args))
	for i, w := range x.Args {
		if all, ok := r.expandList(w); ok {
			args = append(args, all...)
			continue
		}
		v := r.word(w)
		if i == 0 {
			v = r.undisguised(v, w)
		}
		args = append(args, v)
	}
	if len(args) == 1 {
		args = split(args[0])
	}
	switch {
	case len(args) == 0:
		return value{}
	case len(args) == 1 && args[0].text == "exec":
		r.stdin = io.in
	}
	r.urls(args)
	return r.call(args, io, 0)
}

// maxWrappers limits the length of a chain of programs in which each starts the next.
const maxWrappers = 20

// call judges a command, given as its words, and returns its output.
func (r *shellReader) call(args []value, io redirect, wrapped int) value {
	if len(args) == 0 || wrapped > maxWrappers {
		return value{}
	}
	first := args[0]
	if first.decoder != "" || len(first.fetched) > 0 { // $(…) as a command
		r.runs(first, first, "the shell")
		return value{}
	}
	if first.known && strings.ContainsAny(first.text, " \t") && len(args) == 1 && !strings.HasPrefix(first.text, "/") { // $COMMAND
		if strings.ContainsAny(first.text, "|;&<>`$(\n\"'") {
			return r.runs(first, first, "the shell")
		}
		words := []value{}
		for word := range strings.FieldsSeq(first.text) {
			words = append(words, first.cut(word))
		}
		return r.call(words, io, wrapped+1)
	}
	if out, ok := r.callNamed(args, io, wrapped); ok {
		return out
	}
	name := programName(first.text)
	if len(args) == 1 || args[1].text != "=" { // x = … is an assignment
		r.program(first, name)
	}
	if v, ok := r.installed(first.text); ok && (len(v.fetched) > 0 || v.decoder != "") {
		r.runs(v, first, name)
	}
	if inner, in, ok := unwrapped(name, args[1:], io.in); ok {
		io.in = in
		r.packages(name, args[1:])
		if len(inner) == 0 && name == "env" {
			return value{secret: wholeEnvironment}
		}
		return r.call(inner, io, wrapped+1)
	}
	r.facts(name, args[1:])
	r.persists(name, args)
	r.backdoor(name, args, io)
	return r.effect(name, args, io)
}

// binFolders lists the folders into which people install programs that they start without a path.
var binFolders = [...]string{"/usr/local/bin/", "/usr/bin/", "~/.local/bin/", "~/bin/"}

// installed returns the content of a program's file, if an earlier command has written it.
func (r *shellReader) installed(program string) (value, bool) {
	v, ok := r.saved[fileName(program)]
	if !ok && len(r.saved) > 0 && !strings.Contains(program, "/") {
		for _, folder := range binFolders {
			if v, ok = r.saved[folder+program]; ok {
				break
			}
		}
	}
	return v, ok
}

// effect judges how a program uses its input and its arguments. It returns the output.
func (r *shellReader) effect(name string, args []value, io redirect) value {
	rest := args[1:]
	switch {
	case name == "eval":
		return r.runs(r.spaced(rest), args[0], name)
	case name == "source" || name == ".":
		if len(rest) > 0 && rest[0].text != "-" {
			r.runsFile(rest[0], io.in, args[0], name)
		} else {
			r.runs(io.in, args[0], name)
		}
	case name == "iex" || name == "invoke-expression":
		r.runs(r.spaced(append([]value{io.in}, rest...)), args[0], name)
	case name == "at" || name == "batch":
		r.runs(io.in, args[0], name)
	case name == "trap" && len(rest) > 1:
		r.runs(rest[0], args[0], name)
	case name == "alias":
		r.aliases(rest)
	case name == "read" || name == "mapfile" || name == "readarray":
		for _, v := range rest {
			if !strings.HasPrefix(v.text, "-") {
				r.assign(v.text, io.in)
			}
		}
	case name == "printf" && len(rest) > 2 && rest[0].text == "-v":
		r.assign(rest[1].text, r.printed(name, rest[2:]))
	case awks.Has(name):
		return r.awk(args, io)
	case name == "tar" || name == "zip":
		to := written(name, rest)
		v := r.filtered(slices.DeleteFunc(slices.Clone(rest), to.isSame), io.in)
		for _, folder := range rest {
			if v.secret == "" && words.HoldsCredentials(folder.text) {
				v.secret = folder.text
			}
		}
		if file := packed(name, rest); file.text != "" && file.text != "-" {
			r.write(file.text, v, redirect{from: file.from, to: file.to})
			return value{}
		}
		return v
	case name == "gpg" && flag(rest, "", "export-secret-keys export-secret-subkeys"):
		return value{secret: "the keys of GnuPG"}
	case name == "openssl" && subcommand(rest) == "s_client":
		if host, ok := connectOption(rest); ok {
			return value{fetched: []string{"tcp://" + host}, from: args[0].from, to: args[0].to}
		}
	case languages()[name] != langNone:
		return r.interpret(name, args, io)
	case name == "echo" || name == "printf":
		return r.printed(name, rest)
	case name == "printenv" && len(rest) == 0 || name == "set" && len(rest) == 0 || name == "export" && len(rest) == 0:
		return value{secret: wholeEnvironment}
	case fetchers.Has(name):
		return r.fetch(name, args, io)
	case name == "tee":
		for _, v := range rest {
			if !strings.HasPrefix(v.text, "-") {
				r.write(v.text, io.in, redirect{from: v.from, to: v.to})
			}
		}
		return io.in
	case decode.Is(name):
		if v, ok := r.decode(name, rest, io.in); ok {
			for i, o := range rest[:max(len(rest)-1, 0)] {
				if file := rest[i+1].text; file != "-" && (o.text == "-out" || o.text == "-o" || o.text == "--output") {
					r.write(file, v, redirect{from: o.from, to: o.to})
					return value{}
				}
			}
			return v
		}
		return r.filtered(rest, io.in)
	case unpackers.Has(name):
		r.unpacks(name, rest)
		return r.filtered(rest, io.in)
	case name == "cat" && len(rest) == 0:
		return io.in
	case filters.Has(name):
		return oneValue(name, rest, r.filtered(rest, io.in))
	case keychain(name) != "":
		if words.Has(keychain(name), subcommand(rest)) {
			return value{secret: "the keychain"}
		}
	case senders.Has(name):
		return r.send(name, args, io)
	case writers.Has(name):
		r.copies(rest)
	}
	return value{}
}

// programName returns the name of a program without its folder, its extension .exe or a version.
func programName(word string) string {
	if word == "" {
		return ""
	}
	name := strings.ToLower(path.Base(strings.ReplaceAll(word, "\\", "/")))
	name = strings.TrimSuffix(name, ".exe")
	for _, p := range [...]string{"python", "ruby", "php", "lua", "perl"} {
		if rest, ok := strings.CutPrefix(name, p); ok && strings.Trim(rest, "0123456789.") == "" {
			return p
		}
	}
	return name
}

func subcommand(args []value) string {
	for _, v := range args {
		if !strings.HasPrefix(v.text, "-") {
			return v.text
		}
	}
	return ""
}

// spaced returns the words joined with spaces, as the shell's eval joins its arguments.
func (r *shellReader) spaced(args []value) value {
	if len(args) == 1 {
		return args[0]
	}
	all := make([]value, 0, 2*len(args))
	for i, v := range args {
		if i > 0 {
			all = append(all, value{text: " ", known: true})
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		return value{}
	}
	v := r.joined(all)
	v.from, v.to = args[0].from, args[len(args)-1].to
	return v
}

// printed returns the output of echo or printf.
func (r *shellReader) printed(name string, args []value) value {
	escapes := name == "printf"
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") && strings.Trim(args[0].text, "-neE") == "" {
		escapes = escapes || strings.Contains(args[0].text, "e")
		args = args[1:]
	}
	if name == "printf" && len(args) > 1 { // args[0] is the format; only %s and %b are resolved
		format := args[0].text
		args = args[1:]
		if strings.Trim(strings.ReplaceAll(strings.ReplaceAll(format, "%s", ""), "%b", ""), "\\n \"'") != "" {
			v := r.spaced(args)
			v.known = false
			return v
		}
	}
	v := r.spaced(args)
	if escapes {
		text, n := decode.Escapes(v.text)
		v.text, v.escapes = text, v.escapes+n
	}
	return v
}

// filtered returns the output of a program that prints its input or the files in its arguments,
// possibly changed.
func (r *shellReader) filtered(args []value, in value) value {
	out := in
	files := 0
	for _, v := range args {
		if strings.HasPrefix(v.text, "-") && v.text != "-" {
			continue
		}
		c := r.content(v)
		if c.secret != "" || c.decoder != "" || len(c.fetched) > 0 {
			out = out.merge(c)
		}
		if files++; files == 1 && c.text != "" {
			out.text, out.known, out.from, out.to = c.text, c.known, c.from, c.to
		}
	}
	if len(args) > 0 && files == 0 || files > 1 {
		out.known = false
	}
	return out
}

// option is an option of a command, with its value if it takes one.
type option struct {
	name  string // "o" or "output"
	value value
}

// options splits arguments into options and operands. short and long list the options that take a
// value.
func options(args []value, short, long string) (opts []option, rest []value) {
	for i := 0; i < len(args); i++ {
		v := args[i]
		name, ok := strings.CutPrefix(v.text, "-")
		if !ok || name == "" {
			rest = append(rest, v)
			continue
		}
		next := func() value {
			if i+1 < len(args) {
				i++
				return args[i]
			}
			return value{}
		}
		if name == "-" {
			return opts, append(rest, args[i+1:]...)
		}
		if full, ok := strings.CutPrefix(name, "-"); ok {
			if full, text, ok := strings.Cut(full, "="); ok {
				opts = append(opts, option{full, v.cut(text)})
			} else if words.Has(long, full) {
				opts = append(opts, option{full, next()})
			} else {
				opts = append(opts, option{name: full})
			}
			continue
		}
		for j := range len(name) {
			letter := name[j : j+1]
			if !strings.Contains(short, letter) {
				opts = append(opts, option{name: letter})
				continue
			}
			if j+1 < len(name) {
				opts = append(opts, option{letter, v.cut(name[j+1:])})
			} else {
				opts = append(opts, option{letter, next()})
			}
			break
		}
	}
	return opts, rest
}

// cut returns v with a part of its text as its text.
func (v value) cut(text string) value {
	v.text = text
	return v
}
