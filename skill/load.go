package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// MaxSkillMD is the limit of a SKILL.md, in bytes (contract 000).
const MaxSkillMD = 1 << 20

// Limits of fields in the specification, in characters.
const (
	MaxDescription   = 1024
	MaxCompatibility = 500
)

// Skill is a bundle that was parsed and judged. It is immutable.
type Skill struct {
	*Bundle

	// Name and Description as written, trimmed; empty if they cannot be read.
	Name, Description string
	// Available is set if name and description are usable. Otherwise the skill is skipped, and
	// Problems contains the reason.
	Available bool
	// Publishable is set if the SKILL.md satisfies the Skills extension. Only the manifest shows
	// whether the other files are within its limits.
	Publishable bool
	// ModelInvocable is false if the author withholds the skill from models
	// (disable-model-invocation: true).
	ModelInvocable bool
	// UserInvocable is false if the author keeps the skill out of people's menus
	// (user-invocable: false).
	UserInvocable bool
	// Size is the size of SKILL.md. At this place in the struct, the field needs no padding. That
	// matters because there are many skills.
	Size int32
	// Disabled is the line with which the author withholds the skill from models, usually
	// "disable-model-invocation: true". It is "" if models may load the skill.
	Disabled string
	// Frontmatter contains every field as written, as one JSON object. It is nil without
	// frontmatter.
	Frontmatter json.RawMessage
	// Problems are sorted by position.
	Problems []Problem
	// Digest is the digest of SKILL.md.
	Digest Digest
}

// Load reads and judges a bundle. It never fails. A skill that cannot be read is not available, and
// its problems contain the reason.
func Load(b *Bundle) *Skill {
	s := &Skill{Bundle: b, ModelInvocable: true, UserInvocable: true}
	data, ok := s.readEntry()
	if !ok {
		s.judgeFile()
		return s
	}
	return s.parsed(data, s.Stamp)
}

// Parsed returns the skill of the same bundle with other bytes of SKILL.md and their stamp. It does
// not retain the bytes.
func (s *Skill) Parsed(data []byte, stamp Stamp) *Skill {
	n := &Skill{Bundle: s.Bundle, ModelInvocable: true, UserInvocable: true}
	return n.parsed(data, stamp)
}

// parsed fills in a skill that has only a bundle.
func (s *Skill) parsed(data []byte, stamp Stamp) *Skill {
	s.setStamp(stamp)
	s.Size, s.Digest = int32(len(data)), DigestOf(data)
	scratch := scratches.Get().(*scratch)
	defer scratch.done()
	d := frontmatter.ParseShared(data, scratch.fields)
	s.Problems = d.Problems
	if len(d.Fields) > 0 {
		scratch.json = frontmatter.Value{Kind: frontmatter.Map, Fields: d.Fields}.AppendJSON(scratch.json[:0])
		s.Frontmatter = bytes.Clone(scratch.json) // without the spare capacity of append
	}
	s.judgeFields(d)
	s.explainEmpty(d, data)
	s.judgeFile()
	s.copyTexts()
	return s
}

// setStamp sets the stamp of the bytes that were read. Nearly always, it is the bundle's stamp
// already.
func (s *Skill) setStamp(stamp Stamp) {
	if stamp != s.Stamp {
		b := *s.Bundle
		b.Stamp = stamp
		s.Bundle = &b
	}
}

// scratch is reusable memory for reading one file.
type scratch struct {
	fields []frontmatter.Field
	json   []byte
}

var scratches = sync.Pool{New: func() any { return &scratch{fields: make([]frontmatter.Field, 16)} }}

func (s *scratch) done() {
	clear(s.fields)
	if cap(s.json) > frontmatter.MaxSize {
		s.json = nil
	}
	scratches.Put(s)
}

// copyTexts copies the texts that share memory with the file. Name and description become parts of
// the frontmatter's JSON if that contains them unchanged, as it nearly always does.
func (s *Skill) copyTexts() {
	all := display.TextOf(s.Frontmatter)
	for _, text := range []*string{&s.Name, &s.Description} {
		if i := strings.Index(all, *text); i >= 0 {
			*text = all[i : i+len(*text)]
		} else {
			*text = strings.Clone(*text)
		}
	}
	for i := range s.Problems {
		p := &s.Problems[i]
		p.Field, p.Message, p.Fix = strings.Clone(p.Field), strings.Clone(p.Message), strings.Clone(p.Fix)
	}
}

