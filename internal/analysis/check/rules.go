package check

import (
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/plugin"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/source/dir"
)

// Group is the subject that a rule is about.
type Group string

// The groups of rules, in the order in which doc/check.md lists them.
const (
	groupFile        Group = "file"          // SKILL.md as a file
	groupFrontmatter Group = "frontmatter"   // fences and YAML
	groupFields      Group = "specification" // fields by the specification
	groupPortability Group = "portability"   // other clients and systems
	groupReferences  Group = "references"    // links in the body
	groupSize        Group = "size"          // the cost for a model
	groupPublication Group = "publication"   // limits of the Skills extension
	groupText        Group = "text"          // characters and words
	groupNotices     Group = "scan"          // reports of the scan
	groupPlugin      Group = "plugin"        // plugins and marketplaces
	groupContent     Group = "content"       // the findings of package scan
)

// Rule is one rule of this package or of another one.
type Rule struct {
	ID       skill.RuleID
	Severity skill.Severity
	Group    Group
	// Source is the document that the rule comes from. "spec" is agentskills.io/specification,
	// "SEP-2640" is the MCP Skills extension, "Agent Plugins" is a section of that specification,
	// and "UAX #9" is a report of Unicode. "knack" is a promise, a limit or a measurement of knack.
	Source string
	Title  string // the requirement in one line; for a rule of package scan, its subject
}

// The rules that this package adds to those in package skill.
const (
	ruleAllowedTools   skill.RuleID = "allowed-tools-form"
	ruleFileWindows    skill.RuleID = "file-windows"
	ruleFileCase       skill.RuleID = "file-case"
	ruleFieldUnknown   skill.RuleID = "field-unknown"
	ruleNameReserved   skill.RuleID = "name-reserved"
	ruleDescriptionXML skill.RuleID = "description-xml"
	ruleNameDuplicate  skill.RuleID = "name-duplicate"

	ruleRefMissing skill.RuleID = "ref-missing"
	ruleRefCase    skill.RuleID = "ref-case"
	ruleRefOutside skill.RuleID = "ref-outside"

	ruleSizeListing skill.RuleID = "size-listing"
	ruleSizeBody    skill.RuleID = "size-body"
	ruleSizeLines   skill.RuleID = "size-lines"
	ruleSizeFile    skill.RuleID = "size-file"

	ruleFilesIncomplete skill.RuleID = "files-incomplete"
	ruleURIName         skill.RuleID = "uri-name"

	ruleTextZeroWidth          skill.RuleID = "text-zero-width"
	ruleTextComment            skill.RuleID = "text-comment"
	ruleDescriptionPlaceholder skill.RuleID = "description-placeholder"
	ruleDescriptionWhen        skill.RuleID = "description-when"
)

// row is a rule of this package with the function that applies it to a skill. The function is nil
// for a rule that compares a skill with others. [Duplicate] and [URIName] return the findings of
// these rules.
type row struct {
	Rule
	apply func(*subject) []Finding
}

