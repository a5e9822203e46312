package distcmd

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

// skillJSON is the JSON form of a step. doc/api.md describes the fields.
type skillJSON struct {
	Name     string `json:"name"`
	Folder   string `json:"folder,omitempty"`
	Action   string `json:"action"`
	Source   string `json:"source,omitempty"`
	Want     string `json:"want,omitempty"`
	Path     string `json:"path,omitempty"`
	Revision string `json:"revision,omitempty"`
	Version  string `json:"version,omitempty"`
	Pinned   bool   `json:"pinned,omitempty"`
	// Signature is the verdict on the present signature, and Signer the signer in the lock.
	Signature string            `json:"signature,omitempty"`
	Signer    string            `json:"signer,omitempty"`
	Digest    string            `json:"digest,omitempty"`
	Files     int               `json:"files,omitempty"`
	From      *stateJSON        `json:"from,omitempty"`
	Changes   *changesJSON      `json:"changes,omitempty"`
	Drift     *changesJSON      `json:"drift,omitempty"`
	Kept      string            `json:"kept,omitempty"`
	Clients   []spotJSON        `json:"clients,omitempty"`
	With      []string          `json:"with,omitempty"`
	Same      []string          `json:"same,omitempty"`
	Findings  []scanFindingJSON `json:"findings,omitempty"`
	Warnings  []string          `json:"warnings,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Fix       string            `json:"fix,omitempty"`
}

type stateJSON struct {
	Source   string `json:"source,omitempty"` // only if it was a different source
	Revision string `json:"revision,omitempty"`
	Version  string `json:"version,omitempty"`
	Signer   string `json:"signer,omitempty"`
	Digest   string `json:"digest"`
}

type changesJSON struct {
	Added   []string `json:"added"`
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
}

type choiceJSON struct {
	Source      string `json:"source"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Path        string `json:"path"`
	Reason      string `json:"reason,omitempty"`
	Warning     string `json:"warning,omitempty"`
}

type reportJSON struct {
	Command string `json:"command"`
	Lock    string `json:"lock,omitempty"`
	DryRun  bool   `json:"dryRun"`
	command.Ending
	// Warnings are the warnings that do not belong to a single skill.
	Warnings []string     `json:"warnings,omitempty"`
	Skills   []skillJSON  `json:"skills"`
	Choices  []choiceJSON `json:"choices,omitempty"`
	Unlocked []string     `json:"unlocked,omitempty"` // skills beside locked ones (verify)
	Sees     []seesJSON   `json:"sees,omitempty"`

	text *report // nil if there is no plan
}

func changesOf(c install.Changes) *changesJSON {
	if !c.Any() {
		return nil
	}
	list := func(paths []string) []string { return append([]string{}, paths...) }
	return &changesJSON{list(c.Added), list(c.Changed), list(c.Removed)}
}

// result returns the result of a command that has not made its plan yet.
func (f *flags) result(cmd *cobra.Command) *reportJSON {
	return &reportJSON{Command: cmd.Name(), Lock: f.lock, DryRun: f.dryRun, Warnings: f.warnings(), Skills: []skillJSON{}}
}

// report fills in the results of the plan.
func (o *reportJSON) report(r *report) {
	o.text = r
	o.Warnings = append(o.Warnings, r.plan.Notes...)
	o.Sees, o.Unlocked = r.sees.json(), r.plan.Unlocked
	if len(r.plan.Choices) > 0 {
		o.Choices = choicesJSON(r.plan.Choices)
	}
	for _, s := range r.plan.Steps {
		j := skillJSON{Name: s.Name, Folder: s.Key, Action: string(s.Do), Kept: s.Kept, Clients: spotsJSON(s.Spots), With: s.With, Same: s.Same, Findings: scanFindings(s.Findings), Warnings: s.Warned(false), Drift: changesOf(s.Drift), Signature: string(s.Signature.State)}
		e := s.Entry
		if e.Source == "" && s.Was != nil {
			e = *s.Was
		}
		if e.Source != "" {
			// A refused source may contain a secret, so it is left out.
			if _, err := origin.Parse(e.Source, filepath.Dir(r.in.LockFile()), r.env.Home); err == nil {
				j.Source = e.Source
			}
			j.Want, j.Path, j.Revision, j.Version, j.Pinned, j.Signer = e.Want, e.Path, e.Revision, e.Version, e.Pinned, e.Signer
			j.Files = len(e.Files)
			if j.Files > 0 { // otherwise it was not fetched
				j.Digest = e.Digest.String()
			}
		}
		if s.Was != nil && (s.Was.Digest != e.Digest || s.Was.Source != e.Source) {
			j.From = &stateJSON{"", s.Was.Revision, s.Was.Version, s.Was.Signer, s.Was.Digest.String()}
			if s.Was.Source != e.Source {
				j.From.Source = s.Was.Source
			}
			j.Changes = changesOf(s.Changes)
		}
		if s.Problem != nil {
			j.Reason, j.Fix = s.Problem.Error(), s.Problem.Fix
		}
		o.Skills = append(o.Skills, j)
	}
}

// Print implements [command.Result].
func (o *reportJSON) Print(*console.Env) {
	if r := o.text; r != nil && (o.Reason == "" || len(r.plan.Steps) > 0) {
		r.print()
	}
}

// scanFindingJSON is a finding of a scan.
type scanFindingJSON struct {
	Rule    skill.RuleID `json:"rule"`
	Lane    scan.Lane    `json:"lane"`
	File    string       `json:"file"`
	Line    int          `json:"line,omitempty"`
	Column  int          `json:"column,omitempty"`
	Message string       `json:"message"`
}

func scanFindings(found []install.Finding) (out []scanFindingJSON) {
	for _, f := range found {
		out = append(out, scanFindingJSON{f.Rule, laneOf(f), f.File, f.Line, f.Column, f.Message})
	}
	return out
}
