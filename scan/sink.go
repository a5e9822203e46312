package scan

import (
	"bytes"
	"cmp"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/scan/internal/archive"
	"github.com/knack-dev/knack/scan/internal/secrets"
	"github.com/knack-dev/knack/skill"
)

// scanner collects what the readers find in the files of one skill.
type scanner struct {
	o        Options
	fired    map[firing]firings
	findings []Finding
	enforce  int
	review   int
	facts    [factKinds]map[string]bool
	unread   bool
	files    map[string]bool // the paths of the skill's files, and of the entries of its archives
	budget   archive.Budget
	parser   *syntax.Parser // of shells, for one text after another
}

func newScanner(o Options) *scanner { return &scanner{o: o} }

// factKind is a list of [Facts].
type factKind int

const (
	factProgram factKind = iota
	factHost
	factPackage
	factVariable
	factRead
	factWrite
	factBinary
	factTool
	factHidden
	factUnasked
	factNotRead
	factKinds
)

// Bounds of the facts: how many are in a list, and the length of one, in bytes.
const (
	maxFacts = 1000
	maxFact  = 200
	// maxProgram bounds the name of a program. A longer word where a command begins is data, such as a
	// line of a key.
	maxProgram = 40
)

// fact notes a fact. Facts that are too long or too many are left out.
func (s *scanner) fact(kind factKind, value string) {
	if value == "" || len(value) > maxFact || kind == factProgram && len(value) > maxProgram || len(s.facts[kind]) >= maxFacts {
		return
	}
	if s.facts[kind] == nil {
		s.facts[kind] = map[string]bool{}
	}
	s.facts[kind][strings.ToValidUTF8(secrets.Hide(value), "\uFFFD")] = true
}

// part is a text that a reader judges: a whole file, or a part of it, such as a block of code.
type part struct {
	file  *file
	text  string
	spans []span // the places of the text in the file, in order
	depth int    // how often it was decoded
	nest  int    // how often it was a string that another program starts
}

// span maps an offset of the text to an offset of the file.
type span struct{ from, at int }

// file is a file of the skill or an entry of an archive, as text.
type file struct {
	path   string // "a.zip!b/c.sh" for an entry
	text   string
	starts []int // of its lines
	last   place
	spent  int // bytes of text that were made from the file's
	words  int // of its commands that were read
	// How often its commands name a host that is no one's, and another.
	examples, others int
	ran              map[string]bool // URLs whose content a command runs
}

// place is an offset of a file and its column. The next finding in a long line is counted from it.
type place struct{ offset, column int }

func newFile(path, text string) *file {
	f := &file{path: path, text: text, starts: make([]int, 1, 1+strings.Count(text, "\n"))}
	for at := 0; ; {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return f
		}
		at += n + 1
		f.starts = append(f.starts, at)
	}
}

// whole returns the file as a part.
func (f *file) whole() part { return part{file: f, text: f.text, spans: []span{{0, 0}}} }

// slice returns the bytes from one offset of the part to another as a part.
func (p part) slice(from, to int) part {
	out := part{file: p.file, text: p.text[from:to], depth: p.depth, nest: p.nest}
	if p.isAnchored() {
		out.spans = p.spans
		return out
	}
	for i, sp := range p.spans {
		end := len(p.text)
		if i+1 < len(p.spans) {
			end = p.spans[i+1].from
		}
		if end <= from || sp.from >= to {
			continue
		}
		start := max(sp.from, from)
		out.spans = append(out.spans, span{start - from, sp.at + start - sp.from})
	}
	return out
}

// decoded returns a text that was made from the bytes of the part at an offset. It is found there.
func (p part) decoded(text string, at int) part {
	return part{file: p.file, text: text, depth: p.depth + 1, nest: p.nest}.anchored(p.offset(at))
}

// anchored places all of the part at one offset of the file.
func (p part) anchored(at int) part {
	p.spans = []span{{0, at}, {0, at}} // two spans at 0: no byte after the first has a place of its own
	return p
}

// offset returns the place of a byte of the part in the file.
func (p part) isAnchored() bool { return len(p.spans) == 2 && p.spans[0] == p.spans[1] }

// offset returns where a byte of the part lies in the file.
func (p part) offset(at int) int {
	if p.isAnchored() {
		return p.spans[0].at
	}
	i := sort.Search(len(p.spans), func(i int) bool { return p.spans[i].from > at }) - 1
	if i < 0 {
		return 0
	}
	return min(p.spans[i].at+at-p.spans[i].from, len(p.file.text))
}

// position returns the line and the column of an offset of the file, and how many characters of the
// line follow up to another offset.
func (f *file) position(from, to int) (skill.Position, int) {
	line := sort.SearchInts(f.starts, from+1) - 1
	start := place{f.starts[line], 1}
	if f.last.offset > start.offset && f.last.offset <= from {
		start = f.last
	}
	f.last = place{from, start.column + utf8.RuneCountInString(f.text[start.offset:from])}
	end := max(from, min(to, len(f.text)))
	if n := strings.IndexByte(f.text[from:end], '\n'); n >= 0 {
		end = from + n
	}
	return skill.Position{Line: line + 1, Column: f.last.column}, max(utf8.RuneCountInString(f.text[from:end]), 1)
}

