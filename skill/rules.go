package skill

// Rule is one row of the table below, the meaning of its findings.
type Rule struct {
	ID       RuleID
	Severity Severity
	// Skips is set if a skill with this problem is not available; no surface serves it.
	Skips bool
	// Unpublishes is set if the skill stays available to the tools, but is not listed by
	// the Skills extension, whose entries must satisfy the specification.
	Unpublishes bool
	// Source is the origin of the rule: "spec" is agentskills.io/specification, "SEP-2640"
	// the MCP Skills extension, "knack" our own promise or limit.
	Source string
	// Title is the requirement, in one line.
	Title string
}

// The rules, by subject. Their ids are stable: users silence them and tools read them.
const (
	RuleFileOutside    RuleID = "file-outside"
	RuleFileNotRegular RuleID = "file-not-regular"
	RuleFileGone       RuleID = "file-gone"
	RuleFilePermission RuleID = "file-permission"
	RuleFileTooLarge   RuleID = "file-too-large"
	RuleFileUnstable   RuleID = "file-unstable"
	RuleFileUnreadable RuleID = "file-unreadable"
	RuleFileEncoding   RuleID = "file-encoding"
	RuleFileEmpty      RuleID = "file-empty"
	RuleFileName       RuleID = "file-name"
	RuleFileSpelling   RuleID = "file-spelling"
	RuleFileVariants   RuleID = "file-variants"
	RuleFolderName     RuleID = "folder-name"

	RuleTextBOM     RuleID = "text-bom"
	RuleTextControl RuleID = "text-control"

	RuleFenceMissing  RuleID = "fence-missing"
	RuleFenceOpener   RuleID = "fence-opener"
	RuleFenceUnclosed RuleID = "fence-unclosed"
	RuleFenceTooLong  RuleID = "fence-too-long"
	RuleFenceLate     RuleID = "fence-late"
	RuleFenceBlanks   RuleID = "fence-blanks"
	RuleFenceGlued    RuleID = "fence-glued"

	RuleYAMLSyntax    RuleID = "yaml-syntax"
	RuleYAMLControl   RuleID = "yaml-control"
	RuleYAMLDuplicate RuleID = "yaml-duplicate-key"
	RuleYAMLKeyType   RuleID = "yaml-key-type"
	RuleYAMLNotJSON   RuleID = "yaml-not-json"
	RuleYAMLMapping   RuleID = "yaml-mapping"

	RuleNameMissing RuleID = "name-missing"
	RuleNameSyntax  RuleID = "name-syntax"
	RuleNameControl RuleID = "name-control"
	RuleNameType    RuleID = "name-type"
	RuleNamePattern RuleID = "name-pattern"
	RuleNameLength  RuleID = "name-length"
	RuleNameFolder  RuleID = "name-folder"

	RuleDescriptionMissing RuleID = "description-missing"
	RuleDescriptionType    RuleID = "description-type"
	RuleDescriptionLength  RuleID = "description-length"

	RuleCompatibility RuleID = "compatibility"
	RuleMetadata      RuleID = "metadata"
	RuleInvocation    RuleID = "invocation"
)

