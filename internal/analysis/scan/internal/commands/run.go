package commands

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/skill"
)

// minEscapes is the number of numeric escapes with which a text counts as encoded. Terminal colours
// need fewer.
const minEscapes = 8

// interpret judges an interpreter that runs its argument, a file or its input. It returns the
// output.
func (r *shellReader) interpret(name string, args []value, io redirect) value {
	language := languages()[name]
	code, file, rest := interpreted(name, args[1:])
	switch {
	case code != nil && (name == "powershell" || name == "pwsh") && code.decoder != "":
		r.runs(decodedUTF16(*code), args[0], name)
	case code != nil:
		return r.withArguments(*code, rest, args[0], name, language)
	case file != nil:
		r.runsFile(*file, io.in, args[0], name)
	default:
		if io.socket == nil || io.in.decoder != "" { // otherwise it is a shell on a socket
			r.oneLiner(io.in, args[0], name, language)
		}
		return value{session: language == langShell && (!io.in.known || flag(args[1:], "i", ""))}
	}
	return value{}
}

// withArguments judges code that an interpreter runs with arguments. A decoded or fetched argument
// counts as code only if the code runs it, as sh -c '$0' does.
func (r *shellReader) withArguments(code value, args []value, place value, by string, language lang) value {
	given := r.combined(args)
	if given.empty() {
		return r.oneLiner(code, place, by, language)
	}
	given.from, given.to = place.from, place.to
	runs := !code.known && (code.text == "" || strings.HasPrefix(code.text, "$") && !strings.ContainsAny(code.text, " (")) // the code can be anything
	runs = runs || language == langOther && argumentWords().MatchString(code.text) && runningWords().MatchString(code.text)
	if runs {
		r.runs(given, place, by)
		return r.oneLiner(code, place, by, language)
	}
	before := r.s.args
	r.s.args = args
	var out value
	ids, _ := r.s.During(func() { out = r.oneLiner(code, place, by, language) })
	r.s.args = before
	text := code.text
	for i, v := range args[1:] {
		if args[i].text == "-e" { // a further line of the code
			text += "\n" + v.text
		}
	}
	if unfollowed().MatchString(text) && (argumentWords().MatchString(text) || shellArguments().MatchString(text)) {
		r.runs(given, place, by)
		return out
	}
	if !slices.Contains(ids, string(passage.RunDecoded)) && !slices.Contains(ids, string(passage.RunUnknown)) && !slices.Contains(ids, string(passage.RunFetched)) {
		r.s.looking(func() { r.runs(given, place, by) })
	}
	return out
}

// combined returns the decoded and fetched content of arguments as one value. The text of the value
// consists of the decoded texts that people could read. In Markdown, other decoded arguments do not
// lead to a finding, so they do not make the value unknown.
func (r *shellReader) combined(args []value) value {
	var all value
	var read []string
	hidden := false
	for _, v := range args {
		all = all.merge(value{fetched: v.fetched, decoder: v.decoder})
		switch {
		case v.decoder == "":
		case v.known && isPlainText(v.text):
			read = append(read, v.text)
		default:
			hidden = true
		}
	}
	all.text = strings.Join(read, "\n")
	all.known = len(read) > 0 && (!hidden || r.inMarkdown())
	return all
}

// argumentWords matches expressions for the program's arguments in Perl, Ruby, PHP, Lua and
// AppleScript.
var argumentWords = lazyregexp.New(`(?i)\bargv?\b|\bshift\b|\$_\b|@_`)

// unfollowed matches functions that run a string. If code contains such a function and uses its
// arguments, withArguments assumes that the code runs its arguments.
var unfollowed = lazyregexp.New(`(?i)\b(?:eval|exec|execute|load|loadstring|spawn|runInNewContext|runInThisContext)\b|\bnew Function\b|\bdo shell script\b|\bopen\b[^;]*"\|`)

// shellArguments matches shell parameters for the arguments of the command.
var shellArguments = lazyregexp.New(`\$\{?[@*1-9]|\bfor \w+ *;`)

// looking calls judge. The findings that judge reports become findings to review.
func (s *Analyzer) looking(judge func()) {
	before := s.Report
	s.Report = looks{before}
	judge()
	s.Report = before
}

// looks is a report that turns each finding into a finding to review.
type looks struct{ passage.Report }

