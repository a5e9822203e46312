package admission

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/buildinfo"
)

// Engine identifies the inputs of a report other than the files: the build, and the lanes of a
// policy. It is empty for a build that cannot be distinguished from others.
func Engine(b buildinfo.Info, policy Policy) string {
	if b.Modified || b.Commit == "" && b.Version == "devel" {
		return ""
	}
	lanes := []string{}
	for rule, lane := range policy.Rules {
		lanes = append(lanes, string(rule)+"="+string(lane))
	}
	slices.Sort(lanes)
	sum := sha256.New()
	fmt.Fprintln(sum, b.Version, b.Commit, b.Go, b.Platform, lanes)
	for _, r := range scan.Rules {
		fmt.Fprintln(sum, r.ID, r.Lane)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
