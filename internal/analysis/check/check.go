package check

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Finding is one place at which a skill breaks a rule.
type Finding struct {
	Rule     skill.RuleID
	Severity skill.Severity
	// File is the file's path below the skill's folder, as spelled there; "" means the folder.
	File string
	// Position is the start of the faulty token, or zero if the finding concerns the whole file.
	// Length is in characters, and does not exceed the line.
	Position skill.Position
	Length   int
	Field    string // the frontmatter key that the finding concerns, or ""
	Message  string
	Notes    []string // further facts
	Fix      string   // advice; may be empty
	// Fixable is the level at which [Fix] can fix the finding, or None.
	Fixable Level
	// Related is another place that the finding mentions, or nil.
	Related *Place
	// Accepted is the operator's reason for accepting the finding, with the place of that reason in
	// the settings, or "". An accepted finding has the severity info.
	Accepted string
}

// Kind tells whether a finding is about the format or about the contents of a skill.
type Kind string

// The kinds of findings.
const (
	KindFormat Kind = "format" // findings of this package: the skill can fail in a client or confuse a reader
	KindScan   Kind = "scan"   // findings of package scan: the effects of the skill
)

// Kind returns the kind of the finding.
func (f Finding) Kind() Kind {
	if scan.IsRule(f.Rule) {
		return KindScan
	}
	return KindFormat
}

// Lane returns the lane of the finding. The finding must have the kind [KindScan].
func (f Finding) Lane() scan.Lane {
	if f.Severity == skill.SeverityError {
		return scan.Enforce
	}
	return scan.Review
}

// Cost is the size of a skill for a model that reads it. Tokens are estimated as four characters
// each, as model vendors do for English text.
type Cost struct {
	ListingCharacters, ListingTokens int
	BodyCharacters, BodyTokens       int
	Lines                            int // of SKILL.md
	Files                            int
	Bytes                            int64 // of all files
	More                             bool  // there are more files than were counted
}

// Report is the result of checking one skill.
type Report struct {
	Skill *skill.Skill
	Data  []byte // SKILL.md as judged; nil if it could not be read
	// NameAt is the position of the name's value in SKILL.md, or zero if there is no name.
	NameAt   skill.Position
	Findings []Finding
	Cost     Cost
	Whole    bool // the contents of all files were judged, not only the format

	nameLength int // in characters
}

// Publishable reports whether the Skills extension lists the skill: the skill is available, and no
// finding keeps it out of the lists.
func (r Report) Publishable() bool {
	return r.Skill.Available && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return Unpublishes(f.Rule) })
}

// maxListed limits the listed files. The largest real skill has 1,104.
const maxListed = 10_000

// subject is a skill with its parsed SKILL.md. The rules examine it. All strings are substrings of
// text.
type subject struct {
	skill    *skill.Skill
	doc      *frontmatter.Document
	data     []byte // the bytes of SKILL.md, or nil if it cannot be read
	text     string // SKILL.md for messages, or "" if it is not UTF-8
	lines    []line
	body     string
	first    int // the index of the first line of the body
	files    []skill.File
	more     bool
	lacks    string          // the path of a file or folder that cannot be listed, or ""
	unlisted error           // why the list of files is incomplete
	names    map[string]bool // every served file and folder
	cost     Cost
	links    []link
}

// Format judges and measures only the format of a skill. It reads SKILL.md again, since a skill
// does not store the text. If the file has changed, Format judges the new text. It never fails:
// anything that it cannot read is a finding.
func Format(ctx context.Context, s *skill.Skill) Report { return report(ctx, s, nil) }

// Skill judges a skill as [Format] does, and adds the findings of package scan in all of its files.
// A finding to enforce becomes an error, and a finding to review becomes an info. Skill takes ten
// times as long as Format.
func Skill(ctx context.Context, s *skill.Skill, o scan.Options) Report {
	return report(ctx, s, func(sub *subject) (scan.Report, error) {
		return scan.Listed(ctx, withMain{scan.Served(sub.skill), sub.data}, sub.files, sub.more, sub.unlisted, o)
	})
}

