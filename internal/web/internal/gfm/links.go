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

// leads lists the characters that an address may follow. The space stands for the beginning
// of a line, and for the end of another node, too: the core passes the text that follows.
const leads = " *_~("

// Trigger returns the characters before an address.
func (autolinks) Trigger() []byte { return []byte(leads) }

// Parse returns a link to the address that begins here or after one character.
func (autolinks) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if pc.IsInLinkLabel() {
		return nil
	}
	line, segment := block.PeekLine()
	start := segment.Start
	if strings.IndexByte(leads, line[0]) >= 0 {
		start++
		line = line[1:]
	}
	kind, length := ast.AutoLinkType(ast.AutoLinkURL), webAddress(line)
	if length == 0 {
		kind, length = ast.AutoLinkEmail, emailAddress(line)
	}
	if length == 0 {
		return nil
	}
	if start > segment.Start {
		ast.MergeOrAppendTextSegment(parent, segment.WithStop(start))
	}
	block.Advance(start - segment.Start + length)
	link := ast.NewAutoLink(kind, ast.NewTextSegment(text.NewSegment(start, start+length)))
	if kind == ast.AutoLinkURL && line[0] == 'w' {
		link.Protocol = []byte("http")
	}
	return link
}

// Characters of addresses. Those of goldmark's package extension are fewer than the
// specification's, which only excludes spaces and "<" from a path.
const (
	digits  = "0123456789"
	small   = "abcdefghijklmnopqrstuvwxyz"
	letters = small + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + digits
	inHost  = letters + "-@:%._+~#="
	inPath  = inHost + "!?&/();,'\">^{}[]`"
)

// webAddress returns the length of the web address at the beginning of a line, or 0. An address
// without a scheme has no port, and no dollar sign in its path.
func webAddress(line []byte) int {
	i := 0
	for _, prefix := range [...]string{"http://", "https://", "ftp://", "www."} {
		if bytes.HasPrefix(line, []byte(prefix)) {
			i = len(prefix)
		}
	}
	if i == 0 {
		return 0
	}
	domain := host(line[i:])
	if domain == 0 {
		return 0
	}
	i += domain
	path := inPath
	if line[0] != 'w' {
		path += "$"
		if port, ok := bytes.CutPrefix(line[i:], []byte(":")); ok && prefixOf(port, digits) > 0 {
			i += 1 + prefixOf(port, digits)
		}
	}
	if i < len(line) && strings.IndexByte("/#?", line[i]) >= 0 {
		i += prefixOf(line[i:], path)
	}
	return trim(line[:i])
}

// host returns the length of the host at the beginning of s, or 0. It ends with a period and
// small letters, with at most 256 characters before them.
func host(s []byte) int {
	most := prefixOf(s[:min(len(s), 257)], inHost)
	for at := bytes.LastIndexByte(s[:most], '.'); at > 0; at = bytes.LastIndexByte(s[:at], '.') {
		if last := prefixOf(s[at+1:], small); last > 0 {
			return at + 1 + last
		}
	}
	return 0
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

// emailAddress returns the length of the address at the beginning of a line, or 0. Its domain has a
// period and ends at neither a hyphen nor an underscore.
func emailAddress(line []byte) int {
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

// prefixOf returns the number of bytes at the beginning of s that are in set.
func prefixOf(s []byte, set string) int { return len(s) - len(bytes.TrimLeft(s, set)) }
