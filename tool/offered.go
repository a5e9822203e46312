package tool

import (
	"slices"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
	"github.com/knack-dev/knack/tool/wave"
)

// Offered returns the skills that a model can load from this view with these tools, each once.
// Contract 003 loads fewer skills than contract 002 lists. Contract 000 loads folders that no other
// contract accepts as a skill, and 004 loads shadowed skills. The slice must not be changed.
func Offered(v catalog.View, tools []*Tool) []*catalog.Entry {
	var lists [][]*catalog.Entry
	done := map[string]bool{}
	for _, t := range tools {
		if done[t.Contract] {
			continue // of a contract's two tools, only one loads skills
		}
		done[t.Contract] = true
		switch t.Contract {
		case "000":
			lists = append(lists, documentedSkills(v))
		case "002":
			lists = append(lists, v.Listed)
		case "003":
			lists = append(lists, wave.Skills(v))
		case "004":
			lists = append(lists, addressable(v))
		}
	}
	if len(lists) == 1 {
		return lists[0] // nearly always, since most servers have one set
	}
	var all []*catalog.Entry
	seen := map[*catalog.Entry]bool{}
	for _, e := range slices.Concat(lists...) {
		if !seen[e] {
			seen[e] = true
			all = append(all, e)
		}
	}
	return all
}

// documentedSkills returns the skills whose documentation contract 000 can read.
func documentedSkills(v catalog.View) (all []*catalog.Entry) {
	for _, folder := range documentedFolders(v) {
		if e := v.InFolder(folder); isDocument(e) {
			all = append(all, e)
		}
	}
	return all
}

// isDocument reports whether get_skill of contract 000 can read the skill's file. It can if the
// scan has read the file, and the file is UTF-8. A SKILL.MD beside it is a different file, which no
// scan reads.
func isDocument(e *catalog.Entry) bool {
	if slices.Contains(e.Others(), docNames[0]) {
		return true
	}
	return e.Digest != (skill.Digest{}) && !slices.ContainsFunc(e.Problems, func(p skill.Problem) bool { return p.Rule == frontmatter.FileEncoding })
}
