package listing

import (
	"fmt"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
)

// foldedFrom is the least number of roots that share one line.
const foldedFrom = 3

// Folded returns one line for at least three roots that cannot be read for the same reason. Such
// roots are those in a home folder without permission. The line belongs to the label of the first
// root; the labels of the others have an empty one.
func Folded(roots []catalog.RootStatus) map[string]string {
	same := map[string][]catalog.RootStatus{}
	for _, r := range roots {
		if r.Err != nil && len(r.Notices) == 0 && r.Dir != "" {
			same[doctor.UnreadReason(r)] = append(same[doctor.UnreadReason(r)], r)
		}
	}
	lines := map[string]string{}
	for reason, all := range same {
		if len(all) < foldedFrom {
			continue
		}
		above := strings.Split(all[0].Name(), "/")
		for _, r := range all {
			lines[r.Label] = ""
			n := 0
			for _, part := range strings.Split(r.Name(), "/") {
				if n == len(above) || above[n] != part {
					break
				}
				n++
			}
			above = above[:n]
		}
		below := ""
		if folder := strings.Join(above, "/"); folder != "" {
			below = " below " + folder
		}
		lines[all[0].Label] = fmt.Sprintf("%d roots%s: %s; knack doctor --verbose lists them", len(all), below, reason)
	}
	return lines
}
