package settings

import "github.com/knack-dev/knack/internal/base/agents"

// MatchesLabel reports whether one of the labels matches the label of a root. "claude-project" also
// matches "claude-project-2" and so on, the same folder in the parents of the project.
func MatchesLabel(labels []string, label string) bool {
	for _, x := range labels {
		if x == label || x == agents.WithoutNumber(label) {
			return true
		}
	}
	return false
}
