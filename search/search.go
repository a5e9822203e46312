// Package search finds short documents by words: what a person or a model
// remembers of a skill.
//
// An [Index] is immutable and holds, of each document, which words stand in
// which field. A query is a handful of words; a document is found when one of
// them stands in it, as it is, with another ending, continued, or misspelt by a
// letter or two, and ranked by BM25F: how rare the word is, how often and in
// which field it stands, and how long that field is (S. Robertson, H. Zaragoza:
// "The Probabilistic Relevance Framework: BM25 and Beyond", 2009). Case, accents
// and widths do not count. The order depends on the documents and their places
// alone, not on how the index came to hold them.
//
// Documents and queries are taken to be hostile: what is read of each is bounded,
// and so is what one query may look at.
package search

// Field is a part of a document.
type Field uint8

// The fields, in the order of their weight.
const (
	Name Field = iota
	Tags
	Description
	Headings
	fields
)

// String is the field's name in lower case.
func (f Field) String() string { return [...]string{"name", "tags", "description", "headings"}[f] }

// Doc is what is indexed of one document. It is not kept.
type Doc struct {
	Name, Description string
	Tags, Headings    []string
}

// How says in which way a word of a query met a word of a document.
type How uint8

// The ways, the surest first.
const (
	Exact  How = iota
	Stem       // the same word with another ending: "deploy", "deployed"
	Joined     // two words of the query written as one: "change log", "changelog"
	Prefix     // the beginning: "kube", "kubernetes"
	Typo       // one or two letters differ: "kuberentes"
)

// String is the way's name in lower case.
func (h How) String() string { return [...]string{"exact", "stem", "joined", "prefix", "typo"}[h] }

// Match is one reason why a document was found.
type Match struct {
	Word  string // of the query, folded
	Term  string // of the document, folded
	Field Field
	How   How
}

// Hit is one document that was found.
type Hit struct {
	// Doc is its place among the keys of the index.
	Doc     int
	Score   float32
	Matches []Match // where they were asked for: by word, then field
}
