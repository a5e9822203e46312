package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/ruleid"
	"github.com/knack-dev/knack/skill"
)

// Contract 003: Skill(skill_name), the strict reader. A skill counts only when
// its name is the folder's and keeps the specification, its description has 1 to
// 1,024 characters, and its YAML reads without repair.

var waveSchema = json.RawMessage(`{"type":"object","properties":{"skill_name":{"type":"string","description":"Name of the skill to invoke from available skills"}},"required":["skill_name"],"additionalProperties":false}`)

const (
	waveHead = "Invoke skills based on available skill metadata. Skills: "
	// waveBrief is the contract's own description in a function definition.
	waveBrief = "Invoke a skill to apply specialized expertise and capabilities"

	// waveArguments is how arguments are mended that cannot be read.
	waveArguments = "Give skill_name alone, as a string: the name of one of the available skills"

	// shortLength bounds ToolResult.ShortResult, in characters.
	shortLength = 80
)

// ToolResult is contract 003's answer.
type ToolResult struct {
	Success     bool   `json:"success"`
	Content     string `json:"content"`
	Error       string `json:"error,omitempty"`
	ShortResult string `json:"shortResult,omitempty"`
}

// Fields implements [Object].
func (r ToolResult) Fields() []Field {
	f := []Field{{"success", r.Success}, {"content", r.Content}}
	if r.Error != "" {
		f = append(f, Field{"error", r.Error})
	}
	if r.ShortResult != "" {
		f = append(f, Field{"shortResult", r.ShortResult})
	}
	return f
}

// SkillToolArgs are the arguments of contract 003's tool.
type SkillToolArgs struct {
	SkillName string `json:"skill_name"`
}

// SkillErrorType says what kind of failure a call met.
type SkillErrorType string

// The kinds of failures of contract 003.
const (
	SkillNotFound     SkillErrorType = "skill_not_found"
	SkillInvalid      SkillErrorType = "skill_invalid"
	SkillInaccessible SkillErrorType = "skill_inaccessible"
	SkillMalformed    SkillErrorType = "skill_malformed"
	SkillSystemError  SkillErrorType = "system_error"
)

// SkillErrorDetails is what is known of a failure.
type SkillErrorDetails struct {
	Type            SkillErrorType `json:"type"`
	SkillName       string         `json:"skillName,omitempty"`
	Message         string         `json:"message"`
	Suggestions     []string       `json:"suggestions,omitempty"`
	AvailableSkills []string       `json:"availableSkills,omitempty"`
}

// Error is the message.
func (d *SkillErrorDetails) Error() string { return d.Message }

func waveSkill() *Tool {
	return &Tool{
		Contract: "003", Name: "Skill", Title: "Skill", Schema: waveSchema, Brief: waveBrief,
		describe: func(v catalog.View, c Client) string {
			return waveHead + listOf(v, strict(v), bullets, plain, budgetFor(c, length(waveHead)), "")
		},
		arranged: func(v catalog.View, c Client) arranged {
			_, a := arrange(&rows{entries: strict(v)}, bullets, plain, budgetFor(c, length(waveHead)), "")
			return a
		},
		call: func(ctx context.Context, h *Host, args arguments) (Result, error) {
			r, err := invoke(ctx, h, args)
			if err != nil {
				return Result{}, err
			}
			return r.result(), nil
		},
		malformed: func(ctx context.Context, h *Host, err error) (Result, error) {
			r, err := malformedInvocation(ctx, h, "", err)
			return r.result(), err
		},
	}
}

func (r ToolResult) result() Result { return Result{Text: r.Content, Object: r, IsError: !r.Success} }

func invoke(ctx context.Context, h *Host, args arguments) (ToolResult, error) {
	name, _, err := args.text("skill_name")
	if err == nil {
		err = args.onlyKeys([]string{"skill_name"})
	}
	if err == nil {
		return invokeNamed(ctx, h, name)
	}
	return malformedInvocation(ctx, h, name, err)
}

