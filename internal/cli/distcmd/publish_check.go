package distcmd

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/cli/command"
	findings "github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/policy/provenance"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// findingJSON is the JSON form of an error in a skill.
type findingJSON struct {
	File    string       `json:"file"`
	Line    int          `json:"line,omitempty"`
	Column  int          `json:"column,omitempty"`
	Kind    check.Kind   `json:"kind"`
	Rule    skill.RuleID `json:"rule"`
	Message string       `json:"message"`
	Fix     string       `json:"fix,omitempty"`

	diagnostic findings.Diagnostic
	source     *check.Source // the text of the file, or nil
	skill      string        // the name of the skill
}

// check judges the skills of a folder as knack check does. It returns their errors, and fails if
// there are any.
func (p *publisher) check(ctx context.Context, folder string) (errs []findingJSON, err error) {
	rules, err := settings.New(p.env, "").Check(folder)
	if err != nil {
		return nil, err
	}
	root := skill.Root{Label: "published", Scope: skill.ScopeProject, Dir: folder, Shown: p.env.Shown(folder)}
	c := catalog.New([]catalog.Source{dir.New(dir.Options{Root: root, Required: true, NoLinks: true})}, catalog.Options{})
	if err := c.Refresh(ctx); err != nil {
		return nil, err
	}
	v, err := c.View(ctx)
	if err != nil {
		return nil, err
	}
	if fault := v.Roots[0].Err; fault != nil {
		return nil, command.RunError("", "%s: %s", root.Shown, skill.Reason(fault))
	}
	all, err := judgement.Judge{}.All(ctx, v)
	if err != nil {
		return nil, err
	}
	with := 0
	for _, d := range all {
		found := false
		var source *check.Source
		for _, f := range d.Findings {
			if severity, on := rules.Severity(f.Rule, f.Severity); !on || severity != skill.SeverityError {
				continue
			}
			file := path.Join(root.Shown, d.Entry.Path, f.File)
			e := findingJSON{file, f.Position.Line, f.Position.Column, f.Kind(), f.Rule, f.Message, f.Fix,
				findings.Diagnostic{File: file, Severity: skill.SeverityError, Rule: f.Rule, At: f.Position, Length: f.Length, Message: f.Message, Fix: f.Fix, Notes: f.Notes}, nil, d.Skill.Name}
			if f.File == d.Skill.Entry {
				if source == nil {
					source = check.NewSource(d.Data)
				}
				e.source = source
			}
			errs, found = append(errs, e), true
		}
		if found {
			with++
		}
	}
	if with > 0 {
		return errs, command.Fail(command.No, fmt.Errorf("nothing was published: %s of %d cannot be", display.Count(with, "skill"), len(all)), p.fixOf(root.Shown, errs))
	}
	return nil, nil
}

// fixOf returns the hint for errors of the skills in a folder. For a finding of a scan there is no
// certain fix.
func (p *publisher) fixOf(folder string, errs []findingJSON) string {
	i := slices.IndexFunc(errs, func(f findingJSON) bool { return f.Kind == check.KindScan })
	if i < 0 {
		return p.env.CommandAt("check", folder, "--fix") + " writes the fixes that are certain; rules of knack.yaml can be less strict (knack help settings)"
	}
	return fmt.Sprintf("correct the skill, or, if the finding is harmless, write check: {rules: {%s: warning}} in knack.yaml; a machine that serves it accepts it with knack approve %s --accept %[1]s --reason TEXT", errs[i].Rule, errs[i].skill)
}

// placesOfLocks returns the folders in which to look for the lock of a folder of skills, as for
// [provenance.Locks]. They are the folder, the folders above it and, for the skills of all projects,
// ~/.agents. A lock that cannot be read counts only in one of own.
func (p *publisher) placesOfLocks(folder string) (own, all []string) {
	own, others := provenance.Above(realpath.Of(folder), p.env.Home, []string{p.env.Dir})
	if home := filepath.Join(p.env.Home, agents.Folder); p.env.Home != "" && realpath.Inside(home, folder) {
		own = append([]string{home}, own...)
	}
	return own, slices.Concat(own, others)
}

// lockOf returns the entries of locks for the skills below a folder. The keys are paths relative to
// that folder. Of the locks in the folder and above it, the first that has a skill counts. Entries
// whose source is on this machine are left out, since they mean nothing elsewhere.
func (p *publisher) lockOf(folder string) (map[string]lockfile.Skill, error) {
	entries, seen := map[string]lockfile.Skill{}, map[string]bool{}
	own, all := p.placesOfLocks(folder)
	for _, at := range all {
		file, counts := filepath.Join(at, lockfile.Name), slices.Contains(own, at)
		t, err := dir.OpenTree(at, true)
		if err != nil && !counts {
			continue
		}
		if err != nil {
			return nil, command.RunError("", "%s cannot be read: %w", p.env.Shown(at), command.Cause(err))
		}
		data, _, err := lockfile.Read(t, skill.Stamp{})
		t.Close()
		if bad, ok := errors.AsType[*lockfile.UnreadableError](err); ok && counts {
			return nil, command.RunError(bad.Fix, "%s %s", p.env.Shown(file), bad.Reason)
		}
		if err != nil {
			continue
		}
		lock, err := lockfile.Parse(data)
		if err != nil && !counts {
			continue
		}
		if bad := (*jsonfile.Error)(nil); errors.As(err, &bad) {
			return nil, command.RunError(bad.Fix, "%s:%d:%d: %s", p.env.Shown(file), bad.Line, bad.Column, bad.Message)
		}
		if err != nil {
			return nil, err
		}
		below, err := filepath.Rel(realpath.Of(at), realpath.Of(folder))
		if err != nil {
			return nil, err
		}
		prefix := filepath.ToSlash(below) + "/"
		if below == "." {
			prefix = ""
		}
		for key, e := range lock.Skills {
			rest, below := strings.CutPrefix(key, prefix)
			local := strings.HasPrefix(e.Source, ".") || strings.HasPrefix(e.Source, "/") || strings.HasPrefix(e.Source, "~") || strings.HasPrefix(e.Source, "file:")
			if below && !seen[rest] && !local {
				entries[rest] = e
			}
			seen[rest] = seen[rest] || below
		}
	}
	return entries, nil
}
