package tool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
)

// many makes n skills with descriptions of the given length.
func many(n, size int) *skilltest.Memory {
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("skill-%05d", i)
		d := strings.TrimSpace(strings.Repeat("Works on all the words. ", size/24+1)[:size])
		files[name+"/SKILL.md"] = md(name, d)
	}
	return global(files)
}

func TestSkillListBudgets(t *testing.T) {
	tests := []struct {
		n, size int
		client  profile.Client
		want    string // the end of the list, which shows its stage
		names   int
	}{
		{20, 200, profile.Client{}, "</skill>", 20},
		{100, 300, profile.Client{}, "(descriptions are shortened to fit; find_skills shows them whole)", 100},
		{500, 300, profile.Client{}, "(descriptions are shortened or left out to fit; find_skills shows them whole)", 500},
		{2000, 30, profile.Client{}, "(and 777 more skills, not shown to fit; use find_skills to see them)", 1223},
		{3, 100, profile.Client{Name: "claude-code"}, "</skill>", 3},
		{10, 300, profile.Client{Name: "Claude-Code"}, "(descriptions are shortened to fit; find_skills shows them whole)", 10},
		{30, 300, profile.Client{Name: "claude-code"}, "(descriptions are shortened or left out to fit; find_skills shows them whole)", 30},
		{300, 300, profile.Client{Name: "claude-code"}, "more skills, not shown to fit; use find_skills to see them)", 0},
		{300, 300, profile.Client{Limit: 1024}, "more skills, not shown to fit; use find_skills to see them)", 0},
		{300, 300, profile.Client{Name: "claude-code", Limit: 1024}, "more skills, not shown to fit; use find_skills to see them)", 0},
	}
	for _, tt := range tests {
		v := viewOf(t, hostOf(t, many(tt.n, tt.size)))
		d := toolOf(t, "default", "skill").Define(v, tt.client).Description
		_, list, _ := strings.Cut(d, "<available_skills>\n")
		list = strings.TrimSuffix(list, "\n</available_skills>")
		if !strings.HasSuffix(list, tt.want) {
			t.Errorf("%d skills of %d for %+v end in %q", tt.n, tt.size, tt.client, list[max(0, len(list)-100):])
		}
		if n := strings.Count(list, "skill-0"); tt.names > 0 && n != tt.names {
			t.Errorf("%d skills of %d for %+v: %d names", tt.n, tt.size, tt.client, n)
		}
		limit := tt.client.Limit
		if limit == 0 && tt.client.Name != "" {
			limit = 2048
		}
		if limit > 0 && display.Length(d) > limit || display.Length(list) > listing.Budget {
			t.Errorf("%d skills of %d for %+v: %d characters, of them %d the list", tt.n, tt.size, tt.client, display.Length(d), display.Length(list))
		}
	}
}

// TestSkillUniversalForClientThatCuts checks that a client that cuts descriptions still sees the
// whole text of the contract.
func TestSkillUniversalForClientThatCuts(t *testing.T) {
	v := viewOf(t, hostOf(t, many(300, 300)))
	d := toolOf(t, "universal", "skill").Define(v, profile.Client{Name: "claude-code"}).Description
	if display.Length(d) > 2048 || !strings.HasSuffix(d, "skills, not shown to fit; each loads by its name)\n</available_skills>") {
		t.Errorf("%d characters, the end is %q", display.Length(d), d[len(d)-100:])
	}
}

// TestDescriptionsAreBounded checks that descriptions are no longer than 1,024 characters, at which
// some clients cut. With a list of skills, the bound is the client's own.
func TestDescriptionsAreBounded(t *testing.T) {
	v := viewOf(t, hostOf(t, many(300, 300)))
	for _, tt := range []struct {
		set, tool string
		most      int
	}{{"default", "find_skills", 1024}, {"default", "read_file_in_skill", 1024}, {"uri", "get_skill", 1024}, {"uri", "list_skills", 1024}, {"wave", "Skill", 2048}} {
		d := toolOf(t, tt.set, tt.tool).Define(v, profile.Client{Name: "claude-code"}).Description
		if n := display.Length(d); n == 0 || n > tt.most {
			t.Errorf("%s %s: %d characters, want at most %d", tt.set, tt.tool, n, tt.most)
		}
	}
}
