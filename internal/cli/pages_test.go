package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// followed lists the parts of pages whose commands another test runs. It maps a page and a heading
// to the test; the heading "" stands for the whole page.
var followed = map[string]map[string]string{
	"doc/running.md": {"From an empty machine": "deploy.TestRunning"},
	"doc/fleet.md":   {"Publish a release": "deploy.TestFleetPage"},
	"doc/api.md":     {"Clients": "internal/web.TestClients"},
	"SECURITY.md":    {"Checking a release": "deploy/release.TestSign"},
	"doc/ci.md":      {"Before each commit": "internal/cli.TestPreCommitHooks"},
}

// others are programs on the pages that this test does not run. They build knack, or need a daemon,
// a network or special rights.
var others = []string{"bash", "cosign", "docker", "go", "kubectl", "make", "npx", "ollama", "oras", "podman", "sh", "sha256sum", "skopeo", "sudo"}

// ofPages are files that the pages mention, in addition to the files of the examples.
var ofPages = map[string]string{
	"project/skills/pdf/SKILL.md":            "---\nname: pdf\ndescription: Reads PDF files. Use when asked to read one.\n---\nRead it.\n",
	"project/skills/pdf/evals/triggers.json": `[{"query": "read this pdf file", "should_trigger": true}]`,
	"project/library.json":                   `[{"query": "what does this pdf say?", "should_trigger": true, "skill": "pdf"}]`,
	"project/t.jsonl":                        `{"t":"2026-11-20T10:00:00Z","type":"call","id":"1","name":"find_skills","arguments":{"query":"pdf"}}` + "\n",
}

// block is a code block of a page.
type block struct{ page, heading, language, text string }

// pages returns the names of all pages. Skills and test data are not pages.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "doc/*.md", "doc/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if len(all) < 40 {
		t.Fatalf("only %d pages", len(all))
	}
	return all
}

var (
	fence      = regexp.MustCompile("(?ms)^( *)```(\\w*)\n(.*?)^ *```$")
	pageTitle  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	generated  = regexp.MustCompile(`(?s)<!-- commands -->.*<!-- /commands -->`) // run by TestExamples
	codeSpan   = regexp.MustCompile("`(knack [^`\n]+)`")
	makeTarget = regexp.MustCompile(`\bmake ([a-z-]+)`)
)

// pageText returns the name and the text of a page, without the part that TestExamples runs.
func pageText(t *testing.T, file string) (name, text string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name, err = filepath.Rel("../..", file)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(name), generated.ReplaceAllString(string(data), "")
}

// blocksOf returns the code blocks of a page, each with the heading above it.
func blocksOf(name, text string) []block {
	var out []block
	for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
		b := block{page: name, language: text[m[4]:m[5]], text: text[m[6]:m[7]]}
		if above := pageTitle.FindAllStringSubmatch(fence.ReplaceAllString(text[:m[0]], ""), -1); len(above) > 0 {
			b.heading = above[len(above)-1][1]
		}
		if indent := text[m[2]:m[3]]; indent != "" {
			b.text = strings.ReplaceAll("\n"+b.text, "\n"+indent, "\n")[1:]
		}
		out = append(out, b)
	}
	return out
}

// commandsOf returns a code block without the commands of other programs and their continuation
// lines.
func commandsOf(text string) string {
	var out []string
	skipping := false
	for line := range strings.Lines(text) {
		continues := strings.HasSuffix(line, "\\\n")
		word, _, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		for strings.Contains(word, "=") && word == strings.ToUpper(word) { // a variable
			_, line, _ = strings.Cut(line, " ")
			word, _, _ = strings.Cut(strings.TrimLeft(line, " "), " ")
		}
		if !skipping && !slices.Contains(others, strings.TrimSpace(word)) {
			out = append(out, line)
		} else {
			skipping = continues
		}
	}
	return strings.Join(out, "")
}

