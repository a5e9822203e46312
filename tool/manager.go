package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Contract 003: its interfaces as a Go API, with its JSON names.

// SkillMetadata describes a skill without its content, in the form of contract 003.
type SkillMetadata struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"` // "project" or "personal"
	// SkillPath is the folder against which the skill's relative paths resolve.
	SkillPath string `json:"skillPath"`
}

// SkillFrontmatter has the fields between the fences. Its JSON form has every field as its
// author wrote it.
type SkillFrontmatter struct {
	Name, Description string
	// Fields has every field as one JSON object; nil without frontmatter.
	Fields json.RawMessage
}

// MarshalJSON writes every field as its author wrote it.
func (f SkillFrontmatter) MarshalJSON() ([]byte, error) {
	if len(f.Fields) > 0 {
		return f.Fields, nil
	}
	b := display.AppendJSONString([]byte(`{"name":`), f.Name)
	b = display.AppendJSONString(append(b, `,"description":`...), f.Description)
	return append(b, '}'), nil
}

// Skill is a skill with its content: the answer of [SkillManager.LoadSkill].
type Skill struct {
	SkillMetadata
	Frontmatter SkillFrontmatter `json:"frontmatter"`
	Content     string           `json:"content"` // the whole file
	// Warnings are about references that the skill cannot follow; see [ParsedSkillFile].
	Warnings []string `json:"warnings,omitempty"`
}

// SkillError is a skill that was found and does not count, with the reason.
type SkillError struct {
	SkillPath string `json:"skillPath"`
	Message   string `json:"message"`
}

// SkillDiscoveryResult is the result of discovery, by name.
type SkillDiscoveryResult struct {
	PersonalSkills map[string]SkillMetadata `json:"personalSkills"`
	ProjectSkills  map[string]SkillMetadata `json:"projectSkills"`
	Errors         []SkillError             `json:"errors"`
}

// ToolContext is the agent's input to the tool besides the arguments. The contract's
// abortSignal is the call's [context.Context], and its skillManager the receiver of
// [SkillManager.Execute].
type ToolContext struct {
	Workdir string `json:"workdir"` // resolves the project, see [SkillManager.Project]
}

// SkillManager is contract 003's manager, and its Execute the plugin's. The
// plugin's name, description and config are those of the set "wave": [Tool.Define]
// and, for a model, the definitions of package function.
//
// All methods may be called from any goroutine. A context that ends ends the
// call, whatever the disk does, and a disk that blocks delays no other call.
type SkillManager struct {
	// Host has the skills.
	Host *Host
	// Project, if set, returns the host for the working folder of a call: a host whose
	// first root is {workdir}/.wave/skills. It should return the same host for the same
	// folder, since a host keeps the skills that it has read.
	Project func(ctx context.Context, workdir string) (*Host, error)
}

