package gfm

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// autolinks finds addresses in text that no brackets enclose.
type autolinks struct{}

// before lists the characters that an address may follow. The core also tries the beginning
// of a line and of the text after a node, which it reports as a space.
const before = " *_~("

// Trigger returns the characters before an address.
func (autolinks) Trigger() []byte { return []byte(before) }

// Parse returns a link to the address that begins here or after one character.
func (autolinks) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if pc.IsInLinkLabel() {
		return nil
	}
	line, segment := block.PeekLine()
	start := segment.Start
	if strings.IndexByte(before, line[0]) >= 0 {
		start++
		line = line[1:]
	}
	kind, protocol := ast.AutoLinkType(ast.AutoLinkURL), ""
	length := web(line)
	switch {
	case length == 0:
		kind, length = ast.AutoLinkEmail, email(line)
	case line[0] == 'w':
		protocol = "http"
	}
	if length == 0 {
		return nil
	}
	if start > segment.Start {
		ast.MergeOrAppendTextSegment(parent, segment.WithStop(start))
	}
	block.Advance(start - segment.Start + length)
	link := ast.NewAutoLink(kind, ast.NewTextSegment(text.NewSegment(start, start+length)))
	if protocol != "" {
		link.Protocol = []byte(protocol)
	}
	return link
}

// web returns the length of the web address at the beginning of a line, or 0. Only an address
// with a scheme may have a port, and a dollar sign in its path.
func web(line []byte) int {
	for _, prefix := range [...]string{"http://", "https://", "ftp://", "www."} {
		if !bytes.HasPrefix(line, []byte(prefix)) {
			continue
		}
		domain := host(line[len(prefix):])
		if domain == 0 {
			return 0
		}
		i := len(prefix) + domain
		signs := "-@:%_+.~#!?&/=();,'\">^{}[]`"
		if prefix != "www." {
			signs += "$"
			if port := span(line[min(i+1, len(line)):], digit); port > 0 && line[i] == ':' {
				i += 1 + port
			}
		}
		if i < len(line) && strings.IndexByte("/#?", line[i]) >= 0 {
			i += span(line[i:], func(c byte) bool { return util.IsAlphaNumeric(c) || strings.IndexByte(signs, c) >= 0 })
		}
		return trim(line[:i])
	}
	return 0
}

// host returns the length of the host at the beginning of s, or 0. It ends with a period and
// small letters, with at most 256 characters before them.
func host(s []byte) int {
	end := 0
	for i, c := range s[:min(len(s), 257)] {
		if c == '.' && i > 0 && i+1 < len(s) && small(s[i+1]) {
			end = i + 1
		}
		if !util.IsAlphaNumeric(c) && strings.IndexByte("-@:%._+~#=", c) < 0 {
			break
		}
	}
	if end == 0 {
		return 0
	}
	return end + span(s[end:], small)
}

// trim returns the length of a web address without the punctuation, unmatched parentheses and
// character references at its end, which belong to the sentence around it.
func trim(address []byte) int {
	unmatched := bytes.Count(address, []byte(")")) - bytes.Count(address, []byte("("))
	for i := len(address); ; {
		switch c := address[i-1]; {
		case strings.IndexByte("?!.,:*_~", c) >= 0:
			i--
		case c == ')' && unmatched > 0:
			unmatched--
			i--
		case c == ';':
			name := i - 1
			for util.IsAlphaNumeric(address[name-1]) {
				name--
			}
			if name == i-1 || address[name-1] != '&' {
				return i
			}
			i = name - 1
		default:
			return i
		}
	}
}

// email returns the length of the address at the beginning of a line, or 0. Its domain has a
// period and ends at neither a hyphen nor an underscore.
func email(line []byte) int {
	if len(line) == 0 || util.IsPunct(line[0]) {
		return 0
	}
	end := util.FindEmailIndex(line)
	if end < 0 || bytes.IndexByte(line[bytes.IndexByte(line, '@'):end], '.') < 0 {
		return 0
	}
	if end < len(line) && (line[end] == '-' || line[end] == '_') {
		return 0
	}
	return end
}

// span returns the number of bytes at the beginning of s of which in is true.
func span(s []byte, in func(byte) bool) (n int) {
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func small(c byte) bool { return 'a' <= c && c <= 'z' }
