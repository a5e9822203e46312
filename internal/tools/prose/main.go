// Command prose lists unidiomatic phrases in comments and pages, which Go documentation does not
// use. It also lists the longest sentences of the pages.
//
//	go run ./internal/tools/prose [FOLDER]
//
// Its test counts the same phrases and fails above a limit, so that the text stays readable for
// people who did not write it.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
)

func main() {
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./internal/tools/prose [FOLDER]") }
	flag.Parse()
	folder := cmp.Or(flag.Arg(0), ".")
	r, err := read(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	for _, m := range slices.Concat(r.marks, r.nounless, r.inPages) {
		fmt.Printf("%s:%d: %s: %q: write %s\n\t%s\n", m.file, m.line, m.pattern.name, m.match, m.pattern.better, m.sentence)
	}
	for _, s := range r.pages {
		if words(s.text) > longSentence {
			fmt.Printf("%s:%d: %d words: write two sentences\n\t%s\n", s.file, s.line, words(s.text), s.text)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(r.folders)) {
		if c := r.folders[folder]; c.marks > 0 {
			fmt.Printf("%-28s %5d sentences %4d marks %6.1f per 1,000\n", folder, c.sentences, c.marks, c.rate())
		}
	}
	fmt.Printf("%-28s %5d sentences %4d marks %6.1f per 1,000\n", "all comments", r.comments.sentences, r.comments.marks, r.comments.rate())
	fmt.Printf("nouns are missing %.1f times in 10,000 of %d words of comments\n", r.nounlessRate(), r.words)
	fmt.Printf("pages: %d sentences, %d marks, 95th percentile %d words\n", len(r.pages), len(r.inPages), r.percentile(95))
	fmt.Printf("tests: time.Sleep is called %d times\n", len(r.sleeps))
}
