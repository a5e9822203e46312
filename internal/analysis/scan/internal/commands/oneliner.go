package commands

import (
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/decode"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// The patterns match words of Perl, Ruby, PHP, PowerShell, Python and JavaScript in one-line
// programs. Sources: each language's functions for the techniques MITRE ATT&CK T1140, T1105 and
// T1059.
var (
	decodingWords = lazyregexp.New(`(?i)\b(?:b64decode|decode_base64|base64_decode|Base64\.(?:strict_|urlsafe_)?decode64|FromBase64String|a85decode|b85decode|b32decode|unhexlify|fromhex|hex2bin|atob|gzinflate|str_rot13)\b|\bmap\(\s*chr\b|` +
		`\bBuffer\.from\([^)]*["'](?:base64|hex)["']|\b(?:un)?pack1?\s*\(?\s*["'][mH]`)
	fetchingWords = lazyregexp.New(`(?i)\b(?:urlopen|requests\.get|httpx\.get|LWP|HTTP::Tiny|Net::HTTP|open-uri|URI\.open|file_get_contents|curl_exec|DownloadString|DownloadData|get\s*\(?\s*["']https?|iwr|irm|Invoke-WebRequest|Invoke-RestMethod|fetch|https?\.get)\b`)
	runningWords  = lazyregexp.New("(?i)\\b(?:system|exec|shell_exec|passthru|popen|eval|instance_eval|class_eval|iex|Invoke-Expression|qx)\\b|`|\\[ScriptBlock\\]::Create")
	printingWords = lazyregexp.New(`(?i)\b(?:print|puts|echo|write|say|console\.log)\b`)
	encodedText   = lazyregexp.New(`["']([A-Za-z0-9+/_-]{16,}={0,2})["']`)
	webAddress    = lazyregexp.New(`https?://[^\s"'()<>;|]+`)
)

// codeOutput returns the content that a line of code decodes or fetches, or an empty value.
func codeOutput(text string) (v value) {
	if word := decodingWords().FindString(text); word != "" {
		v.decoder = strings.Trim(word, `"'(`)
		if m := encodedText().FindStringSubmatch(text); m != nil {
			if v.text, v.known = decode.Hex(m[1]); !v.known {
				v.text, v.known = decode.Base64(m[1])
			}
		}
	}
	if url := webAddress().FindString(text); url != "" && fetchingWords().MatchString(text) {
		v.fetched = []string{url}
	}
	return v
}

// oneLiner judges code that an interpreter gets as its argument or input, and returns its output.
func (r *shellReader) oneLiner(code, place value, by string, language lang) value {
	out := r.runsCode(code, place, by, language)
	if language == langShell {
		return out
	}
	if code.decoder != "" || len(code.fetched) > 0 || len(code.text) > maxOneLiner {
		return value{}
	}
	v := codeOutput(code.text)
	v.from, v.to = code.from, code.to
	switch {
	case v.empty():
	case language == langOther && runsValue(code.text, by):
		r.runs(v, place, by)
	case language == langOther && runningWords().MatchString(code.text):
		r.s.looking(func() { r.runs(v, place, by) })
		if printingWords().MatchString(code.text) {
			return v
		}
	case printingWords().MatchString(code.text):
		return v
	}
	return value{}
}

// runsValue reports whether a line of code can run the content that it decodes or fetches. It skips
// an eval block of Perl, which only catches errors, and a command in quotes without variables,
// which cannot contain that content.
func runsValue(text, by string) bool {
	for at := 0; ; {
		m := runningWords().FindStringIndex(text[at:])
		if m == nil {
			return false
		}
		word, rest := text[at+m[0]:at+m[1]], text[at+m[1]:]
		at += m[1]
		operand := strings.TrimLeft(rest, " \t(")
		switch {
		case word == "eval" && by == "perl" && strings.HasPrefix(operand, "{"):
			continue
		case word == "`":
			inner, _, closed := strings.Cut(rest, "`")
			if closed && !strings.ContainsAny(inner, "$@#") {
				at += len(inner) + 1
				continue
			}
		case operand != "" && (operand[0] == '"' || operand[0] == '\''):
			inner, after, closed := strings.Cut(operand[1:], operand[:1])
			if after = strings.TrimLeft(after, " \t)"); closed && !strings.ContainsAny(inner, "$@#\\") && (after == "" || strings.IndexByte(";}\n|&", after[0]) >= 0) {
				continue
			}
		}
		return true
	}
}

// maxOneLiner limits the size of the code that is searched for the words above.
const maxOneLiner = 4 << 10

var (
	awkCommand = lazyregexp.New(`system\(\s*"((?:[^"\\]|\\.)*)"\s*\)`)
	awkRuns    = lazyregexp.New(`system\(\s*\$|\|\s*"(?:\S*/)?(?:ba|z|da|k)?sh\b`)
)

// awk judges the commands in an awk program and the text that it pipes to a shell. It returns awk's
// output.
func (r *shellReader) awk(args []value, io redirect) value {
	if _, rest := options(args[1:], "Ffv", "file assign field-separator"); len(rest) > 0 {
		for _, m := range awkCommand().FindAllStringSubmatch(rest[0].text, maxFetched) {
			r.runs(value{text: unescaped(m[1], true), known: true, from: rest[0].from, to: rest[0].to}, args[0], args[0].text)
		}
		if awkRuns().MatchString(rest[0].text) && (io.in.decoder != "" || len(io.in.fetched) > 0) {
			r.runs(io.in, args[0], args[0].text)
		}
	}
	return oneValue("awk", args[1:], r.filtered(args[1:], io.in))
}

// packed returns the argument that names the archive that tar or zip writes. It returns an empty
// value if there is none.
func packed(name string, args []value) value {
	if name == "tar" && !isPacking(args) {
		return value{}
	}
	for i, v := range args {
		letters, short := strings.CutPrefix(v.text, "-")
		switch {
		case strings.HasPrefix(letters, "-"): // a long option
			if file, ok := strings.CutPrefix(letters, "-file="); ok && name == "tar" {
				return v.cut(file)
			}
		case name == "zip" && !short:
			return v
		case name == "tar" && (short || i == 0) && strings.HasSuffix(letters, "f"):
			return *argument(args, i+1)
		}
	}
	return value{}
}

// isPacking reports whether tar writes an archive: its mode is c, r or u.
func isPacking(args []value) bool {
	for i, v := range args {
		letters, short := strings.CutPrefix(v.text, "-")
		switch {
		case strings.HasPrefix(letters, "-"): // a long option
			if letters == "-create" || letters == "-append" || letters == "-update" {
				return true
			}
		case (short || i == 0) && strings.ContainsAny(letters, "cru"):
			return true
		}
	}
	return false
}

// unpacks reports a fetched archive that a command opens with a password.
func (r *shellReader) unpacks(name string, args []value) {
	letter := "-p"
	if name == "unzip" {
		letter = "-P"
	}
	var password, archive value
	for i, v := range args {
		if rest, ok := strings.CutPrefix(v.text, letter); ok && rest != "" {
			password = v.cut(rest)
		} else if ok && name == "unzip" {
			password = *argument(args, i+1)
		} else if saved := r.saved[fileName(v.text)]; len(saved.fetched) > 0 {
			archive = saved
		}
	}
	if password.known && password.text != "" && len(archive.fetched) > 0 {
		url := archive.fetched[0]
		r.s.networkFind(passage.DownloadLocked, r.p, password.from, password.to, url, secrets.Quote(url)+" is opened with a password that the command has")
	}
}
