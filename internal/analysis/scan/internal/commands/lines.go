package commands

import (
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

var (
	encodedCommand = lazyregexp.New(`(?i)\b(powershell|pwsh)(?:\.exe)?["']?\s[^|&\n]*?[-/](?:e|ec|en[a-z]*)\s+["']?([A-Za-z0-9+/=]{16,})`)
	evalWords      = lazyregexp.New(`(?i)\b(?:iex|Invoke-Expression|eval|instance_eval)\b|\[ScriptBlock\]::Create`)
	assignedLine   = lazyregexp.New(`^\s*(?:my\s+)?\$(\w+)\s*=`)
	variableWord   = lazyregexp.New(`\$(\w+)`)
)

// lineStems lists words. Lines can report something only in a text that contains one of them.
var lineStems = []string{"powershell", "pwsh", "iex", "invoke-expression", "scriptblock", "eval", "socket", "tcpclient", "do shell script"}

// Lines judges a text in a language without a reader, line by line: PowerShell, batch files, Perl,
// Ruby, PHP or Lua. It finds content that is decoded or fetched, and then run, by one line or by
// several lines that pass it through a variable.
func (s *Analyzer) Lines(p passage.Part) {
	low := strings.ToLower(p.Text)
	stem := func(text string) bool {
		return slices.ContainsFunc(lineStems, func(word string) bool { return strings.Contains(text, word) })
	}
	if len(low) != len(p.Text) || !stem(low) {
		return
	}
	r := s.reader(p, Script, map[string]value{})
	at := 0
	for line := range strings.Lines(p.Text) {
		from := at
		at += len(line)
		start := strings.TrimLeft(low[from:at], " \t@")
		if strings.HasPrefix(start, "#") || strings.HasPrefix(start, "//") || strings.HasPrefix(start, "rem ") || strings.HasPrefix(start, "::") {
			continue
		}
		if m := assignedLine().FindStringSubmatch(line); m != nil && r.room(len(r.vars)) {
			r.vars[strings.ToLower(m[1])] = codeOutput(line)
		}
		if !stem(start) {
			continue
		}
		if m := encodedCommand().FindStringSubmatchIndex(line); m != nil {
			code := value{text: line[m[4]:m[5]], known: true, decoder: "-EncodedCommand", from: from + m[4], to: from + m[5]}
			r.runs(decodedUTF16(code), value{from: from + m[2], to: from + m[3]}, strings.ToLower(line[m[2]:m[3]]))
		}
		if m := evalWords().FindStringIndex(line); m != nil {
			v := codeOutput(line)
			for _, name := range variableWord().FindAllStringSubmatch(line, maxFetched) {
				v = v.merge(r.vars[strings.ToLower(name[1])])
			}
			if v.from, v.to = from, at; v.decoder != "" || len(v.fetched) > 0 {
				r.runs(v, value{from: from + m[0], to: from + m[1]}, strings.ToLower(line[m[0]:m[1]]))
			}
		}
		s.otherCode(p.Slice(from, at))
	}
}
