package knack_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/printer"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write doc/api-surface.txt")

const surfaceFile = "doc/api-surface.txt"

const surfaceHead = `# What the packages of knack promise to Go programs. A change to this file is a change
# of a promise.
# Written by: go test -run TestSurface . -update
`

// surface lists what one package exports, a line each: constants, variables, functions and
// types with their exported methods and fields. names counts the first four alone.
type surface struct {
	lines []string
	names int
}

// TestSurface compares what the packages export with doc/api-surface.txt.
func TestSurface(t *testing.T) {
	var text bytes.Buffer
	text.WriteString(surfaceHead)
	for _, p := range packages(t) {
		if len(p.files) == 0 || p.files[0].ast.Name.Name == "main" || strings.Contains("/"+p.path, "/internal/") || strings.HasPrefix(p.path, "interop/") {
			continue // no other module can import it, or it is for tests
		}
		s := surfaceOf(p)
		text.WriteString("\n" + p.path + "\n")
		for _, line := range s.lines {
			text.WriteString("\t" + line + "\n")
		}
	}
	if *update {
		if err := os.WriteFile(surfaceFile, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(surfaceFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text.String(), "\n")); diff != "" {
		t.Errorf("the packages export something else than %s says (-file +code). If that is meant, run: go test -run TestSurface . -update\n%s", surfaceFile, diff)
	}
}

// TestSurfaceIsSmall holds the median of exported names in a package, of all packages that
// are no program.
func TestSurfaceIsSmall(t *testing.T) {
	const most = 10
	var names []int
	for _, p := range packages(t) {
		if len(p.files) > 0 && p.files[0].ast.Name.Name != "main" {
			names = append(names, surfaceOf(p).names)
		}
	}
	slices.Sort(names)
	if median := names[len(names)/2]; median > most {
		t.Errorf("half of the packages export more than %d names, the limit is %d: unexport what no other package uses", median, most)
	}
}

func surfaceOf(p pkg) (s surface) {
	for _, f := range p.files {
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				s.function(d)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					s.spec(d.Tok, spec)
				}
			}
		}
	}
	slices.Sort(s.lines)
	s.lines = slices.Compact(s.lines) // a function may have a variant for each system
	return s
}

func (s *surface) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	signature := strings.TrimPrefix(source(d.Type), "func")
	if d.Recv == nil {
		s.names++
		s.lines = append(s.lines, "func "+d.Name.Name+signature)
		return
	}
	of := d.Recv.List[0].Type
	if ast.IsExported(receiver(of)) {
		s.lines = append(s.lines, "type "+receiver(of)+", method ("+source(of)+") "+d.Name.Name+signature)
	}
}

func (s *surface) spec(kind token.Token, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				s.names++
				s.lines = append(s.lines, strings.TrimSpace(kind.String()+" "+name.Name+" "+source(spec.Type)))
			}
		}
	case *ast.TypeSpec:
		if spec.Name.IsExported() {
			s.names++
			s.typed(spec)
		}
	}
}

func (s *surface) typed(spec *ast.TypeSpec) {
	name := "type " + spec.Name.Name
	var members *ast.FieldList
	switch e := spec.Type.(type) {
	case *ast.StructType:
		s.lines, members = append(s.lines, name+" struct"), e.Fields
	case *ast.InterfaceType:
		s.lines, members = append(s.lines, name+" interface"), e.Methods
	default:
		s.lines = append(s.lines, name+" "+source(spec.Type))
		return
	}
	for _, m := range members.List {
		if len(m.Names) == 0 {
			s.lines = append(s.lines, name+", embedded "+source(m.Type))
		}
		for _, n := range m.Names {
			if n.IsExported() {
				s.lines = append(s.lines, name+", "+n.Name+" "+source(m.Type))
			}
		}
	}
}

// source is the expression as gofmt writes it, on one line.
func source(e ast.Expr) string {
	if e == nil {
		return ""
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), e); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
