package web

import (
	"strconv"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/skill"
)

// finding is one finding of the check, as a page shows it.
type finding struct {
	Rule         skill.RuleID
	Kind         check.Kind
	Severity     skill.Severity
	File         string
	Line, Column int
	Message, Fix string
	Before, Mark string // the text before the marked part of the line, and that part
	After        string
	Fixable      bool   // knack check --fix fixes it
	Href         string // the line in the source
}

// findingsOf returns the findings of a verdict with the lines of SKILL.md that they
// refer to.
func findingsOf(d *judgement.Verdict, data []byte) (out []finding) {
	var lines []string
	if skill.DigestOf(data) == d.Skill.Digest {
		lines = linesOf(string(data))
	}
	for _, f := range d.Findings {
		w := finding{
			Rule: f.Rule, Kind: f.Kind(), Severity: f.Severity, File: f.File, Line: f.Position.Line, Column: f.Position.Column,
			Message: f.Message, Fix: f.Fix, Fixable: f.Fixable != check.None,
		}
		if f.File == d.Entry.Entry && w.Line > 0 && d.Entry.Status != catalog.Skipped {
			w.Href = pageOf(d.Entry) + "?view=" + viewSource + "#L" + strconv.Itoa(w.Line)
		}
		if f.File == d.Entry.Entry && w.Line > 0 && w.Line <= len(lines) && utf8.ValidString(lines[w.Line-1]) {
			w.Before, w.Mark, w.After = mark([]rune(lines[w.Line-1]), w.Column, f.Length)
		}
		out = append(out, w)
	}
	return out
}

// mark splits a line around the range of a finding, and shortens the text before and after it.
func mark(line []rune, column, length int) (before, marked, after string) {
	const around = 60
	from := min(max(column-1, 0), len(line))
	to := min(from+max(length, 1), len(line), from+2*around)
	begin, end := max(0, from-around), min(len(line), to+around)
	before, marked, after = string(line[begin:from]), string(line[from:to]), string(line[to:end])
	if begin > 0 {
		before = "…" + before
	}
	if end < len(line) {
		after += "…"
	}
	return before, marked, after
}
