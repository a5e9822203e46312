package passage

import (
	"github.com/knack-dev/knack/skill"
)

// Report receives the findings and facts that the readers of a scan report.
type Report interface {
	// Find reports that a rule fires on the bytes of a part between two offsets.
	Find(id skill.RuleID, p Part, from, to int, message string, notes ...string)
	// Look is like Find, but the finding is in the lane review even if the rule is in the lane
	// enforce.
	Look(id skill.RuleID, p Part, from, to int, message string, notes ...string)
	// Full reports whether a rule has fired so often in a file that another firing is only
	// counted. If so, it counts this firing.
	Full(id skill.RuleID, f *File) bool
	// Fact records a fact about the skill.
	Fact(kind Fact, value string)
	// TooLarge reports that a part of a file was not judged because the file exceeds a limit, and
	// which one.
	TooLarge(path, why string)
	// During calls judge, and returns the rules that fire during the call. enforced reports whether
	// one of them is in the lane enforce.
	During(judge func()) (ids []string, enforced bool)
}

// The rules.
const (
	// The lane enforce.
	Tags            skill.RuleID = "text-tags"
	Selectors       skill.RuleID = "text-selectors"
	ZeroWidthRun    skill.RuleID = "text-zero-width-run"
	RunDecoded      skill.RuleID = "run-decoded"
	RunUnknown      skill.RuleID = "run-fetched-unknown"
	SendSecret      skill.RuleID = "send-secret"
	ReverseShell    skill.RuleID = "reverse-shell"
	DownloadLocked  skill.RuleID = "download-locked"
	RunFromPaste    skill.RuleID = "run-from-paste"
	HiddenOverride  skill.RuleID = "hidden-override"
	ProgramDisguise skill.RuleID = "program-disguised"
	ArchiveHostile  skill.RuleID = "archive-hostile"

	// The lane review.
	RunFetched      skill.RuleID = "run-fetched"
	Persist         skill.RuleID = "persist"
	OverridePhrase  skill.RuleID = "override-phrase"
	ConcealPhrase   skill.RuleID = "conceal-phrase"
	HiddenText      skill.RuleID = "hidden-text"
	URLTransient    skill.RuleID = "url-transient"
	URLAddress      skill.RuleID = "url-address"
	DownloadProgram skill.RuleID = "download-program"
	Program         skill.RuleID = "program"
	Bytecode        skill.RuleID = "bytecode"
	InstallScript   skill.RuleID = "install-script"
	Hooks           skill.RuleID = "hooks"
	RunsOnLoad      skill.RuleID = "runs-on-load"
	RunsUnasked     skill.RuleID = "runs-unasked"
	Secret          skill.RuleID = "secret"
	SecretNetwork   skill.RuleID = "secret-and-network"
	Homoglyph       skill.RuleID = "homoglyph-word"
	ZeroWidthWord   skill.RuleID = "zero-width-in-word"
	Bidi            skill.RuleID = "text-bidi"
	Far             skill.RuleID = "text-far"
	Gatekeeper      skill.RuleID = "gatekeeper-off"
	NameNear        skill.RuleID = "name-near"
	NotRead         skill.RuleID = "not-read"
	TooLarge        skill.RuleID = "too-large"
)

// Fact is a kind of fact.
type Fact int

// The kinds of facts.
const (
	FactProgram  Fact = iota // a program that commands start
	FactHost                 // a host in commands or scripts
	FactPackage              // a package that commands install
	FactVariable             // a variable of the environment
	FactRead                 // a path outside of the skill
	FactWrite                // a path outside of the skill, or a file of an agent
	FactBinary               // a file with a program in it
	FactTool                 // a tool in allowed-tools
	FactHidden               // a file with text that rendering hides
	FactUnasked              // a file that runs without being asked for
	FactNotRead              // a file that could not be judged
	Facts                    // the number of kinds
)

// The limits of facts: the number of facts in a list, and the length of one fact in bytes.
const (
	MaxFacts = 1000
	MaxFact  = 200
	// MaxProgram limits the name of a program. A longer word at the beginning of a command is data,
	// such as a line of a key.
	MaxProgram = 40
)