var rows = []row{
	{Rule{ruleAllowedTools, skill.SeverityWarning, groupPortability, "spec", "allowed-tools is one string, its tools separated by spaces"}, allowedToolsForm},
	{Rule{ruleFileWindows, skill.SeverityWarning, groupPortability, "Windows, Naming Files, Paths, and Namespaces", "the names of the skill, its folder and its files can exist on Windows"}, windowsNames},
	{Rule{ruleFileCase, skill.SeverityWarning, groupPortability, "knack", "no two files differ only by case or by how a character is composed"}, caseCollisions},
	{Rule{ruleFieldUnknown, skill.SeverityInfo, groupPortability, "spec", "the frontmatter has only fields of the specification"}, unknownFields},
	{Rule{ruleNameReserved, skill.SeverityInfo, groupPortability, "Claude API, Agent Skills, field requirements", "name does not contain anthropic or claude"}, reservedName},
	{Rule{ruleDescriptionXML, skill.SeverityInfo, groupPortability, "Claude API, Agent Skills, field requirements", "description contains no XML tags"}, xmlDescription},

	{Rule{ruleRefMissing, skill.SeverityWarning, groupReferences, "spec", "a file that the body links to exists"}, missingRefs},
	{Rule{ruleRefCase, skill.SeverityWarning, groupReferences, "spec", "a link has the file's name in the right case"}, wrongCaseRefs},
	{Rule{ruleRefOutside, skill.SeverityWarning, groupReferences, "spec", "a link stays in the skill's folder"}, outsideRefs},

	{Rule{ruleSizeListing, skill.SeverityInfo, groupSize, "spec", "name and description cost about 100 tokens"}, listingSize},
	{Rule{ruleSizeBody, skill.SeverityWarning, groupSize, "spec", "the body costs less than 5,000 tokens"}, bodySize},
	{Rule{ruleSizeLines, skill.SeverityWarning, groupSize, "spec", "SKILL.md has less than 500 lines"}, lineCount},
	{Rule{ruleSizeFile, skill.SeverityWarning, groupSize, "contract 001", "each file has at most 16 MiB"}, fileSizes},

	{Rule{frontmatter.FilesMany, skill.SeverityWarning, groupPublication, "SEP-2640", "the skill has at most 512 files"}, manyFiles},
	{Rule{frontmatter.FilesLarge, skill.SeverityWarning, groupPublication, "SEP-2640", "the skill's files have at most 16 MiB together"}, largeFiles},
	{Rule{ruleFilesIncomplete, skill.SeverityWarning, groupPublication, "SEP-2640", "every file and folder of the skill can be listed"}, incomplete},

	{Rule{ruleTextZeroWidth, skill.SeverityInfo, groupText, "UAX #31", "the text contains no invisible characters outside of the scripts and emoji that need them"}, zeroWidth},
	{Rule{ruleTextComment, skill.SeverityInfo, groupText, "knack", "the body contains no HTML comments, which models read and people do not see"}, comments},
	{Rule{ruleDescriptionPlaceholder, skill.SeverityWarning, groupText, "knack", "description is not left over from a template"}, placeholder},
	{Rule{ruleDescriptionWhen, skill.SeverityInfo, groupText, "spec", "description says when to use the skill"}, neverWhen},

	{Rule{ruleNameDuplicate, skill.SeverityWarning, groupPortability, "knack", "no two skills have the same name; agents load the first"}, nil}, // Duplicate
	{Rule{ruleURIName, skill.SeverityWarning, groupPublication, "SEP-2640", "the URI of a skill ends with its name"}, nil},                      // URIName
}

// Rules lists the rules of package skill, of this package, of the sources, of package plugin, and
// of package scan.
var Rules = func() []Rule {
	own := skill.Rules()
	all := make([]Rule, 0, len(own)+len(rows)+len(dir.Rules)+len(plugin.Rules)+len(scan.Rules))
	for _, r := range own {
		all = append(all, Rule{r.ID, r.Severity, groupOf(r.ID), r.Source, r.Title})
	}
	for _, r := range rows {
		all = append(all, r.Rule)
	}
	for _, r := range dir.Rules {
		all = append(all, Rule{r.ID, r.Severity, groupNotices, "knack", r.Title})
	}
	for _, r := range plugin.Rules {
		all = append(all, Rule{skill.RuleID(r.ID), Severities[r.Worst], groupPlugin, r.Source, r.Title})
	}
	for _, r := range scan.Rules {
		all = append(all, Rule{r.ID, laneSeverities[r.Lane], groupContent, r.Source, r.Title})
	}
	return all
}()

// Severities maps the effect of a fault in a plugin to a severity. A fault is an error if a
// conforming client does not load something because of it.
var Severities = map[plugin.Effect]skill.Severity{
	plugin.Notes: skill.SeverityInfo, plugin.Ignores: skill.SeverityWarning,
	plugin.Skips: skill.SeverityError, plugin.Disables: skill.SeverityError, plugin.Rejects: skill.SeverityError,
}

// Unpublishes reports whether a finding of a rule keeps a skill out of the Skills
// extension's lists.
func Unpublishes(id skill.RuleID) bool {
	switch id {
	case frontmatter.FilesMany, frontmatter.FilesLarge, ruleFilesIncomplete, ruleURIName:
		return true
	}
	return skill.RuleOf(id).Unpublishes
}

func groupOf(id skill.RuleID) Group {
	switch kind, _, _ := strings.Cut(string(id), "-"); kind {
	case "file", "folder", "store":
		return groupFile
	case "fence", "yaml":
		return groupFrontmatter
	case "text":
		return groupText
	}
	return groupFields
}

// RuleOf returns the rule with the given id, and whether it exists.
func RuleOf(id skill.RuleID) (Rule, bool) {
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{ID: id, Severity: skill.SeverityWarning}, false
	}
	return Rules[i], true
}
