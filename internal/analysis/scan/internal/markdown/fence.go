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

// The sets list the names that people write for the language of a code block.
var (
	shellNames   = words.Set{Rows: "sh bash shell zsh ksh dash console terminal shell-session sh-session shellsession shellscript cmd bat batch powershell ps1 pwsh ps"}
	windowsNames = words.Set{Rows: "cmd bat batch powershell ps1 pwsh ps"} // a subset of shellNames
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

// rePrompt matches the prompt of a shell or of Python before a command. A "# " at the beginning of
// a line does not count as a prompt: it is more often a comment.
var rePrompt = lazyregexp.New(`^[ \t]*(?:\([\w.-]{1,40}\) ?)?(?:[$%] |>>> |\.\.\. |[\w.-]{1,40}@[\w.-]{1,60}[ :][^$#%\n]{0,60}[$#%] |\[[\w.-]{1,40}@[^\]\n]{1,60}\][$#%] |PS [A-Za-z]:\\[^>\n]{0,80}> ?)`)

// withoutPrompts returns a block of code without its prompts. If the block has prompts, its other
// lines are mostly output. Of these lines, only those that look like commands stay.
func withoutPrompts(p passage.Part) (bare passage.Part, prompts bool) {
	bare = only(p, func(line string, _ bool) (from, to int, ok bool) {
		from = promptLength(line)
		prompts = prompts || from > 0
		_, _, ok = commandIn(line, true)
		return from, len(line), from > 0 || ok
	})
	if !prompts {
		return p, false
	}
	return bare, true
}

// only returns a copy of a part. It contains the chosen ranges of the chosen lines, and the lines
// that continue them. All other lines are empty.
func only(p passage.Part, choose func(line string, continues bool) (from, to int, ok bool)) passage.Part {
	var c passage.Copy
	at := 0
	more := false // this line continues the line before
	for line := range strings.Lines(p.Text) {
		from, to, ok := choose(line, more)
		end := len(strings.TrimRight(line, "\r\n"))
		if ok || more {
			c.Add(p, at+from, at+min(to, end))
		}
		more = (ok || more) && strings.HasSuffix(line[:end], `\`)
		c.Add(p, at+end, at+len(line))
		at += len(line)
	}
	return c.Part(p)
}

// bareCommands judges the commands in a paragraph's lines that are not marked as code.
func (m *page) bareCommands(n ast.Node) {
	found := false
	bare := only(m.lines(n.Lines()), func(line string, continues bool) (from, to int, ok bool) {
		if continues {
			return 0, len(line), true
		}
		from, to, ok = bareCommand(line)
		found = found || ok
		return from, to, ok
	})
	if found {
		m.commands.Shell(bare, commands.Bare)
	}
}

// bareCommand returns the range of the command in a line of prose. If the line begins with a
// program, the whole line is the command. Otherwise, the command begins at the first program that
// is directly followed by an option, a URL or a path.
func bareCommand(line string) (from, to int, ok bool) {
	const marks = "*_\"'($" // around a command in a sentence
	before, at, ticks := "", 0, 0
	last := strings.LastIndexByte(line, '`')
	for word := range strings.FieldsSeq(line) {
		start := at + strings.Index(line[at:], word)
		inCode := ticks%2 == 1 && start <= last
		ticks += strings.Count(word, "`")
		if before != "" && !inCode && isArgument(word) {
			name := strings.TrimLeft(before, marks)
			from, ok = at-len(name), programs.Has(programName(name))
			begin := promptLength(line)
			if first, _, _ := strings.Cut(strings.TrimLeft(line[begin:], " \t"), " "); programs.Has(first) || ok && verbs.Has(first) {
				from, ok = begin, true
			}
			if ok {
				line = strings.TrimRight(line, " \t\r\n")
				if end := strings.TrimRight(line, ".,:;!?*_"); !strings.HasSuffix(end, " ") {
					line = end // without the end of the sentence
				}
				return from, len(line), true
			}
		}
		before, at = word, start+len(word)
	}
	return 0, 0, false
}

// isArgument reports whether a word is an option, a URL or a path, or contains an "@".
func isArgument(word string) bool {
	word = strings.TrimLeft(word, `"'<>`)
	if option := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"); option != word {
		return option != "" && option[0]|0x20 >= 'a' && option[0]|0x20 <= 'z'
	}
	return strings.Contains(word, "://") || strings.Contains(word, "@") || strings.HasPrefix(word, "~/") || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "$HOME/") || words.Outside(word)
}

// maxPrompt limits the bytes of a line that are searched for a prompt.
const maxPrompt = 200

func promptLength(line string) int {
	if !strings.ContainsAny(line[:min(len(line), maxPrompt)], "$%>#.") {
		return 0
	}
	return len(rePrompt().FindString(line[:min(len(line), maxPrompt)]))
}

// inlineCode judges code in a sentence. The code counts as a command if a part of it begins with a
// program.
func (m *page) inlineCode(p passage.Part, n *ast.CodeSpan) {
	if m.loads && runsHere(n, m.p.Text) {
		m.Find(passage.RunsOnLoad, p, 0, len(p.Text), "a command runs when the skill is loaded: "+secrets.Quote(p.Text))
		m.commands.Shell(p, commands.Inline)
		return
	}
	if _, _, ok := commandIn(p.Text, true); ok {
		p.Text = strings.ReplaceAll(p.Text, `\|`, " |") // a table escapes the bar
		m.commands.Shell(p, commands.Inline)
	}
}

// runsHere reports whether code in single backticks follows a "!" that does not end a word.
func runsHere(n *ast.CodeSpan, text string) bool {
	t, ok := n.FirstChild().(*ast.Text)
	if !ok {
		return false
	}
	at := t.Segment.Start - len("!`")
	for at > 0 && text[at+1] == ' ' { // spaces around the code are not part of its text
		at--
	}
	if at < 0 || text[at:at+2] != "!`" {
		return false
	}
	return at == 0 || strings.IndexByte(" \t\n\r(*_>:\"'[|-", text[at-1]) >= 0
}

// The sets list the programs by which a text is recognized as shell code. The names in programs are
// not English words; the names in verbs may be.
var (
	programs = words.Set{Rows: "curl wget bash sh zsh dash ksh fish sudo doas chmod chown npm npx pnpm bunx pip pip3 pipx uv uvx apt apt-get yum dnf apk docker podman kubectl git ssh scp sftp rsync nc ncat netcat socat telnet " +
		"powershell pwsh iwr iex irm eval printenv base64 openssl xxd xattr spctl crontab launchctl systemctl osascript python python2 python3 perl ruby php nohup env mkfifo certutil bitsadmin mshta rundll32 reg gpg tar unzip 7z gem cargo deno tee xargs"}
	verbs = words.Set{Rows: "node bun brew yarn go source export security echo cat printf exec rm mv cp ln dd find make cmd set alias at history kill touch mkdir sed awk grep head install"}
)

// commandIn returns the range of the first command in a text that has a known program and an
// argument. If code is not set, the text is prose, and programs with an English word as their name
// do not count.
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

// startsProgram returns the offset of the program with which a text begins. ok is false if the text
// does not begin with a program and an argument.
func startsProgram(text string, code bool) (int, bool) {
	const room = 100
	rest := strings.TrimLeft(text, " \t$'\"")
	from := len(text) - len(rest)
	name, argument, ok := strings.Cut(rest[:min(len(rest), room)], " ")
	if !ok || strings.TrimSpace(argument) == "" {
		return 0, false
	}
	name = programName(name)
	if code {
		return from, programs.Has(name) || verbs.Has(name)
	}
	return from, programs.Has(name) && !strings.HasSuffix(strings.TrimSpace(text), ".")
}

// programName returns the name of a program without its folder.
func programName(word string) string {
	return strings.ToLower(strings.ReplaceAll(word[strings.LastIndexByte(word, '/')+1:], `\`, ""))
}
