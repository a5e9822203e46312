package settings

import "github.com/knack-dev/knack/internal/base/agents"

// MatchesLabel reports whether labels name a root: "claude-project" also names the same folder of
// the project's parents, "claude-project-2" and so on.
func MatchesLabel(labels []string, label string) bool {
	for _, x := range labels {
		if x == label || x == agents.WithoutNumber(label) {
			return true
		}
	}
	return false
}