// Find implements [passage.Report].
func (l looks) Find(id skill.RuleID, p passage.Part, from, to int, message string, notes ...string) {
	l.Look(id, p, from, to, message, notes...)
}

// codeOptions maps programs to two sets of option letters: the options whose value is the code to
// run, and the other options with a value. Source: the manual of each program.
var codeOptions = sync.OnceValue(func() map[string][2]string {
	return map[string][2]string{
		"python": {"c", "WXm"}, "pypy": {"c", "WXm"}, "pypy3": {"c", "WXm"},
		"node": {"ep", "r"}, "nodejs": {"ep", "r"}, "bun": {"ep", "r"}, "deno": {"", ""},
		"perl": {"eE", "IMm"}, "ruby": {"e", "IrC"}, "php": {"r", "cd"}, "lua": {"e", "l"}, "osascript": {"e", "l"}, "tclsh": {"", ""},
		"script": {"c", "EIOBTmo"},
	}
})

// interpreted returns the code or the file that an interpreter runs, and the arguments after it.
// code and file are both nil if the interpreter runs its input.
func interpreted(name string, args []value) (code, file *value, rest []value) {
	if name == "powershell" || name == "pwsh" {
		return powershell(args)
	}
	letters, ok := codeOptions()[name]
	if !ok { // shells, and su
		letters = [2]string{"c", "oO"}
	}
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case args[i].stream:
			return nil, &args[i], args[i+1:]
		case text == "-" || text == "--":
			continue
		case text == "--eval" || text == "--print" || text == "--command" || name == "deno" && text == "eval":
			return argument(args, i+1), nil, valuesFrom(args, i+2)
		case name == "deno" && (text == "run" || strings.HasPrefix(text, "-")):
			continue
		case strings.HasPrefix(text, "--rcfile") || strings.HasPrefix(text, "--init-file"):
			i++
		case strings.HasPrefix(text, "--") || strings.HasPrefix(text, "+"):
			continue
		case strings.HasPrefix(text, "-") && len(text) > 1:
			flags := text[1:]
			if n := strings.IndexAny(flags, letters[1]); n >= 0 && !strings.ContainsAny(flags[:n], letters[0]) {
				if flags[n] == 'm' && letters[0] == "c" { // python -m module
					return nil, &value{}, nil
				}
				if n == len(flags)-1 {
					i++
				}
				continue
			}
			if strings.ContainsAny(flags, letters[0]) && letters[0] != "" {
				return argument(args, i+1), nil, valuesFrom(args, i+2)
			}
			if !ok && strings.Contains(flags, "s") {
				return nil, nil, args[i+1:]
			}
		case name == "su":
			continue
		default:
			return nil, &args[i], args[i+1:]
		}
	}
	return nil, nil, nil
}

func argument(args []value, i int) *value {
	if i >= len(args) {
		return &value{}
	}
	return &args[i]
}

func valuesFrom(args []value, i int) []value { return args[min(i, len(args)):] }

// powershell returns the code or the file that PowerShell runs. PowerShell accepts abbreviated
// options, such as -e for -EncodedCommand. Source: about_Pwsh.
func powershell(args []value) (code, file *value, rest []value) {
	for i, v := range args {
		name := strings.ToLower(strings.TrimLeft(v.text, "-/"))
		if name == v.text || name == "" {
			continue
		}
		if name == "ec" || strings.HasPrefix("encodedcommand", name) {
			code := *argument(args, i+1)
			code.decoder = "-EncodedCommand"
			return &code, nil, nil
		}
		if strings.HasPrefix("command", name) {
			return argument(args, i+1), nil, valuesFrom(args, i+2)
		}
		if strings.HasPrefix("file", name) {
			return nil, argument(args, i+1), nil
		}
	}
	return nil, nil, args
}

// runsFile judges a file that an interpreter runs, as far as its content is known.
func (r *shellReader) runsFile(file, in, place value, by string) {
	switch {
	case file.stream:
		r.runsCode(file, place, by, languages()[by])
	case file.text == "/dev/stdin" || file.text == "/dev/fd/0" || file.text == "/proc/self/fd/0":
		r.runsCode(in, place, by, languages()[by])
	case by == "deno" && strings.Contains(file.text, "://"):
		r.runs(value{fetched: []string{file.text}}, place, by)
	default:
		if v, ok := r.saved[fileName(file.text)]; ok {
			r.runsCode(v, place, by, languages()[by])
		}
	}
}