// explainEmpty explains to the author that a field is empty because its value begins with a #.
func (s *Skill) explainEmpty(d *frontmatter.Document, data []byte) {
	for i, p := range s.Problems {
		if p.Rule != frontmatter.NameMissing && p.Rule != frontmatter.DescriptionMissing {
			continue
		}
		f, ok := d.Field(p.Field)
		if n := f.KeyPosition.Line; ok && f.Value.Kind == frontmatter.Null {
			head, value, _ := strings.Cut(frontmatter.Line(data, n), ":")
			if text := strings.TrimLeft(value, " \t"); strings.HasPrefix(text, "#") && text != value {
				s.Problems[i].Position = Position{Line: n, Column: utf8.RuneCountInString(head) + 1 + utf8.RuneCountInString(value) - utf8.RuneCountInString(text) + 1}
				s.Problems[i].Message += ": a # begins a comment"
				if p.Field != "name" {
					s.Problems[i].Fix = "put the value in quotes: " + p.Field + ": '…'"
				}
			}
		}
	}
}

// Read reads the current SKILL.md: at most [MaxSkillMD] bytes of UTF-8.
func (s *Skill) Read() ([]byte, Stamp, error) { return s.ReadInto(nil) }

// ReadInto is Read with a buffer, which it uses if the file fits.
func (s *Skill) ReadInto(buf []byte) ([]byte, Stamp, error) {
	if s.Fault() != nil {
		return nil, Stamp{}, s.Fault()
	}
	data, stamp, err := readFile(s.FS, s.Entry, MaxSkillMD, buf)
	if err == nil && !utf8.Valid(data) {
		err = &fs.PathError{Op: "read", Path: s.Entry, Err: ErrNotUTF8}
	}
	return data, stamp, err
}

func (s *Skill) readEntry() ([]byte, bool) {
	if s.Entry == "" {
		fix := "rename it to SKILL.md"
		if len(s.Others()) > 1 {
			fix = "rename the intended one to SKILL.md, and delete the others"
		}
		s.problem(frontmatter.FileName, Position{}, "", fmt.Sprintf("the file is called %s", display.Excerpt(strings.Join(s.Others(), " and "))), fix)
		return nil, false
	}
	if s.Fault() != nil {
		s.fault(s.Fault())
		return nil, false
	}
	data, stamp, err := ReadFile(s.FS, s.Entry, MaxSkillMD)
	if err != nil {
		s.fault(err)
		return nil, false
	}
	s.setStamp(stamp)
	return data, true
}

// fault records why SKILL.md could not be read.
func (s *Skill) fault(err error) {
	rule, message, fix := unreadable(err)
	if rule == frontmatter.FileTooLarge {
		fix = "move text into other files of the skill; the limit is 1 MiB"
	}
	if reason, ok := errors.AsType[*HeldError](err); ok {
		s.Name = reason.Name
	}
	s.problem(rule, Position{}, "", message, fix) // messages are shown beside the path, so they need not repeat it
}

// held returns the rule that a skill breaks if its lock, its store or a policy holds it back, the
// reason, and the fix. Without such an error, the rule is "".
func held(err error) (rule RuleID, reason, fix string) {
	if locked, ok := errors.AsType[*LockError](err); ok {
		return frontmatter.FileLocked, locked.Message, locked.Fix
	}
	if stored, ok := errors.AsType[*StoreError](err); ok {
		rule = frontmatter.StoreRefused
		if stored.Damaged {
			rule = frontmatter.StoreDamaged
		}
		return rule, stored.Message, stored.Fix
	}
	if reason, ok := errors.AsType[*HeldError](err); ok {
		return frontmatter.HeldBack, reason.Message, reason.Fix
	}
	return "", "", ""
}