func malformedInvocation(ctx context.Context, h *Host, name string, err error) (ToolResult, error) {
	v, viewErr := h.Catalog.View(ctx)
	if viewErr != nil {
		return ToolResult{}, viewErr
	}
	return refusal(v, &SkillErrorDetails{Type: SkillInvalid, SkillName: name, Message: err.Error(), Suggestions: []string{waveArguments}}), nil
}

func invokeNamed(ctx context.Context, h *Host, name string) (ToolResult, error) {
	e, data, err := loadStrict(ctx, h, name)
	var details *SkillErrorDetails
	switch {
	case errors.As(err, &details):
		v, err := h.Catalog.View(ctx)
		if err != nil {
			return ToolResult{}, err
		}
		return refusal(v, details), nil
	case err != nil:
		return ToolResult{}, err
	}
	return ToolResult{
		Success:     true,
		Content:     fmt.Sprintf("Skill: %s (Type: %s)\nPath: %s\n\n%s", e.Name, typeOf(e), h.Base(ctx, e), data),
		ShortResult: Cut(e.Name+": "+display.OneLine(e.Description), shortLength),
	}, nil
}

// loadStrict finds a skill by its exact name and reads it as it is now. A failure
// is a [SkillErrorDetails], or the context's error.
func loadStrict(ctx context.Context, h *Host, name string) (*catalog.Entry, []byte, error) {
	for range 4 {
		v, err := h.Catalog.View(ctx)
		if err != nil {
			return nil, nil, err
		}
		e, details := strictNamed(v, name)
		if details != nil && skill.ValidName(name) {
			var unsure error
			v, _, unsure = h.fresher(ctx, v, func(folder string) bool { return folder == name })
			if e, details = strictNamed(v, name); details != nil && details.Type == SkillNotFound && unsure != nil {
				details = &SkillErrorDetails{Type: SkillSystemError, SkillName: name, Message: unsure.Error()}
			}
		}
		if e != nil && details != nil { // as it was: what was wrong may be mended by now
			if _, now, _ := v.Read(ctx, e); now.Skill != e.Skill {
				continue
			}
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if details != nil {
			for _, e := range strict(v) {
				details.AvailableSkills = append(details.AvailableSkills, e.Name)
			}
			return nil, nil, details
		}
		data, now, err := v.Read(ctx, e)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err == nil && now.ModelInvocable && len(faults(now)) == 0: // so the name is the folder's still
			return now, data, nil
		case err == nil || errors.Is(err, fs.ErrNotExist) || now != nil && !now.Available:
			continue // the catalogue knows better by now
		}
		return nil, nil, &SkillErrorDetails{Type: SkillSystemError, SkillName: name, Message: skill.Reason(err)}
	}
	return nil, nil, &SkillErrorDetails{Type: SkillSystemError, SkillName: name, Message: skill.ErrUnstable.Error()}
}

// strictNamed finds the first sound skill with this name, else the one that was
// meant, if any, and says what keeps it from being that.
func strictNamed(v catalog.View, name string) (*catalog.Entry, *SkillErrorDetails) {
	var meant *catalog.Entry
	for _, e := range v.Entries {
		if name == "" || e.Name != name && e.Folder() != name {
			continue
		}
		if e.Name == name && len(faults(e)) == 0 {
			if !e.ModelInvocable {
				return nil, &SkillErrorDetails{Type: SkillInaccessible, SkillName: name, Message: notForModels(name)}
			}
			return e, nil
		}
		if meant == nil {
			meant = e
		}
	}
	if meant == nil {
		if d := deniedFolder(v, name); d != nil {
			return nil, &SkillErrorDetails{Type: SkillInaccessible, SkillName: name, Message: d.Message, Suggestions: []string{d.Mend}}
		}
		d := &SkillErrorDetails{Type: SkillNotFound, SkillName: name, Message: fmt.Sprintf("Skill '%s' not found", display.Echo(name))}
		if skill.ValidName(name) {
			d.Suggestions = []string{"Create directory ~/.wave/skills/" + name + "/", "Add SKILL.md file with proper YAML frontmatter"}
		}
		return nil, d
	}
	return meant, detailsOf(meant, name)
}

