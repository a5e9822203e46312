package skill

import (
	"slices"

	"github.com/knack-dev/knack/skill/frontmatter"
)

// Types that describe a problem in a SKILL.md or in a skill's folder.
type (
	// Problem is one finding about one skill.
	Problem = frontmatter.Problem
	// Position is a place in a SKILL.md.
	Position = frontmatter.Position
	// RuleID names the rule that a problem breaks.
	RuleID = frontmatter.RuleID
)

// Severity is the severity of a problem for the author of a skill.
type Severity string

// The severities. An error breaks the Agent Skills specification or makes the skill unusable. A
// warning is about something that works here but may fail elsewhere. An info is worth knowing.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Rule describes a requirement, and the consequences for a skill that breaks it.
type Rule struct {
	ID       RuleID
	Severity Severity
	// Skips is set if a skill with this problem is not available. No surface serves it.
	Skips bool
	// Unpublishes is set if the Skills extension does not list the skill, because its entries must
	// satisfy the specification. The tools may still serve the skill.
	Unpublishes bool
	// Source is the origin of the rule. "spec" is agentskills.io/specification, "SEP-2640" is the
	// MCP Skills extension, and "knack" is our own promise or limit.
	Source string
	// Title is the requirement, in one line.
	Title string
}

// Rules returns all rules, in the order in which reports group them.
func Rules() []Rule { return slices.Clone(rules) }

var rules = []Rule{
	{frontmatter.FileOutside, SeverityError, true, true, "knack", "SKILL.md is in the skill's own folder, links included"},
	{frontmatter.FileNotRegular, SeverityError, true, true, "knack", "SKILL.md is a regular file"},
	{frontmatter.FileGone, SeverityError, true, true, "knack", "SKILL.md exists when it is read; a link to it resolves"},
	{frontmatter.FilePermission, SeverityError, true, true, "knack", "SKILL.md can be read by the user who runs knack"},
	{frontmatter.FileTooLarge, SeverityError, true, true, "contract 000", "SKILL.md has at most 1 MiB"},
	{frontmatter.FileUnstable, SeverityError, true, true, "knack", "SKILL.md does not change while it is read"},
	{frontmatter.FileUnreadable, SeverityError, true, true, "knack", "SKILL.md can be read"},
	{frontmatter.FileLocked, SeverityError, true, true, "knack", "the skill is as its knack.lock says, if that is enforced"},
	{frontmatter.StoreDamaged, SeverityError, true, true, "knack", "the files of a skill from a source are as their digests say"},
	{frontmatter.StoreRefused, SeverityError, true, true, "knack", "a skill of a source could be fetched: no links, not too many files"},
	{frontmatter.HeldBack, SeverityError, true, true, "knack", "the operator's policy lets a server serve the skill"},
	{frontmatter.FileEncoding, SeverityError, true, true, "spec", "SKILL.md is UTF-8"},
	{frontmatter.FileEmpty, SeverityError, true, true, "spec", "SKILL.md is not empty"},
	{frontmatter.FileName, SeverityError, true, true, "spec", "the file is called SKILL.md"},
	{frontmatter.FileSpelling, SeverityWarning, false, false, "spec", "the file is spelt SKILL.md; other spellings are not found by every client"},
	{frontmatter.FileVariants, SeverityWarning, false, false, "knack", "a folder contains one spelling of SKILL.md"},

	{frontmatter.FolderName, SeverityWarning, false, false, "knack", "the path of the skill's folder can be used in a URI"},

	{frontmatter.TextBOM, SeverityWarning, false, false, "spec", "SKILL.md begins with ---, without a byte-order mark"},
	{frontmatter.TextControl, SeverityWarning, false, false, "knack", "the text contains no control characters"},

	{frontmatter.FenceMissing, SeverityError, true, true, "spec", "SKILL.md begins with frontmatter between two lines of ---"},
	{frontmatter.FenceOpener, SeverityError, true, true, "spec", "a line --- begins the frontmatter"},
	{frontmatter.FenceUnclosed, SeverityError, true, true, "spec", "a line --- ends the frontmatter"},
	{frontmatter.FenceTooLong, SeverityError, true, true, "knack", "the frontmatter has at most 64 KiB"},
	{frontmatter.FenceLate, SeverityError, false, true, "spec", "nothing precedes the frontmatter"},
	{frontmatter.FenceBlanks, SeverityWarning, false, true, "spec", "nothing follows the opening ---, not even spaces"},
	{frontmatter.FenceGlued, SeverityError, false, true, "spec", "the closing --- is alone on its line"},

	{frontmatter.YAMLSyntax, SeverityError, false, true, "spec", "the frontmatter is valid YAML, without anchors, aliases and tags"},
	{frontmatter.YAMLControl, SeverityError, true, true, "knack", "the frontmatter contains no NUL"},
	{frontmatter.YAMLDuplicate, SeverityError, false, true, "spec", "a key occurs once in its mapping"},
	{frontmatter.YAMLKeyType, SeverityWarning, false, true, "SEP-2640", "keys are strings"},
	{frontmatter.YAMLNotJSON, SeverityWarning, false, true, "SEP-2640", "values can be written as JSON"},
	{frontmatter.YAMLMapping, SeverityError, true, true, "spec", "the frontmatter is a mapping of keys to values"},

	{frontmatter.NameMissing, SeverityError, true, true, "spec", "name is given"},
	{frontmatter.NameSyntax, SeverityError, true, true, "knack", "name is valid YAML; it is never guessed"},
	{frontmatter.NameControl, SeverityError, true, true, "knack", "name contains no control characters"},
	{frontmatter.NameType, SeverityWarning, false, true, "spec", "name is a string"},
	{frontmatter.NamePattern, SeverityError, false, true, "spec", "name consists of a-z, 0-9 and single inner hyphens"},
	{frontmatter.NameLength, SeverityError, false, true, "spec", "name has at most 64 characters"},
	{frontmatter.NameFolder, SeverityError, false, false, "spec", "name equals the folder's name"},

	{frontmatter.DescriptionMissing, SeverityError, true, true, "spec", "description is given"},
	{frontmatter.DescriptionType, SeverityError, false, true, "spec", "description is a string"},
	{frontmatter.DescriptionLength, SeverityError, false, true, "spec", "description has at most 1,024 characters"},

	{frontmatter.Compatibility, SeverityError, false, true, "spec", "compatibility is a string of 1 to 500 characters"},
	{frontmatter.Metadata, SeverityError, false, true, "spec", "metadata maps strings to strings"},
	{frontmatter.Invocation, SeverityWarning, false, false, "knack", "disable-model-invocation and user-invocable have these spellings, and are true or false"},
}

var ruleByID = func() map[RuleID]Rule {
	m := make(map[RuleID]Rule, len(rules))
	for _, r := range rules {
		m[r.ID] = r
	}
	return m
}()

// RuleOf returns the rule with that id. For an unknown id it returns a warning that
// neither skips nor unpublishes.
func RuleOf(id RuleID) Rule {
	if r, ok := ruleByID[id]; ok {
		return r
	}
	return Rule{ID: id, Severity: SeverityWarning}
}
