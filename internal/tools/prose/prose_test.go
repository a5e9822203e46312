package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Limits on the counts. A limit above its goal is a ratchet: lower it to the new count when a
// change improves it, and never raise it.
const (
	maxRate         = 2   // marks per 1,000 comment sentences
	maxNounless     = 2   // pronouns without a noun in 10,000 words of comments
	maxSleeps       = 12  // calls of time.Sleep in tests
	maxReadme       = 800 // words of README.md without its generated table
	maxPageSentence = 45  // words of a page's sentence, 95th percentile
	maxPageMarks    = 3   // marks in pages, tables included
)

// generated matches the part of a page that a test writes.
var generated = regexp.MustCompile(`(?s)<!-- \w+ -->.*<!-- /\w+ -->`)

// project returns the report on the whole repository, which the tests share.
var project = sync.OnceValues(func() (*report, error) { return read("../../..") })

func TestProse(t *testing.T) {
	r, err := project()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	prose := generated.ReplaceAllString(string(readme), "")
	t.Logf("%.1f marks per 1,000 comment sentences, %.1f missing nouns in 10,000 words, %d words in README.md, 95th percentile of page sentences %d words, %d sleeps", r.comments.rate(), r.nounlessRate(), words(prose), r.percentile(95), len(r.sleeps))
	if r.comments.sentences < 1000 || len(r.pages) < 500 {
		t.Fatalf("only %d comment sentences and %d page sentences were read", r.comments.sentences, len(r.pages))
	}
	if rate := r.comments.rate(); rate > maxRate {
		t.Errorf("comments have %.1f odd phrases per 1,000 sentences, more than %d; 'go run ./internal/tools/prose' lists them", rate, maxRate)
	}
	if rate := r.nounlessRate(); rate > maxNounless {
		t.Errorf("comments have 'what', 'that of' or 'those of' %.1f times in 10,000 words, more than %d; 'go run ./internal/tools/prose' lists them", rate, maxNounless)
	}
	if n := len(r.sleeps); n > maxSleeps {
		t.Errorf("tests call time.Sleep %d times, more than %d; use testing/synctest or an injected clock. All calls: %q", n, maxSleeps, r.sleeps)
	}
	if n := words(prose); n > maxReadme {
		t.Errorf("README.md has %d words, more than %d; move details to doc/", n, maxReadme)
	}
	if n := len(r.inPages); n > maxPageMarks {
		t.Errorf("pages have %d odd phrases, more than %d; 'go run ./internal/tools/prose' lists them", n, maxPageMarks)
	}
	if n := r.percentile(95); n > maxPageSentence {
		t.Errorf("the 95th percentile of the pages' sentences is %d words, more than %d; 'go run ./internal/tools/prose' lists the long ones", n, maxPageSentence)
	}
}

// TestDecisions checks that decisions are numbered from 1 without gaps, in their file names and
// headings.
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("../../../doc/decisions/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no decisions: %v", err)
	}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(file); !strings.HasPrefix(name, fmt.Sprintf("%04d-", i+1)) || !strings.HasPrefix(string(text), fmt.Sprintf("# %d. ", i+1)) {
			t.Errorf("%s should have number %d in its name and heading", name, i+1)
		}
	}
}

var (
	pageLink = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]+)?`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	code     = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	unsaid   = regexp.MustCompile(`[^\w\- ]`)
)

// anchors returns the anchors of a page's headings in the form of GitHub.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
		all["#"+strings.ReplaceAll(unsaid.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return all
}

// TestLinks checks that every relative link on a page leads to an existing file and, with an
// anchor, to one of its headings.
func TestLinks(t *testing.T) {
	r, err := project()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range r.files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pageLink.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], ":") {
				continue
			}
			checked++
			target := file
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(file), filepath.FromSlash(m[1]))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, m[1])
			} else if m[2] != "" && strings.HasSuffix(target, ".md") {
				if page, err := os.ReadFile(target); err != nil || !anchors(string(page))[m[2]] {
					t.Errorf("%s links to %s%s: %s has no such heading", file, m[1], m[2], target)
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d links were checked", checked)
	}
}

func TestMarks(t *testing.T) {
	for text, want := range map[string]string{
		"The caller, and whoever waits for it, gets an error.":     "who",
		"Who has become another hears of it.":                      "who",
		"It is reported to those who asked.":                       "who",
		"What is skipped has a reason.":                            "what",
		"It returns early, as nobody waits.":                       "somebody",
		"It is empty where there is no limit.":                     "where",
		"An answer where none was asked for.":                      "where",
		"It is a name that is none.":                               "none",
		"A file that lies in the folder.":                          "lies",
		"A line stands in the file.":                               "lies",
		"The file as it was given.":                                "stiff",
		"Open opens the file and reports what is wrong with it.":   "",
		"It lists users who pay.":                                  "",
		"The test runs as user nobody.":                            "",
		"The folder where skills are kept.":                        "",
		"What follows, in short.":                                  "",
		"Stand returns the stand; lie is a lie.":                   "",
		"If there is no such name, Find returns None or an error.": "",
	} {
		got := ""
		for _, m := range marksIn(sentence{text: text}) {
			got += m.pattern.name
		}
		if got != want {
			t.Errorf("%q: marks %q, want %q", text, got, want)
		}
	}
}

func TestSentences(t *testing.T) {
	got := sentences("One sentence here. Another that\ngoes on.\n\nHeading\n\nA third one: it has\ntwo lines")
	want := []sentence{{line: 0, text: "One sentence here."}, {line: 0, text: "Another that goes on."}, {line: 5, text: "A third one: it has two lines"}}
	compare(t, got, want)
	got, cells := page("# A long heading here\n\nText of\nthe page.\n\n- An item is here\n- Another item follows it\n\n```sh\nsome shell code here\n```\n| a | a table of rows |\nThe last line. It ends.\n")
	want = []sentence{{line: 3, text: "Text of the page."}, {line: 6, text: "An item is here"}, {line: 7, text: "Another item follows it"}, {line: 13, text: "The last line."}}
	compare(t, got, want)
	compare(t, cells, []sentence{{line: 12, text: "a table of rows"}})
}

func compare(t *testing.T, got, want []sentence) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("sentence %d: got %+v, want %+v", i, got[i], w)
		}
	}
}