// detailsOf words why a skill is not sound.
func detailsOf(e *catalog.Entry, name string) *SkillErrorDetails {
	d := &SkillErrorDetails{SkillName: name}
	var messages []string
	for _, p := range faults(e) {
		kind := strictRules[p.Rule]
		if d.Type == "" || kind == SkillMalformed && d.Type == SkillInvalid {
			d.Type = kind
		}
		at := ""
		if pos := p.Position.String(); pos != "" {
			at = pos + ": "
		}
		messages = append(messages, at+Cut(display.OneLine(p.Message), reasonLength))
		if p.Mend != "" {
			d.Suggestions = append(d.Suggestions, Cut(display.OneLine(p.Mend), reasonLength))
		}
	}
	d.Message = strings.Join(messages, "; ")
	return d
}

// strictRules are the rules that the strict reader insists on, each with the kind
// of failure it is.
var strictRules = map[skill.RuleID]SkillErrorType{
	ruleid.FileOutside: SkillInaccessible, ruleid.FilePermission: SkillInaccessible, ruleid.FileNotRegular: SkillInaccessible,
	ruleid.FileGone: SkillSystemError, ruleid.FileUnstable: SkillSystemError, ruleid.FileUnreadable: SkillSystemError,
	ruleid.FileTooLarge: SkillInvalid, ruleid.FileEncoding: SkillInvalid, ruleid.FileEmpty: SkillInvalid, ruleid.FileName: SkillInvalid,

	ruleid.FenceMissing: SkillMalformed, ruleid.FenceOpener: SkillMalformed, ruleid.FenceUnclosed: SkillMalformed, ruleid.FenceTooLong: SkillMalformed,
	ruleid.FenceLate: SkillMalformed, ruleid.FenceBlanks: SkillMalformed, ruleid.FenceGlued: SkillMalformed,
	ruleid.YAMLSyntax: SkillMalformed, ruleid.YAMLControl: SkillMalformed, ruleid.YAMLDuplicate: SkillMalformed, ruleid.YAMLMapping: SkillMalformed,
	ruleid.NameSyntax: SkillMalformed,

	ruleid.NameMissing: SkillInvalid, ruleid.NameControl: SkillInvalid, ruleid.NameType: SkillInvalid, ruleid.NamePattern: SkillInvalid,
	ruleid.NameLength: SkillInvalid, ruleid.NameFolder: SkillInvalid,
	ruleid.DescriptionMissing: SkillInvalid, ruleid.DescriptionType: SkillInvalid, ruleid.DescriptionLength: SkillInvalid,
}

// faults are the problems that the strict reader does not let pass.
func faults(e *catalog.Entry) []skill.Problem {
	var out []skill.Problem
	for _, p := range e.Problems {
		if strictRules[p.Rule] != "" {
			out = append(out, p)
		}
	}
	return out
}

// strict lists the skills that the strict reader offers, in root order, then by
// name. Of one name the first sound one counts, whatever else has that name.
func strict(v catalog.View) []*catalog.Entry {
	var out []*catalog.Entry
	order := make(map[string]int, len(v.Roots))
	seen := make(map[string]bool, len(v.Entries))
	for _, e := range v.Entries {
		if _, ok := order[e.Root.Label]; !ok {
			order[e.Root.Label] = len(order)
		}
		if seen[e.Name] || len(faults(e)) > 0 || e.Root.Unlisted {
			continue
		}
		seen[e.Name] = true
		if e.ModelInvocable {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b *catalog.Entry) int {
		return cmp.Or(order[a.Root.Label]-order[b.Root.Label], cmp.Compare(a.Name, b.Name))
	})
	return out
}

func typeOf(e *catalog.Entry) string {
	if e.Root.Scope == skill.ScopeProject {
		return "project"
	}
	return "personal"
}

// refusal words a failure as the contract does.
func refusal(v catalog.View, d *SkillErrorDetails) ToolResult {
	name, available := display.Echo(d.SkillName), listOf(v, strict(v), bullets, plain, Budget, "")
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
