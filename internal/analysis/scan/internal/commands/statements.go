package commands

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/bound"
	paths "github.com/knack-dev/knack/internal/analysis/scan/internal/words"
)

// statements judges a list of statements that read the same input, and returns their output.
func (r *shellReader) statements(list []*syntax.Stmt, in value) value {
	var out []value
	for _, st := range list {
		if v := r.statement(st, in); !v.empty() {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return value{}
	}
	return r.joined(out)
}

// statement judges a statement with its redirections, and returns its output.
func (r *shellReader) statement(st *syntax.Stmt, in value) value {
	if st == nil {
		return value{}
	}
	if list, pipe := spine(st); list != nil {
		return r.list(list, pipe, in)
	}
	io := r.redirections(st, in)
	outer := r.outer
	r.outer = io.socket
	out := r.command(st, io)
	if r.outer = outer; io.socket != nil && io.socket != outer && out.secret != "" {
		r.sendsSecret(out, delivered(*io.socket).fetched[0], *io.socket)
	}
	if io.file == "" {
		return out
	}
	r.write(io.file, out, io)
	return value{}
}

// spine returns the commands of a pipeline, or of a list joined by && and ||, in order. In the
// syntax tree they nest to the left.
func spine(st *syntax.Stmt) (list []*syntax.Stmt, pipe bool) {
	b, ok := st.Cmd.(*syntax.BinaryCmd)
	if !ok || len(st.Redirs) > 0 {
		return nil, false
	}
	pipe = b.Op == syntax.Pipe || b.Op == syntax.PipeAll
	for {
		list = append(list, b.Y)
		next, ok := b.X.Cmd.(*syntax.BinaryCmd)
		if !ok || len(b.X.Redirs) > 0 || (next.Op == syntax.Pipe || next.Op == syntax.PipeAll) != pipe {
			list = append(list, b.X)
			slices.Reverse(list)
			return list, pipe
		}
		b = next
	}
}

func (r *shellReader) list(list []*syntax.Stmt, pipe bool, in value) value {
	if !pipe {
		return r.statements(list, in)
	}
	for _, st := range list {
		in = r.statement(st, in)
	}
	return in
}

// redirect describes the input and the output of a statement.
type redirect struct {
	in       value
	file     string // the file for the output; "" for none
	from, to int
	socket   *value // the /dev/tcp address that the statement is connected to
}

func (r *shellReader) redirections(st *syntax.Stmt, in value) redirect {
	io := redirect{in: in, socket: r.outer}
	if in.empty() {
		io.in = r.stdin
	}
	for _, rd := range st.Redirs {
		w := r.word(rd.Word)
		number := ""
		if rd.N != nil {
			number = rd.N.Value
		}
		if strings.HasPrefix(w.text, "/dev/tcp/") || strings.HasPrefix(w.text, "/dev/udp/") {
			address := w
			io.socket = &address
			if rd.Op == syntax.RdrInOut || number != "" {
				r.remote[strings.Trim(number, "{}")] = address
			}
			if rd.Op == syntax.RdrIn || rd.Op == syntax.RdrInOut {
				io.in = delivered(address)
			}
			r.network = true
			continue
		}
		switch rd.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			io.in = r.word(rd.Hdoc)
		case syntax.WordHdoc:
			io.in = w
		case syntax.RdrIn, syntax.RdrInOut:
			c := r.content(w)
			if number == "" || number == "0" {
				io.in = c
			} else {
				r.opened[strings.Trim(number, "{}")] = c
			}
		case syntax.DplIn, syntax.DplOut:
			descriptor := strings.TrimLeft(w.text, "$")
			if address, ok := r.remote[descriptor]; ok {
				io.socket = &address
				if rd.Op == syntax.DplIn {
					io.in = delivered(address)
				}
			} else if c, ok := r.opened[descriptor]; ok && rd.Op == syntax.DplIn {
				io.in = c
			}
			if rd.Op == syntax.DplOut && number == "" && w.text != "" && strings.Trim(w.text, "0123456789-") == "" {
				continue
			}
			fallthrough
		default:
			if isFile(w) && number != "2" && rd.Op != syntax.DplIn {
				io.file, io.from, io.to = w.text, w.from, w.to
				if io.file == "" {
					io.file = "?"
				}
			}
		}
	}
	return io
}

// delivered returns the content that is read from a socket. The address of the socket is a path
// below /dev/tcp or /dev/udp.
func delivered(address value) value {
	_, at, _ := strings.Cut(strings.TrimPrefix(address.text, "/dev/"), "/")
	return value{fetched: []string{"tcp://" + strings.Replace(at, "/", ":", 1)}, from: address.from, to: address.to}
}

// isFile reports whether a redirection goes to a file that a later command can read.
func isFile(w value) bool {
	return strings.Trim(w.text, "0123456789-") != "" && !strings.HasPrefix(w.text, "/dev/") && !w.stream
}

// content returns the content of a file, as far as earlier commands have determined it.
func (r *shellReader) content(name value) value {
	if name.stream {
		name.stream = false
		return name
	}
	r.reads(name)
	v := value{}
	if saved, ok := r.saved[fileName(name.text)]; ok {
		v = saved
	}
	if c := r.credential(name); c != "" {
		v.secret = c
	}
	return v
}

