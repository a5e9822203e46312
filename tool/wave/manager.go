// Package wave implements contract 003 as a Go API: the strict reader, the SkillManager, and the
// types with the contract's JSON names. A skill is valid only if its name equals the folder's name
// and follows the specification, its description has 1 to 1,024 characters, and its YAML is valid
// without repair.
package wave

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/lookup"
)

// SkillManager implements contract 003's SkillManager, and its Execute the execute of the
// contract's plugin. The plugin's name, description and config are in the tool set "wave" of
// package tool and, for a model, in the definitions of package function.
//
// All methods may be called from any goroutine. A call ends with its context, even if the
// disk blocks, and a disk that blocks delays no other call.
type SkillManager struct {
	// Finder finds the skills.
	Finder *lookup.Finder
	// Project, if set, returns the finder for the working folder of a call. The first root of its
	// catalogue is {workdir}/.wave/skills. It should return the same finder for the same folder,
	// because a catalogue keeps the skills that it has read.
	Project func(ctx context.Context, workdir string) (*lookup.Finder, error)
}

// Initialize is the contract's initialize. It returns when all skills have been discovered. The
// creator of the catalogue starts the discovery, with [catalog.Catalog.Run] or
// [catalog.Catalog.Refresh].
//
// If a root does not answer, or is being read for longer than a minute, the error is a
// [*catalog.Incomplete], and the skills read so far are served.
func (m *SkillManager) Initialize(ctx context.Context) error {
	v, err := m.Finder.Catalog.CompleteView(ctx, initializeGrace)
	if err != nil {
		return err
	}
	if lacks := v.Incomplete(); lacks != nil {
		return lacks
	}
	return nil
}

// initializeGrace bounds how long [SkillManager.Initialize] waits for roots that are still
// being read.
const initializeGrace = time.Minute

// AvailableSkills is the contract's getAvailableSkills. It lists the skills that can be invoked, in
// root order, then by name. It does not wait. Until [SkillManager.Initialize] has returned nil,
// skills may be missing.
func (m *SkillManager) AvailableSkills() []SkillMetadata {
	out := []SkillMetadata{}
	select {
	case <-m.Finder.Catalog.Ready():
	default:
		return out
	}
	v, err := m.Finder.Catalog.View(context.Background())
	if err != nil {
		return out
	}
	for _, e := range Skills(v) {
		out = append(out, metadata(context.Background(), m.Finder, e))
	}
	return out
}

// Discover returns the valid skills by owner, and the errors of the others. Of several skills
// with one name it returns the first in root order.
func (m *SkillManager) Discover(ctx context.Context) (SkillDiscoveryResult, error) {
	v, err := m.Finder.Catalog.View(ctx)
	if err != nil {
		return SkillDiscoveryResult{}, err
	}
	r := SkillDiscoveryResult{PersonalSkills: map[string]SkillMetadata{}, ProjectSkills: map[string]SkillMetadata{}, Errors: []SkillError{}}
	if lacks := v.Incomplete(); lacks != nil {
		r.Errors = append(r.Errors, SkillError{Message: lacks.Error()})
	}
	for _, e := range v.Precedence() {
		if e.Unlisted() {
			continue
		}
		if len(faults(e)) > 0 {
			r.Errors = append(r.Errors, SkillError{SkillPath: m.Finder.Base(ctx, e), Message: detailsOf(e, e.Name).Message})
			continue
		}
		if !e.ModelInvocable {
			continue
		}
		skills := r.PersonalSkills
		if e.Root.Scope == skill.ScopeProject {
			skills = r.ProjectSkills
		}
		if _, ok := skills[e.Name]; !ok {
			skills[e.Name] = metadata(ctx, m.Finder, e)
		}
	}
	return r, nil
}

