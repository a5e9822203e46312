package install

import "github.com/knack-dev/knack/internal/base/semver"

// newest returns the tag of the highest version that is not below is, or "". Unless latest is set,
// it has the same major version, or for 0.x the same minor version. A release never moves to a
// pre-release.
func newest(is semver.Version, tags []string, latest bool) (best string) {
	high := is
	for _, tag := range tags {
		v, ok := semver.Parse(tag)
		if !ok || v.Prefix != is.Prefix || v.PreRelease() && !is.PreRelease() {
			continue
		}
		if !latest && !is.Compatible(v) {
			continue
		}
		if c := v.Compare(high); c > 0 || c == 0 && best == "" {
			high, best = v, tag
		}
	}
	return best
}
