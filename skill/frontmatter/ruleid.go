package frontmatter

// The constants name the rules by which package skill judges a SKILL.md and its folder.
//
// The ids are stable, because users silence rules by them, and programs read them. The constants
// are not in package skill, because other programs get the ids from skill.Rules.

// The ids, by subject.
const (
	FileOutside    = "file-outside"
	FileNotRegular = "file-not-regular"
	FileGone       = "file-gone"
	FilePermission = "file-permission"
	FileTooLarge   = "file-too-large"
	FileUnstable   = "file-unstable"
	FileUnreadable = "file-unreadable"
	FileLocked     = "file-locked"
	StoreDamaged   = "store-damaged"
	StoreRefused   = "store-refused"
	HeldBack       = "held-back"
	FileEncoding   = "file-encoding"
	FileEmpty      = "file-empty"
	FileName       = "file-name"
	FileSpelling   = "file-spelling"
	FileVariants   = "file-variants"
	FolderName     = "folder-name"

	TextBOM     = "text-bom"
	TextControl = "text-control"

	FenceMissing  = "fence-missing"
	FenceOpener   = "fence-opener"
	FenceUnclosed = "fence-unclosed"
	FenceTooLong  = "fence-too-long"
	FenceLate     = "fence-late"
	FenceBlanks   = "fence-blanks"
	FenceGlued    = "fence-glued"

	YAMLSyntax    = "yaml-syntax"
	YAMLControl   = "yaml-control"
	YAMLDuplicate = "yaml-duplicate-key"
	YAMLKeyType   = "yaml-key-type"
	YAMLNotJSON   = "yaml-not-json"
	YAMLMapping   = "yaml-mapping"

	NameMissing = "name-missing"
	NameSyntax  = "name-syntax"
	NameControl = "name-control"
	NameType    = "name-type"
	NamePattern = "name-pattern"
	NameLength  = "name-length"
	NameFolder  = "name-folder"

	DescriptionMissing = "description-missing"
	DescriptionType    = "description-type"
	DescriptionLength  = "description-length"

	Compatibility = "compatibility"
	Metadata      = "metadata"
	Invocation    = "invocation"
)

// The ids of package check that package doctor needs too.
const (
	FilesMany  = "files-many"
	FilesLarge = "files-large"
)
