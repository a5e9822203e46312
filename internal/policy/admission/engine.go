package admission

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/knack-dev/knack/internal/analysis/scan"
)

// engine identifies the inputs of a report other than the files: the build, and the lanes of a
// policy. It is empty for a build that is not known.
func engine(build string, config Config) string {
	if build == "" {
		return ""
	}
	lanes := []string{}
	for rule, lane := range config.Rules {
		lanes = append(lanes, string(rule)+"="+string(lane))
	}
	slices.Sort(lanes)
	sum := sha256.New()
	fmt.Fprintln(sum, build, lanes)
	for _, r := range scan.Rules {
		fmt.Fprintln(sum, r.ID, r.Lane)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
