package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/commands"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// Languages of blocks of code, as people write them.
var (
	shellNames   = words.Set{Rows: "sh bash shell zsh ksh dash console terminal shell-session sh-session shellsession shellscript cmd bat batch powershell ps1 pwsh ps"}
	windowsNames = words.Set{Rows: "cmd bat batch powershell ps1 pwsh ps"} // of the first
	pythonNames  = words.Set{Rows: "python py python3 ipython pycon"}
	scriptNames  = words.Set{Rows: "javascript js mjs cjs jsx typescript ts tsx node"}
)

// fence judges a block of code. The first word of its info string is its language.
func (m *page) fence(p passage.Part, info string) {
	language := strings.ToLower(strings.Trim(info, " \t"))
	language = strings.TrimPrefix(strings.TrimPrefix(language, "{"), ".")
	if n := strings.IndexAny(language, " \t,{}:="); n >= 0 {
		language = language[:n]
	}
	runs := strings.HasPrefix(language, "!")
	if runs && m.loads && p.Text != "" {
		m.Find(passage.RunsOnLoad, p, 0, firstLine(p.Text), "the commands of a block run when the skill is loaded: "+secrets.Quote(p.Text[:firstLine(p.Text)]))
	}
	bare, prompts := withoutPrompts(p)
	switch {
	case len(m.open) > 0 || m.comment:
		m.unseen.Add(p, 0, len(p.Text))
	case language == "" || shellNames.Has(language) || runs || prompts && !pythonNames.Has(language):
		from := commands.Bare
		if shellNames.Has(language) || runs {
			from = commands.Fence
		}
		m.commands.Shell(bare, from)
		if windowsNames.Has(language) {
			m.commands.Lines(bare)
		}
	case pythonNames.Has(language):
		m.commands.Code(bare, true, commands.Script)
	case scriptNames.Has(language):
		m.commands.Code(p, false, commands.Script)
	default:
		m.addresses(p)
	}
	m.phrases(p)
	if m.unseen.Len() > 0 {
		m.end()
	}
	m.before = block{}
}

func firstLine(text string) int {
	n := strings.IndexByte(text, '\n')
	if n < 0 {
		return len(text)
	}
	return n
}

// rePrompt matches the prompt of a shell or of Python before a command. A "# " is more often a
// comment.
var rePrompt = lazyregexp.New(`^[ \t]*(?:\([\w.-]{1,40}\) ?)?(?:[$%] |>>> |\.\.\. |[\w.-]{1,40}@[\w.-]{1,60}[ :][^$#%\n]{0,60}[$#%] |\[[\w.-]{1,40}@[^\]\n]{1,60}\][$#%] |PS [A-Za-z]:\\[^>\n]{0,80}> ?)`)

// withoutPrompts returns a block of code without its prompts. If it has some, its other lines are
// output, and only the lines that look like commands stay.
func withoutPrompts(p passage.Part) (bare passage.Part, prompts bool) {
	at := 0
	var c passage.Copy
	more := false // the line before goes on in this one
	for line := range strings.Lines(p.Text) {
		cut := promptLength(line)
		prompts = prompts || cut > 0
		if _, _, ok := commandIn(line, true); cut > 0 || more || ok {
			c.Add(p, at+cut, at+len(line))
		} else {
			c.Add(p, at+len(strings.TrimRight(line, "\r\n")), at+len(line))
		}
		more = (cut > 0 || more) && strings.HasSuffix(strings.TrimRight(line, "\r\n"), `\`)
		at += len(line)
	}
	if !prompts {
		return p, false
	}
	return c.Part(p), true
}

// maxPrompt bounds the bytes of a line that are searched for a prompt.
const maxPrompt = 200

func promptLength(line string) int {
	if !strings.ContainsAny(line[:min(len(line), maxPrompt)], "$%>#.") {
		return 0
	}
	return len(rePrompt().FindString(line[:min(len(line), maxPrompt)]))
}

// inlineCode judges code in a sentence as a command if it begins with a program.
func (m *page) inlineCode(p passage.Part, n *ast.CodeSpan) {
	if m.loads && runsHere(n, m.p.Text) {
		m.Find(passage.RunsOnLoad, p, 0, len(p.Text), "a command runs when the skill is loaded: "+secrets.Quote(p.Text))
		m.commands.Shell(p, commands.Inline)
		return
	}
	if _, _, ok := commandIn(p.Text, true); ok {
		p.Text = strings.ReplaceAll(p.Text, `\|`, " |") // of a table
		m.commands.Shell(p, commands.Inline)
	}
}

// runsHere reports whether code has one backtick, and before it a "!" that does not end a word.
func runsHere(n *ast.CodeSpan, text string) bool {
	t, ok := n.FirstChild().(*ast.Text)
	if !ok {
		return false
	}
	at := t.Segment.Start - len("!`")
	for at > 0 && text[at+1] == ' ' { // blanks around the code are not part of it
		at--
	}
	if at < 0 || text[at:at+2] != "!`" {
		return false
	}
	return at == 0 || strings.IndexByte(" \t\n\r(*_>:\"'[|-", text[at-1]) >= 0
}

// Commands by which a text is recognized as shell code: programs whose name is not an English
// word, and others.
var (
	programs = words.Set{Rows: "curl wget bash sh zsh dash ksh fish sudo doas chmod chown npm npx pnpm bunx pip pip3 pipx uv uvx apt apt-get yum dnf apk docker podman kubectl git ssh scp sftp rsync nc ncat netcat socat telnet " +
		"powershell pwsh iwr iex irm eval printenv base64 openssl xxd xattr spctl crontab launchctl systemctl osascript python python2 python3 perl ruby php nohup env mkfifo certutil bitsadmin mshta rundll32 reg gpg tar unzip 7z gem cargo deno tee xargs"}
	verbs = words.Set{Rows: "node bun brew yarn go source export security echo cat printf exec rm mv cp ln dd find make cmd set alias at history kill touch mkdir sed awk grep head install"}
)

// commandIn returns the first command of a known program with an argument. Unless code is set, the
// text is prose, and English words do not count as programs.
func commandIn(text string, code bool) (from, to int, ok bool) {
	for at := 0; at < len(text); {
		end := at + strings.IndexAny(text[at:], "\n|;&(`")
		if end < at {
			end = len(text)
		}
		if from, ok := startsProgram(text[at:end], code); ok {
			return at + from, end, true
		}
		at = end + 1
	}
	return 0, 0, false
}

// startsProgram reports whether a text begins with a program and an argument, and the program's
// offset.
func startsProgram(text string, code bool) (int, bool) {
	const room = 100
	rest := strings.TrimLeft(text, " \t$'\"")
	from := len(text) - len(rest)
	name, argument, ok := strings.Cut(rest[:min(len(rest), room)], " ")
	if !ok || strings.TrimSpace(argument) == "" {
		return 0, false
	}
	if n := strings.LastIndexByte(name, '/'); n >= 0 {
		name = name[n+1:]
	}
	name = strings.ToLower(strings.ReplaceAll(name, `\`, ""))
	if code {
		return from, programs.Has(name) || verbs.Has(name)
	}
	return from, programs.Has(name) && !strings.HasSuffix(strings.TrimSpace(text), ".")
}