// fileName returns the key of a written file in saved.
func fileName(path string) string { return paths.Homely(strings.TrimPrefix(path, "./")) }

// write records that a command writes into a file.
func (r *shellReader) write(file string, v value, io redirect) {
	r.writes(value{text: file, from: io.from, to: io.to})
	if len(v.fetched) > 0 || v.decoder != "" || v.secret != "" || v.text != "" {
		r.save(file, v)
	}
}

// command judges a command whose redirections are resolved, and returns its output.
func (r *shellReader) command(st *syntax.Stmt, io redirect) value {
	switch x := st.Cmd.(type) {
	case nil:
		return io.in // $(<file)
	case *syntax.CallExpr:
		return r.callExpr(x, io)
	case *syntax.BinaryCmd:
		list, pipe := spine(&syntax.Stmt{Cmd: x})
		return r.list(list, pipe, io.in)
	case *syntax.Block:
		return r.statements(x.Stmts, io.in)
	case *syntax.Subshell:
		return r.statements(x.Stmts, io.in)
	case *syntax.IfClause:
		return r.ifClause(x, io.in)
	case *syntax.WhileClause:
		return r.joined([]value{r.statements(x.Cond, io.in), r.statements(x.Do, io.in)})
	case *syntax.ForClause:
		r.loop(x)
		return r.statements(x.Do, io.in)
	case *syntax.CaseClause:
		r.word(x.Word)
		var out []value
		for _, item := range x.Items {
			out = append(out, r.statements(item.Stmts, io.in))
		}
		return r.joined(append(out, value{}))
	case *syntax.FuncDecl:
		r.statement(x.Body, value{})
		if x.Name != nil && r.room(len(r.named)) && r.keeps(x.Body) {
			r.named[x.Name.Value] = definition{body: x.Body, base: r.base}
		}
	case *syntax.TimeClause:
		return r.statement(x.Stmt, io.in)
	case *syntax.CoprocClause:
		return r.statement(x.Stmt, io.in)
	case *syntax.DeclClause:
		return r.declare(x)
	default:
		r.commandsIn(x)
	}
	return value{}
}

func (r *shellReader) ifClause(x *syntax.IfClause, in value) value {
	var out []value
	for ; x != nil; x = x.Else {
		out = append(out, r.statements(x.Cond, in), r.statements(x.Then, in))
	}
	return r.joined(out)
}

// loop records the value of a loop variable. The value combines the words of the loop. Its text is
// known only if there is a single word.
func (r *shellReader) loop(x *syntax.ForClause) {
	iter, ok := x.Loop.(*syntax.WordIter)
	if !ok {
		r.commandsIn(x.Loop)
		return
	}
	var v value
	for _, w := range iter.Items {
		item := r.word(w)
		if len(iter.Items) == 1 {
			v = item
		}
		v = v.merge(item)
	}
	r.assign(iter.Name.Value, v)
}

// room reports whether a name can be tracked in addition to n names. If not, it reports the file as
// too large, since padding with names must not hide anything.
func (r *shellReader) room(n int) bool {
	if n < bound.Names {
		return true
	}
	r.s.TooLarge(r.p.File.Path, "it has more than "+strconv.Itoa(bound.Names)+" names that would have to be followed")
	return false
}

// keeps reports whether the syntax tree of one more function can be kept until the script ends.
func (r *shellReader) keeps(body *syntax.Stmt) bool {
	from, to := r.offsets(body)
	const ofName = 10
	if r.functionNodes += ofName + bound.Shell.Nodes(r.p.Text[from:to]); r.functionNodes <= bound.Shell.Most() {
		return true
	}
	r.s.TooLarge(r.p.File.Path, "its functions are too large to be followed")
	return false
}

func (r *shellReader) assign(name string, v value) {
	if r.room(len(r.vars)) {
		r.vars[name] = v
	}
	if isEnvironment(name) {
		note(&r.s.assigned, name)
	}
}

// save records the content written into a file.
func (r *shellReader) save(file string, v value) {
	if r.room(len(r.saved)) {
		r.saved[fileName(file)] = v
	}
}

func (r *shellReader) assignment(a *syntax.Assign) {
	if a.Array != nil {
		var all value
		var words []value
		for _, e := range a.Array.Elems {
			words = append(words, r.word(e.Value))
			all = all.merge(words[len(words)-1])
		}
		if a.Name != nil && r.room(len(r.arrays)) {
			r.assign(a.Name.Value, all)
			r.arrays[a.Name.Value] = words
		}
		return
	}
	v := r.word(a.Value)
	if a.Name == nil || a.Naked {
		return
	}
	if a.Append {
		v = r.joined([]value{r.vars[a.Name.Value], v})
	}
	if a.Value == nil {
		v = value{known: true}
	}
	r.assign(a.Name.Value, v)
}

// declare judges export, local, declare and readonly. Without a name, export and declare print all
// variables.
func (r *shellReader) declare(x *syntax.DeclClause) value {
	names := 0
	for _, a := range x.Args {
		r.assignment(a)
		if a.Name != nil {
			names++
		}
	}
	if names == 0 && (x.Variant.Value == "export" || x.Variant.Value == "declare" || x.Variant.Value == "typeset") {
		return value{secret: wholeEnvironment}
	}
	return value{}
}
