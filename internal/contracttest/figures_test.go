package contracttest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// doc/design.md has the figures for the contracts' lines on time and memory, each with its
// limit.
func TestFiguresStandInTheDesign(t *testing.T) {
	data, err := os.ReadFile("../../doc/design.md")
	if err != nil {
		t.Fatal(err)
	}
	figure := regexp.MustCompile(`^\| .* \| [0-9].* \| [0-9.,]+ (s|ms|MB) \|$`)
	for _, row := range []string{
		"one call of `skill`, request to answer", "first scan", "refresh after one change", "live heap above an empty catalogue",
		"000: a document of 1 MB", "001: a file of 1 MB", "001: judging a path that leads outside", "001: an error for a file, for a skill that is not there",
		"003: discovery of 100, of 1,000 skills", "003: loading one skill, one of 1 MB", "003: description for 1,000 skills",
		"003: a not-found message with 1,000 skills", "003: metadata of 1,000 skills, live", "003: content of 100 loaded skills, live",
	} {
		_, rest, found := strings.Cut(string(data), "\n| "+row+" |")
		line, _, _ := strings.Cut(rest, "\n")
		if !found || !figure.MatchString("| "+row+" |"+line) {
			t.Errorf("doc/design.md has no figure for %q: %s", row, line)
		}
	}
}
