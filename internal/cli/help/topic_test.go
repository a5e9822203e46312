package help

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/skill"
)

func TestTopicsAreShort(t *testing.T) {
	for _, topic := range Topics {
		text := topic.Text(&cobra.Command{})
		list := topic.Name == "settings" || topic.Name == "rules"
		if n := strings.Count(text, "\n"); !list && n > 25 || !strings.HasSuffix(text, "\n") {
			t.Errorf("%s has %d lines", topic.Name, n)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if utf8.RuneCountInString(line) > Width {
				t.Errorf("%s has a line of more than %d columns: %s", topic.Name, Width, line)
			}
		}
		if _, found := Find(topic.Name); !found {
			t.Errorf("%s is not found", topic.Name)
		}
	}
}

// TestRoots checks that the folders, variables and labels in the text are the ones in the table of
// agents.
func TestRoots(t *testing.T) {
	var first, folders []string
	for i, p := range agents.Pairs() {
		if folders = append(folders, p.Project); i < 4 {
			first = append(first, p.Project)
		}
	}
	if list := regexp.MustCompile(`(?m)^  \..*$`).FindString(roots); !slices.Equal(strings.Fields(list), first) {
		t.Errorf("the text begins with %q, and knack with %q", list, first)
	}
	for _, named := range regexp.MustCompile(`\.[a-z]+/skills`).FindAllString(roots, -1) {
		if !slices.Contains(folders, named) {
			t.Errorf("no agent has %s", named)
		}
	}
	for _, named := range regexp.MustCompile(`[A-Z]+_[A-Z_]+`).FindAllString(roots, -1) {
		if named != "KNACK_DIRS" && !slices.ContainsFunc(agents.Variables(), func(v agents.Variable) bool { return v.Name == named }) {
			t.Errorf("no agent has the variable %s", named)
		}
	}
	if n := len(agents.All()); n < 80 || n > 95 {
		t.Errorf("the text says about 80 others, and there are %d agents", n)
	}
	for _, named := range regexp.MustCompile(`[a-z]+-(project|user)\b`).FindAllString(roots+names, -1) {
		if !slices.Contains(agents.Labels(), named) {
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

// TestAccess checks that the configuration in the text is valid with the hash of a real token.
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
