package scan

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/archive"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/bound"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/characters"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/commands"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/markdown"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// scanner collects the findings of the readers in the files of one skill. It implements
// [passage.Report].
type scanner struct {
	o        Options
	fired    map[firing]firings
	findings []Finding
	enforce  int
	review   int
	facts    [passage.Facts]map[string]bool
	unread   bool
	tooLarge bool
	failed   bool
	files    map[string]bool // the paths of the skill's files, and of the entries of its archives
	budget   archive.Budget
	judged   int          // number of bytes of text, weighted by [cost]
	file     string       // the file of the skill that is judged at present
	archives []skill.File // the archives; they are judged after all other files
	commands *commands.Analyzer
}

func newScanner(o Options) *scanner {
	s := &scanner{o: o, files: map[string]bool{}}
	s.commands = commands.New(s)
	return s
}

// Fact records a fact. It drops facts that are too long or too many.
func (s *scanner) Fact(kind passage.Fact, value string) {
	if value == "" || len(value) > passage.MaxFact || kind == passage.FactProgram && len(value) > passage.MaxProgram || len(s.facts[kind]) >= passage.MaxFacts {
		return
	}
	if s.facts[kind] == nil {
		s.facts[kind] = map[string]bool{}
	}
	s.facts[kind][strings.ToValidUTF8(secrets.Hide(value), "\uFFFD")] = true
}

// Find reports that a rule fires on the bytes of a part between two offsets.
func (s *scanner) Find(id skill.RuleID, p passage.Part, from, to int, message string, notes ...string) {
	if s.Full(id, p.File) {
		return
	}
	defer s.fires(id, p.File)()
	at, length := p.Place(from, to)
	s.add(Finding{Rule: id, File: p.File.Path, Position: at, Length: length, Message: message, Notes: notes, Text: skill.DigestOf([]byte(lineOf(p.Text, from, to)))})
}

// Look is like [scanner.Find], but the finding is in the lane review even if the rule is in the
// lane enforce.
func (s *scanner) Look(id skill.RuleID, p passage.Part, from, to int, message string, notes ...string) {
	at, length := p.Place(from, to)
	s.add(Finding{Rule: id, Lane: Review, File: p.File.Path, Position: at, Length: length, Message: message, Notes: notes, Text: skill.DigestOf([]byte(lineOf(p.Text, from, to)))})
}

// During calls judge and returns the rules that fire during the call.
func (s *scanner) During(judge func()) (ids []string, enforced bool) {
	before, enforce := len(s.findings), s.enforce
	judge()
	for _, f := range s.findings[min(before, len(s.findings)):] {
		if id := string(f.Rule); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, s.enforce > enforce
}

// findFile reports that a rule fires on a whole file.
func (s *scanner) findFile(id skill.RuleID, path, message string) {
	s.add(Finding{Rule: id, File: path, Message: message})
}

func (s *scanner) add(f Finding) {
	f.Message = secrets.Hide(f.Message)
	for i := range f.Notes {
		f.Notes[i] = secrets.Hide(f.Notes[i])
	}
	r := byID()[f.Rule]
	soft := f.Lane == Review // set by Look
	f.Lane, f.Fix = r.Lane, cmp.Or(f.Fix, r.Fix)
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
	s.keep(f)
}

// keep counts a finding, and adds it to the list if there is room.
func (s *scanner) keep(f Finding) {
	if f.Lane == Enforce {
		s.enforce++
	} else {
		s.review++
	}
	if len(s.findings) < maxFindings {
		s.findings = append(s.findings, f)
		return
	}
	// A finding to enforce replaces a finding to review. So does a finding of too-large, which may
	// hold the skill back.
	weighty := func(f Finding) bool { return f.Lane == Enforce || f.Rule == passage.TooLarge }
	if i := slices.IndexFunc(s.findings, func(o Finding) bool { return !weighty(o) }); weighty(f) && i >= 0 {
		s.findings = append(slices.Delete(s.findings, i, i+1), f)
	}
}

// notRead reports that a file could not be judged, and why.
func (s *scanner) notRead(path, why string) { s.unreadable(path, why, "") }

// unreadable is like notRead, with a fix for the cause. If fix is "", the finding gets the fix of
// the rule.
func (s *scanner) unreadable(path, why, fix string) {
	s.Fact(passage.FactNotRead, path)
	s.add(Finding{Rule: passage.NotRead, File: path, Message: why, Fix: fix})
}

// TooLarge reports that a part of a file was not judged because the file exceeds a limit, and which
// one.
func (s *scanner) TooLarge(path, why string) {
	s.tooLarge = true
	s.Fact(passage.FactNotRead, path)
	s.findFile(passage.TooLarge, path, why)
}

// sortedFindings returns the findings by file, position and rule.
func (s *scanner) sortedFindings() []Finding {
	sort.Slice(s.findings, func(i, j int) bool { // slices.SortFunc takes 20 KB of the binary for each type
		a, b := &s.findings[i], &s.findings[j]
		return cmp.Or(cmp.Compare(a.File, b.File), a.Position.Line-b.Position.Line, a.Position.Column-b.Position.Column, cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message)) < 0
	})
	return s.findings
}