// runs judges a text that a shell runs, and returns its output.
func (r *shellReader) runs(v, place value, by string) value {
	return r.runsCode(v, place, by, langShell)
}

// runsCode judges code that is run, by its origin and its effects. If a shell runs the code, it
// returns the output.
func (r *shellReader) runsCode(v, place value, by string, language lang) (out value) {
	if len(v.fetched) > 0 {
		r.runsFetched(v.fetched, place, by)
	}
	if v.decoder != "" || v.escapes >= minEscapes {
		r.runsDecoded(v, place, by, language)
		return value{}
	}
	if strings.TrimSpace(v.text) != "" {
		out = r.judgeText(r.inside(v), language, String)
		out.from, out.to = place.from, place.to
	}
	return out
}

// inside returns the text of a value as a part. If the file contains the text unchanged, the part
// is at the text's own position.
func (r *shellReader) inside(v value) passage.Part {
	if from, to := min(v.from, len(r.p.Text)), min(v.to, len(r.p.Text)); from < to && v.text != "" {
		if i := strings.Index(r.p.Text[from:to], v.text); i >= 0 {
			p := r.p.Slice(from+i, from+i+len(v.text))
			p.Nest++
			return p
		}
	}
	p := r.p.With(v.text, min(v.from, len(r.p.Text)))
	p.Nest++
	return p
}

func (r *shellReader) judgeText(p passage.Part, language lang, from Origin) (out value) {
	if !r.commands.spend(len(p.Text)) {
		r.s.TooLarge(p.File.Path, "its commands hold too much text to be followed")
		return value{}
	}
	switch language {
	case langShell:
		if from != decoded && r.isGuess() {
			from = r.from
		}
		return r.s.shell(p, from, r.saved)
	case langPython:
		r.s.Code(p, true, String)
	case langJavaScript:
		r.s.Code(p, false, String)
	case langOther:
		r.s.otherCode(p)
	}
	return value{}
}

// runsDecoded reports that a program runs a decoded text, and judges that text.
func (r *shellReader) runsDecoded(v, place value, by string, language lang) {
	readable := v.known && isPlainText(v.text)
	if r.inMarkdown() && !readable {
		return
	}
	find, message := r.s.Find, "what "+cmp.Or(v.decoder, "the shell")+" decodes is run by "+secrets.Quote(by)
	var notes []string
	if readable {
		examples, others := r.commands.examples, r.commands.others
		ids, enforced := r.s.During(func() {
			r.judgeText(r.p.Decoded(v.text, min(place.from, len(r.p.Text))), language, decoded)
		})
		notes = append(notes, "decodes to: "+secrets.Quote(v.text))
		if len(ids) > 0 {
			notes = append(notes, "then: "+strings.Join(ids, ", "))
		}
		if r.commands.examples > examples && r.commands.others == others && !enforced {
			find, message = r.s.Look, message+likeExample // the text sends only to placeholder hosts, as in examples
		}
	}
	find(passage.RunDecoded, r.p, place.from, place.to, message, notes...)
}

// isPlainText reports whether people could have written a text.
func isPlainText(text string) bool {
	if strings.TrimSpace(text) == "" || !utf8.ValidString(text) {
		return false
	}
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}

// networkFind reports a finding about a destination. If the destination is this machine, it reports
// nothing. If the host is reserved, it reports a finding to review.
func (s *Analyzer) networkFind(id skill.RuleID, p passage.Part, from, to int, destination, message string) {
	host, kind := words.Of(destination)
	if words.IsLocal(host) {
		return
	}
	if kind == words.Nobody {
		s.exampleHost(host)
		s.Look(id, p, from, to, message+likeExample)
		return
	}
	s.Find(id, p, from, to, message)
}

// exampleHost records the host of a finding as a fact, although the host looks like an example. It
// does not record a placeholder, which is not a host name.
func (s *Analyzer) exampleHost(host string) {
	if strings.Contains(host, ".") && !strings.ContainsAny(host, "<>{}[]%|\"'`$* …") {
		s.Fact(passage.FactHost, host)
	}
}

// likeExample ends the message of a finding that is only to review because its host looks like an
// example.
const likeExample = "; the host looks like an example or a private one"
