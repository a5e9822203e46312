package console

import (
	"bytes"
	"strings"
	"testing"
)

// TestColours checks which streams get colours. The decision about a stream does not depend on
// other streams.
func TestColours(t *testing.T) {
	for _, c := range []struct {
		vars     string
		terminal bool
		plain    bool
		want     bool
	}{
		{"", true, false, true},
		{"", false, false, false},
		{"", true, true, false},
		{"TERM=dumb", true, false, false},
		{"TERM=xterm", true, false, true},
		{"NO_COLOR=1", true, false, false},
		{"NO_COLOR=0", true, false, false}, // any value
		{"NO_COLOR=", true, false, true},
		{"CLICOLOR_FORCE=1", false, false, true},
		{"CLICOLOR_FORCE=0", false, false, false},
		{"FORCE_COLOR=3", false, false, true},
		{"FORCE_COLOR=false", false, false, false},
		{"NO_COLOR=1 CLICOLOR_FORCE=1", true, false, false},
	} {
		env := Env{Plain: c.plain, Getenv: func(name string) string {
			for v := range strings.FieldsSeq(c.vars) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		}}
		if got := env.colours(c.terminal); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	env := Env{StderrTerminal: true}
	if env.Out().colour || !env.Err().colour {
		t.Error("the streams are not judged by themselves")
	}
}

// TestPrinter checks how lines are broken on a terminal, and that they are broken nowhere else.
func TestPrinter(t *testing.T) {
	print := func(env *Env) string {
		var b bytes.Buffer
		env.Stdout = &b
		p := env.Out()
		p.Line("  %s  %s", Bold.Of("git"), "commits and\npushes, and\x1b[2J more of it")
		p.Item(8, "  files   %s", "one two three four five six seven eight")
		p.Line("%s", "技能在哪里都可以找到并且使用起来非常方便快捷技能")
		p.Line("%s", "/a/path/that/is/longer/than/the/terminal/is/wide and more")
		p.Row("1 | %s", "a row is never broken, however long it is")
		p.Text(Red.Of("error:"), "it cannot be read, since there is no such file\nanother line")
		return b.String()
	}
	want := `  git  commits and pushes, and[2J more of it
  files   one two three four five six seven eight
技能在哪里都可以找到并且使用起来非常方便快捷技能
/a/path/that/is/longer/than/the/terminal/is/wide and more
1 | a row is never broken, however long it is
error: it cannot be read, since there is no such file
another line
`
	if got := print(&Env{Width: 32}); got != want {
		t.Errorf("%s", got)
	}
	want = `  ESC[1mgitESC[0m  commits and pushes,
    and[2J more of it
  files   one two three four
          five six seven eight
技能在哪里都可以找到并且使用起来
  非常方便快捷技能
/a/path/that/is/longer/than/the/terminal/is/wide
  and more
1 | a row is never broken, however long it is
ESC[1;31merror:ESC[0m it cannot be read, since
       there is no such file
another line
`
	want = strings.ReplaceAll(want, "ESC", "\x1b")
	if got := print(&Env{Width: 32, StdoutTerminal: true}); got != want {
		t.Errorf("%s", strings.ReplaceAll(got, "\x1b", "ESC"))
	}
}

// TestPrinterRoom checks that lines are not broken on a terminal that is too narrow for words.
func TestPrinterRoom(t *testing.T) {
	var b bytes.Buffer
	p := (&Env{Stdout: &b, StdoutTerminal: true, Width: 12, Getenv: func(string) string { return "1" }}).Out()
	p.Line("%s", "words of a line")
	if b.String() != "words of a line\n" || p.Room(4) != leastRoom || (&Env{Stdout: &b}).Out().Room(4) != 0 {
		t.Errorf("%q", b.String())
	}
}

// TestPatch checks that a terminal gets a patch with colours and without control characters, and
// any other stream every byte.
func TestPatch(t *testing.T) {
	const patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- old\x1b[2J\r\n+++ new\n same\n"
	for terminal, want := range map[bool]string{
		false: patch,
		true: "\x1b[1m--- a/f\x1b[0m\n\x1b[1m+++ b/f\x1b[0m\n\x1b[1;36m@@ -1,2 +1,2 @@\x1b[0m\n" +
			"\x1b[31m--- old[2J\x1b[0m\n\x1b[32m+++ new\x1b[0m\n same\n",
	} {
		var b bytes.Buffer
		if err := (&Env{Stdout: &b, StdoutTerminal: terminal}).Out().Patch(patch); err != nil || b.String() != want {
			t.Errorf("%q, %v, want %q", b.String(), err, want)
		}
	}
}
