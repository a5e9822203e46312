package check

import (
	"bytes"
	"context"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// laneSeverities maps the lanes of package scan to severities. Honest skills can have findings to
// review, but none to enforce.
var laneSeverities = map[scan.Lane]skill.Severity{scan.Enforce: skill.SeverityError, scan.Review: skill.SeverityInfo}

// characterRules lists the rules of package scan about invisible characters.
var characterRules = []skill.RuleID{"text-tags", "text-selectors", "text-zero-width-run", "zero-width-in-word", "text-bidi"}

// contents returns the findings of package scan about the skill. whole is true if all files were
// judged. If by is nil, contents returns only the findings about invisible characters in SKILL.md.
func (s *subject) contents(ctx context.Context, by contentScan) (out []Finding, whole bool) {
	if whole = by != nil && s.skill.FS != nil; !whole {
		if !hasUnseen(s.text) {
			return nil, false
		}
		by = func(*subject) (scan.Report, error) {
			return scan.Skill(ctx, withMain{scan.Served(s.skill), s.data}, []skill.File{{Path: skill.MainFile, Size: int64(len(s.text))}}, scan.Options{})
		}
	}
	r, err := by(s)
	if err != nil {
		return nil, false
	}
	for _, f := range r.Findings {
		if !whole && !slices.Contains(characterRules, f.Rule) {
			continue
		}
		out = append(out, Finding{
			Rule: f.Rule, Severity: laneSeverities[f.Lane], File: s.skill.OnDisk(f.File), Position: f.Position, Length: f.Length,
			Message: f.Message, Notes: f.Notes, Fix: f.Fix,
		})
	}
	return out, whole
}

// hasUnseen reports whether a text contains an invisible character that it does not need.
func hasUnseen(text string) bool {
	if display.IsASCII(text) {
		return false
	}
	for i, r := range text {
		if display.IsHidden(text, i, r) && (i > 0 || r != '\ufeff') {
			return true
		}
	}
	return false
}

// withoutTwins drops each finding of text-zero-width about characters that package scan also
// reports.
func withoutTwins(all, found []Finding) []Finding {
	return slices.DeleteFunc(all, func(f Finding) bool {
		return f.Rule == ruleTextZeroWidth && slices.ContainsFunc(found, func(o Finding) bool {
			return o.File == f.File && o.Position.Line == f.Position.Line && slices.Contains(characterRules, o.Rule) &&
				o.Position.Column < f.Position.Column+f.Length && f.Position.Column < o.Position.Column+o.Length
		})
	})
}

// withMain is the file system of a skill (see [scan.Served]). It serves the main file from memory.
type withMain struct {
	fs.FS
	main []byte // nil if it could not be read
}

// Open opens a file by its served name.
func (w withMain) Open(name string) (fs.File, error) {
	if name == skill.MainFile && w.main != nil {
		return &mainFile{bytes.NewReader(w.main)}, nil
	}
	return w.FS.Open(name)
}

// mainFile is a main file in memory.
type mainFile struct{ *bytes.Reader }

func (*mainFile) Close() error                 { return nil }
func (f *mainFile) Stat() (fs.FileInfo, error) { return f, nil }
func (*mainFile) Name() string                 { return skill.MainFile }
func (*mainFile) Mode() fs.FileMode            { return 0o444 }
func (*mainFile) ModTime() time.Time           { return time.Time{} }
func (*mainFile) IsDir() bool                  { return false }
func (*mainFile) Sys() any                     { return nil }

// OfNotice converts a notice of a source to a finding. The file of the finding is the path below
// the root.
//
// A link that leads out of a skill is a warning, and an error if it leads to credentials.
func OfNotice(n skill.Notice) Finding {
	rule, _ := RuleOf(n.Rule)
	f := Finding{Rule: n.Rule, Severity: rule.Severity, File: n.Path, Message: n.Message, Fix: n.Fix}
	if n.Rule == dir.RuleLinkOutside && scan.NamesCredentials(strings.ReplaceAll(n.Target, `\`, "/")) {
		f.Severity, f.Message, f.Fix = skill.SeverityError, "the link leads to credentials, out of the skill's folder, and is not followed", "remove the link"
	}
	return f
}
