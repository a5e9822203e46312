package check

import "github.com/knack-dev/knack/skill"

// Twin is a finding about a skill whose name another has that comes before it.
type Twin struct {
	Finding
	Index, First int            // of the two skills
	FirstAt      skill.Position // of the first one's name
}

var nameDuplicate = Rule{RuleNameDuplicate, skill.SeverityWarning, GroupPortability, "knack", "no two skills have the same name; agents load the first"}

// Twins finds the names that stand twice among skills in their order, as agents
// tell names apart: without regard to case. file says how the file of a skill is
// called in messages. A copy of the first, byte by byte, loses nobody anything: it
// is an info.
func Twins(all []Report, file func(i int) string) (out []Twin) {
	first := map[skill.Key]int{}
	for i, r := range all {
		if !r.Skill.Available {
			continue
		}
		key := skill.KeyOf(r.Skill.Name)
		n, taken := first[key]
		if !taken {
			first[key] = i
			continue
		}
		t := Twin{Finding: nameAt(r), Index: i, First: n, FirstAt: nameAt(all[n]).Position}
		t.Rule, t.Severity, t.Field = RuleNameDuplicate, nameDuplicate.Severity, "name"
		where := file(n) + ":" + t.FirstAt.String()
		t.Message = "the name " + skill.Quote(r.Skill.Name) + " stands already in " + where
		t.Mend = "give one of the two another name"
		if r.Skill.Digest == all[n].Skill.Digest {
			t.Severity = skill.SeverityInfo
			t.Message, t.Mend = "this SKILL.md is a copy of "+where, "delete one of the two, unless clients that read different folders need both"
		}
		out = append(out, t)
	}
	return out
}

// nameAt is where a skill has its name.
func nameAt(r Report) Finding {
	s := &subject{skill: r.Skill, doc: &skill.Document{}}
	s.read(r.Data)
	f, _ := s.doc.Field("name")
	return s.field(f, "", "")
}