func (s *scanner) report() Report {
	s.commands.Finish()
	r := Report{Findings: s.sortedFindings(), Enforce: s.enforce, Review: s.review, Unread: s.unread, TooLarge: s.tooLarge, Failed: s.failed}
	for kind, to := range []*[]string{&r.Facts.Programs, &r.Facts.Hosts, &r.Facts.Packages, &r.Facts.Variables, &r.Facts.Reads, &r.Facts.Writes, &r.Facts.Binaries, &r.Facts.Tools, &r.Facts.Hidden, &r.Facts.Unasked, &r.Facts.NotRead} {
		for value := range s.facts[kind] {
			*to = append(*to, value)
		}
		slices.Sort(*to)
	}
	return r
}

// open reads a file of the skill and judges it. If last is not set, it postpones an archive. The
// error is only the context's.
func (s *scanner) open(ctx context.Context, fsys fs.FS, f skill.File, last bool) error {
	leave, err := bound.Enter(ctx, f.Size)
	if err != nil {
		return err
	}
	defer func() { leave() }()
	data, _, err := skill.ReadFile(fsys, f.Path, skill.MaxFile)
	if err != nil {
		s.unread = s.unread || matters(f.Path)
		s.failed = s.failed || !errors.Is(err, skill.ErrTooLarge)
		reason, fix := skill.FileReason(err)
		s.unreadable(f.Path, reason, fix)
		return nil
	}
	packed := kindOf(f.Path, data) == kindArchive
	if packed && !last {
		s.archives = append(s.archives, f)
		return nil
	}
	if size := int64(len(data)); size > f.Size || packed {
		leave()
		if leave, err = bound.Enter(ctx, max(size, bound.Memory)); err != nil { // an archive needs more memory than its size
			leave = func() {}
			return err
		}
	}
	s.file = f.Path
	s.scanContent(f.Path, data, 0)
	return nil
}

// scanContent judges the content of a file, or of an entry that depth archives contain. If a reader
// panics, the file counts as unread.
func (s *scanner) scanContent(path string, data []byte, depth int) {
	defer func() {
		if recover() != nil {
			s.unread = s.unread || matters(path)
			s.unreadable(path, "it cannot be judged: knack failed on it", "report this as a bug of knack")
		}
	}()
	switch kind := kindOf(path, data); kind {
	case kindArchive:
		s.archive(path, data, depth)
	case kindProgram:
		s.program(path, data)
	case kindBinary:
		s.binary(path, data)
	default:
		text, ok := textOf(data)
		if !ok && kind == kindJavaScript && utf8.Valid(data) {
			text, ok = string(data), true // its strings may have a zero byte
		}
		if !ok {
			s.unread = s.unread || matters(path)
			s.notRead(path, "it is not UTF-8 text")
			return
		}
		n := len(text) * cost(kind)
		if s.judged+n > bound.Text {
			s.TooLarge(s.file, "the skill has too much text: more than 2 MiB of Markdown and shell, 4 MiB of other code, or 32 MiB in all")
			return
		}
		s.judged += n
		s.text(&passage.File{Path: path, Text: text}, kind)
	}
}

// cost returns the weight of each byte of a text. It depends on the time that the readers take: up
// to 0.7 s for 1 MiB of Markdown.
func cost(kind fileKind) int {
	switch kind {
	case kindMarkdown, kindShell:
		return 16
	case kindPython, kindJavaScript:
		return 8
	}
	return 1
}

// text judges a text file with every reader for its kind.
func (s *scanner) text(f *passage.File, kind fileKind) {
	p := f.Whole()
	characters.Scan(s, p)
	s.secrets(p)
	switch kind {
	case kindMarkdown:
		markdown.Scan(s, s.commands, p)
	case kindShell:
		s.commands.Shell(p, commands.Script)
	case kindPython, kindJavaScript:
		s.commands.Code(p, kind == kindPython, commands.Script)
	case kindSettings:
		s.settings(p)
	case kindLines:
		s.commands.Lines(p)
	}
	s.unasked(f)
}

// secrets reports private keys, and tokens of known issuers.
func (s *scanner) secrets(p passage.Part) {
	for _, found := range secrets.In(p.Text) {
		hidden := p.Text[found.Body:found.To]
		s.Find(RuleSecret, p, found.From, found.To, fmt.Sprintf("%s: '%s…', %d characters", found.What, hidden[:secrets.Shown], len(hidden)))
	}
}

// textOf returns a file as text if it is UTF-8, or UTF-16 with a byte-order mark.
func textOf(data []byte) (string, bool) {
	text, _, ok := display.Decode(data)
	return text, ok && bytes.IndexByte(data, 0) < 0 || ok && isUTF16(data)
}

func isUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
}