// Known judges a skill as [Skill] does, given a scan report of its bytes.
func Known(ctx context.Context, s *skill.Skill, r scan.Report) Report {
	return report(ctx, s, func(*subject) (scan.Report, error) { return r, nil })
}

// contentScan returns the report of package scan on all files of a skill.
type contentScan func(*subject) (scan.Report, error)

// report judges a skill. It gets the findings about the contents from by. If by is nil, it judges
// only the format.
func report(ctx context.Context, s *skill.Skill, by contentScan) Report {
	sub := &subject{skill: s, doc: &frontmatter.Document{}}
	r := Report{Skill: s}
	if s.Entry != "" && s.Fault() == nil {
		if data, stamp, err := skill.ReadFile(s.FS, s.Entry, skill.MaxSkillMD); err == nil {
			if skill.DigestOf(data) != s.Digest {
				s = s.Parsed(data, stamp) // the file was written between the two readings
			}
			r.Skill, r.Data = s, data
			sub.skill, sub.data = s, data
			if utf8.Valid(data) {
				text := data
				if by != nil {
					text = sub.masked(stamp)
				}
				sub.read(text)
			}
		}
	}
	if s.FS != nil {
		sub.list(ctx)
	}
	sub.measure()
	r.Cost = sub.cost
	if f, ok := sub.doc.Field("name"); ok {
		at := sub.field(f, "", "")
		r.NameAt, r.nameLength = at.Position, at.Length
	}
	contents, whole := sub.contents(ctx, by)
	r.Findings, r.Whole = sub.applyRules(contents), whole
	return r
}

// masked returns SKILL.md with its secrets masked, so that no message can quote a secret. It also
// masks the secrets in the fields of the skill.
func (s *subject) masked(stamp skill.Stamp) []byte {
	text := scan.MaskSecrets(string(s.data))
	if text != string(s.data) {
		s.skill = s.skill.Parsed([]byte(text), stamp)
	}
	return []byte(text)
}

func (s *subject) read(data []byte) {
	s.text = string(data)
	s.doc = frontmatter.Parse(data)
	s.lines = linesOf(s.text)
	s.body = s.text[s.doc.Body:]
	s.first = lineAt(s.lines, s.doc.Body)
	if len(s.doc.Fields) == 0 && s.body == "" {
		s.body, s.first = s.text, 0 // without frontmatter, the whole file is text
	}
	s.links = linksOf(s.body, s.first, s.lines)
}

func (s *subject) list(ctx context.Context) {
	files, more, err := s.skill.List(ctx, maxListed)
	s.unlisted = err
	if at := (*fs.PathError)(nil); errors.Is(err, skill.ErrIncomplete) && errors.As(err, &at) {
		s.lacks = at.Path
	} else if err != nil {
		return
	}
	s.files, s.more = files, more
	s.names = make(map[string]bool, len(files))
	for _, f := range files {
		for p := f.Path; p != "" && !s.names[p]; {
			s.names[p] = true
			i := strings.LastIndexByte(p, '/')
			p = p[:max(i, 0)]
		}
	}
}

func (s *subject) measure() {
	listing := utf8.RuneCountInString(s.skill.Name) + utf8.RuneCountInString(s.skill.Description)
	body := utf8.RuneCountInString(s.body)
	s.cost = Cost{
		ListingCharacters: listing, ListingTokens: tokens(listing),
		BodyCharacters: body, BodyTokens: tokens(body),
		Lines: len(s.lines), Files: len(s.files), More: s.more,
	}
	for _, f := range s.files {
		s.cost.Bytes += f.Size
	}
}

// tokens estimates the tokens of a text, rounded up.
func tokens(characters int) int { return (characters + 3) / 4 }