// Initialize is the contract's initialize. It returns when the skills are discovered. The
// creator of the catalogue starts the discovery, with [catalog.Catalog.Run] or
// [catalog.Catalog.Refresh].
//
// If a root does not answer, or is being read for longer than a minute, the error is a
// [*catalog.Incomplete], and the skills read so far are served.
func (m *SkillManager) Initialize(ctx context.Context) error {
	v, err := m.Host.Catalog.CompleteView(ctx, initializeGrace)
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

// AvailableSkills lists the skills that can be invoked, in root order, then by
// name: the contract's getAvailableSkills. It does not wait; before
// [SkillManager.Initialize] has returned nil some may be missing, or all.
func (m *SkillManager) AvailableSkills() []SkillMetadata {
	out := []SkillMetadata{}
	select {
	case <-m.Host.Catalog.Ready():
	default:
		return out
	}
	v, err := m.Host.Catalog.View(context.Background())
	if err != nil {
		return out
	}
	for _, e := range strict(v) {
		out = append(out, metadata(context.Background(), m.Host, e))
	}
	return out
}

// Discover returns the found skills by owner, and those that do not count. If several have
// one name, the first in root order counts.
func (m *SkillManager) Discover(ctx context.Context) (SkillDiscoveryResult, error) {
	v, err := m.Host.Catalog.View(ctx)
	if err != nil {
		return SkillDiscoveryResult{}, err
	}
	r := SkillDiscoveryResult{PersonalSkills: map[string]SkillMetadata{}, ProjectSkills: map[string]SkillMetadata{}, Errors: []SkillError{}}
	if lacks := v.Incomplete(); lacks != nil {
		r.Errors = append(r.Errors, SkillError{Message: lacks.Error()})
	}
	for _, e := range v.Entries {
		if e.Root.Unlisted {
			continue
		}
		if len(faults(e)) > 0 {
			r.Errors = append(r.Errors, SkillError{SkillPath: m.Host.Base(ctx, e), Message: detailsOf(e, e.Name).Message})
			continue
		}
		if !e.ModelInvocable {
			continue
		}
		of := r.PersonalSkills
		if e.Root.Scope == skill.ScopeProject {
			of = r.ProjectSkills
		}
		if _, ok := of[e.Name]; !ok {
			of[e.Name] = metadata(ctx, m.Host, e)
		}
	}
	return r, nil
}

// LoadSkill is the contract's loadSkill: it reads the current skill. It returns nil if no
// skill has this name. The error is a [*SkillErrorDetails] for a skill that does not count,
// else the context's.
func (m *SkillManager) LoadSkill(ctx context.Context, name string) (*Skill, error) {
	e, data, err := loadStrict(ctx, m.Host, name)
	var details *SkillErrorDetails
	switch {
	case errors.As(err, &details) && details.Type == SkillNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &Skill{
		SkillMetadata: metadata(ctx, m.Host, e), Content: string(data), Warnings: warnings(data),
		Frontmatter: SkillFrontmatter{e.Name, e.Description, e.Frontmatter},
	}, nil
}

// Execute is the contract's execute: it answers a call like the plugin. Failures are in the
// result. The error is the context's, or says why there is no host for the working
// directory.
func (m *SkillManager) Execute(ctx context.Context, args SkillToolArgs, tc ToolContext) (ToolResult, error) {
	h := m.Host
	if m.Project != nil && tc.Workdir != "" {
		var err error
		if h, err = m.Project(ctx, tc.Workdir); err != nil {
			return ToolResult{}, err
		}
	}
	return invokeNamed(ctx, h, args.SkillName)
}

func metadata(ctx context.Context, h *Host, e *catalog.Entry) SkillMetadata {
	return SkillMetadata{Name: e.Name, Description: e.Description, Type: typeOf(e), SkillPath: h.Base(ctx, e)}
}

// ParsedSkillFile is one SKILL.md read and judged by itself.
type ParsedSkillFile struct {
	Frontmatter      SkillFrontmatter `json:"frontmatter"`
	Content          string           `json:"content"` // the Markdown below the frontmatter
	SkillMetadata    SkillMetadata    `json:"skillMetadata"`
	ValidationErrors []string         `json:"validationErrors"`
	IsValid          bool             `json:"isValid"`
	// Warnings do not make the file invalid: references that leave the skill's
	// folder. They are never followed.
	Warnings []string `json:"warnings,omitempty"`
}

// ParseSkillFile reads and judges the SKILL.md at a slash-separated path, strictly: the
// contract's parseSkillFile. The file system decides what may be read; one of [os.Root.FS]
// or of a source of this module follows no link outside. The folder's name is that of the
// path; scope is the owner of the skill.
func ParseSkillFile(fsys fs.FS, filePath string, scope skill.Scope) ParsedSkillFile {
	dir, file := path.Split(filePath)
	dir = path.Clean(dir)
	p := ParsedSkillFile{ValidationErrors: []string{}, SkillMetadata: SkillMetadata{SkillPath: dir, Type: typeOf(&catalog.Entry{Root: &skill.Root{Scope: scope}})}}
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		p.ValidationErrors = append(p.ValidationErrors, "'"+display.Echo(filePath)+"' is no path of a file")
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