// Rules is the table of all rules, in the order in which reports group them.
var Rules = []Rule{
	{RuleFileOutside, SeverityError, true, true, "knack", "SKILL.md lies in the skill's own folder, links included"},
	{RuleFileNotRegular, SeverityError, true, true, "knack", "SKILL.md is a regular file"},
	{RuleFileGone, SeverityError, true, true, "knack", "SKILL.md exists when it is read; a link to it resolves"},
	{RuleFilePermission, SeverityError, true, true, "knack", "SKILL.md can be read by the user who runs knack"},
	{RuleFileTooLarge, SeverityError, true, true, "contract 000", "SKILL.md has at most 1 MiB"},
	{RuleFileUnstable, SeverityError, true, true, "knack", "SKILL.md stands still while it is read"},
	{RuleFileUnreadable, SeverityError, true, true, "knack", "SKILL.md can be read"},
	{RuleFileEncoding, SeverityError, true, true, "spec", "SKILL.md is UTF-8"},
	{RuleFileEmpty, SeverityError, true, true, "spec", "SKILL.md is not empty"},
	{RuleFileName, SeverityError, true, true, "spec", "the file is called SKILL.md"},
	{RuleFileSpelling, SeverityWarning, false, false, "spec", "the file is spelt SKILL.md; other spellings are not found by every client"},
	{RuleFileVariants, SeverityWarning, false, false, "knack", "a folder holds one spelling of SKILL.md"},

	{RuleFolderName, SeverityWarning, false, false, "knack", "the path of the skill's folder can stand in a URI"},

	{RuleTextBOM, SeverityWarning, false, false, "spec", "SKILL.md begins with ---, without a byte-order mark"},
	{RuleTextControl, SeverityWarning, false, false, "knack", "the text holds no control characters"},

	{RuleFenceMissing, SeverityError, true, true, "spec", "SKILL.md begins with frontmatter between two lines of ---"},
	{RuleFenceOpener, SeverityError, true, true, "spec", "the line --- stands before the frontmatter"},
	{RuleFenceUnclosed, SeverityError, true, true, "spec", "a line --- ends the frontmatter"},
	{RuleFenceTooLong, SeverityError, true, true, "knack", "the frontmatter has at most 64 KiB"},
	{RuleFenceLate, SeverityError, false, true, "spec", "nothing stands before the frontmatter"},
	{RuleFenceBlanks, SeverityWarning, false, true, "spec", "nothing follows the opening ---, blanks included"},
	{RuleFenceGlued, SeverityError, false, true, "spec", "the closing --- stands alone on its line"},

	{RuleYAMLSyntax, SeverityError, false, true, "spec", "the frontmatter is valid YAML, without anchors, aliases and tags"},
	{RuleYAMLControl, SeverityError, true, true, "knack", "the frontmatter holds no NUL"},
	{RuleYAMLDuplicate, SeverityError, false, true, "spec", "a key stands once in its mapping"},
	{RuleYAMLKeyType, SeverityWarning, false, true, "SEP-2640", "keys are strings"},
	{RuleYAMLNotJSON, SeverityWarning, false, true, "SEP-2640", "values can be written as JSON"},
	{RuleYAMLMapping, SeverityError, true, true, "spec", "the frontmatter is a mapping of keys to values"},

	{RuleNameMissing, SeverityError, true, true, "spec", "name is given"},
	{RuleNameSyntax, SeverityError, true, true, "knack", "name is valid YAML; it is never guessed"},
	{RuleNameControl, SeverityError, true, true, "knack", "name holds no control characters"},
	{RuleNameType, SeverityWarning, false, true, "spec", "name is a string"},
	{RuleNamePattern, SeverityError, false, true, "spec", "name consists of a-z, 0-9 and single inner hyphens"},
	{RuleNameLength, SeverityError, false, true, "spec", "name has at most 64 characters"},
	{RuleNameFolder, SeverityError, false, false, "spec", "name equals the folder's name"},

	{RuleDescriptionMissing, SeverityError, true, true, "spec", "description is given"},
	{RuleDescriptionType, SeverityError, false, true, "spec", "description is a string"},
	{RuleDescriptionLength, SeverityError, false, true, "spec", "description has at most 1,024 characters"},

	{RuleCompatibility, SeverityError, false, true, "spec", "compatibility is a string of 1 to 500 characters"},
	{RuleMetadata, SeverityError, false, true, "spec", "metadata maps strings to strings"},
	{RuleInvocation, SeverityWarning, false, false, "knack", "disable-model-invocation and user-invocable are spelt so, and true or false"},
}

var ruleByID = func() map[RuleID]Rule {
	m := make(map[RuleID]Rule, len(Rules))
	for _, r := range Rules {
		m[r.ID] = r
	}
	return m
}()

// RuleOf returns the rule with that id; for an unknown id, a warning that
// neither skips nor unpublishes.
func RuleOf(id RuleID) Rule {
	if r, ok := ruleByID[id]; ok {
		return r
	}
	return Rule{ID: id, Severity: SeverityWarning}
}