// applyRules returns the findings of the rules of this package. It merges them with contents, the
// findings of package scan.
func (s *subject) applyRules(contents []Finding) []Finding {
	var all []Finding
	for _, p := range s.skill.Problems {
		all = append(all, s.finding(p))
	}
	for _, r := range rows {
		if r.apply == nil {
			continue
		}
		for _, f := range r.apply(s) {
			f.Rule, f.Severity = r.ID, cmp.Or(f.Severity, r.Severity)
			all = append(all, f)
		}
	}
	all = append(withoutTwins(all, contents), contents...)
	Sort(all)
	meant := Meant(s.skill, s.data)
	if s.text != "" {
		if meant {
			markFixable(s, all)
		}
		var source *Source
		for i, f := range all {
			if f.Fixable == None && strings.Contains(f.Fix, someValue) {
				if source == nil {
					source = NewSource([]byte(s.text))
				}
				all[i].Fix = source.exactly(f.Fix, f.Position)
			}
		}
	}
	if meant && s.skill.Entry == "" && len(s.skill.Others()) == 1 {
		for i := range all {
			if all[i].Rule == frontmatter.FileName {
				all[i].Fixable = Guess // if there are two files, the intended one is unknown
			}
		}
	}
	return all
}

// Sort sorts findings by file and position. Findings at one position keep their order.
func Sort(all []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Position.Line-b.Position.Line, a.Position.Column-b.Position.Column)
	})
}

// finding converts a problem that package skill found.
func (s *subject) finding(p skill.Problem) Finding {
	f := Finding{
		Rule: p.Rule, Severity: skill.RuleOf(p.Rule).Severity, File: s.skill.Entry, Position: p.Position,
		Field: p.Field, Message: p.Message, Fix: p.Fix,
	}
	if f.File == "" && len(s.skill.Others()) > 0 {
		f.File = s.skill.Others()[0]
	}
	if p.Position.Line > 0 && p.Position.Line <= len(s.lines) {
		f.Length = s.tokenLength(p.Position)
	}
	return f
}

// tokenLength returns the length in characters of the token at a position. A key ends at its colon,
// a value with its line, and any other token at the next space.
func (s *subject) tokenLength(p skill.Position) int {
	rest := s.lines[p.Line-1].suffix(p.Column)
	for _, f := range s.doc.Fields {
		if f.KeyPosition == p {
			return max(utf8.RuneCountInString(f.Key), 1)
		}
		if f.Value.Position == p {
			return max(utf8.RuneCountInString(strings.TrimRight(rest, " \t")), 1)
		}
	}
	if i := strings.IndexAny(rest, " \t"); i >= 0 {
		rest = rest[:i]
	}
	return max(utf8.RuneCountInString(rest), 1)
}

// findingAt returns a finding in SKILL.md about length characters at a byte offset.
func (s *subject) findingAt(offset, length int, message, fix string) Finding {
	n := lineAt(s.lines, offset)
	return Finding{
		File: s.skill.Entry, Length: length, Message: message, Fix: fix,
		Position: skill.Position{Line: n + 1, Column: s.lines[n].column(offset)},
	}
}

// field returns a finding about the value of a field.
func (s *subject) field(f frontmatter.Field, message, fix string) Finding {
	out := Finding{File: s.skill.Entry, Position: f.Value.Position, Field: f.Key, Message: message, Fix: fix}
	if out.Position.Line > 0 && out.Position.Line <= len(s.lines) {
		out.Length = s.tokenLength(out.Position)
	}
	return out
}

// exists reports whether the skill serves a file or folder with this path. If it does not, the
// error is the reason.
func (s *subject) exists(p string) (bool, error) {
	if p == "." || s.names[p] {
		return true, nil
	}
	if skill.Hidden(p) {
		return false, fs.ErrNotExist
	}
	_, err := fs.Stat(s.skill.FS, p) // the path may be an empty folder, or not listed because there are too many files
	return err == nil, err
}
