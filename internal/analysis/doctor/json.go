package doctor

import (
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/skill"
)

// Problem is the JSON form of a finding, in lists, reports and checks.
type Problem struct {
	Rule     skill.RuleID   `json:"rule"`
	Severity skill.Severity `json:"severity"`
	Kind     check.Kind     `json:"kind"`
	Group    check.Group    `json:"group"`
	File     string         `json:"file"` // as printed for people
	Line     int            `json:"line,omitempty"`
	Column   int            `json:"column,omitempty"`
	Length   int            `json:"length,omitempty"` // in characters
	Field    string         `json:"field,omitempty"`
	Message  string         `json:"message"`
	Fix      string         `json:"fix,omitempty"`
	Fixable  string         `json:"fixable,omitempty"` // the level at which check --fix fixes it
}

// ProblemOf returns the JSON form of a finding. file is the name of the file for people.
func ProblemOf(f check.Finding, file string) Problem {
	rule, _ := check.RuleOf(f.Rule)
	return Problem{
		Rule: f.Rule, Severity: f.Severity, Kind: f.Kind(), Group: rule.Group, File: file, Line: f.Position.Line, Column: f.Position.Column,
		Length: f.Length, Field: f.Field, Message: f.Message, Fix: f.Fix, Fixable: f.Fixable.String(),
	}
}

// Skill is the JSON form of a skill, in lists, searches and reports.
type Skill struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Status      catalog.Status  `json:"status"`
	State       judgement.State `json:"state"`
	Available   bool            `json:"available"` // served, possibly under another name
	Publishable bool            `json:"publishable"`
	URI         string          `json:"uri,omitempty"`
	Root        string          `json:"root"`
	Scope       skill.Scope     `json:"scope"`
	Path        string          `json:"path"`
	File        string          `json:"file"`
	Dir         string          `json:"dir,omitempty"`
	Link        string          `json:"link,omitempty"`
	By          string          `json:"by,omitempty"` // the URI of the skill that shadows it
	NotForModel bool            `json:"notForModels,omitempty"`
	Variants    []string        `json:"variants,omitempty"`
	HeldBack    *HeldBack       `json:"heldBack,omitempty"`
	Problems    []Problem       `json:"problems,omitempty"`
	Accepted    []string        `json:"accepted,omitempty"` // see [AcceptedIn]
	// Unpublished are the problems that keep the skill out of the Skills extension's lists.
	Unpublished []Problem `json:"unpublishedBecause,omitempty"`
	Runner      string    `json:"otherFileForRunner,omitempty"`
	Files       int       `json:"files"`
	More        bool      `json:"more,omitempty"` // there are more files than were counted
	Bytes       int64     `json:"bytes"`
	Hidden      int       `json:"dotEntries"`
	Lock        *Lock     `json:"lock,omitempty"` // the state compared with the folder's lock; absent without a lock
}

// SkillOf returns the JSON form of a judged skill.
func SkillOf(d *judgement.Verdict) Skill {
	e, sum := d.Entry, d.Summary()
	s := Skill{
		Name: e.Name, Description: e.Description, Status: e.Status, State: sum.State(), Available: e.Available,
		Publishable: sum.Published,
		URI:         e.URI().String(), Root: e.Root.Label, Scope: e.Root.Scope, Path: e.Path, File: e.Place(), Dir: e.Dir(), Link: e.Link(),
		NotForModel: !e.ModelInvocable, Variants: e.Others(), Runner: notFor000(e),
		Files: d.Cost.Files, More: d.Cost.More, Bytes: d.Cost.Bytes, Hidden: d.NHidden, Lock: LockOf(d.Locked), HeldBack: HeldBackOf(e),
		Accepted: AcceptedIn(d),
	}
	if e.By != nil {
		s.By = e.By.URI().String()
	}
	for _, f := range d.Findings {
		s.Problems = append(s.Problems, ProblemOf(f, fileOf(e, f.File)))
	}
	for _, f := range d.Unpublished() {
		s.Unpublished = append(s.Unpublished, ProblemOf(f, fileOf(e, f.File)))
	}
	return s
}

// fileOf returns the name of a skill's file for people. The file "" is the skill's folder.
func fileOf(e *catalog.Entry, file string) string {
	return skill.Join(e.Root.Name(), e.Path, file)
}

// RootStatus is the JSON form of a root.
type RootStatus struct {
	Label   string            `json:"label"`
	Scope   skill.Scope       `json:"scope"`
	Dir     string            `json:"dir,omitempty"`
	Present bool              `json:"present"`
	State   catalog.RootState `json:"state"`
	Count   int               `json:"count"`
	Error   string            `json:"error,omitempty"`
	Fix     string            `json:"fix,omitempty"`
	Notices []Notice          `json:"notices,omitempty"`
}

// Notable reports whether the root exists, or has an error or a notice.
func (r RootStatus) Notable() bool { return r.Present || r.Error != "" || len(r.Notices) > 0 }

// Notice is the JSON form of a notice of a scan.
type Notice struct {
	Path    string       `json:"path"`
	Rule    skill.RuleID `json:"rule"`
	Message string       `json:"message"`
	Fix     string       `json:"fix,omitempty"`
}

// Roots returns the roots of a view, including the missing ones.
func Roots(v catalog.View) []RootStatus {
	out := []RootStatus{}
	for _, r := range v.Roots {
		root := RootStatus{Label: r.Label, Scope: r.Scope, Dir: r.Dir, Present: !r.Missing, State: r.State(), Count: r.Count}
		if r.Err != nil {
			root.Error, root.Fix = r.Reason()
		}
		for _, n := range r.Notices {
			root.Notices = append(root.Notices, Notice{n.Path, n.Rule, n.Message, n.Fix})
		}
		out = append(out, root)
	}
	return out
}

// notFor000 explains why contract 000 reads a different file for a skill, or no file. That contract
// reads SKILL.MD or otherwise SKILL.md. The result is "" if contract 000 reads the skill's main
// file.
func notFor000(e *catalog.Entry) string {
	all := append([]string{e.Entry}, e.Others()...)
	for _, want := range []string{"SKILL.MD", "SKILL.md"} {
		for _, have := range all {
			switch {
			case have != want:
			case have == e.Entry:
				return ""
			case e.Entry == "":
				return "the tool set runner reads " + want + "; nothing else does"
			default:
				return "the tool set runner reads " + want + ", everything else " + e.Entry
			}
		}
	}
	if e.Entry == "" {
		return ""
	}
	return "the tool set runner reads SKILL.MD or SKILL.md only, so it finds nothing here; everything else reads " + e.Entry
}
