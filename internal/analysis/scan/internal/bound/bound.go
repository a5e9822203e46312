// Package bound defines the limits of a scan. A text that exceeds a limit is not judged, and gets a
// finding of the rule too-large.
package bound

import (
	"context"
	"strings"

	"golang.org/x/sync/semaphore"
)

// Memory limits the peak memory of one parser, in bytes. It also limits the total for all files
// that are judged at the same time, so that a server with 384 MiB survives a scan.
const Memory = 24 << 20

// The limits of a skill.
const (
	Files    = 10_000   // the largest real skill has 1,104
	Text     = 32 << 20 // bytes, weighted by the time that their kind of text takes; of 776 real skills, the largest has 0.8 MB
	Unpacked = 32 << 20 // bytes of all archives together
)

// The limits of a file, besides the limits of its parser.
const (
	Words     = 1 << 20 // words of commands; reading them takes about 2 s
	Names     = 1 << 14 // variables, functions and written files that are tracked
	Looks     = 1 << 24 // tokens examined in expressions, which may nest
	Decoded   = 3       // how often a text may be decoded
	Nested    = 8       // how deep strings of commands may nest
	Brackets  = 3000    // nesting of a command; one level takes up to 8 KiB of stack
	Quotes    = 64      // quotes and lists around a line of Markdown
	Levels    = 100     // nesting of a settings file
	Paragraph = 1 << 20 // bytes of a paragraph that can contain HTML, which regular expressions of the parser read
	// Product limits the work on the paragraphs of a Markdown file: the sum of each paragraph's
	// bytes times its marks. The parser's time grows with this sum.
	Product = 300_000_000
)

// Parser describes a parser that builds a tree or a list of nodes from a text.
type Parser struct {
	node  int    // the peak memory of a node in bytes, as measured
	marks string // the characters that can begin or end a node
	words bool   // all characters but letters and digits can begin or end a node
}

// The parsers.
var (
	Shell    = Parser{node: 700, words: true}
	Markdown = Parser{node: 100, marks: "*_[<`!\\&"} // see [MarkdownNodes]
	Code     = Parser{node: 40}                      // its nodes are tokens
	YAML     = Parser{node: 400, marks: "\n[]{},:-&*!"}
)

// Most returns the number of nodes that a text may have.
func (p Parser) Most() int { return Memory / p.node }

// Fits reports whether a text has at most as many nodes as the parser may build.
func (p Parser) Fits(text string) bool { return len(text) <= p.Most() || p.Nodes(text) <= p.Most() }

// Nodes estimates the number of nodes of a text. The estimate is never too low. Nodes only counts
// bytes and parses nothing.
func (p Parser) Nodes(text string) (n int) {
	for i := range len(text) {
		if p.begins(text[i]) {
			n++
		}
	}
	return n
}

func (p Parser) begins(c byte) bool {
	if p.words {
		return c < 0x80 && !('a' <= c|0x20 && c|0x20 <= 'z') && !('0' <= c && c <= '9')
	}
	return strings.IndexByte(p.marks, c) >= 0
}

// Marks counts the characters of a line that can begin or end a node. A repeated mark counts once,
// except "[".
func (p Parser) Marks(line string) (n int) {
	for i := range len(line) {
		if p.begins(line[i]) && (i == 0 || line[i-1] != line[i] || line[i] == '[') {
			n++
		}
	}
	return n
}

// MarkdownNodes estimates the number of nodes of a line of Markdown, given its marks and its depth
// in quotes and lists. It assumes that the line begins a paragraph with its text, all the quotes
// and lists, and a link at each "[".
func MarkdownNodes(line string, marks, depth int) int {
	if strings.TrimSpace(line) == "" {
		return 1
	}
	return 2 + marks + 2*depth + strings.Count(line, "[")
}

// share is the largest amount of memory that a parser needs for each byte of a file, in bytes.
const share = 256

var room = semaphore.NewWeighted(Memory)

// Enter waits until there is memory for a file of the given size beside the files that all scans of
// the process judge at present. The caller must call leave afterwards, before it enters again.
func Enter(ctx context.Context, size int64) (leave func(), err error) {
	weight := max(1, min(size, Memory/share)*share)
	if err := room.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() { room.Release(weight) }, nil
}