// unreadable returns the rule that a file breaks if it cannot be read or is held back, the message
// with the reason, and the fix.
func unreadable(err error) (rule RuleID, message, fix string) {
	if rule, message, fix = held(err); rule != "" {
		return rule, message, fix
	}
	rule, message, fix = frontmatter.FileUnreadable, "cannot be read", "see whether the disk and the file can be read at all"
	switch {
	case errors.Is(err, ErrOutside):
		rule, fix = frontmatter.FileOutside, "put the file itself here, or link the whole folder into the root"
	case errors.Is(err, ErrNotRegular):
		rule, fix = frontmatter.FileNotRegular, "put a regular file there"
	case errors.Is(err, ErrTooLarge):
		rule, fix = frontmatter.FileTooLarge, "make it smaller"
	case errors.Is(err, ErrUnstable):
		rule, fix = frontmatter.FileUnstable, "wait until the program that writes the file has finished"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ELOOP):
		rule, fix = frontmatter.FileGone, "make the link point to a file, or delete it"
	case errors.Is(err, fs.ErrPermission):
		rule, fix = frontmatter.FilePermission, "let the user who runs knack read the file and its folder"
	}
	if why := Reason(err); why != message {
		message += ": " + why
	}
	return rule, message, fix
}

// FileReason returns the reason that a file of a skill cannot be read or is held back, and the fix.
func FileReason(err error) (reason, fix string) {
	_, reason, fix = unreadable(err)
	return reason, fix
}

func (s *Skill) problem(rule RuleID, p Position, field, message, fix string) {
	s.Problems = append(s.Problems, Problem{Rule: rule, Position: p, Field: field, Message: message, Fix: fix})
}

// judgeFile adds the problems of the folder, and decides whether the skill is available and
// publishable.
func (s *Skill) judgeFile() {
	if s.Entry != "" && s.Entry != MainFile {
		s.problem(frontmatter.FileSpelling, Position{}, "", "the file is spelt "+s.Entry, "rename it to SKILL.md")
	}
	if s.Entry != "" && len(s.Others()) > 0 {
		s.problem(frontmatter.FileVariants, Position{}, "", fmt.Sprintf("the folder also contains %s, which is not read", display.Excerpt(strings.Join(s.Others(), " and "))), "delete or rename it")
	}
	if s.Path != "" && !s.InURI() {
		s.problem(frontmatter.FolderName, Position{}, "", "the path of its folder cannot be used in a URI as it is", "rename the folder, without backslashes, percent signs and colons")
	}
	slices.SortStableFunc(s.Problems, func(a, b Problem) int { return a.Position.Compare(b.Position) })
	s.Available, s.Publishable = true, true
	for _, p := range s.Problems {
		r := RuleOf(p.Rule)
		s.Available = s.Available && !r.Skips
		s.Publishable = s.Publishable && !r.Unpublishes
	}
	s.Publishable = s.Publishable && s.Available
}

// InURI reports whether a URI can name the skill below its root: by its folder's path, or
// with its name as the last segment.
func (s *Skill) InURI() bool {
	folder, named := s.Paths()
	return CleanPath(folder) == nil || CleanPath(named) == nil
}

// Paths returns the two paths below the root that can name the skill in a URI. folder is the path
// of the skill's folder. If the root itself is the skill, folder is the name of the root's folder.
// named has the skill's name as its last element. It is "" if the name equals the folder's or is
// not valid.
func (s *Skill) Paths() (folder, named string) {
	if folder = s.Path; folder == "." {
		folder = s.Folder()
	}
	if s.Name != path.Base(folder) && ValidName(s.Name) {
		named = path.Join(path.Dir(folder), s.Name)
	}
	return folder, named
}

// HeldBack reports whether the operator's policy forbids serving the skill. Only the operator sees
// its problems.
func (s *Skill) HeldBack() bool {
	p, skipped := s.SkipReason()
	return skipped && p.Rule == frontmatter.HeldBack
}

// SkipReason returns the first problem that makes the skill unavailable.
func (s *Skill) SkipReason() (Problem, bool) {
	for _, p := range s.Problems {
		if RuleOf(p.Rule).Skips {
			return p, true
		}
	}
	return Problem{}, false
}
