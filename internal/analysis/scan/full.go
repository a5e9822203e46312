package scan

import (
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/skill"
)

// firing identifies a rule that fires in a file.
type firing struct {
	id   skill.RuleID
	file *passage.File
}

// firings counts how often a rule fires in a file, and records in which lanes.
type firings struct {
	n               int
	enforce, review bool
}

// maxFired limits how often a rule fires in one file before its further findings are only counted.
const maxFired = 1000

// Full reports whether a rule has fired so often in a file that another firing is only counted. If
// so, Full counts this firing. A caller may call Full before it builds a message.
func (s *scanner) Full(id skill.RuleID, f *passage.File) bool {
	all := s.fired[firing{id, f}]
	if all.n < maxFired {
		return false
	}
	if all.enforce {
		s.enforce++
	} else if all.review {
		s.review++
	}
	return true
}

// fires records that a rule fires in a file. The caller calls the returned function after adding
// the finding.
func (s *scanner) fires(id skill.RuleID, f *passage.File) func() {
	enforce, review := s.enforce, s.review
	return func() {
		if s.fired == nil {
			s.fired = map[firing]firings{}
		}
		all := s.fired[firing{id, f}]
		s.fired[firing{id, f}] = firings{all.n + 1, all.enforce || s.enforce > enforce, all.review || s.review > review}
	}
}
