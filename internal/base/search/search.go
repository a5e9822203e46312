// Package search finds short documents, such as skills, by words that a person or a model
// remembers.
//
// An [Index] is immutable and records which words are in which field of each document. A query is a
// handful of words. It finds a document that contains one of these words unchanged, with another
// ending, in a common short form, as a prefix, or with one or two wrong letters. Documents are
// ranked by BM25F, which weighs how rare a word is, how often it occurs in which field, and how
// long that field is (S. Robertson, H. Zaragoza: "The Probabilistic Relevance Framework: BM25 and
// Beyond", 2009). Case, accents and widths of characters are ignored. The order of hits depends
// only on the documents and their positions, not on the history of the index.
//
// Documents and queries may be hostile: the part of each that is read is bounded, and so is the
// work for one query.
package search

// Doc has the texts of one document that are indexed. An index does not store it.
type Doc struct {
	Name, Description string
	Tags, Headings    []string
	Beginning         string // the beginning of the text; its words count like words of headings
}

// Match is one reason why a document was found.
type Match struct {
	Word  string // the word of the query, folded
	Term  string // the word of the document, folded
	Field string // "name", "tags", "description" or "text" (headings and beginning)
	// How is the way in which the word matches the term. It is "exact", "stem" (the same word with
	// another ending), "joined" (two words of the query written as one), "synonym" (a common short
	// form), "prefix" (the word begins the term) or "typo" (one or two letters differ, or a space
	// is missing).
	How string
}

// Hit is one document that a search returns.
type Hit struct {
	// Doc is the position of the document's key in the index.
	Doc     int
	Score   float32
	Matches []Match // sorted by word, then field; nil unless Options.Explain is set
}
