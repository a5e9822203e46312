package settings

import (
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/source/dir"
)

// MatchesLabel reports whether labels name a root: "claude-project" also names the same folder of
// the project's parents, "claude-project-2" and so on.
func MatchesLabel(labels []string, label string) bool {
	for _, x := range labels {
		if x == label {
			return true
		}
		if x == WithoutNumber(label) {
			return true
		}
	}
	return false
}

// WithoutNumber returns the label of a project's folder, given the label for one of its parents.
func WithoutNumber(label string) string {
	folder, n, ok := strings.Cut(label, "-project-")
	if !ok || n == "" || strings.Trim(n, "0123456789") != "" {
		return label
	}
	return folder + "-project"
}

// WellKnownLabels lists the labels of the well-known roots of a user and of one project folder.
func WellKnownLabels() []string {
	var labels []string
	for _, r := range dir.WellKnown([]string{string(filepath.Separator) + "project"}, string(filepath.Separator)+"home") {
		labels = append(labels, r.Label)
	}
	return labels
}
