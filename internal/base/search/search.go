// Package search finds short documents by words that a person or a model remembers of a
// skill.
//
// An [Index] is immutable and records which words are in which field of each document. A
// query is a handful of words. It finds a document that contains one of them unchanged,
// with another ending, in a common short form, as a prefix, or misspelt by a letter or two.
// Documents are ranked by BM25F, which weighs how rare a word is, how often it occurs in
// which field, and how long that field is (S. Robertson, H. Zaragoza: "The Probabilistic
// Relevance Framework: BM25 and Beyond", 2009). Case, accents and widths do not count. The
// order depends only on the documents and their positions, not on the history of the index.
//
// Documents and queries may be hostile: the part of each that is read is bounded, and so is
// the work of one query.
package search

// Doc holds the texts of one document that are indexed. An index does not keep it.
type Doc struct {
	Name, Description string
	Tags, Headings    []string
	Beginning         string // of the text; its words count like words of headings
}

// Match is one reason why a document was found.
type Match struct {
	Word  string // of the query, folded
	Term  string // of the document, folded
	Field string // of the document: "name", "tags", "description" or "text" (headings and beginning)
	// How the word matches the term: "exact", "stem" (the same word with another ending),
	// "joined" (two words of the query written as one), "synonym" (a common short form),
	// "prefix" (the word begins the term) or "typo" (one or two letters differ, or a blank is missing).
	How string
}

// Hit is one document that a search returns.
type Hit struct {
	// Doc is its place among the keys of the index.
	Doc     int
	Score   float32
	Matches []Match // if Options ask for them: by word, then field
}
