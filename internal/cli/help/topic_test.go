package help

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

func TestTopicsAreShort(t *testing.T) {
	for _, topic := range Topics {
		if n := strings.Count(topic.Text, "\n"); n > 25 || !strings.HasSuffix(topic.Text, "\n") {
			t.Errorf("%s has %d lines", topic.Name, n)
		}
		for line := range strings.SplitSeq(topic.Text, "\n") {
			if utf8.RuneCountInString(line) > Width {
				t.Errorf("%s has a line of more than %d columns: %s", topic.Name, Width, line)
			}
		}
		if _, found := Find(topic.Name); !found {
			t.Errorf("%s is not found", topic.Name)
		}
	}
}

// TestRoots compares the folders and labels in the text with those that knack reads.
func TestRoots(t *testing.T) {
	const sep = string(filepath.Separator)
	project, home := sep+"project", sep+"home"
	var labels []string
	want := map[string][]string{}
	for _, r := range dir.WellKnown([]string{project}, home, nil) {
		labels = append(labels, r.Label)
		for _, base := range []string{project, home} {
			if rel, err := filepath.Rel(base, r.Dir); err == nil && filepath.IsLocal(rel) {
				want[base] = append(want[base], filepath.ToSlash(rel))
			}
		}
	}
	lists := regexp.MustCompile(`(?m)^  \.[^\n]*(\n  [^\n]+)*`).FindAllString(roots, -1)
	if len(lists) != 2 {
		t.Fatalf("the text has %d lists of folders", len(lists))
	}
	for i, base := range []string{project, home} {
		if got := strings.Fields(lists[i]); !slices.Equal(got, want[base]) {
			t.Errorf("below the %s:\n got %q\nwant %q", base[1:], got, want[base])
		}
	}
	for _, named := range regexp.MustCompile(`[a-z]+-(project|user)\b`).FindAllString(roots+names, -1) {
		if !slices.Contains(labels, named) {
			t.Errorf("there is no root %s", named)
		}
	}
}

func TestNames(t *testing.T) {
	for _, uri := range regexp.MustCompile(`skill://[a-z]\S+`).FindAllString(names, -1) {
		if _, err := skill.ParseURI(uri); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if most := "at most " + strconv.Itoa(skill.MaxName) + " characters"; !strings.Contains(names, most) {
		t.Errorf("the text does not say %q", most)
	}
}

// TestAccess reads the configuration in the text with the hash of a real token.
func TestAccess(t *testing.T) {
	_, line := access.NewToken()
	var file strings.Builder
	for part := range strings.SplitSeq(accessText, "\n") {
		if text, indented := strings.CutPrefix(part, "  "); indented && !strings.HasPrefix(text, "knack") {
			file.WriteString(strings.Replace(text, "HASH", strings.Fields(line)[0], 1) + "\n")
		}
	}
	c, problems := config.Parse([]byte(file.String()))
	if len(problems) > 0 || len(c.Access.Tokens) != 1 || c.Access.Policy == nil {
		t.Errorf("%v\n%s", problems, file.String())
	}
}
