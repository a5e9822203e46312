// Package help has the help texts: the form of each command's help, and short texts about topics.
// The manual page of knack contains the same texts.
package help

import (
	_ "embed"

	"github.com/spf13/cobra"
)

// Topic is a help text about a topic.
type Topic struct {
	Name  string
	Short string // a line for lists of topics
	// Text returns the text for the given root command. Lines have at most 80 columns, and the last
	// one ends with a newline.
	Text func(root *cobra.Command) string
}

// Topics are all topics, in the order in which help lists them.
var Topics = []Topic{
	{"roots", "Where skills are looked for, and in which order", fixed(roots)},
	{"names", "What loads a skill, and what a shadowed one is called", fixed(names)},
	{"access", "Who may use a server over HTTP, and sees which skills", fixed(accessText)},
	{"settings", "The keys of knack.yaml", settings},
	{"rules", "The rules of knack check and knack scan", rules},
	{"flags", "The flags that many commands have", sharedFlags},
}

// fixed returns the Text of a topic whose text is a file.
func fixed(text string) func(*cobra.Command) string {
	return func(*cobra.Command) string { return text }
}

//go:embed roots.txt
var roots string

//go:embed names.txt
var names string

//go:embed access.txt
var accessText string

// Find returns the topic with the given name.
func Find(name string) (Topic, bool) {
	for _, t := range Topics {
		if t.Name == name {
			return t, true
		}
	}
	return Topic{}, false
}
