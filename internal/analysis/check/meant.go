package check

import (
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/source/dir"
)

// Meant reports whether the main file of a skill is meant as a SKILL.md. data is the content of the
// file. A file is meant as a SKILL.md if it is called SKILL.md, if its frontmatter has a name, or
// if its folder is a place for skills. Any other file may be documentation, so no fix renames or
// changes it.
func Meant(s *skill.Skill, data []byte) bool {
	if s.Entry == skill.MainFile || dir.InPlace(s.Dir()) {
		return true
	}
	if file := s.Entry; data == nil && s.FS != nil {
		if file == "" && len(s.Others()) > 0 {
			file = s.Others()[0]
		}
		data, _, _ = skill.ReadFile(s.FS, file, skill.MaxSkillMD)
	}
	_, named := frontmatter.Parse(data).Field("name")
	return named
}
