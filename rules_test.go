// Package knack_test checks rules that the compiler does not check. TestWings checks which wing
// imports which. TestRules checks which packages use files, the environment and other modules, and
// that every exported name is documented. If a rule is in the way, do not work around it: change it
// here, with a line in doc/decisions.
package knack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/knack-dev/knack"

// use is a set of names, by import path, with the packages that may use these names.
type use struct {
	names   map[string][]string
	allowed []string
}

// pkg is one package. Its tests are apart from its other files.
type pkg struct {
	path  string // below the module, "" is the root
	files []file
	tests []file
}

type file struct {
	name string // below the module
	ast  *ast.File
}

// rule is one rule, with examples of code that breaks it. An example is the path of a package and
// its only file.
type rule struct {
	name   string
	check  func(pkg) []string
	broken [][2]string
}

var rules = []rule{
	{"outside", checkOutside, [][2]string{
		{"tool", `package tool; import _ "github.com/modelcontextprotocol/go-sdk/mcp"`},
		{"catalog", `package catalog; import _ "go.yaml.in/yaml/v4"`},
		{"catalog", `package catalog; import _ "go.yaml.in/yaml/v3"`},
		{"skill", `package skill; import _ "go.yaml.in/yaml/v4"`},
		{"skill", `package skill; import _ "os/exec"`},
		{"skill", `package skill; import "C"`},
	}},
	{"surroundings", surroundings.check, [][2]string{
		{"catalog", `package catalog; import "os"; var x = os.Args`},
		{"source/dir", `package dir; import sys "os"; func f() { sys.UserHomeDir() }`},
		{"mcpserver", `package mcpserver; import . "os"; var x = Getenv("X")`},
	}},
	{"files", files.check, [][2]string{
		{"skill", `package skill; import "os"; func f() { os.ReadFile("x") }`},
		{"tool", `package tool; import "path/filepath"; var f = filepath.WalkDir`},
		{"mcpserver", `package mcpserver; import "os"; func f() { os.OpenRoot("x") }`},
	}},
	{"writes", writes.check, [][2]string{
		{"internal/clientconfig", `package clientconfig; import "os"; func f() { os.WriteFile("x", nil, 0) }`},
		{"internal/cli", `package cli; import "os"; var f = os.Rename`},
	}},
	{"guards", guards.check, [][2]string{
		{"internal/cli", `package cli; import "github.com/knack-dev/knack/internal/workspace"; var f = workspace.OpenUnguarded`},
		{"internal/cli", `package cli; import vet "github.com/knack-dev/knack/internal/policy/admission"; func f() { vet.Open() }`},
	}},
	{"HTML escapes", checkEscapes, [][2]string{
		{"internal/web", `package web; import "encoding/json"; func f(e *json.Encoder) { e.SetEscapeHTML(false) }`},
	}},
	{"vague names", checkVague, [][2]string{
		{"internal/utils", `package utils`},
		{"catalog/common", `package catalogcommon`},
		{"pkg/skill", `package skill`},
	}},
	{"no init", checkInit, [][2]string{
		{"skill", `package skill; func init() {}`},
	}},
	{"documented", checkDocumented, [][2]string{
		{"skill", "package skill"},
		{"skill", "// Package skill.\npackage skill\nfunc F() {}"},
		{"skill", "// Package skill.\npackage skill\ntype T int"},
		{"skill", "// Package skill.\npackage skill\nvar V int"},
		{"skill", "// Package skill.\npackage skill\nconst C = 1"},
		{"skill", "// Package skill.\npackage skill\n// T is.\ntype T[E any] int\nfunc (t *T[E]) M() {}"},
	}},
}

func TestRules(t *testing.T) {
	pkgs := packages(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, p := range pkgs {
				for _, complaint := range r.check(p) {
					t.Error(complaint)
				}
			}
		})
	}
}

// TestRulesBite checks that each rule objects to code that breaks it.
func TestRulesBite(t *testing.T) {
	for _, r := range rules {
		for _, b := range r.broken {
			f, err := parse(b[0]+"/x.go", []byte(b[1]))
			if err != nil {
				t.Fatal(err)
			}
			if len(r.check(pkg{path: b[0], files: []file{f}})) == 0 {
				t.Errorf("%s: does not object to %s: %.80s", r.name, b[0], b[1])
			}
		}
	}
}

func checkOutside(p pkg) (complaints []string) {
	p.imports(func(f file, imported string) {
		first, _, _ := strings.Cut(imported, "/")
		switch {
		case imported == "os/exec" && slices.Contains(programs, p.path):
		case imported == "C", imported == "os/exec", imported == "plugin":
			complaints = append(complaints, fmt.Sprintf("%s: imports %q; nothing here runs other code", f.name, imported))
		case !strings.Contains(first, "."), imported == module, strings.HasPrefix(imported, module+"/"):
		case !slices.Contains(outside[moduleOf(imported)], p.path):
			complaints = append(complaints, fmt.Sprintf("%s: %s may not import %s", f.name, p.path, imported))
		}
	})
	return complaints
}

