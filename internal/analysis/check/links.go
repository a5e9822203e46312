package check

import (
	"errors"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/skill"
)

// link is the target of a Markdown link, image or link definition.
type link struct {
	offset int    // offset of the target in the file
	raw    string // the target as written
	path   string // the file that the target names, decoded and without query and fragment; "" if it names no file
}

var (
	linkTarget = lazyregexp.New(`\]\([ \t]*(<[^<>]*>|[^()\s<]+(?:\([^()\s]*\)[^()\s]*)*)`)
	definition = lazyregexp.New(`^ {0,3}\[[^\]^][^\]]*\]:[ \t]*(<[^<>]*>|\S+)`)
	listItem   = lazyregexp.New(`^[ \t]*([-*+]|[0-9]{1,9}[.)])[ \t]`)
	// absoluteURI matches the scheme of an absolute URI. A single letter is not a scheme but a
	// drive.
	absoluteURI = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]+:`)
)

// maxLinks limits the links of a body. Each may be compared with the names of all files.
const maxLinks = 2000

// scanner tracks from line to line whether the text is code or a comment. It recognises only the
// Markdown that can hide a link.
type scanner struct {
	fence   string // the run that opened the current code block, or ""
	comment bool
	inList  bool // an indented line belongs to a list item
	blank   bool // the line before was blank
	quoted  bool // the line before was indented code
}

// linksOf returns the links of a body that begins on the line with index first.
func linksOf(body string, first int, lines []line) []link {
	if !strings.Contains(body, "](") && !strings.Contains(body, "]:") {
		return nil
	}
	var out []link
	s := scanner{blank: true}
	begin := lines[len(lines)-1].offset() + len(lines[len(lines)-1].text) + len(lines[len(lines)-1].end()) - len(body)
	for i := first; i < len(lines) && len(out) < maxLinks; i++ {
		l := lines[i]
		text, offset := l.text, l.offset()
		if offset < begin {
			text, offset = text[begin-offset:], begin // the body follows a fence on the same line
		}
		for _, target := range s.targets(text) {
			out = append(out, newLink(text[target[0]:target[1]], offset+target[0]))
		}
	}
	return out[:min(len(out), maxLinks)]
}

// targets returns the ranges of the link targets in the next line.
func (s *scanner) targets(text string) [][2]int {
	if s.skips(text) {
		return nil
	}
	if !s.comment && !strings.Contains(text, "](") && !strings.Contains(text, "]:") && !strings.Contains(text, "<!--") {
		return nil
	}
	seen := s.blankComments(blankSpans(text))
	var out [][2]int
	for _, re := range []*regexp.Regexp{linkTarget(), definition()} {
		for _, m := range re.FindAllStringSubmatchIndex(seen, -1) {
			if m[0] > 0 && seen[m[0]-1] == '\\' {
				continue
			}
			out = append(out, [2]int{m[2], m[3]})
		}
	}
	return out
}

// skips reports whether the next line is code.
func (s *scanner) skips(text string) bool {
	trimmed := strings.TrimLeft(text, " \t>")
	run := fenceRun(trimmed)
	switch {
	case s.fence != "":
		if strings.HasPrefix(run, s.fence) && strings.TrimSpace(trimmed[len(run):]) == "" {
			s.fence = ""
		}
		return true
	case run != "" && !(run[0] == '`' && strings.Contains(trimmed[len(run):], "`")) && !s.comment:
		s.fence = run
		return true
	}
	blank := strings.TrimSpace(text) == ""
	indented := strings.HasPrefix(text, "    ") || strings.HasPrefix(text, "\t")
	switch {
	case blank:
	case listItem().MatchString(text) && !(indented && !s.inList):
		s.inList = true
	case !indented && !strings.HasPrefix(text, " "):
		s.inList = false
	}
	code := indented && !blank && !s.inList && (s.blank || s.quoted) && !s.comment
	s.quoted = code || blank && s.quoted
	s.blank = blank
	return code
}

// fenceRun returns the run of three or more backticks or tildes with which a line begins, or "".
func fenceRun(text string) string {
	for _, c := range "`~" {
		if n := len(text) - len(strings.TrimLeft(text, string(c))); n >= 3 {
			return text[:n]
		}
	}
	return ""
}

// blankSpans replaces the code spans of a line with spaces of the same length.
func blankSpans(text string) string {
	if !strings.Contains(text, "`") {
		return text
	}
	out := []byte(text)
	for i := 0; i < len(text); {
		if text[i] != '`' {
			i++
			continue
		}
		n := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		end := closing(text, i+n, n)
		if end < 0 {
			i += n
			continue
		}
		for ; i < end; i++ {
			out[i] = ' '
		}
	}
	return string(out)
}