// TestPages runs the commands of every page in a shell, each page in a separate world. Each block
// must succeed, and each server in it must serve.
func TestPages(t *testing.T) {
	testwait.Slow(t)
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("it runs programs in a shell")
	}
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	ran := 0
	for _, file := range pages(t) {
		name, text := pageText(t, file)
		var w *world
		for _, b := range blocksOf(name, text) {
			if b.language != "sh" || followed[name][b.heading] != "" {
				continue
			}
			commands := commandsOf(b.text)
			if strings.TrimSpace(commands) == "" {
				continue
			}
			if w == nil {
				w = exampleWorld(t)
				w.write(t, ofPages)
				w.connect(t, shell)
			}
			for line := range strings.Lines(commands) {
				if strings.Contains(line, "knack serve --http 8080") {
					w.serve(t, shell, strings.Replace(line, "8080", "0", 1))
					commands = strings.Replace(commands, line, "", 1)
				}
			}
			w.run(t, shell, w.local(commands))
			ran++
		}
	}
	if t.Logf("%d blocks", ran); ran < 15 {
		t.Errorf("only %d blocks of commands were run", ran)
	}
}

// TestPagesPrint checks that each line of output on a page is in a script of testdata, or in a test
// that compares it. A page may cut a line with an ellipsis. Output is in console blocks. A block
// without a language is a picture; the only one is in doc/design.md.
func TestPagesPrint(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var known strings.Builder
	for _, file := range append(files, "../../README.md") { // see [TestReadme]
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		known.Write(data)
	}
	printed := known.String()
	n := 0
	for _, file := range pages(t) {
		name, text := pageText(t, file)
		for _, b := range blocksOf(name, text) {
			if b.language == "text" || b.language == "" && name != "doc/design.md" {
				t.Errorf("%s, below %q: make the block one of console, which is compared, or name its language:\n%s", name, b.heading, b.text)
			}
			if b.language != "console" {
				continue
			}
			for line := range strings.Lines(b.text) {
				if strings.HasPrefix(line, "$ ") {
					continue
				}
				n++
				for part := range strings.SplitSeq(strings.TrimSpace(line), "…") {
					if !strings.Contains(printed, strings.TrimSpace(part)) {
						t.Errorf("%s: no script of testdata prints %q", name, part)
					}
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d lines", n)
	}
}

// TestPagesName checks that each command, flag and make target that a page mentions exists.
func TestPagesName(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range pages(t) {
		name, text := pageText(t, file)
		for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
			if strings.Contains(text, "`make "+m[1]) && !strings.Contains(string(makefile), "\n"+m[1]+":") && !strings.HasPrefix(string(makefile), m[1]+":") {
				t.Errorf("%s: the Makefile has no %s", name, m[1])
			}
		}
		for _, m := range codeSpan.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			n++
			if wrong := wrongIn(m[1]); wrong != "" {
				t.Errorf("%s: `%s`: %s", name, m[1], wrong)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d commands", n)
	}
	for span, want := range map[string]string{"knack lst": "no such command", "knack list --al": "unknown flag: --al", "knack add … --global": "", "knack connect codex -- --dir x": "", "knack check PATH": ""} {
		if got := wrongIn(span); got != want {
			t.Errorf("%s: %q, want %q", span, got, want)
		}
	}
}

// wrongIn returns the error in a command on a page, or "".
func wrongIn(span string) string {
	words := strings.Fields(strings.NewReplacer("[", "", "]", "", "'", "", `"`, "", "…", "x").Replace(span))[1:]
	if i := slices.Index(words, "--"); i >= 0 {
		words = words[:i]
	}
	root := newRoot(&console.Env{})
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || words[0] == strings.ToUpper(words[0]) {
		return ""
	}
	c, rest, err := root.Find(words)
	if err != nil || c == root && words[0] != "help" {
		return "no such command"
	}
	for _, word := range rest {
		name, _, _ := strings.Cut(strings.TrimRight(word, ",.;:"), "=")
		known := false
		switch {
		case strings.HasPrefix(name, "--"):
			known = flagOf(c, name[2:])
		case strings.HasPrefix(name, "-") && len(name) == 2:
			known = name == "-h" || c.Flags().ShorthandLookup(name[1:]) != nil
		default:
			known = true
		}
		if !known {
			return "unknown flag: " + name
		}
	}
	return ""
}

// flagOf reports whether a command has a flag.
func flagOf(c *cobra.Command, name string) bool {
	found := name == "help"
	c.Flags().VisitAll(func(f *pflag.Flag) { found = found || f.Name == name })
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { found = found || f.Name == name })
	return found
}
