package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/help"
)

// manDate is the date in the footer of each manual page. mandoc warns about a page without a date.
const manDate = "2026-11-22"

// TestManualReference checks that doc/man has a manual page for each command, with the text of its
// help.
func TestManualReference(t *testing.T) {
	const folder = "../../doc/man/"
	reference, err := os.ReadFile("../../doc/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var statuses strings.Builder
	for _, row := range regexp.MustCompile(`(?m)^\| (\d) \| (.+) \|$`).FindAllStringSubmatch(string(reference), -1) {
		fmt.Fprintf(&statuses, ".TP\n.B %s\n%s\n", row[1], roff(row[2]))
	}
	want, got := map[string]string{}, map[string]string{}
	manual(want, newRoot(&console.Env{}), statuses.String())
	files, err := filepath.Glob(folder + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(file)] = string(page)
	}
	diff := cmp.Diff(want, got)
	if diff == "" {
		return
	}
	if !updating() {
		t.Fatalf("doc/man is out of date; go test ./internal/cli -run Reference -update rewrites it\n%s", diff)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, page := range want {
		if err := os.WriteFile(folder+name, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// manual adds the pages of a command and its subcommands. The keys are their file names. The page
// of the root command has the exit statuses.
func manual(pages map[string]string, c *cobra.Command, statuses string) {
	c.InitDefaultHelpFlag()
	name := func(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 %s knack \"Knack Manual\"\n", roff(strings.ToUpper(name(c))), manDate)
	b.WriteString(".nh\n.ad l\n") // hyphenated words cannot be copied
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(name(c)), roff(c.Short), roff(c.UseLine()))
	if len(subcommands(c)) > 0 {
		fmt.Fprintf(&b, ".br\n.B %s COMMAND [flags]\n", roff(c.CommandPath()))
	}
	b.WriteString(".SH DESCRIPTION\n")
	blocks(&b, longText(c))
	if c.HasExample() {
		b.WriteString(".SH EXAMPLES\n")
		blocks(&b, c.Example)
	}
	heading := ".SH OPTIONS\n"
	flags(c, func(f *pflag.Flag, value, usage string) {
		b.WriteString(heading + ".TP\n")
		heading = ""
		if f.Shorthand != "" {
			fmt.Fprintf(&b, `\fB%s\fR, `, roff("-"+f.Shorthand))
		}
		fmt.Fprintf(&b, `\fB%s\fR`, roff("--"+f.Name))
		if value != "" {
			fmt.Fprintf(&b, ` \fI%s\fR`, roff(value))
		}
		fmt.Fprintf(&b, "\n%s\n", roff(usage))
	})
	heading = ".SH COMMANDS\n"
	for _, sub := range subcommands(c) {
		fmt.Fprintf(&b, "%s.TP\n.BR %s (1)\n%s\n", heading, roff(name(sub)), roff(sub.Short))
		heading = ""
		manual(pages, sub, statuses)
	}
	if c.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(name(c.Parent())))
	} else {
		b.WriteString(".SH EXIT STATUS\n" + statuses)
		for _, t := range help.Topics {
			fmt.Fprintf(&b, ".SH %s\n", roff(strings.ToUpper(t.Name)))
			blocks(&b, strings.TrimSuffix(t.Text(c.Root()), "\n"))
		}
	}
	pages[name(c)+".1"] = b.String()
}

// blocks writes the paragraphs of a text. A paragraph that begins with a space keeps its line
// breaks.
func blocks(b *strings.Builder, text string) {
	for i, block := range strings.Split(text, "\n\n") {
		if strings.HasPrefix(block, " ") {
			fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(block))
		} else if i > 0 {
			fmt.Fprintf(b, ".PP\n%s\n", roff(block))
		} else {
			fmt.Fprintf(b, "%s\n", roff(block))
		}
	}
}

// roff escapes a text so that troff shows it unchanged. A hyphen stays one that can be copied into
// a shell, and no line becomes a request.
func roff(text string) string {
	var b strings.Builder
	for i, r := range text {
		if r == '.' && (i == 0 || text[i-1] == '\n') {
			b.WriteString(`\&`)
		}
		switch escape, special := roffEscapes[r]; {
		case special:
			b.WriteString(escape)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

var roffEscapes = map[rune]string{'\\': `\(rs`, '-': `\-`, '\'': `\(aq`, '`': `\(ga`, '^': `\(ha`, '~': `\(ti`, '"': `\(dq`, '…': `\&...`}

func TestRoff(t *testing.T) {
	got := roff(".x\n'y' --z \\n\n\"é…\" `~^a.b")
	if want := `\&.x` + "\n" + `\(aqy\(aq \-\-z \(rsn` + "\n" + `\(dq\[u00E9]\&...\(dq \(ga\(ti\(haa.b`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