// find notes that a rule fires on the bytes of a part from one offset to another.
func (s *scanner) find(id skill.RuleID, p part, from, to int, message string, notes ...string) {
	if s.full(id, p.file) {
		return
	}
	defer s.fires(id, p.file)()
	lo := p.offset(from)
	hi := lo
	if to > from {
		hi = p.offset(to-1) + 1
	}
	at, length := p.file.position(lo, hi)
	s.add(Finding{Rule: id, File: p.file.path, Position: at, Length: length, Message: message, Notes: notes, Text: skill.DigestOf([]byte(p.text[from:to]))})
}

// findFile notes that a rule fires on a whole file.
func (s *scanner) findFile(id skill.RuleID, path, message string, notes ...string) {
	s.add(Finding{Rule: id, File: path, Message: message, Notes: notes})
}

func (s *scanner) add(f Finding) {
	f.Message = secrets.Hide(f.Message)
	for i := range f.Notes {
		f.Notes[i] = secrets.Hide(f.Notes[i])
	}
	r := byID()[f.Rule]
	soft := f.Lane == Review // of findAs
	f.Lane, f.Fix = r.Lane, r.Fix
	if lane, ok := s.o.Lanes[f.Rule]; ok {
		f.Lane = lane
	}
	if soft && f.Lane == Enforce {
		f.Lane = Review
	}
	if f.Lane == "" || s.o.Only != "" && f.Lane != s.o.Only {
		return
	}
	if f.Text == (skill.Digest{}) {
		f.Text = skill.DigestOf([]byte(f.Message))
	}
	if slices.ContainsFunc(s.findings, func(o Finding) bool {
		return o.Rule == f.Rule && o.File == f.File && o.Position == f.Position && o.Message == f.Message
	}) {
		return
	}
	if f.Lane == Enforce {
		s.enforce++
	} else {
		s.review++
	}
	if len(s.findings) < maxFindings {
		s.findings = append(s.findings, f)
		return
	}
	// A finding to enforce is worth more than one to review.
	if i := slices.IndexFunc(s.findings, func(o Finding) bool { return o.Lane == Review }); f.Lane == Enforce && i >= 0 {
		s.findings = append(slices.Delete(s.findings, i, i+1), f)
	}
}

// notRead notes that a file could not be judged, and why.
func (s *scanner) notRead(path, why string) {
	s.fact(factNotRead, path)
	s.findFile(ruleNotRead, path, why)
}

func (s *scanner) report() Report {
	slices.SortFunc(s.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Position.Line-b.Position.Line, a.Position.Column-b.Position.Column, cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	r := Report{Findings: s.findings, Enforce: s.enforce, Review: s.review, Unread: s.unread}
	for kind, to := range []*[]string{&r.Facts.Programs, &r.Facts.Hosts, &r.Facts.Packages, &r.Facts.Variables, &r.Facts.Reads, &r.Facts.Writes, &r.Facts.Binaries, &r.Facts.Tools, &r.Facts.Hidden, &r.Facts.Unasked, &r.Facts.NotRead} {
		for value := range s.facts[kind] {
			*to = append(*to, value)
		}
		slices.Sort(*to)
	}
	return r
}

// open reads a file of the skill and judges it.
func (s *scanner) open(fsys fs.FS, f skill.File) {
	data, _, err := skill.ReadFile(fsys, f.Path, skill.MaxFile)
	if err != nil {
		s.unread = s.unread || matters(f.Path)
		s.notRead(f.Path, "it cannot be read")
		return
	}
	s.judge(f.Path, data, 0)
}

// judge judges the content of a file, or of an entry of an archive, so many archives deep. A reader
// that panics leaves the file unread.
func (s *scanner) judge(path string, data []byte, depth int) {
	defer func() {
		if recover() != nil {
			s.unread = s.unread || matters(path)
			s.notRead(path, "it cannot be judged: knack failed on it")
		}
	}()
	switch kind := kindOf(path, data); kind {
	case kindArchive:
		s.archive(path, data, depth)
	case kindProgram:
		s.program(path, data)
	case kindImage:
		s.image(path, data)
	case kindBinary:
		s.binary(path, data)
	default:
		text, ok := textOf(data)
		if !ok {
			s.unread = s.unread || matters(path)
			s.notRead(path, "it is not UTF-8 text")
			return
		}
		s.text(newFile(path, text), kind)
	}
}

// text judges a file of text by every reader that is for it.
func (s *scanner) text(f *file, kind fileKind) {
	p := f.whole()
	s.characters(p)
	s.secrets(p)
	switch kind {
	case kindMarkdown:
		s.markdown(p)
	case kindShell:
		s.shell(p, fromScript)
	case kindPython, kindJavaScript:
		s.code(p, kind)
	case kindSettings:
		s.settings(p)
	}
	s.unasked(f)
}

// textOf returns a file as text: UTF-8, or UTF-16 with a mark.
func textOf(data []byte) (string, bool) {
	text, _, ok := display.Decode(data)
	return text, ok && bytes.IndexByte(data, 0) < 0 || ok && isUTF16(data)
}

func isUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
}
