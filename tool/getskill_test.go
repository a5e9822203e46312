package tool

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/knack-dev/knack/internal/test/skilltest"
)

// Contract 000, and contract 001 as the set runner serves it.

// caseless finds names in any case, like the file systems of macOS and Windows.
type caseless struct{ fstest.MapFS }

func (c caseless) Open(name string) (fs.File, error) {
	for n := range c.MapFS {
		if strings.EqualFold(n, name) {
			return c.MapFS.Open(n)
		}
	}
	return c.MapFS.Open(name)
}

func (c caseless) Sub(dir string) (fs.FS, error) { return skilltest.Below(c, dir), nil }

// Every file system gives the same answer: skill.md is never a SKILL.MD.
func TestGetSkillOnACaselessDisk(t *testing.T) {
	root := project(map[string]string{"small/skill.md": "x", "lower/SKILL.md": "lower"})
	root.FS = caseless{root.Files}
	h := hostOf(t, root)
	same(t, call(t, h, "runner", "get_skill", args{"skill_name": "small"}).Text, `{"error":"SKILL.MD not found for skill 'small'"}`)
	same(t, call(t, h, "runner", "get_skill", args{"skill_name": "lower"}).Text, `{"skill_name":"lower","documentation":"lower"}`)
}
