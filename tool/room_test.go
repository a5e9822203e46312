package tool

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
)

// TestDocumentationTakesRoom checks that get_skill reserves memory before it reads a large
// document. Without room the call returns an error, and no text tells the model the reason.
func TestDocumentationTakesRoom(t *testing.T) {
	const large = 500_000
	h := hostOf(t, project(map[string]string{
		"large/SKILL.MD":    strings.Repeat("a", large),
		"controls/SKILL.md": strings.Repeat("\x01", large),
		"both/SKILL.md":     "small",
		"both/SKILL.MD":     strings.Repeat("a", large), // larger than the file that the catalogue has read
		"small/SKILL.md":    strings.Repeat("a", 60<<10),
	}))
	for name, takes := range map[string]int64{"large": 12 * large, "controls": 12 * large, "both": 12 * large, "small": 0} {
		data, _ := json.Marshal(args{"skill_name": name})
		get := func(room *limit.Budget) (Result, error) {
			ctx := limit.WithAccount(t.Context(), room.Open(""))
			return toolOf(t, "runner", "get_skill").Call(ctx, h, data)
		}
		room := limit.NewBudget(64<<20, 0)
		if r, err := get(room); err != nil || r.IsError || room.Held() < takes || room.Held() > takes+100 {
			t.Errorf("%s: %v %.100q, and %d bytes are held, want %d", name, err, r.Text, room.Held(), takes)
		}
		full := limit.NewBudget(1, 0)
		full.Open("").Try(1)
		if r, err := get(full); takes > 0 && (!errors.Is(err, skill.ErrNoRoom) || r.Text != "") || takes == 0 && err != nil {
			t.Errorf("%s without room: %v %.100q", name, err, r.Text)
		}
	}
}

// TestAnswersTakeRoomOnce checks that a call reserves its answer's memory before it reads, even if
// the answer has the text twice. Calls that asked for more memory later could wait for each other.
func TestAnswersTakeRoomOnce(t *testing.T) {
	h := hostOf(t, project(map[string]string{"large/SKILL.md": "---\nname: large\ndescription: d\n---\n" + strings.Repeat("text\n", 100_000)}))
	for _, c := range []struct {
		set, tool string
		args      args
	}{
		{"runner", "read_file_in_skill", args{"skill_name": "large", "file_path": "SKILL.md"}},
		{"uri", "get_skill", args{"uri": "skill://large/SKILL.md"}},
		{"default", "skill", args{"name": "large"}},
	} {
		data, _ := json.Marshal(c.args)
		room := limit.NewBudget(64<<20, 0)
		r, err := toolOf(t, c.set, c.tool).Call(limit.WithAccount(t.Context(), room.Open("")), h, data)
		if err != nil || r.IsError {
			t.Fatalf("%s of %s: %v %.100q", c.tool, c.set, err, r.Text)
		}
		text, _ := json.Marshal(r.Text)
		object, _ := json.Marshal(r.Object)
		if answer := int64(len(text) + len(object)); room.Held() < answer {
			t.Errorf("%s of %s: %d bytes are held, and the answer has %d", c.tool, c.set, room.Held(), answer)
		}
	}
}

// TestFoldersTakeRoom checks that a call reserves memory once, before it lists a folder.
func TestFoldersTakeRoom(t *testing.T) {
	h := hostOf(t, project(map[string]string{"one/SKILL.md": "---\nname: one\ndescription: d\n---\n", "one/data/a": "a"}))
	data, _ := json.Marshal(args{"skill_name": "one", "file_path": "data"})
	for _, set := range []string{"default", "runner"} {
		read := func(room *limit.Budget) *limit.Account {
			account := room.Open("")
			if _, err := toolOf(t, set, "read_file_in_skill").Call(limit.WithAccount(t.Context(), account), h, data); err != nil {
				t.Errorf("%s: %v", set, err)
			}
			return account
		}
		if room := limit.NewBudget(64<<20, 0); read(room).Refused() || room.Held() != skill.FolderMemory {
			t.Errorf("%s: %d bytes are held, want %d", set, room.Held(), skill.FolderMemory)
		}
		full := limit.NewBudget(1, 0)
		full.Open("").Try(1)
		if !read(full).Refused() {
			t.Errorf("%s: a folder is listed without room", set)
		}
	}
}
