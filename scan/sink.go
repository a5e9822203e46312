package scan

import (
	"bytes"
	"cmp"
	"io/fs"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/scan/internal/archive"
	"github.com/knack-dev/knack/scan/internal/passage"
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
	commands *commands
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

// find notes that a rule fires on the bytes of a part from one offset to another.
func (s *scanner) find(id skill.RuleID, p passage.Part, from, to int, message string, notes ...string) {
	if s.full(id, p.File) {
		return
	}
	defer s.fires(id, p.File)()
	at, length := p.Place(from, to)
	s.add(Finding{Rule: id, File: p.File.Path, Position: at, Length: length, Message: message, Notes: notes, Text: skill.DigestOf([]byte(p.Text[from:to]))})
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
		s.text(&passage.File{Path: path, Text: text}, kind)
	}
}

// text judges a file of text by every reader that is for it.
func (s *scanner) text(f *passage.File, kind fileKind) {
	p := f.Whole()
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
