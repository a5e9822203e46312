package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/help"
)

// wordLists are packages whose strings are not messages but words for scans and searches.
var wordLists = []string{"internal/analysis/scan/internal/commands", "internal/analysis/scan/internal/markdown", "internal/analysis/scan/internal/words", "internal/base/search"}

// sentence matches a text of at least two words that a user can read.
var sentence = regexp.MustCompile(`[A-Za-z]{2,}[,;:]? [A-Za-z'%]`)

// TestMessagesReference writes the messages of all packages of the product into doc/messages.txt,
// for people to read. A message is a string of at least two words. The page is sorted by package.
// Help texts are in doc/cli.md.
func TestMessagesReference(t *testing.T) {
	const page = "../../doc/messages.txt"
	messages := messagesIn(t, "../..")
	var b strings.Builder
	b.WriteString("Messages by package. Written by: go test ./internal/cli -run Reference -update\n")
	packages := 0
	for _, folder := range slices.Sorted(keys(messages)) {
		packages++
		slices.Sort(messages[folder])
		fmt.Fprintf(&b, "\n%s\n", folder)
		for _, message := range slices.Compact(messages[folder]) {
			fmt.Fprintf(&b, "  %s\n", message)
		}
	}
	if packages < 80 {
		t.Fatalf("only %d packages", packages)
	}
	old, err := os.ReadFile(page)
	if err != nil && !updating() {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(old), b.String()); diff != "" {
		if !updating() {
			t.Fatalf("doc/messages.txt is out of date; go test ./internal/cli -run Reference -update rewrites it\n%s", diff)
		}
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func keys(m map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// messagesIn returns the strings of the packages that are linked into the binary, by package.
func messagesIn(t *testing.T, root string) map[string][]string {
	t.Helper()
	messages := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		if d.IsDir() {
			if name := d.Name(); folder != "." && (strings.HasPrefix(name, ".") || name == "testdata" || slices.Contains([]string{"interop", "deploy", "internal/test", "internal/tools"}, folder)) {
				return fs.SkipDir
			}
			return nil
		}
		folder = path.Dir(folder)
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || slices.Contains(wordLists, folder) {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.KeyValueExpr: // help texts and examples of rules
				key, ok := n.Key.(*ast.Ident)
				return !ok || !slices.Contains([]string{"Long", "Example", "fires", "quiet"}, key.Name)
			case *ast.CallExpr: // patterns
				selector, ok := n.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				name, ok := selector.X.(*ast.Ident)
				return !ok || name.Name != "regexp"
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					if text, err := strconv.Unquote(n.Value); err == nil && sentence.MatchString(text) {
						quoted := strconv.Quote(text)
						messages[folder] = append(messages[folder], strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`))
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// pageOfRepository matches the name of a page in the repository, which is not installed with the
// binary.
var pageOfRepository = regexp.MustCompile(`\bdoc/[a-z]|\b(README|CONTRIBUTING|SECURITY|CHANGELOG)\.md\b`)

// TestNoPageInMessages checks that no message and no help text refers to a page of the repository.
// Help texts may refer to topics of knack help.
func TestNoPageInMessages(t *testing.T) {
	wrong := pageOfRepository.MatchString
	for folder, messages := range messagesIn(t, "../..") {
		for _, message := range messages {
			if !strings.Contains(message, "https://") && wrong(message) {
				t.Errorf("%s: a message names a page: %s", folder, message)
			}
		}
	}
	everyCommand(newRoot(&console.Env{}), func(c *cobra.Command) {
		if text := c.Long + c.Example + c.Flags().FlagUsages(); wrong(text) {
			t.Errorf("the help of %s names a page", c.CommandPath())
		}
	})
	for _, topic := range help.Topics {
		if wrong(topic.Text(newRoot(&console.Env{}))) {
			t.Errorf("the topic %s names a page", topic.Name)
		}
	}
	if !wrong("see doc/configuration.md") || wrong("knack help settings") || wrong("SKILL.md") {
		t.Error("pages are not recognised")
	}
}