// LoadSkill is the contract's loadSkill: it reads the current skill. It returns nil if no skill has
// this name. The error is a [*SkillErrorDetails] for an invalid skill, or the context's.
func (m *SkillManager) LoadSkill(ctx context.Context, name string) (*Skill, error) {
	e, data, err := load(ctx, m.Finder, name)
	var details *SkillErrorDetails
	switch {
	case errors.As(err, &details) && details.Type == SkillNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &Skill{
		SkillMetadata: metadata(ctx, m.Finder, e), Content: string(data), Warnings: warnings(data),
		Frontmatter: SkillFrontmatter{e.Name, e.Description, e.Frontmatter},
	}, nil
}

// Execute is the contract's execute. It answers a call like the contract's plugin. Failures are in
// the result. The error is from the context or from [SkillManager.Project].
func (m *SkillManager) Execute(ctx context.Context, args SkillToolArgs, tc ToolContext) (ToolResult, error) {
	f := m.Finder
	if m.Project != nil && tc.Workdir != "" {
		var err error
		if f, err = m.Project(ctx, tc.Workdir); err != nil {
			return ToolResult{}, err
		}
	}
	e, data, err := load(ctx, f, args.SkillName)
	var details *SkillErrorDetails
	switch {
	case errors.As(err, &details):
		v, err := f.Catalog.View(ctx)
		if err != nil {
			return ToolResult{}, err
		}
		return refusal(v, details), nil
	case err != nil:
		return ToolResult{}, err
	}
	return ToolResult{
		Success:     true,
		Content:     fmt.Sprintf("Skill: %s (Type: %s)\nPath: %s\n\n%s", e.Name, typeOf(e.Root.Scope), f.Base(ctx, e), data),
		ShortResult: display.Cut(e.Name+": "+display.OneLine(e.Description), shortLength),
	}, nil
}

// shortLength bounds [ToolResult.ShortResult], in characters.
const shortLength = 80

func metadata(ctx context.Context, f *lookup.Finder, e *catalog.Entry) SkillMetadata {
	return SkillMetadata{Name: e.Name, Description: e.Description, Type: typeOf(e.Root.Scope), SkillPath: f.Base(ctx, e)}
}

// InvalidArguments answers a call whose arguments cannot be read, for the given reason.
func InvalidArguments(v catalog.View, name string, reason error) ToolResult {
	return refusal(v, &SkillErrorDetails{Type: SkillInvalid, SkillName: name, Message: reason.Error(),
		Suggestions: []string{"Give skill_name alone, as a string: the name of one of the available skills"}})
}

// refusal answers a call that failed, in the contract's words.
func refusal(v catalog.View, d *SkillErrorDetails) ToolResult {
	name, available := display.Echo(d.SkillName), listing.Render(v, Skills(v), listing.Bullets, listing.Budget, "")
	r := ToolResult{Error: fmt.Sprintf("Error invoking skill '%s': %s\n\nAvailable skills:\n%s", name, d.Message, available)}
	switch d.Type {
	case SkillNotFound:
		r.Content = fmt.Sprintf("Skill '%s' not found.\n\nAvailable skills:\n%s", name, available)
		for i, step := range d.Suggestions {
			if i == 0 {
				r.Content += "\n\nTo create this skill:"
			}
			r.Content += fmt.Sprintf("\n%d. %s", i+1, step)
		}
	case SkillInvalid, SkillMalformed:
		r.Content = fmt.Sprintf("Skill '%s' is invalid: %s\n\nFix by:\n- %s\n\nSkill will be available after fixing these issues.",
			name, d.Message, strings.Join(d.Suggestions, "\n- "))
	default:
		r.Content = r.Error
	}
	return r
}

// ParseSkillFile is the contract's parseSkillFile. It reads and strictly checks the SKILL.md at a
// slash-separated path. The file system decides which files may be read. A file system from
// [os.Root.FS] or from a source of this module follows no link that leads outside. The folder's
// name is part of the path. scope is the owner of the skill.
func ParseSkillFile(fsys fs.FS, filePath string, scope skill.Scope) ParsedSkillFile {
	dir, file := path.Split(filePath)
	dir = path.Clean(dir)
	p := ParsedSkillFile{ValidationErrors: []string{}, SkillMetadata: SkillMetadata{SkillPath: dir, Type: typeOf(scope)}}
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		p.ValidationErrors = append(p.ValidationErrors, "'"+display.Echo(filePath)+"' is not the path of a file")
		return p
	}
	s := &skill.Skill{Bundle: &skill.Bundle{Path: dir, Entry: file, FS: sub}}
	if data, stamp, err := s.Read(); err == nil {
		s = s.Parsed(data, stamp)
		p.Content, p.Warnings = string(data[frontmatter.Parse(data).Body:]), warnings(data)
	} else {
		s = skill.Load(s.Bundle)
	}
	p.Frontmatter = SkillFrontmatter{s.Name, s.Description, s.Frontmatter}
	p.SkillMetadata.Name, p.SkillMetadata.Description = s.Name, s.Description
	for _, f := range faults(&catalog.Entry{Skill: s}) {
		p.ValidationErrors = append(p.ValidationErrors, strings.TrimPrefix(f.Position.String()+": "+display.OneLine(f.Message), ": "))
	}
	p.IsValid = len(p.ValidationErrors) == 0
	return p
}
