package wave

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/lookup"
)

// load finds a skill by its exact name and reads its current file. The error is a
// [*SkillErrorDetails] or the context's.
func load(ctx context.Context, f *lookup.Finder, name string) (*catalog.Entry, []byte, error) {
	for range 4 {
		v, err := f.Catalog.View(ctx)
		if err != nil {
			return nil, nil, err
		}
		e, details := findNamed(v, name)
		if details != nil && skill.ValidName(name) {
			var unsure error
			v, _, unsure = f.Fresh(ctx, v, func(folder string) bool { return folder == name })
			if e, details = findNamed(v, name); details != nil && details.Type == SkillNotFound && unsure != nil {
				details = &SkillErrorDetails{Type: SkillSystemError, SkillName: name, Message: unsure.Error()}
			}
		}
		if e != nil && details != nil { // details are from the last scan, and the author may have fixed the file since
			if _, now, _ := v.Read(ctx, e); now.Skill != e.Skill {
				continue
			}
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if details != nil {
			for _, e := range Skills(v) {
				details.AvailableSkills = append(details.AvailableSkills, e.Name)
			}
			return nil, nil, details
		}
		data, now, err := v.Read(ctx, e)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err == nil && now.ModelInvocable && len(faults(now)) == 0: // a skill without faults still has its folder's name
			return now, data, nil
		case err == nil || errors.Is(err, fs.ErrNotExist) || now != nil && !now.Available:
			continue // the catalogue has been refreshed
		}
		return nil, nil, &SkillErrorDetails{Type: SkillSystemError, SkillName: name, Message: skill.Reason(err)}
	}
	return nil, nil, &SkillErrorDetails{Type: SkillSystemError, SkillName: name, Message: skill.ErrUnstable.Error()}
}

// findNamed returns the first valid skill with this name. Without one, it returns the invalid skill
// that was probably meant, if there is one, and the reason.
func findNamed(v catalog.View, name string) (*catalog.Entry, *SkillErrorDetails) {
	if e := v.First(func(e *catalog.Entry) bool { return name != "" && e.Name == name && len(faults(e)) == 0 }); e != nil {
		if !e.ModelInvocable {
			return nil, &SkillErrorDetails{Type: SkillInaccessible, SkillName: name, Message: lookup.NotForModels(name)}
		}
		return e, nil
	}
	meant := v.First(func(e *catalog.Entry) bool { return name != "" && (e.Name == name || e.Folder() == name) })
	if meant == nil {
		if d := v.Denied(func(folder string) bool { return folder == name }); d != nil {
			return nil, &SkillErrorDetails{Type: SkillInaccessible, SkillName: name, Message: d.Message, Suggestions: []string{d.Fix}}
		}
		d := &SkillErrorDetails{Type: SkillNotFound, SkillName: name, Message: fmt.Sprintf("Skill '%s' not found", display.Echo(name))}
		if skill.ValidName(name) {
			d.Suggestions = []string{"Create directory ~/.wave/skills/" + name + "/", "Add SKILL.md file with proper YAML frontmatter"}
		}
		return nil, d
	}
	return meant, detailsOf(meant, name)
}

// detailsOf returns the reason why a skill is not valid.
func detailsOf(e *catalog.Entry, name string) *SkillErrorDetails {
	d := &SkillErrorDetails{SkillName: name}
	var messages []string
	if e.HeldBack() {
		d.Type, d.Message = SkillInaccessible, "it is "+skill.Held
		return d
	}
	for _, p := range faults(e) {
		kind := strictRules[p.Rule]
		if d.Type == "" || kind == SkillMalformed && d.Type == SkillInvalid {
			d.Type = kind
		}
		at := ""
		if pos := p.Position.String(); pos != "" {
			at = pos + ": "
		}
		messages = append(messages, at+listing.Quote(p.Message))
		if p.Fix != "" {
			d.Suggestions = append(d.Suggestions, listing.Fix(p.Fix))
		}
	}
	d.Message = strings.Join(messages, "; ")
	return d
}

// strictRules maps each rule for valid skills to the kind of failure that breaking it causes.
var strictRules = map[skill.RuleID]SkillErrorType{
	frontmatter.FileOutside: SkillInaccessible, frontmatter.FilePermission: SkillInaccessible, frontmatter.FileNotRegular: SkillInaccessible,
	frontmatter.FileGone: SkillSystemError, frontmatter.FileUnstable: SkillSystemError, frontmatter.FileUnreadable: SkillSystemError, frontmatter.FileLocked: SkillSystemError,
	frontmatter.StoreDamaged: SkillSystemError, frontmatter.StoreRefused: SkillInaccessible, frontmatter.HeldBack: SkillInaccessible,
	frontmatter.FileTooLarge: SkillInvalid, frontmatter.FileEncoding: SkillInvalid, frontmatter.FileEmpty: SkillInvalid, frontmatter.FileName: SkillInvalid,

	frontmatter.FenceMissing: SkillMalformed, frontmatter.FenceOpener: SkillMalformed, frontmatter.FenceUnclosed: SkillMalformed, frontmatter.FenceTooLong: SkillMalformed,
	frontmatter.FenceLate: SkillMalformed, frontmatter.FenceBlanks: SkillMalformed, frontmatter.FenceGlued: SkillMalformed,
	frontmatter.YAMLSyntax: SkillMalformed, frontmatter.YAMLControl: SkillMalformed, frontmatter.YAMLDuplicate: SkillMalformed, frontmatter.YAMLMapping: SkillMalformed,
	frontmatter.NameSyntax: SkillMalformed,

	frontmatter.NameMissing: SkillInvalid, frontmatter.NameControl: SkillInvalid, frontmatter.NameType: SkillInvalid, frontmatter.NamePattern: SkillInvalid,
	frontmatter.NameLength: SkillInvalid, frontmatter.NameFolder: SkillInvalid,
	frontmatter.DescriptionMissing: SkillInvalid, frontmatter.DescriptionType: SkillInvalid, frontmatter.DescriptionLength: SkillInvalid,
}

// faults returns the problems that make a skill invalid.
func faults(e *catalog.Entry) []skill.Problem {
	var out []skill.Problem
	for _, p := range e.Problems {
		if strictRules[p.Rule] != "" {
			out = append(out, p)
		}
	}
	return out
}

// Skills lists the valid skills that models may load, in root order, then by name. Only the first
// skill of a name counts, whether or not models may load it.
func Skills(v catalog.View) []*catalog.Entry {
	var out []*catalog.Entry
	order := make(map[string]int, len(v.Roots))
	seen := make(map[string]bool, len(v.Entries))
	for _, e := range v.Precedence() {
		if _, ok := order[e.Root.Label]; !ok {
			order[e.Root.Label] = len(order)
		}
		if seen[e.Name] || len(faults(e)) > 0 || e.Unlisted() {
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

// typeOf returns the contract's type of a skill by its owner.
func typeOf(scope skill.Scope) string {
	if scope == skill.ScopeProject {
		return "project"
	}
	return "personal"
}