// closing returns the end of a code span that n backticks opened, or -1.
func closing(text string, from, n int) int {
	for i := from; i < len(text); {
		if text[i] != '`' {
			i++
			continue
		}
		run := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		if run == n {
			return i + run
		}
		i += run
	}
	return -1
}

// blankComments replaces HTML comments, which may span lines, with spaces of the same length.
func (s *scanner) blankComments(text string) string {
	if !s.comment && !strings.Contains(text, "<!--") {
		return text
	}
	out := []byte(text)
	for i := 0; i < len(text); {
		if !s.comment {
			n := strings.Index(text[i:], "<!--")
			if n < 0 {
				break
			}
			i += n
			s.comment = true
		}
		end := len(text)
		if n := strings.Index(text[i:], "-->"); n >= 0 {
			end = i + n + len("-->")
			s.comment = false
		}
		for ; i < end; i++ {
			out[i] = ' '
		}
	}
	return string(out)
}

// newLink returns the link with a target at an offset of the file.
func newLink(raw string, offset int) link {
	l := link{offset: offset, raw: raw}
	target := strings.Trim(raw, "<>")
	if absoluteURI().MatchString(target) || strings.HasPrefix(target, "//") {
		if strings.HasPrefix(strings.ToLower(target), "file:") {
			l.path = "/"
		}
		return l
	}
	target, _, _ = strings.Cut(target, "#")
	target, _, _ = strings.Cut(target, "?")
	if decoded, err := url.PathUnescape(target); err == nil {
		target = decoded
	}
	l.path = target
	return l
}

// refs calls visit for each link to a file in the skill, and outside for each other link. Either
// function may be nil.
func (s *subject) refs(visit func(l link, p string), outside func(l link)) {
	seen := map[string]bool{}
	for _, l := range s.links {
		if l.path == "" || seen[l.raw] {
			continue
		}
		seen[l.raw] = true // each link is reported only at its first place
		p, err := skill.FilePath(l.path)
		if errors.Is(err, skill.ErrOutside) || strings.HasPrefix(l.path, "~/") {
			if outside != nil {
				outside(l)
			}
			continue
		}
		if visit != nil && err == nil {
			visit(l, p)
		}
	}
}

func (s *subject) ref(l link, message, fix string) Finding {
	return s.findingAt(l.offset, utf8.RuneCountInString(l.raw), message, fix)
}

func missingRefs(s *subject) (out []Finding) {
	if s.names == nil {
		return nil
	}
	s.refs(func(l link, p string) {
		switch {
		case skill.Hidden(p):
			out = append(out, s.ref(l, "the link leads to a dot-entry, which is never served", "give the file a name without a leading dot"))
		default:
			switch exists, err := s.exists(p); {
			case exists || s.inAnyCase(p) != "":
			case errors.Is(err, skill.ErrOutside):
				out = append(out, s.ref(l, display.Quote(p)+" is, or is behind, a link that leads out of the skill's folder, and is not followed", "put a copy of the file into the skill"))
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
				out = append(out, s.ref(l, display.Quote(p)+" does not exist in the skill's folder", "add the file, or correct the link"))
			default:
				out = append(out, s.ref(l, display.Quote(p)+" cannot be read: "+skill.Reason(err), "fix the file, or correct the link"))
			}
		}
	}, nil)
	return out
}

func wrongCaseRefs(s *subject) (out []Finding) {
	if s.names == nil {
		return nil
	}
	s.refs(func(l link, p string) {
		if skill.Hidden(p) {
			return
		}
		if !s.names[p] {
			if have := s.inAnyCase(p); have != "" && have != p {
				out = append(out, s.ref(l, "the file is called "+display.Quote(have), "write the link as "+have))
			}
		}
	}, nil)
	return out
}

func outsideRefs(s *subject) (out []Finding) {
	s.refs(nil, func(l link) {
		out = append(out, s.ref(l, "the link leaves the skill's folder and is not followed", "copy the file into the skill, or name it in words"))
	})
	return out
}

// inAnyCase returns the file or folder that a path names if case is ignored, or "".
func (s *subject) inAnyCase(p string) string {
	best := ""
	for name := range s.names {
		if strings.EqualFold(name, path.Clean(p)) && (best == "" || name < best) {
			best = name
		}
	}
	return best
}
