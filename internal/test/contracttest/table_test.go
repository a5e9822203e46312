package contracttest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// table is the path of doc/contracts.md, which maps each line of the contracts to its tests.
const table = "../../../doc/contracts.md"

var (
	tableSection = regexp.MustCompile(`(?m)^## (\d{3}) `)
	tableRow     = regexp.MustCompile(`(?m)^\| (\d{3}-[a-z0-9-]+) \| .+ \| (.+) \|$`)
	tableTest    = regexp.MustCompile("^`([a-z/]+)\\.((?:Test|Benchmark|Fuzz|Example)\\w*)(?:/([^`]+))?`$")
)

// TestTable checks that every line of each contract has a row in doc/contracts.md, in order. Each
// test that a row names must exist in its package, and so must the named row of the test's table.
func TestTable(t *testing.T) {
	data, err := os.ReadFile(filepath.FromSlash(table))
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range judge(t, string(data)) {
		t.Error(complaint)
	}
}

func judge(t *testing.T, page string) (complaints []string) {
	t.Helper()
	got := map[string][]string{}
	at := tableSection.FindAllStringSubmatchIndex(page, -1)
	tests := map[string]packageTests{}
	for i, m := range at {
		end := len(page)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		contract := page[m[2]:m[3]]
		for _, row := range tableRow.FindAllStringSubmatch(page[m[0]:end], -1) {
			id, named := row[1], row[2]
			got[contract] = append(got[contract], strings.TrimPrefix(id, contract+"-"))
			for one := range strings.SplitSeq(named, ", ") {
				m := tableTest.FindStringSubmatch(one)
				if m == nil {
					complaints = append(complaints, id+": "+one+" names no test")
					continue
				}
				functions, ok := tests[m[1]]
				if !ok {
					functions = testsIn(t, m[1])
					tests[m[1]] = functions
				}
				if functions[m[2]] == nil || m[3] != "" && !functions.literals(m[2])[m[3]] {
					complaints = append(complaints, id+": there is no "+one)
				}
			}
		}
	}
	for contract, ids := range lines {
		if want := strings.Fields(ids); !slices.Equal(want, got[contract]) {
			complaints = append(complaints, contract+": the rows are not its lines: "+firstDifference(want, got[contract]))
		}
	}
	return complaints
}

func firstDifference(want, got []string) string {
	for i, id := range want {
		if i >= len(got) || got[i] != id {
			return "row " + strconv.Itoa(i+1) + " should be " + id
		}
	}
	return "there are more"
}

// packageTests maps the name of each function and variable in a package's test files to its strings
// and to the names that it uses.
type packageTests map[string]*declared

type declared struct{ texts, uses []string }

func testsIn(t *testing.T, dir string) packageTests {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	functions := packageTests{}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range tree.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					functions[decl.Name.Name] = inside(decl)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.ValueSpec); ok {
						for _, name := range spec.Names {
							functions[name.Name] = inside(spec)
						}
					}
				}
			}
		}
	}
	return functions
}

func inside(tree ast.Node) *declared {
	d := &declared{}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			d.uses = append(d.uses, n.Name)
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				d.texts = append(d.texts, s)
			}
		}
		return true
	})
	return d
}

// literals returns the strings in a declaration and in the declarations of its package that it
// uses. They include the names of a table's rows.
func (p packageTests) literals(name string) map[string]bool {
	out, seen := map[string]bool{}, map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		d := p[name]
		if d == nil || seen[name] {
			return
		}
		seen[name] = true
		for _, s := range d.texts {
			out[s] = true
		}
		for _, used := range d.uses {
			visit(used)
		}
	}
	visit(name)
	return out
}

// lines lists the identifiers of each contract's lines, in order.
var lines = map[string]string{
	"000": `name schema call success error example-1 example-2 example-3 example-4 behavior-1 behavior-2 behavior-3
		behavior-4 behavior-5 error-1 error-2 error-3 error-4 error-5 error-6 error-other security-1 security-2
		security-3 security-4 names list`,
	"001": `definition validation-1 validation-2 validation-3 validation-4 success error message-1 message-2 message-3
		message-4 message-5 reading-1 reading-2 reading-3 reading-4 reading-5 boundary-1 boundary-2 boundary-3
		condition-1 condition-2 condition-3 condition-4 condition-5 condition-6 condition-other example-1 example-2
		example-3 example-4 example-5 example-6 example-7 visibility performance-1 performance-2 performance-3
		checklist-1 checklist-2 checklist-3 checklist-4 checklist-5 checklist-6 checklist-7 checklist-8 checklist-9
		checklist-10 checklist-11 checklist-12 checklist-13 checklist-14 note-1 note-2 note-3 note-4 note-5`,
	"002": `metadata schema validation-1 validation-2 validation-3 template list success error discovery-1 discovery-2
		case-1 case-2 case-3 case-4 frontmatter-name frontmatter-description skip-1 skip-2 refresh-1 refresh-2
		refresh-3 refresh-4 missing-1 missing-2 malformed-1 malformed-2 malformed-3 directory-1 directory-2
		permission-1 permission-2 example-1 example-2 example-3 performance-1 performance-2 performance-3
		performance-4 protocol input-1 input-2 input-3 readonly traversal scenario-1 scenario-2 scenario-3 scenario-4
		scenario-5 scenario-6 scenario-7 scenario-8 scenario-9 scenario-10 models`,
	"003": `registration execute input context validation-1 validation-2 validation-3 output success error initialize
		available load discovery personal project format skill-1 skill-2 skill-3 skill-4 skill-5 access-1 access-2
		access-3 access-4 category-not-found category-invalid category-inaccessible category-malformed category-system
		details not-found invalid time-1 time-2 time-3 time-4 memory-1 memory-2 concurrency-1 concurrency-2
		concurrency-3 manager parse`,
	"004": `storage request-field request-1 request-2 request-3 request-role skill-uri skill-type skill-text skill-availability
		skill-rule-1 skill-rule-2 skill-role success-error-flag success-content success-structured success-rule-1
		success-rule-2 success-role error-flag error-content error-rule-1 error-rule-2 relation-1 relation-2
		relation-3 state-1 state-2 state-3 state-4 secret-1 secret-2 secret-3`,
}

// TestFiguresOfContracts checks that doc/contracts.md has figures for the contracts' lines on time
// and memory, each with its limit.
func TestFiguresOfContracts(t *testing.T) {
	data, err := os.ReadFile("../../../doc/contracts.md")
	if err != nil {
		t.Fatal(err)
	}
	figure := regexp.MustCompile(`^\| .* \| [0-9].* \| [0-9.,]+ (s|ms|MB) \|$`)
	for _, row := range []string{
		"one call of `skill`, request to answer", "first scan", "refresh after one change", "live heap above an empty catalogue",
		"000: a document of 1 MB", "001: a file of 1 MB", "001: judging a path that leads outside", "001: an error for a file, for a skill that is not there",
		"003: discovery of 100, of 1,000 skills", "003: loading one skill, one of 1 MB", "003: description for 1,000 skills",
		"003: a not-found message with 1,000 skills", "003: metadata of 1,000 skills, live", "003: content of 100 loaded skills, live",
	} {
		_, rest, found := strings.Cut(string(data), "\n| "+row+" |")
		line, _, _ := strings.Cut(rest, "\n")
		if !found || !figure.MatchString("| "+row+" |"+line) {
			t.Errorf("doc/contracts.md has no figure for %q: %s", row, line)
		}
	}
}
