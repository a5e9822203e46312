package check

import (
	"slices"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// Group is the subject of a rule.
type Group string

// The groups of rules, in the order in which doc/check.md lists them.
const (
	GroupFile        Group = "file"          // SKILL.md as a file
	GroupFrontmatter Group = "frontmatter"   // fences and YAML
	GroupFields      Group = "specification" // fields by the specification
	GroupPortability Group = "portability"   // other clients and systems
	GroupReferences  Group = "references"    // links in the body
	GroupSize        Group = "size"          // the cost for a model
	GroupPublication Group = "publication"   // limits of the Skills extension
	GroupText        Group = "text"          // characters and words
	GroupScan        Group = "scan"          // reports of the scan
)

// Rule is one row of the table.
type Rule struct {
	ID       skill.RuleID
	Severity skill.Severity
	Group    Group
	// Source is the origin of the rule: "spec" is agentskills.io/specification, "SEP-2640"
	// the MCP Skills extension, "UAX #9" a report of Unicode, "knack" our own promise,
	// limit or measurement.
	Source string
	Title  string // the requirement, in one line
}

// The rules that this package adds to those in package skill.
const (
	RuleAllowedTools   skill.RuleID = "allowed-tools-form"
	RuleFileWindows    skill.RuleID = "file-windows"
	RuleFileCase       skill.RuleID = "file-case"
	RuleFieldUnknown   skill.RuleID = "field-unknown"
	RuleNameReserved   skill.RuleID = "name-reserved"
	RuleDescriptionXML skill.RuleID = "description-xml"
	RuleNameDuplicate  skill.RuleID = "name-duplicate"

	RuleRefMissing skill.RuleID = "ref-missing"
	RuleRefCase    skill.RuleID = "ref-case"
	RuleRefOutside skill.RuleID = "ref-outside"

	RuleSizeListing skill.RuleID = "size-listing"
	RuleSizeBody    skill.RuleID = "size-body"
	RuleSizeLines   skill.RuleID = "size-lines"
	RuleSizeFile    skill.RuleID = "size-file"

	RuleFilesMany       skill.RuleID = "files-many"
	RuleFilesLarge      skill.RuleID = "files-large"
	RuleFilesIncomplete skill.RuleID = "files-incomplete"
	RuleURIName         skill.RuleID = "uri-name"

	RuleTextTags               skill.RuleID = "text-tags"
	RuleTextBidi               skill.RuleID = "text-bidi"
	RuleTextZeroWidth          skill.RuleID = "text-zero-width"
	RuleTextComment            skill.RuleID = "text-comment"
	RuleDescriptionPlaceholder skill.RuleID = "description-placeholder"
	RuleDescriptionWhen        skill.RuleID = "description-when"
)

// row is a rule of this package with the function that applies it.
type row struct {
	Rule
	look func(*subject) []Finding
}

var rows = []row{
	{Rule{RuleAllowedTools, skill.SeverityWarning, GroupPortability, "spec", "allowed-tools is one string, its tools separated by blanks"}, allowedToolsForm},
	{Rule{RuleFileWindows, skill.SeverityWarning, GroupPortability, "Windows, Naming Files, Paths, and Namespaces", "the names of the skill, its folder and its files can exist on Windows"}, windowsNames},
	{Rule{RuleFileCase, skill.SeverityWarning, GroupPortability, "knack", "no two files differ only by case or by how a character is composed"}, caseCollisions},
	{Rule{RuleFieldUnknown, skill.SeverityInfo, GroupPortability, "spec", "the frontmatter's fields are those of the specification"}, unknownFields},
	{Rule{RuleNameReserved, skill.SeverityInfo, GroupPortability, "Claude API, Agent Skills, field requirements", "name does not contain anthropic or claude"}, reservedName},
	{Rule{RuleDescriptionXML, skill.SeverityInfo, GroupPortability, "Claude API, Agent Skills, field requirements", "description holds no XML tags"}, xmlDescription},

	{Rule{RuleRefMissing, skill.SeverityWarning, GroupReferences, "spec", "a file that the body links to exists"}, missingRefs},
	{Rule{RuleRefCase, skill.SeverityWarning, GroupReferences, "spec", "a link spells the file's name in its case"}, wrongCaseRefs},
	{Rule{RuleRefOutside, skill.SeverityWarning, GroupReferences, "spec", "a link stays in the skill's folder"}, outsideRefs},

	{Rule{RuleSizeListing, skill.SeverityInfo, GroupSize, "spec", "name and description cost about 100 tokens"}, listingSize},
	{Rule{RuleSizeBody, skill.SeverityWarning, GroupSize, "spec", "the body costs less than 5,000 tokens"}, bodySize},
	{Rule{RuleSizeLines, skill.SeverityWarning, GroupSize, "spec", "SKILL.md has less than 500 lines"}, lineCount},
	{Rule{RuleSizeFile, skill.SeverityWarning, GroupSize, "contract 001", "each file has at most 16 MiB"}, fileSizes},

	{Rule{RuleFilesMany, skill.SeverityWarning, GroupPublication, "SEP-2640", "the skill has at most 512 files"}, manyFiles},
	{Rule{RuleFilesLarge, skill.SeverityWarning, GroupPublication, "SEP-2640", "the skill's files have at most 16 MiB together"}, largeFiles},
	{Rule{RuleFilesIncomplete, skill.SeverityWarning, GroupPublication, "SEP-2640", "every file and folder of the skill can be listed"}, incomplete},

	{Rule{RuleTextTags, skill.SeverityWarning, GroupText, "Unicode, block Tags", "the text holds no tag characters, which models read and people do not see"}, tagCharacters},
	{Rule{RuleTextBidi, skill.SeverityWarning, GroupText, "UAX #9", "the text holds no characters that reorder it on the screen"}, bidiCharacters},
	{Rule{RuleTextZeroWidth, skill.SeverityInfo, GroupText, "UAX #31", "the text holds no invisible characters outside of the scripts and emoji that need them"}, zeroWidth},
	{Rule{RuleTextComment, skill.SeverityInfo, GroupText, "knack", "the body holds no HTML comments, which models read and people do not see"}, comments},
	{Rule{RuleDescriptionPlaceholder, skill.SeverityWarning, GroupText, "knack", "description is no left-over of a template"}, placeholder},
	{Rule{RuleDescriptionWhen, skill.SeverityInfo, GroupText, "spec", "description says when to use the skill"}, neverWhen},
}

// scanRules lists the rules of notices from a source. They are repeated here, since this
// package does not import sources.
var scanRules = []skill.RuleID{
	"folder-unreadable", "depth-limit", "folder-limit", "notices-cut", "folder-name-not-utf8",
	"link-outside", "link-duplicate", "link-dangling", "link-loop", "link-ignored", "near-miss", "link-as-text", "link-to-file", "file-special",
}

// Rules is the table of all rules: those of package skill, of this package, and
// of the sources.
var Rules = func() []Rule {
	var all []Rule
	for _, r := range skill.Rules() {
		all = append(all, Rule{r.ID, r.Severity, groupOf(r.ID), r.Source, r.Title})
	}
	for _, r := range rows {
		all = append(all, r.Rule)
	}
	all = append(all, nameDuplicate, uriName)
	for _, id := range scanRules {
		all = append(all, Rule{id, skill.SeverityWarning, GroupScan, "knack", scanTitles[id]})
	}
	return all
}()

var scanTitles = map[skill.RuleID]string{
	"folder-unreadable":    "every folder can be read",
	"depth-limit":          "skills lie at most 12 levels below their root",
	"folder-limit":         "a root has at most a million folders",
	"notices-cut":          "a scan reports at most 1,000 notices",
	"folder-name-not-utf8": "the names of folders are UTF-8",
	"link-outside":         "links in a skill stay in it",
	"link-duplicate":       "a folder is reached on one way",
	"link-dangling":        "links lead somewhere",
	"link-as-text":         "no file holds what was meant as a link",
	"link-to-file":         "links among the skills lead to folders",
	"file-special":         "the files of a skill are regular files",
	"link-loop":            "links do not lead back to themselves",
	"link-ignored":         "links to folders are followed",
	"near-miss":            "a file that is meant as SKILL.md is called so",
}

// Unpublishes reports whether a finding of a rule keeps a skill out of the Skills
// extension's lists.
func Unpublishes(id skill.RuleID) bool {
	switch id {
	case RuleFilesMany, RuleFilesLarge, RuleFilesIncomplete, RuleURIName:
		return true
	}
	return skill.RuleOf(id).Unpublishes
}

func groupOf(id skill.RuleID) Group {
	switch kind, _, _ := strings.Cut(string(id), "-"); kind {
	case "file", "folder":
		return GroupFile
	case "fence", "yaml":
		return GroupFrontmatter
	case "text":
		return GroupText
	}
	return GroupFields
}

// RuleOf returns the rule with that id.
func RuleOf(id skill.RuleID) (Rule, bool) {
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{ID: id, Severity: skill.SeverityWarning}, false
	}
	return Rules[i], true
}
