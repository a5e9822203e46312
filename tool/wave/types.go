package wave

import (
	"encoding/json"

	"github.com/knack-dev/knack/internal/base/display"
)

// ToolResult is contract 003's answer.
type ToolResult struct {
	Success     bool   `json:"success"`
	Content     string `json:"content"`
	Error       string `json:"error,omitempty"`
	ShortResult string `json:"shortResult,omitempty"`
}

// SkillToolArgs are the arguments of contract 003's tool.
type SkillToolArgs struct {
	SkillName string `json:"skill_name"`
}

// SkillErrorType is the kind of a failed call.
type SkillErrorType string

// The kinds of failures of contract 003.
const (
	SkillNotFound     SkillErrorType = "skill_not_found"
	SkillInvalid      SkillErrorType = "skill_invalid"
	SkillInaccessible SkillErrorType = "skill_inaccessible"
	SkillMalformed    SkillErrorType = "skill_malformed"
	SkillSystemError  SkillErrorType = "system_error"
)

// SkillErrorDetails describes a failure.
type SkillErrorDetails struct {
	Type            SkillErrorType `json:"type"`
	SkillName       string         `json:"skillName,omitempty"`
	Message         string         `json:"message"`
	Suggestions     []string       `json:"suggestions,omitempty"`
	AvailableSkills []string       `json:"availableSkills,omitempty"`
}

// Error returns the message.
func (d *SkillErrorDetails) Error() string { return d.Message }

// SkillMetadata describes a skill without its content, in the form of contract 003.
type SkillMetadata struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"` // "project" or "personal"
	// SkillPath is the folder against which the skill's relative paths resolve.
	SkillPath string `json:"skillPath"`
}

// SkillFrontmatter contains the fields between the fences. Its JSON form contains every field as
// its author wrote it.
type SkillFrontmatter struct {
	Name, Description string
	// Fields contains every field as one JSON object. It is nil without frontmatter.
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

// SkillError is an invalid skill, with the reason.
type SkillError struct {
	SkillPath string `json:"skillPath"`
	Message   string `json:"message"`
}

// SkillDiscoveryResult is the result of discovery. The keys of its maps are the names of the
// skills.
type SkillDiscoveryResult struct {
	PersonalSkills map[string]SkillMetadata `json:"personalSkills"`
	ProjectSkills  map[string]SkillMetadata `json:"projectSkills"`
	Errors         []SkillError             `json:"errors"`
}

// ToolContext is the agent's input to the tool besides the arguments. The contract's abortSignal is
// the call's [context.Context]. Its skillManager is the receiver of [SkillManager.Execute].
type ToolContext struct {
	Workdir string `json:"workdir"` // determines the project; see [SkillManager.Project]
}

// ParsedSkillFile is one SKILL.md, read and checked by itself.
type ParsedSkillFile struct {
	Frontmatter      SkillFrontmatter `json:"frontmatter"`
	Content          string           `json:"content"` // the Markdown below the frontmatter
	SkillMetadata    SkillMetadata    `json:"skillMetadata"`
	ValidationErrors []string         `json:"validationErrors"`
	IsValid          bool             `json:"isValid"`
	// Warnings are about references that leave the skill's folder, which are never followed. They
	// do not make the file invalid.
	Warnings []string `json:"warnings,omitempty"`
}
