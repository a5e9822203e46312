package search

// fieldID is a field of a document.
type fieldID uint8

// The fields, from the highest weight to the lowest.
const (
	inName fieldID = iota
	inTags
	inDescription
	inHeadings
	fields
)

func (f fieldID) String() string { return [...]string{"name", "tags", "description", "text"}[f] }

// matchKind is the way in which a word of a query matches a word of a document.
type matchKind uint8

// The kinds, the most certain first.
const (
	exactMatch   matchKind = iota
	stemMatch              // the same word with another ending: "deploy", "deployed"
	joinedMatch            // two words of the query written as one: "change log", "changelog"
	synonymMatch           // another spelling or name, from a table: "js", "javascript"
	prefixMatch            // the beginning: "kube", "kubernetes"
	typoMatch              // one or two letters differ: "kuberentes"; or a space is missing: "webscraping"
)

func (k matchKind) String() string {
	return [...]string{"exact", "stem", "joined", "synonym", "prefix", "typo"}[k]
}