// moduleOf returns the row of outside that covers an import path, or "".
func moduleOf(imported string) string {
	for path := range outside {
		if imported == path || strings.HasPrefix(imported, path+"/") {
			return path
		}
	}
	return ""
}

// check reports uses of the names outside of the allowed packages. It looks for selectors by the
// local name of their import. A dot import would hide them, so it is not allowed for these paths.
func (u use) check(p pkg) (complaints []string) {
	if slices.Contains(u.allowed, p.path) {
		return nil
	}
	for _, f := range p.files {
		local := map[string]string{}
		for _, spec := range f.ast.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			name := imported[strings.LastIndex(imported, "/")+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if name == "." && u.names[imported] != nil {
				complaints = append(complaints, fmt.Sprintf("%s: imports %s with a dot", f.name, imported))
			}
			local[name] = imported
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(u.names[local[x.Name]], sel.Sel.Name) {
					complaints = append(complaints, fmt.Sprintf("%s: %s uses %s.%s; only %q may", f.name, p.path, x.Name, sel.Sel.Name, u.allowed))
				}
			}
			return true
		})
	}
	return complaints
}

// checkEscapes looks for code that writes JSON without HTML escapes. In the product, only package
// rawjson may do that.
func checkEscapes(p pkg) (complaints []string) {
	if p.path == "internal/base/rawjson" || p.path == "internal/tools/bench/floor" {
		return nil
	}
	for _, f := range p.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "SetEscapeHTML" {
				complaints = append(complaints, f.name+": uses SetEscapeHTML; call rawjson.Marshal")
			}
			return true
		})
	}
	return complaints
}

func checkVague(p pkg) (complaints []string) {
	parts := strings.Split(p.path, "/")
	for _, f := range p.files {
		parts = append(parts, f.ast.Name.Name)
	}
	for _, part := range parts {
		if slices.Contains(vague, part) {
			return []string{fmt.Sprintf("%s: the name %s says nothing; what does the package do?", p.path, part)}
		}
	}
	return nil
}

func checkInit(p pkg) (complaints []string) {
	for _, f := range p.files {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				complaints = append(complaints, f.name+": has an init function; what should call it?")
			}
		}
	}
	return complaints
}

func checkDocumented(p pkg) (complaints []string) {
	overview := len(p.files) == 0
	for _, f := range p.files {
		overview = overview || f.ast.Doc != nil
		for _, decl := range f.ast.Decls {
			for _, name := range undocumented(decl) {
				complaints = append(complaints, fmt.Sprintf("%s: %s is exported and not documented", f.name, name))
			}
		}
	}
	if !overview {
		complaints = append(complaints, p.path+": no package comment")
	}
	return complaints
}

// undocumented lists the exported names of one declaration that have neither a comment of their own
// nor one of their group. Methods of unexported types, and fields, need no comment.
func undocumented(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type))) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, id := range s.Names {
					if id.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						names = append(names, id.Name)
					}
				}
			}
		}
	}
	return names
}

// receiver returns the name of the type, without pointers and type parameters.
func receiver(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// imports calls visit for each import outside tests.
func (p pkg) imports(visit func(f file, imported string)) {
	for _, f := range p.files {
		for _, spec := range f.ast.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			visit(f, imported)
		}
	}
}

// load parses every package of the module once. The files of other systems count
// too, which is why imports come from the sources and not from the go command.
var load = sync.OnceValues(func() (pkgs []pkg, err error) {
	if err := lookAround(); err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "list", "-e", "-json=Dir,ImportPath,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var l struct {
			Dir, ImportPath                                              string
			GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		p := pkg{path: strings.TrimPrefix(strings.TrimPrefix(l.ImportPath, module), "/")}
		for _, name := range slices.Concat(l.GoFiles, l.CgoFiles, l.IgnoredGoFiles, l.TestGoFiles, l.XTestGoFiles) {
			data, err := os.ReadFile(filepath.Join(l.Dir, name))
			if err != nil {
				return nil, err
			}
			f, err := parse(filepath.ToSlash(filepath.Join(p.path, name)), data)
			if err != nil {
				return nil, err
			}
			if strings.HasSuffix(name, "_test.go") {
				p.tests = append(p.tests, f)
			} else {
				p.files = append(p.files, f)
			}
		}
		pkgs = append(pkgs, p)
	}
})

// packages returns the packages of the module.
func packages(t *testing.T) []pkg {
	t.Helper()
	pkgs, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

// lookAround reads every folder, so that a new file invalidates the cached test result. For the
// cache, the files that the go command reads do not count.
func lookAround() error {
	return filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || len(path) > 1 && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		return err
	})
}

func parse(name string, data []byte) (file, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments|parser.SkipObjectResolution)
	return file{name: name, ast: tree}, err
}
