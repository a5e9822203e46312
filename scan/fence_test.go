package scan

import (
	"slices"
	"testing"

	"github.com/knack-dev/knack/scan/internal/found"
)

func TestWithoutPrompts(t *testing.T) {
	for text, want := range map[string]string{
		"ls\nmake\n":                              "ls\nmake\n",
		"$ ls\na b\n$ make \\\n  all\ndone\n":     "ls\n\nmake \\\n  all\n\n",
		"(venv) $ ls\n":                           "ls\n",
		"me@host:~/a$ ls\nroot@host /# id\n":      "ls\nid\n",
		"[me@host ~]$ ls\n":                       "ls\n",
		"PS C:\\a> iwr x\n":                       "iwr x\n",
		">>> f(1)\n2\n":                           "f(1)\n\n",
		"$ ls\ncurl -s https://a.b | sh\nx | y\n": "ls\ncurl -s https://a.b | sh\n\n",
		"# a comment\nls\n":                       "# a comment\nls\n",
		"$HOME/a b\n":                             "$HOME/a b\n",
	} {
		f := fileOf("a", "xx\n"+text)
		p, prompts := withoutPrompts(f.Whole().Slice(3, len(text)+3))
		if p.Text != want || prompts != (text != want) {
			t.Errorf("%q: %q, %v, want %q", text, p.Text, prompts, want)
		}
		for i := range p.Text {
			if at := p.Offset(i); f.Text[at] != p.Text[i] {
				t.Errorf("%q: byte %d is at %d", text, i, at)
			}
		}
	}
}

func TestCommandIn(t *testing.T) {
	for text, want := range map[string]struct{ code, prose string }{
		"curl -s x":             {"curl -s x", "curl -s x"},
		"/usr/bin/curl -s x":    {"/usr/bin/curl -s x", "/usr/bin/curl -s x"},
		"x=1; sudo rm -r y; z":  {"sudo rm -r y", "sudo rm -r y"},
		"cat a.txt":             {"cat a.txt", ""},
		"echo $(wget x)":        {"echo $", "wget x)"},
		"string | null":         {},
		"curl":                  {},
		"c\\url -s x":           {"c\\url -s x", "c\\url -s x"},
		"make it shorter":       {"make it shorter", ""},
		"a => b && c > d":       {},
		"Python is a language.": {"Python is a language.", ""},
	} {
		for i, want := range []string{want.code, want.prose} {
			from, to, ok := commandIn(text, i == 0)
			if got := text[from:to]; got != want && got != " "+want || ok != (want != "") {
				t.Errorf("%q, %d: %q, %v, want %q", text, i, got, ok, want)
			}
		}
	}
}

func TestRunsOnLoad(t *testing.T) {
	for text, want := range map[string]bool{
		"!`git status`\n":                   true,
		"State: !`git status`\n":            true,
		"- **Diff**: !`git diff`\n":         true,
		"```!\ngit status\n```\n":           true,
		"Great!`git status`\n":              false,
		"Great! `git status`\n":             false,
		"Write ``!`git status` `` there.\n": false,
		"```\n!`git status`\n```\n":         false,
	} {
		if got := slices.Contains(rulesOf(scanText("SKILL.md", text, kindMarkdown)), string(found.RunsOnLoad)); got != want {
			t.Errorf("%q: %v", text, got)
		}
		if r := scanText("references/a.md", text, kindMarkdown); len(r.Findings) > 0 {
			t.Errorf("%q: %+v", text, r.Findings)
		}
	}
}

func TestAllowedTools(t *testing.T) {
	for text, want := range map[string]struct {
		tools []string
		all   bool
	}{
		"Read, Grep":                   {[]string{"Grep", "Read"}, false},
		"Bash":                         {[]string{"Bash"}, true},
		"Read Bash(*)":                 {[]string{"Bash(*)", "Read"}, true},
		"[Read, \"Bash(*:*)\"]":        {[]string{"Bash(*:*)", "Read"}, true},
		"\"*\"":                        {[]string{"*"}, true},
		"Bash(git:*), Bash(npm run a)": {[]string{"Bash(git:*)", "Bash(npm run a)"}, false},
		"BashOutput":                   {[]string{"BashOutput"}, false},
		"mcp__a__*":                    {[]string{"mcp__a__*"}, false},
	} {
		r := scanText("SKILL.md", "---\nname: a\nallowed-tools: "+text+"\n---\n", kindMarkdown)
		if !slices.Equal(r.Facts.Tools, want.tools) || (len(r.Findings) > 0) != want.all {
			t.Errorf("%s: %v, %+v", text, r.Facts.Tools, r.Findings)
		}
		if r := scanText("a.md", "---\nname: a\nallowed-tools: "+text+"\n---\n", kindMarkdown); len(r.Findings) > 0 || len(r.Facts.Tools) > 0 {
			t.Errorf("a.md: %s: %+v", text, r)
		}
	}
}

func TestCommentAt(t *testing.T) {
	for line, want := range map[string]int{
		"# a": 0, "a: b # c": 5, "a: b#c": -1, "a: \"b # c\"": -1, "a: 'b # c' # d": 11, "a: it's # b": 8, "a: \"b\\\" # c\"": -1, "": -1,
	} {
		if got := commentAt(line); got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
}
