package tool

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/tool/profile"
)

// TestListsHideNothing checks that no list for models, in any set, has an invisible
// character, and that the name in a list loads the skill.
func TestListsHideNothing(t *testing.T) {
	for _, odd := range []string{
		"\u200b", "\u200d", "\u2060", "\ufeff", "\u202e", "\u2066", "\u200f", "\u061c", "\u00ad", "\u115f", "\u3164", "\u180e", "\ufe00", "\ufe0f", "\U0001d173", "\U000e0001", "\U000e0041",
		// These characters are hidden between others that may legitimately have them.
		"日\u200d本\u200c語", "\U0001f3f4\U000e0069\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065\U000e007f\U0001f3f4\U000e0061\U000e006c\U000e006c\U000e007f",
	} {
		t.Run(fmt.Sprintf("%+q", odd), func(t *testing.T) {
			seen := strings.Map(func(r rune) rune {
				if display.IsUnseen(r) {
					return -1
				}
				return r
			}, odd)
			h := hostOf(t, project(map[string]string{
				"fo" + odd + "lder/SKILL.md": md("folder", "Folds."),
				"leaf/SKILL.md":              md(fmt.Sprintf(`"le%saf"`, odd), fmt.Sprintf(`"Turns o%sver. Use when asked."`, odd)),
				"broken/SKILL.md":            fmt.Sprintf("---\nname: \"bro%sken\"\n---\n", odd),
			}))
			v := viewOf(t, h)
			lists := []string{fmt.Sprint(call(t, h, "uri", "list_skills", args{}).Object), call(t, h, "runner", "list_skills", args{}).Text, call(t, h, "default", "find_skills", args{}).Text, call(t, h, "default", "find_skills", args{"query": "broken"}).Text}
			for _, set := range SetNames() {
				tools, err := ParseSets(set)
				if err != nil {
					t.Fatal(err)
				}
				lists = append(lists, Prompt(v, tools), Instructions(v, tools, profile.Client{}))
				for _, one := range tools {
					lists = append(lists, one.Define(v, profile.Client{}).Description)
				}
			}
			found := false
			for _, text := range lists {
				found = found || strings.Contains(text, "le"+seen+"af")
				if i := strings.IndexFunc(text, func(r rune) bool {
					return seen == "" && strings.ContainsRune(odd, r) || display.IsUnseen(r) || unicode.IsControl(r) && r != '\n'
				}); i >= 0 {
					t.Errorf("it is in %q", text[max(0, i-40):min(len(text), i+40)])
				}
			}
			if got := call(t, h, "default", "skill", args{"name": "le" + seen + "af"}); !found || got.IsError {
				t.Errorf("shown: %t, loads: %s", found, got.Text)
			}
		})
	}
}
