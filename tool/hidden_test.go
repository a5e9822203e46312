package tool

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/tool/profile"
)

// TestListsHideNothing checks that no list for models, in any set, has an invisible
// character, and that the name in a list loads the skill.
func TestListsHideNothing(t *testing.T) {
	for _, odd := range []rune{0x200b, 0x200d, 0x2060, 0xfeff, 0x202e, 0x2066, 0x200f, 0x61c, 0xad, 0x115f, 0x3164, 0x180e, 0xfe00, 0x1d173, 0xe0001, 0xe0041} {
		t.Run(fmt.Sprintf("U+%04X", odd), func(t *testing.T) {
			h := hostOf(t, project(map[string]string{
				"leaf/SKILL.md":   md(fmt.Sprintf(`"le%caf"`, odd), fmt.Sprintf(`"Turns o%cver. Use when asked."`, odd)),
				"broken/SKILL.md": fmt.Sprintf("---\nname: \"bro%cken\"\n---\n", odd),
			}))
			v := viewOf(t, h)
			lists := []string{call(t, h, "default", "find_skills", args{}).Text, call(t, h, "default", "find_skills", args{"query": "broken"}).Text}
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
			shown := false
			for _, text := range lists {
				shown = shown || strings.Contains(text, "leaf")
				if i := strings.IndexFunc(text, func(r rune) bool { return r == odd || display.IsUnseen(r) || unicode.IsControl(r) && r != '\n' }); i >= 0 {
					t.Errorf("it is in %q", text[max(0, i-40):min(len(text), i+40)])
				}
			}
			if got := call(t, h, "default", "skill", args{"name": "leaf"}); !shown || got.IsError {
				t.Errorf("shown: %t, loads: %s", shown, got.Text)
			}
		})
	}
}
